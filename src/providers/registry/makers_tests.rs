//! Owns tests of requests as the makers of models document them: what is taken out, added and asked for once more.

use serde_json::{Value, json};

use super::*;
use crate::clock::SystemClock;
use crate::model::chat::{Message, ProviderBlocks, Role};
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
