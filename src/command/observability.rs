//! Owns `studio:install-observability`: writes a preset into the configuration file and prints the variables to set.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Arguments, Call, Exit, Outcome, usage};
use crate::observe::{Preset, install};

/// What is written when no file is named.
const FILE: &str = "studio.toml";

/// Writes the settings of `inspector` or `langfuse`.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let target = arguments.word().ok_or_else(|| usage("which target? `inspector` or `langfuse`"))?;
    let preset = Preset::named(&target).ok_or_else(|| usage(format!("there is no target `{target}`; it is `inspector` or `langfuse`")))?;
    let force = arguments.switch("force")?;
    arguments.end()?;
    let file = call.file.clone().unwrap_or_else(|| PathBuf::from(FILE));
    let file = call.folder.as_ref().map_or_else(|| file.clone(), |folder| folder.join(&file));
    let installed = install(&file, preset, force)?;
    call.say(&format!("{} {}", installed.done, installed.path.display()));
    for (variable, about) in &installed.variables {
        call.say(&format!("set {variable}: {about}"));
    }
    let variables: Vec<Value> = installed.variables.iter().map(|(name, about)| json!({"name": name, "about": about})).collect();
    call.give(&json!({"path": installed.path.display().to_string(), "done": installed.done, "variables": variables}));
    Ok(Exit::Done)
}
