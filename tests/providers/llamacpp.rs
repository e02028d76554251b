//! The llama.cpp server (PyPI `xllamacpp`) with a small model of random weights: the words mean nothing, the protocol and the counts are real.

use serde_json::json;
use wfstudio::model::chat::Tokens;
use wfstudio::model::event::FaultCode;
use wfstudio::providers::Finish;

use crate::peers::{Peer, Talk, address, shape};

/// Every family that it serves.
const PEERS: [Peer; 3] = [
    Peer("local", "random", "/v1"),
    Peer("openai-responses", "random", "/v1"),
    Peer("anthropic", "random", ""),
];

/// Its streams of Anthropic's form now and then lack their first event, which alone tells what was read: then nothing is told of it.
fn startless(peer: Peer, talk: &Talk, tokens: Tokens) -> bool {
    peer.0 == "anthropic" && talk.request.stream && tokens.prompt == 0 && tokens.cached == 0
}

/// A short conversation with each, streamed and whole.
async fn each(question: &str, hold: impl AsyncFn(Peer, Talk)) {
    let address = address("STUDIO_LLAMACPP_URL");
    for peer in PEERS {
        for stream in [true, false] {
            let mut talk = Talk::new(peer, &address, stream, question);
            talk.request.parameters.max_tokens = Some(12);
            hold(peer, talk).await;
        }
    }
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_question_is_answered_with_a_usage_report() {
    each("Say something", async |peer, mut talk| {
        let mut cut = false;
        // Random weights may end an answer with exactly its last token, but not three times in a row.
        for _ in 0..3 {
            let reply = talk.ask().await;
            assert!(!reply.message.content.is_empty(), "{}", peer.0);
            let tokens = reply.tokens.expect("a report");
            assert!(tokens.prompt > 10 || startless(peer, &talk, tokens), "{}: {tokens:?}", peer.0);
            assert!((1..=12).contains(&tokens.completion), "{}: {tokens:?}", peer.0);
            cut = tokens.completion < 12 || reply.finish == Finish::Length || peer.0 == "openai-responses";
            if cut {
                break;
            }
            talk.request.messages.pop();
        }
        assert!(cut, "{}: twelve tokens, and not `length`", peer.0);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn what_was_read_before_is_counted_as_cached() {
    each("Say the same again", async |peer, mut talk| {
        let first = talk.try_ask().await.expect("an answer").tokens.expect("a report");
        let again = talk.try_ask().await.expect("an answer").tokens.expect("a report");
        let counted = first.prompt == again.prompt && again.cached > 0 && again.cached <= again.prompt;
        let told = !startless(peer, &talk, first) && !startless(peer, &talk, again);
        assert!(counted || !told, "{}: the cached part belongs to the prompt: {first:?} {again:?}", peer.0);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_conversation_with_calls_and_results_is_taken() {
    each("What is the weather", async |peer, talk| {
        let mut talk = talk.offer("weather").called(&["weather", "weather"]);
        talk.answer(|_| "18 degrees".into());
        assert!(!talk.ask().await.message.content.is_empty(), "{}", peer.0);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_long_history_is_read_to_its_end() {
    each("Begin", async |peer, mut talk| {
        let mut before = 0;
        for turn in 0..12 {
            let tokens = talk.ask().await.tokens.expect("a report");
            assert!(tokens.prompt > before || startless(peer, &talk, tokens), "{} {turn}: {tokens:?}", peer.0);
            before = before.max(tokens.prompt);
            talk.say("Go on");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_native_schema_is_kept() {
    // It knows no schema in its other two interfaces.
    let address = address("STUDIO_LLAMACPP_URL");
    for stream in [true, false] {
        let mut talk = Talk::new(PEERS[0], &address, stream, "Name a city");
        talk.request.schema = Some(shape());
        let reply = talk.ask().await;
        assert!(reply.structured.is_some_and(|value| ["Paris", "Rome"].iter().any(|city| value == json!({"city": city}))), "{}", reply.message.content);
    }
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn too_much_is_told_as_such() {
    let long = "all of it ".repeat(3000);
    each(&long, async |peer, mut talk| {
        let failure = talk.try_ask().await.expect_err("it is too long");
        assert_eq!(failure.fault.code, FaultCode::ContextOverflow, "{}: {}", peer.0, failure.fault.message);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_picture_that_it_cannot_see_is_refused() {
    each("What is in the picture", async |peer, talk| {
        let mut talk = talk.show("image/png", b"\x89PNG\r\n\x1a\n");
        let failure = talk.try_ask().await.expect_err("it sees nothing");
        assert!(matches!(failure.fault.code, FaultCode::ProviderUnavailable | FaultCode::ProviderBadRequest), "{}: {:?}", peer.0, failure.fault);
        assert!(failure.fault.message.contains("image"), "{}: {}", peer.0, failure.fault.message);
    })
    .await;
}
