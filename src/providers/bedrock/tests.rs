//! Tests with requests and answers as the reference of the Converse API shows them: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::model::agent::{CacheTtl, ToolChoice};
use crate::model::chat::{Message, Role, ToolCall};
use crate::providers::{Media, ToolOffer};
use crate::providers::amazon_event_stream::frame;
use crate::providers::mock::{self, Canned, Mock, answer_text, binary, hello, rich, schema, whole};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

async fn provider(answers: Vec<Canned>) -> (Bedrock, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Bedrock { wire, region: "us-east-1".into(), keys: None }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

fn event(name: &str, payload: &Value) -> Vec<u8> {
    frame(&[(":event-type", name), (":content-type", "application/json"), (":message-type", "event")], &payload.to_string())
}

fn exception(name: &str, text: &str) -> Vec<u8> {
    frame(&[(":exception-type", name), (":content-type", "application/json"), (":message-type", "exception")], &json!({"message": text}).to_string())
}

fn delta(index: u64, delta: &Value) -> Vec<u8> {
    event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta, "p": "abcdefgh"}))
}

fn end(reason: &str) -> [Vec<u8>; 2] {
    let usage = json!({"inputTokens": 30, "outputTokens": 12, "totalTokens": 342, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 200,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 150}, {"ttl": "5m", "inputTokens": 50}]});
    [event("messageStop", &json!({"stopReason": reason})), event("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 551}}))]
}

fn thoughts_and_calls() -> Vec<Vec<u8>> {
    let mut frames = vec![
        event("messageStart", &json!({"role": "assistant"})),
        delta(0, &json!({"reasoningContent": {"text": "H"}})),
        delta(0, &json!({"reasoningContent": {"text": "m."}})),
        delta(0, &json!({"reasoningContent": {"signature": "sig"}})),
        event("contentBlockStop", &json!({"contentBlockIndex": 0})),
        delta(1, &json!({"reasoningContent": {"redactedContent": "c2VjcmV0"}})),
        delta(2, &json!({"text": "Let me "})),
        delta(2, &json!({"text": "look."})),
        event("contentBlockStart", &json!({"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "one"}}})),
        delta(3, &json!({"toolUse": {"input": "{\"x\""}})),
        delta(3, &json!({"toolUse": {"input": ":1}"}})),
        event("contentBlockStart", &json!({"contentBlockIndex": 4, "start": {"toolUse": {"toolUseId": "tooluse_2", "name": "two"}}})),
    ];
    frames.extend(end("tool_use"));
    frames
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_are_put_together() {
    check(
        binary(&thoughts_and_calls()),
        true,
        expect![[r#"
            ("H") ("m.") "Let me " "look." 
            "Let me look." ToolCalls Some((330, 12, 100, 200, 0))
            tooluse_1 one {"x":1} None
            tooluse_2 two {} None
            thought "Hm."
            thought ""
            blocks bedrock [{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},{"reasoningContent":{"redactedContent":"c2VjcmV0"}},{"text":"Let me look."},{"toolUse":{"toolUseId":"tooluse_1","name":"one","input":{"x":1}}},{"toolUse":{"toolUseId":"tooluse_2","name":"two","input":{}}}]"#]],
    )
    .await;
}

#[tokio::test]
async fn writes_that_are_kept_for_an_hour_are_told_apart() {
    let (provider, _) = provider(vec![binary(&thoughts_and_calls())]).await;
    let tokens = provider.chat(&hello(true), &|_| {}).await.expect("an answer").tokens.expect("tokens");
    assert_eq!((tokens.cache_write, tokens.cache_write_1h), (200, 150));
}

#[tokio::test]
async fn an_answer_is_named_by_its_head_and_a_router_says_which_model_it_chose() {
    let mut frames = vec![delta(0, &json!({"text": "Hi"})), event("messageStop", &json!({"stopReason": "end_turn"}))];
    let trace = json!({"promptRouter": {"invokedModelId": "anthropic.claude-haiku-4-5"}});
    frames.push(event("metadata", &json!({"usage": {"inputTokens": 1, "outputTokens": 1}, "trace": trace})));
    let Canned(status, _, pieces) = binary(&frames);
    let (provider, _) = provider(vec![Canned(status, &[("x-amzn-requestid", "7f-1"), ("content-type", "application/vnd.amazon.eventstream")], pieces)]).await;
    let named = provider.chat(&hello(true), &|_| {}).await.expect("an answer").named;
    assert_eq!((named.id.as_deref(), named.model.as_deref()), (Some("7f-1"), Some("anthropic.claude-haiku-4-5")));
}

#[tokio::test]
async fn an_answer_may_come_whole() {
    let content = json!([{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}, {"text": "Hi"}]);
    let usage = json!({"inputTokens": 3, "outputTokens": 4, "totalTokens": 7});
    let answer = json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}});
    check(
        whole(&answer),
        false,
        expect![[r#"

            "Hi" Stop Some((3, 4, 0, 0, 0))
            thought "Hm."
            blocks bedrock [{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"text":"Hi"}]"#]],
    )
    .await;
}

/// How an answer of one text ends, or what is told in its place.
async fn ended(frames: Vec<Vec<u8>>) -> String {
    let (provider, _) = provider(vec![binary(&frames)]).await;
    answer_text(&provider, &hello(true)).await.replace('\n', "| ")
}

#[tokio::test]
async fn reasons_become_finishes() {
    for (reason, wanted) in [
        ("end_turn", "\"Hi\" | \"Hi\" Stop Some((330, 12, 100, 200, 0))"),
        ("max_tokens", "\"Hi\" | \"Hi\" Length Some((330, 12, 100, 200, 0))"),
        ("model_context_window_exceeded", "\"Hi\" | \"Hi\" Length Some((330, 12, 100, 200, 0))"),
        ("guardrail_intervened", "\"Hi\" | \"Hi\" ContentFilter Some((330, 12, 100, 200, 0))"),
        ("new_reason", "\"Hi\" | \"Hi\" Other Some((330, 12, 100, 200, 0))"),
        ("malformed_tool_use", "\"Hi\" | provider_protocol: the provider's answer is malformed: the model spoilt it (malformed_tool_use) Some((330, 12))"),
    ] {
        let frames = std::iter::once(delta(0, &json!({"text": "Hi"}))).chain(end(reason)).collect();
        assert_eq!(ended(frames).await, wanted, "{reason}");
    }
}

#[tokio::test]
async fn exceptions_inside_an_answer_have_codes() {
    for (name, text, wanted) in [
        ("throttlingException", "Too many tokens, please wait", "provider_rate_limited"),
        ("modelStreamErrorException", "The model broke", "provider_unavailable"),
        ("internalServerException", "oops", "provider_unavailable"),
        ("serviceUnavailableException", "later", "provider_unavailable"),
        ("validationException", "Input is too long for requested model.", "context_overflow"),
        ("validationException", "messages: odd", "provider_bad_request"),
    ] {
        let told = ended(vec![delta(0, &json!({"text": "Hi"})), exception(name, text)]).await;
        assert_eq!(told, format!("\"Hi\" | {wanted}: the provider broke off: {text} None"), "{name}");
    }
}

#[tokio::test]
async fn an_exception_before_anything_else_is_asked_again() {
    let good: Vec<Vec<u8>> = std::iter::once(delta(0, &json!({"text": "Hi"}))).chain(end("end_turn")).collect();
    let (provider, mock) = provider(vec![binary(&[event("messageStart", &json!({})), exception("throttlingException", "slow")][1..]), binary(&good)]).await;
    assert!(answer_text(&provider, &hello(true)).await.contains("\"Hi\" Stop"));
    assert_eq!(mock.seen.lock().expect("seen").len(), 2);
}

#[tokio::test]
async fn broken_frames_and_cut_streams_are_told() {
    let text = delta(0, &json!({"text": "Hi"}));
    let mut spoilt = delta(0, &json!({"text": "there"}));
    let middle = spoilt.len() / 2;
    spoilt[middle] ^= 1;
    assert_eq!(
        ended(vec![text.clone(), spoilt]).await,
        "\"Hi\" | provider_protocol: the provider's answer is malformed: the checksum of a frame is wrong None"
    );
    assert_eq!(
        ended(vec![text.clone(), text[..20].to_vec()]).await,
        "\"Hi\" | provider_protocol: the provider's answer is malformed: it ends inside a frame None"
    );
    let cut = ended(vec![text.clone()]).await;
    assert!(cut.contains("provider_protocol: the provider's answer ended before it was complete"), "{cut}");
    // The reason ends an answer; usage behind it may be missing.
    assert_eq!(ended(vec![text, end("end_turn")[0].clone()]).await, "\"Hi\" | \"Hi\" Stop None");
}

#[tokio::test]
async fn refusals_are_read() {
    for (status, text, wanted) in [
        (403, "User is not authorized", "provider_auth: the provider answered 403: User is not authorized None"),
        (400, "Input is too long for requested model.", "context_overflow: the provider answered 400: Input is too long for requested model. None"),
        (424, "The model failed", "provider_unavailable: the provider answered 424: The model failed None"),
    ] {
        let answer = Canned(status, &[("content-type", "application/json")], vec![json!({ "message": text }).to_string()]);
        let (provider, _) = provider(vec![answer]).await;
        assert_eq!(answer_text(&provider, &hello(true)).await.trim(), wanted);
    }
}

fn claude(change: impl FnOnce(&mut ChatRequest)) -> Value {
    let mut request = hello(true);
    request.model = CLAUDE.into();
    change(&mut request);
    request::body(&request)
}

#[tokio::test]
async fn a_conversation_is_sent_as_the_reference_says() {
    let (provider, mock) = provider(vec![binary(&end("end_turn"))]).await;
    let request = ChatRequest { model: CLAUDE.into(), cache: Some(CacheTtl::Hour), ..rich() };
    answer_text(&provider, &request).await;
    let (url, body) = mock.seen.lock().expect("seen").remove(0);
    assert_eq!(url, "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream Bearer key");
    expect![[r#"
        {
          "system": [
            {
              "text": "S"
            },
            {
              "cachePoint": {
                "type": "default",
                "ttl": "1h"
              }
            }
          ],
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "image": {
                    "format": "png",
                    "source": {
                      "bytes": "aW1hZ2U="
                    }
                  }
                },
                {
                  "document": {
                    "format": "pdf",
                    "name": "application pdf [1]",
                    "source": {
                      "bytes": "YXBwbGljYXRpb24="
                    }
                  }
                },
                {
                  "text": "File text.plain:\ntext"
                },
                {
                  "text": "[The file audio.wav of type audio/wav cannot be shown to this model.]"
                },
                {
                  "text": "Hello"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "toolUse": {
                    "toolUseId": "c1",
                    "name": "t",
                    "input": {
                      "a": 1
                    }
                  }
                },
                {
                  "toolUse": {
                    "toolUseId": "c2",
                    "name": "t",
                    "input": {}
                  }
                },
                {
                  "cachePoint": {
                    "type": "default",
                    "ttl": "1h"
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "toolResult": {
                    "toolUseId": "c1",
                    "content": [
                      {
                        "text": "ok"
                      }
                    ]
                  }
                },
                {
                  "toolResult": {
                    "toolUseId": "c2",
                    "content": [
                      {
                        "text": "not JSON"
                      }
                    ],
                    "status": "error"
                  }
                },
                {
                  "text": "And?"
                },
                {
                  "cachePoint": {
                    "type": "default",
                    "ttl": "1h"
                  }
                }
              ]
            }
          ],
          "inferenceConfig": {
            "maxTokens": 10,
            "temperature": 0.5,
            "stopSequences": [
              "END"
            ]
          },
          "toolConfig": {
            "tools": [
              {
                "toolSpec": {
                  "name": "t",
                  "description": "T",
                  "inputSchema": {
                    "json": {
                      "type": "object"
                    }
                  }
                }
              },
              {
                "cachePoint": {
                  "type": "default",
                  "ttl": "1h"
                }
              }
            ]
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&body).expect("JSON"));
}

#[test]
fn a_model_is_told_how_much_to_think_in_its_makers_words() {
    let asked = |model: &str, effort: &str| {
        claude(|request| {
            request.model = model.into();
            request.parameters.reasoning_effort = Some(effort.into());
        })
    };
    assert_eq!(asked(CLAUDE, "medium")["additionalModelRequestFields"], json!({"thinking": {"type": "enabled", "budget_tokens": 4096}}));
    let adaptive = asked("anthropic.claude-opus-4-6-v1", "high");
    assert_eq!(adaptive["additionalModelRequestFields"]["output_config"], json!({"effort": "high"}));
    assert_eq!(asked("us.amazon.nova-2-lite-v1:0", "low")["additionalModelRequestFields"], json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}));
    assert_eq!(asked("openai.gpt-oss-120b-1:0", "low")["additionalModelRequestFields"], json!({"reasoning_effort": "low"}));
}

#[test]
fn an_answer_has_its_form_by_a_schema_a_tool_or_words() {
    let nova = "us.amazon.nova-pro-v1:0";
    let bound = claude(|request| request.schema = Some(schema()));
    let structure = &bound["outputConfig"]["textFormat"];
    assert_eq!((structure["type"].as_str(), bound.get("toolConfig")), (Some("json_schema"), None));
    let sent: Value = serde_json::from_str(structure["structure"]["jsonSchema"]["schema"].as_str().expect("text")).expect("JSON");
    assert_eq!(sent, schema());
    let called = claude(|request| (request.model, request.schema) = (nova.into(), Some(schema())));
    assert_eq!(called["toolConfig"]["toolChoice"], json!({"tool": {"name": ANSWER}}));
    let offer = ToolOffer { name: "t".into(), description: String::new(), input_schema: json!({"type": "object"}) };
    let beside = claude(|request| (request.model, request.schema, request.tools) = (nova.into(), Some(schema()), vec![offer.clone()]));
    assert_eq!((&beside["toolConfig"]["toolChoice"], beside["toolConfig"]["tools"].as_array().map(Vec::len)), (&json!({"any": {}}), Some(2)));
    let told = claude(|request| (request.model, request.schema) = (nova.into(), Some(json!({"type": "array"}))));
    assert!(told["system"][0]["text"].as_str().is_some_and(|text| text.contains("JSON Schema")) && told.get("toolConfig").is_none(), "{told}");
    let forced = claude(|request| (request.tools, request.tool_choice) = (vec![offer], Some(ToolChoice::Tool("t".into()))));
    assert_eq!(forced["toolConfig"]["toolChoice"], json!({"tool": {"name": "t"}}));
}

#[test]
fn who_always_thinks_is_told_the_form_in_words() {
    for model in ["us.anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "anthropic.claude-fable-5"] {
        let told = claude(|request| (request.model, request.schema) = (model.into(), Some(schema())));
        assert!(told["system"][0]["text"].as_str().is_some_and(|text| text.contains("JSON Schema")) && told.get("toolConfig").is_none(), "{told}");
    }
}

#[tokio::test]
async fn the_call_that_gives_the_answer_is_the_answer() {
    let frames = |more: &[Vec<u8>]| {
        let start = event("contentBlockStart", &json!({"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a", "name": ANSWER}}}));
        let mut frames = vec![start, delta(0, &json!({"toolUse": {"input": "{\"a\":"}})), delta(0, &json!({"toolUse": {"input": "\"b\"}"}}))];
        frames.extend_from_slice(more);
        frames.extend(end("tool_use"));
        binary(&frames)
    };
    let (provider, mock) = provider(vec![frames(&[])]).await;
    let request = ChatRequest { model: "us.amazon.nova-pro-v1:0".into(), schema: Some(schema()), ..hello(true) };
    let told = answer_text(&provider, &request).await;
    assert_eq!(told, "\"{\\\"a\\\":\" \"\\\"b\\\"}\" \n\"{\\\"a\\\":\\\"b\\\"}\" Stop Some((330, 12, 100, 200, 0))\nstructured {\"a\":\"b\"}");
    assert!(mock.seen.lock().expect("seen")[0].1["toolConfig"].is_object());
    // A tool of the user's own may have that name.
    let own = ToolOffer { name: ANSWER.into(), description: String::new(), input_schema: json!({"type": "object"}) };
    let (provider, _) = self::provider(vec![frames(&[])]).await;
    let answer = provider.chat(&ChatRequest { tools: vec![own], ..request }, &|_| {}).await.expect("an answer");
    assert_eq!((answer.message.tool_calls.len(), answer.structured), (1, None));
}

#[tokio::test]
async fn files_of_results_follow_in_the_turn_of_the_user() {
    let mut request = hello(true);
    let file = serde_json::from_value(json!({"type": "image", "mime_type": "image/png", "storage_key": "k"})).expect("a file");
    let call = ToolCall { id: "1".into(), name: "t".into(), arguments: json!({}), invalid: None };
    request.messages.push(Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "") });
    request.messages.push(Message { tool_call_id: Some("1".into()), attachments: vec![file], ..Message::text(Role::Tool, "") });
    request.media = vec![Media { storage_key: "k".into(), mime_type: "image/png".into(), name: None, bytes: "png".into(), refused: false }];
    request.model = CLAUDE.into();
    let body = request::body(&request);
    let content = &body["messages"][2]["content"];
    assert_eq!((&content[1]["image"]["source"]["bytes"], &content[2]["text"]), (&json!("cG5n"), &json!("Files of the messages above:")), "{body}");
}

