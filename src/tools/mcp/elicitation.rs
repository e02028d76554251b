//! Owns questions of servers that cannot pause a run: the call, the host's answer, its check against the form.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_client::StreamableHttpPostResponse;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::server_call::Form;
use crate::host::{HostDoor, HostOp};
use crate::sync::Mutex;
use crate::tools::{ToolInvocation, schema};

/// What a server sends to ask.
const METHOD: &str = "elicitation/create";
/// How often one call may ask.
const QUESTIONS: u32 = 8;
/// How often the host is asked one question, until its answer fits.
const TRIES: usize = 3;
/// Questions whose calls are remembered until they are put.
const REMEMBERED: usize = 64;

/// A call that may ask: what the host receives of it, and how long an answer is of use to it.
#[derive(Clone)]
pub(super) struct Asker {
    facts: Map<String, Value>,
    until: Instant,
}

impl Asker {
    /// The asker that a call is. A tenth of its time is left for the server to receive that nobody answered.
    pub(super) fn of(call: &ToolInvocation, tool: &str) -> Self {
        let facts = [
            ("tool", json!(tool)),
            ("call_id", json!(call.call_id)),
            ("trace_id", json!(call.run.to_string())),
            ("node_id", json!(&*call.node_id)),
            ("user", json!(call.user)),
        ];
        let trace = call.trace.iter().flat_map(|trace| trace.members()).map(|(name, value)| (name, json!(value)));
        let facts = facts.into_iter().chain(trace).map(|(name, value)| (name.to_owned(), value)).collect();
        Self { facts, until: Instant::now() + call.timeout.mul_f64(0.9) }
    }

    /// What is true of either of two, when nobody knows which of them asks.
    fn or(mut self, other: &Self) -> Self {
        for (name, value) in &mut self.facts {
            if other.facts.get(name) != Some(value) {
                *value = Value::Null;
            }
        }
        Self { facts: self.facts, until: self.until.max(other.until) }
    }
}

/// The questions that one server may ask, over one connection.
#[derive(Clone)]
pub(super) struct Elicitation(Arc<Shared>);

struct Shared {
    host: HostDoor,
    server: String,
    tenant: String,
    /// The calls under way, by their keys.
    underway: Mutex<HashMap<String, Open>>,
    /// The call on whose stream a question came.
    origins: Mutex<HashMap<RequestId, String>>,
}

struct Open {
    asker: Asker,
    asked: u32,
    over: CancellationToken,
}

/// As long as a call is under way.
pub(super) struct Opened<'a> {
    shared: &'a Shared,
    key: &'a str,
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.shared.underway.lock().remove(self.key) {
            open.over.cancel();
        }
    }
}

impl Elicitation {
    pub(super) fn new(host: &HostDoor, server: &str, tenant: &str) -> Self {
        let (underway, origins) = Default::default();
        Self(Arc::new(Shared { host: host.clone(), server: server.to_owned(), tenant: tenant.to_owned(), underway, origins }))
    }

    /// The host can be asked.
    pub(super) fn is_answered(&self) -> bool {
        self.0.host.answers(HostOp::McpElicit)
    }

    /// A call begins, and may ask until what this gives is dropped.
    pub(super) fn open<'a>(&'a self, key: &'a str, asker: &Asker) -> Opened<'a> {
        let open = Open { asker: asker.clone(), asked: 0, over: CancellationToken::new() };
        self.0.underway.lock().insert(key.to_owned(), open);
        Opened { shared: &self.0, key }
    }

    /// The answer of a server to a call: which questions come on its stream is remembered.
    pub(super) fn watched(&self, call: Option<String>, answer: StreamableHttpPostResponse) -> StreamableHttpPostResponse {
        match (answer, call) {
            (StreamableHttpPostResponse::Sse(events, session), Some(call)) => {
                let questions = self.clone();
                let events = events.inspect(move |event| {
                    if let Some(data) = event.as_ref().ok().and_then(|event| event.data.as_deref()) {
                        questions.note(&call, data);
                    }
                });
                StreamableHttpPostResponse::Sse(events.boxed(), session)
            }
            (answer, _) => answer,
        }
    }

