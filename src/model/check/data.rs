//! Owns the check of a node's data against the table of keys, and the compilation of its test.

use serde_json::{Map, Value};

use super::super::agent::{CacheTtl, Parameters, ShowReasoning, ToolChoice, ToolRef, refused_option};
use super::super::fallback::{self, Fallback};
use super::super::condition::{Budget, FlawKind, Test};
use super::super::filter::Filter;
use super::super::graph::NodeKind;
use super::super::node::keys::{self, Key, KeyType};
use super::super::node::{is_output_key, without_nulls};
use super::super::path::{KeyPath, Path};
use super::super::node::rerank::{self, Rerank};
use super::issue::{IssueCode, Report, Spot};

/// What a value should have been: the key of a phrase with its values, and where in the value.
struct DataError {
    at: String,
    expected: &'static str,
    values: Vec<(&'static str, String)>,
}

type Fit = Result<(), DataError>;

fn wrong<T>(expected: &'static str) -> Result<T, DataError> {
    Err(DataError { at: String::new(), expected, values: Vec::new() })
}

fn fits(holds: bool, expected: &'static str) -> Fit {
    if holds { Ok(()) } else { wrong(expected) }
}

impl DataError {
    fn within(mut self, at: &str) -> Self {
        self.at = format!(".{at}{}", self.at);
        self
    }

