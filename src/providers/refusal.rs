//! Owns the reading of a provider's error: its run code, its message, and whether and when to retry.

use std::time::Duration;

use http::HeaderMap;
use serde_json::{Value, json};

use super::ProviderFailure;
use crate::model::Timestamp;
use crate::model::event::FaultCode;

/// A refused attempt.
#[derive(Debug)]
pub struct Refused {
    /// What to report if it is the last one.
    pub failure: ProviderFailure,
    /// Asking again may help.
    pub retry: bool,
    /// The wait that the provider asked for.
    pub wait: Option<Duration>,
}

impl Refused {
    /// A failure that asking again does not help.
    #[must_use]
    pub const fn last(failure: ProviderFailure) -> Self {
        Self { failure, retry: false, wait: None }
    }
}

/// What an answer with an error status says.
pub fn read(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Refused {
    let json = alone(serde_json::from_slice(body).unwrap_or(Value::Null));
    let told = ErrorBody::of(&json);
    // JSON of an unknown form is written anew, so that its texts stand in it as they are masked.
    let rest = || if json.is_null() { String::from_utf8_lossy(body).trim().to_owned() } else { json.to_string() };
    let text = told.text.clone().unwrap_or_else(rest);
    let (code, retry) = (code(status, &told), told.may_pass(status, headers));
    let text = match (status, text.is_empty()) {
        (300..400, _) => format!("the provider answered {status}, a redirect, which the studio does not follow; set `base_url` to the new address"),
        (_, true) => format!("the provider answered {status}"),
        (_, false) => format!("the provider answered {status}: {text}"),
    };
    Refused { failure: ProviderFailure::new(code, text), retry, wait: wait(headers, now).or_else(|| wait_inside(&json)) }
}

/// Google's servers put the object of some errors into a list.
fn alone(mut json: Value) -> Value {
    if let Value::Array(list) = &mut json
        && let [only] = list.as_mut_slice()
        && only.is_object()
    {
        return only.take();
    }
    json
}

/// The request was refused because it asked for a stream.
pub fn of_streams(failure: &ProviderFailure) -> bool {
    let text = || failure.fault.message.to_lowercase();
    failure.fault.code == FaultCode::ProviderBadRequest && UNSTREAMED.iter().any(|mark| text().contains(mark))
}

/// The request was refused because it asked for a summary of what the model thinks: not every account and model has them.
pub fn of_summaries(failure: &ProviderFailure) -> bool {
    let text = failure.fault.message.to_lowercase();
    failure.fault.code == FaultCode::ProviderBadRequest && SUMMARIES.iter().any(|mark| text.contains(mark))
}

/// The request was refused because of thoughts that are sent back behind another beginning than they came after.
pub fn of_bound_thoughts(failure: &ProviderFailure) -> bool {
    failure.fault.code == FaultCode::ProviderBadRequest && failure.fault.message.contains(BOUND)
}

/// The request was refused because of thoughts that are sent back and that this account did not encrypt or sign.
#[must_use]
pub fn of_sealed_thoughts(failure: &ProviderFailure) -> bool {
    let text = &failure.fault.message;
    let any = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    failure.fault.code == FaultCode::ProviderBadRequest && (text.contains(UNSIGNED) || (any(&SEALED.0) && any(&SEALED.1)))
}

/// Reads an error inside an answer; `error` is its object.
pub fn read_inside(error: &Value) -> ProviderFailure {
    let (status, told) = inside(error);
    let text = told.text.clone().unwrap_or_else(|| error.to_string());
    ProviderFailure::new(code(status, &told), format!("the provider broke off: {text}"))
}

/// What an error says that comes before anything else of an answer: it is as good as an error status.
pub fn read_opening(error: &Value, headers: &HeaderMap, now: Timestamp) -> Refused {
    let (status, told) = inside(error);
    let wait = wait(headers, now).or_else(|| wait_inside(&json!({ "error": error })));
    Refused { failure: read_inside(error), retry: told.may_pass(status, headers), wait }
}

/// The status that an error inside an answer stands for, and what it says.
fn inside(error: &Value) -> (u16, ErrorBody) {
    let told = ErrorBody::of(&json!({ "error": error }));
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    (status.or_else(|| error.get("code")?.as_str()?.parse().ok()).unwrap_or_else(|| told.status()), told)
}

fn code(status: u16, told: &ErrorBody) -> FaultCode {
    if told.mentions(&FILTER_MARKS) {
        return FaultCode::ProviderContentFiltered;
    }
    // Messages about a limit of tokens per minute are similar.
    if status != 429 && told.mentions(&CONTEXT_MARKS) {
        return FaultCode::ContextOverflow;
    }
    match status {
        401 | 403 => FaultCode::ProviderAuth,
        408 => FaultCode::ProviderTimeout,
        // Amazon Bedrock: the model erred.
        424 => FaultCode::ProviderUnavailable,
        429 => FaultCode::ProviderRateLimited,
        500.. => FaultCode::ProviderUnavailable,
        _ => FaultCode::ProviderBadRequest,
    }
}

/// The model, the account or this kind of answer may not be streamed.
const UNSTREAMED: [&str; 7] = [
    "must be verified to stream",
    "does not support stream",
    "'stream' does not support",
    "not support streaming",
    "streaming is not supported",
    "stream is not supported",
    "tool use in streaming mode",
];
/// The model or the account does not show what it thinks.
const SUMMARIES: [&str; 9] = [
    "reasoning summaries",
    "reasoning.summary",
    "include_thoughts",
    "includethoughts",
    "thinking is not enabled",
    "thinking is not supported",
    "thinking_config is not supported",
    "adaptive.display",
    "thinking.display",
];
/// <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation>
const BOUND: &str = "bound to a different conversation";
/// Of Anthropic's models: `messages.1.content.0: Invalid `signature` in `thinking` block`.
const UNSIGNED: &str = "Invalid `signature` in `thinking`";
/// `The encrypted content for item rs_… could not be verified. Reason: …`, of OpenAI and of Azure.
const SEALED: ([&str; 2], [&str; 3]) =
    (["encrypted content", "encrypted_content"], ["could not be verified", "could not be decrypted", "organization_id did not match"]);
/// What a later attempt does not mend.
const QUOTA_MARKS: [&str; 5] = ["insufficient_quota", "billing_hard_limit", "billing_not_active", "billing_error", "insufficient_balance"];
const FILTER_MARKS: [&str; 8] = [
    "content_filter",
    "content_policy_violation",
    "ContentPolicyViolation",
    "ResponsibleAIPolicyViolation",
    "content_blocked",
    "content filtering policy",
    "violates usage guidelines",
    "flagged as potentially violating",
];
const CONTEXT_MARKS: [&str; 15] = [
    "context_length_exceeded",
    "exceed_context_size",
    "ContextWindowExceeded",
    "maximum prompt length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "input token count",
    "exceed context limit",
    "Input is too long",
    "input is too long",
    "exceeds maximum length",
];
/// The names of errors inside an answer, which have no status.
const NAMED: [(&str, u16); 22] = [
    ("authentication_error", 401),
    ("permission_error", 403),
    ("rate_limit", 429),
    ("insufficient_quota", 429),
    ("RESOURCE_EXHAUSTED", 429),
    ("UNAUTHENTICATED", 401),
    ("PERMISSION_DENIED", 403),
    ("INVALID_ARGUMENT", 400),
    ("FAILED_PRECONDITION", 400),
    ("NOT_FOUND", 404),
    ("billing_error", 402),
    ("invalid_request", 400),
    ("invalid_prompt", 400),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("throttlingException", 429),
    ("ThrottlingException", 429),
    ("validationException", 400),
    ("ValidationException", 400),
    ("accessDeniedException", 403),
    ("AccessDeniedException", 403),
    ("resourceNotFoundException", 404),
];

/// What the usual shapes of error bodies say.
struct ErrorBody {
    text: Option<String>,
    marks: Vec<String>,
}

impl ErrorBody {
    fn of(json: &Value) -> Self {
        let error = json.get("error").unwrap_or(json);
        let inner = error.get("innererror").unwrap_or(&Value::Null);
        let text = [error.get("message"), error.get("detail"), json.get("message"), json.get("detail"), Some(error)];
        let text = text.into_iter().flatten().find_map(Value::as_str).map(|text| text.trim().to_owned());
        let marks = [error.get("code"), error.get("type"), error.get("status"), inner.get("code"), json.get("type")];
        let marks = marks.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Self { marks: marks.chain(text.clone()).collect(), text }
    }

    /// The status that an error's name stands for; a name that says nothing is the provider's own trouble.
    fn status(&self) -> u16 {
        let named = NAMED.iter().find(|named| self.mentions(&[named.0])).map(|named| named.1);
        named.unwrap_or(if self.mentions(&CONTEXT_MARKS) { 400 } else { 500 })
    }

    /// Asking again may help.
    fn may_pass(&self, status: u16, headers: &HeaderMap) -> bool {
        let passing = matches!(status, 408 | 409 | 429) || status >= 500;
        let for_good = matches!(code(status, self), FaultCode::ContextOverflow | FaultCode::ProviderContentFiltered) || self.mentions(&QUOTA_MARKS);
        let unwanted = headers.get("x-should-retry").is_some_and(|wanted| wanted == "false");
        passing && !for_good && !unwanted
    }

    fn mentions(&self, any: &[&str]) -> bool {
        self.marks.iter().any(|mark| any.iter().any(|wanted| mark.contains(wanted)))
    }
}

fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = header("retry-after")?;
    match after.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            // The clock that says when may be another than ours: it says what it shows, too.
            let now = header("date").and_then(moment).unwrap_or(now);
            Some(Duration::from_millis(moment(after)?.since(now)))
        }
    }
}

