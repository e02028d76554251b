//! Owns the second attempt after a provider refuses a part of the request that some models and accounts do not support: a stream, or a summary
//! of the reasoning.

use std::collections::BTreeSet;

use crate::model::agent::ShowReasoning;
use crate::model::event::Warning;
use crate::providers::{ChatReply, ChatRequest, Deltas, Provider, ProviderFailure, refusal};
use crate::sync::Mutex;

/// Models and keys that summaries were refused to: they are asked without from then on.
#[derive(Default)]
pub(super) struct Silent(Mutex<BTreeSet<(String, Option<String>)>>);

impl Silent {
    fn knows(&self, request: &ChatRequest) -> bool {
        let known = self.0.lock();
        !known.is_empty() && known.contains(&(request.model.clone(), request.credential.clone()))
    }

    fn learn(&self, request: &ChatRequest) {
        self.0.lock().insert((request.model.clone(), request.credential.clone()));
    }
}

/// Asks a provider, where it helps without what it refuses.
pub(super) async fn ask(provider: &dyn Provider, request: &ChatRequest, deltas: Deltas<'_>, silent: &Silent) -> Result<ChatReply, ProviderFailure> {
    let shows = request.parameters.shows_reasoning();
    if shows && silent.knows(request) {
        return Box::pin(without_summaries(provider, request, deltas)).await;
    }
    match provider.chat(request, deltas).await {
        Err(failure) if request.stream && refusal::of_streams(&failure) => {
            let whole = ChatRequest { stream: false, ..request.clone() };
            let mut reply = Box::pin(provider.chat(&whole, deltas)).await?;
            let text = "the provider refuses to stream this answer, so it was asked for the whole; `quirks.stream: false` of the provider spares the first request";
            reply.warnings.push(Warning { parameter: Some("stream".into()), ..Warning::new("parameter_changed", text) });
            Ok(reply)
        }
        Err(failure) if shows && refusal::of_summaries(&failure) => {
            let reply = Box::pin(without_summaries(provider, request, deltas)).await?;
            silent.learn(request);
            Ok(reply)
        }
        answer => answer,
    }
}

async fn without_summaries(provider: &dyn Provider, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
    let mut silent = request.clone();
    silent.parameters.show_reasoning = Some(ShowReasoning::None);
    let mut reply = provider.chat(&silent, deltas).await?;
    let text = "the provider refuses to show what the model thinks, so it was asked without; `show_reasoning: none` says so from the beginning";
    reply.warnings.push(Warning { parameter: Some("show_reasoning".into()), ..Warning::new("parameter_dropped", text) });
    Ok(reply)
}
