//! Owns questions of tools to people: the pause for a question, and the parsing of the answer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::chat::{Attachment, ToolCall};
use crate::model::event::{Answer, OpenQuestion, PauseReason, Question, QuestionAnswer};
use crate::model::texts::{Locale, text};
use crate::tools::BoundTool;
use crate::tools::schema::filled;

/// More fields than this are not listed one by one.
const LISTED: usize = 40;

/// The pause in which a person is asked.
pub(in crate::engine) fn pause(asked: &Question, (key, call, tool): (&str, &ToolCall, &BoundTool), output_key: String, locale: &Arc<str>) -> PauseReason {
    let origin = tool.tool.origin();
    let question = OpenQuestion {
        call: key.to_owned(),
        call_id: call.id.clone(),
        key: asked.key.clone(),
        server: origin.map(|origin| origin.server.to_owned()).unwrap_or_default(),
        tool: origin.map_or(call.name.as_str(), |origin| origin.name).to_owned(),
        schema: asked.schema.clone(),
    };
    let words = Words(Locale::named(locale).unwrap_or_default());
    let prompt = words.prompt(&question, &asked.message);
    PauseReason::Human { prompt, output_key, question: Some(Box::new(question)) }
}

/// What a person's text says to a question.
///
/// # Errors
/// It says nothing that fits; the run waits on.
pub(in crate::engine) fn answer(question: &OpenQuestion, message: String, attachments: &[Attachment]) -> Result<Answer> {
    if !attachments.is_empty() {
        return Err(Error::field("attachments", "a question of a tool is answered with text, without files"));
    }
    let answer = Form::of(&question.schema).read(&message).map_err(|wrong| Error::fields(wrong.into_iter().map(|text| ("message".to_owned(), text))))?;
    let said = QuestionAnswer { call: question.call.clone(), key: question.key.clone(), answer };
    Ok(Answer::Question { message, said })
}

struct Words(Locale);

impl Words {
    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        text(self.0, key, values)
    }

    fn prompt(&self, question: &OpenQuestion, message: &str) -> String {
        let asks = [("server", question.server.as_str()), ("tool", question.tool.as_str()), ("message", message.trim())];
        let form = Form::of(&question.schema);
        let fields: Vec<String> = form.fields.iter().take(LISTED).map(|field| self.field(field)).collect();
        let how = match fields.as_slice() {
            [] => self.say("question.none", &[]),
            [one] => self.say("question.one", &[("field", one)]),
            many => format!("{}\n{}", self.say("question.many", &[]), many.join("\n")),
        };
        let apart = if fields.len() > 1 { "\n" } else { " " };
        format!("{}\n\n{how}{apart}{}", self.say("question.asks", &asks), self.say("question.decline", &[]))
    }

    /// `name (title): a whole number, may be left out`.
    fn field(&self, field: &Field<'_>) -> String {
        let told = |key: &str| field.schema.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty() && *text != field.name);
        let notes: Vec<&str> = ["title", "description"].into_iter().filter_map(told).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(": ")) };
        let values = || field.choices().iter().map(|choice| choice.shown()).collect::<Vec<_>>().join(", ");
        let kind = match field.kind() {
            Kind::Text => self.say("question.text", &[]),
            Kind::Number => self.say("question.number", &[]),
            Kind::Integer => self.say("question.integer", &[]),
            Kind::Boolean => self.say("question.boolean", &[]),
            Kind::Choice => self.say("question.choice", &[("values", &values())]),
            Kind::Choices => self.say("question.choices", &[("values", &values())]),
        };
        let optional = if field.required { String::new() } else { format!(", {}", self.say("question.optional", &[])) };
        format!("{}{notes}: {kind}{optional}", field.name)
    }
}

/// What is wanted: an object of plain values.
struct Form<'a> {
    schema: &'a Value,
    fields: Vec<Field<'a>>,
}

struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    required: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Integer,
    Boolean,
    Choice,
    Choices,
}

/// One value that may be chosen, and what people call it.
struct Choice<'a> {
    value: &'a str,
    title: Option<&'a str>,
}

impl Choice<'_> {
    fn shown(&self) -> String {
        self.title.filter(|title| *title != self.value).map_or_else(|| self.value.to_owned(), |title| format!("{} ({title})", self.value))
    }

    fn is(&self, text: &str) -> bool {
        [Some(self.value), self.title].into_iter().flatten().any(|name| same(name, text))
    }
}

fn same(left: &str, right: &str) -> bool {
    left.trim().to_lowercase() == right.trim().to_lowercase()
}

