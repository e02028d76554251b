//! The export over HTTP: who may ask, what is refused, how it looks as JSON and as a table.

use expect_test::expect;
use serde_json::{Value, json};
use wfstudio::http::HostMarks;
use wfstudio::studio::Resource;

use super::{Hands, at, chain, get, llm, plain, prices, run, scope_of, using, window};
use crate::support::Bench;

const DAY: &str = "/api/studio/usage?from=2026-11-20&to=2026-11-20";

fn marked() -> HostMarks {
    HostMarks { authorized: true, ..HostMarks::default() }
}

fn empty(settings: Value) -> Bench {
    at(&Hands::at("2026-11-20T10:00:00Z"), settings)
}

/// Two runs of a workflow and one of a chat, on the 20th.
async fn busy() -> (Bench, String, String) {
    let settings = json!({"usage": {"prices": prices(&[("m", "0.15", "0.60")])}, "providers": {"script": {"scripts": {"m": using(1000, 500)}}}});
    let bench = empty(settings);
    let body = json!({"name": "=SUM(A1), \"bad\"", "slug": "triage", "graph": chain(&[llm("a", "m")])});
    let made = bench.studio.create(&bench.scope, Resource::Workflow, &body).await.expect("a workflow");
    let workflow = made["id"].as_str().expect("an id").to_owned();
    run(&bench, &workflow).await;
    let last = run(&bench, &workflow).await;
    (bench, workflow, last)
}

