//! Owns `studio:purge` and `studio:checkpoints:purge`.

use serde_json::{Map, Value, json};

use super::{Arguments, Call, Exit, Outcome};
use crate::studio::Scope;

/// Applies `retention.*` and removes what has expired; prints counts per kind.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let dry = arguments.switch("dry-run")?;
    arguments.end()?;
    let stop = call.stop.gently.clone();
    let purged = if dry { call.studio.purgeable().await? } else { call.studio.purge(stop).await? };
    let mut object = Map::from_iter([("dry_run".to_owned(), Value::Bool(dry))]);
    for (kind, count) in purged.counts() {
        let line = if dry { format!("{kind}: {count} would be removed") } else { format!("{kind}: {count} removed") };
        call.say(&line);
        object.insert(kind.to_owned(), count.into());
    }
    call.give(&Value::Object(object));
    Ok(Exit::Done)
}

/// Removes expired node checkpoints, all of them, or those of one run.
pub(super) async fn checkpoints(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let (all, trace) = (arguments.switch("all")?, arguments.value("trace"));
    arguments.end()?;
    if all && trace.is_some() {
        return Err(super::usage("`--all` and `--trace` exclude each other"));
    }
    let scope = Scope { tenant: call.tenant.as_str().into(), user: None };
    let count = match trace {
        Some(run) => call.studio.purge_checkpoints_of(&scope, &run).await?,
        None => call.studio.purge_checkpoints(all).await?,
    };
    call.say(&format!("Purged {count} checkpoint(s)."));
    call.give(&json!({"checkpoints": count}));
    Ok(Exit::Done)
}
