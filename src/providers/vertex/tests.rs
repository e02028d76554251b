//! Tests with tokens as <https://developers.google.com/identity/protocols/oauth2/service-account> shows them and requests as
//! <https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference> and <https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai> do.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::account::Account;
use super::token::Tokens;
use super::*;
use crate::clock::{Clock, SystemClock};
use crate::config::Secret;
use crate::model::hex::hex;
use crate::model::{Id, Timestamp};
use crate::providers::mock::{self, Canned, Mock, answer_text, events, hello, rich, whole};
use crate::providers::http_client::Outbound;
use crate::sync::Mutex;

const KEY: &str = include_str!("test-key.pem");

fn account(change: impl FnOnce(&mut Value)) -> Secret {
    let mut account = json!({"type": "service_account", "project_id": "p", "private_key_id": "k1", "private_key": KEY,
        "client_email": "robot@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token"});
    change(&mut account);
    Secret(account.to_string().into())
}

/// A clock that stands until it is moved.
struct Standing(Mutex<i64>, SystemClock);

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp(*self.0.lock())
    }
    fn id(&self) -> Id {
        self.1.id()
    }
    fn random(&self, into: &mut [u8]) {
        self.1.random(into);
    }
}

fn outbound() -> (Arc<Standing>, Arc<Outbound>) {
    let clock = Arc::new(Standing(Mutex::new(1_700_000_000_000), SystemClock::default()));
    (Arc::clone(&clock), Arc::new(Outbound::direct(clock)))
}

fn granted(token: &str) -> Canned {
    whole(&json!({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}))
}

/// The same that OpenSSL signs with the key.
#[test]
fn a_question_for_a_token_is_signed_with_the_accounts_key() {
    let account = Account::read(&account(|_| {}).0).expect("an account");
    let url = account.token_url(None).expect("a URL");
    let question = account.question(&url, Timestamp(1_700_000_000_999)).expect("a question");
    assert_eq!(hex(&Sha256::digest(question)), "d228bc961d1ca5dcf3153886b2f78d271ef5c269fac03e6dd8a01331f881f868");
}

#[test]
fn only_googles_own_servers_are_asked_for_tokens() {
    let url = |uri: Value| Account::read(&account(|account| account["token_uri"] = uri).0).expect("an account").token_url(None);
    assert_eq!(url(Value::Null).as_deref(), Ok("https://oauth2.googleapis.com/token"));
    assert_eq!(url(json!("https://sts.googleapis.com/v1/token")).as_deref(), Ok("https://sts.googleapis.com/v1/token"));
    for odd in [
        "http://oauth2.googleapis.com/token",
        "https://169.254.169.254/token",
        "https://127.0.0.1/token",
        "https://localhost/token",
        "https://evil.example/token",
        "https://googleapis.com.evil.example/token",
        "https://evilgoogleapis.com/token",
        "https://user@oauth2.googleapis.com/token",
        "https://oauth2.googleapis.com:8443/token",
        "file:///etc/passwd",
        "",
    ] {
        assert!(url(json!(odd)).is_err_and(|why| why.contains("token_url")), "{odd}");
    }
}

