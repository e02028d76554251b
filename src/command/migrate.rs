//! Owns `studio:migrate`: applies migrations, or lists them.

use serde_json::{Value, json};

use super::{Arguments, Call, Exit, Outcome};
use crate::store::db::inspect;

/// Applies the versions of the schema that are missing and prints them.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let pretend = arguments.switch("pretend")?;
    arguments.end()?;
    let store = &call.studio.world().store;
    let found = store.inspect().await?;
    inspect::must_be_known(found.schema)?;
    if !pretend {
        call.patiently(Box::pin(store.write(|_| Ok(()))), String::new).await?;
    }
    let verb = if pretend { "would apply" } else { "applied" };
    for (number, title) in inspect::missing(found.schema) {
        call.say(&format!("{verb} {number:04} {title}"));
    }
    if found.schema == inspect::SCHEMA {
        call.say(&format!("the database is up to date (schema {})", found.schema));
    }
    let list: Vec<Value> = inspect::missing(found.schema).map(|(number, title)| json!({"number": number, "title": title})).collect();
    call.give(&json!({"found": found.schema, "known": inspect::SCHEMA, "pretend": pretend, "applied": list}));
    Ok(Exit::Done)
}
