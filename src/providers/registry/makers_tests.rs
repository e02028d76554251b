//! Owns tests of requests as the makers of models document them: what is taken out, added and asked for once more.

use serde_json::{Value, json};

use super::*;
use crate::clock::SystemClock;
use crate::model::agent::ToolChoice;
use crate::model::chat::{Message, ProviderBlocks, Role};
use crate::providers::ToolOffer;
use crate::providers::mock::{self, Canned, Mock};

/// A provider `mine` of a kind in front of a mock.
async fn mine(kind: &str, more: Value, answers: Vec<Canned>) -> (Providers, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    let mut mine = json!({"kind": kind, "base_url": wire.base_url, "credential": "secret:KEY", "max_retries": 0});
    mine.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let config = Config::with(json!({"providers": {"mine": mine}, "secrets": {"KEY": "s3cret"}})).expect("a configuration");
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
}
