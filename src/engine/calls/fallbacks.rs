//! Owns who answers a model call: the model itself, else the first of its fallbacks that does. The log says how far down the list a speaker has come.

use std::sync::Arc;

use crate::engine::calls::{ModelAnswer, ModelCall};
use crate::engine::drive::context::StepContext;
use crate::model::agent::Parameters;
use crate::model::event::{Event, Fault, ModelFallback, ModelName, Warning};
use crate::model::fallback_codes::Reach;

/// One who may be asked.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Instead of the provider's own.
    pub credential: Option<String>,
    /// Settings.
    pub parameters: Parameters,
}

/// One call of a list: who is asked, and who would be next.
pub(super) struct InTurn<'a> {
    context: &'a StepContext,
    key: &'a str,
    candidates: &'a [Candidate],
    place: usize,
    /// Why it is not the first of the list.
    since: Option<Arc<ModelFallback>>,
}

impl StepContext {
    /// Asks a list of models, from the one that its speaker has come to, until one answers or none is left.
    pub(super) async fn ask_in_turn(&self, key: &str, mut call: ModelCall) -> Result<ModelAnswer, Fault> {
        let ModelCall { provider, request, .. } = &call;
        let first = Candidate {
            provider: provider.clone(),
            model: request.model.clone(),
            credential: request.credential.clone(),
            parameters: request.parameters.clone(),
        };
        let candidates: Vec<Candidate> = std::iter::once(first).chain(std::mem::take(&mut call.others)).collect();
        loop {
            let (place, since) = self.open(|step| (step.fallbacks.place(key), step.fallbacks.last(key).cloned())).unwrap_or_default();
            let place = usize::try_from(place).unwrap_or(0).min(candidates.len() - 1);
            let turn = InTurn { context: self, key, candidates: &candidates, place, since };
            let fault = match self.ask_one(key, &mut turn.call(&call), Some(&turn)).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let now = self.open(|step| step.fallbacks.place(key)).unwrap_or_default();
            if usize::try_from(now).is_ok_and(|now| now <= place) {
                return Err(fault);
            }
        }
    }

    /// Records that a call failed; in the same write, who is asked instead.
    pub(super) fn record_failed(&self, finished: Event, instead: Option<ModelFallback>) -> Result<(), Fault> {
        let Some(instead) = instead else { return self.record(finished) };
        let mut core = self.journal().lock();
        let emitted = self.journal().emit_in(&mut core, self.lane(), finished);
        let emitted = emitted.and_then(|_| self.journal().emit_in(&mut core, self.lane(), Event::ModelFallback(Box::new(instead))));
        emitted.map(|_| ()).map_err(|_lost| crate::engine::drive::context::lost())
    }
}

impl InTurn<'_> {
    /// The call as it is made of this candidate.
    fn call(&self, call: &ModelCall) -> ModelCall {
        let candidate = &self.candidates[self.place];
        let mut request = call.request.clone();
        request.model.clone_from(&candidate.model);
        request.credential.clone_from(&candidate.credential);
        request.parameters.clone_from(&candidate.parameters);
        let &ModelCall { name, tell, on_length, ref warnings, .. } = call;
        ModelCall { name, provider: candidate.provider.clone(), request, tell, on_length, others: Vec::new(), warnings: warnings.clone() }
    }

    /// What people should know of this call.
    pub(super) fn warning(&self) -> Option<Warning> {
        let since = self.since.as_deref().filter(|since| since.key == self.key)?;
        let ModelFallback { from, to, code, .. } = since;
        let text = format!(
            "the call of `{}` ({}) ended with `{}`, so `{}` ({}) was asked instead",
            from.model,
            from.provider,
            code.as_str(),
            to.model,
            to.provider
        );
        Some(Warning::new(Warning::FALLBACK, text))
    }

    /// The fallback after this failure; none if readers received some of the answer's text, or if no remaining one would help.
    pub(super) fn next(&self, fault: &Fault, published: bool) -> Option<ModelFallback> {
        if published {
            return None;
        }
        let reach = |candidate: &Candidate| {
            let facts = self.context.world().providers.facts(&candidate.provider, &candidate.model).facts;
            Reach::new(&facts, candidate.parameters.max_tokens)
        };
        let name = |candidate: &Candidate| ModelName { provider: candidate.provider.clone(), model: candidate.model.clone() };
        let from = &self.candidates[self.place];
        let own = reach(from);
        let mut later = self.candidates.iter().enumerate().skip(self.place + 1);
        let (place, to) = later.find(|(_, candidate)| own.is_helped_by(reach(candidate), fault.code))?;
        Some(ModelFallback {
            step: self.context.step(),
            key: self.key.to_owned(),
            from: name(from),
            to: name(to),
            code: fault.code,
            place: u32::try_from(place).ok()?,
        })
    }
}
