//! Refusals in the language of the one who asks, and as pages that lead back.

use http::HeaderMap;
use serde_json::{Value, json};

use super::facade::{BODY, asking};
use super::support::{WholeAnswer, ask, request, studio, with};
use crate::error::Error;
use crate::http::area::Area;
use crate::http::problem::Asker;

/// A graph whose only fault is that nothing leads anywhere.
fn broken() -> Value {
    json!({"version": 1, "nodes": [{"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {}}], "edges": []})
}

fn issues(told: &WholeAnswer, at: &str) -> String {
    told.json().pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_is_wrong_with_a_graph_is_told_in_the_language_of_the_one_who_asks() {
    let graph = json!({"graph": broken()});
    let new = json!({"name": "W", "graph": broken()}).to_string();
    let mut told = Vec::new();
    for (host, asked) in [("en", "pt_BR"), ("pt_BR", "en"), ("en", ""), ("pt_BR", "")] {
        let studio = asking(json!({"locale": host})).await;
        let say = |method: &str, path: &str, body: &str| with(request(method, &format!("/studio{path}"), body), "x-studio-locale", asked);
        let draft = "/api/workflows/known/draft";
        let made = ask(&studio, say("POST", "/api/workflows", &new)).await;
        let put = ask(&studio, say("PUT", draft, &graph.to_string())).await;
        let read = ask(&studio, say("GET", draft, "")).await;
        let saved = ask(&studio, say("POST", &format!("{draft}/save"), "{}")).await;
        let ran = ask(&studio, say("POST", "/workflows/known/run/stream", r#"{"message":"hi","draft":true}"#)).await;
        let checked = ask(&studio, say("POST", "/api/graph/validate", &graph.to_string())).await;
        let all = [issues(&made, "/detail"), issues(&made, "/errors/graph/0"), issues(&made, "/issues/0/message"),
            issues(&put, "/issues/0/message"), issues(&read, "/issues/0/message"), issues(&saved, "/detail"), issues(&ran, "/detail"),
            issues(&checked, "/issues/0/message")];
        assert!(all.iter().all(|text| *text == all[0] && !text.is_empty()), "{host} {asked}: {all:?}");
        told.push(all[0].clone());
    }
    assert_eq!((&told[0], &told[1]), (&told[3], &told[2]));
    assert_ne!(told[0], told[1]);
}

#[tokio::test]
async fn the_page_of_a_refusal_leads_into_the_studio_from_every_depth() {
    let refused = studio(json!({"environment": "production"}));
    for (path, link) in [("/studio", "./studio/"), ("/studio/", "./"), ("/studio/workflows", "./"), ("/studio/workflows/7/edit", "../../")] {
        let page = ask(&refused, with(request("GET", path, ""), "accept", "text/html")).await;
        assert_eq!(page.status.as_u16(), 403);
        assert!(page.text().contains(&format!(r#"href="{link}workflows""#)), "{path}: {}", page.text());
        assert!(page.text().contains(&format!(r#"href="{link}assets/index-"#)), "{path}: {}", page.text());
    }
}

#[tokio::test]
async fn a_fault_of_ours_has_a_number_on_a_page_too() {
    let studio = studio(json!({}));
    let mut headers = HeaderMap::new();
    headers.insert("accept", "text/html".parse().expect("a value"));
    let area = Area::of(studio.config(), "/studio/workflows", None, None);
    let asker = Asker::of(studio.config(), &headers, &area, None);
    let page = WholeAnswer::of(asker.tell(Error::internal("it broke"))).await;
    let number = page.text().split("HTTP 500 · ").nth(1).and_then(|rest| rest.get(..36));
    assert!(number.is_some_and(|number| uuid::Uuid::parse_str(number).is_ok()), "{}", page.text());
    let named = Asker::of(studio.config(), &headers, &area, None).tell(Error::internal("it broke").with("request_id", "7<8"));
    assert!(WholeAnswer::of(named).await.text().contains("HTTP 500 · 7&lt;8"));
    let told = WholeAnswer::of(Asker::of(studio.config(), &HeaderMap::new(), &area, None).tell(Error::internal("it broke"))).await;
    assert!(told.json()["request_id"].as_str().is_some_and(|id| id.len() == 36));
    let other = ask(&asking(json!({})).await, with(request("POST", "/studio/workflows/none/run/stream", BODY), "accept", "text/html")).await;
    assert!(other.text().contains("HTTP 404</p>"), "{}", other.text());
}
