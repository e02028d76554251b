//! Owns the pieces of an answer: texts, tool call fragments, token counts.

use serde_json::{Map, Value};

use crate::model::chat::{Tokens, ToolCall};
use crate::providers::ProviderFailure;
use crate::providers::reply::{self, MOST_CALLS, tool_call};

/// A tool call while its fragments come.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Bytes that were read to find out whether the arguments are whole.
    read: usize,
}

impl Fragment {
    /// Its arguments are an object. A server that repeats the head of a call makes this read them a few times, not with each piece.
    fn is_whole(&mut self) -> bool {
        if self.read > 8 * self.arguments.len() || !self.arguments.trim_end().ends_with('}') {
            return false;
        }
        self.read += self.arguments.len();
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }
}

/// Tool calls while their fragments come.
#[derive(Debug, Default)]
pub(super) struct Fragments(Vec<Fragment>);

impl Fragments {
    /// Takes the `tool_calls` of a message or a delta; some servers give a single one without a list.
    pub(super) fn take(&mut self, calls: Option<&Value>) -> Result<(), ProviderFailure> {
        let single = calls.filter(|calls| calls.is_object());
        for call in calls.and_then(Value::as_array).into_iter().flatten().chain(single) {
            self.take_one(call);
            if self.0.len() > MOST_CALLS {
                return Err(reply::too_many_calls());
            }
        }
        Ok(())
    }

    /// Takes the `function_call` of older servers: one call, without an id.
    pub(super) fn take_old(&mut self, function: Option<&Value>) {
        if let Some(function) = function.filter(|function| function.is_object()) {
            self.take_function(Some(0), "", function);
        }
    }

    fn take_one(&mut self, call: &Value) {
        let function = call.get("function").unwrap_or(&Value::Null);
        self.take_function(call.get("index").and_then(Value::as_u64), text(call.get("id")), function);
    }

    fn take_function(&mut self, index: Option<u64>, id: &str, function: &Value) {
        let (name, piece) = (text(function.get("name")), text(function.get("arguments")).trim());
        let begins = !name.is_empty() && piece.starts_with('{');
        let same = |one: &Fragment| one.id == id && one.name == name && one.arguments.trim() == piece;
        if begins && !id.is_empty() && self.0.iter().any(same) {
            return;
        }
        let at = self.place(index, id, name, begins);
        let Some(fragment) = self.0.get_mut(at) else { return };
        if fragment.id.is_empty() {
            id.clone_into(&mut fragment.id);
        }
        if fragment.name.is_empty() {
            name.clone_into(&mut fragment.name);
        }
        match function.get("arguments") {
            Some(Value::String(piece)) => fragment.arguments.push_str(piece),
            Some(whole @ Value::Object(_)) => fragment.arguments = whole.to_string(),
            Some(_) | None => {}
        }
    }

    /// Where a fragment belongs. Some servers leave out the index, or give every call the same one with its own id, or all the same id:
    /// a fragment that `begins` an object does not go on with a whole one.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str, begins: bool) -> usize {
        let known = match index {
            Some(index) => self.0.iter().rposition(|one| one.index == Some(index)),
            None if !id.is_empty() => self.0.iter().rposition(|one| one.id == id),
            None if name.is_empty() => self.0.len().checked_sub(1),
            None => None,
        };
        let known = known.filter(|at| {
            let other_id = self.0.get(*at).is_some_and(|one| !one.id.is_empty() && !id.is_empty() && one.id != id);
            let mut whole = || self.0.get_mut(*at).is_some_and(Fragment::is_whole);
            (!other_id || name.is_empty()) && !(begins && whole())
        });
        known.unwrap_or_else(|| {
            self.0.push(Fragment { index, ..Fragment::default() });
            self.0.len() - 1
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much of arguments came so far.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|one| one.arguments.len()).sum()
    }

    pub(super) fn calls(self) -> Vec<ToolCall> {
        let mut fragments = self.0;
        fragments.sort_by_key(|one| one.index.unwrap_or(u64::MAX));
        fragments.into_iter().map(|one| tool_call(one.id, one.name, &one.arguments)).collect()
    }
}

/// The text of a `content`: a string, or a list of parts of which the text ones count.
pub(super) fn content(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter(|part| part.get("type").is_none_or(|kind| kind == "text"));
            texts.map(|part| text(part.get("text"))).collect()
        }
        Some(_) | None => String::new(),
    }
}

/// Reasoning under the names that servers use: a separate text, or parts of the content.
pub(super) fn thought(message: &Value, configured: Option<&str>) -> String {
    let own = [configured.and_then(|name| message.get(name)), message.get("reasoning_content"), message.get("reasoning")];
    if let Some(thought) = own.into_iter().flatten().filter_map(Value::as_str).find(|text| !text.is_empty()) {
        return thought.to_owned();
    }
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter(|part| text(part.get("type")) == "thinking").map(|part| content(part.get("thinking"))).collect()
}

pub(super) fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or("")
}

/// Token counts of a `usage` object.
pub(super) fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |path: &[&str]| reply::count(usage, path);
    let prompt = count(&["prompt_tokens"]);
    let completion = count(&["completion_tokens"]);
    prompt.or(completion)?;
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let cached = count(&["prompt_tokens_details", "cached_tokens"]).or_else(|| count(&["prompt_cache_hit_tokens"]));
    let cached = cached.unwrap_or(0).min(prompt);
    let reasoning = count(&["completion_tokens_details", "reasoning_tokens"]).unwrap_or(0);
    // Some leave the reasoning out of what they call the completion; then only the total holds it.
    let apart = reasoning > 0 && count(&["total_tokens"]) == Some(prompt + completion + reasoning);
    let completion = if apart { completion + reasoning } else { completion };
    Some(Tokens {
        prompt,
        completion,
        cached,
        cache_write: count(&["prompt_tokens_details", "cache_write_tokens"]).unwrap_or(0).min(prompt - cached),
        reasoning: reasoning.min(completion),
        ..Tokens::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_call_whose_head_is_repeated_is_not_read_again_each_time() {
        let mut calls = Fragments::default();
        let piece = |text: &str| json!([{"index": 0, "id": "c", "function": {"name": "t", "arguments": text}}]);
        calls.take(Some(&piece(&format!("{{\"a\":\"{}", "x".repeat(8 << 20))))).expect("a piece");
        let started = std::time::Instant::now();
        for _ in 0..500 {
            calls.take(Some(&piece("{}"))).expect("a piece");
        }
        // Each time anew it would be eight megabytes of each of them.
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(calls.calls().len(), 1);
    }
}
