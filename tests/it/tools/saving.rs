//! What is refused when a tool is saved.

use expect_test::expect;
use serde_json::{Value, json};
use wfstudio::studio::Resource;

use crate::support::Bench;

#[tokio::test]
async fn tools_that_cannot_work_are_not_saved() {
    let bench = Bench::new(json!({}));
    let webhook = |config: Value| json!({"name": "t", "kind": "webhook", "config": config});
    let builder = |code: &str| json!({"name": "t", "kind": "builder", "config": {"code": code}});
    let wrong = [
        webhook(json!({"url": "shop"})),
        webhook(json!({"url": "ftp://a.example/"})),
        webhook(json!({"url": "https://{host}/x"})),
        webhook(json!({"url": "https://a:b@a.example/"})),
        webhook(json!({"method": "TRACE", "url": "https://a.example/"})),
        webhook(json!({"url": "https://a.example/", "headers": {"Host": "b.example"}})),
        webhook(json!({"url": "https://a.example/", "headers": {"Bad Name": "x"}})),
        webhook(json!({"url": "https://a.example/", "headers": {"X-A": "line\nbreak"}})),
        webhook(json!({"url": "https://a.example/", "headers": {"X-A": "é"}})),
        webhook(json!({"url": "https://a.example/", "headers": {"Authorization": "Bearer abc"}})),
        webhook(json!({"url": "https://a.example/", "headers": {"X-A": "Token secret:SHOP"}})),
        builder("return ("),
        builder("}); for (;;); (function () {"),
        builder("  "),
        json!({"name": "t", "kind": "rag", "config": {"top_k": 0, "threshold": 2}}),
        json!({"name": "t", "kind": "webhook", "input_schema": {"type": "array"}, "config": {"url": "https://a.example/"}}),
        json!({"name": "t", "kind": "webhook", "input_schema": {"type": "object", "properties": 5}, "config": {"url": "https://a.example/"}}),
        json!({"name": "two words", "kind": "webhook", "timeout_ms": 0, "config": {"url": "https://a.example/"}}),
    ];
    let mut told = String::new();
    for body in wrong {
        let error = bench.studio.create(&bench.scope, Resource::Tool, &body).await.expect_err("a refusal");
        assert_eq!(error.kind.status(), 422, "{body}");
        told.push_str(&format!("{}\n", error.members["errors"]));
    }
    expect![[r#"
        {"config.url":["config.url is no URL"]}
        {"config.url":["config.url must be an http or https URL"]}
        {"config.url":["config.url may have parameters in its path and query only"]}
        {"config.url":["config.url must not hold a user name or password; use a header that names a secret"]}
        {"config.method":["config.method must be one of GET, POST, PUT, PATCH, DELETE"]}
        {"config.headers.Host":["config.headers.Host is set by the connection itself"]}
        {"config.headers.Bad Name":["config.headers.Bad Name is no header name"]}
        {"config.headers.X-A":["config.headers.X-A must not have control characters"]}
        {"config.headers.X-A":["config.headers.X-A can carry ASCII characters only"]}
        {"config.headers.Authorization":["config.headers.Authorization looks like a secret; name it instead, as in `secret:NAME`"]}
        {"config.headers.X-A":["config.headers.X-A may name a secret only as its whole value, as in `secret:NAME`"]}
        {"config.code":["config.code does not parse: unexpected token in expression: ';'"]}
        {"config.code":["config.code does not parse: unexpected token in expression: ')'"]}
        {"config.code":["config.code is required"]}
        {"config.knowledge_base_id":["config.knowledge_base_id is required"],"config.top_k":["config.top_k must be an integer from 1 to 100"],"config.threshold":["config.threshold must be a number from 0 to 1"]}
        {"input_schema":["input_schema must have the type object"]}
        {"input_schema":["input_schema is no valid JSON Schema: 5 is not of type \"object\""]}
        {"name":["name must be a word of letters, digits, `_` and `-`, 1 to 64 long, beginning with a letter or `_`"],"timeout_ms":["timeout_ms must be an integer from 1 to 3600000"]}
    "#]].assert_eq(&told);
}
