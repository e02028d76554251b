//! Scripted conversations with aimock (npm `@copilotkit/aimock`). What it does not speak as the real provider does is left out, with the reason.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::peers::{Peer, Talk, address, line};

/// Every family that it speaks.
pub const PEERS: [Peer; 7] = [
    Peer("openai", "gpt-4o", "/v1"),
    Peer("openai-responses", "gpt-5-mini", "/v1"),
    Peer("anthropic", "claude-haiku-5-5", ""),
    Peer("gemini", "gemini-3.5-flash", ""),
    Peer("ollama", "qwen3", ""),
    Peer("cohere", "command-a", ""),
    Peer("azure-openai", "gpt-4o", ""),
];

/// Holds a conversation with each family, whole and streamed: all must go the same way.
async fn each(peers: &[Peer], question: &str, hold: impl AsyncFn(Talk) -> String, wanted: Expect) {
    let address = address("STUDIO_AIMOCK_URL");
    let mut first = None;
    for peer in peers {
        for stream in [false, true] {
            let told = hold(Talk::new(*peer, &address, stream, question)).await;
            assert_eq!(first.get_or_insert_with(|| told.clone()), &told, "{} {stream}", peer.0);
        }
    }
    wanted.assert_eq(&first.unwrap_or_default());
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_question_is_answered() {
    let hold = async |mut talk: Talk| line(&talk.ask().await);
    each(&PEERS, "Say hello plainly", hold, expect![[r#"Stop "Hello there, friend.""#]]).await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn two_tools_are_called_at_once() {
    let hold = async |talk: Talk| {
        let mut talk = talk.offer("weather");
        let called = line(&talk.ask().await);
        talk.answer(|call| format!("{} degrees in {}", if call.arguments["city"] == "Rome" { 25 } else { 18 }, call.arguments["city"]));
        format!("{called}\n{}", line(&talk.ask().await))
    };
    each(
        &PEERS,
        "Compare Paris and Rome",
        hold,
        expect![[r#"
        ToolCalls "" weather{"city":"Paris"} weather{"city":"Rome"}
        Stop "Rome is warmer.""#]],
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn tools_are_called_turn_after_turn() {
    let hold = async |talk: Talk| {
        let mut talk = talk.offer("search").offer("book").offer("confirm");
        let mut told = Vec::new();
        for result in ["found 7", "booked 7", "confirmed 7"] {
            told.push(line(&talk.ask().await));
            talk.answer(|_| result.to_owned());
        }
        told.push(line(&talk.ask().await));
        told.join("\n")
    };
    each(
        &PEERS,
        "Plan a trip",
        hold,
        expect![[r#"
        ToolCalls "" search{"city":"Oslo"}
        ToolCalls "" book{"city":"Oslo"}
        ToolCalls "" confirm{"city":"Oslo"}
        Stop "All is set.""#]],
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn structured_answers_are_repaired() {
    let hold = async |mut talk: Talk| {
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false});
        talk.request.schema = Some(schema);
        let wrong = talk.ask().await.structured;
        talk.say("Your answer does not fit the JSON Schema");
        let right = talk.ask().await.structured;
        format!("{} {}", json!(wrong), json!(right))
    };
    each(&PEERS, "Name a city as JSON", hold, expect![[r#"{"city":5} {"city":"Paris"}"#]]).await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_long_history_is_taken() {
    let hold = async |mut talk: Talk| {
        for _ in 0..20 {
            talk.ask().await;
            talk.say("Go on");
        }
        line(&talk.ask().await)
    };
    each(&PEERS, "Say hello plainly", hold, expect![[r#"Stop "And on.""#]]).await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn files_are_shown() {
    let hold = async |talk: Talk| {
        let mut talk = talk.show("image/png", b"\x89PNG\r\n\x1a\n").show("application/pdf", b"%PDF-1.7").show("text/plain", b"notes");
        line(&talk.ask().await)
    };
    each(&PEERS, "What is in the picture", hold, expect![[r#"Stop "A cat on a mat.""#]]).await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn reasoning_is_heard_and_goes_back() {
    // It gives the reasoning of Ollama and Cohere under other names than they do.
    let hold = async |mut talk: Talk| {
        let first = talk.ask().await;
        let thoughts = if talk.request.stream { talk.thoughts.clone() } else { "Hm, hm.".into() };
        talk.say("Go on");
        format!("{thoughts} {}\n{}", line(&first), line(&talk.ask().await))
    };
    each(
        &PEERS[..4],
        "Think about it",
        hold,
        expect![[r#"
        Hm, hm. Stop "Forty-two."
        Stop "And on.""#]],
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn reported_tokens_are_counted() {
    // For Ollama and Cohere it always reports 0.
    let hold = async |mut talk: Talk| {
        let tokens = talk.ask().await.tokens.expect("a report");
        format!("{} {}", tokens.prompt, tokens.completion)
    };
    each(&PEERS[..4], "Count the tokens", hold, expect!["12 5"]).await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn cached_tokens_are_counted() {
    let hold = async |mut talk: Talk| format!("{:?}", talk.ask().await.tokens);
    let router = [Peer("openrouter", "openai/gpt-4o", "/api/v1")];
    each(
        &router,
        "Count the cached tokens",
        hold,
        expect!["Some(Tokens { prompt: 100, completion: 9, cached: 80, cache_write: 4, cache_write_1h: 0, reasoning: 3 })"],
    )
    .await;
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn texts_become_vectors() {
    let address = address("STUDIO_AIMOCK_URL");
    // It embeds one text at a time for Gemini, and answers Ollama's path in an older form.
    for (at, count) in [(0, 2), (1, 2), (3, 1), (5, 2)] {
        let found = PEERS[at].embed(&address, &["one", "two"][..count]).await;
        let found = found.unwrap_or_else(|failure| panic!("{}: {:?}", PEERS[at].0, failure.fault));
        assert_eq!(found.vectors.len(), count, "{}", PEERS[at].0);
        assert!(found.vectors.iter().all(|vector| vector.len() > 8), "{}", PEERS[at].0);
    }
}
