use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::providers::mock::{self, Canned, Mock, answer_text, events, hello, result, rich, schema, whole};

async fn provider(answers: Vec<Canned>) -> (Cohere, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Cohere { wire }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

fn content(kind: &str, index: u64, content: &Value) -> Value {
    json!({"type": kind, "index": index, "delta": {"message": {"content": content}}})
}

fn call(kind: &str, index: u64, call: &Value) -> Value {
    json!({"type": kind, "index": index, "delta": {"message": {"tool_calls": call}}})
}

fn end(reason: &str) -> Value {
    json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": {"cached_tokens": 8,
        "billed_units": {"input_tokens": 3, "output_tokens": 4}, "tokens": {"input_tokens": 30.0, "output_tokens": 40}}}})
}

fn thoughts_and_calls() -> Vec<Value> {
    vec![
        json!({"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}}}),
        content("content-start", 0, &json!({"type": "thinking", "thinking": "H"})),
        content("content-delta", 0, &json!({"thinking": "m."})),
        json!({"type": "content-end", "index": 0}),
        json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will "}}}),
        json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "look."}}}),
        call("tool-call-start", 0, &json!({"id": "one_1", "type": "function", "function": {"name": "one", "arguments": ""}})),
        call("tool-call-delta", 0, &json!({"function": {"arguments": "{\"x\""}})),
        call("tool-call-delta", 0, &json!({"function": {"arguments": ":1}"}})),
        json!({"type": "tool-call-end", "index": 0}),
        call("tool-call-start", 1, &json!({"id": "two_2", "type": "function", "function": {"name": "two", "arguments": ""}})),
        json!({"type": "tool-call-end", "index": 1}),
        end("TOOL_CALL"),
    ]
}

