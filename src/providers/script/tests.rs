use crate::sync::Mutex;
use serde_json::json;

use super::*;
use crate::model::chat::{Message, Role, ToolCall};
use crate::providers::{Delta, Finish, ToolOffer};

/// What a request is, in short.
#[derive(Clone, Copy, Default)]
struct Asked<'a> {
    model: &'a str,
    node: &'a str,
    agent: &'a str,
    system: &'a str,
    user: &'a str,
    result: Option<(&'a str, &'a str)>,
    tools: &'a [&'a str],
    used: &'a [u64],
    structured: bool,
    stream: bool,
}

fn request(asked: &Asked) -> ChatRequest {
    let mut messages = vec![Message::text(Role::System, asked.system), Message::text(Role::User, asked.user)];
    if let Some((tool, text)) = asked.result {
        let call = ToolCall { id: "c".into(), name: tool.into(), arguments: json!({}), invalid: None };
        messages.push(Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "") });
        let name = Some(tool.to_owned());
        messages.push(Message { tool_call_id: Some("c".into()), name, ..Message::text(Role::Tool, text) });
    }
    let mut request = ChatRequest::new(asked.model, messages);
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    request.asker.node_id = named(asked.node);
    request.asker.agent = named(asked.agent);
    request.asker.replies_used = asked.used.to_vec();
    request.asker.calls_before = asked.used.len() as u64;
    request.schema = asked.structured.then(|| json!({}));
    request.live = asked.stream;
    let offer = |name: &&str| ToolOffer { name: (*name).into(), description: String::new(), input_schema: json!({}) };
    request.tools = asked.tools.iter().map(offer).collect();
    request
}

async fn play(scripts: &Scripts, asked: &Asked<'_>) -> String {
    let pieces = Mutex::new(Vec::new());
    let hear = |delta| match delta {
        Delta::Text(text) => pieces.lock().push(text),
        Delta::Reasoning(_) | Delta::Spent(_) | Delta::Waited(_) | Delta::Made => {}
    };
    let answer = scripts.chat(&request(asked), &hear).await;
    let heard = if asked.stream { format!("{:?} ", pieces.lock()) } else { String::new() };
    match answer {
        Ok(reply) => {
            let calls: Vec<_> = reply.message.tool_calls.iter().map(|call| format!(" {}({}) {}", call.id, call.name, call.arguments)).collect();
            assert_eq!(reply.finish == Finish::ToolCalls, !calls.is_empty());
            let tokens = reply.tokens.expect("always counted");
            let structured = reply.structured.map_or(String::new(), |value| format!(" ={value}"));
            let index = reply.reply_index.map_or("-".into(), |index| index.to_string());
            format!("{heard}#{index} {:?}{}{structured} {}+{}", reply.message.content, calls.concat(), tokens.prompt, tokens.completion)
        }
        Err(failure) => {
            let tokens = failure.tokens.map_or(String::new(), |tokens| format!(" {}+{}", tokens.prompt, tokens.completion));
            format!("{heard}{}: {}{tokens}", failure.fault.code.as_str(), failure.fault.message)
        }
    }
}

fn scripts(script: Value) -> Scripts {
    let Value::Object(models) = json!({ "m": script }) else { unreachable!() };
    Scripts::parse(&models).expect("a script")
}

