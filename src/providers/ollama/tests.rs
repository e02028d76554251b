use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::providers::mock::{self, Canned, Mock, answer_text, hello, lines, result, rich, schema, whole};

async fn provider(answers: Vec<Canned>) -> (Ollama, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Ollama { wire: Wire { credential: None, ..wire }, windows: BTreeMap::new() }, mock)
}

async fn check(answer: Canned, streamed: bool, wanted: Expect) {
    let (provider, _) = provider(vec![answer]).await;
    wanted.assert_eq(&answer_text(&provider, &hello(streamed)).await);
}

fn line(message: &Value) -> Value {
    json!({"model": "m", "created_at": "2026-11-20T10:00:00Z", "message": message, "done": false})
}

fn last(reason: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "total_duration": 5, "prompt_eval_count": 26, "eval_count": 12})
}

#[tokio::test]
async fn lines_are_put_together() {
    let call = |name: &str, arguments: Value| json!({"function": {"name": name, "arguments": arguments}});
    let frames = [
        line(&json!({"role": "assistant", "content": "", "thinking": "Hm"})),
        line(&json!({"role": "assistant", "content": "", "thinking": "m."})),
        line(&json!({"role": "assistant", "content": "Hé"})),
        line(&json!({"content": "", "tool_calls": [call("one", json!({"x": 1})), call("two", json!({}))]})),
        line(&json!({"content": "", "tool_calls": [{"id": "call_x", "function": {"name": "three", "arguments": "{\"y\":2}"}}]})),
        last("stop"),
    ];
    let text: String = frames.iter().map(|frame| format!("{frame}\n")).collect();
    check(
        Canned(200, &[], vec![text]),
        true,
        expect![[r#"
            ("Hm") ("m.") "Hé" 
            "Hé" ToolCalls Some((26, 12, 0, 0, 0))
             one {"x":1} None
             two {} None
            call_x three {"y":2} None
            thought "Hmm."
            blocks ollama {"thinking":"Hmm."}"#]],
    )
    .await;
    check(
        lines(&[line(&json!({"content": "Once"})), last("length")]),
        true,
        expect![[r#"
        "Once" 
        "Once" Length Some((26, 12, 0, 0, 0))"#]],
    )
    .await;
    let unended = format!("{}\n{}", line(&json!({"content": "no line end"})), last("stop"));
    check(
        Canned(200, &[], vec![unended]),
        true,
        expect![[r#"
        "no line end" 
        "no line end" Stop Some((26, 12, 0, 0, 0))"#]],
    )
    .await;
    let cached = json!({"message": {"content": "Hi"}, "done": true, "done_reason": "stop", "eval_count": 2});
    check(
        whole(&cached),
        false,
        expect![[r#"

        "Hi" Stop Some((0, 2, 0, 0, 0))"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_ends_badly_says_why() {
    let hi = || line(&json!({"content": "Hi"}));
    check(
        lines(&[hi()]),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event None"#]],
    )
    .await;
    check(
        lines(&[hi(), json!({"error": "model runner has stopped"})]),
        true,
        expect![[r#"
        "Hi" 
        provider_unavailable: the provider broke off: model runner has stopped None"#]],
    )
    .await;
    check(
        lines(&[hi(), json!(["oops"])]),
        true,
        expect![[r#"
        "Hi" 
        provider_protocol: the provider's answer is malformed: it is no JSON object None"#]],
    )
    .await;
    check(
        Canned(404, &[], vec![r#"{"error":"model 'm' not found"}"#.into()]),
        true,
        expect![[r#"

        provider_bad_request: the provider answered 404: model 'm' not found None"#]],
    )
    .await;
    check(
        whole(&json!({"done": true})),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it holds no message None"#]],
    )
    .await;
    check(
        whole(&hi()),
        false,
        expect![[r#"

        provider_protocol: the provider's answer is malformed: it is not done None"#]],
    )
    .await;
}

#[tokio::test]
async fn thoughts_and_results_go_back() {
    let called = line(&json!({"content": "", "thinking": "Hm", "tool_calls": [{"function": {"name": "t", "arguments": {}}}]}));
    let (provider, mock) = provider(vec![lines(&[called, last("stop")]), whole(&last("stop"))]).await;
    let mut request = hello(true);
    let mut reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    reply.message.tool_calls[0].id = "call_ours".into();
    request.messages.extend([reply.message, result("call_ours", "done", false)]);
    answer_text(&provider, &ChatRequest { stream: false, ..request }).await;
    let seen = mock.seen.lock().expect("seen");
    assert_eq!(seen[0].0, "/api/chat");
    expect![[r#"[{"role":"system","content":"S"},{"role":"user","content":"Hello"},{"role":"assistant","content":"","thinking":"Hm","tool_calls":[{"id":"call_ours","function":{"name":"t","arguments":{}}}]},{"role":"tool","content":"done","tool_name":"t","tool_call_id":"call_ours"}]"#]].assert_eq(&serde_json::to_string(&seen[1].1["messages"]).expect("JSON"));
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
              "content": "Hello\n\n[The file application.pdf of type application/pdf cannot be shown to this model.]\n\nFile text.plain:\ntext\n\n[The file audio.wav of type audio/wav cannot be shown to this model.]",
              "images": [
                "aW1hZ2U="
              ]
            },
            {
              "role": "assistant",
              "content": "",
              "tool_calls": [
                {
                  "id": "c1",
                  "function": {
                    "name": "t",
                    "arguments": {
                      "a": 1
                    }
                  }
                },
                {
                  "id": "c2",
                  "function": {
                    "name": "t",
                    "arguments": {}
                  }
                }
              ]
            },
            {
              "role": "tool",
              "content": "ok",
              "tool_name": "t",
              "tool_call_id": "c1"
            },
            {
              "role": "tool",
              "content": "not JSON",
              "tool_name": "t",
              "tool_call_id": "c2"
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
          "think": true,
          "options": {
            "num_ctx": 8192,
            "num_predict": 10,
            "temperature": 0.5,
            "stop": [
              "END"
            ]
          },
          "stream": true
        }"#]].assert_eq(&serde_json::to_string_pretty(&request::body(&request, Some(8192))).expect("JSON"));
    request.tools.clear();
    request.model = "gpt-oss:20b".into();
    let body = request::body(&request, None);
    assert_eq!((&body["format"], &body["think"], &body["messages"][0]["content"]), (&schema(), &json!("high"), &json!("S")));
}

#[tokio::test]
async fn texts_become_vectors() {
    let answer = json!({"model": "e", "embeddings": [[1.0], [0.5]], "prompt_eval_count": 8});
    let (provider, mock) = provider(vec![whole(&answer), whole(&json!({"embedding": [1.0]}))]).await;
    let request =
        EmbedRequest { model: "e".into(), texts: vec!["a".into(), "b".into()], query: true, dimensions: None, tenant: String::new(), trace: None };
    let found = provider.embed(&request).await.expect("vectors");
    assert_eq!((found.vectors, found.tokens.map(|tokens| tokens.prompt)), (vec![vec![1.0], vec![0.5]], Some(8)));
    assert_eq!(mock.seen.lock().expect("seen")[0], ("/api/embed".to_owned(), json!({"model": "e", "input": ["a", "b"]})));
    assert!(provider.embed(&request).await.expect_err("malformed").fault.message.contains("missing field `embeddings`"));
}

#[tokio::test]
async fn what_all_batches_took_counts_also_when_one_of_them_fails() {
    let batch = |vectors: Value, count: u64| whole(&json!({"embeddings": vectors, "prompt_eval_count": count}));
    for (last, tokens) in [(batch(json!([]), 3), 8), (Canned(400, &[], vec![String::new()]), 5)] {
        let (provider, mock) = provider(vec![batch(json!([[1.0]]), 5), last]).await;
        let texts = vec!["x".repeat(700 << 10); 2];
        let request = EmbedRequest { model: "e".into(), texts, query: false, dimensions: None, tenant: String::new(), trace: None };
        let failure = provider.embed(&request).await.expect_err("too few");
        assert_eq!((mock.seen.lock().expect("seen").len(), failure.tokens.map(|tokens| tokens.prompt)), (2, Some(tokens)));
    }
}