    fn with(mut self, name: &'static str, value: &dyn std::fmt::Display) -> Self {
        self.values.push((name, value.to_string()));
        self
    }
}

/// Checks all keys of a node.
pub(super) fn check(kind: NodeKind, data: &Map<String, Value>, spot: Spot<'_>, label: &str, report: &mut Report) {
    let mut refuse = |field: &str, expected: &str, values: &[(&str, String)]| {
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let expected = report.phrase(expected, &values);
        let name = field.strip_prefix("data.").unwrap_or(field);
        report.add(
            IssueCode::NodeDataInvalid,
            "",
            spot.field(field),
            &[("node", label), ("field", name), ("expected", &expected)],
        );
    };
    for key in keys::of(kind) {
        match data.get(key.name).filter(|value| !value.is_null() || key.holds == KeyType::AnyTemplate) {
            Some(value) => {
                if let Err(wrong) = fit(key, value) {
                    refuse(&format!("data.{}{}", key.name, wrong.at), wrong.expected, &wrong.values);
                }
            }
            None if key.required && kind == NodeKind::SetState => refuse(&format!("data.{}", key.name), "expected.key_path", &[]),
            None => {}
        }
    }
    if kind == NodeKind::SetState && is_given(data, "from_key") && is_given(data, "value") {
        refuse("data.from_key", "expected.not_with_value", &[]);
    }
}

/// Null and empty text say nothing.
fn is_given(data: &Map<String, Value>, name: &str) -> bool {
    data.get(name).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}

/// Does its test compile, with what the graph's other tests leave of the room for patterns?
pub(super) fn test(kind: NodeKind, data: &Map<String, Value>, spot: Spot<'_>, label: &str, patterns: &mut Budget, report: &mut Report) {
    let flaws = match kind {
        NodeKind::Condition => Test::parse_or_default_within(data, patterns).err(),
        NodeKind::Loop => Test::parse_within(data, patterns).err(),
        NodeKind::Start
        | NodeKind::Stop
        | NodeKind::Agent
        | NodeKind::Llm
        | NodeKind::Rag
        | NodeKind::Tool
        | NodeKind::Mcp
        | NodeKind::Human
        | NodeKind::Fork
        | NodeKind::Join
        | NodeKind::SetState
        | NodeKind::Note => None,
    };
    for flaw in flaws.into_iter().flatten() {
        let code = match flaw.kind {
            FlawKind::Rule => IssueCode::ConditionInvalid,
            FlawKind::Expression => IssueCode::ExpressionInvalid,
        };
        let name = flaw.field.strip_prefix("data.").unwrap_or(&flaw.field);
        let detail = report.phrase(flaw.detail, &flaw.values());
        report.add(code, "", spot.field(&flaw.field), &[("node", label), ("field", name), ("detail", &detail)]);
    }
}

fn fit(key: &Key, value: &Value) -> Fit {
    match key.holds {
        KeyType::Any | KeyType::AnyTemplate | KeyType::TestWord(_) | KeyType::TestPath | KeyType::Rules => Ok(()),
        KeyType::Text | KeyType::Template => fits(value.is_string(), "expected.text"),
        KeyType::Flag => fits(value.is_boolean(), "expected.flag"),
        KeyType::Whole(min, max) => whole(value, min, max),
        KeyType::LoopBound => fits(value.is_i64() || value.is_u64(), "expected.whole"),
        KeyType::Number(min, max, open) => number(value, min, max, open),
        KeyType::Choice(words) => choice(value, words),
        KeyType::OutputKey => fits(value.as_str().is_some_and(is_output_key), "expected.output_key"),
        KeyType::KeyPath => fits(value.as_str().and_then(KeyPath::parse).is_some(), "expected.key_path"),
        KeyType::Path => fits(value.as_str().is_some_and(|text| text.is_empty() || Path::parse(text).is_some()), "expected.path"),
        KeyType::Object | KeyType::TemplateObject => fits(value.is_object(), "expected.object"),
        KeyType::Filter => filter(value),
        KeyType::Rerank => rerank(value),
        KeyType::Schema => fits(value.is_object() || value.is_boolean(), "expected.schema"),
        KeyType::Retries => retries(value),
        KeyType::Parameters => parameters(value),
        KeyType::Fallbacks => fallbacks(value),
        KeyType::Tools => items(value, tool_ref),
        KeyType::Branches => items(value, |item| fits(item.is_string(), "expected.text")),
        KeyType::Exposure => exposure(value),
    }
}

fn whole(value: &Value, min: u64, max: u64) -> Fit {
    if value.as_u64().is_some_and(|number| (min..=max).contains(&number)) {
        return Ok(());
    }
    if max >= 1 << 53 {
        return wrong("expected.whole_from").map_err(|wrong: DataError| wrong.with("min", &min));
    }
    wrong("expected.whole_between").map_err(|wrong: DataError| wrong.with("min", &min).with("max", &max))
}

fn number(value: &Value, min: f64, max: f64, open: bool) -> Fit {
    let inside = value.as_f64().is_some_and(|number| (min..=max).contains(&number) && !(open && number <= min));
    let expected = if open { "expected.number_above" } else { "expected.number_between" };
    fits(inside, expected).map_err(|wrong| wrong.with("min", &min).with("max", &max))
}

fn choice(value: &Value, words: &[&str]) -> Fit {
    let known = value.as_str().is_some_and(|word| words.contains(&word));
    fits(known, "expected.choice").map_err(|wrong| wrong.with("words", &words.join(", ")))
}

/// Every item of a list fits.
fn items(value: &Value, item: impl Fn(&Value) -> Fit) -> Fit {
    let Some(list) = value.as_array() else { return wrong("expected.list") };
    list.iter().enumerate().try_for_each(|(n, value)| item(value).map_err(|wrong| wrong.within(&n.to_string())))
}

/// A member of an object fits when it is there and not null.
fn member(fields: &Map<String, Value>, name: &str, fit: impl Fn(&Value) -> Fit) -> Fit {
    let value = fields.get(name).filter(|value| !value.is_null());
    value.map_or(Ok(()), |value| fit(value).map_err(|wrong| wrong.within(name)))
}

fn object(value: &Value) -> Result<&Map<String, Value>, DataError> {
    value.as_object().map_or_else(|| wrong("expected.object"), Ok)
}

fn filter(value: &Value) -> Fit {
    let found = Filter::parse(object(value)?);
    found.map(|_| ()).or_else(|(key, _)| wrong("expected.filter").map_err(|wrong: DataError| wrong.within(&key)))
}

fn rerank(value: &Value) -> Fit {
    match Rerank::parse(object(value)?) {
        Ok(_) => Ok(()),
        Err(("candidates", _)) => wrong("expected.whole_between")
            .map_err(|wrong: DataError| wrong.with("min", &1).with("max", &rerank::MOST).within("candidates")),
        Err((key, _)) => wrong("expected.filled").map_err(|wrong: DataError| wrong.within(key)),
    }
}

fn retries(value: &Value) -> Fit {
    let fields = object(value)?;
    member(fields, "max", |value| whole(value, 0, 10))?;
    member(fields, "backoff_ms", |value| whole(value, 0, 600_000))
}

fn parameters(value: &Value) -> Fit {
    let fields = object(value)?;
    member(fields, "temperature", |value| number(value, 0.0, 2.0, false))?;
    member(fields, "top_p", |value| number(value, 0.0, 1.0, false))?;
    member(fields, "max_tokens", |value| whole(value, 1, 1 << 53))?;
    member(fields, "reasoning_effort", |value| fits(value.is_string(), "expected.text"))?;
    member(fields, "stop", texts)?;
    member(fields, "cache_ttl", |value| choice(value, &CacheTtl::NAMES))?;
    member(fields, "tool_choice", tool_choice)?;
    member(fields, "provider_options", provider_options)?;
    member(fields, "show_reasoning", |value| choice(value, &ShowReasoning::NAMES))?;
    readable::<Parameters>(value)
}

fn tool_choice(value: &Value) -> Fit {
    let names = value.as_object().is_some_and(|members| members.len() == 1 && members.get("tool").is_some_and(Value::is_string));
    let word = value.as_str().is_some_and(|word| ToolChoice::WORDS.contains(&word));
    fits(names || word, "expected.tool_choice")
}

fn provider_options(value: &Value) -> Fit {
    let refused = refused_option(object(value)?);
    refused.map_or(Ok(()), |at| wrong("expected.provider_options").map_err(|wrong: DataError| wrong.within(&at)))
}

fn texts(value: &Value) -> Fit {
    items(value, |item| fits(item.is_string(), "expected.text"))
}

fn fallbacks(value: &Value) -> Fit {
    if value.as_array().is_some_and(|list| list.len() > fallback::MOST) {
        return wrong("expected.list_most").map_err(|wrong: DataError| wrong.with("most", &fallback::MOST));
    }
    items(value, |item| {
        let fields = object(item)?;
        for name in ["provider", "model"] {
            let filled = fields.get(name).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
            fits(filled, "expected.filled").map_err(|wrong| wrong.within(name))?;
        }
        member(fields, "credential", |value| fits(value.is_string(), "expected.text"))?;
        member(fields, "parameters", parameters)?;
        readable::<Fallback>(item)
    })
}

fn tool_ref(value: &Value) -> Fit {
    let fields = object(value)?;
    let flag = |value: &Value| fits(value.is_boolean(), "expected.flag");
    let reference = fields.get("ref").is_some_and(Value::is_string);
    fits(reference, "expected.text").map_err(|wrong| wrong.within("ref"))?;
    member(fields, "config", |value| object(value).map(|_| ()))?;
    member(fields, "only", texts)?;
    member(fields, "exclude", texts)?;
    member(fields, "require_approval", flag)?;
    member(fields, "idempotent", flag)?;
    member(fields, "always", flag)?;
    readable::<ToolRef>(value)
}

/// The value reads as its type; what the checks before it missed must not be lost in silence.
fn readable<T: serde::de::DeserializeOwned>(value: &Value) -> Fit {
    fits(serde_json::from_value::<T>(without_nulls(value)).is_ok(), "expected.object")
}

fn exposure(value: &Value) -> Fit {
    let fields = object(value)?;
    let text = |value: &Value| fits(value.is_string(), "expected.text");
    member(fields, "slug", text)?;
    member(fields, "description", text)?;
    member(fields, "parameters", |value| {
        member(object(value)?, "input", |value| {
            let input = object(value)?;
            member(input, "description", text)?;
            member(input, "controlled_by", |value| choice(value, &["caller"]))
        })
    })
}