#[tokio::test]
async fn replies_are_used_in_order_as_often_as_they_say() {
    let scripts = scripts(json!({"replies": [
        {"match": {"contains": "refund"}, "text": "first"},
        {"times": 2, "text": "twice"},
        {"times": 0, "match": {"call": 5}, "text": "fifth"}
    ]}));
    let asked = |used| Asked { model: "m", user: "a refund", used, ..Asked::default() };
    assert_eq!(play(&scripts, &asked(&[])).await, r#"#0 "first" 2+2"#);
    assert_eq!(play(&scripts, &asked(&[0])).await, r#"#1 "twice" 2+2"#);
    assert_eq!(play(&scripts, &asked(&[0, 1])).await, r#"#1 "twice" 2+2"#);
    let out = "provider_bad_request: the script of model `m` has no reply left that fits";
    assert_eq!(play(&scripts, &asked(&[0, 1, 1])).await, out);
    assert_eq!(play(&scripts, &asked(&[0, 1, 1, 9])).await, r#"#2 "fifth" 2+2"#);
}

#[tokio::test]
async fn each_condition_must_hold() {
    let table = [
        (json!({"node_id": "n"}), Asked { node: "n", ..Asked::default() }, Asked { node: "o", ..Asked::default() }),
        (json!({"agent": "a"}), Asked { agent: "a", ..Asked::default() }, Asked::default()),
        (json!({"contains": "x"}), Asked { user: "axb", ..Asked::default() }, Asked { system: "x", ..Asked::default() }),
        (json!({"regex": "^a+$"}), Asked { user: "aa", ..Asked::default() }, Asked { user: "ab", ..Asked::default() }),
        (json!({"system_contains": "be"}), Asked { system: "to be", ..Asked::default() }, Asked { user: "be", ..Asked::default() }),
        (json!({"has_tool": "t"}), Asked { tools: &["s", "t"], ..Asked::default() }, Asked { tools: &["s"], ..Asked::default() }),
        (
            json!({"tool_result": "t", "contains": "ok"}),
            Asked { result: Some(("t", "ok")), ..Asked::default() },
            Asked { result: Some(("s", "ok")), user: "ok", ..Asked::default() },
        ),
        (json!({"structured": true}), Asked { structured: true, ..Asked::default() }, Asked::default()),
        (json!({"structured": false}), Asked::default(), Asked { structured: true, ..Asked::default() }),
        (json!({"call": 2}), Asked { used: &[7], ..Asked::default() }, Asked::default()),
    ];
    for (condition, fits, fails) in table {
        let scripts = scripts(json!({"replies": [{"match": condition, "text": "yes"}], "on_exhausted": "echo"}));
        let chosen = async |asked| play(&scripts, &Asked { model: "m", ..asked }).await.starts_with("#0");
        assert!(chosen(fits).await, "{condition} should fit");
        assert!(!chosen(fails).await, "{condition} should not fit");
    }
}

#[tokio::test]
async fn answers_have_text_pieces_calls_structure_errors_and_usage() {
    let table = [
        (json!({"text": "One  two\nthree "}), true, r##"["One  ", "two\n", "three "] #0 "One  two\nthree " 1+4"##),
        (json!({"text": "x", "chunks": ["Hi ", "{{last_user}}"]}), true, r##"["Hi ", "Bo"] #0 "Hi Bo" 1+2"##),
        (json!({"text": "{{ match }}{{other}} {{", "match": {"regex": "o"}}), false, r##"#0 "o{{other}} {{" 1+4"##),
        (
            json!({"tool_calls": [{"name": "t", "arguments": {"a": ["{{last_user}}", 1]}}, {"name": "u", "id": "mine"}, {"name": "v"}]}),
            false,
            r##"#0 "" call_n_1_1(t) {"a":["Bo",1]} mine(u) {} call_n_1_1_3(v) {} 1+6"##,
        ),
        (json!({"structured": {"b": 1}}), false, r##"#0 "{\"b\":1}" ={"b":1} 1+2"##),
        (json!({"error": "provider_rate_limited"}), true, "[] provider_rate_limited: the script says `provider_rate_limited`"),
        (
            json!({"error": "context_overflow", "text": "too long", "usage": {"prompt_tokens": 9}}),
            false,
            "context_overflow: too long 9+0",
        ),
        (
            json!({"text": "a", "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2}}),
            false,
            r##"#0 "a" 10+5"##,
        ),
    ];
    for (reply, stream, wanted) in table {
        let scripts = scripts(json!({ "replies": [reply] }));
        assert_eq!(play(&scripts, &Asked { model: "m", node: "n-1", user: "Bo", stream, ..Asked::default() }).await, wanted, "{reply}");
    }
}

#[tokio::test]
async fn what_happens_when_no_reply_is_left() {
    let script = |end: &str| scripts(json!({"replies": [{"text": "a"}, {"text": "b {{last_user}}"}], "on_exhausted": end}));
    let asked = Asked { model: "m", user: "hi", used: &[1, 0], ..Asked::default() };
    assert_eq!(play(&script("repeat_last"), &asked).await, r#"#0 "a" 1+1"#);
    assert_eq!(play(&script("echo"), &asked).await, r#"#- "You said: hi" 1+3"#);
    assert!(play(&script("fail"), &asked).await.starts_with("provider_bad_request"));
    let echo = Asked { model: "echo", user: "hey you", stream: true, ..Asked::default() };
    assert_eq!(play(&Scripts::default(), &echo).await, r##"["You ", "said: ", "hey ", "you"] #- "You said: hey you" 2+5"##);
    let unknown = Asked { model: "nobody", ..Asked::default() };
    assert!(play(&Scripts::default(), &unknown).await.starts_with("provider_bad_request: there is no script for model `nobody`"));
}

#[tokio::test]
async fn each_piece_waits() {
    let scripts = scripts(json!({"replies": [{"times": 0, "chunks": ["a", "b", "c"], "delay_ms": 10}]}));
    for (stream, wanted) in [(true, 30), (false, 10)] {
        let began = tokio::time::Instant::now();
        play(&scripts, &Asked { model: "m", stream, ..Asked::default() }).await;
        assert!(began.elapsed().as_millis() >= wanted);
    }
}

#[test]
fn wrong_scripts_are_refused_with_their_place() {
    let table = [
        (json!(5), "providers.script.scripts.m: a script is an object"),
        (json!({"reply": []}), "providers.script.scripts.m: `reply` is no key of a script"),
        (json!({"replies": [{}]}), "providers.script.scripts.m: replies.0: one of `text`, `tool_calls`, `structured`, `error` is needed"),
        (json!({"on_exhausted": "x"}), "providers.script.scripts.m: `on_exhausted` is `fail`, `repeat_last` or `echo`"),
    ];
    for (script, wanted) in table {
        let Value::Object(models) = json!({ "m": script }) else { unreachable!() };
        assert_eq!(Scripts::parse(&models).expect_err("wrong"), wanted);
    }
    let Value::Object(models) = json!({"m": {"replies": [{"text": "a", "match": {"regex": "("}}]}}) else { unreachable!() };
    assert!(Scripts::parse(&models).expect_err("wrong").contains("replies.0: regex parse error"));
}

#[tokio::test]
async fn the_demo_plays_the_bundled_templates() {
    let demo = Asked { model: "demo", ..Asked::default() };
    let table = [
        (Asked { agent: "intent-classifier", user: "my LAWYER", ..demo }, "escalation"),
        (Asked { agent: "intent-classifier", user: "It is broken", ..demo }, "complaint"),
        (Asked { agent: "intent-classifier", user: "Where?", ..demo }, "question"),
        (Asked { agent: "knowledge-agent", user: "[1] x", ..demo }, "According to the knowledge base [1], this is covered."),
        (Asked { agent: "lead-qualifier", user: "I am a@b.co!", ..demo }, "Name: unknown\\nEmail: a@b.co!\\nInterest: unknown"),
        (Asked { node: "llm_extract", user: "Hi", ..demo }, "Name: unknown\\nEmail: unknown\\nInterest: unknown"),
        (Asked { agent: "refund-actions-agent", result: Some(("issue_refund", r#"{"status":"refunded"}"#)), ..demo }, "The refund was issued."),
        (Asked { agent: "refund-actions-agent", result: Some(("issue_refund", "declined")), ..demo }, "No refund was issued."),
        (Asked { agent: "refund-actions-agent", node: "r", ..demo }, r#"" call_r_1(issue_refund) {"order_id":"A-100","amount":"25.00","reason":"customer request"}"#),
        (Asked { agent: "dev-support-specialist", user: "It Works Now", ..demo }, "RESOLVED: the problem is gone."),
        (Asked { tools: &["research_agent"], node: "s", user: "Why?", ..demo }, r#"" call_s_1(research_agent) {"input":"Why?"}"#),
        (
            Asked { tools: &["research_agent"], result: Some(("research_agent", "Findings.")), ..demo },
            "Here is what the research found: Findings.",
        ),
        (Asked { agent: "someone", user: "else", ..demo }, "You said: else"),
    ];
    assert!(demo::script().is_some());
    for (asked, wanted) in table {
        let told = play(&Scripts::default(), &asked).await;
        assert!(told.contains(wanted), "{told} should hold {wanted}");
    }
}
