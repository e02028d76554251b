//! An application with the studio inside: `cargo run --example hello`.

use std::{error::Error, sync::Arc};

use axum::{extract::Request, middleware::map_request};
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::host::{Host, HostCall, HostFailure};
use wfstudio::{Studio, http::HostMarks};

struct Shop;

impl Host for Shop {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        async move { Ok(json!({"refunded": call.payload["arguments"]["amount"]})) }.boxed()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = ConfigSources { json: Some(json!({"database": {"path": "studio.sqlite"}})), ..ConfigSources::default() };
    let studio = Studio::open(Config::load(config.with_process_environment())?)?;
    let tools = json!({"ops": ["tool.call"], "tools": [{"name": "refund", "require_approval": true}]});
    studio.set_host(Arc::new(Shop), serde_json::from_value(tools)?);
    let app = wfstudio::http::router(studio.clone()).layer(map_request(async |mut request: Request| {
        request.extensions_mut().insert(HostMarks { user: Some(json!({"id": "7"})), gate: Some(true), ..HostMarks::default() });
        request
    }));
    studio.runtime()?.block_on(async {
        let port = std::env::var("PORT").unwrap_or("8080".to_owned()).parse::<u16>()?;
        Ok(axum::serve(tokio::net::TcpListener::bind(("127.0.0.1", port)).await?, app).await?)
    })
}
