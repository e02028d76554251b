//! Faults and tools with llmock (PyPI `llmock`), which also judges how its client behaved.

use serde_json::{Value, json};
use wfstudio::model::event::FaultCode;
use wfstudio::providers::Finish;
use tokio::sync::{Mutex, MutexGuard};

use crate::peers::{Peer, Talk, address, control};

/// Every family that it speaks, and speakers of OpenAI's with their own differences.
const PEERS: [Peer; 8] = [
    Peer("openai", "gpt-4o", "/v1"),
    Peer("openai-responses", "gpt-5-mini", "/v1"),
    Peer("anthropic", "claude-haiku-5-5", "/anthropic"),
    Peer("gemini", "gemini-2.5-pro", "/gemini"),
    Peer("cohere", "command-a", "/cohere"),
    Peer("mistral", "mistral-large-latest", "/mistral/v1"),
    Peer("groq", "llama-3.3-70b-versatile", "/groq/openai/v1"),
    Peer("xai", "grok-4", "/xai/v1"),
];

/// What it is told to do next hits whoever asks next, so one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

async fn alone() -> (MutexGuard<'static, ()>, String) {
    let guard = ALONE.lock().await;
    let address = address("STUDIO_LLMOCK_URL");
    control(&address, "POST", "/_llmock/reset", &json!({}));
    (guard, address)
}

fn next(address: &str, behaviour: &Value) {
    control(address, "POST", "/_llmock/scenario", &json!({"behaviors": [behaviour]}));
}

