use bytes::Bytes;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::event::FaultCode;
use crate::providers::mock::{self, Canned, Mock, answer_text, hello, whole};
use crate::providers::{Media, ToolOffer};

/// A provider in front of a mock that gives these answers in turn.
async fn provider(dialect: &str, answers: Vec<Canned>) -> (OpenAi, Mock) {
    let (wire, mock) = mock::start("/v1", answers).await;
    (OpenAi { wire, dialect: Dialect::of(dialect) }, mock)
}

/// A stream of these frames, with its end markers, cut into pieces of seven bytes.
fn stream(frames: &[Value]) -> Canned {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let said = frames.iter().any(|frame| frame.pointer("/choices/0/finish_reason").is_some_and(|reason| !reason.is_null()));
    let frames = frames.iter().chain((!said).then_some(&end));
    let text: String = frames.map(|frame| format!("data: {frame}\n\n")).collect::<String>() + "data: [DONE]\n\n";
    Canned(200, &[], text.as_bytes().chunks(7).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect())
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

async fn check(dialect: &str, answers: Vec<Canned>, streamed: bool, wanted: Expect) {
    let (count, hangs) = (answers.len(), answers.iter().any(|answer| answer.2.iter().any(|piece| piece == "HANG")));
    let (mut provider, mock) = provider(dialect, answers).await;
    if hangs {
        mock::soon(&mut provider.wire);
    }
    let told = answer_text(&provider, &hello(streamed)).await;
    wanted.assert_eq(&told);
    assert_eq!(mock.seen.lock().expect("seen").len(), count, "requests made");
}

#[tokio::test]
async fn a_stream_gives_pieces_and_the_last_usage() {
    let frames = [
        json!({"choices": [], "prompt_filter_results": []}),
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "Hé", "reasoning_content": "hm"})),
        delta(&json!({"content": "llo"})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3}}}),
    ];
    // Pieces of seven bytes cut the é in two: what the mock sends is lossy there, so the whole stream goes at once.
    let text: String = frames.iter().map(|frame| format!(": PROCESSING\n\ndata: {frame}\n\n")).collect::<String>() + "data: [DONE]\n\n";
    check(
        "openai",
        vec![Canned(200, &[], vec![text])],
        true,
        expect![[r#"
            ("hm") "Hé" "llo" 
            "Héllo" Stop Some((12, 7, 4, 0, 3))
            thought "hm""#]],
    )
    .await;
}

#[tokio::test]
async fn tool_calls_are_put_together_from_all_kinds_of_fragments() {
    let call = |call: Value| delta(&json!({ "tool_calls": [call] }));
    let frames = [
        call(json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "one", "arguments": ""}})),
        call(json!({"index": 1, "id": "call_b", "function": {"name": "two", "arguments": "{\"x\""}})),
        call(json!({"index": 0, "function": {"arguments": "{\"y\":"}})),
        call(json!({"index": 1, "function": {"arguments": ":1}"}})),
        call(json!({"index": 0, "id": "call_a", "function": {"name": "one", "arguments": "2}"}})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    ];
    check(
        "openai",
        vec![stream(&frames)],
        true,
        expect![[r#"

        "" ToolCalls None
        call_a one {"y":2} None
        call_b two {"x":1} None"#]],
    )
    .await;
    let frames = [
        call(json!({"id": "a", "function": {"name": "one", "arguments": {"z": 3}}})),
        call(json!({"id": "b", "function": {"name": "two", "arguments": "[1]"}})),
        call(json!({"id": "", "function": {"name": "three", "arguments": "{oops"}})),
        call(json!({"index": 0, "id": "c", "function": {"name": "four"}})),
        call(json!({"index": 0, "id": "d", "function": {"name": "five", "arguments": ""}})),
    ];
    check(
        "custom",
        vec![stream(&frames)],
        true,
        expect![[r#"

        "" ToolCalls None
        c four {} None
        d five {} None
        a one {"z":3} None
        b two "[1]" Some("the arguments are not a JSON object")
         three "{oops" Some("the arguments are not valid JSON: key must be a string at line 1 column 2")"#]],
    )
    .await;
}

#[tokio::test]
async fn a_whole_answer_is_read() {
    let answer = json!({"choices": [{"message": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}],
        "tool_calls": null, "reasoning_content": "why"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_cache_hit_tokens": 9}});
    check(
        "deepseek",
        vec![whole(&answer)],
        false,
        expect![[r#"

            "Hi" Length Some((3, 2, 3, 0, 0))
            thought "why"
            blocks openai-chat {"reasoning_content":"why"}"#]],
    )
    .await;
    check(
        "openai",
        vec![whole(&json!({"choices": []}))],
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no choice None"#]],
    )
    .await;
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_and_a_refusing_one_is_not() {
    let limited = || Canned(429, &[("retry-after", "0"), ("retry-after-ms", "5")], vec!["slow down".into()]);
    let good = || stream(&[delta(&json!({"content": "ok"}))]);
    check(
        "openai",
        vec![limited(), limited(), good()],
        true,
        expect![[r#"
        "ok" 
        "ok" Stop None"#]],
    )
    .await;
    check(
        "openai",
        vec![limited(), limited(), limited()],
        true,
        expect![[r#"

        provider_rate_limited: the provider answered 429: slow down None"#]],
    )
    .await;
    let broken = || Canned(500, &[("retry-after-ms", "1")], vec![r#"{"error":{"message":"oops"}}"#.into()]);
    check(
        "openai",
        vec![broken(), broken(), broken()],
        false,
        expect![[r#"

        provider_unavailable: the provider answered 500: oops None"#]],
    )
    .await;
    let patient = Canned(429, &[("retry-after", "3600")], vec![]);
    check(
        "openai",
        vec![patient],
        false,
        expect![[r#"

        provider_rate_limited: the provider answered 429 None"#]],
    )
    .await;
    let quota = Canned(429, &[], vec![json!({"error": {"message": "pay", "code": "insufficient_quota"}}).to_string()]);
    check(
        "openai",
        vec![quota],
        false,
        expect![[r#"

        provider_rate_limited: the provider answered 429: pay None"#]],
    )
    .await;
    let long = Canned(400, &[], vec![json!({"error": {"message": "too long", "code": "context_length_exceeded"}}).to_string()]);
    check(
        "openai",
        vec![long],
        false,
        expect![[r#"

        context_overflow: the provider answered 400: too long None"#]],
    )
    .await;
}

#[tokio::test]
async fn a_broken_stream_is_a_protocol_failure() {
    let begin = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 5}}));
    check(
        "openai",
        vec![Canned(200, &[], vec![begin.clone()])],
        true,
        expect![[r#"
        "a" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event Some((5, 0))"#]],
    )
    .await;
    check(
        "openai",
        vec![Canned(200, &[], vec![begin.clone(), "data: {oops\n\n".into()])],
        true,
        expect![[r#"
        "a" 
        provider_protocol: the provider's answer is malformed: key must be a string at line 1 column 2 Some((5, 0))"#]],
    )
    .await;
    check(
        "openai",
        vec![Canned(200, &[], vec![begin.clone(), "HANG".into()])],
        true,
        expect![[r#"
        "a" 
        provider_timeout: the provider said nothing more for 200 ms Some((5, 0))"#]],
    )
    .await;
    check(
        "openai",
        vec![Canned(200, &[], vec!["HANG".into()])],
        true,
        expect![[r#"

        provider_timeout: the provider sent nothing within 1500 ms None"#]],
    )
    .await;
    let error = format!("{begin}data: {}\n\n", json!({"error": {"code": 429, "message": "too fast"}}));
    check(
        "openai",
        vec![Canned(200, &[], vec![error])],
        true,
        expect![[r#"
        "a" 
        provider_rate_limited: the provider broke off: too fast Some((5, 0))"#]],
    )
    .await;
    let (provider, _) = provider("openai", vec![Canned(200, &[], vec![begin, "BREAK".into()])]).await;
    assert!(answer_text(&provider, &hello(true)).await.contains("provider_protocol: the provider's answer was cut off"));
}

#[tokio::test]
async fn a_filtered_answer_fails_with_its_usage() {
    let filtered =
        json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}], "usage": {"prompt_tokens": 8, "completion_tokens": 1}});
    check(
        "openai",
        vec![stream(&[filtered])],
        true,
        expect![[r#"

        provider_content_filtered: the provider's filter stopped the answer Some((8, 1))"#]],
    )
    .await;
    let refusal = json!({"choices": [{"message": {"content": null, "refusal": "I cannot"}, "finish_reason": "stop"}]});
    check(
        "openai",
        vec![whole(&refusal)],
        false,
        expect![[r#"

        provider_content_filtered: I cannot None"#]],
    )
    .await;
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let (mut provider, _) = provider("openai", vec![]).await;
    provider.wire.base_url = "http://127.0.0.1:9/v1".into();
    provider.wire.time_limits.retries = 0;
    assert!(answer_text(&provider, &hello(false)).await.contains("provider_unavailable: the provider could not be reached: "));
}

fn rich_request() -> ChatRequest {
    let attachment = serde_json::from_value(json!({"type": "image", "mime_type": "image/png", "storage_key": "k"})).expect("a file");
    let call = ToolCall { id: "c1".into(), name: "t".into(), arguments: json!({"a": 1}), invalid: None };
    let bad = ToolCall { id: "c2".into(), name: "t".into(), arguments: json!("{oops"), invalid: Some("bad".into()) };
    let mut request = hello(true);
    request.messages[1].attachments = vec![attachment];
    request.messages.push(Message { tool_calls: vec![call, bad], ..Message::text(Role::Assistant, "") });
    request.messages.push(Message { tool_call_id: Some("c1".into()), ..Message::text(Role::Tool, "ok") });
    request.media = vec![Media { storage_key: "k".into(), mime_type: "image/png".into(), name: None, bytes: Bytes::from_static(b"png"), refused: false }];
    request.tools = vec![ToolOffer { name: "t".into(), description: "T".into(), input_schema: json!({"type": "object"}) }];
    request.parallel_tool_calls = Some(false);
    request.parameters.temperature = Some(0.5);
    request.parameters.max_tokens = Some(10);
    request.schema =
        Some(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}));
    request
}

#[tokio::test]
async fn the_request_holds_everything() {
    let (provider, mock) = provider("openai", vec![stream(&[])]).await;
    answer_text(&provider, &rich_request()).await;
    let seen = mock.seen.lock().expect("seen");
    assert_eq!(seen[0].0, "/v1/chat/completions Bearer key");
    expect![[r#"
        {
          "model": "m",
          "messages": [
            {
              "role": "system",
              "content": "S"
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Hello"
                },
                {
                  "type": "image_url",
                  "image_url": {
                    "url": "data:image/png;base64,cG5n"
                  }
                }
              ]
            },
            {
              "role": "assistant",
              "content": null,
              "tool_calls": [
                {
                  "id": "c1",
                  "type": "function",
                  "function": {
                    "name": "t",
                    "arguments": "{\"a\":1}"
                  }
                },
                {
                  "id": "c2",
                  "type": "function",
                  "function": {
                    "name": "t",
                    "arguments": "{}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "c1",
              "content": "ok"
            }
          ],
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "t",
                "description": "T",
                "parameters": {
                  "type": "object"
                }
              }
            }
          ],
          "parallel_tool_calls": false,
          "temperature": 0.5,
          "max_completion_tokens": 10,
          "response_format": {
            "type": "json_schema",
            "json_schema": {
              "name": "answer",
              "schema": {
                "type": "object",
                "properties": {
                  "a": {
                    "type": "string"
                  }
                },
                "required": [
                  "a"
                ],
                "additionalProperties": false
              },
              "strict": true
            }
          },
          "stream": true,
          "stream_options": {
            "include_usage": true
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&seen[0].1).expect("JSON"));
}

#[test]
fn dialects_say_the_schema_in_their_way() {
    let body = |dialect: &str, schema: Value| {
        let mut request = hello(false);
        request.schema = Some(schema);
        let body = request::body(&request, &Dialect::of(dialect));
        (body["response_format"]["type"].clone(), body["messages"][0]["content"].clone())
    };
    let told = |schema: &Value| format!("S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{schema}");
    let object = json!({"type": "object"});
    assert_eq!(body("openai", object.clone()), (json!("json_schema"), json!("S")));
    assert_eq!(body("deepseek", object.clone()), (json!("json_object"), json!(told(&object))));
    let list = json!({"type": "array"});
    assert_eq!(body("openai", list.clone()), (Value::Null, json!(told(&list))));
}

#[tokio::test]
async fn texts_become_vectors_in_their_order() {
    let answer = json!({"data": [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [1.0]}], "usage": {"total_tokens": u64::MAX}});
    let (provider, mock) = provider("voyage", vec![whole(&answer), whole(&json!({"data": []}))]).await;
    let texts = vec!["a".to_owned(), "b".to_owned()];
    let request = EmbedRequest { model: "v".into(), texts, query: true, dimensions: Some(1), tenant: String::new(), trace: None };
    let embeddings = provider.embed(&request).await.expect("vectors");
    assert_eq!(embeddings.vectors, [[1.0], [0.5]]);
    assert_eq!(embeddings.tokens.map(|tokens| tokens.prompt), Some(1_000_000_000_000), "no figure breaks sums");
    let sent = json!({"model": "v", "input": ["a", "b"], "output_dimension": 1, "input_type": "query"});
    assert_eq!(mock.seen.lock().expect("seen")[0], ("/v1/embeddings Bearer key".to_owned(), sent));
    let failure = provider.embed(&request).await.expect_err("too few");
    assert_eq!(failure.fault.code, FaultCode::ProviderProtocol);
}

/// <https://docs.perplexity.ai/api-reference/sonar-post>: the pages stand beside the answer, in a stream with its last pieces.
#[tokio::test]
async fn pages_that_are_listed_beside_an_answer_are_its_sources() {
    let pages = |mut frame: Value| {
        frame["citations"] = json!(["https://a.example/one", "https://b.example/two", "javascript:alert(1)"]);
        frame["search_results"] = json!([
            {"title": "One", "url": "https://a.example/one", "date": "2026-01-02", "last_updated": null, "snippet": "s", "source": "web"},
            {"title": "Two", "url": "https://b.example/two", "date": null}]);
        frame
    };
    let message = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi [1][2]"}, "finish_reason": "stop"}]});
    let last = pages(json!({"choices": [{"index": 0, "delta": {"content": " [1][2]"}, "finish_reason": "stop"}]}));
    let streamed = stream(&[delta(&json!({"content": "Hi"})), last.clone(), last]);
    for (dialect, answer, wanted) in [("perplexity", whole(&pages(message)), false), ("perplexity", streamed, true)] {
        let (provider, _) = provider(dialect, vec![answer]).await;
        let reply = provider.chat(&hello(wanted), &|_| {}).await.expect("an answer");
        let sources = reply.message.sources().into_iter().map(|source| (source.url.unwrap_or_default(), source.title.unwrap_or_default()));
        let wanted = [("https://a.example/one", "One"), ("https://b.example/two", "Two")].map(|(url, title)| (url.to_owned(), title.to_owned()));
        assert_eq!(sources.collect::<Vec<_>>(), wanted);
    }
}
