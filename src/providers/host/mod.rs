//! Owns models of the host: one callback, with chunks.

mod parts;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::http_client::{TimeLimits, too_much};
use super::reply::{self, Parts, tool_call_of};
use super::wire::{malformed, with_report};
use super::{ChatReply, ChatRequest, Delta, Deltas, EmbedRequest, Embeddings, Finish, Media, Named, Provider, ProviderFailure, Ranking, RerankRequest, rerank};
use crate::host::{HostDoor, HostFailure, HostOp, within};
use crate::model::chat::{Message, Tokens, ToolCall};
use crate::model::event::FaultCode;
use crate::model::parts::NewFile;
use crate::model::usage::Picos;

/// The name of the family, in the parts that a host wants back.
pub(crate) const FAMILY: &str = "host";

/// A provider of kind `host`.
pub struct HostModels {
    /// Its id in the configuration.
    pub id: String,
    /// The way to the host.
    pub door: HostDoor,
    /// How long it may take.
    pub time_limits: TimeLimits,
    /// Whether a call contains `traceparent`.
    pub passes_trace: bool,
}

impl HostModels {
    async fn ask(&self, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
        let until = self.time_limits.until();
        let (sender, mut chunks) = mpsc::unbounded_channel();
        let mut asked = std::pin::pin!(self.door.call_streaming(HostOp::ProviderChat, within(self.payload(request), self.time_limits.total), Some(sender)));
        let mut limit = self.time_limits.first_byte;
        let mut heard = Received::default();
        loop {
            tokio::select! {
                biased;
                Some(chunk) = chunks.recv() => {
                    limit = self.time_limits.idle;
                    heard.take(&chunk, deltas);
                    if heard.bytes > self.time_limits.answer_bytes {
                        return Err(with_report(too_much(self.time_limits.answer_bytes), heard.report()));
                    }
                }
                answer = &mut asked => {
                    while let Ok(chunk) = chunks.try_recv() {
                        heard.take(&chunk, deltas);
                    }
                    return match answer {
                        Ok(answer) => heard.end(&answer, request),
                        Err(failure) => Err(ProviderFailure { tokens: heard.tokens, cost: heard.cost, cut: heard.said, ..failed(failure) }),
                    };
                }
                () = tokio::time::sleep(limit) => return Err(with_report(silent(limit), heard.report())),
                () = tokio::time::sleep_until(until) => return Err(with_report(silent(self.time_limits.total), heard.report())),
            }
        }
    }

    fn payload(&self, request: &ChatRequest) -> Value {
        let tools =
            request.tools.iter().map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}));
        let messages = request.messages.iter().map(sent);
        let mut payload = json!({
            "provider": self.id, "model": request.model, "messages": messages.collect::<Vec<Value>>(),
            "tools": tools.collect::<Vec<_>>(), "parameters": request.parameters, "stream": request.stream,
        });
        if let Value::Object(fields) = &mut payload {
            fields.extend(request.schema.clone().map(|schema| ("schema".to_owned(), schema)));
            let media: Vec<Value> = request.media.iter().filter(|media| is_named(request, media)).map(media_json).collect();
            fields.extend(request.tool_choice.as_ref().map(|choice| ("tool_choice".to_owned(), json!(choice))));
            fields.extend(request.parallel_tool_calls.map(|several| ("parallel_tool_calls".to_owned(), several.into())));
            fields.extend((!media.is_empty()).then(|| ("media".to_owned(), media.into())));
            let trace = request.asker.trace.as_ref().filter(|_| self.passes_trace);
            fields.extend(trace.iter().flat_map(|trace| trace.members()).map(|(name, value)| (name.to_owned(), value.into())));
        }
        payload
    }
}

/// A message names it; one that was taken out of the conversation does not any more.
fn is_named(request: &ChatRequest, media: &Media) -> bool {
    request.messages.iter().flat_map(|message| &message.attachments).any(|file| file.storage_key == media.storage_key)
}

/// A file that the model made, as a part of its answer.
fn file(part: &Value) -> Option<NewFile> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    text("type").filter(|kind| *kind == "file")?;
    NewFile::of_base64(text("name"), text("media_type").unwrap_or_default(), text("data")?)
}

/// A message; one that the host's own model wrote with the parts that it came in.
fn sent(message: &Message) -> Value {
    let mut sent = json!(Message { blocks: None, parts: Vec::new(), ..message.clone() });
    if let (Some(parts), Some(members)) = (parts::of(message), sent.as_object_mut()) {
        members.insert("parts".into(), parts.into());
    }
    sent
}