    fn note(&self, call: &str, data: &str) {
        #[derive(Deserialize)]
        struct Head {
            id: RequestId,
            method: String,
        }
        if !data.contains(METHOD) {
            return;
        }
        let mut origins = self.0.origins.lock();
        if let Some(head) = serde_json::from_str::<Head>(data).ok().filter(|head| head.method == METHOD && origins.len() < REMEMBERED) {
            origins.insert(head.id, call.to_owned());
        }
    }

    /// What the host says to a question that a server put by itself; a refusal when it has no form to show, or no call under way can have
    /// put it.
    pub(super) async fn answer(&self, id: &RequestId, form: Option<Form>) -> Value {
        let Some(form) = form else {
            self.0.origins.lock().remove(id);
            return declined();
        };
        let Some((asker, over)) = self.asker(id) else { return declined() };
        tokio::select! {
            answer = self.ask(&asker, form) => answer,
            _ended = join_all(over.iter().map(CancellationToken::cancelled)) => declined(),
        }
    }

    /// Who asks: the call on whose stream the question came, else all that are under way. Each may ask so many times.
    fn asker(&self, id: &RequestId) -> Option<(Asker, Vec<CancellationToken>)> {
        let origin = self.0.origins.lock().remove(id);
        let mut underway = self.0.underway.lock();
        let may_be = |key: &String| origin.as_ref().is_none_or(|origin| origin == key);
        let found = underway.iter_mut().filter(|(key, open)| may_be(key) && open.asked < QUESTIONS);
        let (mut asker, mut over) = (None::<Asker>, Vec::new());
        for (_, open) in found {
            open.asked += 1;
            over.push(open.over.clone());
            asker = Some(asker.map_or_else(|| open.asker.clone(), |asker| asker.or(&open.asker)));
        }
        Some((asker?, over))
    }

    /// What the host says to a question, `{action, content?}`; a refusal when it says nothing that fits in time.
    pub(super) async fn ask(&self, asker: &Asker, form: Form) -> Value {
        let mut problems = Vec::new();
        for _ in 0..TRIES {
            let left = asker.until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.is_answered() {
                break;
            }
            let Ok(answer) = self.0.host.call(HostOp::McpElicit, self.wanted(asker, &form, &problems, left), left).await else { break };
            match said(&form.schema, &answer) {
                Ok(said) => return said,
                Err(wrong) => problems = wrong,
            }
        }
        declined()
    }

    fn wanted(&self, asker: &Asker, form: &Form, problems: &[String], left: Duration) -> Value {
        let mut wanted = json!({
            "server": self.0.server, "tenant": self.0.tenant, "message": form.message, "schema": form.schema, "problems": problems,
            "timeout_ms": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        });
        if let Value::Object(wanted) = &mut wanted {
            wanted.extend(asker.facts.clone());
        }
        wanted
    }
}

/// Nobody answers.
pub(super) fn declined() -> Value {
    json!({"action": "decline"})
}

