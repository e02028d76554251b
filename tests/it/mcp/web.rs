//! Servers over HTTP: both transports, credentials, private addresses, redirects, a server that was started again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::peer::{Manner, Peer};
use super::support::{bench, call, graph, result, run};
use crate::support::Bench;

/// A server over HTTP that can forget its sessions.
#[derive(Clone)]
pub(super) struct Site {
    peer: Arc<Mutex<Peer>>,
    session: Arc<Mutex<u32>>,
    seen: Arc<Mutex<Vec<String>>>,
    /// The token that is accepted.
    pub(super) token: Arc<Mutex<String>>,
    stream: Arc<Mutex<Option<Sender>>>,
    /// Lists of tools come late, and how many did.
    late: Arc<Mutex<(bool, usize)>>,
    /// Streams of calls that wait for an answer of the client, by the numbers of the calls.
    open: Arc<Mutex<HashMap<String, Sender>>>,
}

type Sender = tokio::sync::mpsc::UnboundedSender<String>;

impl Site {
    fn has_stream(&self) -> bool {
        self.stream.lock().expect("a stream").is_some()
    }

    /// Waits until the client listens for changes.
    async fn is_heard(&self) {
        super::support::until("a stream", || self.has_stream()).await;
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }

    fn reports_a_change(&self) {
        let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let stream = self.stream.lock().expect("a stream");
        stream.as_ref().expect("a stream").send(format!("data: {change}\n\n")).expect("a reader");
    }

    fn lists(&self) -> usize {
        self.peer.lock().expect("a peer").lists
    }

    fn grow(&self) {
        self.peer.lock().expect("a peer").grown = true;
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let wanted = format!("Bearer {}", self.token.lock().expect("a token"));
        headers.get("authorization").is_some_and(|given| *given == *wanted)
    }
}

/// What a server says that wants (another) token.
fn unauthorized() -> Response {
    (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response()
}

/// An answer that goes on.
fn events(mut receiver: tokio::sync::mpsc::UnboundedReceiver<String>) -> axum::body::Body {
    let events = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context).map(|event| event.map(Ok::<_, std::io::Error>)));
    axum::body::Body::from_stream(events)
}

pub(super) async fn site(manner: Manner) -> (Site, String) {
    let token = Arc::new(Mutex::new("tok-canary".to_owned()));
    let (session, seen, stream_of_old, late, open) = Default::default();
    let site = Site { peer: Arc::new(Mutex::new(Peer::new(manner))), session, seen, token, stream: stream_of_old, late, open };
    let moved = |to: &'static str| post(move || async move { (StatusCode::TEMPORARY_REDIRECT, [("location", to)]) });
    let app = axum::Router::new()
        .route("/mcp", post(answer).get(|| async { StatusCode::METHOD_NOT_ALLOWED }))
        .route("/reports", post(answer).get(report))
        .route("/old", moved("/mcp"))
        .route("/away", moved("http://127.0.0.2:9/mcp"))
        .route("/sse", get(stream))
        .route("/messages", post(take))
        .with_state(site.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (site, address)
}

async fn answer(State(site): State<Site>, headers: HeaderMap, body: String) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    site.seen.lock().expect("seen").push(format!("{} {} {}", header("authorization"), header("x-key"), header("mcp-method")));
    if !site.lets_in(&headers) {
        return unauthorized();
    }
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let legacy = site.peer.lock().expect("a peer").manner == Manner::Legacy;
    let session = site.session.lock().expect("a session").to_string();
    let greeting = matches!(message["method"].as_str(), Some("initialize" | "server/discover"));
    if legacy && !greeting && header("mcp-session-id") != session {
        // Servers that others wrote do not say which request they refuse so, or name one of their own.
        let (ids, codes) = ([json!(null), json!("server-error")], [-32000, -32600]);
        let texts = ["No valid session ID provided", "Server not initialized"];
        let at = session.parse::<usize>().expect("a number") % 2;
        let error = json!({"jsonrpc": "2.0", "id": ids[at], "error": {"code": codes[at], "message": format!("Bad Request: {}", texts[at])}});
        return (StatusCode::BAD_REQUEST, axum::Json(error)).into_response();
    }
    if message["params"]["arguments"]["a"] == 404 {
        let error = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
        return (StatusCode::BAD_REQUEST, axum::Json(error)).into_response();
    }
    if message["params"]["arguments"]["a"] == 403 {
        return (StatusCode::FORBIDDEN, [("www-authenticate", "Bearer error=\"insufficient_scope\"")]).into_response();
    }
    if message["params"]["arguments"]["a"] == 700 {
        site.seen.lock().expect("seen").push("slow".to_owned());
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    }
    if message["params"]["arguments"]["b"] == 8 {
        site.seen.lock().expect("seen").push("json".to_owned());
        return (StatusCode::OK, axum::Json(as_json(&message))).into_response();
    }
    let said = site.peer.lock().expect("a peer").answer(&message);
    if said.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let comes_late = message["method"] == "tools/list" && site.late.lock().expect("a word").0;
    if comes_late {
        site.late.lock().expect("a word").1 += 1;
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    }
    let body: String = said.iter().map(|one| format!("data: {one}\n\n")).collect();
    let kind = [("content-type", "text/event-stream"), ("mcp-session-id", session.as_str())];
    if message["method"].is_null() {
        // The end of a call whose question was answered just now: it is told where the call came.
        let stream = site.open.lock().expect("streams").remove(&said[0]["id"].to_string()).expect("a stream");
        stream.send(body).expect("a reader");
        return StatusCode::ACCEPTED.into_response();
    }
    if said.iter().all(|one| one["method"].is_string()) {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        sender.send(body).expect("a reader");
        site.open.lock().expect("streams").insert(message["id"].to_string(), sender);
        return (kind, events(receiver)).into_response();
    }
    (kind, body).into_response()
}

