//! Owns the writing of a value as a literal of a language.

use serde_json::{Map, Number, Value};

use super::escape::{Numbered, quoted};

/// A line is not made longer than this by putting a list or map on it.
const WIDTH: usize = 110;

/// How a language writes literals.
pub(super) struct Syntax {
    /// Around the members of a map.
    pub(super) map: (&'static str, &'static str),
    /// Around the items of a list.
    pub(super) list: (&'static str, &'static str),
    /// The map and the list without members.
    pub(super) empty: (&'static str, &'static str),
    /// Behind each map and each list but the outermost.
    pub(super) typed: (&'static str, &'static str),
    /// Between key and value.
    pub(super) pair: &'static str,
    /// Null, true, false.
    pub(super) words: [&'static str; 3],
    /// One step to the right.
    pub(super) step: &'static str,
    pub(super) string: fn(&str) -> String,
    pub(super) key: fn(&str) -> String,
    /// None where there is no literal for it.
    pub(super) number: fn(&Number) -> Option<String>,
    /// What stands before a map with these keys.
    pub(super) cast: fn(&Map<String, Value>) -> &'static str,
}

/// What most languages write: each says where it differs.
pub(super) const COMMON: Syntax = Syntax {
    map: ("{ ", " }"),
    list: ("[", "]"),
    empty: ("{}", "[]"),
    typed: ("", ""),
    pair: ": ",
    words: ["null", "true", "false"],
    step: "    ",
    string: |text| quoted(text, &[], Numbered::Braces),
    key: |text| quoted(text, &[], Numbered::Braces),
    number: |number| Some(number.to_string()),
    cast: |_| "",
};

impl Syntax {
    /// A number that cannot be written, as JSON has it.
    pub(super) fn unwritable(&self, value: &Value) -> Option<String> {
        match value {
            Value::Number(number) if (self.number)(number).is_none() => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            Value::Array(items) => items.iter().find_map(|item| self.unwritable(item)),
            Value::Object(members) => members.values().find_map(|member| self.unwritable(member)),
        }
    }

    /// The literal; its first line begins where the caller is, the others after `indent`.
    pub(super) fn literal(&self, value: &Value, indent: &str) -> String {
        let mut out = String::new();
        self.put(&mut out, value, indent, 0, true);
        out
    }

    fn put(&self, out: &mut String, value: &Value, indent: &str, used: usize, outermost: bool) {
        if let Some(text) = self.in_line(value, outermost) {
            let fits = indent.len() + used + text.chars().count() <= WIDTH;
            if fits || !is_nested(value) {
                return out.push_str(&text);
            }
        }
        let inner = format!("{indent}{}", self.step);
        match value {
            Value::Array(items) => {
                out.push_str(self.list.0.trim_end());
                for item in items {
                    out.extend(["\n", inner.as_str()]);
                    self.put(out, item, &inner, 0, false);
                    out.push(',');
                }
                out.extend(["\n", indent, self.list.1.trim_start()]);
            }
            Value::Object(members) => {
                out.extend([(self.cast)(members), self.map.0.trim_end()]);
                for (key, member) in members {
                    let key = (self.key)(key);
                    out.extend(["\n", inner.as_str(), key.as_str(), self.pair]);
                    self.put(out, member, &inner, key.chars().count() + self.pair.len(), false);
                    out.push(',');
                }
                out.extend(["\n", indent, self.map.1.trim_start()]);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        out.push_str(self.type_of(value, outermost));
    }

    const fn type_of(&self, value: &Value, outermost: bool) -> &'static str {
        match value {
            Value::Object(_) if !outermost => self.typed.0,
            Value::Array(_) if !outermost => self.typed.1,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => "",
        }
    }

    /// A value on one line: a scalar, or a list or map of scalars alone.
    fn in_line(&self, value: &Value, outermost: bool) -> Option<String> {
        let text = match value {
            Value::Null => self.words[0].to_owned(),
            Value::Bool(true) => self.words[1].to_owned(),
            Value::Bool(false) => self.words[2].to_owned(),
            Value::Number(number) => (self.number)(number).unwrap_or_default(),
            Value::String(text) => (self.string)(text),
            Value::Array(items) if items.is_empty() => self.empty.1.to_owned(),
            Value::Object(members) if members.is_empty() => self.empty.0.to_owned(),
            Value::Array(items) if !items.iter().any(is_nested) => {
                let items: Vec<String> = items.iter().filter_map(|item| self.in_line(item, false)).collect();
                format!("{}{}{}", self.list.0, items.join(", "), self.list.1)
            }
            Value::Object(members) if !members.values().any(is_nested) => {
                let member = |(key, value): (&String, &Value)| Some(format!("{}{}{}", (self.key)(key), self.pair, self.in_line(value, false)?));
                let cast = (self.cast)(members);
                let members: Vec<String> = members.iter().filter_map(member).collect();
                format!("{cast}{}{}{}", self.map.0, members.join(", "), self.map.1)
            }
            Value::Array(_) | Value::Object(_) => return None,
        };
        Some(text + self.type_of(value, outermost))
    }
}

/// Has it members of its own?
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
