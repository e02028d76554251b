//! Owns tool calls without a recorded outcome when their step is entered again: repeated, decided by a person, or in doubt.

use std::time::Duration;

use crate::engine::calls::tool_calls::outcome;
use crate::engine::drive::context::StepContext;
use crate::model::chat::ToolCall;
use crate::model::event::{CallOutcome, DoubtAction, Fault, FaultCode, ToolOutcome};
use crate::model::node::Node;
use crate::model::run::{Call, OpenStep};

impl StepContext {
    /// A call whose end was not recorded is made again only if a person decides so. A model receives that as the result; a node fails and waits for the decision.
    pub(super) fn unknown(&self, key: &str, call: &ToolCall, parent: Option<&str>) -> Result<Option<ToolOutcome>, Fault> {
        let look = |step: &OpenStep| (step.calls.get(key).cloned(), step.doubts.get(&call.id).cloned());
        let Some((Some(Call::Open(open)), doubt)) = self.open(look) else { return Ok(None) };
        let outcome = |result: String, is_error, skipped| ToolOutcome { skipped, ..outcome(call, result, is_error, parent) };
        Ok(match doubt {
            Some(answer) => match answer.action {
                DoubtAction::Rerun => None,
                DoubtAction::Skip => Some(outcome("The call was skipped; it is not known whether it ran.".into(), false, true)),
                DoubtAction::Use => Some(outcome(answer.result.unwrap_or_default(), false, false)),
            },
            None if open.repeatable => None,
            None if matches!(self.node().node, Node::Tool(_) | Node::Mcp(_)) => return Err(in_doubt(&call.name)),
            None => Some(outcome("The call was cut short; it is not known whether it ran, so it was not repeated.".into(), true, false)),
        })
    }

    /// What a call gave before, or what a person decided of it: what it calls need not be there any more.
    ///
    /// # Errors
    /// A call in doubt that nobody decided on; when the run is lost.
    pub fn settled(&self, call_id: &str) -> Result<Option<ToolOutcome>, Fault> {
        let key = format!("tool:{call_id}");
        match self.open(|step| step.calls.get(&key).cloned()).flatten() {
            Some(Call::Done(done)) => Ok(if let CallOutcome::Tool(outcome) = done.outcome { Some(outcome) } else { None }),
            Some(Call::Open(open)) => {
                let arguments = open.arguments.clone().unwrap_or_default();
                let call = ToolCall { id: call_id.to_owned(), name: open.name.clone(), arguments, invalid: None };
                self.unknown(&key, &call, None)?.map(|outcome| self.tool_ended(&key, outcome, Duration::ZERO)).transpose()
            }
            None => Ok(None),
        }
    }

    /// The step has one tool call, which must not be repeated and whose end is unknown.
    pub(in crate::engine) fn is_in_doubt(&self) -> bool {
        let open = |step: &OpenStep| step.calls.values().any(|call| matches!(call, Call::Open(open) if !open.repeatable));
        matches!(self.node().node, Node::Tool(_) | Node::Mcp(_)) && self.open(open).unwrap_or(false)
    }

    /// A person's decision about a call in doubt holds, also where the call could not be made again.
    pub(super) fn decided(&self, key: &str, call: &ToolCall, parent: Option<&str>) -> Result<Option<ToolOutcome>, Fault> {
        let is_decided = |step: &OpenStep| step.doubts.get(&call.id).is_some_and(|answer| answer.action != DoubtAction::Rerun);
        if self.open(is_decided).unwrap_or(false) { self.unknown(key, call, parent) } else { Ok(None) }
    }
}

fn in_doubt(name: &str) -> Fault {
    let text = format!("nobody knows whether `{name}` did its work, because its call got no answer; retry the run with a decision for the call (`in_doubt`)");
    Fault::new(FaultCode::InDoubt, text)
}