/// An answer that is no stream: of a sum, of very many values, of very many bytes.
fn as_json(message: &Value) -> Value {
    let (empty, long) = (json!({"a": vec![json!({}); 600_000]}), "x".repeat(9 << 20));
    let made = match message["params"]["arguments"]["a"].as_u64() {
        Some(1) => empty,
        Some(2) => json!(long),
        _ => json!({"sum": 11}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "structuredContent": made}})
}

async fn stream(State(site): State<Site>, headers: HeaderMap) -> Response {
    if !site.lets_in(&headers) {
        return unauthorized();
    }
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    sender.send("event: endpoint\ndata: /messages?session=1\n\n".to_owned()).expect("a reader");
    *site.stream.lock().expect("a stream") = Some(sender);
    ([("content-type", "text/event-stream")], events(receiver)).into_response()
}

/// The stream of a session, over which changes are reported.
async fn report(State(site): State<Site>) -> Response {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    *site.stream.lock().expect("a stream") = Some(sender);
    ([("content-type", "text/event-stream")], events(receiver)).into_response()
}

async fn take(State(site): State<Site>, headers: HeaderMap, body: String) -> Response {
    if !site.lets_in(&headers) {
        return unauthorized();
    }
    let message: Value = serde_json::from_str(&body).expect("JSON");
    if message["params"]["arguments"]["a"] == 13 {
        site.seen.lock().expect("seen").push("hangs".to_owned());
        std::future::pending::<()>().await;
    }
    let said = site.peer.lock().expect("a peer").answer(&message);
    let stream = site.stream.lock().expect("a stream").clone();
    for one in said {
        drop(stream.as_ref().map(|stream| stream.send(format!("event: message\ndata: {one}\n\n"))));
    }
    StatusCode::ACCEPTED.into_response()
}

pub(super) fn at(url: String, more: Value) -> Value {
    let mut server = json!({"transport": "http", "url": url, "token": "secret:PEER_TOKEN", "headers": {"X-Key": "plain"}});
    crate::support::merge(&mut server, more);
    server
}

