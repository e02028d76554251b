//! Owns values as text: for display, and as JSON.

use std::fmt::Write as _;

use super::meter::{Meter, Outcome};
use super::value::Value;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Shown,
    Json,
}

pub(super) fn shown(value: &Value<'_>, meter: &Meter) -> Outcome<String> {
    let mut out = Writer { text: String::new(), counted: 0, style: Style::Shown, meter };
    match value {
        Value::Undefined => {}
        Value::Text(text) => out.push(text)?,
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => out.value(value)?,
    }
    Ok(out.text)
}

/// A value as JSON that can stand in a page.
pub(super) fn json(value: &Value<'_>, meter: &Meter) -> Outcome<String> {
    let mut out = Writer { text: String::new(), counted: 0, style: Style::Json, meter };
    out.value(value)?;
    Ok(out.text)
}

struct Writer<'m> {
    text: String,
    counted: usize,
    style: Style,
    meter: &'m Meter,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) -> Outcome<()> {
        self.meter.make(text.len())?;
        self.text.push_str(text);
        self.counted = self.text.len();
        Ok(())
    }

    /// Counts what was written past the counter.
    fn count(&mut self) -> Outcome<()> {
        let more = self.text.len() - self.counted;
        self.counted = self.text.len();
        self.meter.make(more)
    }

    fn value(&mut self, value: &Value<'_>) -> Outcome<()> {
        match value {
            Value::Undefined => self.push(if self.style == Style::Json { "null" } else { "undefined" }),
            Value::None => self.push(if self.style == Style::Json { "null" } else { "None" }),
            Value::Bool(truth) => self.push(match (self.style, truth) {
                (Style::Json, true) => "true",
                (Style::Json, false) => "false",
                (Style::Shown, true) => "True",
                (Style::Shown, false) => "False",
            }),
            Value::Int(number) => self.push(&number.to_string()),
            // Inside of lists and maps numbers are short.
            Value::Float(number) if self.counted > 0 => self.push(&format!("{number:?}")),
            Value::Float(number) => self.push(&float(*number)),
            Value::Text(text) => self.quoted(text),
            Value::List(items) => {
                self.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" })?;
                    self.value(&item)?;
                }
                self.push("]")
            }
            Value::Map(fields) => {
                self.push("{")?;
                for (at, (key, value)) in fields.pairs().enumerate() {
                    self.push(if at > 0 { ", " } else { "" })?;
                    self.value(&key)?;
                    self.push(": ")?;
                    self.value(&value)?;
                }
                self.push("}")
            }
        }
    }

    fn quoted(&mut self, text: &str) -> Outcome<()> {
        // What is written may be six times as long.
        self.meter.make(text.len())?;
        if self.style == Style::Shown {
            self.quoted_as_python(text);
            return self.count();
        }
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '<' | '>' | '&' | '\'' | '\0'..='\u{1f}' => {
                    let _written = write!(self.text, "\\u{:04x}", letter as u32);
                }
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
        self.count()
    }
}

impl Writer<'_> {
    fn quoted_as_python(&mut self, text: &str) {
        let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
        self.text.push(quote);
        for letter in text.chars() {
            match letter {
                '\'' if quote == '\'' => self.text.push_str("\\'"),
                '"' => self.text.push('"'),
                '\'' => self.text.push('\''),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                letter => self.text.push(letter),
            }
        }
        self.text.push(quote);
    }
}

/// A fraction has a point, whatever it is.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
}
