//! Owns the messages of a thread for people.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::model::Id;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::parts::File;
use crate::store::Tx;
use crate::store::threads::{self, MessageRow};
use crate::studio::lists::{ListQuery, Page};
use crate::studio::reach::Refusal;

/// The tool calls that each message is shown with, by its id.
type Calls = HashMap<Id, Vec<Value>>;

/// The parts that each message is shown with, by its id.
type PartsShown = HashMap<Id, Vec<Value>>;

/// One page of a thread's messages, oldest first.
pub(in crate::studio) fn shown_messages(tx: &mut Tx<'_>, tenant: &str, thread: &Id, query: &ListQuery) -> Result<Page, Refusal> {
    let after = match query.after.as_deref() {
        Some(key) => key.parse().map_err(|_| Error::field("cursor", "cursor is not one that this list gave"))?,
        None => 0,
    };
    let rows = threads::shown(tx, tenant, thread, after, query.limit + 1)?;
    let (tools, parts) = (query.includes("tools"), query.includes("parts"));
    let next = rows.get(query.limit).map(|row| row.no);
    let worked = if tools || parts { threads::worked(tx, tenant, thread, after, next)? } else { Vec::new() };
    let parts = parts.then(|| parts_shown(&worked));
    let calls = tools.then(|| calls_shown(worked));
    Ok(Page::of(rows, query.limit, |row| row.no.to_string(), |row| show(&row, calls.as_ref(), parts.as_ref())))
}

/// A call and its place among all calls, by which its result is found: ids may come again.
type Asked = (usize, ToolCall);

/// Each call belongs to the message that asks for it; when that says nothing else, to the next one that its run shows. A result is that of
/// the last call of its run and its id before it.
fn calls_shown(worked: Vec<MessageRow>) -> Calls {
    let mut asked: HashMap<Option<Id>, Vec<Asked>> = HashMap::new();
    let mut shown: Vec<(Id, Vec<Asked>)> = Vec::new();
    let (mut count, mut open, mut results) = (0, HashMap::new(), HashMap::new());
    for row in worked {
        let message = body_of(&row);
        if let (Role::Tool, Some(call)) = (message.role, &message.tool_call_id) {
            let place = open.get(&(row.run, call.clone())).copied();
            results.extend(place.map(|place: usize| (place, message)));
            continue;
        }
        let calls = asked.entry(row.run).or_default();
        for call in message.tool_calls {
            count += 1;
            open.insert((row.run, call.id.clone()), count);
            calls.push((count, call));
        }
        if row.shown {
            shown.push((row.id, std::mem::take(calls)));
        }
    }
    let told = |(place, call): &Asked| {
        let result = results.get(place);
        let mut told = json!({"call_id": call.id, "name": call.name, "inputs": call.arguments, "result": result.map(|result| &result.content),
            "is_error": result.is_some_and(|result| result.is_error)});
        if let Some(result) = result.filter(|result| !result.attachments.is_empty()) {
            told["files"] = json!(result.attachments.iter().map(File::from).collect::<Vec<_>>());
        }
        told
    };
    shown.into_iter().map(|(id, calls)| (id, calls.iter().map(told).collect())).collect()
}

/// Parts of one page, in bytes as they are stored; of messages beyond that only what they say is shown.
const PARTS: usize = 16 << 20;

/// Each message has what its run thought, asked for and was given since the one that it shows before.
fn parts_shown(worked: &[MessageRow]) -> PartsShown {
    let mut open: HashMap<Option<Id>, Vec<Value>> = HashMap::new();
    let (mut shown, mut room) = (PartsShown::new(), PARTS);
    for row in worked {
        let parts = open.entry(row.run).or_default();
        let left = room.checked_sub(row.body.len());
        room = left.unwrap_or(0);
        if left.is_some() {
            parts.extend(body_of(row).shown_parts());
        } else if row.shown {
            parts.push(json!({"type": "text", "text": body_of(row).content}));
        }
        if row.shown {
            shown.insert(row.id, std::mem::take(parts));
        }
    }
    shown
}

fn body_of(row: &MessageRow) -> Message {
    serde_json::from_str(&row.body).unwrap_or_else(|_| Message::text(Role::System, ""))
}

fn show(row: &MessageRow, calls: Option<&Calls>, parts: Option<&PartsShown>) -> Value {
    let message = body_of(row);
    let mut meta = match &row.meta {
        Some(Value::Object(meta)) => meta.clone(),
        Some(_) | None => Map::new(),
    };
    if row.summarized {
        meta.insert("summarized".into(), true.into());
    }
    let mut out = json!({
        "id": row.id.to_string(), "role": row.role, "content": message.content, "attachments": message.attachments,
        "trace_id": row.run.map(|run| run.to_string()), "meta": meta, "created_at": row.created_at.rfc3339(),
    });
    if let Some(calls) = calls {
        out["tool_calls"] = calls.get(&row.id).cloned().unwrap_or_default().into();
    }
    if let Some(parts) = parts {
        out["parts"] = parts.get(&row.id).cloned().unwrap_or_else(|| message.shown_parts()).into();
    }
    out
}
