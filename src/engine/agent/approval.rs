//! Owns the decision on each tool call of a turn: run, refuse, decided by a person, or wait.

use serde_json::Value;

use super::binding::{Bound, ToolTable};
use super::words;
use crate::engine::drive::context::StepContext;
use crate::model::chat::ToolCall;
use crate::model::event::{CallServer, Decision};
use crate::tools::schema;

/// More calls of one turn than this are not run.
const CALLS: usize = 64;

/// What becomes of a call.
pub(super) enum CallDecision<'t, 'a> {
    Run(&'t Bound<'a>),
    /// It cannot run; the model receives the reason.
    Refuse(String),
    /// A person declined it; the model receives that.
    Declined(String),
    /// A person has to decide on a call of this.
    Wait(&'t Bound<'a>),
}

/// A call with what becomes of it; edited arguments are in the call.
pub(super) struct Planned<'t, 'a> {
    pub(super) call: ToolCall,
    pub(super) decision: CallDecision<'t, 'a>,
    /// A person decides, or decided, on it.
    pub(super) gated: bool,
    /// The server that it is for, if it is one's.
    pub(super) server: Option<CallServer>,
}

/// What becomes of the calls of a turn, in model order.
pub(super) fn plan<'t, 'a>(context: &StepContext, tools: &'t ToolTable<'a>, can_wait: bool, calls: &[ToolCall]) -> Vec<Planned<'t, 'a>> {
    let one = |(at, call): (usize, &ToolCall)| {
        if at >= CALLS {
            return refuse(call.clone(), format!("At most {CALLS} calls of one turn are run; this one was not."));
        }
        plan_one(context, tools, can_wait, call)
    };
    calls.iter().enumerate().map(one).collect()
}

/// Whether a person declined every call of a turn that needed approval, after which the node is left by `rejected`; none if no call needed it.
pub(super) fn all_declined(calls: &[Planned<'_, '_>]) -> Option<bool> {
    let mut gated = calls.iter().filter(|one| one.gated).peekable();
    gated.peek()?;
    Some(gated.all(|one| matches!(one.decision, CallDecision::Declined(_))))
}

const fn refuse<'t, 'a>(call: ToolCall, text: String) -> Planned<'t, 'a> {
    Planned { call, decision: CallDecision::Refuse(text), gated: false, server: None }
}

fn plan_one<'t, 'a>(context: &StepContext, tools: &'t ToolTable<'a>, can_wait: bool, call: &ToolCall) -> Planned<'t, 'a> {
    let decision = context.decision(&call.id);
    if let Some(no) = decision.as_ref().filter(|decision| !decision.approved) {
        let decision = CallDecision::Declined(words::declined(no.message.as_deref()));
        return Planned { call: call.clone(), decision, gated: true, server: None };
    }
    let server = context.server_of(&call.id);
    let Some(bound) = tools.find_for(call, server.as_ref()) else {
        let unknown = || words::unknown_tool(&call.name, tools.names());
        let text = server.map_or_else(unknown, |server| words::lost_tool(&server, context.progress(&call.id), decision.is_some()));
        return Planned { gated: decision.is_some(), ..refuse(call.clone(), text) };
    };
    let server = server.or_else(|| bound.server());
    let call = as_it_runs(call, bound);
    // What a person decided holds, whether the tool still asks for it or not.
    if let Some(decision) = &decision {
        return decided(call, bound, decision, server);
    }
    if let Some(problem) = &call.invalid {
        let text = words::misfit(&call.name, std::slice::from_ref(problem));
        return refuse(call, text);
    }
    if let Some(text) = misfit(bound, &call.arguments) {
        return refuse(call, text);
    }
    // A call that was made is not asked about, whatever its tool wants by now.
    if !tools.is_gated(bound) || context.is_made(&call.id) {
        return Planned { call, decision: CallDecision::Run(bound), gated: false, server };
    }
    if !can_wait {
        let text = format!("`{}` needs a person's approval, which cannot be asked for here; it did not run.", call.name);
        return refuse(call, text);
    }
    Planned { call, decision: CallDecision::Wait(bound), gated: true, server }
}

/// What a model says of fixed arguments does not hold, and is shown to nobody.
fn as_it_runs(call: &ToolCall, bound: &Bound<'_>) -> ToolCall {
    let mut call = call.clone();
    if let Value::Object(arguments) = &mut call.arguments {
        arguments.retain(|key, _| !bound.is_fixed(key));
    }
    call
}

fn decided<'t, 'a>(mut call: ToolCall, bound: &'t Bound<'a>, decision: &Decision, server: Option<CallServer>) -> Planned<'t, 'a> {
    if let Some(arguments) = &decision.arguments {
        call.arguments.clone_from(arguments);
    }
    let fixed = call.arguments.as_object().into_iter().flatten().map(|(key, _)| key).find(|key| bound.is_fixed(key));
    let problem = fixed.map(|key| words::fixed(&call.name, key)).or_else(|| misfit(bound, &call.arguments));
    let decision = problem.map_or(CallDecision::Run(bound), CallDecision::Refuse);
    Planned { call, decision, gated: true, server }
}

fn misfit(bound: &Bound<'_>, arguments: &Value) -> Option<String> {
    let offer = bound.offer();
    let problems = schema::argument_problems(&offer.input_schema, arguments);
    (!problems.is_empty()).then(|| words::misfit(&offer.name, &problems))
}
