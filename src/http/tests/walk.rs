//! Every route of the table is there, and the table is the whole API.

use serde_json::json;

use super::support::{ask, request, studio};
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
