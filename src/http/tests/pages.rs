//! The page of a thing that does not exist says so to programs too, by its status.

use serde_json::json;

use super::facade::{BODY, STREAM, asking, run_of};
use super::support::{WholeAnswer, ask, request, studio, with};
use crate::studio::Studio;

const NOBODY: &str = "0199a000-0000-7000-8000-000000000000";

#[tokio::test]
async fn a_page_of_what_is_not_there_is_the_application_with_404() {
    let studio = asking(json!({})).await;
    let run = run_of(&ask(&studio, request("POST", STREAM, BODY)).await);
    for (path, body) in [
        ("agents", json!({"name": "known", "slug": "known"})),
        ("tools", json!({"name": "known", "kind": "webhook", "config": {"url": "https://shop.example/"}})),
        ("mcp-servers", json!({"name": "known", "transport": "http", "url": "https://mcp.example/"})),
        ("knowledge-bases", json!({"name": "known"})),
    ] {
        assert_eq!(ask(&studio, request("POST", &format!("/studio/api/{path}"), &body.to_string())).await.status.as_u16(), 201);
    }
    let status = |path: String| {
        let page = with(request("GET", &format!("/studio{path}"), ""), "accept", "text/html");
        let studio = studio.clone();
        async move {
            let page = ask(&studio, page).await;
            assert!(page.text().contains("<meta name=\"studio-root\""), "{}", page.text());
            page.status.as_u16()
        }
    };
    for of in ["/workflows/_", "/workflows/_/edit", "/agents/_", "/agents/_/playground", "/tools/_", "/mcp/_", "/knowledge/_"] {
        assert_eq!(status(of.replace('_', "known")).await, 200, "{of}");
        for none in [NOBODY, "none"] {
            assert_eq!(status(of.replace('_', none)).await, 404, "{of} {none}");
        }
    }
    for of in ["/traces/_", "/workflows/traces/_", "/workflows/runs/_"] {
        assert_eq!((status(of.replace('_', &run)).await, status(of.replace('_', NOBODY)).await), (200, 404), "{of}");
    }
    for there in ["/", "/workflows", "/traces", "/agents", "/agents/new", "/tools/new", "/mcp/new", "/knowledge/new", "/traces/compare?a=1&b=2", "/settings"] {
        assert_eq!(status(there.to_owned()).await, 200, "{there}");
    }
    assert_eq!(status(format!("/workflows/{NOBODY}/traces")).await, 200, "the runs of a workflow outlive it");
    let fresh = status(format!("/agents/known/playground?thread={NOBODY}")).await;
    assert_eq!(fresh, 200, "a client may choose the id of a thread before its first message");
}

#[tokio::test]
async fn the_page_of_templates_is_not_there_when_they_are_off() {
    let on = studio(json!({}));
    for path in ["/studio/templates", "/studio/templates?type=agents&complexity=basic&category=support&q=refund"] {
        let page = get_page(&on, path).await;
        assert_eq!((page.status.as_u16(), page.text().contains("<meta name=\"studio-root\"")), (200, true), "{path}");
    }
    let off = studio(json!({"templates_enabled": false}));
    let page = get_page(&off, "/studio/templates").await;
    assert_eq!(page.status.as_u16(), 404);
    assert!(page.text().contains("templates_enabled"), "{}", page.text());
    let told = ask(&off, request("GET", "/studio/templates", "")).await;
    assert_eq!((told.json()["code"].as_str(), told.json()["flag"].as_str()), (Some("route_disabled"), Some("templates_enabled")));
}

#[tokio::test]
async fn a_project_may_have_page_templates_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in crate::http::page_templates() {
        std::fs::write(folder.path().join(name), text.replace("<body>", "<body data-shop=\"7\">")).expect("a file");
    }
    let own = studio(json!({"views_path": folder.path()}));
    let page = get_page(&own, "/studio/workflows").await;
    assert!(page.text().contains("data-shop=\"7\"") && !page.text().contains("{{head}}"), "{}", page.text());
    let built_in = get_page(&studio(json!({})), "/studio/workflows").await;
    assert_eq!(page.text().replace(" data-shop=\"7\"", ""), built_in.text(), "the links to the application are in it");
    // A template that lost its links is not used: the page would be empty.
    std::fs::write(folder.path().join("index.html"), "<html></html>").expect("a file");
    assert_eq!(get_page(&own, "/studio/workflows").await.text(), built_in.text());
}

async fn get_page(studio: &Studio, path: &str) -> WholeAnswer {
    ask(studio, with(request("GET", path, ""), "accept", "text/html")).await
}