#[tokio::test]
async fn a_hundred_calls_ask_for_one_token_and_it_is_renewed_before_its_end() {
    let (wire, mock) = mock::start("", vec![granted("one"), granted("two")]).await;
    let (clock, outbound) = outbound();
    let (tokens, account, url) = (Tokens::default(), account(|_| {}), format!("{}/token", wire.base_url));
    let get = || async { tokens.get(&account, Some(&url), &outbound).await.map(|(token, _)| token.0.to_string()) };
    let all = futures_util::future::join_all((0..100).map(|_| get())).await;
    assert!(all.into_iter().all(|token| token.is_ok_and(|token| token == "one")));
    assert_eq!(mock.seen.lock().expect("seen").len(), 1);
    *clock.0.lock() += (3599 - 301) * 1000;
    assert_eq!(get().await.ok().as_deref(), Some("one"));
    *clock.0.lock() += 1000;
    assert_eq!(get().await.ok().as_deref(), Some("two"), "five minutes before its end it is replaced");
    let seen = mock.seen.lock().expect("seen").clone();
    let form = seen[0].1.as_str().expect("a form");
    assert!(seen.len() == 2 && seen[0].0 == "/token" && form.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"), "{seen:?}");
}

#[tokio::test]
async fn while_no_token_is_to_be_had_all_calls_take_the_old_one() {
    let away = || Canned(503, &[], vec!["away".into()]);
    let (wire, _) = mock::start("", vec![granted("one"), away(), away(), away(), away()]).await;
    let (clock, outbound) = outbound();
    let (tokens, account, url) = (Tokens::default(), account(|_| {}), format!("{}/token", wire.base_url));
    let get = || async { tokens.get(&account, Some(&url), &outbound).await.map(|(token, _)| token.0.to_string()) };
    assert_eq!(get().await.ok().as_deref(), Some("one"));
    *clock.0.lock() += (3599 - 200) * 1000;
    let all = futures_util::future::join_all((0..20).map(|_| get())).await;
    assert!(all.iter().all(|token| token.as_ref().is_ok_and(|token| token == "one")), "{} failed", all.iter().filter(|token| token.is_err()).count());
    let brief = || whole(&json!({"access_token": "brief", "expires_in": 60}));
    let (wire, mock) = mock::start("", vec![brief(), brief()]).await;
    let (tokens, url) = (Tokens::default(), format!("{}/token", wire.base_url));
    let all = futures_util::future::join_all((0..20).map(|_| tokens.get(&account, Some(&url), &outbound))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(mock.seen.lock().expect("seen").len(), 1, "one that lives briefly is asked for once, too");
}

#[tokio::test]
async fn a_refusal_is_told_to_all_who_waited_and_names_no_secret() {
    let echo = |assertion: &str| json!({"error": "invalid_grant", "error_description": format!("Invalid JWT {assertion} {KEY}")});
    let question = Account::read(&account(|_| {}).0).expect("an account").question("x", Timestamp(0)).expect("a question");
    let refused = Canned(400, &[("content-type", "application/json")], vec![echo(&question).to_string()]);
    let (wire, mock) = mock::start("", vec![refused]).await;
    let (_, outbound) = outbound();
    let (tokens, account, url) = (Tokens::default(), account(|_| {}), format!("{}/token", wire.base_url));
    let all = futures_util::future::join_all((0..20).map(|_| tokens.get(&account, Some(&url), &outbound))).await;
    for answer in all {
        let failure = answer.expect_err("a refusal");
        assert_eq!(failure.fault.code.as_str(), "provider_auth");
        assert!(failure.fault.message.contains("invalid_grant: Invalid JWT") && !failure.fault.message.contains("PRIVATE"), "{}", failure.fault.message);
    }
    assert_eq!(mock.seen.lock().expect("seen").len(), 1);
}

#[tokio::test]
async fn an_account_that_cannot_be_used_says_why_without_its_key() {
    let (_, outbound) = outbound();
    for (secret, wanted) in [
        (Secret("{\"private_key\": \"s3cret".into()), "it is not the JSON of a service account"),
        (account(|account| account["type"] = "authorized_user".into()), "its `type` is not `service_account`"),
        (account(|account| account["private_key"] = "s3cret".into()), "its `private_key` is no RSA key in PEM"),
        (account(|account| account["token_uri"] = "https://10.0.0.1/".into()), "its `token_uri` is no https address of googleapis.com"),
    ] {
        let failure = Tokens::default().get(&secret, None, &outbound).await.expect_err("a refusal");
        let text = &failure.fault.message;
        assert!(failure.fault.code.as_str() == "provider_auth" && text.contains(wanted) && !text.contains("s3cret"), "{text}");
    }
}

async fn provider(location: &str, answers: Vec<Canned>) -> (Vertex, Mock) {
    let (wire, mock) = mock::start("", answers).await;
    (Vertex { wire, project: "p-1".into(), location: location.into() }, mock)
}

#[tokio::test]
async fn models_of_gemini_are_asked_in_their_own_interface() {
    let parts = json!([{"text": "Hm.", "thought": true}, {"text": "Hi"}]);
    let frame = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}});
    let (vertex, mock) = provider("global", vec![events(std::slice::from_ref(&frame)), whole(&frame)]).await;
    let ask = |stream| ChatRequest { model: "gemini-2.5-flash".into(), stream, ..rich() };
    assert!(answer_text(&vertex, &ask(true)).await.contains("\"Hi\" Stop Some((3, 3, 0, 0, 1))"));
    assert!(answer_text(&vertex, &ask(false)).await.contains("\"Hi\" Stop"));
    let seen = mock.seen.lock().expect("seen").clone();
    let path = "/v1/projects/p-1/locations/global/publishers/google/models/gemini-2.5-flash";
    assert_eq!([&seen[0].0, &seen[1].0], [&format!("{path}:streamGenerateContent?alt=sse Bearer key"), &format!("{path}:generateContent Bearer key")]);
    let text = seen[0].1.to_string();
    assert!(text.contains("functionCall") && text.contains("functionResponse") && !text.contains("\"id\":"), "{text}");
}

#[tokio::test]
async fn vertex_is_not_told_what_it_does_not_know_of_tools() {
    let frame = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]});
    let (vertex, mock) = provider("global", vec![whole(&frame), whole(&frame)]).await;
    for tool_choice in [None, Some(crate::model::agent::ToolChoice::Required)] {
        let request = ChatRequest { model: "gemini-3.5-flash".into(), stream: false, native_tools: vec!["web_search".into()], tool_choice, ..rich() };
        assert!(answer_text(&vertex, &request).await.contains("\"Hi\" Stop"));
    }
    let seen = mock.seen.lock().expect("seen").clone();
    assert_eq!((seen[0].1.get("toolConfig"), &seen[1].1["toolConfig"]), (None, &json!({"functionCallingConfig": {"mode": "ANY"}})));
}

#[tokio::test]
async fn models_of_anthropic_are_asked_raw() {
    let message = json!({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}});
    let frames = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let (vertex, mock) = provider("us-east5", vec![events(&frames), whole(&message)]).await;
    for stream in [true, false] {
        let request = ChatRequest { model: "claude-sonnet-4-5@20250929".into(), ..hello(stream) };
        assert!(answer_text(&vertex, &request).await.contains("\"Hi\" Stop Some((1, 2, 0, 0, 0))"));
    }
    let seen = mock.seen.lock().expect("seen").clone();
    let path = "/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929";
    assert_eq!([&seen[0].0, &seen[1].0], [&format!("{path}:streamRawPredict Bearer key"), &format!("{path}:rawPredict Bearer key")]);
    let body = &seen[0].1;
    assert_eq!((&body["anthropic_version"], body.get("model"), &body["max_tokens"]), (&json!("vertex-2023-10-16"), None, &json!(64_000)));
}

#[test]
fn locations_have_addresses() {
    let bases = ["global", "us", "europe-west1"].map(base_url);
    assert_eq!(bases, ["https://aiplatform.googleapis.com", "https://aiplatform.us.rep.googleapis.com", "https://europe-west1-aiplatform.googleapis.com"]);
}
