//! Owns tool calls from other providers: newer Gemini models require a signature or a placeholder for it.

use serde_json::Value;

use crate::model::registry::{Facts, Reasoning};

/// Stands for the signature of a call that the model did not make, see <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Marks the first call of each content without a signed call. Models with a reasoning budget need no signatures.
pub(super) fn mark(contents: &mut [Value], facts: &Facts) {
    if matches!(facts.reasoning, None | Some(Reasoning::None | Reasoning::Budget)) {
        return;
    }
    for parts in contents.iter_mut().filter_map(|content| content.get_mut("parts")?.as_array_mut()) {
        let mut calls: Vec<&mut Value> = parts.iter_mut().filter(|part| part.get("functionCall").is_some()).collect();
        if calls.iter().all(|call| call.get("thoughtSignature").is_none())
            && let Some(first) = calls.first_mut().and_then(|call| call.as_object_mut())
        {
            first.insert("thoughtSignature".into(), UNSIGNED.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::registry;

    #[test]
    fn only_calls_that_nobody_signed_are_marked_and_only_for_models_that_check() {
        let call = |signature: Option<&str>| {
            let mut call = json!({"functionCall": {"name": "n", "args": {}}});
            call.as_object_mut().expect("a part").extend(signature.map(|signature| ("thoughtSignature".to_owned(), signature.into())));
            call
        };
        let contents = || {
            let of = |parts: Value| json!({"role": "model", "parts": parts});
            vec![of(json!([{"text": "So"}, call(None), call(None)])), of(json!([call(Some("own")), call(None)])), of(json!([{"text": "Hi"}]))]
        };
        let signatures = |model: &str| {
            let mut contents = contents();
            mark(&mut contents, &registry::find("gemini", model).facts);
            let parts = contents.iter().flat_map(|content| content["parts"].as_array().expect("parts"));
            parts.map(|part| part["thoughtSignature"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(signatures("gemini-3-flash-preview"), format!("- {UNSIGNED} - own - -"));
        assert_eq!(signatures("gemini-2.5-flash"), "- - - own - -");
    }
}
