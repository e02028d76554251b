//! What happens before a request is routed, and how refusals look.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::support::{WholeAnswer, ask, ask_as, request, studio, with};
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use crate::http::{HostMarks, router, service};

const PATH: &str = "/studio/api/settings";

struct Gatekeeper(Option<Value>);

impl Host for Gatekeeper {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        assert_eq!(call.payload["gate"], "viewStudio");
        assert_eq!((&call.payload["method"], &call.payload["path"]), (&json!("GET"), &json!(PATH)));
        let answer = self.0.clone().ok_or_else(|| HostFailure::new("the database is away"));
        async move { answer }.boxed()
    }
}

#[tokio::test]
async fn the_gate_follows_its_matrix() {
    let user = || Some(json!({"id": 7}));
    for (environment, gate, host, user, wanted) in [
        ("production", None, None, None, 403),
        ("production", None, None, Some(Value::Null), 403),
        ("production", None, None, user(), 200),
        ("production", Some(true), None, None, 200),
        ("production", Some(false), None, user(), 403),
        ("production", None, Some(Some(json!({"allow": true}))), None, 200),
        ("production", None, Some(Some(json!({"allow": false}))), user(), 403),
        ("production", None, Some(Some(json!({"allow": "yes"}))), user(), 403),
        ("production", None, Some(None), user(), 403),
        ("production", Some(true), Some(None), None, 200),
        ("local", None, None, None, 200),
        ("local", Some(false), None, user(), 403),
        ("local", None, Some(Some(json!({"allow": false}))), None, 403),
    ] {
        let told = format!("{environment} {gate:?} {host:?} {user:?}");
        let studio = studio(json!({"environment": environment}));
        let undecided = gate.is_none() && host.is_none();
        if let Some(answer) = host {
            let declaration = HostDeclaration { ops: vec![HostOp::Gate], ..HostDeclaration::default() };
            studio.set_host(Arc::new(Gatekeeper(answer)), declaration);
        }
        let marks = HostMarks { gate, user, ..HostMarks::default() };
        let answer = ask_as(&studio, request("GET", PATH, ""), marks).await;
        assert_eq!(answer.status.as_u16(), wanted, "{told}");
        if wanted == 403 {
            assert_eq!(answer.json()["gate"], "viewStudio", "{told}");
            assert_eq!(answer.text().contains("was not decided for this request"), undecided, "{told}: the way out is named");
        }
    }
}

#[tokio::test]
async fn naming_a_user_lets_in_only_somebody_of_whom_nothing_else_was_asked() {
    let studio = studio(json!({"environment": "production"}));
    let nobodies = [json!(false), json!(""), json!({}), json!({"id": null}), json!({"id": ""}), json!("ada")];
    for user in nobodies {
        let marks = HostMarks { user: Some(user.clone()), ..HostMarks::default() };
        assert_eq!(ask_as(&studio, request("GET", PATH, ""), marks).await.status, 403, "{user}");
    }
    for (undecided, wanted) in [(false, 200), (true, 403)] {
        let marks = HostMarks { user: Some(json!({"id": 7})), undecided, ..HostMarks::default() };
        assert_eq!(ask_as(&studio, request("GET", PATH, ""), marks).await.status.as_u16(), wanted, "{undecided}");
    }
}

#[tokio::test]
async fn the_gate_stands_before_every_path() {
    let studio = studio(json!({"environment": "production"}));
    for path in ["/studio", "/studio/api/agents/none", "/studio/no/such/path", "/studio/assets/a.js"] {
        assert_eq!(ask(&studio, request("GET", path, "")).await.code(), "forbidden", "{path}");
    }
    assert_eq!(ask(&studio, request("PATCH", "/studio/api/runs", "{}")).await.code(), "forbidden");
    assert_eq!(ask(&studio, request("GET", "/elsewhere", "")).await.code(), "not_found");
}

