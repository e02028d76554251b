//! Owns the bodies of run, chat, resume and retry, checked as far as possible without the database.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::Result;
use crate::model::Id;
use crate::model::agent::Parameters;
use crate::model::trace_context::TraceContext;
use crate::model::event::{DoubtAction, DoubtAnswer, EntityKind};
use crate::model::state::is_internal;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
pub use crate::studio::runs::trial::Trial;

/// Characters of a message.
const MESSAGE: usize = 200_000;
/// Characters of instructions that replace an agent's.
const INSTRUCTIONS: usize = 100_000;
/// Files of one message.
const ATTACHMENTS: usize = 20;
/// Bytes of an initial state.
const STATE: usize = 256 * 1024;
/// Keys of the engine that a request may set.
const OPEN_KEYS: [&str; 2] = ["__studio_timezone", "__studio_locale"];

/// The body that starts a run or a chat turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRequest {
    /// What the user says; blank only with attachments.
    pub message: String,
    /// Merged into the state before the message; workflows only.
    pub state: Map<String, Value>,
    /// The thread to go on with.
    pub thread_id: Option<Id>,
    /// Files that go along, not yet looked up.
    pub attachments: Vec<AttachmentInput>,
    /// The stream's reader leaving cancels the run.
    pub cancel_on_disconnect: bool,
    /// Run the stored draft; workflows only.
    pub draft: bool,
    /// What this run does differently; workflows only.
    pub trial: Trial,
    /// Instead of the agent's instructions; agents only.
    pub instructions: Option<String>,
    /// Appended to the instructions as JSON; agents only.
    pub context: Option<Value>,
    /// Instead of the agent's parameters, key by key; agents only.
    pub parameters: Option<Parameters>,
    /// Instead of the agent's model; agents only.
    pub model: Option<ChosenModel>,
    /// Kept with the answer, when the request may be sent again; no part of the body.
    pub key: Option<RequestKey>,
    /// The span of the host that the request is part of; no part of the body.
    pub trace: Option<Arc<TraceContext>>,
    /// The run whose turn on the thread this one replaces; no part of the body.
    pub replaces: Option<Id>,
}

/// The model that one chat turn asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenModel {
    /// Its provider; none for the agent's own.
    pub provider: Option<String>,
    /// Its name.
    pub model: String,
}

/// A file as a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentInput {
    /// `image`, `audio`, `video` or `document`.
    pub kind: String,
    /// As the client believes it to be.
    pub mime_type: Option<String>,
    /// Where the bytes are kept.
    pub storage_key: String,
    /// The file's name.
    pub name: Option<String>,
}

/// The body that answers a pause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResumeRequest {
    /// The node that waits.
    pub node_id: Option<String>,
    /// The pause.
    pub pause_id: Option<String>,
    /// Approve or reject all pending calls.
    pub approval: Option<bool>,
    /// What the person says.
    pub message: Option<String>,
    /// Files that go along, not yet looked up.
    pub attachments: Vec<AttachmentInput>,
    /// Decisions call by call.
    pub decisions: Option<Vec<DecisionInput>>,
    /// The stream's reader leaving cancels the run.
    pub cancel_on_disconnect: bool,
    /// Kept with the answer, when the request may be sent again; no part of the body.
    pub key: Option<RequestKey>,
    /// The span of the host that the request is part of; no part of the body.
    pub trace: Option<Arc<TraceContext>>,
}

/// A decision on one tool call as a request states it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionInput {
    /// The call.
    pub call_id: String,
    /// It may run.
    pub approved: bool,
    /// It runs with these instead; always an object.
    pub arguments: Option<Value>,
    /// The person's reason.
    pub message: Option<String>,
}

/// The body that tries a failed run again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetryRequest {
    /// From this completed step instead of the failed one.
    pub from_step_id: Option<Id>,
    /// Merged into the state before the first step.
    pub state: Map<String, Value>,
    /// What to do with calls in doubt.
    pub in_doubt: Vec<DoubtAnswer>,
    /// Kept with the answer, when the request may be sent again; no part of the body.
    pub key: Option<RequestKey>,
    /// The span of the host that the request is part of; no part of the body.
    pub trace: Option<Arc<TraceContext>>,
}

