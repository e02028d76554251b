//! Every route of the table is there, and the table is the whole API.

use http::Request;
use serde_json::json;
use tower::ServiceExt as _;

use super::support::{ask, request, studio, with};
use crate::http::table::{Reads, TABLE};

#[tokio::test]
async fn every_route_is_answered_by_itself() {
    let studio = studio(json!({"async_runs_enabled": true}));
    for route in TABLE.iter() {
        for path in &route.paths {
            let filled = path.split('/').map(|part| if part.starts_with('{') { "0199a000-0000-7000-8000-000000000000" } else { part });
            let address = format!("/studio{}", filled.collect::<Vec<_>>().join("/"));
            let body = if route.reads == Reads::Nothing { "" } else { "{}" };
            let answer = ask(&studio, request(route.method.as_str(), &address, body)).await;
            let routed = answer.json().get("resource") != Some(&json!("path")) || path.starts_with("/assets");
            assert!(routed && answer.status.as_u16() != 405, "{} {path}: {}", route.method, answer.text());
            assert!(answer.status.as_u16() < 500, "{} {path}: {}", route.method, answer.text());
        }
    }
}

#[tokio::test]
async fn what_is_not_in_the_table_is_not_there() {
    let studio = studio(json!({}));
    for path in ["/studio/api", "/studio/api/none", "/studio/workflows/a/b/c/d", "/studio/api/agents/a/b"] {
        let answer = ask(&studio, request("GET", path, "")).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["resource"]), (404, &json!("path")), "{path}");
    }
}

#[tokio::test]
async fn a_studio_at_the_root_of_its_host_answers_there() {
    let studio = studio(json!({"route_prefix": "/"}));
    for (path, status, kind) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/workflows", 200, "text/html; charset=utf-8"),
        ("/api/runs", 200, "application/json"),
        ("/api/studio/usage?from=2026-01-01&to=2026-01-02", 200, "application/json"),
        ("/studio/api/runs", 404, "application/problem+json"),
    ] {
        let asked = with(request("GET", path, ""), "accept", kind.split(';').next().unwrap_or_default());
        let answer = ask(&studio, asked).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (status, kind), "{path}: {}", answer.text());
        let nested = Request::get(path).header("accept", "text/html").body(axum::body::Body::empty()).expect("a request");
        let nested = crate::http::router(studio.clone()).oneshot(nested).await.expect("an answer");
        assert_eq!(nested.status().as_u16(), status, "{path}");
    }
}

#[test]
fn no_route_begins_with_a_word_that_a_prefix_may_take() {
    for path in TABLE.iter().flat_map(|route| &route.paths) {
        let first = path.split('/').nth(1).unwrap_or_default();
        assert!(matches!(first, "" | "api") || crate::config::ROUTES.contains(&first), "{path} is not among `ROUTES`");
    }
}

#[test]
fn both_words_for_a_run_name_the_same_routes() {
    let paths = |prefix: &str| -> Vec<String> {
        let all = TABLE.iter().flat_map(|route| route.paths.iter().map(move |path| (route.method.clone(), path)));
        all.filter_map(|(method, path)| path.strip_prefix(prefix).map(|rest| format!("{method} {rest}"))).filter(|rest| !rest.ends_with(' ')).collect()
    };
    let of_traces = paths("/workflows/traces/{run}/");
    assert_eq!(of_traces, paths("/workflows/runs/{run}/"));
    assert_eq!(of_traces.len(), 7, "{of_traces:?}");
}
