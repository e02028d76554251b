//! Owns the second attempt after a provider refuses a part of the request: a stream or a summary of the reasoning, which some models and
//! accounts do not support, or thoughts behind another beginning than they came after, or that were encrypted for another account. There is
//! none once a part of the answer came.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::model::agent::ShowReasoning;
use crate::model::chat::Message;
use crate::model::event::Warning;
use crate::providers::limits::Gate;
use crate::providers::{ChatReply, ChatRequest, Deltas, Provider, ProviderFailure, refusal, responses};
use crate::sync::Mutex;

/// Thoughts that are remembered as refused; later ones are refused once more before they are left out.
const REMEMBERED: usize = 16_384;

/// What was refused before, and is left out from then on.
#[derive(Default)]
pub(super) struct Silent {
    /// Models and keys that summaries were refused to.
    summaries: Mutex<BTreeSet<Asker>>,
    /// Thoughts whose conversations begin otherwise now: those that come after them are bound to a conversation without them. And thoughts
    /// that a key cannot read.
    thoughts: Mutex<BTreeSet<u64>>,
}

/// A model, and who asks it: tenants may have keys of their own under one name.
type Asker = (String, Option<String>, String);

fn asker(request: &ChatRequest) -> Asker {
    (request.model.clone(), request.credential.clone(), request.asker.tenant.clone())
}

impl Silent {
    fn knows(&self, request: &ChatRequest) -> bool {
        let known = self.summaries.lock();
        !known.is_empty() && known.contains(&asker(request))
    }

    fn learn(&self, request: &ChatRequest) {
        let mut known = self.summaries.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(asker(request));
    }

    /// The request without the thoughts that are known to be refused; none where it holds none of them.
    fn without_refused(&self, request: &ChatRequest) -> Option<ChatRequest> {
        let known = self.thoughts.lock();
        if known.is_empty() {
            return None;
        }
        without_thoughts(request, |thought| known.contains(&of_asker(thought, request)))
    }

    fn refused(&self, request: &ChatRequest) {
        let mut known = self.thoughts.lock();
        for thought in request.messages.iter().filter_map(thoughts).flatten().filter_map(of_thought) {
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(of_asker(thought, request));
        }
    }
}

/// The pieces of a message of a family whose thoughts are bound to what is before them, or to an account.
fn thoughts(message: &Message) -> Option<&Vec<Value>> {
    let own = message.blocks.as_ref().filter(|own| matches!(own.family.as_str(), "anthropic" | "bedrock" | responses::FAMILY))?;
    own.value.as_array()
}

/// What one key cannot read another one can.
fn of_asker(thought: u64, request: &ChatRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    (thought, &request.credential, &request.asker.tenant).hash(&mut hasher);
    hasher.finish()
}

/// What a thought is remembered by; none of what is no thought.
fn of_thought(piece: &Value) -> Option<u64> {
    let kind = piece.get("type").and_then(Value::as_str);
    let thinks = matches!(kind, Some("thinking" | "redacted_thinking" | "reasoning")) || piece.get("reasoningContent").is_some();
    thinks.then(|| {
        let mut hasher = DefaultHasher::new();
        piece.to_string().hash(&mut hasher);
        hasher.finish()
    })
}

/// A request without such thoughts; none where it holds none.
fn without_thoughts(request: &ChatRequest, such: impl Fn(u64) -> bool) -> Option<ChatRequest> {
    let unwanted = |piece: &Value| of_thought(piece).is_some_and(&such);
    if !request.messages.iter().filter_map(thoughts).flatten().any(unwanted) {
        return None;
    }
    let mut request = request.clone();
    for message in request.messages.iter_mut().filter(|message| thoughts(message).is_some()) {
        let is_response = message.blocks.as_ref().is_some_and(|own| own.family == responses::FAMILY);
        if let Some(pieces) = message.blocks.as_mut().and_then(|own| own.value.as_array_mut()) {
            let before = pieces.len();
            pieces.retain(|piece| !of_thought(piece).is_some_and(&such));
            if is_response && pieces.len() < before {
                responses::forget_ids(pieces);
            }
        }
    }
    Some(request)
}

/// Who is asked, and what is known of it: what it refuses is left out, and each further request counts at its limits.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) silent: &'a Silent,
    pub(super) gate: &'a Gate,
}

/// Asks a provider, where it helps without what it refuses.
pub(super) async fn ask(asked: Asked<'_>, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let shows = request.parameters.shows_reasoning();
    if shows && asked.silent.knows(request) {
        return Box::pin(without_summaries(asked, request, deltas)).await;
    }
    match unbound(asked, request, deltas).await {
        Err(failure) if failure.is_of_an_answer() => Err(failure),
        Err(failure) if request.stream && refusal::of_streams(&failure) => Box::pin(whole(asked, request, deltas)).await,
        Err(failure) if shows && refusal::of_summaries(&failure) => {
            asked.gate.again();
            let reply = Box::pin(without_summaries(asked, request, deltas)).await?;
            asked.silent.learn(request);
            Ok(reply)
        }
        answer => answer,
    }
}

/// Asks again, for the answer as a whole.
async fn whole(asked: Asked<'_>, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let whole = ChatRequest { stream: false, ..request.clone() };
    asked.gate.again();
    let mut reply = unbound(asked, &whole, deltas).await?;
    let text = "the provider refuses to stream this answer, so it was asked for the whole; `quirks.stream: false` of the provider spares the first request";
    reply.warnings.push(Warning { parameter: Some("stream".into()), ..Warning::new("parameter_changed", text) });
    Ok(reply)
}

/// Asks without thoughts that came after another beginning, or that this key cannot read: all of them, because each is bound to those before it.
async fn unbound(asked: Asked<'_>, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let without = asked.silent.without_refused(request).map(Box::new);
    let request = without.as_deref().unwrap_or(request);
    match asked.provider.chat(request, deltas).await {
        Err(failure) if failure.is_of_an_answer() => Err(failure),
        Err(failure) if refusal::of_bound_thoughts(&failure) || refusal::of_sealed_thoughts(&failure) => {
            Box::pin(bare(asked, request, failure, deltas)).await
        }
        answer => answer,
    }
}

/// Asks again, without any thoughts: they were refused.
async fn bare(asked: Asked<'_>, request: &ChatRequest, failure: ProviderFailure, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let Asked { provider, silent, gate } = asked;
    let Some(rest) = without_thoughts(request, |_| true) else { return Err(failure) };
    gate.again();
    let mut reply = provider.chat(&rest, deltas).await?;
    silent.refused(request);
    let text = if refusal::of_bound_thoughts(&failure) {
        "what came before the model's thoughts was shortened or changed, and the provider refuses such thoughts, so it was asked without them"
    } else {
        "the model's thoughts were encrypted or signed for another account, and the provider refuses such thoughts, so it was asked without them"
    };
    reply.warnings.push(Warning { parameter: Some("thinking".into()), ..Warning::new("parameter_dropped", text) });
    Ok(reply)
}

async fn without_summaries(asked: Asked<'_>, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let mut quiet = request.clone();
    quiet.parameters.show_reasoning = Some(ShowReasoning::None);
    let mut reply = unbound(asked, &quiet, deltas).await?;
    let text = "the provider refuses to show what the model thinks, so it was asked without; `show_reasoning: none` says so from the beginning";
    reply.warnings.push(Warning { parameter: Some("show_reasoning".into()), ..Warning::new("parameter_dropped", text) });
    Ok(reply)
}
