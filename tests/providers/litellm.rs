//! The LiteLLM proxy (PyPI `litellm`) in front of the llama.cpp server: what a gateway makes of a real model in each interface.

use wfstudio::model::event::FaultCode;

use crate::peers::{Peer, Talk, address};

/// Every family that it translates into.
const PEERS: [Peer; 4] = [
    Peer("local", "random", "/v1"),
    Peer("openai-responses", "random", "/v1"),
    Peer("anthropic", "random", ""),
    Peer("gemini", "random", ""),
];

async fn each(question: &str, hold: impl AsyncFn(Peer, Talk)) {
    let address = address("STUDIO_LITELLM_URL");
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
        let reply = talk.ask().await;
        assert!(!reply.message.content.is_empty(), "{} {}", peer.0, talk.request.stream);
        // It has no count for Gemini's streams: it reports nothing but zeros, which is no report. Elsewhere it allows 16 tokens at least.
        let counted = reply.tokens.is_some_and(|tokens| tokens.prompt > 10 && (1..=16).contains(&tokens.completion));
        let uncounted = peer.0 == "gemini" && talk.request.stream && reply.tokens.is_none();
        assert!(counted || uncounted, "{} {}: {:?}", peer.0, talk.request.stream, reply.tokens);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_conversation_with_calls_and_results_is_taken() {
    each("What is the weather", async |peer, talk| {
        let mut talk = talk.offer("weather").called(&["weather"]);
        talk.answer(|_| "18 degrees".into());
        assert!(!talk.ask().await.message.content.is_empty(), "{} {}", peer.0, talk.request.stream);
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn too_much_is_told_as_such() {
    let long = "all of it ".repeat(3000);
    each(&long, async |peer, mut talk| {
        let failure = talk.try_ask().await.expect_err("it is too long");
        assert_eq!(failure.fault.code, FaultCode::ContextOverflow, "{} {}: {}", peer.0, talk.request.stream, failure.fault.message);
    })
    .await;
}
