//! Owns tests of requests as the makers of models document them: what is taken out, added and asked for once more.

use serde_json::{Value, json};

use super::*;
use crate::clock::SystemClock;
use crate::model::agent::ToolChoice;
use crate::model::chat::{Message, ProviderBlocks, Role, ToolCall};
use crate::providers::ToolOffer;
use crate::providers::mock::{self, Canned, Mock};

/// A provider `mine` of a kind in front of a mock.
async fn mine(kind: &str, more: Value, answers: Vec<Canned>) -> (Providers, Mock) {
    mine_with(kind, more, json!({}), answers).await
}

/// The same, with settings of the engine.
async fn mine_with(kind: &str, more: Value, settings: Value, answers: Vec<Canned>) -> (Providers, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    let mut mine = json!({"kind": kind, "base_url": wire.base_url, "credential": "secret:KEY", "max_retries": 0});
    mine.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let mut all = json!({"providers": {"mine": mine}, "secrets": {"KEY": "s3cret"}});
    all.as_object_mut().expect("an object").extend(settings.as_object().expect("an object").clone());
    let config = Config::with(all).expect("a configuration");
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    (Providers::new(&Arc::new(config), outbound, HostDoor::default()).unwrap_or_else(|problems| panic!("{problems:?}")), mock)
}

fn question(model: &str) -> ChatRequest {
    ChatRequest::new(model, vec![Message::text(Role::User, "hi")])
}

/// A request as it is fitted to its model, and the codes and parameters of the warnings.
fn fitted(providers: &Providers, mut request: ChatRequest) -> (ChatRequest, Vec<String>) {
    let id = "01a1faaf-fd00-7000-8000-000000000001".parse().expect("an id");
    let conversation = Conversation { tenant: "t", entity: id, thread: id };
    let warnings = providers.fit("mine", &mut request, &conversation, Timestamp(1_796_860_800_000));
    (request, warnings.into_iter().map(|warning| format!("{} {}", warning.code, warning.parameter.as_deref().unwrap_or("-"))).collect())
}

fn tool() -> ToolOffer {
    ToolOffer { name: "t".into(), description: "T".into(), input_schema: json!({"type": "object"}) }
}

