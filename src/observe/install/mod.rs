//! Owns the presets in a host's configuration file, and the list of variables to set.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind, Result};

named! {
    /// A system that is known by name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Preset {
        /// inspector.dev.
        Inspector = "inspector",
        /// langfuse.com, or a Langfuse of one's own.
        Langfuse = "langfuse",
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The configuration file.
    pub path: PathBuf,
    /// `created`, `replaced`, or `kept` when it said something of the preset already.
    pub done: &'static str,
    /// The variables to set, with what each is for.
    pub variables: Vec<(&'static str, &'static str)>,
}

impl Preset {
    /// Secrets are named, never written: the variables have them.
    fn settings(self) -> Value {
        match self {
            Self::Inspector => json!({"enabled": true, "ingestion_key": "secret:INSPECTOR_INGESTION_KEY"}),
            Self::Langfuse => json!({
                "enabled": true, "public_key": "secret:LANGFUSE_PUBLIC_KEY", "secret_key": "secret:LANGFUSE_SECRET_KEY",
            }),
        }
    }

    const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Inspector => &[("INSPECTOR_INGESTION_KEY", "the ingestion key of the application in Inspector")],
            Self::Langfuse => &[
                ("LANGFUSE_PUBLIC_KEY", "the public key of the project in Langfuse"),
                ("LANGFUSE_SECRET_KEY", "the secret key of the project in Langfuse"),
                ("LANGFUSE_HOST", "the address of your own Langfuse server; not needed for its cloud"),
            ],
        }
    }
}

/// Adds a preset's settings to a JSON or TOML configuration file, which is made if there is none. What the file says of the preset
/// already is kept without `force`.
///
/// # Errors
/// A file that cannot be read or written, or that is not a configuration; it is left as it was.
pub fn install(file: &Path, preset: Preset, force: bool) -> Result<Installed> {
    let told = |done| Installed { path: file.to_owned(), done, variables: preset.variables().to_vec() };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(refused(file, &error.to_string())),
    };
    let toml = file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("toml"));
    let known = match &text {
        Some(text) if toml => toml::from_str::<Value>(text).map_err(|error| refused(file, &error.to_string()))?,
        Some(text) => serde_json::from_str(text).map_err(|error| refused(file, &error.to_string()))?,
        None => json!({}),
    };
    let Value::Object(mut root) = known else { return Err(refused(file, "it is not an object")) };
    let said = root.get("observability").and_then(|part| part.get(preset.as_str())).is_some();
    if said && !force {
        return Ok(told("kept"));
    }
    let new = if toml && !said {
        with_table(text.as_deref().unwrap_or_default(), preset)
    } else if toml {
        return Err(refused(file, "a table that is there is not replaced in TOML, whose comments would be lost; change it by hand"));
    } else {
        put(&mut root, preset).map_err(|why| refused(file, why))?;
        format!("{:#}\n", Value::Object(root))
    };
    if toml {
        toml::from_str::<Value>(&new).map_err(|error| refused(file, &format!("the table does not fit there: {error}")))?;
    }
    write(file, new.as_bytes()).map_err(|error| refused(file, &error.to_string()))?;
    Ok(told(if text.is_some() { "replaced" } else { "created" }))
}

fn put(root: &mut Map<String, Value>, preset: Preset) -> std::result::Result<(), &'static str> {
    let part = root.entry("observability").or_insert_with(|| json!({}));
    let Value::Object(part) = part else { return Err("its `observability` is not an object") };
    part.insert(preset.as_str().into(), preset.settings());
    Ok(())
}

/// A table at the end of a TOML file, which is kept as it is.
fn with_table(text: &str, preset: Preset) -> String {
    let mut new = text.trim_end().to_owned();
    if !new.is_empty() {
        new.push_str("\n\n");
    }
    new.push_str(&format!("[observability.{}]\n", preset.as_str()));
    for (name, value) in preset.settings().as_object().into_iter().flatten() {
        new.push_str(&format!("{name} = {value}\n"));
    }
    new
}

/// Writes a file. A file beside it takes its place, so that a crash leaves the old or the new one.
pub fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = file.with_file_name(name);
    let mut new = std::fs::File::create(&beside)?;
    if let Ok(old) = std::fs::metadata(file) {
        new.set_permissions(old.permissions())?;
    }
    new.write_all(bytes)?;
    new.sync_all()?;
    std::fs::rename(&beside, file)
}

fn refused(file: &Path, why: &str) -> Error {
    Error::new(Kind::ValidationFailed, format!("the configuration file `{}` was not changed: {why}", file.display()))
}

#[cfg(test)]
mod tests;
