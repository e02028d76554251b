//! Owns the adaptation of a request to its model: nothing is sent that the model refuses, and each change is a warning.

mod past_calls;

use super::anthropic::request::SAMPLING;
use super::files::{self, Kind};
use super::strict::{self, Mode};
use super::{ChatRequest, Media, thoughts};
use crate::model::Timestamp;
use crate::model::agent::{Parameters, ToolChoice};
use crate::model::chat::Message;
use crate::model::event::Warning;
use crate::model::registry::{Facts, Medium, Reasoning};

/// The efforts, the smallest first.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Changes a request to what its model takes.
pub(super) fn fit(request: &mut ChatRequest, facts: &Facts, now: Timestamp) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if facts.is_retired(now) {
        warnings.push(retired(&request.model, facts));
    }
    sampling(request, facts, &mut warnings);
    effort(request, facts, &mut warnings);
    limit(request, facts, &mut warnings);
    tools(request, facts, &mut warnings);
    media(request, facts, &mut warnings);
    warnings
}

/// Anthropic's models take one of both settings of sampling, none while they think, and none under the newer versions of the interface.
pub(super) fn fit_anthropic(request: &mut ChatRequest, facts: &Facts, version: Option<&str>, warnings: &mut Vec<Warning>) {
    let thinks = facts.reasoning == Some(Reasoning::Always)
        || (facts.reasoning != Some(Reasoning::None) && request.parameters.reasoning_effort.as_deref().is_some_and(|effort| effort != "none"));
    if thinks && request.tool_choice.take_if(|choice| choice.is_for_the_first_call()).is_some() {
        warnings.push(dropped("tool_choice", "is not taken while the model thinks"));
    }
    if thinks {
        drop_sampling(&mut request.parameters, "is not taken while the model thinks", warnings);
    } else if version.is_some_and(|version| version > SAMPLING) {
        drop_sampling(&mut request.parameters, "is not taken under the configured `api_version`", warnings);
    } else if request.parameters.temperature.is_some() && request.parameters.top_p.take().is_some() {
        warnings.push(dropped("top_p", "is not taken together with `temperature`"));
    }
}

/// Models that think by a budget do not begin to think in the middle of a turn.
pub(super) fn fit_thoughts(request: &mut ChatRequest, facts: &Facts, begins_with_thought: fn(&Message) -> bool, warnings: &mut Vec<Warning>) {
    let wanted = request.parameters.reasoning_effort.as_deref().is_some_and(|effort| effort != "none");
    if wanted && facts.reasoning == Some(Reasoning::Budget) && !thoughts::may_go_on(&request.messages, begins_with_thought) {
        request.parameters.reasoning_effort = None;
        warnings.push(dropped("reasoning_effort", "is not taken in a turn that began without a thought, such as one of another model"));
    }
}

/// The older models of Gemini take either functions or tools of the provider: those that have no schema beside tools.
pub(super) fn fit_gemini(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    if facts.structured_with_tools == Some(false) && !request.tools.is_empty() && !request.native_tools.is_empty() {
        request.native_tools.clear();
        warnings.push(dropped("native_tools", &format!("is not taken by `{}` beside other tools", request.model)));
    }
}

/// A schema that a strict mode does not support is a warning: then only the answer is checked against it.
pub(super) fn schema(request: &ChatRequest, mode: &Mode, warnings: &mut Vec<Warning>) {
    if request.schema.as_ref().is_some_and(|schema| strict::rewritten(schema, mode).is_none()) {
        let text = format!(
            "`{}` is not bound to the schema while it answers: its strict mode takes closed objects of known members only",
            request.model
        );
        warnings.push(Warning { parameter: Some("schema".into()), ..Warning::new("schema_weakened", text) });
    }
}

/// Drops a `tool_choice` that the family or the model does not support.
pub(super) fn tool_choice(request: &mut ChatRequest, facts: &Facts, takes: impl FnOnce(&ToolChoice) -> bool, warnings: &mut Vec<Warning>) {
    let taken = facts.tool_choice != Some(false);
    if let Some(choice) = request.tool_choice.take_if(|choice| !(taken && takes(choice)))
        && choice != ToolChoice::Auto
    {
        warnings.push(dropped("tool_choice", &format!("is not taken by `{}`", request.model)));
    }
}

fn retired(model: &str, facts: &Facts) -> Warning {
    let (day, instead) = (facts.retired_at.as_deref().unwrap_or_default(), facts.replacement.as_deref());
    let instead = instead.map(|model| format!("; use `{model}`")).unwrap_or_default();
    Warning { parameter: Some("model".into()), ..Warning::new("model_retired", format!("`{model}` ended on {day}{instead}")) }
}

fn dropped(parameter: &'static str, why: &str) -> Warning {
    Warning { parameter: Some(parameter.into()), ..Warning::new("parameter_dropped", format!("`{parameter}` is left out: it {why}")) }
}