#[tokio::test]
async fn answers_that_are_no_streams_are_measured_before_they_are_read() {
    for manner in [Manner::Modern, Manner::Legacy] {
        let (site, address) = site(manner).await;
        let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({})))], json!({}));
        assert_eq!(result(&bench, "peer", "add", json!({"a": 3, "b": 8})).await, json!({"sum": 11}));
        let calls = || site.seen.lock().expect("seen").iter().filter(|seen| *seen == "json").count();
        for (a, why) in [(1, "the answer could not be read: it has too many values"), (2, "the answer is longer than 8 MiB and was not read")] {
            let before = calls();
            let unread = json!({"parameters": {"a": a, "b": 8}, "retries": {"max": 1, "backoff_ms": 1}});
            let unread = run(&bench, call("peer", "add", unread)).await.expect_err("not read");
            assert!(unread.contains(why) && unread.contains("it is not known what the call did"), "{unread}");
            assert_eq!(calls() - before, 1, "it is not made again");
        }
        assert_eq!(result(&bench, "peer", "add", json!({"a": 3, "b": 8})).await, json!({"sum": 11}), "the connection goes on");
    }
}

#[tokio::test]
async fn both_protocols_work_over_http_with_credentials() {
    for (manner, version) in [(Manner::Modern, "2026-07-28"), (Manner::Legacy, "2025-11-25")] {
        let (site, address) = site(manner).await;
        let servers = [("peer", at(format!("{address}/mcp"), json!({}))), ("open", at(format!("{address}/mcp"), json!({"token": null})))];
        let bench = bench(&servers, json!({}));
        let tried = bench.studio.test_mcp_server(&bench.scope, "peer").await.expect("an answer");
        assert_eq!((&tried["ok"], &tried["protocol_version"]), (&json!(true), &json!(version)), "{tried}");
        assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
        assert_eq!(run(&bench, call("peer", "fail", json!({}))).await, Err("tool_failed: it went wrong".into()));
        let seen = site.seen.lock().expect("seen").join("\n");
        let method = if manner == Manner::Modern { "tools/call" } else { "" };
        assert!(seen.contains(&format!("Bearer tok-canary plain {method}")), "{seen}");
        let refused = run(&bench, call("open", "add", json!({}))).await.expect_err("refused");
        assert!(refused.starts_with("mcp_unavailable: the MCP server `open` wants authorization (401)"), "{refused}");
    }
}

#[tokio::test]
async fn a_server_that_was_started_again_is_greeted_again() {
    let (site, address) = site(Manner::Legacy).await;
    let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({})))], json!({}));
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
    for sum in [4, 5] {
        *site.session.lock().expect("a session") += 1;
        assert_eq!(result(&bench, "peer", "add", json!({"a": 2, "b": sum - 2})).await, json!({"sum": sum}));
    }
    let calls = site.seen.lock().expect("seen").len();
    assert!(calls < 30, "{calls} requests");
    let refused = run(&bench, call("peer", "add", json!({"parameters": {"a": 404, "b": 1}}))).await.expect_err("refused");
    assert!(refused.starts_with("tool_failed") && refused.contains("No valid session"), "{refused}");
    assert_eq!(site.seen.lock().expect("seen").len(), calls + 3, "the session is known: a list, the call once, and a ping");
}

/// What becomes of a call of a tool that the server has once it has grown: it does not know how to call it.
async fn grown(bench: &Bench) -> String {
    run(bench, call("peer", "grown", json!({}))).await.expect_err("no such tool")
}

const CALLED: &str = "tool_failed: no tool grown";

#[tokio::test]
async fn a_list_is_asked_for_again_where_no_stream_reports_changes() {
    let (site, address) = site(Manner::Legacy).await;
    let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({})))], json!({}));
    assert!(grown(&bench).await.starts_with("tool_not_found"));
    site.grow();
    assert_eq!(grown(&bench).await, CALLED, "the server says that it reports changes, and has nothing to report them over");
}