#[tokio::test]
async fn the_export_prefix_asks_the_host_not_the_gate() {
    for (environment, keys, authorized, code) in [
        ("production", json!({}), false, "unauthenticated"),
        ("production", json!({}), true, "not_found"),
        ("local", json!({}), false, "not_found"),
        ("production", json!({"stream_adapters": {"enabled": false}}), true, "route_disabled"),
        ("production", json!({"stream_adapters": {"enabled": false}}), false, "route_disabled"),
    ] {
        let mut config = json!({"environment": environment});
        config.as_object_mut().expect("an object").extend(keys.as_object().expect("an object").clone());
        let marks = HostMarks { authorized, gate: Some(false), ..HostMarks::default() };
        let answer = ask_as(&studio(config), request("GET", "/api/studio/nothing/here", ""), marks).await;
        assert_eq!(answer.code(), code, "{environment} {keys} {authorized}");
    }
}

#[tokio::test]
async fn a_write_from_another_site_does_nothing() {
    let studio = studio(json!({}));
    let attack = with(request("POST", "/studio/api/graph/validate", r#"{"graph":{}}"#), "sec-fetch-site", "cross-site");
    assert_eq!(ask(&studio, attack).await.code(), "cross_origin");
    let form = with(request("POST", "/studio/api/graph/validate", r#"{"graph":{}}"#), "content-type", "text/plain");
    assert_eq!(ask(&studio, form).await.code(), "cross_origin");
    let ours = with(request("POST", "/studio/api/graph/validate", r#"{"graph":{}}"#), "origin", "https://shop.example");
    assert_ne!(ask(&studio, ours).await.code(), "cross_origin");
    let marks = HostMarks { base_url: Some("https://app.example/ai".into()), ..HostMarks::default() };
    let theirs = with(request("POST", "/studio/api/graph/validate", r#"{"graph":{}}"#), "origin", "https://shop.example");
    assert_eq!(ask_as(&studio, theirs, marks).await.code(), "cross_origin");
}

#[tokio::test]
async fn below_the_export_prefix_a_write_from_another_site_needs_json() {
    let studio = studio(json!({"stream_adapters": {"enabled": true}}));
    let asked = || with(request("POST", "/api/studio/agents/none/stream/vercel", r#"{"messages":[]}"#), "sec-fetch-site", "cross-site");
    let marks = || HostMarks { authorized: true, ..HostMarks::default() };
    let mut untyped = asked();
    untyped.headers_mut().remove("content-type");
    assert_eq!(ask_as(&studio, untyped, marks()).await.code(), "cross_origin");
    assert_ne!(ask_as(&studio, asked(), marks()).await.code(), "cross_origin");
}

#[tokio::test]
async fn a_refusal_is_a_problem_document() {
    let answer = ask(&studio(json!({})), request("POST", "/studio/api/agents", "{}")).await;
    assert_eq!(answer.header("content-type"), "application/problem+json");
    expect![[r#"
        {"type":"urn:studio:problem:validation_failed","title":"Invalid request","status":422,"detail":"name is required","code":"validation_failed","message":"name is required","errors":{"name":["name is required"]}}"#]]
    .assert_eq(answer.text());
    let answer = ask(&studio(json!({"locale": "pt_BR"})), request("GET", "/studio/api/agents/none", "")).await;
    expect![[r#"
        {"type":"urn:studio:problem:not_found","title":"Não encontrado","status":404,"detail":"não existe o agente `none`","code":"not_found","message":"não existe o agente `none`","resource":"agent","id":"none"}"#]]
    .assert_eq(answer.text());
    let answer = ask(&studio(json!({"locale": "pt_BR"})), request("POST", "/studio/api/agents", r#"{"tool_max_runs":0}"#)).await;
    expect![[r#"
        {"type":"urn:studio:problem:validation_failed","title":"Requisição inválida","status":422,"detail":"name é obrigatório","code":"validation_failed","message":"name é obrigatório","errors":{"name":["name é obrigatório"],"tool_max_runs":["tool_max_runs deve ser um inteiro de 1 a 100"]}}"#]]
    .assert_eq(answer.text());
}

#[tokio::test]
async fn the_pages_are_answered_in_the_language_they_are_read_in() {
    let wanted = |host: &str, asked: &str| {
        let theirs = with(request("GET", "/studio/api/agents/none", ""), "x-studio-locale", asked);
        let studio = studio(json!({"locale": host}));
        async move { ask(&studio, theirs).await.text().contains("não existe o agente") }
    };
    assert!(wanted("en", "pt_BR").await && !wanted("pt_BR", "en").await);
    assert!(wanted("pt_BR", "fr").await && !wanted("en", "").await, "another one is the host's");
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_the_application_that_says_so() {
    let asked = with(request("GET", "/studio/workflows/x/nowhere", ""), "accept", "text/html");
    let asked = with(asked, "cookie", "studio_locale=pt_BR");
    let answer = ask(&studio(json!({"locale": "en"})), asked).await;
    assert_eq!(answer.status, 404);
    let page = answer.text();
    assert!(page.contains(r#"<meta name="studio-root" content="../../">"#) && page.contains(r#"<html lang="pt-BR">"#), "{page}");
    let asked = request("GET", "/studio/workflows/x/nowhere", "");
    assert_eq!(ask(&studio(json!({})), asked).await.code(), "not_found", "a program is told a problem");
}

#[tokio::test]
async fn a_local_studio_is_not_reached_by_the_name_of_another_site() {
    let studio = studio(json!({"environment": "local"}));
    let by = |host: &str| {
        let theirs = with(with(request("GET", PATH, ""), "host", host), "sec-fetch-site", "same-origin");
        let studio = studio.clone();
        async move { ask(&studio, theirs).await }
    };
    assert_eq!(by("127.0.0.1:8787").await.status, 200);
    let refused = by("evil.dev:8787").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"));
    assert!(refused.text().contains("`evil.dev` is not one"), "{}", refused.text());
    let marks = HostMarks { user: Some(json!({"id": "1"})), ..HostMarks::default() };
    let theirs = with(request("GET", PATH, ""), "host", "evil.dev");
    assert_eq!(ask_as(&studio, theirs, marks).await.code(), "forbidden", "a user is no decision on the gate");
    let marks = HostMarks { gate: Some(true), ..HostMarks::default() };
    let theirs = with(request("GET", PATH, ""), "host", "evil.dev");
    assert_eq!(ask_as(&studio, theirs, marks).await.status, 200, "the application may know better");
}

/// A page that is not there in this configuration.
fn switched_off(cookie: &str) -> http::Request<bytes::Bytes> {
    with(with(request("GET", "/studio/workflows/preview", ""), "accept", "text/html"), "cookie", cookie)
}

#[tokio::test]
async fn the_page_of_a_problem_is_in_the_language_that_was_chosen() {
    let studio = studio(json!({"locale": "en", "codegen": {"enabled": false}}));
    let theirs = ask(&studio, switched_off("session=7; studio_locale=pt_BR")).await;
    assert!(theirs.text().contains(r#"<html lang="pt-BR">"#) && theirs.text().contains("Rota desativada"), "{}", theirs.text());
    for other in ["studio_locale=<script>", "xstudio_locale=pt_BR", ""] {
        let answer = ask(&studio, switched_off(other)).await;
        assert!(answer.text().contains("Route switched off"), "{other}: {}", answer.text());
    }
}

#[tokio::test]
async fn the_page_of_a_problem_looks_like_the_others() {
    let answer = ask(&studio(json!({"codegen": {"enabled": false}})), switched_off("")).await;
    assert_eq!(answer.status, 404);
    let page = answer.text();
    assert!(page.contains(r#"href="../assets/index-"#) && page.contains(r#"href="../workflows""#), "{page}");
    assert!(!page.contains("{{"), "{page}");
}

#[tokio::test]
async fn every_answer_carries_version_and_no_store() {
    let studio = studio(json!({}));
    for path in [PATH, "/studio", "/studio/api/none", "/nowhere", "/api/studio/none"] {
        let answer = ask(&studio, request("GET", path, "")).await;
        assert_eq!(answer.header("x-studio-version"), env!("CARGO_PKG_VERSION"), "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn browsers_get_pages_for_errors_outside_the_api() {
    let html = "text/html,application/xhtml+xml,*/*;q=0.8";
    let page = |path| with(request("GET", path, ""), "accept", html);
    let studio = studio(json!({"environment": "production"}));
    let refused = ask(&studio, page("/studio/workflows")).await;
    assert_eq!((refused.status.as_u16(), refused.header("content-type")), (403, "text/html; charset=utf-8"));
    assert!(refused.text().contains("viewStudio"), "{}", refused.text());
    assert!(refused.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    for path in ["/studio/api/agents", "/api/studio/usage", "/elsewhere"] {
        assert_eq!(ask(&studio, page(path)).await.header("content-type"), "application/problem+json", "{path}");
    }
    for accept in ["*/*", "application/json", "text/html;q=0"] {
        let answer = ask(&studio, with(request("GET", "/studio/workflows", ""), "accept", accept)).await;
        assert_eq!(answer.header("content-type"), "application/problem+json", "{accept}");
    }
}

#[tokio::test]
async fn texts_of_requests_are_escaped_on_pages() {
    let studio = studio(json!({}));
    let answer = ask(&studio, with(request("GET", "/studio/no/%3Cscript%3E", ""), "accept", "text/html")).await;
    assert_eq!(answer.status.as_u16(), 404);
    let named = with(request("GET", "/studio/traces/7/json", ""), "accept", "text/html");
    assert!(!ask(&studio, named).await.text().contains("<script"));
}

#[tokio::test]
async fn a_wrong_method_names_the_right_ones() {
    let studio = studio(json!({}));
    for (method, path, allow) in [
        ("PATCH", "/studio/api/runs", "GET,HEAD"),
        ("GET", "/studio/workflows/w/run", "POST"),
        ("POST", "/studio/api/agents/a", "GET,HEAD,PUT,PATCH,DELETE"),
        ("OPTIONS", "/studio/api/agents", "GET,HEAD,POST"),
    ] {
        let answer = ask(&studio, request(method, path, "")).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (405, "method_not_allowed"), "{method} {path}");
        let mut named: Vec<&str> = answer.header("allow").split(',').collect();
        let mut wanted: Vec<&str> = allow.split(',').collect();
        named.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(named, wanted, "{method} {path}");
    }
}

#[tokio::test]
async fn trailing_slashes_are_ignored_and_pages_find_their_root() {
    let studio = studio(json!({}));
    assert_eq!(ask(&studio, request("GET", "/studio/api/settings/", "")).await.status.as_u16(), 200);
    for (path, root) in [
        ("/studio", "./studio/"),
        ("/studio/", "./"),
        ("/studio/workflows", "./"),
        ("/studio/workflows/", "../"),
        ("/studio/agents/new//?step=2", "../../../"),
    ] {
        // A redirect would go round in circles in hosts that add the slash.
        let answer = ask(&studio, request("GET", path, "")).await;
        assert_eq!(answer.status.as_u16(), 200, "{path}");
        assert!(answer.text().contains(&format!(r#"<meta name="studio-root" content="{root}">"#)), "{path}");
    }
}

#[tokio::test]
async fn heads_are_gets_without_a_body() {
    let answer = ask(&studio(json!({})), request("HEAD", PATH, "")).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
    let answer = ask(&studio(json!({})), request("HEAD", "/studio/api/none", "")).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (404, 0));
}

#[tokio::test]
async fn bodies_are_checked_for_type_size_and_depth() {
    let studio = studio(json!({"limits": {"body_kb": 1}}));
    let post = |body: &str| request("POST", "/studio/api/graph/validate", body);
    let nested = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let large = format!(r#"{{"graph":"{}"}}"#, "x".repeat(1024));
    for (body, kind, status, code) in [
        ("{", "application/json", 400, "malformed_json"),
        (nested.as_str(), "application/json", 400, "malformed_json"),
        (large.as_str(), "application/json", 413, "body_too_large"),
        ("{}", "application/xml", 415, "unsupported_media_type"),
    ] {
        let answer = ask(&studio, with(post(body), "content-type", kind)).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{kind}");
    }
    let answer = ask(&studio, with(post(&large), "content-length", "5000")).await;
    assert_eq!(answer.json()["limit_kb"], 1);
    let empty = ask(&studio, request("POST", "/studio/api/agents", "")).await;
    assert_eq!(empty.json()["errors"]["name"], json!(["name is required"]), "an empty body needs no type");
}

#[tokio::test]
async fn hosts_mount_the_router_or_nest_the_service() {
    let studio = studio(json!({}));
    let app = axum::Router::new().merge(router(studio.clone())).nest_service("/ai", service(studio));
    for path in ["/studio", "/studio/api/settings", "/ai/studio/api/settings", "/ai/studio/workflows/"] {
        let response = app.clone().oneshot(request("GET", path, "").map(axum::body::Body::from)).await.expect("an answer");
        assert!(response.status().as_u16() < 400, "{path}");
        assert!(response.headers().contains_key("x-studio-version"), "{path}");
    }
    let response = app.oneshot(request("GET", "/theirs", "").map(axum::body::Body::from)).await.expect("an answer");
    assert!(!response.headers().contains_key("x-studio-version"));
}

#[tokio::test]
async fn a_silent_host_means_no_but_only_after_a_while() {
    struct Silent;
    impl Host for Silent {
        fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            std::future::pending().boxed()
        }
    }
    let studio = studio(json!({}));
    studio.set_host(Arc::new(Silent), HostDeclaration { ops: vec![HostOp::Gate], ..HostDeclaration::default() });
    let asked = ask(&studio, request("GET", PATH, ""));
    assert!(tokio::time::timeout(Duration::from_millis(20), asked).await.is_err());
}

#[tokio::test]
async fn the_page_is_served_with_its_policy_and_its_root() {
    let studio = studio(json!({"locale": "pt_BR", "csrf": {"header": "X-CSRF-TOKEN", "meta": "csrf-token"}}));
    let page: WholeAnswer = ask(&studio, request("GET", "/studio/workflows/7/edit", "")).await;
    assert_eq!(page.status.as_u16(), 404, "there is no such workflow");
    expect!["default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; require-trusted-types-for 'script'"]
        .assert_eq(page.header("content-security-policy"));
    for part in [
        r#"<html lang="pt-BR">"#,
        r#"<meta name="studio-root" content="../../">"#,
        r#"<meta name="studio-csrf-header" content="X-CSRF-TOKEN">"#,
        r#"<meta name="studio-csrf-meta" content="csrf-token">"#,
        r#"<meta name="studio-locale" content="pt_BR">"#,
    ] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    assert!(!page.text().contains("style=") && !page.text().contains("<style") && !page.text().contains(r#""./"#));
}

#[tokio::test]
async fn the_preview_page_needs_codegen_and_something_to_show() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("flow.json"), r#"{"version": 1, "nodes": [], "edges": []}"#).expect("a file");
    let studio_with = studio(json!({"workflow_json_paths": [folder.path()]}));
    let listed = ask(&studio_with, request("GET", "/studio/api/registry/classes", "")).await.json();
    let file = listed["data"][0]["json_path"].as_str().expect("a file").to_owned();
    for (query, status) in [(format!("?json={file}"), 200), ("?json=none.json".into(), 404), ("?class=None".into(), 404), (String::new(), 404)] {
        let page = ask(&studio_with, request("GET", &format!("/studio/workflows/preview{query}"), "")).await;
        assert_eq!(page.status.as_u16(), status, "{query}");
        assert!(page.text().contains("<meta name=\"studio-root\""), "{query}: the application tells what is missing");
    }
    let off = ask(&studio(json!({"codegen": {"enabled": false}})), request("GET", "/studio/workflows/preview", "")).await;
    assert_eq!((off.code().as_str(), &off.json()["flag"]), ("route_disabled", &json!("codegen.enabled")));
}
