//! Webhooks: what is sent, what comes back, what a run makes of it.

use expect_test::expect;
use serde_json::json;

use super::server::Server;
use super::{graph, hook, near, run, stored, tried};
use crate::support::Bench;

#[tokio::test]
async fn inputs_go_to_path_query_headers_and_body() {
    let (bench, server) = (near(), Server::start().await);
    let inputs = json!({"id": "A 1/2", "q": "x&y", "trace": "t-1", "note": "é", "tags": ["a", "b"], "deep": {"n": 1.5}, "none": null});
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let config = json!({"method": method, "url": server.url("/orders/{id}?q={q}"), "headers": {"X-Trace": "run {trace}", "X-None": "{none}"}});
        tried(&bench, &hook(&bench, config).await, inputs.clone()).await;
    }
    expect![[r#"
        GET /orders/A%201%2F2?q=x%26y&note=%C3%A9&tags=a&tags=b&deep=%7B%22n%22%3A1.5%7D | idempotency-key: # · user-agent: workflow-studio/VERSION · x-trace: run t-1 | 
        POST /orders/A%201%2F2?q=x%26y | content-type: application/json · idempotency-key: # · user-agent: workflow-studio/VERSION · x-trace: run t-1 | {"note":"é","tags":["a","b"],"deep":{"n":1.5}}
        PUT /orders/A%201%2F2?q=x%26y | content-type: application/json · idempotency-key: # · user-agent: workflow-studio/VERSION · x-trace: run t-1 | {"note":"é","tags":["a","b"],"deep":{"n":1.5}}
        PATCH /orders/A%201%2F2?q=x%26y | content-type: application/json · idempotency-key: # · user-agent: workflow-studio/VERSION · x-trace: run t-1 | {"note":"é","tags":["a","b"],"deep":{"n":1.5}}
        DELETE /orders/A%201%2F2?q=x%26y&note=%C3%A9&tags=a&tags=b&deep=%7B%22n%22%3A1.5%7D | idempotency-key: # · user-agent: workflow-studio/VERSION · x-trace: run t-1 | "#]]
    .assert_eq(&server.seen_text());
}

#[tokio::test]
async fn inputs_that_would_change_the_request_are_refused() {
    let (bench, server) = (near(), Server::start().await);
    let config = json!({"url": server.url("/orders/{id}"), "headers": {"X-Trace": "{trace}"}});
    let id = hook(&bench, config).await;
    let mut told = Vec::new();
    for inputs in [json!({"id": "1", "trace": "a\r\nX-Evil: 1"}), json!({"id": "1", "trace": "é"}), json!({"id": ".."}), json!({})] {
        told.push(tried(&bench, &id, inputs).await);
    }
    expect![[r#"
        error: `trace` has control characters, which the header `X-Trace` must not carry
        error: the header `X-Trace` can carry ASCII characters only
        error: a parameter of the path must not be `.` or `..`
        error: `id` is needed in the path of the URL and is missing"#]].assert_eq(&told.join("\n"));
    assert_eq!(server.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn answers_are_results_and_other_statuses_are_errors() {
    let (bench, server) = (near(), Server::start().await);
    let headers = json!({"Authorization": "secret:SHOP_TOKEN"});
    let mut told = String::new();
    for path in ["/pretty", "/none", "/refuse", "/binary", "/other", "/large"] {
        let id = hook(&bench, json!({"url": server.url(path), "headers": headers})).await;
        let answer = tried(&bench, &id, json!({})).await;
        let (length, end) = (answer.len(), answer.chars().rev().take(12).collect::<Vec<_>>());
        let end: String = end.into_iter().rev().collect();
        told.push_str(&if length < 200 { format!("{path} {answer}\n") } else { format!("{path} {length} … {end}\n") });
    }
    expect![[r#"
        /pretty {"id":12345678901234567890,"ok":true}
        /none 
        /refuse error: the webhook answered 401 Unauthorized: bad token ***
        /binary error: the webhook answered with 6 bytes of image/png, which are no text
        /other {"method":"GET","authorization":"***"}
        /large 262157 … 
        [truncated]
    "#]].assert_eq(&told);
    assert!(server.seen_text().contains("authorization: s3cret-token"));
}

#[tokio::test]
async fn silence_endless_answers_and_missing_secrets_are_errors() {
    let (bench, server) = (near(), Server::start().await);
    let hang = stored(&bench, json!({"name": "hang", "kind": "webhook", "timeout_ms": 60, "config": {"url": server.url("/hang")}})).await;
    assert_eq!(tried(&bench, &hang, json!({})).await, "error: the tool did not answer within 60 ms");
    let endless = hook(&bench, json!({"url": server.url("/endless")})).await;
    assert!(tried(&bench, &endless, json!({})).await.ends_with("[truncated]"));
    let secret = hook(&bench, json!({"url": server.url("/x"), "headers": {"X-Api-Key": "secret:NOT_SET"}})).await;
    assert!(tried(&bench, &secret, json!({})).await.starts_with("error: the secret `NOT_SET` is not set"));
    let node = run(&bench, graph(json!({"tool_ref": format!("tool:{secret}"), "retries": {"max": 3, "backoff_ms": 1}}))).await;
    let error = &node["trace"]["error"];
    assert_eq!((&error["code"], &error["node_id"]), (&json!("credential_missing"), &json!("tool")), "a node is not tried again: {error}");
    assert_eq!(node["steps"][0]["attempt"], 1);
    // Nobody listens there, and nobody else is given it meanwhile.
    let taken = tokio::net::TcpSocket::new_v4().expect("a socket");
    taken.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let free = taken.local_addr().expect("an address");
    let closed = hook(&bench, json!({"url": format!("http://{free}/")})).await;
    assert!(tried(&bench, &closed, json!({})).await.starts_with("error: the webhook could not be called: "));
}

#[tokio::test]
async fn nodes_and_models_call_webhooks() {
    let replies = json!({"replies": [
        {"tool_calls": [{"name": "lookup", "arguments": {"id": 1}}, {"name": "lookup", "arguments": {"id": 2}}, {"name": "lookup", "arguments": {"id": {}}}]},
        {"text": "{{tool_result}}"}]});
    let bench = Bench::new(json!({"webhook": {"allow_private": ["127.0.0.0/8"]}, "providers": {"script": {"scripts": {"m": replies}}}}));
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    let config = json!({"url": server.url("/orders/{id}")});
    let body = json!({"name": "lookup", "slug": "lookup-order", "kind": "webhook", "input_schema": schema, "config": config});
    stored(&bench, body).await;
    let trace = run(&bench, graph(json!({"tool_ref": "tool:Lookup-Order", "parameters": {"id": 7}}))).await;
    assert_eq!(trace["steps"][0]["output"], json!({"tool_result": {"name": "lookup", "result": {"method": "GET", "authorization": "none"}}}));
    let mut agent = graph(json!({}));
    agent["nodes"][1] = json!({"id": "tool", "type": "agent", "position": {"x": 0, "y": 0}, "data": {
        "config_mode": "inline", "provider": "script", "model": "m", "tools": [{"ref": "tool:lookup-order"}]}});
    let trace = run(&bench, agent).await;
    let answer = trace["steps"][0]["output"]["agent_response"].as_str().expect("a text");
    assert!(answer.starts_with("The arguments do not fit `lookup`"), "{answer}");
    let mut paths: Vec<String> = server.seen().iter().map(|line| line.split(' ').nth(1).unwrap_or_default().to_owned()).collect();
    paths.sort();
    assert_eq!(paths, ["/orders/1", "/orders/2", "/orders/7"]);
    let mut keys = server.keys();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3, "each call has a key of its own: {keys:?}");
}

#[tokio::test]
async fn a_webhook_that_fails_fails_its_node() {
    let (bench, server) = (near(), Server::start().await);
    stored(&bench, json!({"name": "refuse", "kind": "webhook", "config": {"method": "POST", "url": server.url("/refuse")}})).await;
    let trace = run(&bench, graph(json!({"tool_ref": "tool:refuse", "retries": {"max": 1, "backoff_ms": 0}}))).await;
    assert_eq!(trace["trace"]["error"], json!({"code": "tool_failed", "message": "the webhook answered 401 Unauthorized: bad token none", "node_id": "tool"}));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_call_whose_answer_cannot_be_taken_is_not_made_again() {
    let (bench, server) = (near(), Server::start().await);
    for (name, path) in [("binary", "/binary"), ("cut", "/cut-parts"), ("many", "/many-files")] {
        for (method, made) in [("POST", 1), ("GET", 2)] {
            let config = json!({"method": method, "url": server.url(path)});
            let slug = format!("{name}-{}", method.to_lowercase());
            stored(&bench, json!({"name": slug, "slug": slug, "kind": "webhook", "config": config})).await;
            let before = server.seen().len();
            let trace = run(&bench, graph(json!({"tool_ref": format!("tool:{slug}"), "retries": {"max": 1, "backoff_ms": 0}}))).await;
            let (error, asked) = (&trace["trace"]["error"], if made == 1 { json!(slug) } else { json!(null) });
            assert_eq!((&error["calls"][0]["name"], server.seen().len() - before), (&asked, made), "{slug}: {error}");
        }
    }
}

#[tokio::test]
async fn a_call_that_a_gateway_lost_is_not_made_again_unless_it_may_be() {
    let (bench, server) = (near(), Server::start().await);
    let ways = [
        ("POST", 502, false, 1),
        ("PUT", 504, false, 1),
        ("DELETE", 524, false, 1),
        ("POST", 503, false, 2),
        ("POST", 500, false, 2),
        ("GET", 502, false, 2),
        ("POST", 502, true, 2),
    ];
    for (at, (method, code, idempotent, made)) in ways.into_iter().enumerate() {
        let (name, url) = (format!("way-{at}"), server.url(&format!("/redirect?code={code}&to=/x&way={at}")));
        let config = json!({"method": method, "url": url});
        stored(&bench, json!({"name": name, "slug": name, "kind": "webhook", "config": config, "idempotent": idempotent})).await;
        let data = json!({"tool_ref": format!("tool:{name}"), "idempotent": idempotent, "retries": {"max": 1, "backoff_ms": 0}});
        let trace = run(&bench, graph(data)).await;
        let calls = server.seen().iter().filter(|line| line.contains(&format!("way={at}"))).count();
        let error = &trace["trace"]["error"];
        let asked = if made == 1 { json!(name) } else { json!(null) };
        assert_eq!((&error["calls"][0]["name"], calls), (&asked, made), "{method} {code}: {error}");
        assert!(error["message"].as_str().is_some_and(|told| told.contains(&format!("the webhook answered {code}"))), "{error}");
    }
    let mut keys = server.keys();
    let last = keys.split_off(keys.len() - 2);
    assert_eq!(last[0], last[1], "a call that may be made twice keeps its key");
}

#[tokio::test]
async fn a_secret_that_comes_back_escaped_is_masked() {
    let server = Server::start().await;
    let bench = Bench::new(json!({"webhook": {"allow_private": ["127.0.0.0/8"]}, "secrets": {"KEY": "ab/cd+ef/ghijkl=="}}));
    let id = hook(&bench, json!({"url": server.url("/escaped"), "headers": {"Authorization": "secret:KEY"}})).await;
    assert_eq!(tried(&bench, &id, json!({})).await, r#"{"key":"***","n":1.1}"#);
}

#[tokio::test]
async fn a_redirect_does_not_turn_a_call_into_a_request_that_only_reads() {
    let (bench, server) = (near(), Server::start().await);
    for code in [301, 302] {
        let url = server.url(&format!("/redirect?code={code}&to=/moved"));
        let id = hook(&bench, json!({"method": "POST", "url": url})).await;
        let told = tried(&bench, &id, json!({"order": 1})).await;
        assert!(told.starts_with(&format!("error: the webhook answered POST with a redirect ({code}), which was not followed")), "{told}");
    }
    assert!(!server.seen().iter().any(|line| line.contains(" /moved ")), "{}", server.seen_text());
    let id = hook(&bench, json!({"method": "POST", "url": server.url("/redirect?code=307&to=/moved")})).await;
    assert_eq!(tried(&bench, &id, json!({})).await, r#"{"method":"POST","authorization":"none"}"#);
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deeply_for_the_state_is_a_text() {
    let (bench, server) = (near(), Server::start().await);
    stored(&bench, json!({"name": "deep", "kind": "webhook", "config": {"url": server.url("/deep")}})).await;
    let trace = run(&bench, graph(json!({"tool_ref": "tool:deep"}))).await;
    assert_eq!(trace["trace"]["status"], "completed", "{}", trace["trace"]["error"]);
    assert!(trace["steps"][0]["output"]["tool_result"]["result"].is_string());
}

#[tokio::test]
async fn a_call_that_was_answered_with_a_redirect_to_nowhere_is_not_made_again() {
    let (bench, server) = (near(), Server::start().await);
    let nobody = "http://127.0.0.1:9/";
    let ways = [
        ("moved", 302, "/moved", true),
        ("gone", 303, nobody, true),
        ("refused", 303, "http://169.254.169.254/", true),
        ("failed", 303, "/refuse", true),
        ("round", 303, "/around", true),
        ("again", 307, nobody, false),
    ];
    for (name, code, to, doubtful) in ways {
        let url = server.url(&format!("/redirect?code={code}&to={to}&way={name}"));
        stored(&bench, json!({"name": name, "kind": "webhook", "config": {"method": "POST", "url": url}})).await;
        let trace = run(&bench, graph(json!({"tool_ref": format!("tool:{name}"), "retries": {"max": 1, "backoff_ms": 0}}))).await;
        let calls = server.seen().iter().filter(|line| line.contains(&format!("way={name}"))).count();
        let (asked, made) = if doubtful { (json!(name), 1) } else { (json!(null), 2) };
        let error = &trace["trace"]["error"];
        assert_eq!((&error["calls"][0]["name"], calls), (&asked, made), "{name}: {error}");
    }
}