impl<'a> Field<'a> {
    /// Where the values to choose from are listed: in the field, or in the items of a list.
    fn listed(&self) -> &'a Value {
        self.schema.get("items").unwrap_or(self.schema)
    }

    fn choices(&self) -> Vec<Choice<'a>> {
        let (listed, names) = (self.listed(), self.schema.get("enumNames").and_then(Value::as_array));
        let plain = listed.get("enum").and_then(Value::as_array).into_iter().flatten().enumerate();
        let plain = plain.filter_map(|(at, value)| Some(Choice { value: value.as_str()?, title: names.and_then(|names| names.get(at)?.as_str()) }));
        let titled = ["oneOf", "anyOf"].into_iter().filter_map(|key| listed.get(key)?.as_array()).flatten();
        let titled = titled.filter_map(|one| Some(Choice { value: one.get("const")?.as_str()?, title: one.get("title").and_then(Value::as_str) }));
        plain.chain(titled).collect()
    }

    fn kind(&self) -> Kind {
        match self.schema.get("type").and_then(Value::as_str) {
            Some("number") => Kind::Number,
            Some("integer") => Kind::Integer,
            Some("boolean") => Kind::Boolean,
            Some("array") => Kind::Choices,
            Some(_) | None if self.choices().is_empty() => Kind::Text,
            Some(_) | None => Kind::Choice,
        }
    }

    /// A value from a person's text. If it does not fit it stays text, which the schema refuses.
    fn value(&self, text: &str) -> Value {
        let text = text.trim();
        let chosen = |text: &str| {
            let choices = self.choices();
            json!(choices.iter().find(|choice| choice.is(text)).map_or(text.trim(), |choice| choice.value))
        };
        let number = || if self.kind() == Kind::Integer { text.parse::<i64>().ok().map(Value::from) } else { text.parse::<f64>().ok().map(Value::from) };
        match self.kind() {
            Kind::Text => json!(text),
            Kind::Number | Kind::Integer => number().unwrap_or_else(|| json!(text)),
            Kind::Boolean => truth(text).map_or_else(|| json!(text), Value::Bool),
            Kind::Choice => chosen(text),
            Kind::Choices => text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(chosen).collect(),
        }
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" | "sim" | "s" => Some(true),
        "false" | "no" | "n" | "off" | "0" | "não" | "nao" => Some(false),
        _ => None,
    }
}

impl<'a> Form<'a> {
    fn of(schema: &'a Value) -> Self {
        let required: Vec<&str> = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let fields = properties.map(|(name, schema)| Field { name, schema, required: required.contains(&name.as_str()) });
        Self { schema, fields: fields.collect() }
    }

    /// `{action, content?}` out of what a person wrote: a JSON object, one of the words, the one value, or a line for each.
    fn read(&self, text: &str) -> std::result::Result<Value, Vec<String>> {
        let text = text.trim();
        if let Ok(Value::Object(given)) = serde_json::from_str(text) {
            return self.object(given);
        }
        match text.to_lowercase().as_str() {
            "decline" | "recusar" if !self.offers(text) => return Ok(json!({"action": "decline"})),
            "cancel" | "cancelar" if !self.offers(text) => return Ok(json!({"action": "cancel"})),
            "accept" | "aceitar" if !self.offers(text) && self.accepted(Map::new()).is_ok() => return self.accepted(Map::new()),
            _ => {}
        }
        let content = match self.fields.as_slice() {
            [] => return Err(vec!["answer `accept` or `decline`".to_owned()]),
            [one] => Map::from_iter([(one.name.to_owned(), one.value(text))]),
            _ => self.lines(text)?,
        };
        self.accepted(content)
    }

    /// The word is one of the values to choose from.
    fn offers(&self, word: &str) -> bool {
        self.fields.len() == 1 && self.fields.iter().flat_map(Field::choices).any(|choice| choice.is(word))
    }

    fn object(&self, mut given: Map<String, Value>) -> std::result::Result<Value, Vec<String>> {
        let own = self.fields.iter().any(|field| field.name == "action");
        match given.get("action").and_then(Value::as_str).filter(|_| !own) {
            Some(action @ ("decline" | "cancel")) => Ok(json!({ "action": action })),
            Some("accept") => match given.remove("content").as_ref().map(Value::as_object) {
                None => self.accepted(Map::new()),
                Some(Some(content)) => self.accepted(content.clone()),
                Some(None) => Err(vec!["`content` is an object".to_owned()]),
            },
            Some(_) | None => self.accepted(given),
        }
    }

    fn lines(&self, text: &str) -> std::result::Result<Map<String, Value>, Vec<String>> {
        let (mut content, mut wrong) = (Map::new(), Vec::new());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let named = line.split_once(':').and_then(|(name, value)| {
                let is = |field: &&Field<'_>| same(field.name, name) || field.schema.get("title").and_then(Value::as_str).is_some_and(|title| same(title, name));
                Some((self.fields.iter().find(is)?, value))
            });
            match named {
                Some((field, value)) => drop(content.insert(field.name.to_owned(), field.value(value))),
                None => wrong.push(format!("`{}` does not begin with one of the names that are asked for, and a colon", line.trim())),
            }
        }
        if wrong.is_empty() { Ok(content) } else { Err(wrong) }
    }

    /// The answer with what the form gives for fields that were left out.
    fn accepted(&self, content: Map<String, Value>) -> std::result::Result<Value, Vec<String>> {
        filled(self.schema, content).map(|content| json!({"action": "accept", "content": content}))
    }
}

#[cfg(test)]
mod tests;