/// The answer to thoughts that are sent back behind a changed beginning.
fn bound(kind: &str) -> Canned {
    let text = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set \
        `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";
    let body = match kind {
        "bedrock" => json!({ "message": text }),
        _ => json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}}),
    };
    Canned(400, &[], vec![body.to_string()])
}

#[tokio::test]
async fn thoughts_that_are_bound_to_another_beginning_are_left_out() {
    for (kind, more, family, blocks, good) in [
        (
            "anthropic",
            json!({}),
            "anthropic",
            json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Yes"}]),
            json!({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}),
        ),
        (
            "bedrock",
            json!({"region": "us-east-1"}),
            "bedrock",
            json!([{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}, {"text": "Yes"}]),
            json!({"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}),
        ),
    ] {
        let good = mock::whole(&good);
        let (providers, mock) = mine(kind, more, vec![bound(kind), good.clone(), good]).await;
        let said = |text: &str, value: Value| Message {
            blocks: Some(ProviderBlocks { family: family.into(), by: None, value }),
            ..Message::text(Role::Assistant, text)
        };
        let mut request = question("anthropic.claude-opus-5-5");
        request.messages.extend([said("Yes", blocks), Message::text(Role::User, "And?")]);
        let named = providers.get("mine").expect("a provider");
        let reply = named.chat(&request, &|_| {}).await.unwrap_or_else(|failure| panic!("{kind}: {}", failure.fault.message));
        let warnings: Vec<(&str, Option<&str>)> = reply.warnings.iter().map(|warning| (&*warning.code, warning.parameter.as_deref())).collect();
        assert_eq!((reply.message.content.as_str(), warnings), ("Hi", vec![("parameter_dropped", Some("thinking"))]), "{kind}");
        // The next request of the conversation is not refused first: what was left out stays out, what came after it stays in.
        let newer = match family {
            "bedrock" => json!([{"reasoningContent": {"reasoningText": {"text": "New.", "signature": "n"}}}, {"text": "Hi"}]),
            _ => json!([{"type": "thinking", "thinking": "New.", "signature": "n"}, {"type": "text", "text": "Hi"}]),
        };
        request.messages.extend([said("Hi", newer), Message::text(Role::User, "Go on")]);
        named.chat(&request, &|_| {}).await.unwrap_or_else(|failure| panic!("{kind}: {}", failure.fault.message));
        let seen: Vec<String> = mock.seen.lock().expect("seen").iter().map(|(_, body)| body["messages"].to_string()).collect();
        let thinks = |text: &str| ["thinking", "reasoningContent"].iter().any(|mark| text.contains(mark));
        assert_eq!(seen.iter().map(|body| thinks(body)).collect::<Vec<_>>(), [true, false, true], "{kind}: {seen:?}");
        assert!(!seen[2].contains("Hm.") && seen[2].contains("New.") && seen[1].contains("Yes"), "{kind}: {seen:?}");
    }
}

#[tokio::test]
async fn tools_of_gemini_stand_beside_functions_only_where_its_models_take_both() {
    let (providers, _) = mine("gemini", json!({}), Vec::new()).await;
    let asked = |model: &str, functions: bool| {
        let mut request = question(model);
        request.native_tools = vec!["web_search".into()];
        request.tools.extend(functions.then(tool));
        let (request, warnings) = fitted(&providers, request);
        (request.native_tools.len(), warnings)
    };
    assert_eq!(asked("gemini-2.5-flash", true), (0, vec!["parameter_dropped native_tools".to_owned()]));
    assert_eq!(asked("gemini-2.5-flash", false), (1, Vec::new()));
    assert_eq!(asked("gemini-3.5-flash", true), (1, Vec::new()));
}

#[tokio::test]
async fn who_always_thinks_is_not_forced_to_call() {
    for (kind, more, model) in [
        ("anthropic", json!({}), "claude-opus-5-5"),
        ("anthropic", json!({}), "claude-fable-5-1"),
        ("bedrock", json!({"region": "us-east-1"}), "us.anthropic.claude-sonnet-5-5"),
        ("vertex", json!({"project": "p", "location": "global"}), "claude-opus-5-5"),
        ("openrouter", json!({}), "anthropic/claude-opus-5.5"),
        ("openrouter", json!({}), "~anthropic/claude-fable-5.1"),
    ] {
        let (providers, _) = mine(kind, more, Vec::new()).await;
        let asked = |choice: ToolChoice| {
            let (request, warnings) = fitted(&providers, ChatRequest { tools: vec![tool()], tool_choice: Some(choice), ..question(model) });
            (request.tool_choice, warnings)
        };
        assert_eq!(asked(ToolChoice::Required), (None, vec!["parameter_dropped tool_choice".to_owned()]), "{kind} {model}");
        assert_eq!(asked(ToolChoice::Tool("t".into())), (None, vec!["parameter_dropped tool_choice".to_owned()]), "{kind} {model}");
        if kind != "bedrock" {
            assert_eq!(asked(ToolChoice::None), (Some(ToolChoice::None), Vec::new()), "{kind} {model}");
        }
    }
    let (providers, _) = mine("anthropic", json!({}), Vec::new()).await;
    let (request, warnings) =
        fitted(&providers, ChatRequest { tools: vec![tool()], tool_choice: Some(ToolChoice::Required), ..question("claude-opus-4-8") });
    assert_eq!((request.tool_choice, warnings), (Some(ToolChoice::Required), Vec::new()));
    // Others behind the same marketplace are, and those that think only when they are told to.
    let (providers, _) = mine("openrouter", json!({}), Vec::new()).await;
    let asked = |model: &str, effort: Option<&str>| {
        let mut request = ChatRequest { tools: vec![tool()], tool_choice: Some(ToolChoice::Required), ..question(model) };
        request.parameters.reasoning_effort = effort.map(str::to_owned);
        fitted(&providers, request).0.tool_choice
    };
    assert_eq!(asked("openai/gpt-5.2", Some("high")), Some(ToolChoice::Required));
    assert_eq!(asked("anthropic/claude-opus-4.8", None), Some(ToolChoice::Required));
    assert_eq!(asked("anthropic/claude-opus-4.8", Some("high")), None);
}

/// An answer of calls, with what its provider wrote itself, and the result.
fn called(family: &str, value: Value) -> [Message; 2] {
    let call = ToolCall { id: "c".into(), name: "t".into(), arguments: json!({}), invalid: None };
    let blocks = Some(ProviderBlocks { family: family.into(), by: None, value });
    [Message { tool_calls: vec![call], blocks, ..Message::text(Role::Assistant, "") }, mock::result("c", "done", false)]
}

/// A model that thinks by a budget thinks once in a turn, before its first call: the turn goes on as it began.
#[tokio::test]
async fn a_turn_that_began_with_a_thought_is_gone_on_with_in_the_same_way() {
    let signed = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    let (tool_use, calls) = (json!({"type": "tool_use", "id": "c", "name": "t", "input": {}}), json!({"toolUse": {"toolUseId": "c", "name": "t", "input": {}}}));
    let reasoned = json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}});
    let detail = json!({"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0});
    for (kind, more, model, family, thought, silent, thinks) in [
        ("anthropic", json!({}), "claude-sonnet-4-5", "anthropic", json!([signed, tool_use]), json!([tool_use]), "/thinking/budget_tokens"),
        (
            "bedrock",
            json!({"region": "us-east-1"}),
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "bedrock",
            json!([reasoned, calls]),
            json!([calls]),
            "/additionalModelRequestFields/thinking/budget_tokens",
        ),
        ("openrouter", json!({}), "anthropic/claude-haiku-4.5", "openai-chat", json!({"reasoning_details": [detail]}), json!({"x": 1}), "/reasoning_effort"),
    ] {
        let sent = async |messages: Vec<Message>| {
            let (providers, mock) = mine(kind, more.clone(), vec![Canned(500, &[], vec!["{}".into()])]).await;
            let mut request = ChatRequest { messages, tools: vec![tool()], ..question(model) };
            request.parameters.reasoning_effort = Some("high".into());
            let (request, warnings) = fitted(&providers, request);
            drop(providers.get("mine").expect("a provider").chat(&request, &|_| {}).await);
            let body = mock.seen.lock().expect("seen").remove(0).1;
            let others = warnings.into_iter().filter(|warning| !warning.starts_with("model_retired")).collect::<Vec<_>>();
            (body.pointer(thinks).is_some(), others)
        };
        let user = || vec![Message::text(Role::User, "hi")];
        let dropped = vec!["parameter_dropped reasoning_effort".to_owned()];
        let began = [user(), called(family, thought.clone()).into()].concat();
        assert_eq!(sent(began.clone()).await, (true, Vec::new()), "{kind}");
        let later = [began, called(family, silent.clone()).into(), called(family, silent.clone()).into()].concat();
        assert_eq!(sent(later.clone()).await, (true, Vec::new()), "{kind}: its later answers of the turn have no thought of their own");
        let other = [user(), called("other", json!([])).into()].concat();
        assert_eq!(sent(other.clone()).await, (false, dropped.clone()), "{kind}: another model began the turn");
        let went_on = [other, called(family, silent.clone()).into()].concat();
        assert_eq!(sent(went_on).await, (false, dropped.clone()), "{kind}: and this one went on with it");
        let next = [later, vec![Message::text(Role::Assistant, "Yes"), Message::text(Role::User, "And?")]].concat();
        assert_eq!(sent([next.clone(), called("other", json!([])).into()].concat()).await, (false, dropped), "{kind}: the turn before does not count");
        assert_eq!(sent(next).await, (true, Vec::new()), "{kind}: a new turn");
    }
}

/// A turn in which the model called two tools without a word, as it goes out, and what is marked in it by the texts of the marked parts.
async fn marked_by_openrouter(more: Value, model: &str, ttl: Value) -> (Value, Vec<String>) {
    let good = mock::whole(&json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}));
    let (providers, mock) = mine("openrouter", more, vec![good]).await;
    let mut request = ChatRequest { tools: vec![tool(), tool()], native_tools: vec!["web_search".into()], ..mock::rich() };
    (request.model, request.parameters) = (model.into(), serde_json::from_value(json!({ "cache_ttl": ttl })).expect("parameters"));
    request.messages.truncate(5);
    request.messages[0].content = "Be exact.".into();
    let (request, _) = fitted(&providers, request);
    providers.get("mine").expect("a provider").chat(&request, &|_| {}).await.expect("an answer");
    let body = mock.seen.lock().expect("seen").remove(0).1;
    let marked = |part: &Value| part.get("cache_control").map(|mark| format!("{} {mark}", part["text"].as_str().unwrap_or("tool")));
    let tools = body["tools"].as_array().expect("tools").iter().filter_map(marked);
    let parts = body["messages"].as_array().expect("messages").iter().filter_map(|message| message["content"].as_array()).flatten();
    let all = tools.chain(parts.filter_map(marked)).collect();
    (body, all)
}

#[tokio::test]
async fn models_of_anthropic_behind_openrouter_are_marked_where_each_of_their_hosts_takes_it() {
    // The first one is known to hear nothing: the sound is only named.
    let (named, text) = ("[The file audio.wav of type audio/wav cannot be shown to this model.]", "File text.plain:\ntext");
    for (model, ttl, mark, last) in [
        ("anthropic/claude-sonnet-5.5", json!("5m"), r#"{"type":"ephemeral"}"#, named),
        ("anthropic/claude-next-9:nitro", json!("1h"), r#"{"type":"ephemeral","ttl":"1h"}"#, text),
    ] {
        let (body, marked) = marked_by_openrouter(json!({}), model, ttl).await;
        // After the tools, after the instructions, after the results of the last turn, and where the request before it ended: the last text there.
        assert_eq!(marked, ["tool", "Be exact.", last, "not JSON"].map(|text| format!("{text} {mark}")), "{model} {body:#}");
        assert_eq!(body.get("cache_control"), None, "only some of their hosts take a mark of the whole");
        assert!(body["tools"][1].get("cache_control").is_some() && body["tools"][2]["type"] == "web_search", "{body:#}");
        assert_eq!((&body["messages"][2]["content"], &body["messages"][3]["content"]), (&Value::Null, &json!([{"type": "text", "text": "ok"}])));
    }
    for (more, model) in [
        (json!({"cache": "off"}), "anthropic/claude-sonnet-5.5"),
        (json!({"models": [{"id": "anthropic/claude-sonnet-5.5", "cache": "none"}]}), "anthropic/claude-sonnet-5.5"),
        (json!({}), "openai/gpt-5.2"),
    ] {
        let (body, marked) = marked_by_openrouter(more, model, json!("5m")).await;
        assert!(marked.is_empty() && !body.to_string().contains("cache_control") && body["messages"][0]["content"] == "Be exact.", "{model} {body:#}");
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_with_less_counts_at_the_limits_of_the_provider() {
    let anthropic = mock::whole(&json!({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}));
    let chat = mock::whole(&json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}));
    let refused = |text: &str| Canned(400, &[], vec![json!({"error": {"message": text}}).to_string()]);
    let paused = mock::whole(&json!({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "pause_turn"}));
    for (name, kind, answers) in [
        ("thoughts", "anthropic", vec![bound("anthropic"), anthropic.clone(), anthropic.clone()]),
        ("a pause", "anthropic", vec![paused, anthropic.clone(), anthropic]),
        ("a stream", "openai-compatible", vec![refused("Your organization must be verified to stream this model."), chat.clone(), chat]),
    ] {
        let limits = json!({"limits": {"requests_per_minute": 3}});
        let (providers, mock) = mine_with(kind, limits, json!({"limits": {"provider_wait_ms": 30}}), answers).await;
        let mut request = question("claude-opus-5-5");
        request.stream = name == "a stream";
        let value = json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes"}]);
        let blocks = Some(ProviderBlocks { family: "anthropic".into(), by: None, value });
        request.messages.extend([Message { blocks, ..Message::text(Role::Assistant, "Yes") }, Message::text(Role::User, "And?")]);
        let named = providers.get("mine").expect("a provider");
        named.chat(&request, &|_| {}).await.unwrap_or_else(|failure| panic!("{name}: {}", failure.fault.message));
        assert_eq!(mock.seen.lock().expect("seen").len(), 2, "{name}");
        named.chat(&question("m"), &|_| {}).await.unwrap_or_else(|failure| panic!("{name}: {}", failure.fault.message));
        let full = named.chat(&question("m"), &|_| {}).await.expect_err("three requests were made");
        assert_eq!((full.fault.code, mock.seen.lock().expect("seen").len()), (FaultCode::ProviderRateLimited, 3), "{name}: {}", full.fault.message);
    }
}

/// A stream of events that is whole.
fn streamed(frames: &[Value]) -> Canned {
    mock::events(frames)
}

#[tokio::test]
async fn nothing_is_asked_again_once_some_of_an_answer_came() {
    let text = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let begin = || {
        vec![
            json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 40, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            text("Once upon"),
        ]
    };
    let error = |message: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    let stop = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}});
    let paused = streamed(&[begin(), vec![stop("pause_turn"), json!({"type": "message_stop"})]].concat());
    let good = || streamed(&[begin(), vec![stop("end_turn"), json!({"type": "message_stop"})]].concat());
    let broken = |message: &str| streamed(&[begin(), vec![error(message)]].concat());
    for (name, answers, asked, tokens) in [
        ("a stream", vec![broken("streaming is not supported"), good()], 1, (40, 1)),
        ("a summary", vec![broken("adaptive.display is not allowed"), good()], 1, (40, 1)),
        ("thoughts", vec![broken("Invalid `signature` in `thinking` block"), good()], 1, (40, 1)),
        ("thoughts after a pause", vec![paused, bound("anthropic"), good()], 2, (40, 7)),
    ] {
        let (providers, mock) = mine("anthropic", json!({}), answers).await;
        let mut request = question("claude-opus-5-5");
        request.stream = true;
        let value = json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes"}]);
        let blocks = Some(ProviderBlocks { family: "anthropic".into(), by: None, value });
        request.messages.extend([Message { blocks, ..Message::text(Role::Assistant, "Yes") }, Message::text(Role::User, "And?")]);
        let told = crate::sync::Mutex::new(String::new());
        let hear = |delta: super::super::Delta| {
            if let super::super::Delta::Text(text) = delta {
                told.lock().push_str(&text);
            }
        };
        let answer = providers.get("mine").expect("a provider").chat(&request, &hear).await;
        assert_eq!((told.lock().as_str(), mock.seen.lock().expect("seen").len()), ("Once upon", asked), "{name}");
        let failure = answer.expect_err(name);
        assert_eq!(failure.tokens.map(|tokens| (tokens.prompt, tokens.completion)), Some(tokens), "{name}");
        assert_eq!((failure.fault.code, failure.cut), (FaultCode::ProviderBadRequest, true), "{name}: {}", failure.fault.message);
    }
}

#[tokio::test]
async fn a_model_that_streams_no_calls_is_asked_for_the_whole() {
    let refused = Canned(400, &[("x-amzn-errortype", "ValidationException")], vec![json!({"message": "This model doesn't support tool use in streaming mode."}).to_string()]);
    let good = mock::whole(&json!({"output": {"message": {"content": [{"toolUse": {"toolUseId": "t1", "name": "t", "input": {}}}]}}, "stopReason": "tool_use"}));
    let (providers, mock) = mine("bedrock", json!({"region": "us-east-1"}), vec![refused, good]).await;
    let request = ChatRequest { tools: vec![tool()], stream: true, ..question("arn:aws:bedrock:us-east-1:1:inference-profile/own") };
    let reply = providers.get("mine").expect("a provider").chat(&request, &|_| {}).await.unwrap_or_else(|failure| panic!("{}", failure.fault.message));
    let paths: Vec<bool> = mock.seen.lock().expect("seen").iter().map(|(path, _)| path.contains("/converse-stream")).collect();
    assert_eq!((reply.message.tool_calls.len(), paths), (1, vec![true, false]));
    assert_eq!(reply.warnings.iter().map(|warning| &*warning.code).collect::<Vec<_>>(), ["parameter_changed"]);
}

#[tokio::test]
async fn a_provider_that_takes_no_strict_schemas_is_sent_none() {
    for (kind, more, model, strict) in [
        ("openai-responses", json!({}), "gpt-5.2", "/text/format/strict"),
        ("openai", json!({}), "gpt-5.2", "/response_format/json_schema/strict"),
        ("anthropic", json!({}), "claude-sonnet-4-5", "/output_config/format"),
        ("bedrock", json!({"region": "us-east-1"}), "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "/outputConfig/textFormat"),
    ] {
        for takes in [true, false] {
            let mut more = more.clone();
            more["quirks"] = json!({"strict_schemas": takes});
            let (providers, mock) = mine(kind, more, vec![Canned(500, &[], vec!["{}".into()])]).await;
            let (request, warnings) = fitted(&providers, ChatRequest { schema: Some(mock::schema()), ..question(model) });
            drop(providers.get("mine").expect("a provider").chat(&request, &|_| {}).await);
            let body = mock.seen.lock().expect("seen").remove(0).1;
            let is_strict = body.pointer(strict).is_some_and(|strict| *strict != false);
            assert_eq!((is_strict, warnings.iter().any(|one| one.starts_with("schema_weakened"))), (takes, false), "{kind} {takes}: {body}");
            assert!(takes || body.to_string().contains("additionalProperties"), "the schema is sent in another way: {body}");
        }
    }
}

#[tokio::test]
async fn a_schema_is_weakened_only_where_it_is_sent_to_a_strict_mode() {
    let open = json!({"type": "object", "additionalProperties": true, "properties": {"a": {"type": "string"}}});
    for (kind, more, model, wanted) in [
        ("vertex", json!({"project": "p", "location": "global"}), "gemini-3-flash-preview", Vec::new()),
        ("gemini", json!({}), "gemini-3-flash-preview", Vec::new()),
        ("anthropic", json!({}), "claude-sonnet-4-5", vec!["schema_weakened schema".to_owned()]),
    ] {
        let (providers, _) = mine(kind, more, Vec::new()).await;
        let (_, warnings) = fitted(&providers, ChatRequest { schema: Some(open.clone()), ..question(model) });
        let warnings: Vec<_> = warnings.into_iter().filter(|one| !one.starts_with("model_retired")).collect();
        assert_eq!(warnings, wanted, "{kind}");
    }
}

/// A conversation in which another model called tools goes on with one that has none.
#[tokio::test]
async fn a_model_without_tools_reads_earlier_calls_as_text() {
    let bedrock = mock::whole(&json!({"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"}));
    let chat = mock::whole(&json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}));
    let blocks = mock::whole(&json!({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}));
    let plain = json!({"models": [{"id": "plain", "tools": false}]});
    for (kind, more, model, own, good) in [
        ("bedrock", json!({"region": "us-east-1"}), "meta.llama3-3-70b-instruct-v1:0", json!({"toolUse": {"toolUseId": "c1"}}), bedrock),
        ("openai-compatible", plain.clone(), "plain", json!({"reasoning_content": "Hm."}), chat),
        ("anthropic", plain, "plain", json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "tool_use", "id": "c1"}]), blocks),
    ] {
        let (providers, mock) = mine(kind, more, vec![good]).await;
        for offered in [true, false] {
            let mut request = question(model);
            request.tools.extend(offered.then(tool));
            let call = |id: &str| ToolCall { id: id.into(), name: "weather".into(), arguments: json!({"city": "Paris"}), invalid: None };
            let family = if kind == "openai-compatible" { "openai-chat" } else { kind };
            let own = ProviderBlocks { family: family.into(), by: None, value: own.clone() };
            let asks = Message { tool_calls: vec![call("c1"), call("c2")], blocks: Some(own), ..Message::text(Role::Assistant, "I look.") };
            request.messages.extend([asks, mock::result("c1", "mild", false), mock::result("c2", "no answer", true)]);
            let (request, warnings) = fitted(&providers, request);
            assert_eq!(warnings.contains(&"parameter_dropped tools".to_owned()), offered, "{kind}: {warnings:?}");
            if !offered {
                providers.get("mine").expect("a provider").chat(&request, &|_| {}).await.expect("an answer");
            }
        }
        let body = mock.seen.lock().expect("seen").remove(0).1;
        let told = body["messages"].to_string();
        for word in ["tool_calls", "\"tool\"", "toolUse", "toolResult", "toolConfig", "tool_use", "tool_result", "\"tools\"", "Hm."] {
            assert!(!body.to_string().contains(word), "{kind} is sent `{word}`: {body}");
        }
        for word in ["I look.", "weather", "Paris", "mild", "no answer"] {
            assert!(told.contains(word), "{kind} is not told `{word}`: {told}");
        }
        let roles: Vec<&str> = body["messages"].as_array().expect("messages").iter().filter_map(|one| one["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{kind}: {told}");
    }
}
