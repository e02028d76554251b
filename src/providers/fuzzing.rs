//! Owns the entry points of fuzzing and property tests to the readers of answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::anthropic::Anthropic;
use super::cohere::Cohere;
use super::gemini::Gemini;
use super::ollama::Ollama;
use super::openai::OpenAi;
use super::openai::dialect::Dialect;
use super::http_client::{Outbound, TimeLimits};
use super::responses::Responses;
use super::wire::Wire;
use super::{ChatReply, ChatRequest, Delta, Provider, ProviderFailure, ToolOffer};
use crate::clock::SystemClock;
use crate::model::chat::{Message, Role, Tokens};

/// The readers: the API families, and OpenAI-compatible servers with fields of their own.
pub const FAMILIES: [&str; 9] =
    ["openai", "openai-responses", "anthropic", "gemini", "ollama", "cohere", "deepseek", "openrouter", "mistral"];

/// What became of an answer, as text that can be compared, and itself.
struct ReadAnswer {
    streamed: String,
    answer: Result<ChatReply, ProviderFailure>,
}

/// Lets a family read bytes as its answer, whole and cut into pieces, and asks it once more with the answer in the conversation.
///
/// # Panics
/// Something does not hold that must.
pub fn read(family: &str, stream: bool, bytes: &[u8], piece: usize) {
    let request = request(stream);
    let once = hear(family, &request, vec![Bytes::copy_from_slice(bytes)]);
    let cut = hear(family, &request, bytes.chunks(piece.max(1)).map(Bytes::copy_from_slice).collect());
    assert_eq!(once.streamed, cut.streamed, "{family}: what is told does not depend on the pieces");
    assert_eq!(format!("{:?}", once.answer), format!("{:?}", cut.answer), "{family}: nor does the answer");
    let tokens = match &once.answer {
        Ok(reply) => reply.tokens,
        Err(failure) => failure.tokens,
    };
    check_tokens(family, tokens.unwrap_or_default());
    if let Ok(reply) = once.answer {
        check_reply(family, stream, &once.streamed, &reply);
        go_on(family, request, reply.message);
    }
}

/// Reads arguments as models write them.
///
/// # Panics
/// Something does not hold that must.
pub fn arguments(text: &str) {
    let call = super::reply::tool_call("c".to_owned(), "t".to_owned(), text);
    assert_eq!(call.arguments.is_object(), call.invalid.is_none(), "{call:?}");
    assert!(call.invalid.is_none() || call.arguments == text, "what cannot be read stays as it was");
}

fn check_tokens(family: &str, tokens: Tokens) {
    assert!(tokens.cached + tokens.cache_write <= tokens.prompt, "{family}: {tokens:?}");
    assert!(tokens.reasoning <= tokens.completion, "{family}: {tokens:?}");
}

fn check_reply(family: &str, stream: bool, streamed: &str, reply: &ChatReply) {
    // Only there may texts come in another order than they are put together.
    if stream && family != "anthropic" {
        assert_eq!(streamed, reply.message.content, "{family}: what was told is what was said");
    }
    for call in &reply.message.tool_calls {
        assert_eq!(call.arguments.is_object(), call.invalid.is_none(), "{family}: {call:?}");
    }
}

/// The answer goes back to every family: its own and those that never saw it.
fn go_on(family: &str, mut request: ChatRequest, said: Message) {
    let results = said.tool_calls.iter().map(|call| {
        let (tool_call_id, name) = (Some(call.id.clone()), Some(call.name.clone()));
        Message { tool_call_id, name, ..Message::text(Role::Tool, "done") }
    });
    let results: Vec<Message> = results.collect();
    request.messages.push(said);
    request.messages.extend(results);
    for next in [family, "openai", "openai-responses", "anthropic", "gemini", "ollama", "cohere", "mistral"] {
        hear(next, &request, Vec::new());
    }
}

fn request(stream: bool) -> ChatRequest {
    let mut request = ChatRequest::new("m", vec![Message::text(Role::System, "S"), Message::text(Role::User, "Hello")]);
    request.stream = stream;
    request.tools = vec![ToolOffer { name: "t".into(), description: "T".into(), input_schema: json!({"type": "object"}) }];
    request
}

