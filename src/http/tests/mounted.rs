//! The studio inside the router of a host: the pages name files that are there, however deep it is mounted.

use std::collections::BTreeSet;

use axum::Router;
use axum::body::Body;
use http::Request;
use serde_json::json;
use tower::ServiceExt as _;

use super::support::{WholeAnswer, ask, ask_as, request, studio, with};
use crate::http::{HostMarks, router, service};

async fn get(host: &Router, path: &str, accepted: &str) -> WholeAnswer {
    let request = Request::get(path).header("accept-encoding", accepted).body(Body::empty()).expect("a request");
    WholeAnswer::of(host.clone().oneshot(request).await.expect("an answer")).await
}

/// What the page at `path` names under `assets/`, as addresses.
fn files(page: &WholeAnswer, root: &str) -> BTreeSet<String> {
    let named = page.text().split('"').filter_map(|part| part.split_once("assets/"));
    named.map(|(_, file)| format!("{root}/assets/{file}")).collect()
}

async fn pages_are_whole(host: &Router, root: &str) {
    let page = get(host, &format!("{root}/workflows"), "").await;
    let files = files(&page, root);
    assert!(files.len() > 3, "{}", page.text());
    for file in files {
        let answer = get(host, &file, "gzip").await;
        let script = file.ends_with(".js") && answer.header("content-type").starts_with("text/javascript");
        let other = !file.ends_with(".js") && !answer.header("content-type").contains("json");
        assert!(answer.status == 200 && (script || other), "{file}: {} {}", answer.status, answer.header("content-type"));
        let plain = get(host, &file, "").await;
        let packed = answer.header("content-encoding") == "gzip";
        assert_eq!(packed, answer.body.len() < plain.body.len(), "{file}");
        assert!(packed || !script, "{file} is not packed");
    }
}

#[tokio::test]
async fn a_router_merged_into_a_hosts() {
    pages_are_whole(&Router::new().merge(router(studio(json!({})))), "/studio").await;
    pages_are_whole(&Router::new().merge(router(studio(json!({"route_prefix": "a/b/c"})))), "/a/b/c").await;
}

/// The names of the host's own parts are not mistaken for those of the studio's routes.
#[tokio::test]
async fn a_service_under_a_path_with_parts_of_its_own() {
    let host = Router::new().nest_service("/shops/{id}", service(studio(json!({}))));
    pages_are_whole(&host, "/shops/7/studio").await;
    let answer = get(&host, "/shops/7/studio/api/agents/none", "").await;
    assert_eq!((answer.status.as_u16(), &answer.json()["id"]), (404, &json!("none")));
}

/// Hosts that hand over the whole path, and name what stands before the prefix.
#[tokio::test]
async fn a_path_that_begins_with_that_of_the_base_url_is_found() {
    let studio = studio(json!({"base_url": "https://shop.example/ai"}));
    for path in ["/studio/api/settings", "/ai/studio/api/settings", "/ai/api/studio/usage?from=2026-01-01&to=2026-01-02"] {
        assert_eq!(ask(&studio, request("GET", path, "")).await.status.as_u16(), 200, "{path}");
    }
    for path in ["/aistudio/api/settings", "/other/studio/api/settings", "/ai/ai/studio/api/settings"] {
        assert_eq!(ask(&studio, request("GET", path, "")).await.code(), "not_found", "{path}");
    }
    let marks = HostMarks { base_url: Some("https://shop.example/ai/".into()), ..HostMarks::default() };
    let local = super::support::studio(json!({}));
    assert_eq!(ask_as(&local, request("GET", "/ai/studio/api/settings", ""), marks).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_service_under_a_path_says_where_a_new_definition_is() {
    let host = Router::new().nest_service("/ai", service(studio(json!({}))));
    let made = with(request("POST", "/ai/studio/api/agents", r#"{"name":"A","slug":"a"}"#), "host", "shop.example");
    let made = WholeAnswer::of(host.oneshot(made.map(Body::from)).await.expect("an answer")).await;
    assert!(made.header("location").starts_with("/ai/studio/api/agents/"), "{}", made.header("location"));
}