/// What the host's answer is to the server.
fn said(form: &Value, answer: &Value) -> Result<Value, Vec<String>> {
    match answer.get("action").and_then(Value::as_str) {
        Some(action @ ("decline" | "cancel")) => Ok(json!({ "action": action })),
        Some("accept") => {
            let content = match answer.get("content") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(content)) => content.clone(),
                Some(_) => return Err(vec!["`content` is an object".to_owned()]),
            };
            Ok(json!({"action": "accept", "content": schema::filled(form, content)?}))
        }
        Some(_) | None => Err(vec!["`action` is one of: accept, decline, cancel".to_owned()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(call: &str, user: &str) -> Asker {
        let facts = json!({"call_id": call, "user": user, "trace_id": "t"});
        Asker { facts: facts.as_object().expect("an object").clone(), until: Instant::now() + Duration::from_secs(60) }
    }

    fn question(id: i64) -> (RequestId, String) {
        (RequestId::Number(id), json!({"jsonrpc": "2.0", "id": id, "method": METHOD, "params": {}}).to_string())
    }

    #[test]
    fn a_question_is_of_the_call_on_whose_stream_it_came() {
        let questions = Elicitation::new(&HostDoor::default(), "crm", "");
        let facts = |id: &RequestId| questions.asker(id).map(|(asker, _)| Value::Object(asker.facts));
        let (first, data) = question(1);
        assert_eq!(facts(&first), None, "nothing is under way");
        let one = questions.open("one", &asker("c1", "ada"));
        let two = questions.open("two", &asker("c2", "bob"));
        questions.note("two", &data);
        assert_eq!(facts(&first), Some(json!({"call_id": "c2", "user": "bob", "trace_id": "t"})));
        // The same number again, not seen on a stream: either of the two.
        assert_eq!(facts(&first), Some(json!({"call_id": null, "user": null, "trace_id": "t"})));
        questions.note("two", &data);
        drop(two);
        assert_eq!(facts(&first), None, "its call is over, and the other did not ask");
        assert_eq!(facts(&first), Some(json!({"call_id": "c1", "user": "ada", "trace_id": "t"})));
        drop(one);
    }

    #[test]
    fn one_call_asks_so_many_times() {
        let questions = Elicitation::new(&HostDoor::default(), "crm", "");
        let _one = questions.open("one", &asker("c1", "ada"));
        let asked = (0..20).filter(|id| questions.asker(&RequestId::Number(*id)).is_some()).count();
        assert_eq!(asked, QUESTIONS as usize);
        for id in 0..200 {
            questions.note("one", &question(id).1);
        }
        assert_eq!(questions.0.origins.lock().len(), REMEMBERED);
    }

    #[tokio::test]
    async fn a_question_without_a_form_is_declined_and_forgotten() {
        let questions = Elicitation::new(&HostDoor::default(), "crm", "");
        let _one = questions.open("one", &asker("c1", "ada"));
        let (id, data) = question(1);
        questions.note("one", &data);
        assert_eq!(questions.answer(&id, None).await, declined());
        assert!(questions.0.origins.lock().is_empty());
    }

    #[test]
    fn an_answer_is_filled_in_and_held_against_the_form() {
        let form = json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer"}, "s": {"type": "string", "default": "d"}, "x": {"type": "number", "default": 1.5},
            "b": {"type": "boolean", "default": true}, "e": {"type": "string", "enum": ["p", "q"], "default": "q"},
            "l": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]}, "default": ["p"]}}});
        let full = json!({"action": "accept", "content": {"n": 3, "s": "d", "x": 1.5, "b": true, "e": "q", "l": ["p"]}});
        assert_eq!(said(&form, &json!({"action": "accept", "content": {"n": 3}})), Ok(full));
        for (answer, wanted) in [
            (json!({"action": "decline", "content": {"n": 3}}), Ok(json!({"action": "decline"}))),
            (json!({"action": "cancel"}), Ok(json!({"action": "cancel"}))),
            (json!({"action": "accept"}), Err("\"n\" is a required property")),
            (json!({"action": "accept", "content": {"n": 3, "e": "z"}}), Err(r#"/e: "z" is not one of "p" or "q""#)),
            (json!({"action": "accept", "content": {"n": 3, "other": {}}}), Err("`other` is not asked for")),
            (json!({"action": "accept", "content": [3]}), Err("`content` is an object")),
            (json!({"content": {"n": 3}}), Err("`action` is one of: accept, decline, cancel")),
            (json!("yes"), Err("`action` is one of: accept, decline, cancel")),
        ] {
            assert_eq!(said(&form, &answer).map_err(|wrong| wrong.join("; ")), wanted.map_err(str::to_owned), "{answer}");
        }
    }
}