#[tokio::test]
async fn an_empty_window_is_told_with_zeros() {
    let bench = empty(json!({}));
    let (status, kind, body) = get(&bench.studio, DAY, "*/*", marked()).await;
    assert_eq!((status, kind.as_str()), (200, "application/json"));
    expect![[r#"{"currency":"USD","from":"2026-11-20T00:00:00.000+00:00","to":"2026-11-20T23:59:59.999+00:00","totals":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000000","unpriced":false,"run_count":0},"breakdown":[]}"#]].assert_eq(&body);
    let (_, _, table) = get(&bench.studio, &format!("{DAY}&group_by=entity"), "text/csv", marked()).await;
    assert_eq!(table.lines().count(), 1, "the names of the columns: {table}");
}

#[tokio::test]
async fn a_window_and_its_breakdowns_are_told() {
    let (bench, ..) = busy().await;
    let mut told = String::new();
    for more in ["", "&group_by=model", "&group_by=entity", "&group_by=day", "&model=m&group_by=thread", "&model=other&group_by=model"] {
        let (_, _, body) = get(&bench.studio, &format!("{DAY}{more}"), "application/json", marked()).await;
        let body: Value = serde_json::from_str(&body).expect("JSON");
        told.push_str(&format!("{more} {} {}\n", body["totals"], body["breakdown"]));
    }
    expect![[r##"
         {"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false,"run_count":2} []
        &group_by=model {"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false,"run_count":2} [{"provider":"script","model":"m","prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false}]
        &group_by=entity {"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false,"run_count":2} [{"entity_type":"workflow","entity_id":"#1","entity_name":"=SUM(A1), \"bad\"","run_count":2,"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false}]
        &group_by=day {"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false,"run_count":2} [{"date":"2026-11-20","run_count":2,"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false}]
        &model=m&group_by=thread {"prompt_tokens":2000,"completion_tokens":1000,"total_tokens":3000,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000900","unpriced":false,"run_count":2} [{"thread_id":"#2","run_count":1,"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000450","unpriced":false},{"thread_id":"#3","run_count":1,"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000450","unpriced":false}]
        &model=other&group_by=model {"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000000","unpriced":false,"run_count":0} []
    "##]].assert_eq(&plain(&told));
}

#[tokio::test]
async fn tables_are_safe_and_end_their_lines_as_the_format_says() {
    let (bench, ..) = busy().await;
    let mut told = String::new();
    for more in ["", "&group_by=entity", "&group_by=model", "&group_by=day"] {
        let (status, kind, body) = get(&bench.studio, &format!("{DAY}{more}"), "text/csv", marked()).await;
        assert_eq!((status, kind.as_str()), (200, "text/csv; charset=utf-8"));
        assert!(body.ends_with("\r\n") && body.matches('\n').count() == body.matches("\r\n").count(), "{body:?}");
        told.push_str(&body.replace("\r\n", "\n"));
    }
    expect![[r##"
        from,to,run_count,prompt_tokens,completion_tokens,total_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,estimated_cost,unpriced,currency
        2026-11-20T00:00:00.000+00:00,2026-11-20T23:59:59.999+00:00,2,2000,1000,3000,0,0,0,0.000900,false,USD
        entity_type,entity_id,entity_name,run_count,prompt_tokens,completion_tokens,total_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,estimated_cost,unpriced,currency
        workflow,#1,"'=SUM(A1), ""bad""",2,2000,1000,3000,0,0,0,0.000900,false,USD
        provider,model,prompt_tokens,completion_tokens,total_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,estimated_cost,unpriced,currency
        script,m,2000,1000,3000,0,0,0,0.000900,false,USD
        date,run_count,prompt_tokens,completion_tokens,total_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,estimated_cost,unpriced,currency
        2026-11-20,2,2000,1000,3000,0,0,0,0.000900,false,USD
    "##]].assert_eq(&plain(&told));
}

#[tokio::test]
async fn a_run_is_told_with_its_calls() {
    let (bench, _, last) = busy().await;
    let (status, _, body) = get(&bench.studio, &format!("/api/studio/usage/runs/{last}"), "*/*", marked()).await;
    assert_eq!(status, 200);
    expect![[r##"{"id":"#1","thread_id":"#2","parent_run_id":null,"is_child":false,"entity":{"type":"workflow","id":"#3","name":"=SUM(A1), \"bad\""},"status":"completed","prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000450","currency":"USD","unpriced":false,"started_at":"2026-11-20T10:00:00.000+00:00","finished_at":"2026-11-20T10:00:00.000+00:00","spans":[{"id":"#4","provider":"script","model":"m","prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000450","unpriced":false,"started_at":"2026-11-20T10:00:00.000+00:00"}]}"##]].assert_eq(&plain(&body));
    for unknown in ["/api/studio/usage/runs/none", "/api/studio/usage/runs/0199a000-0000-7000-8000-000000000000"] {
        let (status, _, body) = get(&bench.studio, unknown, "*/*", marked()).await;
        assert!(status == 404 && body.contains("\"not_found\""), "{body}");
    }
    let elsewhere = HostMarks { tenant: "other".into(), ..marked() };
    assert_eq!(get(&bench.studio, &format!("/api/studio/usage/runs/{last}"), "*/*", elsewhere.clone()).await.0, 404);
    let (_, _, body) = get(&bench.studio, DAY, "*/*", elsewhere).await;
    assert!(body.contains("\"run_count\":0"), "{body}");
    assert!(bench.studio.usage_run(&scope_of("other"), &last).await.is_err());
}

#[tokio::test]
async fn entities_are_named_by_id_or_slug_and_outlive_their_definition() {
    let (bench, workflow, _) = busy().await;
    let upper = workflow.to_uppercase();
    for (filter, count) in [
        (format!("&entity_id={workflow}"), 2),
        (format!("&entity_id={upper}"), 2),
        (format!("&entity_type=workflow&entity_id={workflow}"), 2),
        (format!("&entity_type=agent&entity_id={workflow}"), 0),
        ("&entity_id=triage".to_owned(), 2),
        ("&entity_type=workflow&entity_id=triage".to_owned(), 2),
        ("&entity_type=agent&entity_id=triage".to_owned(), 0),
        ("&entity_id=unknown".to_owned(), 0),
        ("&entity_id=0199a000-0000-7000-8000-000000000000".to_owned(), 0),
        ("&entity_type=workflow".to_owned(), 2),
        ("&entity_type=agent".to_owned(), 0),
    ] {
        for more in ["", "&model=m", "&group_by=model", "&group_by=thread"] {
            let told = window(&bench, &format!("from=2026-11-20&to=2026-11-20{filter}{more}")).await;
            assert_eq!(told["totals"]["run_count"], count, "{filter}{more}");
            if more.contains("group_by") {
                assert_eq!(told["breakdown"] == json!([]), count == 0, "{filter}{more}: {told}");
            }
        }
    }
    bench.studio.delete(&bench.scope, Resource::Workflow, &workflow, &json!({}), None, true).await.expect("nobody uses it");
    for model in ["", "&model=m"] {
        let told = window(&bench, &format!("from=2026-11-20&to=2026-11-20&group_by=entity{model}")).await;
        let entry = &told["breakdown"][0];
        assert_eq!((&entry["entity_id"], &entry["entity_name"], &entry["run_count"]), (&json!(workflow), &Value::Null, &json!(2)));
    }
}

#[tokio::test]
async fn wrong_questions_are_refused() {
    let bench = empty(json!({}));
    for (query, field) in [
        ("", "from"),
        ("from=2026-11-20", "to"),
        ("from=20.11.2026&to=2026-11-20", "from"),
        ("from=2026-11-20&to=2026-11-19", "to"),
        ("from=2026-01-01&to=2027-01-03", "to"),
        ("from=2026-11-20&to=2026-11-20&entity_type=tool", "entity_type"),
        ("from=2026-11-20&to=2026-11-20&group_by=provider", "group_by"),
    ] {
        for path in ["/api/studio/usage", "/studio/api/usage"] {
            let (status, kind, body) = get(&bench.studio, &format!("{path}?{query}"), "text/csv", marked()).await;
            assert_eq!((status, kind.as_str()), (422, "application/problem+json"), "{query}");
            let body: Value = serde_json::from_str(&body).expect("JSON");
            assert!(body["errors"][field].is_array(), "{query}: {body}");
        }
    }
}

#[tokio::test]
async fn the_host_lets_in_and_the_configuration_switches_off() {
    let outside = json!({"environment": "production"});
    let off = json!({"environment": "production", "usage": {"export": {"enabled": false}}});
    let own = json!({"environment": "production", "usage": {"export": {"route_prefix": "billing/v1"}}});
    let alone = json!({"environment": "production", "stream_adapters": {"enabled": false}});
    let gated = HostMarks { gate: Some(true), ..HostMarks::default() };
    for (settings, path, marks, status, code) in [
        (&outside, DAY, gated.clone(), 401, "unauthenticated"),
        (&outside, "/api/studio/usage/runs/none", HostMarks::default(), 401, "unauthenticated"),
        (&outside, DAY, HostMarks { gate: Some(false), ..marked() }, 200, ""),
        (&off, DAY, marked(), 404, "route_disabled"),
        (&off, "/api/studio/usage/runs/none", marked(), 404, "route_disabled"),
        // A route that is off is not there, for anybody.
        (&off, DAY, HostMarks::default(), 404, "route_disabled"),
        (&off, "/studio/api/usage?from=2026-11-20&to=2026-11-20", gated.clone(), 200, ""),
        (&outside, "/studio/api/usage?from=2026-11-20&to=2026-11-20", marked(), 403, "forbidden"),
        (&own, "/billing/v1/usage?from=2026-11-20&to=2026-11-20", marked(), 200, ""),
        (&own, "/billing/v1/other", marked(), 404, "not_found"),
        (&own, DAY, marked(), 404, "not_found"),
        (&alone, DAY, marked(), 200, ""),
        (&outside, "/api/studio/usage/", marked(), 422, "validation_failed"),
        (&outside, "/api/studio/usage/none", marked(), 404, "not_found"),
    ] {
        let bench = empty(settings.clone());
        let (told, _, body) = get(&bench.studio, path, "*/*", marks).await;
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((told, body["code"].as_str().unwrap_or_default()), (status, code), "{settings} {path}");
    }
    let bench = empty(json!({}));
    assert_eq!(get(&bench.studio, DAY, "*/*", HostMarks::default()).await.0, 200, "a local environment is open");
}
