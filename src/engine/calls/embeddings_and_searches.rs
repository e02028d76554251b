//! Owns calls that are neither model nor tool calls: embeddings, searches and rankings, also those that a tool made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::engine::calls::millis;
use crate::engine::drive::context::{StepContext, cut_short, lost};
use crate::engine::log::journal::Lost;
use crate::model::chat::Tokens;
use crate::model::event::{CallFinished, CallKind, CallOutcome, CallStarted, CostSource, Event, Fault, FaultCode, Warning};
use crate::model::trace_context::TraceContext;
use crate::model::usage::Usage;
use crate::providers::ProviderFailure;
use crate::tools::{Spent, SpentList};

/// A call of neither a model nor a tool.
#[derive(Clone, Debug)]
pub struct ValueCall {
    /// An embedding, a retrieval, a ranking.
    pub kind: CallKind,
    /// What its span is called.
    pub name: &'static str,
    /// Who makes it, when it costs tokens: provider and model.
    pub metered: Option<(String, String)>,
    /// The warning that the step goes on with when it fails.
    pub warns: Option<&'static str>,
}

/// Where the cost of such a call comes from: its provider reports none.
const fn source(usage: &Usage) -> CostSource {
    if usage.unpriced { CostSource::None } else { CostSource::Table }
}

impl StepContext {
    /// Any other call that is made once, in a span of its own: an embedding, a retrieval. What it took belongs to the run, also when it failed;
    /// one that is cut before it sets its mark took nothing.
    ///
    /// # Errors
    /// What the call fails with; a cancel; the store.
    pub async fn value<F>(&self, key: &str, call: ValueCall, make: impl FnOnce(Option<Arc<TraceContext>>, Arc<AtomicBool>) -> F + Send) -> Result<Value, Fault>
    where
        F: Future<Output = Result<(Value, Option<Tokens>), ProviderFailure>> + Send,
    {
        if let Some(done) = self.done(key)
            && let CallOutcome::Value(value) = done.outcome
        {
            return Ok(value);
        }
        let (provider, model) = call.metered.clone().unzip();
        let span = self.world().clock.id();
        self.record(Event::CallStarted(Arc::new(CallStarted {
            step: self.step(),
            key: key.to_owned(),
            kind: call.kind,
            span,
            name: call.name.to_owned(),
            call_id: None,
            arguments: None,
            repeatable: true,
            streams: false,
            provider,
            model,
            prompt: Vec::new(),
            options: serde_json::Map::new(),
            parameters: None,
            asker: None,
        })))?;
        self.journal().durable().await.map_err(|Lost| lost())?;
        let (started, began, made) = (Instant::now(), self.world().clock.now(), Arc::new(AtomicBool::new(false)));
        let result = match self.may_call() {
            Err(cut) => Err(cut.into()),
            Ok(()) => tokio::select! {
                biased;
                result = make(self.onward(span), Arc::clone(&made)) => result,
                () = self.cancelled().cancelled() => Err(ProviderFailure { cut: made.load(Ordering::Relaxed), ..cut_short().into() }),
            },
        };
        let meter = |tokens| call.metered.as_ref().map(|(provider, model)| self.meter(provider, model, tokens, began));
        let (outcome, usage, result): (_, Option<Usage>, _) = match result {
            Ok((value, tokens)) => (CallOutcome::Value(value.clone()), meter(tokens), Ok(value)),
            Err(failure) => {
                let usage = if failure.tokens.is_some() || failure.cut { meter(failure.tokens) } else { None };
                (CallOutcome::Failed(failure.fault.clone()), usage, Err(failure.fault))
            }
        };
        let mut ended = CallFinished::new(self.step(), key, outcome, usage, millis(started.elapsed()));
        ended.cost_source = usage.as_ref().map(source);
        let goes_on = result.as_ref().err().filter(|fault| fault.code != FaultCode::Cancelled);
        ended.warnings.extend(goes_on.and_then(|fault| Some(Warning::new(call.warns?, fault.message.clone()))));
        self.record(Event::CallFinished(Box::new(ended)))?;
        result
    }

    /// Records the calls that a tool has made already: what they took is spent, also when the step is cut meanwhile. Those of an earlier
    /// call of the tool keep their keys.
    pub(super) fn spent(&self, call: &str, spent: &SpentList) -> Result<(), Fault> {
        let mut list = spent.list();
        list.retain(|spent| spent.tokens.is_some() || spent.failed.is_some());
        if list.is_empty() {
            return Ok(());
        }
        let of_it = |key: &&String| key.strip_prefix(call).is_some_and(|rest| rest.starts_with('/'));
        let before = self.open(|step| step.calls.keys().filter(of_it).count()).unwrap_or(0);
        (before..).zip(&list).try_for_each(|(at, spent)| self.spent_at(call, at, spent))
    }

    fn spent_at(&self, call: &str, at: usize, spent: &Spent) -> Result<(), Fault> {
        let Spent { provider, model, tokens, ranks, failed } = spent;
        let (kind, name) = if *ranks { (CallKind::Rerank, "rerank") } else { (CallKind::Embedding, "embed") };
        let (key, step) = (&format!("{call}/{name}:{at}"), self.step());
        self.record(Event::CallStarted(Arc::new(CallStarted {
            step,
            key: key.to_owned(),
            kind,
            span: self.world().clock.id(),
            name: name.to_owned(),
            call_id: None,
            arguments: None,
            repeatable: true,
            streams: false,
            provider: Some(provider.clone()),
            model: Some(model.clone()),
            prompt: Vec::new(),
            options: serde_json::Map::new(),
            parameters: None,
            asker: None,
        })))?;
        let usage = tokens.map(|tokens| self.meter(provider, model, tokens, self.world().clock.now()));
        let outcome = failed.clone().map_or(CallOutcome::Value(Value::Null), |(code, text)| CallOutcome::Failed(Fault::new(code, text)));
        let mut ended = CallFinished::new(step, key, outcome, usage, 0);
        ended.cost_source = usage.as_ref().map(source);
        ended.warnings.extend(failed.iter().filter(|_| *ranks).map(|(_, text)| Warning::new(Warning::RERANK_FAILED, text.clone())));
        self.record(Event::CallFinished(Box::new(ended)))
    }
}
