//! Owns the finish reasons of a model's answer: a cut or filtered answer never counts as complete.

use crate::engine::agent::SUMMARIZE;
use crate::engine::calls::ModelCall;
use crate::model::agent::OnLength;
use crate::model::chat::Tokens;
use crate::model::event::{Fault, FaultCode, Warning};
use crate::providers::{ChatReply, Finish};

/// Why an answer cannot be used; none when it can, with its warnings.
pub(in crate::engine) fn judge(call: &ModelCall, reply: &mut ChatReply) -> Option<Fault> {
    let (calls, silent) = (!reply.message.tool_calls.is_empty(), reply.message.content.trim().is_empty() && reply.message.attachments.is_empty());
    if reply.finish == Finish::ContentFilter && (calls || silent) {
        let run = if calls { " among its calls of tools; none of them was run" } else { "" };
        return Some(Fault::new(FaultCode::ProviderContentFiltered, format!("the provider's filter stopped the answer{run}")));
    }
    let warned = reply.warnings.iter().any(|warning| warning.code == Warning::ANSWER_CUT);
    if reply.finish != Finish::Length && !warned {
        return None;
    }
    let what = if calls {
        "among its calls of tools, and none of them was run"
    } else if silent {
        "before it said anything"
    } else if call.request.schema.is_some() {
        "within its structured answer, which is not used"
    } else if call.on_length == OnLength::Fail {
        "within its answer, which is not used because `on_length` is `fail`"
    } else {
        if !warned {
            reply.warnings.push(cut(call, reply.tokens));
        }
        return None;
    };
    Some(truncated(call, reply, what))
}

fn truncated(call: &ModelCall, reply: &ChatReply, what: &str) -> Fault {
    let model = &call.request.model;
    let told = reply.warnings.iter().find(|warning| warning.code == Warning::ANSWER_CUT).map(|warning| warning.message.clone());
    let text = match told {
        Some(told) => format!("the answer of `{model}` ended {what}: {told}"),
        None => {
            let effort = if call.request.parameters.reasoning_effort.is_some() { " or a lower `reasoning_effort`" } else { "" };
            format!("`{model}` reached its token limit {what}: {}; set a larger `max_tokens`{effort}", used(call, reply.tokens))
        }
    };
    Fault::new(FaultCode::OutputTruncated, text)
}

fn cut(call: &ModelCall, tokens: Option<Tokens>) -> Warning {
    let what = if call.name == SUMMARIZE { "summary of older turns" } else { "answer" };
    let text = format!("the {what} of `{}` is cut at its token limit: {}", call.request.model, used(call, tokens));
    Warning { parameter: Some("max_tokens".into()), ..Warning::new(Warning::ANSWER_CUT, text) }
}

/// The limit, and what used it up.
fn used(call: &ModelCall, tokens: Option<Tokens>) -> String {
    let limit = match call.request.parameters.max_tokens {
        Some(limit) => format!("`max_tokens` is {limit}"),
        None => "`max_tokens` is not set, so the limit is the model's own".to_owned(),
    };
    match tokens {
        Some(tokens) if tokens.reasoning > 0 => format!("{limit}; it wrote {} tokens, {} of them reasoning", tokens.completion, tokens.reasoning),
        Some(tokens) => format!("{limit}; it wrote {} tokens", tokens.completion),
        None => limit,
    }
}
