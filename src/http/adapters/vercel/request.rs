//! Owns the body of the AI SDK's chat transport: UI messages, or the plain form.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::http::adapters::ask::{Ask, File, NewMessage, Verdict, given, members, name, object, objects, pause_id, text};

/// Members of a resume body of the studio's own routes.
const NATIVE: [&str; 5] = ["approval", "decisions", "pause_id", "node_id", "message"];

pub(in crate::http::adapters) fn read(body: &Value) -> Result<Ask> {
    let body = members(body)?;
    let regenerates = match text(body, "trigger")?.as_deref() {
        None | Some("submit-message") => false,
        Some("regenerate-message") => true,
        Some(_) => return Err(Error::field("trigger", "trigger must be `submit-message` or `regenerate-message`")),
    };
    let mut ask = Ask {
        chat: name(body, "id")?,
        regenerates,
        message_id: text(body, "messageId")?,
        state: if given(body, "state").is_some() { object(body, "state")? } else { object(body, "context")? },
        on_disconnect: given(body, "on_disconnect").cloned(),
        ..Ask::default()
    };
    let messages = objects(body, "messages")?;
    if given(body, "messages").is_some() {
        read_messages(&messages, &mut ask)?;
        return Ok(ask);
    }
    ask.chat = name(body, "thread_id")?.or(ask.chat);
    ask.said = NewMessage {
        text: body.get("message").cloned().unwrap_or_default(),
        attachments: given(body, "attachments").cloned(),
        field: "message",
        ..NewMessage::default()
    };
    ask.native = NATIVE.iter().any(|name| given(body, name).is_some()).then(|| native(body));
    Ok(ask)
}

/// The part of a body that the studio's own resume route reads.
fn native(body: &Map<String, Value>) -> Value {
    let known = NATIVE.iter().chain(&["attachments", "on_disconnect"]);
    known.filter_map(|name| Some(((*name).to_owned(), given(body, name)?.clone()))).collect::<Map<_, _>>().into()
}

fn read_messages(messages: &[&Map<String, Value>], ask: &mut Ask) -> Result<()> {
    let role = |message: &Map<String, Value>| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(last) = messages.last().filter(|last| role(last) == "assistant") {
        ask.verdicts = verdicts(last);
        ask.is_answered = ask.verdicts.is_empty();
    }
    ask.said.field = "messages";
    let Some(at) = messages.iter().rposition(|message| role(message) == "user") else { return Ok(()) };
    let mut texts = Vec::new();
    for part in parts(messages[at]) {
        let word = |key: &str| part.get(key).and_then(Value::as_str).map(str::to_owned);
        match part.get("type").and_then(Value::as_str) {
            Some("text") => texts.push(word("text").unwrap_or_default()),
            Some("file") => {
                let url = word("url").ok_or_else(|| Error::field("messages", format!("messages.{at} has a file without url")))?;
                ask.said.files.push(File { url, mime_type: word("mediaType"), name: word("filename") });
            }
            _ => {}
        }
    }
    ask.said.text = texts.join("\n").into();
    Ok(())
}

fn parts(message: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    message.get("parts").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// Decisions that the client took on tool calls of a message.
fn verdicts(message: &Map<String, Value>) -> Vec<Verdict> {
    let of_tool = |part: &&Map<String, Value>| {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        kind == "dynamic-tool" || kind.starts_with("tool-")
    };
    let decided = parts(message).filter(of_tool).filter(|part| part.get("state").is_some_and(|state| state == "approval-responded"));
    decided
        .filter_map(|part| {
            let approval = part.get("approval")?.as_object()?;
            let (pause, call) = approval.get("id")?.as_str()?.split_once('.')?;
            Some(Verdict {
                pause: pause_id(pause),
                call: call.to_owned(),
                approved: approval.get("approved")?.as_bool()?,
                reason: approval.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()).map(str::to_owned),
            })
        })
        .collect()
}