impl RunRequest {
    /// Reads a run body (workflows) or a chat body (agents).
    pub fn parse(body: &Value, entity: EntityKind) -> Result<Self> {
        let mut problems = Problems::default();
        let mut fields = Fields::new(object_of(body)?, &mut problems);
        let mut request = Self {
            message: fields.text("message", MESSAGE).unwrap_or_default().to_owned(),
            thread_id: uuid(&mut fields, "thread_id"),
            attachments: attachments(&mut fields),
            cancel_on_disconnect: cancels(&mut fields),
            ..Self::default()
        };
        let silent = fields.value("message").is_none_or(|said| said.as_str().is_some_and(|text| text.trim().is_empty()));
        if silent && fields.value("attachments").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            fields.wrong("message", "is required");
        }
        match entity {
            EntityKind::Workflow => request.read_workflow(&mut fields),
            EntityKind::Agent => request.read_chat(&mut fields),
        }
        problems.into_result().map(|()| request)
    }

    fn read_workflow(&mut self, fields: &mut Fields<'_>) {
        self.state = state(fields, &OPEN_KEYS);
        self.draft = fields.flag("draft", false);
        self.trial = fields.nested("trial", Trial::read);
    }

    fn read_chat(&mut self, fields: &mut Fields<'_>) {
        self.instructions = fields.text("instructions", INSTRUCTIONS).map(str::to_owned);
        self.context = fields.maybe_object("context").map(|map| Value::Object(map.clone()));
        self.model = chosen_model(fields);
        if fields.maybe_object("parameters").is_some() {
            self.parameters = Some(fields.nested("parameters", |fields| Parameters {
                temperature: fields.number("temperature", 0.0..=2.0).and_then(Value::as_f64),
                top_p: fields.number("top_p", 0.0..=1.0).and_then(Value::as_f64),
                max_tokens: fields.integer("max_tokens", 1..=i64::MAX).and_then(|n| u64::try_from(n).ok()),
                ..Parameters::default()
            }));
        }
    }
}

impl ResumeRequest {
    /// Reads a resume body. Whether it fits the pause is seen when the pause is known.
    pub fn parse(body: &Value) -> Result<Self> {
        let mut problems = Problems::default();
        let mut fields = Fields::new(object_of(body)?, &mut problems);
        let request = Self {
            node_id: fields.text("node_id", 64).map(str::to_owned),
            pause_id: fields.text("pause_id", 64).map(str::to_owned),
            approval: approval(&mut fields),
            message: fields.text("message", MESSAGE).map(str::to_owned),
            attachments: attachments(&mut fields),
            decisions: decisions(&mut fields),
            cancel_on_disconnect: cancels(&mut fields),
            key: None,
            trace: None,
        };
        problems.into_result().map(|()| request)
    }
}

impl RetryRequest {
    /// Reads a retry body.
    pub fn parse(body: &Value) -> Result<Self> {
        let mut problems = Problems::default();
        let mut fields = Fields::new(object_of(body)?, &mut problems);
        let request = Self {
            from_step_id: uuid(&mut fields, "from_step_id"),
            state: state(&mut fields, &[]),
            in_doubt: doubts(&mut fields),
            key: None,
            trace: None,
        };
        problems.into_result().map(|()| request)
    }
}

fn chosen_model(fields: &mut Fields<'_>) -> Option<ChosenModel> {
    let provider = fields.text("provider", 255).filter(|text| !text.is_empty()).map(str::to_owned);
    let model = fields.text("model", 255).filter(|text| !text.is_empty()).map(str::to_owned);
    if model.is_none() && provider.is_some() {
        fields.wrong("model", "is required when provider is given");
    }
    model.map(|model| ChosenModel { provider, model })
}

