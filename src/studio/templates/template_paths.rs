//! Owns the folders of `template_paths`, which are read after the bundled templates and replace those with the same id.

use std::path::Path;
use std::sync::Arc;

use super::bundled;
use super::file::{self, Folder, Template, TemplateKind};
use crate::config::Config;

/// The folders of the configuration as they are now, agents first.
pub(in crate::studio) fn folders(config: &Config) -> Vec<Folder> {
    let (agents, workflows) = (&config.template_paths.agent, &config.template_paths.workflow);
    let agents = agents.iter().map(|path| (TemplateKind::Agent, path));
    let workflows = workflows.iter().map(|path| (TemplateKind::Workflow, path));
    let mut room = file::TOTAL;
    agents.chain(workflows).map(|(kind, path)| file::folder(kind, Path::new(path), &mut room)).collect()
}

/// All templates, agents first: those of the library, each replaced by one of the host's with its id, then the host's others.
pub(super) fn discovered(config: &Config) -> Vec<Arc<Template>> {
    let mut all = bundled::all();
    for template in folders(config).into_iter().flat_map(|folder| folder.templates) {
        let template = Arc::new(template);
        match all.iter_mut().find(|known| known.kind == template.kind && known.id == template.id) {
            Some(known) => *known = template,
            None => all.push(template),
        }
    }
    all.sort_by_key(|template| template.kind == TemplateKind::Workflow);
    all
}
