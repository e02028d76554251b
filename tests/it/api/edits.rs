//! Edits of one definition by many at once.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{ask, least};
use crate::support::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_name_no_revision_all_go_through() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let made = ask(&bench, "POST", &format!("/api/{path}"), body).await.1;
        let one = format!("/api/{path}/{}", made["id"].as_str().expect("an id"));
        let edits = (0..40).map(|n| {
            let metadata = serde_json::Map::from_iter([(format!("k{n}"), json!(n))]);
            let (bench, one) = (&bench, &one);
            async move { ask(bench, "PATCH", one, json!({"metadata": metadata})).await.0 }
        });
        assert_eq!(join_all(edits).await, vec![200; 40], "{path}");
        let after = ask(&bench, "GET", &one, Value::Null).await.1;
        let kept = after["metadata"].as_object().map(serde_json::Map::len);
        assert_eq!((&after["revision"], kept), (&json!(41), Some(40)), "{path}: no edit is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_edits_from_one_revision_one_goes_through() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let made = ask(&bench, "POST", &format!("/api/{path}"), body).await.1;
        let one = format!("/api/{path}/{}", made["id"].as_str().expect("an id"));
        let edits = (0..20).map(|_| ask(&bench, "PATCH", &one, json!({"description": "d", "revision": 1})));
        let (through, refused): (Vec<_>, Vec<_>) = join_all(edits).await.into_iter().partition(|(status, _)| *status == 200);
        assert_eq!((through.len(), refused.len()), (1, 19), "{path}");
        for (status, told) in refused {
            assert_eq!((status, &told["code"], &told["current"]["revision"]), (409, &json!("revision_conflict"), &json!(2)), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_that_names_no_revision_goes_through_between_edits() {
    let bench = Bench::new(json!({}));
    let made = ask(&bench, "POST", "/api/agents", json!({"name": "thing"})).await.1;
    let one = format!("/api/agents/{}", made["id"].as_str().expect("an id"));
    let edits = join_all((0..20).map(|n| ask(&bench, "PATCH", &one, json!({"description": format!("{n}")}))));
    let (edits, (deleted, _)) = tokio::join!(edits, ask(&bench, "DELETE", &one, json!({})));
    assert_eq!(deleted, 204);
    assert!(edits.iter().all(|(status, _)| matches!(status, 200 | 404)), "{edits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_names_made_at_once_get_slugs_of_their_own() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let all = format!("/api/{path}");
        let made = join_all((0..12).map(|_| ask(&bench, "POST", &all, body.clone()))).await;
        let mut slugs: Vec<_> = made.iter().map(|(status, made)| (*status, made["slug"].as_str().unwrap_or_default())).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert!(slugs.len() == 12 && slugs.iter().all(|(status, _)| *status == 201), "{path}: {slugs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_that_choose_one_slug_at_once_one_gets_it() {
    let bench = Bench::new(json!({}));
    for (path, mut body) in least() {
        body["slug"] = json!("chosen");
        let all = format!("/api/{path}");
        let made = join_all((0..12).map(|_| ask(&bench, "POST", &all, body.clone()))).await;
        let (got, refused): (Vec<_>, Vec<_>) = made.into_iter().partition(|(status, _)| *status == 201);
        assert_eq!((got.len(), refused.len()), (1, 11), "{path}");
        assert!(refused.iter().all(|(_, told)| told["code"] == "slug_taken"), "{path}: {refused:?}");
    }
}
