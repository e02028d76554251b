//! A web application in Rust with the studio inside: `make run`.
//!
//! `--port` (or `PORT`) and `--database` (or `STUDIO_DATABASE`) choose where it listens and where it keeps its data, `--config` names
//! a file with everything else. A new database file is filled with an example workflow and two agents.

mod welcome;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::net::TcpListener;
use std::process::ExitCode;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use wfstudio::Studio;
use wfstudio::config::{Config, ConfigSources};

const OPTIONS: [&str; 3] = ["--port", "--database", "--config"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _told = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// The options, each as `--name value` or `--name=value`.
fn options() -> Result<BTreeMap<&'static str, String>, String> {
    let mut found = BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let (name, value) = argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        let known = OPTIONS.iter().find(|option| **option == name);
        let option = known.ok_or_else(|| format!("`{name}` is not known here; there are {}", OPTIONS.join(", ")))?;
        let value = value.or_else(|| arguments.next()).ok_or_else(|| format!("`{option}` needs a value"))?;
        found.insert(*option, value);
    }
    Ok(found)
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut options = options()?;
    // Before the database is made: whoever cannot listen leaves nothing behind.
    let listener = listen(options.remove("--port").or_else(|| std::env::var("PORT").ok()).as_deref().unwrap_or("8787"))?;
    let file = options.remove("--config").map(std::path::PathBuf::from);
    let has_file = file.is_some();
    let mut json = match file {
        Some(_) => serde_json::json!({}),
        None => serde_json::json!({"environment": "local", "async_runs_enabled": true}),
    };
    if let Some(path) = options.remove("--database") {
        json["database"] = serde_json::json!({"path": path});
    }
    let config = Config::load(ConfigSources { file, json: Some(json), ..ConfigSources::default() }.with_process_environment())
        .map_err(|error| error.message)?;
    let is_new = !has_file && config.database_file().is_some_and(|path| !path.exists());
    let studio = Studio::open(config).map_err(|error| error.message)?;
    studio.runtime().map_err(|error| error.message)?.block_on(async {
        if is_new {
            welcome::fill(&studio).await.map_err(|error| error.message)?;
        }
        serve(studio.clone(), listener).await
    })
}

/// The place to listen at, or what stands in the way.
fn listen(port: &str) -> Result<TcpListener, String> {
    let number: u16 = port.parse().map_err(|_| format!("`{port}` is no port; a port is a number from 0 to 65535"))?;
    TcpListener::bind(("127.0.0.1", number)).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!("port {port} is in use; another one: PORT=9000 make run"),
        std::io::ErrorKind::PermissionDenied => format!("port {port} is for the system's own programs; another one: PORT=9000 make run"),
        _ => format!("nothing can listen at port {port}: {error}"),
    })
}

async fn serve(studio: Studio, listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let prefix = studio.config().route_prefix.trim_matches('/').to_owned();
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    writeln!(std::io::stdout(), "Workflow Studio: open http://{}/{prefix}", listener.local_addr()?)?;
    let own = match prefix.as_str() {
        "" => Router::new(),
        prefix => Router::new().route("/", get(Redirect::to(&format!("/{prefix}")))),
    };
    axum::serve(listener, own.merge(wfstudio::http::router(studio))).await?;
    Ok(())
}
