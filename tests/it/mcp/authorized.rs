//! Servers that want authorization: the application is asked for a token, once for each that is refused, and never where none is wanted.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};

use super::peer::Manner;
use super::support::{bench, call, result, run};
use super::web::{at, site};
use crate::support::Bench;

/// Gives one token after the other, then none; remembers what it was asked.
struct Giver {
    tokens: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<Value>>,
}

impl Host for Giver {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        self.asked.lock().expect("asked").push(call.payload);
        let token = self.tokens.lock().expect("tokens").pop();
        Box::pin(async move { token.map(|token| json!({ "token": token })).ok_or_else(|| HostFailure::new("log in at https://studio.example/login")) })
    }
}

/// The application answers `mcp.authorize` with these tokens, the last first.
fn giving(bench: &Bench, tokens: &[&'static str]) -> Arc<Giver> {
    let giver = Arc::new(Giver { tokens: Mutex::new(tokens.to_vec()), asked: Mutex::default() });
    let declaration = HostDeclaration { ops: vec![HostOp::McpAuthorize], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::clone(&giver) as Arc<dyn Host>, declaration);
    giver
}

#[tokio::test]
async fn the_application_is_asked_until_its_token_is_taken() {
    for manner in [Manner::Modern, Manner::Legacy] {
        let (_, address) = site(manner).await;
        let url = format!("{address}/mcp");
        let bench = bench(&[("peer", at(url.clone(), json!({"token": null})))], json!({}));
        let giver = giving(&bench, &["tok-canary", "tok-stale"]);
        for _ in 0..2 {
            assert!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
        }
        let wanted = json!({"server": "peer", "url": url, "tenant": "", "status": 401, "challenge": "Bearer", "timeout_ms": 8000});
        assert_eq!(*giver.asked.lock().expect("asked"), [wanted.clone(), wanted]);
    }
}

#[tokio::test]
async fn the_older_transport_asks_for_its_stream_and_for_its_messages() {
    let (site, address) = site(Manner::Legacy).await;
    let url = format!("{address}/sse");
    let bench = bench(&[("peer", at(url.clone(), json!({"transport": "sse", "token": null})))], json!({}));
    let giver = giving(&bench, &["tok-next", "tok-canary", "tok-stale"]);
    let wanted = json!({"server": "peer", "url": url, "tenant": "", "status": 401, "challenge": "Bearer", "timeout_ms": 8000});
    assert!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
    assert_eq!(*giver.asked.lock().expect("asked"), [wanted.clone(), wanted.clone()]);
    *site.token.lock().expect("a token") = "tok-next".into();
    assert!(result(&bench, "peer", "add", json!({"a": 2, "b": 2})).await.to_string().contains('4'));
    assert_eq!(*giver.asked.lock().expect("asked"), [wanted.clone(), wanted.clone(), wanted]);
    *site.token.lock().expect("a token") = "tok-later".into();
    let refused = run(&bench, call("peer", "grow", json!({}))).await.expect_err("refused");
    let told = "mcp_unavailable: the MCP server `peer` wants authorization (401), and the application gave none: log in at https://studio.example/login";
    assert!(refused.starts_with(told), "{refused}");
}

#[tokio::test]
async fn a_server_that_is_content_asks_nobody() {
    let (_, address) = site(Manner::Modern).await;
    let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({})))], json!({}));
    let giver = giving(&bench, &[]);
    assert!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
    assert!(giver.asked.lock().expect("asked").is_empty());
}

#[tokio::test]
async fn what_the_application_says_instead_of_a_token_is_told_and_nothing_is_done() {
    let (_, address) = site(Manner::Modern).await;
    let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({"token": null})))], json!({}));
    let giver = giving(&bench, &["tok-stale"]);
    let refused = run(&bench, call("peer", "add", json!({}))).await.expect_err("refused");
    let told = "mcp_unavailable: the MCP server `peer` wants authorization (401), and the application gave none: log in at https://studio.example/login";
    assert_eq!(refused, told);
    assert_eq!(giver.asked.lock().expect("asked").len(), 2);
}
