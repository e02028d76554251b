//! Owns the body of an AG-UI client: `RunAgentInput`, or a resume body of the studio's own routes.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::http::adapters::ask::{Ask, File, Interrupt, NewMessage, given, members, name, object, objects, pause_id};

/// Keys of the state that the run sets itself; clients send them back.
const OWN: [&str; 2] = ["input", "attachments"];
/// Members of a resume body of the studio's own routes.
const NATIVE: [&str; 5] = ["approval", "decisions", "pause_id", "node_id", "message"];

pub(in crate::http::adapters) fn read(body: &Value) -> Result<Ask> {
    let body = members(body)?;
    let mut state = object(body, "state")?;
    if let Some(Value::Object(state)) = &mut state {
        state.retain(|key, _| !OWN.contains(&key.as_str()));
    }
    let context: Vec<Value> = objects(body, "context")?.into_iter().cloned().map(Value::Object).collect();
    let mut ask = Ask {
        chat: name(body, "threadId")?,
        run: name(body, "runId")?,
        state,
        is_own_state: true,
        context: Some(Value::Array(context)).filter(|list| list != &Value::Array(Vec::new())),
        interrupts: interrupts(body)?,
        on_disconnect: given(body, "on_disconnect").cloned(),
        ..Ask::default()
    };
    let messages = objects(body, "messages")?;
    ask.said = said(&messages)?;
    ask.posted = messages.into_iter().cloned().map(Value::Object).collect();
    if NATIVE.iter().any(|name| given(body, name).is_some()) {
        let known = NATIVE.iter().chain(&["attachments", "on_disconnect"]);
        ask.native = Some(known.filter_map(|name| Some(((*name).to_owned(), given(body, name)?.clone()))).collect::<Map<_, _>>().into());
    }
    Ok(ask)
}

fn interrupts(body: &Map<String, Value>) -> Result<Vec<Interrupt>> {
    let read = |(at, entry): (usize, &Map<String, Value>)| {
        let field = |name: &str, text: &str| Error::field(&format!("resume.{at}.{name}"), format!("resume.{at}.{name} {text}"));
        let pause = entry.get("interruptId").and_then(Value::as_str).ok_or_else(|| field("interruptId", "is required"))?;
        let payload = match entry.get("status").and_then(Value::as_str) {
            Some("cancelled") => None,
            Some("resolved") => Some(entry.get("payload").cloned().unwrap_or_default()),
            _ => return Err(field("status", "must be `resolved` or `cancelled`")),
        };
        Ok(Interrupt { pause: pause_id(pause), payload })
    };
    let found: Vec<Interrupt> = objects(body, "resume")?.into_iter().enumerate().map(read).collect::<Result<_>>()?;
    let mut seen = HashSet::with_capacity(found.len());
    let twice = found.iter().enumerate().find(|(_, one)| !seen.insert(one.pause.as_str()));
    match twice {
        Some((at, _)) => Err(Error::field(&format!("resume.{at}.interruptId"), format!("resume.{at}.interruptId is listed twice"))),
        None => Ok(found),
    }
}

fn said(messages: &[&Map<String, Value>]) -> Result<NewMessage> {
    let mut said = NewMessage { field: "messages", ..NewMessage::default() };
    let user = |message: &&Map<String, Value>| message.get("role").is_some_and(|role| role == "user");
    let Some(message) = messages.iter().copied().rev().find(user) else { return Ok(said) };
    let Some(Value::Array(parts)) = message.get("content") else {
        said.text = message.get("content").cloned().unwrap_or_default();
        return Ok(said);
    };
    let mut texts = Vec::new();
    for part in parts.iter().filter_map(Value::as_object) {
        let word = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
        match part.get("type").and_then(Value::as_str) {
            Some("text") => texts.push(word("text").unwrap_or_default()),
            Some("binary") => said.files.push(binary(word("data"), word("url"), word("mimeType"), word("filename"))?),
            Some("image" | "audio" | "video" | "document") => {
                let source = part
                    .get("source")
                    .and_then(Value::as_object)
                    .ok_or_else(|| Error::field("messages", "messages has a file without source"))?;
                let word = |key: &str| source.get(key).and_then(Value::as_str).map(str::to_owned);
                let is_data = word("type").as_deref() == Some("data");
                let (data, url) = if is_data { (word("value"), None) } else { (None, word("value")) };
                said.files.push(binary(data, url, word("mimeType"), None)?);
            }
            _ => {}
        }
    }
    said.text = texts.join("\n").into();
    Ok(said)
}

fn binary(data: Option<String>, url: Option<String>, mime_type: Option<String>, name: Option<String>) -> Result<File> {
    let url = match (data, url) {
        (Some(data), _) => format!("data:{};base64,{data}", mime_type.as_deref().unwrap_or_default()),
        (None, Some(url)) => url,
        (None, None) => return Err(Error::field("messages", "messages has a file without data or url")),
    };
    Ok(File { url, mime_type, name })
}
