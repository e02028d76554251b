//! Owns tests of what the speakers of OpenAI's chat completions do differently.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::dialect::Azure;
use super::*;
use crate::config::Quirks;
use crate::model::chat::{Message, ProviderBlocks, Role, ToolCall};
use crate::providers::ToolOffer;
use crate::providers::mock::{self, Canned, answer_text, hello, result, whole};

fn stream(frames: &[Value]) -> Canned {
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let frames = frames.iter().chain([&end]).map(|frame| format!("data: {frame}\n\n"));
    Canned(200, &[], vec![frames.collect::<String>() + "data: [DONE]\n\n"])
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

async fn check(dialect: &str, answer: Canned, streamed: bool, wanted: Expect) {
    let (wire, _) = mock::start("/v1", vec![answer]).await;
    wanted.assert_eq(&answer_text(&OpenAi { wire, dialect: Dialect::of(dialect) }, &hello(streamed)).await);
}

/// What a conversation is sent as, after an answer of these frames.
async fn sent_back(dialect: &str, frames: &[Value]) -> Value {
    sent_back_to(Dialect::of(dialect), "m", stream(frames)).await
}

async fn sent_back_to(dialect: Dialect, model: &str, answer: Canned) -> Value {
    let (wire, mock) = mock::start("/v1", vec![answer, stream(&[delta(&json!({"content": "ok"}))])]).await;
    let provider = OpenAi { wire, dialect };
    let mut request = hello(true);
    request.model = model.into();
    let reply = provider.chat(&request, &|_| {}).await.expect("an answer");
    let calls = reply.message.tool_calls.clone();
    request.messages.push(reply.message);
    request.messages.extend(calls.iter().map(|call| result(&call.id, "done", false)));
    provider.chat(&request, &|_| {}).await.expect("an answer");
    let seen = mock.seen.lock().expect("seen");
    seen[1].1["messages"].as_array().expect("messages")[2..].iter().cloned().collect()
}

#[tokio::test]
async fn usage_is_found_where_it_is_told() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
    for frame in [
        json!({"choices": [{"delta": {}}], "usage": null, "x_groq": {"usage": usage}}),
        json!({"choices": [{"delta": {}, "usage": usage}]}),
        json!({"choices": [{"delta": {}}], "usage": usage}),
    ] {
        check("groq", stream(&[frame]), true, expect![[r#"

            "" Stop Some((3, 2, 0, 0, 0))"#]]).await;
    }
}

#[tokio::test]
async fn reasoning_that_only_the_total_holds_is_counted() {
    let usage = json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135, "completion_tokens_details": {"reasoning_tokens": 94}});
    let answer = json!({"choices": [{"message": {"content": "Hi"}}], "usage": usage});
    check("xai", whole(&answer), false, expect![[r#"

        "Hi" Stop Some((32, 103, 0, 0, 94))"#]]).await;
    let usage = json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41, "completion_tokens_details": {"reasoning_tokens": 4}});
    let answer = json!({"choices": [{"message": {"content": "Hi"}}], "usage": usage});
    check("openai", whole(&answer), false, expect![[r#"

        "Hi" Stop Some((32, 9, 0, 0, 4))"#]]).await;
    let huge = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX, "total_tokens": u64::MAX});
    check("openai", whole(&json!({"choices": [{"message": {"content": "Hi"}}], "usage": huge})), false, expect![[r#"

        "Hi" Stop Some((1000000000000, 1000000000000, 0, 0, 0))"#]]).await;
}

#[tokio::test]
async fn errors_are_found_where_they_are_told() {
    let hi = delta(&json!({"content": "Hi"}));
    for error in [
        json!({"error": {"code": 503, "message": "over capacity"}}),
        json!({"x_groq": {"error": "over capacity"}}),
        json!({"object": "error", "code": 503, "message": "over capacity"}),
    ] {
        check("groq", stream(&[hi.clone(), error]), true, expect![[r#"
            "Hi" 
            provider_unavailable: the provider broke off: over capacity None"#]]).await;
    }
}

#[tokio::test]
async fn thinking_parts_go_back_with_ids_that_are_taken() {
    let frames = [
        delta(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]})),
        delta(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m."}]}, {"type": "text", "text": "I look."}]})),
        delta(&json!({"tool_calls": [{"id": "abcDEF123", "function": {"name": "t", "arguments": "{}"}, "index": 0},
            {"id": "call_of_another", "function": {"name": "t", "arguments": "{}"}, "index": 1}]})),
    ];
    check("mistral", stream(&frames), true, expect![[r#"
        ("Hm") ("m.") "I look." 
        "I look." ToolCalls None
        abcDEF123 t {} None
        call_of_another t {} None
        thought "Hmm."
        blocks openai-chat {"thinking":"Hmm."}"#]]).await;
    expect![[r#"[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hmm."}]},{"type":"text","text":"I look."}],"tool_calls":[{"id":"abcDEF123","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"rvvoxti37","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcDEF123","content":"done"},{"role":"tool","tool_call_id":"rvvoxti37","content":"done"}]"#]].assert_eq(&sent_back("mistral", &frames).await.to_string());
}

#[tokio::test]
async fn a_thought_in_the_text_is_no_part_of_the_reply() {
    let pieces = |pieces: &[&str]| stream(&pieces.iter().map(|piece| delta(&json!({ "content": piece }))).collect::<Vec<_>>());
    check("groq", pieces(&["<think>secret", " thought</think>\n\nHi", " there"]), true, expect![[r#"
        ("secret") (" thought") "Hi" " there" 
        "Hi there" Stop None
        thought "secret thought""#]]).await;
    check("vllm", pieces(&["\n", "<th", "ink", ">\na < b</th", "e</thi", "nk", ">", "\n", "Hi <think>no</think>"]), true, expect![[r#"
        ("a < b") ("</the") "Hi <think>no</think>" 
        "Hi <think>no</think>" Stop None
        thought "a < b</the""#]]).await;
    check("lmstudio", pieces(&["<think>\n\n</think>\n\n", "Hi"]), true, expect![[r#"
        "Hi" 
        "Hi" Stop None"#]]).await;
    let answer = |text: &str| whole(&json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}));
    check("openai-compatible", answer("<think>Hm.</think>Hi"), false, expect![[r#"

        "Hi" Stop None
        thought "Hm.""#]]).await;
}

/// An answer that ends with the marker alone, from a server that is said to end so.
#[tokio::test]
async fn the_rest_of_a_text_that_ends_with_its_marker_is_told() {
    let quirks = Quirks { end_marker: Some(true), ..Quirks::default() };
    for (text, wanted) in [
        ("<thi", expect![[r#"
            "<thi" 
            "<thi" Stop None"#]]),
        ("<think>Forty-two.", expect![[r#"
            ("Forty-two.") "Forty-two." 
            "Forty-two." Stop None"#]]),
    ] {
        let answer = Canned(200, &[], vec![format!("data: {}\n\ndata: [DONE]\n\n", delta(&json!({ "content": text })))]);
        let (wire, _) = mock::start("/v1", vec![answer]).await;
        wanted.assert_eq(&answer_text(&OpenAi { wire, dialect: Dialect::of("vllm").with(&quirks) }, &hello(true)).await);
    }
}

/// A text in pieces that ends for a reason.
fn ends(pieces: &[&str], finish: &str) -> Canned {
    let pieces = pieces.iter().map(|piece| delta(&json!({ "content": piece })));
    let frames = pieces.chain([json!({"choices": [{"delta": {}, "finish_reason": finish}]})]);
    Canned(200, &[], vec![frames.map(|frame| format!("data: {frame}\n\n")).collect()])
}

#[tokio::test]
async fn a_thought_without_an_end_that_is_all_of_a_complete_answer_is_the_answer() {
    check("cerebras", ends(&["<think>", "never closed </thi"], "stop"), true, expect![[r#"
        ("never closed ") ("</thi") "never closed </thi" 
        "never closed </thi" Stop None"#]]).await;
    let whole_answer = |finish: &str| whole(&json!({"choices": [{"message": {"content": "<think>\nForty-two."}, "finish_reason": finish}]}));
    check("vllm", whole_answer("stop"), false, expect![[r#"

        "Forty-two." Stop None"#]]).await;
    // It was cut while it thought, or goes on with a call.
    check("cerebras", ends(&["<think>", "and th"], "length"), true, expect![[r#"
        ("and th") 
        "" Length None
        thought "and th""#]]).await;
    check("vllm", whole_answer("length"), false, expect![[r#"

        "" Length None
        thought "Forty-two.""#]]).await;
    let calls = json!({"choices": [{"message": {"content": "<think>I look.", "tool_calls": [{"id": "c", "function": {"name": "t", "arguments": "{}"}}]},
        "finish_reason": "stop"}]});
    check("vllm", whole(&calls), false, expect![[r#"

        "" ToolCalls None
        c t {} None
        thought "I look.""#]]).await;
    // What its server calls reasoning stays reasoning.
    let both = json!({"choices": [{"message": {"content": "<think>Forty-two.", "reasoning_content": "Hm."}, "finish_reason": "stop"}]});
    check("vllm", whole(&both), false, expect![[r#"

        "Forty-two." Stop None
        thought "Hm.""#]]).await;
}

#[tokio::test]
async fn a_thought_between_tags_goes_back_to_a_model_that_wants_it() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}]});
    let texts = |texts: &[&str]| stream(&texts.iter().map(|text| delta(&json!({ "content": text }))).chain([delta(&call)]).collect::<Vec<_>>());
    let content = |sent: &Value| sent[0]["content"].clone();
    let local = || Dialect::of("openai-compatible");
    let pieces = ["\n<thi", "nk>\nI need it.", "\n</think>", "\n\n", "I look", "."];
    for model in ["MiniMax-M2", "MiniMaxAI/MiniMax-M2.5", "minimax-m3"] {
        let sent = sent_back_to(local(), model, texts(&pieces)).await;
        assert_eq!(content(&sent), "\n<think>\nI need it.\n</think>\n\nI look.", "{model}: {sent}");
        assert_eq!((&sent[0]["tool_calls"][0]["id"], &sent[1]["tool_call_id"]), (&json!("c"), &json!("c")));
    }
    let silent = sent_back_to(local(), "MiniMax-M2", texts(&["<think>I need it.</think>"])).await;
    assert_eq!(content(&silent), "<think>I need it.</think>");
    let open = sent_back_to(local(), "MiniMax-M2", texts(&["<think>I need it."])).await;
    assert_eq!(content(&open), "<think>I need it.</think>");
    // Another model is not shown it, unless its server is said to want it.
    assert_eq!(content(&sent_back_to(local(), "qwen3", texts(&pieces)).await), "I look.");
    let quirks = |echo| Quirks { echo_reasoning: Some(echo), ..Quirks::default() };
    let wanted = sent_back_to(local().with(&quirks(true)), "qwen3", texts(&pieces)).await;
    assert_eq!(content(&wanted), "\n<think>\nI need it.\n</think>\n\nI look.");
    assert_eq!(content(&sent_back_to(local().with(&quirks(false)), "MiniMax-M2", texts(&pieces)).await), "I look.");
    // Of a text that is no thought nothing is kept twice.
    assert_eq!(content(&sent_back_to(local(), "MiniMax-M2", texts(&["<thing>", "x"])).await), "<thing>x");
    // It stays with models that want it, also in a conversation that moved on.
    let blocks = Some(ProviderBlocks { family: FAMILY.into(), by: None, value: json!({"tagged_thought": "<think>Hm.</think>"}) });
    let mut request = hello(false);
    request.messages.push(Message { blocks, ..Message::text(Role::Assistant, "Yes") });
    assert_eq!(request::body(&request, &local())["messages"][2], json!({"role": "assistant", "content": "Yes"}));
}

#[tokio::test]
async fn text_that_only_looks_like_a_thought_stays_text() {
    let pieces = |pieces: &[&str]| stream(&pieces.iter().map(|piece| delta(&json!({ "content": piece }))).collect::<Vec<_>>());
    check("openai-compatible", pieces(&["<", "thin", "g>x</think>"]), true, expect![[r#"
        "<thing>x</think>" 
        "<thing>x</think>" Stop None"#]]).await;
    check("openai-compatible", pieces(&["Say <think>x</think>", " now"]), true, expect![[r#"
        "Say <think>x</think>" " now" 
        "Say <think>x</think> now" Stop None"#]]).await;
    check("openai", pieces(&["<think>", " is a tag"]), true, expect![[r#"
        "<think>" " is a tag" 
        "<think> is a tag" Stop None"#]]).await;
    check("openai-compatible", pieces(&["a < b", "<"]), true, expect![[r#"
        "a < b" "<" 
        "a < b<" Stop None"#]]).await;
    check("openai-compatible", pieces(&[" ", "<"]), true, expect![[r#"
        " <" 
        " <" Stop None"#]]).await;
}

#[tokio::test]
async fn details_that_came_in_pieces_go_back_whole() {
    let frames = [
        delta(&json!({"reasoning_details": [{"type": "reasoning.text", "text": "I ", "signature": null, "index": 0}]})),
        delta(&json!({"reasoning_details": [{"type": "reasoning.text", "text": "see", "index": 0}]})),
        delta(&json!({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln+/=", "index": 0}]})),
        delta(&json!({"content": "Yes", "reasoning_details": [{"type": "reasoning.encrypted", "data": "AAA=", "index": 1}]})),
    ];
    expect![[r#"[{"role":"assistant","content":"Yes","reasoning_details":[{"type":"reasoning.text","text":"I see","signature":"c2ln+/=","index":0},{"type":"reasoning.encrypted","data":"AAA=","index":1}]}]"#]].assert_eq(&sent_back("openrouter", &frames).await.to_string());
}

#[tokio::test]
async fn what_one_speaker_wants_back_is_not_sent_to_another() {
    let frames = [delta(&json!({"reasoning_content": "why", "content": "Yes"}))];
    assert_eq!(sent_back("deepseek", &frames).await, json!([{"role": "assistant", "content": "Yes", "reasoning_content": "why"}]));
    let blocks = Some(ProviderBlocks { family: FAMILY.into(), by: None, value: json!({"reasoning_content": "why", "thinking": "Hm"}) });
    let mut request = hello(false);
    request.messages.push(Message { blocks, ..Message::text(Role::Assistant, "Yes") });
    let body = request::body(&request, &Dialect::of("openai"));
    assert_eq!(body["messages"][2], json!({"role": "assistant", "content": "Yes"}));
}

#[tokio::test]
async fn a_stream_needs_a_choice_and_no_blank_line_at_its_end() {
    check("openai", Canned(200, &[], vec!["data: [DONE]\n\n".into()]), true, expect![[r#"

        provider_protocol: the provider's answer ended before it was complete: it gave no finish reason and no end event None"#]]).await;
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let unended = format!("data: {}\n\ndata: {end}", delta(&json!({"content": "Hi"})));
    check("openai", Canned(200, &[], vec![unended]), true, expect![[r#"
        "Hi" 
        "Hi" Stop None"#]]).await;
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let headers = &[("content-type", "application/json; charset=utf-8")];
    let answer = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).to_string();
    check("custom", Canned(200, headers, vec![answer]), true, expect![[r#"
        "Hi" 
        "Hi" Stop None"#]]).await;
    let error = json!({"error": {"code": 429, "message": "too fast"}}).to_string();
    let headers = &[("content-type", "application/json; charset=utf-8"), ("x-should-retry", "false")];
    check("custom", Canned(200, headers, vec![error]), true, expect![[r#"

        provider_rate_limited: the provider broke off: too fast None"#]]).await;
}

#[tokio::test]
async fn pieces_of_other_answers_are_no_part_of_the_first() {
    let piece = |index: u64, text: &str| json!({"choices": [{"index": index, "delta": {"content": text}}]});
    let other = json!({"choices": [{"index": 1, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}]}}]});
    let cut = json!({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let (mut wire, _) = mock::start("/v1", vec![stream(&[piece(0, "He"), piece(1, "Good"), piece(0, "llo"), piece(1, "bye"), other, cut, usage])]).await;
    wire.options.insert("n".into(), 2.into());
    expect![[r#"
        "He" "llo" 
        "Hello" Stop Some((3, 4, 0, 0, 0))"#]].assert_eq(&answer_text(&OpenAi { wire, dialect: Dialect::of("openai") }, &hello(true)).await);
}

/// Some servers stream pieces of a `message`, and some repeat all of it at the end.
#[tokio::test]
async fn pieces_may_be_called_messages() {
    let piece = |text: &str| json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]});
    check("custom", stream(&[piece("He"), piece("llo")]), true, expect![[r#"
        "He" "llo" 
        "Hello" Stop None"#]]).await;
    let whole = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]});
    check("custom", stream(&[delta(&json!({"content": "He"})), delta(&json!({"content": "llo"})), whole]), true, expect![[r#"
        "He" "llo" 
        "Hello" Stop None"#]]).await;
    let both = |said: &str, all: &str| json!({"choices": [{"index": 0, "delta": {"content": said}, "message": {"content": all}}]});
    check("custom", stream(&[both("He", "He"), both("llo", "Hello")]), true, expect![[r#"
        "He" "llo" 
        "Hello" Stop None"#]]).await;
}

#[tokio::test]
async fn nobody_asks_for_a_thousand_tools() {
    let calls: Vec<Value> = (0..2000).map(|at| json!({"index": at, "id": at.to_string(), "function": {"name": "t"}})).collect();
    check("openai", stream(&[delta(&json!({ "tool_calls": calls }))]), true, expect![[r#"

        provider_protocol: the provider's answer is malformed: it asks for too many tools at once None"#]]).await;
}

#[test]
fn groq_is_asked_for_a_form_or_for_tools() {
    let asked = |dialect: &str, model: &str, tools: bool| {
        let mut request = hello(false);
        request.model = model.into();
        request.schema = Some(json!({"type": "object"}));
        request.tools.extend(tools.then(|| ToolOffer { name: "t".into(), description: "T".into(), input_schema: json!({"type": "object"}) }));
        let body = request::body(&request, &Dialect::of(dialect));
        let told = body["messages"][0]["content"].as_str().is_some_and(|text| text.contains("JSON Schema"));
        (body["response_format"]["type"].as_str().map(str::to_owned), body.get("tools").is_some(), told)
    };
    let (schema, object) = (Some("json_schema".to_owned()), Some("json_object".to_owned()));
    for (dialect, model, tools, wanted) in [
        ("groq", "openai/gpt-oss-120b", false, (schema.clone(), false, false)),
        ("groq", "openai/gpt-oss-120b", true, (None, true, true)),
        ("groq", "llama-3.3-70b-versatile", false, (object.clone(), false, true)),
        ("groq", "llama-3.3-70b-versatile", true, (None, true, true)),
        ("deepseek", "deepseek-chat", true, (object, true, true)),
        ("openai", "gpt-4o", true, (schema, true, false)),
    ] {
        assert_eq!(asked(dialect, model, tools), wanted, "{dialect} {model} {tools}");
    }
}

#[tokio::test]
async fn azure_is_asked_for_vectors_by_deployment() {
    let (wire, mock) = mock::start("/openai/v1", vec![whole(&json!({"data": [{"embedding": [1.0]}]}))]).await;
    let deployments = BTreeMap::from([("text-embedding-3-small".to_owned(), "my-vectors".to_owned())]);
    let dialect = Dialect { azure: Some(Azure { deployments, api_version: "v".into() }), ..Dialect::of("azure-openai") };
    let request =
        EmbedRequest { model: "text-embedding-3-small".into(), texts: vec!["a".into()], query: true, dimensions: None, tenant: String::new(), trace: None };
    OpenAi { wire, dialect }.embed(&request).await.expect("vectors");
    let seen = mock.seen.lock().expect("seen");
    assert_eq!((seen[0].0.as_str(), &seen[0].1["model"]), ("/openai/v1/embeddings key", &json!("my-vectors")));
}

#[test]
fn ids_of_calls_stay_what_they_were_where_they_may() {
    let call = ToolCall { id: "call_1".into(), name: "t".into(), arguments: json!({}), invalid: None };
    let id = |dialect: &str| request::call(&call, &Dialect::of(dialect).id(&call.id))["id"].clone();
    assert_eq!(id("openai"), "call_1");
    let short = id("mistral");
    assert!(short.as_str().is_some_and(|id| id.len() == 9 && id.bytes().all(|sign| sign.is_ascii_alphanumeric())), "{short}");
}

#[tokio::test]
async fn calls_under_one_id_are_calls_of_their_own() {
    let call = |arguments: &str| json!({"id": "c", "function": {"name": "read", "arguments": arguments}});
    let frames = [
        delta(&json!({"tool_calls": [call("{\"path\":\"x\"}"), call("{\"path\":\"y\"}")]})),
        delta(&json!({"tool_calls": [call("{\"path\":")]})),
        delta(&json!({"tool_calls": [{"id": "c", "function": {"arguments": "\"z\"}"}}]})),
        // Some servers send a call once more when it is complete.
        delta(&json!({"tool_calls": [call("{\"path\":\"z\"}")]})),
    ];
    check("custom", stream(&frames), true, expect![[r#"

        "" ToolCalls None
        c read {"path":"x"} None
        c read {"path":"y"} None
        c read {"path":"z"} None"#]]).await;
}

#[tokio::test]
async fn calls_in_older_forms_are_calls() {
    let function = json!({"name": "read", "arguments": "{\"path\":\"x\"}"});
    for frames in [
        vec![delta(&json!({"tool_calls": {"id": "c", "function": function}}))],
        vec![delta(&json!({"function_call": {"name": "read", "arguments": ""}})), delta(&json!({"function_call": {"arguments": "{\"path\":\"x\"}"}}))],
    ] {
        let (wire, _) = mock::start("/v1", vec![stream(&frames)]).await;
        let told = answer_text(&OpenAi { wire, dialect: Dialect::of("custom") }, &hello(true)).await;
        assert!(told.ends_with("read {\"path\":\"x\"} None") && told.contains("\"\" ToolCalls"), "{told}");
    }
    let both = json!({"choices": [{"message": {"content": null, "function_call": function, "tool_calls": [{"id": "c", "function": function}]}, "finish_reason": "tool_calls"}]});
    check("custom", whole(&both), false, expect![[r#"

        "" ToolCalls None
        c read {"path":"x"} None"#]]).await;
    let none = json!({"choices": [{"message": {"content": "", "tool_calls": []}, "finish_reason": "tool_calls"}]});
    check("custom", whole(&none), false, expect![[r#"

        provider_protocol: the provider's answer is malformed: it ends with calls of tools, but holds none None"#]]).await;
}

#[tokio::test]
async fn a_name_that_nobody_takes_back_is_not_sent_back() {
    let call = |name: &str| json!({"id": name.len().to_string(), "function": {"name": name, "arguments": "{}"}});
    let frames = [delta(&json!({"tool_calls": [call(""), call("lo\nok"), call(&"x".repeat(500_000)), call("fine")]}))];
    let sent = sent_back("custom", &frames).await;
    let names: Vec<&str> = sent[0]["tool_calls"].as_array().expect("calls").iter().map(|call| call["function"]["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["unnamed", "lo_ok_", &format!("{}_", "x".repeat(63)), "fine"]);
}

#[tokio::test]
async fn an_answer_that_a_filter_cuts_is_kept_and_one_without_text_is_refused() {
    let end = json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}], "usage": {"prompt_tokens": 8, "completion_tokens": 1}});
    let (wire, _) = mock::start("/v1", vec![Canned(200, &[], vec![format!("data: {}\n\ndata: {end}\n\n", delta(&json!({"content": "I "})))])]).await;
    let told = answer_text(&OpenAi { wire, dialect: Dialect::of("openai") }, &hello(true)).await;
    assert_eq!(told, "\"I \" \n\"I \" ContentFilter Some((8, 1, 0, 0, 0))");
}

#[tokio::test]
async fn usage_is_asked_for_only_where_the_question_is_taken() {
    let mut dialect = Dialect::of("custom");
    assert!(request::body(&hello(true), &dialect).get("stream_options").is_some());
    dialect.asks_usage = false;
    assert_eq!(request::body(&hello(true), &dialect).get("stream_options"), None);
}

#[tokio::test]
async fn a_speaker_that_streams_no_forms_is_asked_for_the_whole() {
    let asked = |schema: Option<Value>| {
        let mut asked = hello(true);
        asked.model = "gpt-oss-120b".into();
        asked.schema = schema;
        request::body(&asked, &Dialect::of("groq")).get("stream").cloned()
    };
    assert_eq!((asked(None), asked(Some(json!({"type": "object"})))), (Some(json!(true)), None));
}

#[tokio::test]
async fn what_a_server_does_differently_is_configured() {
    let quirks = Quirks { reasoning_field: Some("thoughts".into()), end_marker: Some(true), strict_schemas: Some(false), ..Quirks::default() };
    let dialect = Dialect::of("openai-compatible").with(&quirks);
    let thinks = format!("data: {}\n\ndata: [DONE]\n\n", delta(&json!({"content": "Yes", "thoughts": "Hm"})));
    let (wire, mock) = mock::start("/v1", vec![Canned(200, &[], vec![thinks]), stream(&[delta(&json!({"content": "ok"}))])]).await;
    let provider = OpenAi { wire, dialect };
    let mut request = hello(true);
    let reply = provider.chat(&request, &|_| {}).await.expect("`[DONE]` is the end of this one");
    request.messages.push(reply.message);
    request.schema = Some(mock::schema());
    provider.chat(&request, &|_| {}).await.expect("an answer");
    let seen = mock.seen.lock().expect("seen");
    assert_eq!((&seen[1].1["messages"][2]["thoughts"], &seen[1].1["response_format"]["json_schema"]["strict"]), (&json!("Hm"), &json!(false)));
    let silent = Dialect::of("deepseek").with(&Quirks { echo_reasoning: Some(false), ..Quirks::default() });
    assert!(silent.echo.is_empty() && !Dialect::of("deepseek").echo.is_empty());
}

#[test]
fn a_model_that_the_table_knows_to_draw_is_asked_for_pictures() {
    for (model, wanted) in [("google/gemini-2.5-flash-image", json!(["image", "text"])), ("google/gemini-2.5-flash", Value::Null)] {
        let request = crate::providers::ChatRequest { model: model.into(), ..hello(true) };
        assert_eq!(request::body(&request, &Dialect::of("openrouter"))["modalities"], wanted, "{model}");
    }
}
