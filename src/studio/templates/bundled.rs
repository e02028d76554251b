//! Owns the templates that ship with the library.

use std::sync::{Arc, LazyLock};

use super::file::{self, Template, TemplateKind};

macro_rules! files {
    ($folder:literal: $($id:literal),+ $(,)?) => {
        [$(($id, include_str!(concat!("../../../templates/", $folder, "/", $id, ".json")))),+]
    };
}

pub(super) const AGENTS: [(&str, &str); 7] = files!("agents":
    "support-assistant",
    "intent-classifier",
    "knowledge-agent",
    "lead-qualifier",
    "support-triage-composer",
    "refund-actions-agent",
    "dev-support-specialist",
);

pub(super) const WORKFLOWS: [(&str, &str); 11] = files!("workflows":
    "basic-agent-chat",
    "supervisor-specialist-tool-mode",
    "rag-knowledge-qna",
    "lead-qualification",
    "lead-qualification-loop",
    "autonomous-lead-qualification",
    "parallel-support-triage",
    "support-rag-hitl",
    "parallel-triage-hitl",
    "parallel-refund-approval",
    "dev-support-memory-loop",
);

/// Agents, then workflows; a test reads each.
static ALL: LazyLock<Vec<Arc<Template>>> = LazyLock::new(|| {
    let of = |kind: TemplateKind, files: &'static [(&str, &str)]| {
        files.iter().filter_map(move |(id, text)| file::parse(kind, id, text).ok()).map(|template| Arc::new(Template { bundled: true, ..template }))
    };
    of(TemplateKind::Agent, &AGENTS).chain(of(TemplateKind::Workflow, &WORKFLOWS)).collect()
});

pub(super) fn all() -> Vec<Arc<Template>> {
    // They are read with the first request; a fork waits meanwhile.
    let _reading = crate::store::db::fork::enter();
    ALL.clone()
}