/// It found nothing wrong with us.
fn judged(address: &str) {
    let verdict = control(address, "GET", "/_llmock/verdict", &json!({}));
    assert_eq!((&verdict["passed"], &verdict["findings"]), (&json!(true), &json!([])), "{verdict:#}");
    assert!(verdict["calls"].as_u64() > Some(0), "{verdict:#}");
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_question_is_answered_with_a_usage_report() {
    let (_alone, address) = alone().await;
    for peer in PEERS {
        for stream in [false, true] {
            let mut talk = Talk::new(peer, &address, stream, "Tell me something");
            talk.request.parameters.max_tokens = Some(100);
            let reply = talk.ask().await;
            assert!(!reply.message.content.is_empty(), "{}", peer.0);
            // Mistral reports without being asked; it does so only when asked.
            let reported = reply.tokens.is_some_and(|tokens| tokens.prompt > 0 && tokens.completion > 0);
            assert!(reported || (peer.0 == "mistral" && stream), "{} {stream}: {:?}", peer.0, reply.tokens);
        }
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn an_offered_tool_is_called_and_its_result_taken() {
    let (_alone, address) = alone().await;
    for peer in PEERS {
        for stream in [false, true] {
            let mut talk = Talk::new(peer, &address, stream, "Is it raining in the city?").offer("weather");
            let reply = talk.ask().await;
            assert_eq!(reply.finish, Finish::ToolCalls, "{} {stream}", peer.0);
            let call = &reply.message.tool_calls[0];
            assert_eq!((call.name.as_str(), call.invalid.as_ref()), ("weather", None), "{} {stream}", peer.0);
            talk.answer(|_| "dry".into());
            let reply = talk.ask().await;
            assert!(reply.message.tool_calls.is_empty() && !reply.message.content.is_empty(), "{} {stream}", peer.0);
        }
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_call_that_the_model_spoilt_is_told_to_it() {
    let (_alone, address) = alone().await;
    for peer in PEERS {
        // Arguments are objects on Gemini's wire, so they cannot be spoilt.
        if peer.0 == "gemini" {
            continue;
        }
        next(&address, &json!({"type": "tool_fault", "kind": "malformed_arguments"}));
        let mut talk = Talk::new(peer, &address, true, "Is it snowing in the city?").offer("weather");
        let reply = talk.ask().await;
        assert!(reply.message.tool_calls[0].invalid.is_some(), "{}: {:?}", peer.0, reply.message.tool_calls);
        talk.answer(|call| call.invalid.clone().unwrap_or_default());
        assert!(!talk.ask().await.message.content.is_empty(), "{}", peer.0);
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn structured_answers_fit_where_the_schema_is_native() {
    let (_alone, address) = alone().await;
    for peer in [PEERS[0], PEERS[1], PEERS[3], PEERS[5]] {
        let mut talk = Talk::new(peer, &address, true, "Name a city");
        talk.request.schema = Some(
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}),
        );
        let reply = talk.ask().await;
        assert!(reply.structured.is_some_and(|value| value["city"].is_string()), "{}: {}", peer.0, reply.message.content);
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn a_busy_provider_is_asked_again_when_it_said() {
    let (_alone, address) = alone().await;
    for peer in PEERS {
        for status in [429, 503] {
            next(&address, &json!({"type": "fail", "status": status, "retry_after": 0.3, "times": 2}));
            let mut talk = Talk::new(peer, &address, true, &format!("Are you there, {status}?"));
            assert!(!talk.ask().await.message.content.is_empty(), "{} {status}", peer.0);
        }
    }
    judged(&address);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn what_goes_wrong_has_its_code() {
    let (_alone, address) = alone().await;
    let table = [
        (json!({"type": "fail", "status": 401}), FaultCode::ProviderAuth),
        (json!({"type": "fail", "status": 400}), FaultCode::ProviderBadRequest),
        (json!({"type": "fail", "status": 404}), FaultCode::ProviderBadRequest),
        (json!({"type": "fail", "status": 429, "retry_after": 0.1, "times": 3}), FaultCode::ProviderRateLimited),
        (json!({"type": "fail", "status": 500, "retry_after": 0.1, "times": 3}), FaultCode::ProviderUnavailable),
        (json!({"type": "stream_fault", "kind": "truncate", "after_chunks": 2}), FaultCode::ProviderProtocol),
        (json!({"type": "stream_fault", "kind": "disconnect", "after_chunks": 2}), FaultCode::ProviderProtocol),
        (json!({"type": "stream_fault", "kind": "stall", "after_chunks": 2}), FaultCode::ProviderTimeout),
    ];
    for peer in PEERS {
        for (at, (behaviour, code)) in table.iter().enumerate() {
            let before = requests(&address);
            next(&address, behaviour);
            let question = format!("Tell me a long story about number {at}");
            let mut talk = Talk::new(peer, &address, true, &question);
            if *code == FaultCode::ProviderTimeout {
                talk.impatient(&address);
            }
            let answer = talk.try_ask().await;
            talk.patient(&address);
            match answer {
                Ok(reply) => panic!("{} accepted {behaviour}: {:?}", peer.0, reply.message),
                Err(failure) => assert_eq!(failure.fault.code, *code, "{} {behaviour}: {}", peer.0, failure.fault.message),
            }
            // Only who saw the failure asks again, as a node with retries does; without any it is said that nobody noticed.
            if behaviour["type"] == "stream_fault" {
                ended(&address, before + 1).await;
                assert!(!talk.ask().await.message.content.is_empty(), "{} {behaviour}", peer.0);
            }
        }
    }
    judged(&address);
}

/// How many requests it has seen end. It waits for those that are under way, so connections need a thread beside that of the test.
fn requests(address: &str) -> usize {
    control(address, "GET", "/_llmock/requests", &json!({}))["requests"].as_array().map_or(0, Vec::len)
}

/// Waits until it has seen this many end: who asks again before that is taken for somebody else.
async fn ended(address: &str, count: usize) {
    let patience = std::time::Instant::now();
    while requests(address) < count {
        assert!(patience.elapsed().as_secs() < 30, "it never saw that nobody listens any more");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn nobody_listens_to_the_rest_of_a_malformed_answer() {
    let address = address("STUDIO_SLOW_LLMOCK_URL");
    for peer in PEERS {
        let before = requests(&address);
        next(&address, &json!({"type": "stream_fault", "kind": "malformed", "after_chunks": 2}));
        let mut talk = Talk::new(peer, &address, true, "Tell me a long story");
        let failure = talk.try_ask().await.expect_err("a malformed answer");
        assert_eq!(failure.fault.code, FaultCode::ProviderProtocol, "{}: {}", peer.0, failure.fault.message);
        ended(&address, before + 1).await;
        assert!(!talk.ask().await.message.content.is_empty(), "{}", peer.0);
        ended(&address, before + 2).await;
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn pictures_and_long_histories_are_taken() {
    let (_alone, address) = alone().await;
    for peer in PEERS {
        let mut talk = Talk::new(peer, &address, true, "What is in the picture?").show("image/png", b"\x89PNG\r\n\x1a\n");
        for turn in 0..20 {
            assert!(!talk.ask().await.message.content.is_empty(), "{} {turn}", peer.0);
            talk.say("And then?");
        }
    }
    judged(&address);
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn texts_become_vectors() {
    let (_alone, address) = alone().await;
    let found = PEERS[0].embed(&address, &["one", "two"]).await.unwrap_or_else(|failure| panic!("{:?}", failure.fault));
    assert_eq!(found.vectors.iter().map(Vec::len).collect::<Vec<_>>(), [1536, 1536]);
}