fn changed(parameter: &'static str, text: String) -> Warning {
    Warning { parameter: Some(parameter.into()), ..Warning::new("parameter_changed", text) }
}

fn drop_sampling(parameters: &mut Parameters, why: &str, warnings: &mut Vec<Warning>) {
    warnings.extend(parameters.temperature.take().map(|_| dropped("temperature", why)));
    warnings.extend(parameters.top_p.take().map(|_| dropped("top_p", why)));
}

fn sampling(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    let why = format!("is not taken by `{}`", request.model);
    if facts.sampling == Some(false) {
        drop_sampling(&mut request.parameters, &why, warnings);
    }
    if facts.stop == Some(false) {
        warnings.extend(request.parameters.stop.take().map(|_| dropped("stop", &why)));
    }
}

/// The effort that a model has nearest to a wanted one. Of two as near, the smaller one, unless that is not to think at all.
fn nearest<'f>(wanted: &str, efforts: &'f [String]) -> Option<&'f str> {
    let rank = |effort: &str| EFFORTS.iter().position(|one| *one == effort);
    let wanted = rank(wanted)?;
    let known = efforts.iter().filter_map(|effort| Some((rank(effort)?, effort.as_str())));
    known.min_by_key(|(rank, effort)| (rank.abs_diff(wanted), *effort == "none", *rank)).map(|(_, effort)| effort)
}

fn effort(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    let (Some(wanted), Some(efforts)) = (request.parameters.reasoning_effort.as_deref(), facts.efforts.as_deref()) else { return };
    if efforts.iter().any(|effort| effort == wanted) {
        return;
    }
    let Some(near) = nearest(wanted, efforts) else {
        warnings.push(dropped("reasoning_effort", &format!("is not taken by `{}`", request.model)));
        request.parameters.reasoning_effort = None;
        return;
    };
    let text = format!("`reasoning_effort` is `{near}` instead of `{wanted}`, which `{}` does not have", request.model);
    warnings.push(changed("reasoning_effort", text));
    request.parameters.reasoning_effort = Some(near.to_owned());
}

fn limit(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    let (Some(wanted), Some(most)) = (request.parameters.max_tokens, facts.max_output) else { return };
    if wanted > most {
        warnings
            .push(changed("max_tokens", format!("`max_tokens` is {most} instead of {wanted}, the most that `{}` takes", request.model)));
        request.parameters.max_tokens = Some(most);
    }
}

fn tools(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    let why = format!("is not taken by `{}`", request.model);
    if facts.tools == Some(false) {
        if !(request.tools.is_empty() && request.native_tools.is_empty()) {
            request.tools.clear();
            request.native_tools.clear();
            warnings.push(dropped("tools", &why));
        }
        past_calls::tell(&mut request.messages);
    }
    if request.tools.is_empty() && request.native_tools.is_empty() {
        (request.parallel_tool_calls, request.tool_choice) = (None, None);
    } else if facts.parallel_tools == Some(false) {
        warnings.extend(request.parallel_tool_calls.take().map(|_| dropped("parallel_tool_calls", &why)));
    }
}

fn media(request: &mut ChatRequest, facts: &Facts, warnings: &mut Vec<Warning>) {
    refuse(request, |file| medium(file).is_some_and(|medium| !facts.reads(medium)), warnings);
}

/// Whether a family takes the bytes of a file of a kind and a type, or its text, for a model of which this is known.
pub(super) type Carries = fn(&Facts, Kind, &str) -> bool;

/// What the interface of a family has no place for is only named, whatever the model reads.
pub(super) fn carried(request: &mut ChatRequest, facts: &Facts, carries: Carries, warnings: &mut Vec<Warning>) {
    refuse(request, |file| !file.refused && !carries(facts, files::kind(file), &file.mime_type), warnings);
}

fn refuse(request: &mut ChatRequest, such: impl Fn(&Media) -> bool, warnings: &mut Vec<Warning>) {
    for file in request.media.iter_mut().filter(|file| such(file)) {
        file.refused = true;
        let name = file.name.as_deref().unwrap_or("file");
        let text = format!("`{}` does not read {}: the file `{name}` is only named", request.model, file.mime_type);
        warnings.push(Warning::new("attachment_dropped", text));
    }
}

/// The input type that a file needs; none for files that are sent as text or only named.
fn medium(file: &Media) -> Option<Medium> {
    match files::kind(file) {
        Kind::Image => Some(Medium::Image),
        Kind::Audio => Some(Medium::Audio),
        Kind::Video => Some(Medium::Video),
        Kind::Pdf => Some(Medium::Pdf),
        Kind::Text | Kind::Other => None,
    }
}

#[cfg(test)]
mod tests;