fn moment(date: &str) -> Option<Timestamp> {
    Some(Timestamp(jiff::fmt::rfc2822::parse(date).ok()?.timestamp().as_millisecond()))
}

/// The wait in Google's error body: `{"error":{"details":[{"retryDelay":"1.5s"}]}}`.
fn wait_inside(json: &Value) -> Option<Duration> {
    let details = json.get("error")?.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, header: Option<(&'static str, &str)>, body: &str) -> String {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, value.parse().expect("a header"));
        }
        let refused = read(status, &headers, body.as_bytes(), Timestamp(1_000));
        format!("{} {} {:?} {}", refused.failure.fault.code.as_str(), refused.retry, refused.wait, refused.failure.fault.message)
    }

    #[test]
    fn refusals_become_codes() {
        let table = [
            (401, r#"{"error":{"message":"bad key"}}"#, "provider_auth false None the provider answered 401: bad key"),
            (403, "", "provider_auth false None the provider answered 403"),
            (429, r#"{"error":{"message":"slow"}}"#, "provider_rate_limited true None the provider answered 429: slow"),
            (
                429,
                r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
                "provider_rate_limited false None the provider answered 429: pay",
            ),
            (503, "down", "provider_unavailable true None the provider answered 503: down"),
            (
                400,
                r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
                "context_overflow false None the provider answered 400: x",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"y","type":"exceed_context_size_error"}}"#,
                "context_overflow false None the provider answered 400: y",
            ),
            (
                400,
                r#"{"error":{"message":"z","code":"content_filter"}}"#,
                "provider_content_filtered false None the provider answered 400: z",
            ),
            (
                500,
                r#"{"error":{"message":"exceeds the available context size"}}"#,
                "context_overflow false None the provider answered 500: exceeds the available context size",
            ),
            (
                429,
                r#"{"error":{"message":"reduce the context length: tokens per minute","code":"rate_limit_exceeded"}}"#,
                "provider_rate_limited true None the provider answered 429: reduce the context length: tokens per minute",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
                "provider_content_filtered false None the provider answered 400: Output blocked by content filtering policy",
            ),
            (402, r#"{"error":{"message":"empty"}}"#, "provider_bad_request false None the provider answered 402: empty"),
            (
                302,
                "<a href=x>",
                "provider_bad_request false None the provider answered 302, a redirect, which the studio does not follow; set `base_url` to the new address",
            ),
            (422, r#"{"detail":"w"}"#, "provider_bad_request false None the provider answered 422: w"),
            (404, r#"{"error":"no model"}"#, "provider_bad_request false None the provider answered 404: no model"),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum","status":"INVALID_ARGUMENT"}}]"#,
                "context_overflow false None the provider answered 400: The input token count (9) exceeds the maximum",
            ),
            (
                429,
                r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"1.5s"}]}}]"#,
                "provider_rate_limited true Some(1.5s) the provider answered 429: m",
            ),
            (400, "[1,2]", "provider_bad_request false None the provider answered 400: [1,2]"),
        ];
        for (status, body, wanted) in table {
            assert_eq!(refused(status, None, body), wanted);
        }
    }

    #[test]
    fn a_provider_may_say_that_asking_again_is_no_use() {
        let retry = |told: &str| refused(500, Some(("x-should-retry", told)), "").split(' ').nth(1).map(str::to_owned);
        assert_eq!((retry("false").as_deref(), retry("true").as_deref()), (Some("false"), Some("true")));
    }

    #[test]
    fn the_wait_that_was_asked_for_is_read() {
        let limited = "provider_rate_limited true";
        let tail = "the provider answered 429";
        for (name, value, wait) in [
            ("retry-after", "2", "Some(2s)"),
            ("retry-after-ms", "15", "Some(15ms)"),
            ("retry-after", "Thu, 01 Jan 1970 00:00:05 GMT", "Some(4s)"),
            ("retry-after", "soon", "None"),
            ("retry-after", "-1", "None"),
        ] {
            assert_eq!(refused(429, Some((name, value)), ""), format!("{limited} {wait} {tail}"));
        }
        let told = r#"{"error":{"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"1.5s"}]}}"#;
        assert_eq!(refused(429, None, told), format!("{limited} Some(1.5s) {tail}: m"));
        assert_eq!(refused(429, Some(("retry-after", "2")), told), format!("{limited} Some(2s) {tail}: m"));
    }

    #[test]
    fn a_date_is_waited_for_by_the_clock_that_said_it() {
        let wait = |sent: Option<&str>, until: &str| {
            let mut headers = HeaderMap::new();
            headers.extend(sent.map(|sent| (http::header::DATE, sent.parse().expect("a header"))));
            headers.insert("retry-after", until.parse().expect("a header"));
            read(429, &headers, b"", Timestamp(60_000)).wait
        };
        let at = |second: u32| format!("Thu, 01 Jan 1970 01:00:{second:02} GMT");
        // Here it is a minute after midnight, at the provider an hour.
        assert_eq!(wait(Some(&at(0)), &at(3)), Some(Duration::from_secs(3)));
        assert_eq!(wait(Some("Wed, 31 Dec 1969 23:00:00 GMT"), "Wed, 31 Dec 1969 23:00:03 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(wait(Some("yesterday"), "Thu, 01 Jan 1970 00:01:03 GMT"), Some(Duration::from_secs(3)));
        assert_eq!(wait(None, "Thu, 01 Jan 1970 00:01:03 GMT"), Some(Duration::from_secs(3)));
    }

    #[test]
    fn errors_inside_an_answer_are_told_apart_by_number_or_name() {
        for (error, wanted) in [
            (r#"{"type":"overloaded_error","message":"Overloaded"}"#, "provider_unavailable"),
            (r#"{"type":"rate_limit_error","message":"m"}"#, "provider_rate_limited"),
            (r#"{"type":"authentication_error","message":"m"}"#, "provider_auth"),
            (r#"{"code":"context_length_exceeded","message":"m"}"#, "context_overflow"),
            (r#"{"code":"rate_limit_exceeded","message":"m"}"#, "provider_rate_limited"),
            (r#"{"code":503,"status":"UNAVAILABLE","message":"m"}"#, "provider_unavailable"),
            (r#"{"status":"INVALID_ARGUMENT","message":"m"}"#, "provider_bad_request"),
            (r#"{"type":"billing_error","message":"m"}"#, "provider_bad_request"),
            (r#"{"code":"400","message":"m"}"#, "provider_bad_request"),
            (r#""model runner stopped""#, "provider_unavailable"),
        ] {
            let error: Value = serde_json::from_str(error).expect("JSON");
            assert_eq!(read_inside(&error).fault.code.as_str(), wanted, "{error}");
        }
    }
}
