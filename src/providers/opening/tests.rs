use std::time::Duration;

use serde_json::json;

use super::*;
use crate::providers::Provider;
use crate::providers::anthropic::Anthropic;
use crate::providers::mock::{self, Canned, answer_text, events, hello, lines, whole};
use crate::providers::ollama::Ollama;
use crate::providers::openai::OpenAi;
use crate::providers::openai::dialect::Dialect;
use crate::providers::responses::Responses;
use crate::providers::wire::Wire;

/// How many requests a question took, and what was told; the second answer is a good one.
async fn asked<P: Provider>(path: &str, family: impl Fn(Wire) -> P, first: Canned, good: Canned) -> (usize, String) {
    let (wire, mock) = mock::start(path, vec![first, good]).await;
    let told = answer_text(&family(wire), &hello(true)).await;
    let count = mock.seen.lock().expect("seen").len();
    (count, told)
}

async fn openai(first: Canned) -> (usize, String) {
    let good = Canned(200, &[], vec!["data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".into()]);
    asked("/v1", |wire| OpenAi { wire, dialect: Dialect::of("openai") }, first, good).await
}

async fn anthropic(first: Canned) -> (usize, String) {
    let good = events(&[json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}), json!({"type": "message_stop"})]);
    asked("", |wire| Anthropic { wire, version: None, vertex: None }, first, good).await
}

fn sse(text: &str) -> Canned {
    Canned(200, &[("content-type", "text/event-stream"), ("retry-after-ms", "1")], vec![text.to_owned()])
}

fn first_error(error: &Value) -> Canned {
    sse(&format!("data: {{\"error\":{error}}}\n\n"))
}

#[tokio::test]
async fn an_error_that_comes_first_and_may_pass_is_asked_again() {
    for error in [
        json!({"message": "busy", "type": "rate_limit_exceeded"}),
        json!({"message": "busy", "code": 429}),
        json!({"message": "busy", "code": "503"}),
        json!({"message": "oh", "type": "server_error"}),
        json!({"message": "oh", "code": 409}),
    ] {
        let (count, told) = openai(first_error(&error)).await;
        assert_eq!((count, told.contains("\"Hi\" Stop")), (2, true), "{error}: {told}");
    }
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let after_ping = events(&[json!({"type": "ping"}), overloaded.clone()]);
    for first in [events(&[overloaded.clone()]), after_ping, sse(&format!(": hello\nevent: error\r\ndata: {overloaded}\r\n\r\n")), whole(&overloaded)] {
        let (count, told) = anthropic(first).await;
        assert_eq!((count, told.contains("\"Hi\" Stop")), (2, true), "{told}");
    }
    let good = lines(&[json!({"message": {"content": "Hi"}, "done": true})]);
    let (count, told) = asked("", |wire| Ollama { wire, windows: std::collections::BTreeMap::new() }, lines(&[json!({"error": "the runner ended"})]), good).await;
    assert_eq!((count, told.contains("\"Hi\" Stop")), (2, true), "{told}");
}

#[tokio::test]
async fn what_does_not_pass_is_asked_once() {
    for (error, wanted) in [
        (json!({"message": "no money", "type": "insufficient_quota"}), "provider_rate_limited"),
        (json!({"message": "who?", "type": "authentication_error"}), "provider_auth"),
        (json!({"message": "what?", "code": 400}), "provider_bad_request"),
        (json!({"message": "too long", "code": "context_length_exceeded"}), "context_overflow"),
        (json!({"message": "bad words", "code": "content_filter"}), "provider_content_filtered"),
    ] {
        let (count, told) = openai(first_error(&error)).await;
        assert_eq!((count, told.contains(wanted)), (1, true), "{error}: {told}");
    }
    let unwanted = Canned(200, &[("x-should-retry", "false")], vec!["data: {\"error\":{\"message\":\"busy\",\"code\":429}}\n\n".into()]);
    assert_eq!(openai(unwanted).await.0, 1);
}