#[tokio::test]
async fn a_list_holds_as_long_as_changes_are_reported() {
    let (site, address) = site(Manner::Legacy).await;
    let bench = bench(&[("peer", at(format!("{address}/reports"), json!({})))], json!({}));
    let add = || result(&bench, "peer", "add", json!({"a": 1, "b": 2}));
    add().await;
    site.is_heard().await;
    // Until the client knows that it listens, each call asks for a list.
    let mut asked = true;
    for _ in 0..100 {
        let lists = site.lists();
        add().await;
        asked = site.lists() != lists;
        if !asked {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!asked, "nothing was reported");
    // The server is gone for a moment, and with it what it would have reported.
    site.grow();
    *site.stream.lock().expect("a stream") = None;
    for _ in 0..6000 {
        if grown(&bench).await == CALLED {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{}", grown(&bench).await);
}

#[tokio::test]
async fn a_list_that_comes_late_does_not_take_the_place_of_a_newer_one() {
    let (site, address) = site(Manner::Legacy).await;
    let bench = bench(&[("peer", at(format!("{address}/reports"), json!({})))], json!({}));
    let add = || result(&bench, "peer", "add", json!({"a": 1, "b": 2}));
    add().await;
    site.is_heard().await;
    add().await;
    site.late.lock().expect("a word").0 = true;
    site.reports_a_change();
    // Nothing tells when the client has heard of a change: calls made before ask for no list.
    let add = async || loop {
        let sum = add().await;
        if site.late.lock().expect("a word").1 > 0 {
            break sum;
        }
    };
    let newer = async {
        super::support::until("the first list", || site.late.lock().expect("a word").1 > 0).await;
        site.late.lock().expect("a word").0 = false;
        site.grow();
        site.reports_a_change();
        let mut newer = grown(&bench).await;
        for _ in 0..6000 {
            if newer == CALLED {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            newer = grown(&bench).await;
        }
        newer
    };
    let (sum, newer) = tokio::join!(add(), newer);
    assert_eq!((sum, newer.as_str()), (json!({"sum": 3}), CALLED));
    assert_eq!(grown(&bench).await, CALLED, "the list that was asked for first came last");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    // Nobody listens there, and nobody else is given it meanwhile.
    let taken = tokio::net::TcpSocket::new_v4().expect("a socket");
    taken.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = format!("http://{}", taken.local_addr().expect("an address"));
    let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({}))), ("old", at(format!("{address}/sse"), json!({"transport": "sse"})))], json!({}));
    for slug in ["peer", "old"] {
        let failed = run(&bench, call(slug, "add", json!({}))).await.expect_err("not there");
        assert!(failed.starts_with(&format!("mcp_unavailable: the MCP server `{slug}`")) && failed.contains("refused"), "{failed}");
        assert!(!failed.contains("canary"), "{failed}");
    }
}

