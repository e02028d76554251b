use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::providers::NativeTool;
use crate::providers::mock::{self, Canned, Mock, answer_text, events, hello, result, rich, schema, whole};

async fn provider(answers: Vec<Canned>) -> (Responses, Mock) {
    let (wire, mock) = mock::start("/v1", answers).await;
    (Responses { wire, strict: true }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

fn spoken(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments, "status": "completed"})
}

fn usage() -> Value {
    json!({"input_tokens": 50, "input_tokens_details": {"cached_tokens": 32}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 9}, "total_tokens": 70})
}

fn reasoned() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAAA+/="})
}

/// Reasoning, then two calls whose arguments come in pieces, mixed.
fn calls() -> Vec<Value> {
    let output = json!([reasoned(), call("call_1", "one", "{\"x\":1}"), call("call_2", "two", "{}")]);
    let added = |at: u64, item: Value| json!({"type": "response.output_item.added", "output_index": at, "item": item});
    let piece = |at: u64, id: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "output_index": at, "item_id": id, "delta": delta});
    vec![
        json!({"type": "response.created", "sequence_number": 0, "response": {"status": "in_progress", "output": []}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoned()}),
        added(1, call("call_1", "one", "")),
        added(2, call("call_2", "two", "")),
        piece(1, "fc_call_1", "{\"x\""),
        piece(2, "fc_call_2", "{}"),
        piece(1, "fc_call_1", ":1}"),
        json!({"type": "response.completed", "response": {"status": "completed", "error": null, "output": output, "usage": usage()}}),
    ]
}

#[tokio::test]
async fn reasoning_and_parallel_calls_are_put_together() {
    check(events(&calls()), true, expect![[r#"
        ("hm") 
        "" ToolCalls Some((50, 20, 32, 0, 9))
        call_1 one {"x":1} None
        call_2 two {} None
        thought "hm"
        blocks openai-responses [{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAAA+/="},{"type":"function_call","id":"fc_call_1","call_id":"call_1","name":"one","arguments":"{\"x\":1}","status":"completed"},{"type":"function_call","id":"fc_call_2","call_id":"call_2","name":"two","arguments":"{}","status":"completed"}]"#]]).await;
}

#[tokio::test]
async fn items_go_back_as_they_came() {
    let (provider, mock) = provider(vec![events(&calls()), whole(&json!({"output": [spoken("Done")], "status": "completed"}))]).await;
    let mut request = hello(true);
    let mut reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    reply.message.tool_calls[1].arguments = json!({"edited": true});
    request.messages.push(reply.message);
    request.messages.extend([result("call_1", "first", false), result("call_2", "second", true)]);
    answer_text(&provider, &ChatRequest { stream: false, ..request }).await;
    let seen = mock.seen.lock().expect("seen");
    assert_eq!(seen[1].0, "/v1/responses Bearer key");
    expect![[r#"[{"role":"user","content":"Hello"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAAA+/="},{"type":"function_call","id":"fc_call_1","call_id":"call_1","name":"one","arguments":"{\"x\":1}","status":"completed"},{"type":"function_call","id":"fc_call_2","call_id":"call_2","name":"two","arguments":"{\"edited\":true}","status":"completed"},{"type":"function_call_output","call_id":"call_1","output":"first"},{"type":"function_call_output","call_id":"call_2","output":"second"}]"#]].assert_eq(&serde_json::to_string(&seen[1].1["input"]).expect("JSON"));
}

#[tokio::test]
async fn a_stream_of_text_is_told_while_it_comes() {
    let delta = |delta: &str| json!({"type": "response.output_text.delta", "delta": delta});
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [spoken("Hello")], "usage": usage()}});
    check(
        events(&[delta("Hel"), delta("lo"), json!({"type": "response.new_thing"}), end]),
        true,
        expect![[r#"
        "Hel" "lo" 
        "Hello" Stop Some((50, 20, 32, 0, 9))"#]],
    )
    .await;
}

#[tokio::test]
async fn text_that_came_only_at_the_end_is_told_then() {
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [spoken("Hello")]}});
    check(
        events(&[end]),
        true,
        expect![[r#"
        "Hello" 
        "Hello" Stop None"#]],
    )
    .await;
}

#[tokio::test]
async fn servers_without_ids_and_indexes_are_read() {
    let frames = [
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c1", "name": "one", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{\"a\":"}),
        json!({"type": "response.function_call_arguments.delta", "delta": "1}"}),
        json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "c1", "name": "one", "arguments": "{\"a\":1}", "status": "completed"}}),
        json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "c2", "name": "two", "arguments": "[]", "status": "completed"}}),
        json!({"type": "response.completed", "response": {"status": "completed"}}),
    ];
    check(
        events(&frames),
        true,
        expect![[r#"

        "" ToolCalls None
        c1 one {"a":1} None
        c2 two "[]" Some("the arguments are not a JSON object")"#]],
    )
    .await;
}

#[tokio::test]
async fn what_goes_back_without_the_reasoning_before_it_has_no_id() {
    let bare = json!({"type": "reasoning", "id": "rs_2", "summary": []});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    for (first, id) in [(reasoned(), Some("fc_c1")), (bare, None)] {
        let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [first, search, call("c1", "one", "{}")]}});
        let (provider, _) = provider(vec![events(&[end])]).await;
        let reply = provider.chat(&hello(true), &|_| {}).await.expect("an answer");
        let items = reply.message.blocks.expect("items").value;
        let call = items.as_array().expect("items").iter().find(|item| item["type"] == "function_call").expect("the call");
        assert_eq!((call["id"].as_str(), call["call_id"].as_str()), (id, Some("c1")), "{items}");
    }
}