fn uuid(fields: &mut Fields<'_>, key: &str) -> Option<Id> {
    let text = fields.text(key, 100)?;
    let id = if text.len() == 36 { text.parse().ok() } else { None };
    if id.is_none() {
        fields.wrong(key, "must be a UUID");
    }
    id
}

fn cancels(fields: &mut Fields<'_>) -> bool {
    fields.choice("on_disconnect", &["continue", "cancel"]) == Some("cancel")
}

fn approval(fields: &mut Fields<'_>) -> Option<bool> {
    fields.choice("approval", &["approve", "reject"]).map(|word| word == "approve")
}

fn state(fields: &mut Fields<'_>, open: &[&str]) -> Map<String, Value> {
    let state = fields.object("state");
    for (key, value) in &state {
        let length = key.chars().count();
        if !(1..=128).contains(&length) {
            fields.wrong("state", "must have keys of 1 to 128 characters");
        } else if is_internal(key) && !open.contains(&key.as_str()) {
            fields.wrong(&format!("state.{key}"), "must not begin with `__`");
        } else if is_internal(key) && !value.is_string() {
            fields.wrong(&format!("state.{key}"), "must be a string");
        }
    }
    if serde_json::to_vec(&state).map_or(0, |bytes| bytes.len()) > STATE {
        fields.wrong("state", "must have at most 256 KiB");
    }
    state
}

fn attachments(fields: &mut Fields<'_>) -> Vec<AttachmentInput> {
    if fields.list("attachments").is_some_and(|items| items.len() > ATTACHMENTS) {
        fields.wrong("attachments", &format!("must have at most {ATTACHMENTS} items"));
        return Vec::new();
    }
    fields.each("attachments", |fields| {
        if fields.value("type").is_none() {
            fields.wrong("type", "is required");
        }
        AttachmentInput {
            kind: fields.choice("type", &["image", "audio", "video", "document"]).unwrap_or_default().to_owned(),
            mime_type: fields.text("mime_type", 255).map(str::to_owned),
            storage_key: fields.required("storage_key", 255).unwrap_or_default().to_owned(),
            name: fields.text("name", 255).map(str::to_owned),
        }
    })
}

fn decisions(fields: &mut Fields<'_>) -> Option<Vec<DecisionInput>> {
    let mut seen = std::collections::HashSet::new();
    let found = fields.each("decisions", |fields| {
        let call_id = fields.required("call_id", 1024).unwrap_or_default().to_owned();
        if !call_id.is_empty() && !seen.insert(call_id.clone()) {
            fields.wrong("call_id", "is listed twice");
        }
        if fields.value("approval").is_none() {
            fields.wrong("approval", "is required");
        }
        DecisionInput {
            call_id,
            approved: approval(fields).unwrap_or(false),
            arguments: fields.maybe_object("arguments").map(|map| Value::Object(map.clone())),
            message: fields.text("message", MESSAGE).map(str::to_owned),
        }
    });
    Some(found).filter(|found| !found.is_empty())
}

fn doubts(fields: &mut Fields<'_>) -> Vec<DoubtAnswer> {
    let mut seen = std::collections::HashSet::new();
    fields.each("in_doubt", |fields| {
        let call_id = fields.required("call_id", 1024).unwrap_or_default().to_owned();
        if !call_id.is_empty() && !seen.insert(call_id.clone()) {
            fields.wrong("call_id", "is listed twice");
        }
        if fields.value("action").is_none() {
            fields.wrong("action", "is required");
        }
        let action = match fields.choice("action", &["rerun", "skip", "use"]) {
            Some("use") => DoubtAction::Use,
            Some("skip") => DoubtAction::Skip,
            Some(_) | None => DoubtAction::Rerun,
        };
        let result = fields.text("result", usize::MAX).map(str::to_owned);
        if action == DoubtAction::Use && fields.value("result").is_none() {
            fields.wrong("result", "is required");
        }
        DoubtAnswer { call_id, action, result }
    })
}

#[cfg(test)]
mod tests;
