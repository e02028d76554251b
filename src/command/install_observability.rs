//! Owns `studio:install-observability`: a preset goes into the configuration file, and the variables that the host has to set are told.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Arguments, Call, Exit, Outcome, program, usage};
use crate::observe::{Preset, install};

/// Writes what is missing; what is there stays without `--force`.
pub(super) fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let (force, named, target) = (arguments.switch("force")?, arguments.value("file"), arguments.word());
    arguments.end()?;
    let target = target.ok_or_else(|| usage("say which: `install-observability inspector` or `install-observability langfuse`"))?;
    let preset = Preset::parse(&target).ok_or_else(|| usage(format!("`{target}` cannot be installed; `inspector` and `langfuse` can")))?;
    let file = named.map(PathBuf::from).or_else(|| call.config.clone()).unwrap_or_else(|| PathBuf::from(program::FILE));
    let file = call.folder.as_ref().map_or_else(|| file.clone(), |folder| folder.join(&file));
    let installed = install(&file, preset, force)?;
    call.say(&format!("{} {}", installed.done, installed.path.display()));
    for (name, about) in &installed.variables {
        call.say(&format!("set {name}: {about}"));
    }
    let variables: Vec<Value> = installed.variables.iter().map(|(name, about)| json!({"name": name, "about": about})).collect();
    call.give(&json!({"path": installed.path, "done": installed.done, "variables": variables}));
    Ok(Exit::Done)
}
