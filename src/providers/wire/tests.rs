//! Tests of how an answer is read to its end, with the family that most servers speak.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::providers::mock::{self, Canned, answer_text, hello, whole};
use crate::providers::openai::OpenAi;
use crate::providers::openai::dialect::Dialect;

#[test]
fn a_base_may_name_its_version() {
    for (base, wanted) in [
        ("https://a.example", "https://a.example/v1/messages"),
        ("https://a.example/", "https://a.example/v1/messages"),
        ("https://a.example/v1", "https://a.example/v1/messages"),
        ("https://a.example/v1beta/", "https://a.example/v1beta/messages"),
        ("https://a.example/voice", "https://a.example/voice/v1/messages"),
    ] {
        let wire = Wire { base_url: base.into(), ..mock::wire("") };
        assert_eq!(wire.url("v1", "messages"), wanted);
    }
}

fn frame(frame: &Value) -> String {
    format!("data: {frame}\n\n")
}

fn says(text: &str) -> String {
    frame(&json!({"choices": [{"delta": {"content": text}, "finish_reason": null}]}))
}

fn finish(reason: &str) -> String {
    frame(&json!({"choices": [{"delta": {}, "finish_reason": reason}]}))
}

fn usage() -> String {
    frame(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}}))
}

fn stream(pieces: &[&str]) -> Canned {
    Canned(200, &[], pieces.iter().map(|piece| (*piece).to_owned()).collect())
}

/// What becomes of these answers, how many were asked for, and how long it took.
async fn ask(answers: Vec<Canned>, change: impl FnOnce(&mut Wire)) -> (String, usize, Duration) {
    let (mut wire, mock) = mock::start("/v1", answers).await;
    change(&mut wire);
    let began = Instant::now();
    let told = answer_text(&OpenAi { wire, dialect: Dialect::of("openai") }, &hello(true)).await;
    let count = mock.seen.lock().expect("seen").len();
    (told, count, began.elapsed())
}

async fn once(pieces: &[&str]) -> String {
    ask(vec![stream(pieces)], |_| {}).await.0
}

/// What is told in the first of five tries that is as it should be, or in the last: a machine that stands still for two seconds between two pieces is
/// taken for a provider that does, but not each time.
async fn in_some_try(pieces: &[&str], fits: impl Fn(&str) -> bool) -> String {
    let mut told = String::new();
    for _ in 0..5 {
        told = once(pieces).await;
        if fits(&told) {
            break;
        }
    }
    told
}

#[tokio::test]
async fn a_finish_reason_is_the_end_and_usage_may_follow() {
    for last in [vec![], vec!["HANG"], vec!["BREAK"], vec!["data: [DONE]\n\n"], vec!["data: {oops\n\n"]] {
        let (hi, stop, usage) = (says("Hi"), finish("stop"), usage());
        let pieces = [vec![hi.as_str(), stop.as_str(), "WAIT", usage.as_str()], last.clone()].concat();
        assert_eq!(once(&pieces).await, "\"Hi\" \n\"Hi\" Stop Some((12, 7, 0, 0, 0))", "{last:?}");
    }
}

#[tokio::test]
async fn usage_is_waited_for_only_so_long_whatever_else_comes() {
    let (hi, stop) = (says("Hi"), finish("stop"));
    let more = ["data: {}\n\n", "WAIT"].repeat(600);
    let pieces: Vec<&str> = [hi.as_str(), stop.as_str()].into_iter().chain(more).collect();
    let (told, _, took) = ask(vec![stream(&pieces)], mock::soon).await;
    assert_eq!(told, "\"Hi\" \n\"Hi\" Stop None");
    // All of it takes half a minute.
    assert!(took < Duration::from_secs(15), "{took:?}");
}

/// Some servers say with each piece why the answer ends: it is read as long as it says more.
#[tokio::test]
async fn an_answer_whose_pieces_all_name_its_end_is_read_whole() {
    let piece = frame(&json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}));
    let whole = format!("\"{}\" Stop None", "x".repeat(60));
    let told = in_some_try(&[piece.as_str(), "WAIT"].repeat(60), |told| told.ends_with(&whole)).await;
    assert!(told.ends_with(&whole), "{told}");
}

#[tokio::test]
async fn a_call_whose_pieces_all_name_its_end_is_read_whole() {
    let piece = |name: &str, arguments: &str| {
        let call = json!([{"index": 0, "id": name, "function": {"name": name, "arguments": arguments}}]);
        frame(&json!({"choices": [{"delta": {"tool_calls": call}, "finish_reason": "tool_calls"}]}))
    };
    let (first, middle, last) = (piece("find", "{\"of\":\""), piece("", "x"), piece("", "\"}"));
    let middle = [middle.as_str(), "WAIT"].repeat(60);
    let pieces: Vec<&str> = [first.as_str()].into_iter().chain(middle).chain([last.as_str()]).collect();
    let told = in_some_try(&pieces, |told| told.contains(&"x".repeat(60))).await;
    assert!(told.contains(&"x".repeat(60)), "{told}");
}

