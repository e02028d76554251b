//! Owns the URL of a webhook: the allowed places of parameters, and their insertion.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use serde_json::{Map, Value};

/// What stands for itself in a URL, everywhere.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A piece of text with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// As it is written.
    Text(&'a str),
    /// `{name}`.
    Parameter(&'a str),
}

/// The pieces of a text; braces around anything but a name stay as they are.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut found, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(open) = rest[from..].find('{').map(|at| at + from) {
        let name = rest[open + 1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            from = open + 1;
            continue;
        };
        if open > 0 {
            found.push(Piece::Text(&rest[..open]));
        }
        found.push(Piece::Parameter(name));
        (rest, from) = (&rest[open + name.len() + 2..], 0);
    }
    if !rest.is_empty() {
        found.push(Piece::Text(rest));
    }
    found
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// A value as it stands in a URL or a header: texts as they are, numbers and booleans as in JSON, the rest as compact JSON.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn given<'a>(inputs: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    inputs.get(name).filter(|value| !value.is_null())
}

/// The URL of a call: parameters replaced, URL-encoded. `used` gets their names.
///
/// # Errors
/// A parameter of the path is missing or would change which resource is meant.
pub(super) fn fill(template: &str, inputs: &Map<String, Value>, used: &mut BTreeSet<String>) -> Result<Url, String> {
    let template = template.split_once('#').map_or(template, |(before, _)| before);
    let (path, query) = template.split_once('?').map_or((template, None), |(path, query)| (path, Some(query)));
    let mut filled = String::with_capacity(template.len() + 64);
    for piece in pieces(path) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Parameter(name) => {
                let value = given(inputs, name).map(plain).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| format!("`{name}` is needed in the path of the URL and is missing"))?;
                let _ = write!(filled, "{}", utf8_percent_encode(&value, ESCAPED));
                used.insert(name.to_owned());
            }
        }
    }
    if filled.split('/').skip(3).any(|part| matches!(&*part.to_ascii_lowercase().replace("%2e", "."), "." | "..")) {
        return Err("a parameter of the path must not be `.` or `..`".into());
    }
    if let Some(query) = query {
        filled.push('?');
        for piece in pieces(query) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Parameter(name) => {
                    let value = given(inputs, name).map(plain).unwrap_or_default();
                    let _ = write!(filled, "{}", utf8_percent_encode(&value, ESCAPED));
                    used.insert(name.to_owned());
                }
            }
        }
    }
    Url::parse(&filled).map_err(|_| "the URL of the webhook cannot be used".to_owned())
}

/// Adds inputs to the query: lists as one pair for each item, objects as JSON, nulls not at all.
pub(super) fn add_query<'a>(url: &mut Url, inputs: impl Iterator<Item = (&'a String, &'a Value)>) {
    let mut pairs = Vec::new();
    for (name, value) in inputs {
        match value {
            Value::Null => {}
            Value::Array(items) => pairs.extend(items.iter().map(|item| (name, plain(item)))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => pairs.push((name, plain(value))),
        }
    }
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
}

/// What is wrong with the URL of a webhook, if anything is.
pub fn url_problem(template: &str) -> Option<&'static str> {
    let authority = template.split_once("://").map_or(template, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains(['{', '}', '%']) {
        return Some("may have parameters in its path and query only");
    }
    let Ok(url) = Url::parse(template) else { return Some("is no URL") };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        Some("must be an http or https URL")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("must not hold a user name or password; use a header that names a secret")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, inputs: Value) -> String {
        let mut used = BTreeSet::new();
        let inputs = inputs.as_object().cloned().expect("an object");
        match fill(template, &inputs, &mut used) {
            Ok(mut url) => {
                add_query(&mut url, inputs.iter().filter(|(name, _)| !used.contains(*name)));
                url.to_string()
            }
            Err(text) => text,
        }
    }

    #[test]
    fn parameters_are_encoded_where_they_stand() {
        let table = [
            ("https://a.example/o/{id}", json!({"id": "A 1/2?x#y%"}), "https://a.example/o/A%201%2F2%3Fx%23y%25"),
            ("https://a.example/o/{id}", json!({"id": 7, "deep": true}), "https://a.example/o/7?deep=true"),
            ("https://a.example/o?q={q}&s=1", json!({"q": "a&b=c é", "n": null}), "https://a.example/o?q=a%26b%3Dc%20%C3%A9&s=1"),
            ("https://a.example/o?q={q}", json!({}), "https://a.example/o?q="),
            ("https://a.example/o", json!({"t": ["a", "b"], "f": {"x": 1}}), "https://a.example/o?t=a&t=b&f=%7B%22x%22%3A1%7D"),
            ("https://a.example/{a}-{b}", json!({"a": "1", "b": "\\..\\"}), "https://a.example/1-%5C..%5C"),
            ("https://a.example/{not a name}/{", json!({}), "https://a.example/%7Bnot%20a%20name%7D/%7B"),
            ("https://a.example/o/{id}#part", json!({"id": 1}), "https://a.example/o/1"),
        ];
        for (template, inputs, wanted) in table {
            assert_eq!(filled(template, inputs), wanted, "{template}");
        }
    }

    #[test]
    fn a_parameter_never_leaves_its_place_in_the_path() {
        for (template, id) in [("https://a.example/o/{id}", ".."), ("https://a.example/o/{id}/x", "."), ("https://a.example/o/%2e{id}", ".")] {
            assert!(filled(template, json!({ "id": id })).contains("must not be"), "{template} {id}");
        }
        for id in [json!(""), json!(null)] {
            assert!(filled("https://a.example/o/{id}", json!({ "id": id })).contains("is missing"));
        }
        assert_eq!(filled("https://a.example/o/{id}", json!({"id": "..."})), "https://a.example/o/...");
    }

    #[test]
    fn urls_that_cannot_be_called_are_seen() {
        for (url, problem) in [
            ("https://{host}/x", Some("path and query only")),
            ("https://a.example:{port}/x", Some("path and query only")),
            ("https://a.example?x={y}", None),
            ("shop", Some("no URL")),
            ("ftp://a.example", Some("http or https")),
            ("https://a:b@a.example/", Some("user name")),
            ("http://127.0.0.1:8080/{id}", None),
        ] {
            let told = url_problem(url);
            assert_eq!(told.is_some(), problem.is_some(), "{url}");
            assert!(told.unwrap_or_default().contains(problem.unwrap_or_default()), "{url}: {told:?}");
        }
    }
}
