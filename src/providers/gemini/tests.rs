use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::model::agent::ToolChoice;
use crate::model::chat::{Message, ProviderBlocks, Role};
use crate::model::event::FaultCode;
use crate::providers::mock::{self, Canned, Mock, answer_text, events, hello, result, rich, schema, whole};

async fn provider(answers: Vec<Canned>) -> (Gemini, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Gemini { wire, vertex: None }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

fn frame(parts: &Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}]})
}

fn usage(candidates: u64) -> Value {
    json!({"usageMetadata": {"promptTokenCount": 40, "cachedContentTokenCount": 16, "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": candidates, "thoughtsTokenCount": 6, "totalTokenCount": 51 + candidates}})
}

fn with(mut frame: Value, more: &Value) -> Value {
    frame.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    frame
}

fn thoughts_and_calls() -> Vec<Value> {
    let first = json!([{"functionCall": {"name": "weather", "args": {"city": "Paris", "deep": 1.50}}, "thoughtSignature": "CiQB+/=="},
        {"functionCall": {"name": "now", "id": "g2"}}]);
    vec![
        with(frame(&json!([{"text": "I ", "thought": true}]), None), &usage(1)),
        frame(&json!([{"text": "think", "thought": true}]), None),
        frame(&json!([{"text": "Look"}]), None),
        frame(&json!([{"text": "ing"}]), None),
        frame(&first, None),
        with(frame(&json!([{"text": "", "thoughtSignature": "CjMB"}]), Some("STOP")), &usage(9)),
    ]
}

