//! Owns the approximate size of an entry in bytes, to limit what is queued in memory.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::parts::Part;
use super::{Answer, CallOutcome, CallServer, Change, Event, Fault, PauseReason, PureOutcome, Turn};

/// About the bytes of what every entry has.
const PLAIN: usize = 128;

impl Event {
    /// About how many bytes it holds; cheap to say.
    pub fn weight(&self) -> usize {
        PLAIN + match self {
            Self::Created(created) => created.message.len() + created.state.iter().map(|(key, value)| key.len() + of_value(value)).sum::<usize>(),
            Self::StepRan(ran) => match &ran.outcome {
                PureOutcome::Left { change, .. } => of_change(change),
                PureOutcome::Failed(fault) => of_fault(fault),
            },
            Self::StepCompleted(done) => of_change(&done.change) + done.turn.as_ref().map_or(0, of_turn),
            Self::StepFailed { fault, .. } | Self::StepRetrying { fault, .. } | Self::Failed { fault, .. } => of_fault(fault),
            Self::ToolsCalled { calls, servers, .. } => calls.iter().map(|call| of_value(&call.arguments)).sum::<usize>() + of_servers(servers),
            Self::CallStarted(call) => call.arguments.as_ref().map_or(0, of_value) + call.prompt.len() * 64,
            Self::CallFinished(call) => of_outcome(&call.outcome) + call.structured.as_ref().map_or(0, of_value) + call.made().len() * PLAIN,
            Self::PromptBuilt { parts, covers, .. } => parts.len() * 64 + covers.len() * 16,
            Self::Measured(measured) => of_value(&measured.output),
            Self::Paused(pause) => match &pause.reason {
                PauseReason::Human { prompt, .. } => prompt.len(),
                PauseReason::Approval { calls, schemas, servers, fixed, .. } => {
                    let fixed = fixed.values().flatten().map(|(key, value)| key.len() + of_value(value));
                    let shown = calls.iter().map(|call| of_value(&call.arguments)).chain(fixed);
                    shown.chain(schemas.values().map(of_value)).sum::<usize>() + of_servers(servers)
                }
            },
            Self::Resumed(resumed) => match &resumed.answer {
                Answer::Human { message, .. } | Answer::Question { message, .. } => message.len(),
                Answer::Approval { decisions } => decisions.iter().filter_map(|one| one.arguments.as_ref()).map(of_value).sum(),
            },
            Self::Retried(retried) => retried.state.iter().map(|(key, value)| key.len() + of_value(value)).sum(),
            Self::Completed { output, reply } => {
                output.iter().map(|(key, value)| key.len() + of_value(value)).sum::<usize>() + reply.as_ref().map_or(0, String::len)
            }
            Self::Began
            | Self::StepStarted(_)
            | Self::TakenOver { .. }
            | Self::ClockJumped { .. }
            | Self::Requeued { .. }
            | Self::ModelFallback(_)
            | Self::CheckpointHit { .. }
            | Self::BranchStarted { .. }
            | Self::BranchEnded
            | Self::Rested { .. }
            | Self::Cancelled { .. } => 0,
        }
    }
}

fn of_servers(servers: &BTreeMap<String, CallServer>) -> usize {
    servers.iter().map(|(call, server)| PLAIN + call.len() + server.slug.len() + server.tool.len()).sum()
}

fn of_change(change: &Change) -> usize {
    change.iter().map(|(key, value)| key.len() + of_value(value)).sum()
}

fn of_fault(fault: &Fault) -> usize {
    fault.message.len() + fault.calls.iter().map(|call| of_value(&call.arguments)).sum::<usize>()
}

fn of_turn(turn: &Turn) -> usize {
    let message = |message: &crate::model::chat::Message| {
        PLAIN + message.content.len() + message.attachments.len() * PLAIN + message.parts.iter().map(Part::weight).sum::<usize>() + message.tool_calls.iter().map(|call| of_value(&call.arguments)).sum::<usize>()
    };
    turn.messages.iter().map(message).sum()
}

fn of_outcome(outcome: &CallOutcome) -> usize {
    match outcome {
        CallOutcome::Message(_) => 64,
        CallOutcome::Tool(outcome) => outcome.result.len() + of_value(&outcome.inputs),
        CallOutcome::Asked(_) => PLAIN,
        CallOutcome::Value(value) => of_value(value),
        CallOutcome::Failed(fault) => of_fault(fault),
    }
}

/// About the bytes of a value.
pub(in crate::model) fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
        Value::String(text) => text.len() + 16,
        Value::Array(items) => items.iter().map(of_value).sum::<usize>() + 16,
        Value::Object(fields) => fields.iter().map(|(key, item)| key.len() + 32 + of_value(item)).sum::<usize>() + 16,
    }
}
