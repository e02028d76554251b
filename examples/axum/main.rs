//! A web application in Rust with the studio inside: `make run`.
//!
//! `--port` (or `PORT`) and `--database` (or `STUDIO_DATABASE`) choose where it listens and where it keeps its data, `--config` names
//! a file with everything else. A new database file is filled with an example workflow and two agents.

mod welcome;

use std::error::Error;
use std::io::Write;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use studio::Studio;
use studio::config::{Config, ConfigSources};

/// The value behind `--name` or `--name=`.
fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix(name) {
            Some("") => return arguments.next(),
            Some(rest) if rest.starts_with('=') => return rest.get(1..).map(str::to_owned),
            Some(_) | None => {}
        }
    }
    None
}

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = argument("--port").or_else(|| std::env::var("PORT").ok()).map_or(Ok(8787), |port| port.parse())?;
    let file = argument("--config").map(std::path::PathBuf::from);
    let mut json = match file {
        Some(_) => serde_json::json!({}),
        None => serde_json::json!({"environment": "local", "async_runs_enabled": true}),
    };
    if let Some(path) = argument("--database") {
        json["database"] = serde_json::json!({"path": path});
    }
    let config = Config::load(ConfigSources { file, json: Some(json), env: std::env::vars().collect() })?;
    let is_new = argument("--config").is_none() && config.database_file().is_some_and(|path| !path.exists());
    let studio = Studio::open(config)?;
    studio.runtime()?.block_on(async {
        if is_new {
            welcome::fill(&studio).await?;
        }
        serve(studio.clone(), port).await
    })
}

async fn serve(studio: Studio, port: u16) -> Result<(), Box<dyn Error>> {
    let prefix = studio.config().route_prefix.trim_matches('/').to_owned();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    writeln!(std::io::stdout(), "Workflow Studio: open http://{}/{prefix}", listener.local_addr()?)?;
    let own = match prefix.as_str() {
        "" => Router::new(),
        prefix => Router::new().route("/", get(Redirect::to(&format!("/{prefix}")))),
    };
    axum::serve(listener, own.merge(studio::http::router(studio))).await?;
    Ok(())
}