#[tokio::test]
async fn an_end_marker_without_a_finish_reason_is_no_answer() {
    for last in ["data: [DONE]\n\n", "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"\"}]}\n\n"] {
        let told = once(&[&says("Hi"), last]).await;
        assert!(told.contains("provider_protocol: the provider's answer ended before it was complete"), "{told}");
    }
}

#[tokio::test]
async fn an_error_on_a_line_of_its_own_is_the_refusal_that_it_is() {
    let busy = r#"{"error": {"message": "slow down", "code": 429}}"#;
    for end in ["", "\n", "\n\n"] {
        let told = once(&[&says("Hi"), busy, end]).await;
        assert_eq!(told, "\"Hi\" \nprovider_rate_limited: the provider broke off: slow down None", "{end:?}");
    }
    let told = once(&[&says("Hi"), busy, "\n", "HANG"]).await;
    assert!(told.contains("provider_rate_limited"), "nothing more is waited for: {told}");
    for other in [r#"{"note": "slow"}"#, "{", r#"{"error": null}"#] {
        let told = once(&[&says("Hi"), other, "\n\n", &finish("stop")]).await;
        assert_eq!(told, "\"Hi\" \n\"Hi\" Stop None", "{other}");
    }
    assert_eq!(once(&[&says("Hi"), &finish("stop"), busy, "\n"]).await, "\"Hi\" \n\"Hi\" Stop None", "what follows a complete answer does not count");
}

#[tokio::test]
async fn comments_and_blank_lines_are_silence() {
    let drip = [": ping\n\n", "WAIT", "\n", "WAIT"].repeat(300);
    for begin in [vec![], vec![says("Hi")]] {
        let pieces: Vec<&str> = begin.iter().map(String::as_str).chain(drip.iter().copied()).collect();
        let (told, count, took) = ask(vec![stream(&pieces)], mock::soon).await;
        assert!(told.contains("provider_timeout: the provider said nothing more for 200 ms"), "{told}");
        assert!(count == 1 && took < Duration::from_secs(15), "{took:?}");
    }
}

#[tokio::test]
async fn a_call_has_a_limit_in_all() {
    let (word, end) = (says("w"), finish("stop"));
    let pieces: Vec<&str> = [word.as_str(), "WAIT"].repeat(600).into_iter().chain([end.as_str()]).collect();
    let short = |wire: &mut Wire| {
        wire.time_limits.total = Duration::from_millis(500);
        wire.until = wire.time_limits.until();
    };
    let (told, _, took) = ask(vec![stream(&pieces)], short).await;
    assert!(told.contains("provider_timeout: the call took longer than 500 ms in all"), "{told}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    let busy = Canned(503, &[("retry-after", "30")], vec!["busy".into()]);
    let (told, count, took) = ask(vec![busy], short).await;
    assert!(told.contains("provider_unavailable") && count == 1 && took < Duration::from_secs(15), "a retry would come too late: {told}");
}

#[tokio::test]
async fn a_refusal_counts_by_its_status_though_its_text_never_ends() {
    let drip: Vec<String> = ["b", "WAIT"].repeat(600).into_iter().map(str::to_owned).collect();
    let busy = Canned(503, &[("retry-after-ms", "1")], drip.clone());
    let good = stream(&[&says("Hi"), &finish("stop")]);
    let (told, count, took) = ask(vec![busy, good], mock::soon).await;
    assert!(told.contains("\"Hi\" Stop") && count == 2 && took < Duration::from_secs(15), "{told} {took:?}");
    let (told, count, _) = ask(vec![Canned(401, &[], drip)], mock::soon).await;
    assert!(told.contains("provider_auth: the provider answered 401: b") && count == 1, "{told}");
}

#[tokio::test]
async fn one_event_may_be_as_long_as_the_answer() {
    let long = "x".repeat(3 << 20);
    let told = once(&[&says(&long), &finish("stop")]).await;
    assert!(told.ends_with("xxx\" Stop None"), "{}", &told[told.len() - 200..]);
    let small = |wire: &mut Wire| wire.time_limits.answer_bytes = 1 << 20;
    let (told, _, _) = ask(vec![stream(&[&says(&long), &finish("stop")])], small).await;
    assert!(told.contains("provider_protocol: the provider's answer is larger than 1048576 bytes (`limits.answer_kb`)"), "{told}");
}

#[tokio::test]
async fn half_a_character_does_not_spoil_an_answer() {
    let content = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let pieces = [content("a\\ud83d"), content("\\ude00b"), content("\\ud800c"), finish("stop"), usage()];
    let told = once(&pieces.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert!(told.ends_with("\n\"a😀b\u{fffd}c\" Stop Some((12, 7, 0, 0, 0))"), "{told}");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_whatever_it_calls_its_answer() {
    let answer = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    for canned in [whole(&answer), Canned(200, &[], vec![format!("\n {answer:#}")])] {
        let (told, _, _) = ask(vec![canned], |_| {}).await;
        assert_eq!(told, "\"Hi\" \n\"Hi\" Stop None");
    }
}
