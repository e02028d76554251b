//! Owns the body of a request for a response.

use serde_json::{Map, Value, json};

use super::{FAMILY, items};
use crate::model::agent::Parameters;
use crate::model::registry::{Reasoning, Structured};
use crate::providers::openai::request::{Forms, add_tools, strictly};
use crate::providers::files::{self, Takes};
use crate::providers::{ChatRequest, NativeTool, instruct};

/// Files of results follow them.
const TAKES: Takes = Takes { results: false, answers: Some(FAMILY) };

pub(in crate::providers) fn body(request: &ChatRequest, strict: bool) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let takes_schemas = request.facts(FAMILY).structured() == Structured::Schema;
    let native = request.schema.as_ref().filter(|schema| takes_schemas && is_object(schema));
    let told = request.schema.as_ref().filter(|_| native.is_none());
    let instructions = instruct::instructions(&request.messages, told);
    if !instructions.is_empty() {
        body.insert("instructions".into(), instructions.into());
    }
    body.insert("input".into(), files::carried(&request.messages, TAKES).iter().flat_map(|message| items::of(message, &request.media)).collect());
    // Nothing is kept at the provider, so reasoning has to travel with the conversation.
    body.insert("store".into(), false.into());
    if reasons(request) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    add_tools(&mut body, request, &FORMS);
    add_parameters(&mut body, &request.parameters, reasons(request));
    if let Some(schema) = native {
        let (schema, strict) = strictly(schema, strict);
        let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": strict});
        body.insert("text".into(), json!({ "format": format }));
    }
    body.extend(request.cache_key.clone().map(|key| ("prompt_cache_key".to_owned(), key.into())));
    if request.stream {
        body.insert("stream".into(), true.into());
    }
    Value::Object(body)
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Models that do not reason refuse to be asked for their reasoning.
fn reasons(request: &ChatRequest) -> bool {
    let thinks = request.facts(FAMILY).reasoning.is_some_and(|reasoning| reasoning != Reasoning::None);
    request.parameters.reasoning_effort.is_some() || thinks
}

/// Code runs in a container; unless one is named, the provider makes it.
fn native(tool: &NativeTool) -> Value {
    let mut told = tool.typed(&tool.kind);
    if tool.kind == "code_interpreter" {
        told.entry("container").or_insert_with(|| json!({"type": "auto"}));
    }
    Value::Object(told)
}

const FORMS: Forms = Forms {
    function: |tool| {
        json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.input_schema, "strict": false})
    },
    native,
    named: |name| json!({"type": "function", "name": name}),
};

/// There is no setting for texts that end the answer.
fn add_parameters(body: &mut Map<String, Value>, parameters: &Parameters, reasons: bool) {
    let effort = parameters.reasoning_effort.as_deref();
    let summary = (reasons && effort != Some("none") && parameters.shows_reasoning()).then_some("auto");
    let reasoning: Map<String, Value> =
        [("effort", effort), ("summary", summary)].into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect();
    let settings = [
        ("temperature", parameters.temperature.map(Value::from)),
        ("top_p", parameters.top_p.map(Value::from)),
        ("max_output_tokens", parameters.max_tokens.map(Value::from)),
        ("reasoning", (!reasoning.is_empty()).then_some(reasoning.into())),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            body.insert(key.into(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_asked_of_models_that_reason() {
        for (model, wanted) in [
            ("o3-mini", true),
            ("gpt-5.2", true),
            ("openai/gpt-5-mini", true),
            ("gpt-5-chat-latest", false),
            ("gpt-4o", false),
            ("omni-moderation", false),
        ] {
            assert_eq!(reasons(&ChatRequest::new(model, Vec::new())), wanted, "{model}");
        }
    }
}