#[tokio::test]
async fn nothing_is_asked_again_once_an_answer_began_or_cost_something() {
    let busy = "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n";
    for before in [
        "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":0}}\n\n",
    ] {
        let (count, told) = openai(sse(&format!("{before}{busy}"))).await;
        assert_eq!((count, told.contains("provider_unavailable")), (1, true), "{before}: {told}");
    }
    let charged = "data: {\"error\":{\"message\":\"busy\",\"code\":503},\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":0}}\n\n";
    let (count, told) = openai(sse(charged)).await;
    assert_eq!((count, told.contains("Some((5, 0))")), (1, true), "{told}");
    let begun = json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}});
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (count, told) = anthropic(events(&[begun, overloaded])).await;
    assert_eq!((count, told.contains("Some((10, 1))")), (1, true), "{told}");
}

#[tokio::test]
async fn an_answer_that_was_only_announced_is_asked_again() {
    let created = json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "usage": null, "error": null}});
    let error = json!({"code": "server_error", "message": "oh"});
    let failed = |usage: Value| json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "error": error, "usage": usage}});
    let text = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]});
    let good = || events(&[json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [text], "usage": null}})]);
    let said = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}});
    for (first, count) in [
        (vec![created.clone(), failed(Value::Null)], 2),
        (vec![created.clone(), json!({"type": "error", "code": "server_error", "message": "oh"})], 2),
        (vec![created.clone(), failed(json!({"input_tokens": 3, "output_tokens": 0}))], 1),
        (vec![created, said, failed(Value::Null)], 1),
    ] {
        let (asked, told) = asked("/v1", |wire| Responses { wire, strict: true }, events(&first), good()).await;
        assert_eq!((asked, told.contains("\"Hi\" Stop")), (count, count == 2), "{first:?}: {told}");
    }
}

#[tokio::test]
async fn it_is_asked_as_often_as_after_an_error_status() {
    let busy = || first_error(&json!({"message": "busy", "code": 503}));
    let refused = Canned(503, &[("retry-after-ms", "1")], vec!["busy".into()]);
    let (wire, mock) = mock::start("/v1", vec![busy(), refused, busy(), busy()]).await;
    let told = answer_text(&OpenAi { wire, dialect: Dialect::of("openai") }, &hello(true)).await;
    assert!(told.contains("provider_unavailable: the provider broke off: busy"), "{told}");
    assert_eq!(mock.seen.lock().expect("seen").len(), 3, "two retries in all");
    let long = Canned(200, &[("retry-after", "120")], vec!["data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n".into()]);
    assert_eq!(openai(long).await.0, 1, "a longer wait than a run should make");
}

#[tokio::test]
async fn an_answer_is_given_back_as_it_was() {
    let pieces = vec![": hi\n".to_owned(), "data: {\"choices\":[{\"delta\":{\"con".into(), "tent\":\"A\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"B\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".into()];
    let (count, told) = openai(Canned(200, &[], pieces)).await;
    assert_eq!((count, told.starts_with("\"A\" \"B\" \n\"AB\" Stop")), (1, true), "{told}");
    for broken in ["data: {oops\n\n", "", "data: [DONE]\n\n"] {
        let (count, told) = openai(sse(broken)).await;
        assert_eq!((count, told.contains("provider_protocol")), (1, true), "{broken}: {told}");
    }
    let patience = Duration::from_secs(60);
    let long = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n", "x".repeat(LIMIT * 2));
    let read = tokio::time::timeout(patience, openai(sse(&long))).await.expect("in time");
    assert!(read.0 == 1 && read.1.contains("xxx") && read.1.contains("Stop"), "{}", read.1.len());
}

#[tokio::test]
async fn an_error_in_one_value_is_seen_however_it_comes() {
    let long = json!({"type": "error", "error": {"type": "overloaded_error", "message": "x".repeat(4000)}});
    let text = long.to_string();
    let pieces = text.as_bytes().chunks(700).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    for first in [whole(&long), Canned(200, &[("content-type", "application/json")], pieces)] {
        let (count, told) = anthropic(first).await;
        assert_eq!((count, told.contains("\"Hi\" Stop")), (2, true), "{told}");
    }
    let longer = json!({"type": "error", "error": {"type": "overloaded_error", "message": "x".repeat(LIMIT)}});
    let (count, told) = anthropic(whole(&longer)).await;
    assert_eq!((count, told.contains("provider_")), (1, true), "{}", told.len());
}
