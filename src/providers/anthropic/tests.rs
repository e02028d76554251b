use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::model::agent::CacheTtl;
use crate::model::chat::ProviderBlocks;
use crate::providers::mock::{self, Canned, Mock, answer_text, events, hello, result, rich, schema, whole};

async fn provider(answers: Vec<Canned>) -> (Anthropic, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Anthropic { wire, version: None, vertex: None }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

async fn sent(request: &ChatRequest) -> (String, Value) {
    let (provider, mock) = provider(vec![whole(&json!({"content": []}))]).await;
    answer_text(&provider, request).await;
    mock.seen.lock().expect("seen").remove(0)
}

fn start(usage: &Value) -> Value {
    json!({"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "stop_reason": null, "usage": usage}})
}

fn begin(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(reason: &str, usage: &Value) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn thinking_and_calls() -> Vec<Value> {
    let mut frames = vec![
        start(&json!({"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1})),
        json!({"type": "ping"}),
        begin(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "see."})),
        delta(0, &json!({"type": "signature_delta", "signature": "EqQBCgIYAhIM+/=="})),
        json!({"type": "content_block_stop", "index": 0}),
        begin(1, &json!({"type": "redacted_thinking", "data": "EmwKAhgB"})),
        begin(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "I look."})),
        begin(3, &json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}})),
        begin(4, &json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"city\": \"Par"})),
        delta(4, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "is\"}"})),
        json!({"type": "something_else", "index": 3}),
        delta(3, &json!({"type": "something_delta"})),
    ];
    frames.extend(end("tool_use", &json!({"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 12}})));
    frames
}

#[tokio::test]
async fn thinking_text_and_parallel_calls_are_put_together() {
    check(events(&thinking_and_calls()), true, expect![[r#"
        ("Let me ") ("see.") "I look." 
        "I look." ToolCalls Some((105, 40, 90, 5, 12))
        toolu_1 weather {"city":"Paris"} None
        toolu_2 now {} None
        thought "Let me see."
        thought ""
        blocks anthropic [{"type":"thinking","thinking":"Let me see.","signature":"EqQBCgIYAhIM+/=="},{"type":"redacted_thinking","data":"EmwKAhgB"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"}},{"type":"tool_use","id":"toolu_2","name":"now","input":{}}]"#]]).await;
}

#[tokio::test]
async fn blocks_go_back_as_they_came_and_results_in_one_turn() {
    let (provider, mock) =
        provider(vec![events(&thinking_and_calls()), whole(&json!({"content": [{"type": "text", "text": "Mild"}]}))]).await;
    let mut request = hello(true);
    let mut reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    reply.message.tool_calls[1].id = "call.ours".into();
    reply.message.tool_calls[1].arguments = json!({"zone": "UTC"});
    request.messages.push(reply.message);
    request.messages.extend([result("toolu_1", "18 degrees", false), result("call.ours", "no clock", true)]);
    request.stream = false;
    answer_text(&provider, &request).await;
    let seen = mock.seen.lock().expect("seen");
    expect![[r#"[{"role":"user","content":[{"type":"text","text":"Hello"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"EqQBCgIYAhIM+/=="},{"type":"redacted_thinking","data":"EmwKAhgB"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Paris"}},{"type":"tool_use","id":"call_ours","name":"now","input":{"zone":"UTC"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"18 degrees"},{"type":"tool_result","tool_use_id":"call_ours","content":"no clock","is_error":true}]}]"#]].assert_eq(&serde_json::to_string(&seen[1].1["messages"]).expect("JSON"));
    assert_eq!(seen[0].0, "/v1/messages key 2026-10-21");
}

#[tokio::test]
async fn a_whole_message_is_read() {
    let usage = json!({"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": null});
    let content = json!([{"type": "text", "text": "{\"a\":1}"}, {"type": "tool_use", "id": "t1", "name": "n", "input": {"x": [1.5]}}]);
    let message = json!({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage});
    check(
        whole(&message),
        false,
        expect![[r#"

        "{\"a\":1}" ToolCalls Some((3, 4, 0, 0, 0))
        t1 n {"x":[1.5]} None"#]],
    )
    .await;
    let cut = json!({"content": [{"type": "text", "text": "Once upon"}], "stop_reason": "max_tokens"});
    check(
        whole(&cut),
        false,
        expect![[r#"

        "Once upon" Length None"#]],
    )
    .await;
    check(
        whole(&json!({"type": "message"})),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no content None"#]],
    )
    .await;
}

#[tokio::test]
async fn a_broken_message_fails_with_its_usage() {
    let begun = [
        start(&json!({"input_tokens": 7})),
        begin(0, &json!({"type": "text", "text": ""})),
        delta(0, &json!({"type": "text_delta", "text": "Hi"})),
    ];
    check(
        events(&begun),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event Some((7, 0))"#]],
    )
    .await;
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    check(
        events(&[&begun[..], &[overloaded]].concat()),
        true,
        expect![[r#"
        "Hi" 
        provider_unavailable: the provider broke off: Overloaded Some((7, 0))"#]],
    )
    .await;
    let refused = end("refusal", &json!({"output_tokens": 1}));
    check(
        events(&[&begun[..], &refused].concat()),
        true,
        expect![[r#"
        "Hi" 
        "Hi" ContentFilter Some((7, 1, 0, 0, 0))"#]],
    )
    .await;
    let orphan = delta(3, &json!({"type": "text_delta", "text": "Hi"}));
    check(
        events(&[orphan]),
        true,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: a piece belongs to no block None"#]],
    )
    .await;
    let long = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}});
    check(
        Canned(400, &[], vec![long.to_string()]),
        true,
        expect![[r#"

        context_overflow: the provider answered 400: prompt is too long: 210000 tokens > 200000 maximum None"#]],
    )
    .await;
}

#[tokio::test]
async fn servers_that_leave_out_the_start_and_the_indexes_are_read() {
    let frames = [
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": "He"}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "y"}}),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": "1", "name": "n", "input": {"a": 1}}}),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": "2", "name": "n", "input": {}}}),
        json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{oops"}}),
        json!({"type": "message_stop"}),
    ];
    check(
        events(&frames),
        true,
        expect![[r#"
        "He" "y" 
        "Hey" ToolCalls None
        1 n {"a":1} None
        2 n "{oops" Some("the arguments are not valid JSON: key must be a string at line 1 column 2")"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_pauses_for_the_providers_tools_goes_on() {
    let searched =
        json!([{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}, {"type": "text", "text": "So "}]);
    let paused = json!({"content": searched, "stop_reason": "pause_turn", "usage": {"input_tokens": 5, "output_tokens": 2}});
    let ended =
        json!({"content": [{"type": "text", "text": "far"}], "stop_reason": "end_turn", "usage": {"input_tokens": 8, "output_tokens": 1}});
    let (provider, mock) = provider(vec![whole(&paused), whole(&ended)]).await;
    let mut request = hello(false);
    request.native_tools = vec!["web_search".into()];
    expect![[r#"

        "So far" Stop Some((13, 3, 0, 0, 0))
        blocks anthropic [{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":"text","text":"So "},{"type":"text","text":"far"}]"#]].assert_eq(&answer_text(&provider, &request).await);
    let seen = mock.seen.lock().expect("seen");
    assert_eq!(seen[1].1["messages"][1], json!({"role": "assistant", "content": searched}));
    assert_eq!(seen[0].1["tools"], json!([{"type": "web_search_20250305", "name": "web_search"}]));
}

#[tokio::test]
async fn what_was_spent_before_a_pause_is_told_when_the_rest_fails() {
    let paused = json!({"content": [{"type": "text", "text": "So "}], "stop_reason": "pause_turn", "usage": {"input_tokens": 5, "output_tokens": 2}});
    let (provider, _) = provider(vec![whole(&paused), Canned(400, &[], vec!["no".into()])]).await;
    expect![[r#"

        provider_bad_request: the provider answered 400: no Some((5, 2))"#]].assert_eq(&answer_text(&provider, &hello(false)).await);
    let (provider, mock) = self::provider((0..9).map(|_| whole(&paused)).collect()).await;
    let reply = provider.chat(&hello(false), &|_| {}).await.expect("an answer");
    assert_eq!((reply.finish.as_str(), reply.warnings[0].code.as_ref()), ("other", "answer_cut"));
    assert_eq!((reply.tokens.map(|tokens| (tokens.prompt, tokens.completion)), reply.last_prompt), (Some((45, 18)), Some(5)));
    assert_eq!(mock.seen.lock().expect("seen").len(), 9);
}

#[tokio::test]
async fn cache_writes_are_counted_by_their_life_when_they_are_told_so() {
    let usage = json!({"input_tokens": 3, "output_tokens": 4, "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}});
    check(
        whole(&json!({"content": [{"type": "text", "text": "Hi"}], "usage": usage})),
        false,
        expect![[r#"

        "Hi" Stop Some((33, 4, 0, 30, 0))"#]],
    )
    .await;
}

#[tokio::test]
async fn blank_texts_are_not_sent_back() {
    let blocks = json!([{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "\n\n"}, {"type": "tool_use", "id": "c1", "name": "t", "input": {}}]);
    let mut request = rich();
    request.messages[2].content = "\n\n".into();
    request.messages[2].blocks = Some(ProviderBlocks { family: FAMILY.into(), by: None, value: blocks });
    let (_, body) = sent(&request).await;
    let kinds: Vec<&Value> = body["messages"][1]["content"].as_array().expect("blocks").iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "tool_use", "tool_use"]);
}

#[tokio::test]
async fn the_request_holds_everything() {
    let (told, body) = sent(&rich()).await;
    assert_eq!(told, "/v1/messages key 2023-06-01");
    expect![[r#"
        {
          "model": "m",
          "system": "S",
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "image",
                  "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "aW1hZ2U="
                  }
                },
                {
                  "type": "document",
                  "title": "application.pdf",
                  "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": "YXBwbGljYXRpb24="
                  }
                },
                {
                  "type": "document",
                  "title": "text.plain",
                  "source": {
                    "type": "text",
                    "media_type": "text/plain",
                    "data": "text"
                  }
                },
                {
                  "type": "text",
                  "text": "[The file audio.wav of type audio/wav cannot be shown to this model.]"
                },
                {
                  "type": "text",
                  "text": "Hello"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "tool_use",
                  "id": "c1",
                  "name": "t",
                  "input": {
                    "a": 1
                  }
                },
                {
                  "type": "tool_use",
                  "id": "c2",
                  "name": "t",
                  "input": {}
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "c1",
                  "content": "ok"
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "c2",
                  "content": "not JSON",
                  "is_error": true
                },
                {
                  "type": "text",
                  "text": "And?"
                }
              ]
            }
          ],
          "tools": [
            {
              "name": "t",
              "description": "T",
              "input_schema": {
                "type": "object"
              }
            }
          ],
          "tool_choice": {
            "type": "auto",
            "disable_parallel_tool_use": true
          },
          "max_tokens": 10,
          "temperature": 0.5,
          "stop_sequences": [
            "END"
          ],
          "stream": true
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&body).expect("JSON"));
}

#[tokio::test]
async fn settings_depend_on_the_model_and_the_version() {
    let mut told = String::new();
    for (model, effort, temperature, pinned) in [
        ("claude-sonnet-4-20250514", None, Some(0.1), None),
        ("claude-sonnet-4-20250514", None, Some(0.1), Some("2026-10-21")),
        ("claude-sonnet-4-20250514", Some("low"), Some(0.1), None),
        ("claude-3-5-sonnet-20241022", Some("high"), None, None),
        ("claude-haiku-5-5", Some("high"), None, None),
        ("claude-haiku-5-5", Some("none"), None, Some("2023-06-01")),
    ] {
        let mut request = hello(false);
        request.model = model.into();
        request.schema = Some(schema());
        request.parameters.reasoning_effort = effort.map(str::to_owned);
        request.parameters.temperature = temperature;
        let version = request::version(pinned, &request);
        let body = request::body(&request, version);
        let settings =
            ["max_tokens", "temperature", "thinking", "output_config"].map(|key| body.get(key).map_or("-".into(), Value::to_string));
        told += &format!("{model} {version} {} {}\n", settings.join(" "), body["system"]);
    }
    expect![[r#"
        claude-sonnet-4-20250514 2023-06-01 32000 0.1 - - "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        claude-sonnet-4-20250514 2026-10-21 32000 - - - "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        claude-sonnet-4-20250514 2023-06-01 32000 - {"type":"enabled","budget_tokens":1024} - "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        claude-3-5-sonnet-20241022 2026-10-21 8192 - - - "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        claude-haiku-5-5 2026-10-21 64000 - {"type":"adaptive","display":"summarized"} {"effort":"high","format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}} "S"
        claude-haiku-5-5 2023-06-01 64000 - {"type":"disabled"} {"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}} "S"
    "#]].assert_eq(&told);
}

#[test]
fn thoughts_that_come_without_an_effort_are_asked_for() {
    let told = |model: &str, change: &dyn Fn(&mut ChatRequest)| {
        let mut request = ChatRequest { model: model.into(), ..hello(false) };
        change(&mut request);
        request::body(&request, request::version(None, &request)).get("thinking").cloned()
    };
    let summarized = Some(json!({"type": "adaptive", "display": "summarized"}));
    for model in ["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5-5"] {
        assert_eq!(told(model, &|_| {}), summarized, "{model}");
        let silent = told(model, &|request| request.parameters.show_reasoning = Some(crate::model::agent::ShowReasoning::None));
        assert_eq!(silent, None, "{model}");
    }
    for model in ["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-3-5-haiku"] {
        assert_eq!(told(model, &|_| {}), None, "{model} thinks only when it is told to");
    }
    // A model that may leave thinking is not told to think where it has to call.
    let forced = told("claude-opus-5", &|request| request.tool_choice = Some(crate::model::agent::ToolChoice::Required));
    assert_eq!(forced, None);
}

#[tokio::test]
async fn a_conversation_with_calls_names_its_tools_even_when_none_is_offered() {
    let mut request = rich();
    request.tools.clear();
    request.messages[2].blocks = Some(ProviderBlocks { family: "gemini".into(), by: None, value: json!([{"thought": true}]) });
    let (_, body) = sent(&request).await;
    assert_eq!(
        (&body["tools"], &body["tool_choice"]),
        (&json!([{"name": "t", "input_schema": {"type": "object"}}]), &json!({"type": "none"}))
    );
    assert_eq!(body["messages"][1]["content"].as_array().map(Vec::len), Some(2));
}

/// The places of the marks, as <https://platform.claude.com/docs/en/build-with-claude/prompt-caching> has them.
#[tokio::test]
async fn what_is_to_be_kept_is_marked_at_four_places_at_most() {
    let mut request = rich();
    request.messages[2].blocks = Some(ProviderBlocks { family: FAMILY.into(), by: None, value: json!([{"type": "text", "text": "So"}, {"type": "thinking", "thinking": "Hm", "signature": "s"}]) });
    request.messages[2].tool_calls.clear();
    request.messages[2].content = "So".into();
    request.messages.truncate(3);
    for (ttl, mark) in [(CacheTtl::Minutes, json!({"type": "ephemeral"})), (CacheTtl::Hour, json!({"type": "ephemeral", "ttl": "1h"}))] {
        request.cache = Some(ttl);
        let (_, body) = sent(&request).await;
        assert_eq!(body["system"], json!([{"type": "text", "text": "S", "cache_control": mark}]));
        assert_eq!(body["tools"][0]["cache_control"], mark);
        assert_eq!(body["messages"][0]["content"][4]["cache_control"], mark);
        assert_eq!(body["messages"][1]["content"][0]["cache_control"], mark, "not on what it thought: {}", body["messages"][1]);
        assert_eq!(body.to_string().matches("cache_control").count(), 4);
    }
    let (_, body) = sent(&hello(false)).await;
    assert!(!body.to_string().contains("cache_control"));
}

#[tokio::test]
async fn no_thinking_is_asked_for_in_the_middle_of_a_turn_that_began_without() {
    let mut request = rich();
    request.model = "claude-sonnet-4-5".into();
    request.parameters.reasoning_effort = Some("high".into());
    request.messages[2].blocks = None;
    let (_, body) = sent(&request).await;
    assert_eq!(body.get("thinking"), None, "{body}");
    let blocks = json!([{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "tool_use", "id": "c1", "name": "t", "input": {}}]);
    request.messages[2].blocks = Some(ProviderBlocks { family: FAMILY.into(), by: None, value: blocks });
    let (_, body) = sent(&request).await;
    assert_eq!(body["thinking"]["type"], "enabled", "{body}");
}

#[tokio::test]
async fn a_thought_that_was_cut_is_not_kept_for_the_next_turn() {
    let mut frames = vec![start(&json!({"input_tokens": 1})), begin(0, &json!({"type": "thinking", "thinking": "", "signature": ""}))];
    frames.extend([delta(0, &json!({"type": "thinking_delta", "thinking": "Hm."})), delta(0, &json!({"type": "signature_delta", "signature": "s"}))]);
    frames.extend([begin(1, &json!({"type": "text", "text": ""})), delta(1, &json!({"type": "text_delta", "text": "Let me look."}))]);
    frames.extend([begin(2, &json!({"type": "thinking", "thinking": "", "signature": ""})), delta(2, &json!({"type": "thinking_delta", "thinking": "And so"}))]);
    frames.extend(end("max_tokens", &json!({"output_tokens": 4})));
    let (provider, _seen) = provider(vec![events(&frames)]).await;
    let reply = provider.chat(&hello(true), &|_| {}).await.expect("an answer");
    let blocks = reply.message.blocks.expect("blocks").value;
    assert_eq!(blocks.as_array().map(Vec::len), Some(2), "{blocks}");
    assert_eq!(reply.message.parts.len(), 2, "both thoughts are shown");
}
