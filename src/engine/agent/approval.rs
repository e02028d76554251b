//! Owns the decision on each tool call of a turn: run, refuse, decided by a person, or wait.

use serde_json::Value;

use super::binding::{Bound, ToolTable};
use super::words;
use crate::engine::drive::context::StepContext;
use crate::model::chat::ToolCall;
use crate::model::event::Decision;
use crate::tools::schema;

/// More calls of one turn than this are not run.
const CALLS: usize = 64;

/// What becomes of a call.
pub(super) enum CallDecision<'t, 'a> {
    /// It runs.
    Run(&'t Bound<'a>),
    /// It cannot run; the model receives the reason.
    Refuse(String),
    /// A person declined it; the model receives that.
    Declined(String),
    /// A person has to decide.
    Wait,
}

/// A call with what becomes of it; edited arguments are in the call.
pub(super) struct Planned<'t, 'a> {
    pub(super) call: ToolCall,
    pub(super) fate: CallDecision<'t, 'a>,
    /// A person decides, or decided, on it.
    pub(super) gated: bool,
}

/// What becomes of the calls of a turn, in model order.
pub(super) fn plan<'t, 'a>(context: &StepContext, tools: &'t ToolTable<'a>, can_wait: bool, calls: &[ToolCall]) -> Vec<Planned<'t, 'a>> {
    let one = |(at, call): (usize, &ToolCall)| {
        if at >= CALLS {
            return refuse(call, format!("At most {CALLS} calls of one turn are run; this one was not."));
        }
        plan_one(context, tools, can_wait, call)
    };
    calls.iter().enumerate().map(one).collect()
}

fn refuse<'t, 'a>(call: &ToolCall, text: String) -> Planned<'t, 'a> {
    Planned { call: call.clone(), fate: CallDecision::Refuse(text), gated: false }
}

fn plan_one<'t, 'a>(context: &StepContext, tools: &'t ToolTable<'a>, can_wait: bool, call: &ToolCall) -> Planned<'t, 'a> {
    let Some(bound) = tools.find(&call.name) else { return refuse(call, words::unknown_tool(&call.name, tools.names())) };
    if let Some(problem) = &call.invalid {
        return refuse(call, words::misfit(&call.name, std::slice::from_ref(problem)));
    }
    if let Some(text) = misfit(bound, &call.arguments) {
        return refuse(call, text);
    }
    if !tools.is_gated(bound) {
        return Planned { call: call.clone(), fate: CallDecision::Run(bound), gated: false };
    }
    if !can_wait {
        return refuse(call, format!("`{}` needs a person's approval, which cannot be asked for here; it did not run.", call.name));
    }
    match context.decision(&call.id) {
        Some(decision) => decided(call, bound, &decision),
        None => Planned { call: call.clone(), fate: CallDecision::Wait, gated: true },
    }
}

fn decided<'t, 'a>(call: &ToolCall, bound: &'t Bound<'a>, decision: &Decision) -> Planned<'t, 'a> {
    let mut call = call.clone();
    if !decision.approved {
        return Planned { call, fate: CallDecision::Declined(words::declined(decision.message.as_deref())), gated: true };
    }
    if let Some(arguments) = &decision.arguments {
        call.arguments.clone_from(arguments);
    }
    let fate = misfit(bound, &call.arguments).map_or(CallDecision::Run(bound), CallDecision::Refuse);
    Planned { call, fate, gated: true }
}

fn misfit(bound: &Bound<'_>, arguments: &Value) -> Option<String> {
    let offer = bound.offer();
    let problems = schema::argument_problems(&offer.input_schema, arguments);
    (!problems.is_empty()).then(|| words::misfit(&offer.name, &problems))
}