#[tokio::test]
async fn thoughts_plan_and_parallel_calls_are_put_together() {
    check(
        events(&thoughts_and_calls()),
        true,
        expect![[r#"
            ("H") ("m.") ("I will ") ("look.") 
            "" ToolCalls Some((30, 40, 8, 0, 0))
            one_1 one {"x":1} None
            two_2 two {} None
            thought "Hm."
            thought "I will look."
            blocks cohere {"thinking":[{"type":"thinking","thinking":"Hm."}],"tool_plan":"I will look."}"#]],
    )
    .await;
}

#[tokio::test]
async fn thoughts_and_plan_go_back() {
    let said = json!({"message": {"role": "assistant", "content": [{"type": "text", "text": "Done"}]}, "finish_reason": "COMPLETE"});
    let (provider, mock) = provider(vec![events(&thoughts_and_calls()), whole(&said)]).await;
    let mut request = hello(true);
    let reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    request.messages.extend([reply.message, result("one_1", "first", false), result("two_2", "second", true)]);
    answer_text(&provider, &ChatRequest { stream: false, ..request }).await;
    let seen = mock.seen.lock().expect("seen");
    assert_eq!(seen[1].0, "/v2/chat Bearer key");
    expect![[r#"[{"role":"system","content":"S"},{"role":"user","content":"Hello"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"tool_plan":"I will look.","tool_calls":[{"id":"one_1","type":"function","function":{"name":"one","arguments":"{\"x\":1}"}},{"id":"two_2","type":"function","function":{"name":"two","arguments":"{}"}}]},{"role":"tool","tool_call_id":"one_1","content":"first"},{"role":"tool","tool_call_id":"two_2","content":"second"}]"#]].assert_eq(&serde_json::to_string(&seen[1].1["messages"]).expect("JSON"));
}

#[tokio::test]
async fn text_is_told_while_it_comes() {
    let frames = [
        content("content-start", 0, &json!({"type": "text", "text": ""})),
        content("content-delta", 0, &json!({"text": "Hel"})),
        json!({"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"text": "Hel"}}}}),
        content("content-delta", 0, &json!({"text": "lo"})),
        end("MAX_TOKENS"),
    ];
    check(
        events(&frames),
        true,
        expect![[r#"
        "Hel" "lo" 
        "Hello" Length Some((30, 40, 8, 0, 0))"#]],
    )
    .await;
}

#[tokio::test]
async fn a_whole_answer_is_read() {
    let calls = json!([{"id": "a", "type": "function", "function": {"name": "one", "arguments": "{\"x\":1}"}}, {"id": "b", "type": "function", "function": {"name": "two", "arguments": "no"}}]);
    let answer = json!({"id": "x", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_plan": "Plan", "tool_calls": calls},
        "usage": {"billed_units": {"input_tokens": 3, "output_tokens": 4}}});
    check(
        whole(&answer),
        false,
        expect![[r#"

            "" ToolCalls Some((3, 4, 0, 0, 0))
            a one {"x":1} None
            b two "no" Some("the arguments are not valid JSON: expected ident at line 1 column 2")
            thought "Plan"
            blocks cohere {"tool_plan":"Plan"}"#]],
    )
    .await;
    check(
        whole(&json!({"message": "invalid"})),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no message None"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_ends_badly_says_why() {
    let hi = || content("content-delta", 0, &json!({"text": "Hi"}));
    check(
        events(&[hi()]),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event None"#]],
    )
    .await;
    check(
        events(&[hi(), end("ERROR")]),
        true,
        expect![[r#"
        "Hi" 
        provider_unavailable: the provider broke off its answer Some((30, 40))"#]],
    )
    .await;
    check(
        events(&[hi(), end("ERROR_TOXIC")]),
        true,
        expect![[r#"
        "Hi" 
        "Hi" ContentFilter Some((30, 40, 8, 0, 0))"#]],
    )
    .await;
    let failed = json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "too many tokens: 5 > 4"}});
    check(
        events(&[failed]),
        true,
        expect![[r#"

        context_overflow: the provider broke off: too many tokens: 5 > 4 None"#]],
    )
    .await;
    check(
        Canned(400, &[], vec![r#"{"id":"x","message":"too many tokens: total number of tokens"}"#.into()]),
        true,
        expect![[r#"

        context_overflow: the provider answered 400: too many tokens: total number of tokens None"#]],
    )
    .await;
}

#[test]
fn the_request_holds_everything() {
    let mut request = rich();
    request.schema = Some(schema());
    request.parameters.reasoning_effort = Some("high".into());
    expect![[r#"
        {
          "model": "m",
          "messages": [
            {
              "role": "system",
              "content": "S\n\nAnswer with one JSON value that fits this JSON Schema, and with nothing else:\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],\"additionalProperties\":false}"
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
                    "url": "data:image/png;base64,aW1hZ2U="
                  }
                },
                {
                  "type": "text",
                  "text": "[The file application.pdf of type application/pdf cannot be shown to this model.]"
                },
                {
                  "type": "text",
                  "text": "File text.plain:\ntext"
                },
                {
                  "type": "text",
                  "text": "[The file audio.wav of type audio/wav cannot be shown to this model.]"
                }
              ]
            },
            {
              "role": "assistant",
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
            },
            {
              "role": "tool",
              "tool_call_id": "c2",
              "content": "not JSON"
            },
            {
              "role": "user",
              "content": "And?"
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
          "temperature": 0.5,
          "max_tokens": 10,
          "stop_sequences": [
            "END"
          ],
          "thinking": {
            "type": "enabled"
          },
          "stream": true
        }"#]].assert_eq(&serde_json::to_string_pretty(&request::body(&request)).expect("JSON"));
    request.messages.push(crate::model::chat::Message::text(crate::model::chat::Role::Assistant, ""));
    let count = request.messages.len();
    assert_eq!(request::body(&request)["messages"].as_array().map(Vec::len), Some(count - 1), "a message without content is refused");
    request.tools.clear();
    let wanted = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    assert_eq!(request::body(&request)["response_format"], json!({"type": "json_object", "json_schema": wanted}));
}

#[tokio::test]
async fn texts_become_vectors() {
    let answer = json!({"embeddings": {"float": [[1.0], [0.5]]}, "meta": {"billed_units": {"input_tokens": 8.0}}});
    let (provider, mock) = provider(vec![whole(&answer)]).await;
    let request =
        EmbedRequest { model: "e".into(), texts: vec!["a".into(), "b".into()], query: false, dimensions: Some(1), tenant: String::new(), trace: None };
    let found = provider.embed(&request).await.expect("vectors");
    assert_eq!((found.vectors, found.tokens.map(|tokens| tokens.prompt)), (vec![vec![1.0], vec![0.5]], Some(8)));
    let sent =
        json!({"model": "e", "texts": ["a", "b"], "input_type": "search_document", "embedding_types": ["float"], "output_dimension": 1});
    assert_eq!(mock.seen.lock().expect("seen")[0], ("/v2/embed Bearer key".to_owned(), sent));
}