#[tokio::test]
async fn what_the_model_thought_goes_back_as_it_came() {
    let (provider, _) = provider(vec![binary(&thoughts_and_calls())]).await;
    let reply = provider.chat(&hello(true), &|_| {}).await.expect("an answer");
    let body = claude(|request| {
        request.messages.push(reply.message);
        request.messages.extend(["tooluse_1", "tooluse_2"].map(|id| mock::result(id, "", false)));
        request.parameters.reasoning_effort = Some("low".into());
    });
    let said = &body["messages"][1]["content"];
    assert_eq!(said[0]["reasoningContent"]["reasoningText"], json!({"text": "Hm.", "signature": "sig"}));
    assert_eq!(said[1]["reasoningContent"]["redactedContent"], "c2VjcmV0");
    assert_eq!(body["messages"][2]["content"][0]["toolResult"]["content"][0]["text"], "(the result is empty)");
    assert!(body["additionalModelRequestFields"]["thinking"].is_object() && body["toolConfig"]["tools"].as_array().map(Vec::len) == Some(2), "{body}");
    let foreign = claude(|request| {
        request.messages.push(Message { tool_calls: rich().messages[2].tool_calls.clone(), ..Message::text(Role::Assistant, "") });
        request.parameters.reasoning_effort = Some("low".into());
    });
    assert_eq!(foreign.get("additionalModelRequestFields"), None, "a turn that another model began goes on without a thought");
}

#[test]
fn places_have_addresses() {
    assert_eq!(base_url("eu-central-1"), "https://bedrock-runtime.eu-central-1.amazonaws.com");
    assert_eq!(base_url("cn-north-1"), "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
}