#[tokio::test]
async fn thoughts_text_and_parallel_calls_are_put_together() {
    check(events(&thoughts_and_calls()), true, expect![[r#"
        ("I ") ("think") "Look" "ing" 
        "Looking" ToolCalls Some((45, 15, 16, 0, 6))
         weather {"city":"Paris","deep":1.5} None
        g2 now {} None
        thought "I think"
        blocks gemini [{"text":"I think","thought":true},{"text":"Looking"},{"functionCall":{"name":"weather","args":{"city":"Paris","deep":1.5}},"thoughtSignature":"CiQB+/=="},{"functionCall":{"name":"now","id":"g2"}},{"text":"","thoughtSignature":"CjMB"}]"#]]).await;
}

#[tokio::test]
async fn pieces_of_other_candidates_are_no_part_of_the_first() {
    let other = |parts: &Value, finish: Option<&str>| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 1}]});
    let frames = [
        frame(&json!([{"text": "He"}]), None),
        other(&json!([{"text": "Good"}]), None),
        frame(&json!([{"text": "llo"}]), Some("STOP")),
        other(&json!([{"text": "bye"}]), Some("MAX_TOKENS")),
    ];
    check(events(&frames), true, expect![[r#"
        "He" "llo" 
        "Hello" Stop None"#]]).await;
}

#[tokio::test]
async fn parts_go_back_as_they_came_and_results_in_order() {
    let (provider, mock) = provider(vec![events(&thoughts_and_calls()), whole(&frame(&json!([{"text": "Mild"}]), Some("STOP")))]).await;
    let mut request = hello(true);
    let mut reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    reply.message.tool_calls[0].id = "call_ours".into();
    reply.message.tool_calls[1].id = "call_too".into();
    request.messages.push(reply.message);
    request.messages.extend([result("call_ours", "18 degrees", false), result("call_too", "no clock", true)]);
    answer_text(&provider, &ChatRequest { stream: false, ..request }).await;
    let seen = mock.seen.lock().expect("seen");
    let paths = [&seen[0].0, &seen[1].0];
    assert_eq!(paths, ["/v1beta/models/m:streamGenerateContent?alt=sse key", "/v1beta/models/m:generateContent key"]);
    expect![[r#"[{"role":"user","parts":[{"text":"Hello"}]},{"role":"model","parts":[{"text":"I think","thought":true},{"text":"Looking"},{"functionCall":{"name":"weather","args":{"city":"Paris","deep":1.5}},"thoughtSignature":"CiQB+/=="},{"functionCall":{"name":"now","id":"g2"}},{"text":"","thoughtSignature":"CjMB"}]},{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"output":"18 degrees"}}},{"functionResponse":{"name":"t","response":{"error":"no clock"},"id":"g2"}}]}]"#]].assert_eq(&serde_json::to_string(&seen[1].1["contents"]).expect("JSON"));
}

#[tokio::test]
async fn a_whole_answer_is_read() {
    check(
        whole(&with(frame(&json!([{"text": "Once"}, {"text": " upon"}]), Some("MAX_TOKENS")), &usage(2))),
        false,
        expect![[r#"

        "Once upon" Length Some((45, 8, 16, 0, 6))"#]],
    )
    .await;
    check(
        whole(&json!({"candidates": []})),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no candidate None"#]],
    )
    .await;
}

#[tokio::test]
async fn a_connection_that_stays_open_after_the_end_is_no_failure() {
    let mut answer = events(&[frame(&json!([{"text": "Hi"}]), Some("STOP"))]);
    answer.2.push("HANG".into());
    check(
        answer,
        true,
        expect![[r#"
        "Hi" 
        "Hi" Stop None"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_ends_badly_says_why() {
    let hi = || frame(&json!([{"text": "Hi"}]), None);
    check(
        events(&[with(hi(), &usage(3))]),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event Some((45, 9))"#]],
    )
    .await;
    check(
        events(&[hi(), frame(&json!([]), Some("SAFETY"))]),
        true,
        expect![[r#"
        "Hi" 
        "Hi" ContentFilter None"#]],
    )
    .await;
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    check(
        events(&[blocked]),
        true,
        expect![[r#"

        provider_content_filtered: the provider's filter refused the prompt: PROHIBITED_CONTENT Some((4, 0))"#]],
    )
    .await;
    let spoilt = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(x)"}]});
    check(
        events(&[spoilt]),
        true,
        expect![[r#"

        provider_protocol: the model's answer is unusable: print(x) None"#]],
    )
    .await;
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    check(
        events(&[hi(), error]),
        true,
        expect![[r#"
        "Hi" 
        provider_unavailable: the provider broke off: The model is overloaded. None"#]],
    )
    .await;
    let spoilt = frame(&json!([{"text": "Let me"}]), Some("MALFORMED_FUNCTION_CALL"));
    check(
        events(&[spoilt]),
        true,
        expect![[r#"
        "Let me" 
        provider_protocol: the model's answer is unusable: MALFORMED_FUNCTION_CALL None"#]],
    )
    .await;
    let quota = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "3600s"}]}});
    check(
        Canned(429, &[], vec![quota.to_string()]),
        false,
        expect![[r#"

        provider_rate_limited: the provider answered 429: quota None"#]],
    )
    .await;
}

#[tokio::test]
async fn the_request_holds_everything() {
    let mut request = rich();
    request.native_tools = vec!["web_search".into()];
    expect![[r#"
        {
          "systemInstruction": {
            "parts": [
              {
                "text": "S"
              }
            ]
          },
          "contents": [
            {
              "role": "user",
              "parts": [
                {
                  "text": "Hello"
                },
                {
                  "inlineData": {
                    "mimeType": "image/png",
                    "data": "aW1hZ2U="
                  }
                },
                {
                  "inlineData": {
                    "mimeType": "application/pdf",
                    "data": "YXBwbGljYXRpb24="
                  }
                },
                {
                  "text": "File text.plain:\ntext"
                },
                {
                  "inlineData": {
                    "mimeType": "audio/wav",
                    "data": "YXVkaW8="
                  }
                }
              ]
            },
            {
              "role": "model",
              "parts": [
                {
                  "functionCall": {
                    "id": "c1",
                    "name": "t",
                    "args": {
                      "a": 1
                    }
                  },
                  "thoughtSignature": "skip_thought_signature_validator"
                },
                {
                  "functionCall": {
                    "id": "c2",
                    "name": "t",
                    "args": {}
                  }
                }
              ]
            },
            {
              "role": "user",
              "parts": [
                {
                  "functionResponse": {
                    "name": "t",
                    "response": {
                      "output": "ok"
                    },
                    "id": "c1"
                  }
                },
                {
                  "functionResponse": {
                    "name": "t",
                    "response": {
                      "error": "not JSON"
                    },
                    "id": "c2"
                  }
                },
                {
                  "text": "And?"
                }
              ]
            }
          ],
          "tools": [
            {
              "functionDeclarations": [
                {
                  "name": "t",
                  "description": "T",
                  "parametersJsonSchema": {
                    "type": "object"
                  }
                }
              ]
            },
            {
              "googleSearch": {}
            }
          ],
          "toolConfig": {
            "includeServerSideToolInvocations": true
          },
          "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 10,
            "stopSequences": [
              "END"
            ],
            "thinkingConfig": {
              "includeThoughts": true
            }
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&request::body(&request)).expect("JSON"));
}

#[test]
fn functions_beside_tools_of_the_provider_are_called_as_the_model_likes_or_as_is_said() {
    let asked = |choice: Option<ToolChoice>, functions: bool, native: bool| {
        let mut request = rich();
        (request.model, request.tool_choice) = ("gemini-3.5-flash".into(), choice);
        request.native_tools.extend(native.then(|| "web_search".into()));
        if !functions {
            request.tools.clear();
        }
        request::body(&request).get("toolConfig").cloned()
    };
    assert_eq!(asked(None, true, true), Some(json!({"includeServerSideToolInvocations": true})));
    assert_eq!(asked(Some(ToolChoice::Auto), true, true), Some(json!({"includeServerSideToolInvocations": true})));
    let forced = json!({"functionCallingConfig": {"mode": "ANY"}, "includeServerSideToolInvocations": true});
    assert_eq!(asked(Some(ToolChoice::Required), true, true), Some(forced));
    assert_eq!(asked(Some(ToolChoice::Auto), true, false), Some(json!({"functionCallingConfig": {"mode": "AUTO"}})));
    assert_eq!((asked(None, true, false), asked(None, false, true)), (None, None));
}

/// A conversation in which the provider's own tools were used: its contents as they go out, and how they are asked for.
async fn after_a_search(model: &str, vertex: bool, asks: impl FnOnce(&mut ChatRequest)) -> (String, Option<Value>) {
    let search = json!([
        {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["weather"]}}, "thoughtSignature": "c2ln"},
        {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "x"}}, "thoughtSignature": "bmF0"},
    ]);
    let parts = |more: &Value| json!(search.as_array().expect("parts").iter().chain(more.as_array().expect("parts")).collect::<Vec<_>>());
    let answers = vec![
        whole(&frame(&parts(&json!([{"functionCall": {"name": "t", "id": "g1", "args": {}}}])), Some("STOP"))),
        whole(&frame(&parts(&json!([{"text": "Mild."}])), Some("STOP"))),
        whole(&frame(&json!([{"text": "Yes."}]), Some("STOP"))),
    ];
    let (mut provider, mock) = provider(answers).await;
    let mut request = hello(false);
    request.model = "gemini-3.5-flash".into();
    request.tools = rich().tools;
    request.native_tools = vec!["web_search".into()];
    for question in ["And?", "Sure?"] {
        let reply = provider.chat(&request, &|_| {}).await.expect("an answer");
        let results: Vec<_> = reply.message.tool_calls.iter().map(|call| result(&call.id, "done", false)).collect();
        request.messages.push(reply.message);
        request.messages.extend(results);
        request.messages.push(Message::text(Role::User, question));
    }
    let sent = mock.seen.lock().expect("seen")[1].1.to_string();
    assert!(sent.contains("toolCall") && sent.contains("toolResponse"), "they go back where they are known: {sent}");
    request.model = model.into();
    asks(&mut request);
    provider.vertex = vertex.then(|| format!("{}/models", provider.wire.base_url));
    provider.chat(&request, &|_| {}).await.expect("an answer");
    let body = mock.seen.lock().expect("seen")[2].1.clone();
    (body["contents"].to_string(), body.get("toolConfig").cloned())
}

#[tokio::test]
async fn calls_of_its_own_tools_go_back_only_where_they_are_known() {
    let invocations = |contents: &str| (contents.matches("\"toolCall\"").count(), contents.matches("\"toolResponse\"").count());
    let asked = json!({"includeServerSideToolInvocations": true});
    let (contents, config) = after_a_search("gemini-3.5-flash", false, |_| {}).await;
    assert_eq!((invocations(&contents), config), ((2, 2), Some(asked)), "{contents}");
    // Without functions or without tools of its own beside them, and on Vertex AI, they are not known.
    for (vertex, asks) in [
        (false, (|request: &mut ChatRequest| request.tools.clear()) as fn(&mut ChatRequest)),
        (false, |request| request.native_tools.clear()),
        (false, |request| {
            request.tools.clear();
            request.native_tools.clear();
        }),
        (true, |_| {}),
    ] {
        let (contents, config) = after_a_search("gemini-3.5-flash", vertex, asks).await;
        assert_eq!((invocations(&contents), config), ((0, 0), None), "{contents}");
        assert!(contents.contains("functionCall") && contents.contains("functionResponse") && contents.contains("Mild."), "what was said stays: {contents}");
        let calls = contents.matches("\"role\":\"model\"").count();
        assert_eq!(calls, 2, "{contents}");
    }
}

#[tokio::test]
async fn a_turn_of_nothing_but_its_own_tools_is_left_out_where_they_are_not_known() {
    let search = json!({"id": "s1", "toolType": "GOOGLE_SEARCH_WEB"});
    let only = json!([{"toolCall": search}, {"toolResponse": search}, {"text": "Mild."}]);
    let blocks = ProviderBlocks { family: FAMILY.into(), by: None, value: only };
    let mut request = hello(false);
    request.messages.push(Message { blocks: Some(blocks), ..Message::text(Role::Assistant, "") });
    request.messages.push(Message::text(Role::User, "And?"));
    let contents = request::body(&request)["contents"].clone();
    assert!(contents.as_array().expect("contents").iter().all(|content| content["parts"].as_array().is_some_and(|parts| !parts.is_empty())), "{contents}");
    assert!(!contents.to_string().contains("toolCall"), "{contents}");
}

#[test]
fn the_schema_is_native_where_it_can_be() {
    let mut told = String::new();
    for (model, effort) in
        [("gemini-2.5-flash", "low"), ("gemini-2.5-pro", "none"), ("gemini-3-flash-preview", "none"), ("gemini-3.5-flash", "max")]
    {
        let mut request = rich();
        request.model = model.into();
        request.parameters.reasoning_effort = Some(effort.into());
        request.schema = Some(schema());
        let body = request::body(&request);
        let config = &body["generationConfig"];
        told += &format!(
            "{model} {} {} {}\n",
            config["thinkingConfig"], config["responseMimeType"], body["systemInstruction"]["parts"][0]["text"]
        );
    }
    expect![[r#"
        gemini-2.5-flash {"thinkingBudget":1024,"includeThoughts":true} null "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        gemini-2.5-pro {"thinkingBudget":128,"includeThoughts":true} null "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
        gemini-3-flash-preview {"thinkingLevel":"minimal","includeThoughts":true} "application/json" "S"
        gemini-3.5-flash {"thinkingLevel":"high","includeThoughts":true} "application/json" "S"
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn texts_become_vectors() {
    let vector = |value: f64| json!({"values": [value]});
    let hundred: Vec<Value> = (0..100u8).map(|at| vector(f64::from(at))).collect();
    let answers = vec![
        whole(&json!({"embedding": vector(0.5)})),
        whole(&json!({"embeddings": hundred})),
        whole(&json!({"embeddings": [vector(100.0)]})),
        whole(&json!({"embeddings": []})),
    ];
    let (provider, mock) = provider(answers).await;
    let asked = |count: usize| EmbedRequest {
        model: "e".into(),
        texts: vec!["a".into(); count],
        query: count == 1,
        dimensions: Some(1),
        tenant: String::new(),
        trace: None,
    };
    assert_eq!(provider.embed(&asked(1)).await.expect("a vector").vectors, [[0.5]]);
    let many = provider.embed(&asked(101)).await.expect("vectors").vectors;
    assert_eq!((many.len(), many[100][0]), (101, 100.0));
    assert_eq!(provider.embed(&asked(2)).await.expect_err("too few").fault.code, FaultCode::ProviderProtocol);
    let seen = mock.seen.lock().expect("seen");
    let content =
        |task: &str| json!({"model": "models/e", "content": {"parts": [{"text": "a"}]}, "taskType": task, "outputDimensionality": 1});
    assert_eq!(seen[0], ("/v1beta/models/e:embedContent key".to_owned(), content("RETRIEVAL_QUERY")));
    assert_eq!(seen[2].0, "/v1beta/models/e:batchEmbedContents key");
    assert_eq!(seen[2].1, json!({"requests": [content("RETRIEVAL_DOCUMENT")]}));
}