/// A file of the messages with its bytes.
fn media_json(media: &Media) -> Value {
    json!({"storage_key": media.storage_key, "mime_type": media.mime_type, "name": media.name, "data": STANDARD.encode(&media.bytes)})
}

/// What came in chunks.
#[derive(Default)]
struct Received {
    parts: parts::ReceivedParts,
    files: Vec<NewFile>,
    tokens: Option<Tokens>,
    cost: Option<Picos>,
    said: bool,
    /// About how large the chunks were.
    bytes: usize,
}

/// About how large a value is.
fn weight(value: &Value) -> usize {
    16 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

impl Received {
    /// What was reported so far.
    const fn report(&self) -> (Option<Tokens>, Option<Picos>) {
        (self.tokens, self.cost)
    }

    fn take(&mut self, chunk: &Value, deltas: Deltas<'_>) {
        self.said = true;
        self.bytes = self.bytes.saturating_add(weight(chunk));
        if let Some(delta) = chunk.get("delta").and_then(Value::as_str).filter(|delta| !delta.is_empty()) {
            self.parts.take(&json!({"type": "text", "text": delta}), deltas);
        }
        if let Some(part) = chunk.get("partial") {
            self.parts.take(part, deltas);
            self.files.extend(file(part));
        }
        if let Some(call) = chunk.get("tool_call") {
            self.parts.call(tool_call(call));
        }
        self.cost = chunk.pointer("/usage/cost").and_then(reply::dollars).or(self.cost);
        if let Some(tokens) = chunk.get("usage").and_then(tokens) {
            self.tokens = Some(tokens);
            deltas(Delta::Spent(tokens));
        }
    }

    /// The last answer replaces the chunks, but published text stays. It may have parts if no chunk had any.
    fn end(mut self, answer: &Value, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.parts.is_empty()
            && let Some(parts) = answer.pointer("/message/parts").and_then(Value::as_array)
        {
            parts.iter().for_each(|part| self.parts.take(part, &|_| {}));
            self.files.extend(parts.iter().filter_map(file));
        }
        let tokens = answer.get("usage").and_then(tokens).or(self.tokens);
        let cost = answer.pointer("/usage/cost").and_then(reply::dollars).or(self.cost);
        if self.parts.has_too_many() {
            return Err(with_report(malformed("it has too many parts"), (tokens, cost)));
        }
        let whole = answer.get("message").map(|message| message.get("content").unwrap_or(message));
        let said = self.parts.text();
        let text = if said.is_empty() { whole.and_then(Value::as_str).unwrap_or("").to_owned() } else { said };
        let told = answer.get("tool_calls").and_then(Value::as_array);
        let (heard, thoughts, sources, own) = self.parts.end();
        let calls = told.map_or(heard, |calls| calls.iter().map(tool_call).collect());
        let finish = answer.get("finish_reason").and_then(Value::as_str).map_or(Finish::Stop, Finish::named);
        let mut named = Named::default();
        named.take(answer.get("response_id"), answer.get("response_model"));
        // A host may say this of an answer that needs no tool.
        let finish = if finish == Finish::ToolCalls && calls.is_empty() { Finish::Stop } else { finish };
        let parts = Parts { text, calls, thoughts, sources, files: self.files, own, tokens, named, cost, finish, explanation: String::new() };
        parts.into_reply(FAMILY, request).map_err(|failure| with_report(failure, (tokens, cost)))
    }
}

fn tool_call(call: &Value) -> ToolCall {
    let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or("");
    tool_call_of(text("id"), text("name"), call.get("arguments"))
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |key: &str| reply::count(usage, &[key]);
    count("prompt_tokens").or(count("completion_tokens"))?;
    Some(Tokens {
        prompt: count("prompt_tokens").unwrap_or(0),
        completion: count("completion_tokens").unwrap_or(0),
        cached: count("cached_tokens").unwrap_or(0),
        cache_write: count("cache_write_tokens").unwrap_or(0),
        cache_write_1h: count("cache_write_1h_tokens").unwrap_or(0),
        reasoning: count("reasoning_tokens").unwrap_or(0),
    })
}

fn failed(failure: HostFailure) -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderUnavailable, failure.message)
}

fn silent(limit: Duration) -> ProviderFailure {
    ProviderFailure::cut(FaultCode::ProviderTimeout, format!("the host sent nothing within {} ms", limit.as_millis()))
}

