//! Owns `studio:install`: writes the configuration file, the migrations, the assets and optionally the page templates into a
//! host's project, and brings the database up to date.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Arguments, Call, Exit, Outcome};
use crate::error::{Error, Kind, Result};
use crate::http::{page_files, page_templates};
use crate::observe::write_file;
use crate::store::db::inspect;

/// What is written when no file is named.
const FILE: &str = "studio.toml";
/// Below the project's folder.
const MIGRATIONS: &str = "studio/migrations";
const ASSETS: &str = "studio/assets";
const VIEWS: &str = "studio/views";

const CONFIGURATION: &str = "\
# Workflow Studio. Every key, with its default and its environment variable: docs/configuration.md.
# A variable such as STUDIO_ROUTE_PREFIX wins over this file.

# Outside of `local` the host says who may enter.
environment = \"local\"
route_prefix = \"studio\"

[database]
path = \"studio.sqlite\"

# Without a provider the built-in provider `script` plays the models.
# default_provider = \"openai\"
# default_model = \"gpt-5-mini\"
#
# [providers.openai]
# credential = \"secret:OPENAI_API_KEY\"
";

const CONFIGURATION_JSON: &str = r#"{
  "environment": "local",
  "route_prefix": "studio",
  "database": {"path": "studio.sqlite"}
}
"#;

/// A file that belongs into the project.
struct Planned {
    path: PathBuf,
    bytes: Cow<'static, [u8]>,
}

/// Writes what a project needs; what exists is kept without `--force`.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let (force, views) = (arguments.switch("force")?, arguments.switch("with-views")?);
    let project = project(call, arguments.value("path"));
    arguments.end()?;
    if !project.as_os_str().is_empty() {
        std::fs::create_dir_all(&project).map_err(|error| refused(&project, &error))?;
    }
    let store = &call.studio.world().store;
    // A database that cannot be used is reported before anything is written.
    let found = store.inspect().await?;
    inspect::must_be_known(found.schema)?;
    let mut done = Vec::new();
    for file in planned(call, &project, views) {
        let what = put(&file, force)?;
        call.say(&format!("{what} {}", file.path.display()));
        done.push(json!({"path": file.path.display().to_string(), "done": what}));
    }
    store.write(|_| Ok(())).await?;
    let applied = inspect::missing(found.schema).count();
    call.say(&format!("the database is up to date (schema {}, {applied} applied)", inspect::SCHEMA));
    if views && call.studio.config().views_path.is_none() {
        call.say(&format!("set `views_path = \"{VIEWS}\"` in the configuration file to use the page templates"));
    }
    call.give(&json!({"files": done, "schema": inspect::SCHEMA, "applied": applied}));
    Ok(Exit::Done)
}

/// The project's folder: the one that is named, else where the host's console or the program is.
fn project(call: &Call<'_>, named: Option<String>) -> PathBuf {
    let here = call.folder.clone().unwrap_or_default();
    named.map_or_else(|| here.clone(), |named| here.join(named))
}

fn planned(call: &Call<'_>, project: &Path, views: bool) -> Vec<Planned> {
    let named = call.file.clone().unwrap_or_else(|| PathBuf::from(FILE));
    let json = named.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("json"));
    let text = if json { CONFIGURATION_JSON } else { CONFIGURATION };
    let mut files = vec![Planned { path: project.join(named), bytes: text.as_bytes().into() }];
    for (name, text) in call.studio.world().store.migrations() {
        files.push(Planned { path: project.join(MIGRATIONS).join(name), bytes: text.into_bytes().into() });
    }
    for (name, bytes) in page_files() {
        files.push(Planned { path: project.join(ASSETS).join(name), bytes: bytes.into() });
    }
    if views {
        let templates = page_templates().into_iter();
        files.extend(templates.map(|(name, text)| Planned { path: project.join(VIEWS).join(name), bytes: text.into_bytes().into() }));
    }
    files
}

fn put(file: &Planned, force: bool) -> Result<&'static str> {
    let there = match std::fs::read(&file.path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(refused(&file.path, &error)),
    };
    match there {
        Some(bytes) if !force || bytes == *file.bytes => return Ok("kept"),
        Some(_) | None => {}
    }
    if let Some(folder) = file.path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| refused(&file.path, &error))?;
    }
    write_file(&file.path, &file.bytes).map_err(|error| refused(&file.path, &error))?;
    Ok(if there.is_some() { "replaced" } else { "created" })
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    let text = format!("`{}` was not written: {error}; the files before it are in place, and the command may be given again", path.display());
    Error::new(Kind::Internal, text)
}