fn hear(family: &str, request: &ChatRequest, pieces: Vec<Bytes>) -> ReadAnswer {
    let streamed = Mutex::new(String::new());
    let hear = |delta: Delta| {
        if let Delta::Text(text) = delta {
            streamed.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let provider = provider(family, pieces);
    let answer = match runtime {
        Ok(runtime) => runtime.block_on(provider.chat(request, &hear)),
        Err(problem) => Err(ProviderFailure::new(crate::model::event::FaultCode::Internal, problem.to_string())),
    };
    ReadAnswer { streamed: streamed.into_inner().unwrap_or_else(PoisonError::into_inner), answer }
}

fn provider(family: &str, pieces: Vec<Bytes>) -> Box<dyn Provider> {
    let minute = Duration::from_secs(60);
    let wire = Wire {
        base_url: "http://nowhere.invalid".into(),
        credential: None,
        headers: Vec::new(),
        options: serde_json::Map::new(),
        time_limits: TimeLimits { first_byte: minute, idle: minute, total: minute, answer_bytes: 8 << 20, retries: 0 },
        until: tokio::time::Instant::now() + minute,
        outbound: Arc::new(Outbound::canned(Arc::new(SystemClock::default()), pieces)),
        gate: super::limits::Gate::open(), key: Some(0),
    };
    match family {
        "openai-responses" => Box::new(Responses { wire, strict: true }),
        "anthropic" => Box::new(Anthropic { wire, version: None, vertex: None }),
        "gemini" => Box::new(Gemini { wire, vertex: None }),
        "ollama" => Box::new(Ollama { wire, windows: std::collections::BTreeMap::new() }),
        "cohere" => Box::new(Cohere { wire }),
        dialect => Box::new(OpenAi { wire, dialect: Dialect::of(dialect) }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Value, from_str};

    use super::*;

    /// Real frames of every family: what is made of them is nearly right, which is where readers go wrong.
    const SEEDS: &str = include_str!("seeds.json");
    /// What takes the place of a value.
    const ODD: [&str; 12] = [
        "null", "true", "\"\"", "\"x\"", "0", "-1", "1e300", "18446744073709551615", "[]", "{}", "[[{}]]", "{\"a\":{\"type\":\"text\"}}",
    ];

    fn seeds() -> Vec<(String, Vec<Value>)> {
        let all: serde_json::Map<String, Value> = from_str(SEEDS).expect("JSON");
        all.into_iter().map(|(family, frames)| (family, frames.as_array().expect("frames").clone())).collect()
    }

    /// Every place in a value.
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Object(members) => members.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), found)),
            Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| places(value, &format!("{at}/{index}"), found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// One thing that goes wrong: a frame is lost, sent twice, or one of its values is changed.
    #[derive(Clone, Debug)]
    enum Change {
        Lose(usize),
        Repeat(usize),
        Swap(usize, usize),
        Replace(usize, usize, &'static str),
        Remove(usize, usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        let frame = 0usize..64;
        prop_oneof![
            frame.clone().prop_map(Change::Lose),
            frame.clone().prop_map(Change::Repeat),
            (frame.clone(), frame.clone()).prop_map(|(one, other)| Change::Swap(one, other)),
            (frame.clone(), 0usize..256, select(ODD.to_vec())).prop_map(|(frame, place, odd)| Change::Replace(frame, place, odd)),
            (frame, 0usize..256).prop_map(|(frame, place)| Change::Remove(frame, place)),
        ]
    }

    fn changed(mut frames: Vec<Value>, change: &Change) -> Vec<Value> {
        let count = frames.len().max(1);
        match *change {
            _ if frames.is_empty() => {}
            Change::Lose(at) => {
                frames.remove(at % count);
            }
            Change::Repeat(at) => frames.insert(at % count, frames[at % count].clone()),
            Change::Swap(one, other) => frames.swap(one % count, other % count),
            Change::Replace(at, place, odd) => {
                let mut found = Vec::new();
                places(&frames[at % count], "", &mut found);
                let place = &found[place % found.len()];
                *frames[at % count].pointer_mut(place).expect("a place") = from_str(odd).expect("JSON");
            }
            Change::Remove(at, place) => {
                let mut found = Vec::new();
                places(&frames[at % count], "", &mut found);
                let (parent, key) = found[place % found.len()].rsplit_once('/').unwrap_or_default();
                if let Some(Value::Object(members)) = frames[at % count].pointer_mut(parent) {
                    members.remove(key);
                }
            }
        }
        frames
    }

    fn framed(family: &str, stream: bool, frames: &[Value]) -> String {
        match (family, stream) {
            (_, false) => frames.last().map(Value::to_string).unwrap_or_default(),
            ("ollama", true) => frames.iter().map(|frame| format!("{frame}\n")).collect(),
            (_, true) => frames.iter().map(|frame| format!("data: {frame}\n\n")).collect::<String>() + "data: [DONE]\n\n",
        }
    }

    #[test]
    fn the_seeds_are_answers() {
        for (family, frames) in seeds() {
            let heard = hear(&family, &request(true), vec![framed(&family, true, &frames).into()]);
            assert!(heard.answer.is_ok(), "{family}: {:?}", heard.answer);
            read(&family, true, framed(&family, true, &frames).as_bytes(), 7);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn nearly_right_answers_are_read(
            family in select(seeds()), stream in proptest::bool::weighted(0.8), changes in proptest::collection::vec(change(), 0..5), piece in 1usize..40,
        ) {
            let frames = changes.iter().fold(family.1, changed);
            read(&family.0, stream, framed(&family.0, stream, &frames).as_bytes(), piece);
        }

        #[test]
        fn any_bytes_are_read(
            family in select(FAMILIES.to_vec()), stream in any::<bool>(), piece in 1usize..20,
            bytes in "(data: |event: x|\\{\"|choices|\"type\":|\\[|\\]|\\}|:|,|\"|[a-z0-9]{0,4}|\r|\n|\n\n|\\[DONE\\]){0,40}",
        ) {
            read(family, stream, bytes.as_bytes(), piece);
        }
    }

    #[test]
    fn each_family_says_what_its_answer_and_its_model_are_called() {
        let table = [
            ("openai", r#"{"id":"a","model":"m-1","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#, (Some("a"), Some("m-1"))),
            ("openai-responses", r#"{"id":"a","model":"m-1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#, (Some("a"), Some("m-1"))),
            ("anthropic", r#"{"id":"a","model":"m-1","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#, (Some("a"), Some("m-1"))),
            ("gemini", r#"{"responseId":"a","modelVersion":"m-1","candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#, (Some("a"), Some("m-1"))),
            ("ollama", r#"{"model":"m-1","message":{"content":"hi"},"done":true,"done_reason":"stop"}"#, (None, Some("m-1"))),
            ("cohere", r#"{"id":"a","message":{"content":[{"type":"text","text":"hi"}]},"finish_reason":"COMPLETE"}"#, (Some("a"), None)),
            ("openai", r#"{"id":7,"model":"","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#, (None, None)),
        ];
        for (family, body, wanted) in table {
            let reply = hear(family, &request(false), vec![Bytes::from(body)]).answer.unwrap_or_else(|failure| panic!("{family}: {failure:?}"));
            assert_eq!((reply.named.id.as_deref(), reply.named.model.as_deref()), wanted, "{family}");
        }
        let frames = [
            r#"{"id":"","model":"","choices":[],"prompt_filter_results":[]}"#,
            r#"{"id":"a","model":"m-1","choices":[{"delta":{"content":"hi"}}]}"#,
            r#"{"id":"b","model":"m-2","choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ];
        let stream = frames.map(|frame| format!("data: {frame}\n\n")).concat();
        let reply = hear("openai", &request(true), vec![Bytes::from(stream)]).answer.expect("an answer");
        assert_eq!((reply.named.id.as_deref(), reply.named.model.as_deref()), (Some("a"), Some("m-1")), "the first names count");
        let long = format!(r#"{{"id":"{}","choices":[{{"message":{{"content":"hi"}},"finish_reason":"stop"}}]}}"#, "x".repeat(5000));
        let reply = hear("openai", &request(false), vec![Bytes::from(long)]).answer.expect("an answer");
        assert_eq!(reply.named.id.map(|id| id.len()), Some(200));
    }
}