#[tokio::test]
async fn redirects_stay_at_their_origin() {
    let (site, address) = site(Manner::Modern).await;
    let servers = [("moved", at(format!("{address}/old"), json!({}))), ("away", at(format!("{address}/away"), json!({})))];
    let bench = bench(&servers, json!({}));
    assert_eq!(result(&bench, "moved", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
    let before = site.seen.lock().expect("seen").len();
    let refused = run(&bench, call("away", "add", json!({}))).await.expect_err("refused");
    assert!(refused.starts_with("mcp_unavailable") && refused.contains("307"), "{refused}");
    assert_eq!(site.seen.lock().expect("seen").len(), before);
}

#[tokio::test]
async fn private_addresses_need_the_operators_word() {
    let (_, address) = site(Manner::Modern).await;
    for (allowed, works) in [(json!([]), false), (json!(["127.0.0.0/8"]), true)] {
        let bench = Bench::new(json!({"mcp": {"allow_private": allowed}, "secrets": {"PEER_TOKEN": "tok-canary"}}));
        let body = json!({"name": "Peer", "slug": "peer", "transport": "http", "url": format!("{address}/mcp"), "token": "secret:PEER_TOKEN"});
        bench.studio.create(&bench.scope, wfstudio::studio::Resource::McpServer, &body).await.expect("a server");
        let answer = run(&bench, call("peer", "add", json!({"parameters": {"a": 1, "b": 2}}))).await;
        match answer {
            Ok(state) => assert!(works && state["mcp_result"]["result"]["sum"] == 3, "{state}"),
            Err(error) => assert!(!works && error.contains("private or local address"), "{error}"),
        }
    }
    let bad = crate::support::config(json!({"mcp": {"allow_private": ["not a host!"]}}), ":memory:");
    assert!(wfstudio::Studio::open(bad).is_err());
}

#[tokio::test]
async fn a_slug_leads_to_the_server_of_the_configuration_also_beside_a_stored_one_that_had_it_before() {
    let ((earlier, earlier_address), (site, address)) = (site(Manner::Modern).await, site(Manner::Modern).await);
    let folder = tempfile::tempdir().expect("a folder");
    let settings = |servers: Value| json!({"mcp": {"servers": servers, "allow_private": ["127.0.0.0/8"]}, "secrets": {"PEER_TOKEN": "tok-canary"}});
    let before = Bench::on_disk(settings(json!({})), folder.path());
    let body = at(format!("{earlier_address}/mcp"), json!({"name": "Peer", "slug": "peer"}));
    let stored = before.studio.create(&before.scope, wfstudio::studio::Resource::McpServer, &body).await.expect("a server");
    let id = stored["id"].as_str().expect("an id");
    before.studio.shutdown(std::time::Duration::from_secs(5)).await;
    let bench = Bench::on_disk(settings(json!({"peer": at(format!("{address}/mcp"), json!({}))})), folder.path());
    for (round, servers) in [[id, "peer"], ["peer", id]].into_iter().enumerate() {
        let node = |name, server| (name, "mcp", json!({"mcp_server": server, "tool_name": "add", "parameters": {"a": 1, "b": 2}}));
        run(&bench, graph(vec![node("a", servers[0]), node("b", servers[1])], &["start > a", "a > b", "b > stop"])).await.expect("done");
        let calls = |site: &Site| site.seen.lock().expect("seen").iter().filter(|seen| seen.contains("tools/call")).count();
        assert_eq!((calls(&earlier), calls(&site)), (round + 1, round + 1), "each was called once more");
    }
}

#[tokio::test]
async fn the_older_transport_works_too() {
    let (_, address) = site(Manner::Legacy).await;
    let bench = bench(&[("peer", at(format!("{address}/sse"), json!({"transport": "sse"})))], json!({}));
    let tried = bench.studio.test_mcp_server(&bench.scope, "peer").await.expect("an answer");
    assert_eq!((&tried["ok"], &tried["protocol_version"]), (&json!(true), &json!("2025-11-25")), "{tried}");
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
}

#[tokio::test]
async fn a_message_that_the_older_transport_does_not_take_stops_nobody_else() {
    let (site, address) = site(Manner::Legacy).await;
    let server = at(format!("{address}/sse"), json!({"transport": "sse", "timeout_ms": 10_000}));
    let bench = bench(&[("peer", server)], json!({}));
    let first = run(&bench, call("peer", "add", json!({"parameters": {"a": 13, "b": 1}})));
    let second = async {
        super::support::until("the call that hangs", || site.seen.lock().expect("seen").contains(&"hangs".to_owned())).await;
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(second, json!({"sum": 3}));
    assert!(first.is_err(), "{first:?}");
    assert_eq!(site.seen.lock().expect("seen").iter().filter(|line| *line == "hangs").count(), 1, "the call is not made again");
}

#[tokio::test]
async fn a_call_that_is_not_let_in_ends_no_other_call_on_its_connection() {
    for manner in [Manner::Modern, Manner::Legacy] {
        let (site, address) = site(manner).await;
        let bench = bench(&[("peer", at(format!("{address}/mcp"), json!({})))], json!({}));
        let slow = result(&bench, "peer", "add", json!({"a": 700, "b": 1}));
        let refused = async {
            super::support::until("the slow call", || site.seen.lock().expect("seen").contains(&"slow".to_owned())).await;
            let refused = run(&bench, call("peer", "add", json!({"parameters": {"a": 403, "b": 1}}))).await.expect_err("not let in");
            assert!(refused.starts_with("mcp_unavailable") && refused.contains("(403)"), "{refused}");
        };
        let (sum, ()) = tokio::join!(slow, refused);
        assert_eq!(sum, json!({"sum": 701}), "it got its answer");
        assert_eq!(site.seen.lock().expect("seen").iter().filter(|line| *line == "slow").count(), 1, "and was made once");
        assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
    }
}