impl Provider for HostModels {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(self.ask(request, deltas))
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        let text = "providers of kind `host` make no embeddings";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }

    fn rerank<'a>(&'a self, request: &'a RerankRequest) -> BoxFuture<'a, Result<Ranking, ProviderFailure>> {
        Box::pin(async move {
            let mut payload = json!({
                "provider": self.id, "model": request.model, "query": request.query, "documents": request.texts, "tenant": request.tenant,
            });
            if let (Value::Object(fields), Some(trace)) = (&mut payload, request.trace.as_ref().filter(|_| self.passes_trace)) {
                fields.extend(trace.members().map(|(name, value)| (name.to_owned(), value.into())));
            }
            let answer = self.door.call(HostOp::ProviderRerank, payload, self.time_limits.total).await.map_err(failed)?;
            rerank::order(&answer, request.texts.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::chat::Role;
    use crate::host::{Host, HostCall, HostDeclaration};

    fn time_limits(limit: Duration) -> TimeLimits {
        TimeLimits { first_byte: limit, idle: limit, total: limit, answer_bytes: 1 << 20, retries: 0 }
    }

    struct Chatty;

    impl Host for Chatty {
        fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            Box::pin(async move {
                let chunks = call.chunks.ok_or_else(|| HostFailure::new("no way for chunks"))?;
                for delta in ["Hel", "lo"] {
                    chunks.send(json!({ "delta": delta })).map_err(|_| HostFailure::new("gone"))?;
                }
                chunks.send(json!({"tool_call": {"id": "1", "name": "t", "arguments": {"a": 1}}})).ok();
                Ok(json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2}, "finish_reason": "tool_calls"}))
            })
        }
    }

    #[test]
    fn files_go_to_the_host_with_their_bytes() {
        let time_limits = time_limits(Duration::ZERO);
        let models = HostModels { id: "mine".into(), door: HostDoor::default(), time_limits, passes_trace: true };
        let mut request = ChatRequest::new("m", vec![Message::text(Role::User, "hi")]);
        assert_eq!(models.payload(&request).get("media"), None);
        request.messages[0].attachments = vec![serde_json::from_value(json!({"type": "image", "mime_type": "image/png", "storage_key": "k"})).expect("a file")];
        request.media = vec![Media { storage_key: "k".into(), mime_type: "image/png".into(), name: None, bytes: "png".into(), refused: false }];
        let media = json!([{"storage_key": "k", "mime_type": "image/png", "name": null, "data": "cG5n"}]);
        assert_eq!(models.payload(&request)["media"], media);
    }

    #[tokio::test]
    async fn chunks_are_told_and_joined() {
        let door = HostDoor::default();
        door.set(Arc::new(Chatty), HostDeclaration { ops: vec![HostOp::ProviderChat], ..HostDeclaration::default() });
        let second = Duration::from_secs(1);
        let models = HostModels { id: "mine".into(), door, time_limits: time_limits(second), passes_trace: true };
        let told = crate::sync::Mutex::new(Vec::new());
        let request = ChatRequest::new("m", vec![Message::text(Role::User, "hi")]);
        let reply = models.chat(&request, &|delta| told.lock().push(delta)).await.expect("an answer");
        assert_eq!(*told.lock(), [Delta::Text("Hel".into()), Delta::Text("lo".into())]);
        assert_eq!((reply.message.content.as_str(), reply.message.tool_calls.len()), ("Hello", 1));
        assert_eq!(reply.tokens.map(|tokens| (tokens.prompt, tokens.completion)), Some((3, 2)));
    }

    struct Thinker;

    impl Host for Thinker {
        fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
            Box::pin(async move {
                let chunks = call.chunks.ok_or_else(|| HostFailure::new("no way for chunks"))?;
                for part in [
                    json!({"type": "reasoning", "text": "H"}),
                    json!({"type": "reasoning", "text": "m.", "provider_data": {"signature": "s"}}),
                    json!({"type": "reasoning", "provider_data": {"redacted": "r"}}),
                    json!({"type": "later", "text": "x"}),
                    json!({"type": "text", "text": "Let me "}),
                    json!({"type": "text", "text": "look."}),
                    json!({"type": "source", "kind": "url", "url": "https://example.com/a", "title": "A"}),
                    json!({"type": "call", "call_id": "1", "name": "t", "inputs": {"a": 1}, "provider_data": "c"}),
                ] {
                    chunks.send(json!({ "partial": part })).map_err(|_| HostFailure::new("gone"))?;
                }
                Ok(json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2}, "finish_reason": "tool_calls"}))
            })
        }
    }

    #[tokio::test]
    async fn an_answer_in_parts_is_kept_with_the_hosts_own_data_and_goes_back_as_it_came() {
        let door = HostDoor::default();
        door.set(Arc::new(Thinker), HostDeclaration { ops: vec![HostOp::ProviderChat], ..HostDeclaration::default() });
        let models = HostModels { id: "mine".into(), door, time_limits: time_limits(Duration::from_secs(1)), passes_trace: true };
        let told = crate::sync::Mutex::new(Vec::new());
        let mut request = ChatRequest::new("m", vec![Message::text(Role::User, "hi")]);
        let mut message = models.chat(&request, &|delta| told.lock().push(delta)).await.expect("an answer").message;
        let heard = [Delta::Reasoning("H".into()), Delta::Reasoning("m.".into()), Delta::Text("Let me ".into()), Delta::Text("look.".into())];
        assert_eq!(*told.lock(), heard);
        assert_eq!((message.content.as_str(), message.tool_calls.len(), message.parts.len(), message.sources().len()), ("Let me look.", 1, 3, 1));
        message.tool_calls[0].arguments = json!({"a": 2});
        request.messages.push(message);
        let sent = &models.payload(&request)["messages"][1];
        let wanted = json!([
            {"type": "reasoning", "text": "Hm.", "provider_data": {"signature": "s"}}, {"type": "reasoning", "provider_data": {"redacted": "r"}, "text": ""},
            {"type": "text", "text": "Let me look."}, {"type": "source", "kind": "url", "url": "https://example.com/a", "title": "A"},
            {"type": "call", "call_id": "1", "name": "t", "inputs": {"a": 2}, "provider_data": "c"}]);
        assert_eq!((&sent["parts"], sent.get("blocks")), (&wanted, None));
        request.messages[1].blocks.take();
        assert_eq!(models.payload(&request)["messages"][1].get("parts"), None, "without data of its own a message is text and calls");
    }

    fn ended(parts: impl Iterator<Item = Value>) -> Result<ChatReply, ProviderFailure> {
        let (mut heard, said) = (Received::default(), crate::sync::Mutex::new(String::new()));
        let hear = |delta: Delta| {
            if let Delta::Text(text) = delta {
                said.lock().push_str(&text);
            }
        };
        parts.for_each(|part| heard.take(&json!({ "partial": part }), &hear));
        let reply = heard.end(&json!({}), &ChatRequest::new("m", Vec::new()))?;
        assert_eq!(reply.message.content, *said.lock(), "what was told is kept");
        Ok(reply)
    }

    #[test]
    fn text_in_more_pieces_than_are_kept_apart_is_kept_whole() {
        let piece = |kind: &str, at: usize| json!({"type": kind, "text": format!("{at} "), "provider_data": {"id": at}});
        let source = json!({"type": "source", "kind": "url", "url": "https://example.com/a"});
        // All text; a source among the pieces; thoughts up to the last part that there is room for, and text behind them.
        for (thoughts, texts) in [(0, 10_050), (9_999, 10), (10_000, 10)] {
            let said = (0..thoughts).map(|at| piece("reasoning", at)).chain((0..texts).map(|at| piece("text", at)));
            let reply = ended(said.chain([source.clone()]).chain([piece("text", texts)])).expect("an answer");
            assert!(reply.message.content.ends_with(&format!("{} {texts} ", texts - 1)), "{thoughts} {texts}");
            assert_eq!((reply.message.content.split_whitespace().count(), reply.message.sources().len()), (texts + 1, 1), "{thoughts} {texts}");
            let parts = reply.message.blocks.expect("parts").value;
            let parts = parts.as_array().expect("a list");
            assert!(parts.len() <= 10_002, "{}", parts.len());
            assert_eq!(parts[0]["provider_data"], json!({"id": 0}), "what has a place keeps its data");
        }
        let refused = ended((0..20_001).map(|_| source.clone())).expect_err("too many");
        assert_eq!((refused.fault.code, refused.cut), (FaultCode::ProviderProtocol, true));
    }

    #[tokio::test]
    async fn a_host_that_does_not_answer_is_unavailable() {
        let second = Duration::from_secs(1);
        let time_limits = time_limits(second);
        let models = HostModels { id: "mine".into(), door: HostDoor::default(), time_limits, passes_trace: true };
        let failure = models.chat(&ChatRequest::new("m", Vec::new()), &|_| {}).await.expect_err("no host");
        assert_eq!(failure.fault.code, FaultCode::ProviderUnavailable);
    }
}
