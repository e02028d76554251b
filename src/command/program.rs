//! Owns the start of the program: global options to a configuration, configuration to a studio, then the command.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Arguments, Call, Console, Exit, Outcome, exit_of, helped, version, writes_configuration};
use crate::config::{Config, ConfigSources};
use crate::error::Error;
use crate::studio::{Stop, Studio};

/// What the program reads when no `--config` names a file.
const FILE: &str = "studio.toml";

/// Runs a command as a program of its own does: opens the studio that the arguments and the environment describe, and ends it.
pub fn main(typed: Vec<String>, environment: BTreeMap<String, String>, console: &dyn Console, stop: Stop) -> Exit {
    match Arguments::parse(typed) {
        Ok(arguments) if arguments.command() == "help" => {
            exit_of(console, false, helped(arguments, console))
        }
        Ok(mut arguments) if arguments.command() == "version" => {
            version(console, arguments.switch("json").unwrap_or_default());
            Exit::Done
        }
        Ok(arguments) => begin(arguments, environment, console, stop),
        Err(error) => exit_of(console, false, Err(error)),
    }
}

fn begin(mut arguments: Arguments, environment: BTreeMap<String, String>, console: &dyn Console, stop: Stop) -> Exit {
    let json = arguments.switch("json");
    let as_json = matches!(json, Ok(true));
    exit_of(console, as_json, json.and_then(|json| go(&mut arguments, environment, console, stop, json)))
}

fn go(arguments: &mut Arguments, environment: BTreeMap<String, String>, console: &dyn Console, stop: Stop, json: bool) -> Outcome {
    let quiet = arguments.switch("quiet")?;
    let tenant = arguments.value("tenant").unwrap_or_default();
    let named = arguments.value("config").map(PathBuf::from);
    // An install works on the given project, as if it were started there.
    let project = arguments.peek("path").filter(|_| arguments.command() == "install").map(PathBuf::from).unwrap_or_default();
    let file = named.as_ref().map(|file| project.join(file)).or_else(|| Some(project.join(FILE)).filter(|file| file.exists()));
    // What makes the file may find none.
    let read = file.filter(|file| !writes_configuration(arguments.command()) || file.exists());
    let mut sources = sources(arguments, read, environment)?;
    let mut config = Config::load(sources.clone())?;
    if let Some(database) = config.database_file().filter(|_| config.database.url.is_none() && !project.as_os_str().is_empty()) {
        let database = project.join(database);
        sources.env.remove("STUDIO_DATABASE");
        if let Some(own) = &mut sources.json {
            own["database"] = json!({"path": database});
        }
        config = Config::load(sources)?;
    }
    let studio = Studio::open(config)?;
    let runtime = studio.runtime()?;
    let call = Call { studio: &studio, console, tenant, json, quiet, folder: None, file: named, stop, alone: true };
    let exit = runtime.block_on(async {
        let exit = super::run(&call, std::mem::take(arguments)).await;
        studio.shutdown(Duration::from_secs(2)).await;
        exit
    });
    studio.stop_runtime(Duration::from_secs(1));
    Ok(exit)
}

/// The configuration of a program that works for others: it takes what a command says, nothing by itself.
fn sources(arguments: &mut Arguments, file: Option<PathBuf>, mut environment: BTreeMap<String, String>) -> Result<ConfigSources, Error> {
    let mut own = json!({"worker": {"in_process": false}});
    environment.remove("STUDIO_WORKER_IN_PROCESS");
    if let Some(place) = arguments.value("database").or(arguments.value("connection")) {
        environment.remove("STUDIO_DATABASE");
        environment.remove("STUDIO_DATABASE_URL");
        let key = if place.starts_with("sqlite:") || place.contains("://") { "url" } else { "path" };
        own["database"] = json!({ key: place });
    }
    for (option, key, variable) in [("tries", "queue_tries", "STUDIO_QUEUE_TRIES"), ("backoff", "queue_backoff", "STUDIO_QUEUE_BACKOFF")] {
        if let Some(count) = arguments.count(option)? {
            environment.remove(variable);
            own[key] = Value::from(count);
        }
    }
    Ok(ConfigSources { file, json: Some(own), env: environment })
}