#[tokio::test]
async fn an_answer_that_did_not_complete_says_why() {
    let ended = |kind: &str, response: Value| {
        events(&[json!({"type": "response.output_text.delta", "delta": "Hi"}), json!({"type": kind, "response": response})])
    };
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [spoken("Hi")], "usage": usage()});
    check(
        ended("response.incomplete", incomplete("max_output_tokens")),
        true,
        expect![[r#"
        "Hi" 
        "Hi" Length Some((50, 20, 32, 0, 9))"#]],
    )
    .await;
    check(
        ended("response.incomplete", incomplete("content_filter")),
        true,
        expect![[r#"
        "Hi" 
        "Hi" ContentFilter Some((50, 20, 32, 0, 9))"#]],
    )
    .await;
    let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "oops"}, "usage": usage()});
    check(
        ended("response.failed", failed),
        true,
        expect![[r#"
        "Hi" 
        provider_unavailable: the provider broke off: oops Some((50, 20))"#]],
    )
    .await;
    let error = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": null, "sequence_number": 3});
    check(
        events(&[json!({"type": "response.output_text.delta", "delta": "Hi"}), error]),
        true,
        expect![[r#"
        "Hi" 
        provider_rate_limited: the provider broke off: slow None"#]],
    )
    .await;
    check(
        events(&[json!({"type": "response.output_text.delta", "delta": "Hi"})]),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event None"#]],
    )
    .await;
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]});
    check(
        whole(&json!({"status": "completed", "output": [refusal]})),
        false,
        expect![[r#"

        provider_content_filtered: I cannot None"#]],
    )
    .await;
    check(
        whole(&json!({"status": "completed"})),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no output None"#]],
    )
    .await;
}

#[tokio::test]
async fn the_request_holds_everything() {
    let mut request = rich();
    request.model = "o4-mini".into();
    request.schema = Some(schema());
    let files = json!({"vector_store_ids": ["v1"]}).as_object().cloned().expect("an object");
    let files = NativeTool { kind: "file_search".into(), config: files };
    request.native_tools = vec!["web_search".into(), "code_interpreter".into(), files];
    request.parameters.reasoning_effort = Some("low".into());
    expect![[r#"
        {
          "model": "o4-mini",
          "instructions": "S",
          "input": [
            {
              "role": "user",
              "content": [
                {
                  "type": "input_text",
                  "text": "Hello"
                },
                {
                  "type": "input_image",
                  "image_url": "data:image/png;base64,aW1hZ2U=",
                  "detail": "auto"
                },
                {
                  "type": "input_file",
                  "filename": "application.pdf",
                  "file_data": "data:application/pdf;base64,YXBwbGljYXRpb24="
                },
                {
                  "type": "input_text",
                  "text": "File text.plain:\ntext"
                },
                {
                  "type": "input_text",
                  "text": "[The file audio.wav of type audio/wav cannot be shown to this model.]"
                }
              ]
            },
            {
              "type": "function_call",
              "call_id": "c1",
              "name": "t",
              "arguments": "{\"a\":1}"
            },
            {
              "type": "function_call",
              "call_id": "c2",
              "name": "t",
              "arguments": "{}"
            },
            {
              "type": "function_call_output",
              "call_id": "c1",
              "output": "ok"
            },
            {
              "type": "function_call_output",
              "call_id": "c2",
              "output": "not JSON"
            },
            {
              "role": "user",
              "content": "And?"
            }
          ],
          "store": false,
          "include": [
            "reasoning.encrypted_content"
          ],
          "tools": [
            {
              "type": "function",
              "name": "t",
              "description": "T",
              "parameters": {
                "type": "object"
              },
              "strict": false
            },
            {
              "type": "web_search"
            },
            {
              "type": "code_interpreter",
              "container": {
                "type": "auto"
              }
            },
            {
              "type": "file_search",
              "vector_store_ids": [
                "v1"
              ]
            }
          ],
          "parallel_tool_calls": false,
          "temperature": 0.5,
          "max_output_tokens": 10,
          "reasoning": {
            "effort": "low",
            "summary": "auto"
          },
          "text": {
            "format": {
              "type": "json_schema",
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
          "stream": true
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&request::body(&request, true)).expect("JSON"));
}

#[tokio::test]
async fn reasoning_that_the_provider_did_not_hand_out_is_not_sent_back() {
    let output = json!([{"type": "reasoning", "id": "rs_1", "summary": []}, spoken("Hi")]);
    check(
        whole(&json!({"status": "completed", "output": output})),
        false,
        expect![[r#"

            "Hi" Stop None
            thought """#]],
    )
    .await;
}

#[tokio::test]
async fn the_cost_of_an_answer_is_told_with_it_and_with_its_failure() {
    let mut usage = usage();
    usage["cost"] = json!(0.000_5);
    let ended = |status: &str, error: Value| json!({"type": "response.completed", "response": {"status": status, "error": error, "output": [spoken("Hi")], "usage": usage}});
    let (provider, _) = provider(vec![events(&[ended("completed", Value::Null)]), events(&[ended("failed", json!({"code": "server_error", "message": "m"}))])]).await;
    let reply = provider.chat(&hello(true), &|_| {}).await.expect("an answer");
    assert_eq!(reply.cost.map(|cost| cost.0), Some(500_000_000));
    let failure = provider.chat(&hello(true), &|_| {}).await.expect_err("a failure");
    assert_eq!((failure.cost.map(|cost| cost.0), failure.tokens.map(|tokens| tokens.prompt)), (Some(500_000_000), Some(50)));
}
