//! Owns the messages of a thread as people read them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::lists::{ListQuery, Page};
use super::reach::Refusal;
use crate::error::Error;
use crate::model::Id;
use crate::model::chat::{Message, Role};
use crate::store::threads::{self, MessageRow};
use crate::store::{StoreError, Tx};

/// One page of a thread's messages, oldest first.
pub(super) fn shown_messages(tx: &mut Tx<'_>, tenant: &str, thread: &Id, query: &ListQuery) -> Result<Page, Refusal> {
    let after = match query.after.as_deref() {
        Some(key) => key.parse().map_err(|_| Error::field("cursor", "cursor is not one that this list gave"))?,
        None => 0,
    };
    let rows = threads::shown(tx, tenant, thread, after, query.limit + 1)?;
    let results = if query.includes("tools") { Some(tool_results(tx, tenant, thread, &rows)?) } else { None };
    Ok(Page::of(rows, query.limit, |row| row.no.to_string(), |row| show(&row, results.as_ref())))
}

/// What tools answered, by the id of the call, in the histories that some messages belong to.
fn tool_results(tx: &mut Tx<'_>, tenant: &str, thread: &Id, rows: &[MessageRow]) -> Result<HashMap<String, Message>, StoreError> {
    let mut histories: Vec<&str> = rows.iter().map(|row| row.history.as_str()).filter(|history| !history.is_empty()).collect();
    histories.sort_unstable();
    histories.dedup();
    let mut results = HashMap::new();
    for history in histories {
        for row in threads::history(tx, tenant, thread, history)? {
            let message = body_of(&row);
            if let (Role::Tool, Some(call)) = (message.role, message.tool_call_id.clone()) {
                results.insert(call, message);
            }
        }
    }
    Ok(results)
}

fn body_of(row: &MessageRow) -> Message {
    serde_json::from_str(&row.body).unwrap_or_else(|_| Message::text(Role::System, ""))
}

fn show(row: &MessageRow, results: Option<&HashMap<String, Message>>) -> Value {
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
    if let Some(results) = results {
        out["tool_calls"] = message.tool_calls.iter().map(|call| {
            let result = results.get(&call.id);
            json!({"call_id": call.id, "name": call.name, "inputs": call.arguments, "result": result.map(|result| &result.content),
                "is_error": result.is_some_and(|result| result.is_error)})
        }).collect();
    }
    out
}
