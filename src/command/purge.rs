//! Owns `studio:purge`, `studio:checkpoints:purge` and `studio:runs:rest`.

use serde_json::{Map, Value, json};

use super::{Arguments, Call, Exit, Outcome};
use crate::error::Error;
use crate::studio::Scope;
use crate::sync::Mutex;

/// Applies `retention.*` and removes what has expired; prints counts per kind.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let (dry, is_right) = (arguments.switch("dry-run")?, arguments.switch("clock-is-right")?);
    arguments.end()?;
    must_be_for_all(call, "purge", "nothing was removed")?;
    call.must_find_database("nothing was removed")?;
    let stop = call.stop.gently.clone();
    let removed = Mutex::new(0_u64);
    let now = call.studio.time_of_purge(is_right).await?;
    let purged = if dry {
        call.patiently(Box::pin(call.studio.purgeable_at(now)), String::new).await?
    } else {
        let told = |purged: [(&str, u64); 6]| *removed.lock() = purged.iter().map(|(_, count)| count).sum();
        let work = Box::pin(call.studio.purge_at(now, stop, |purged| told(purged.counts())));
        call.patiently(work, || format!("; runs, threads and records removed so far: {}", *removed.lock())).await?
    };
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
    if trace.is_none() {
        must_be_for_all(call, "checkpoints:purge", "nothing was removed")?;
    }
    call.must_find_database("nothing was removed")?;
    let scope = Scope { tenant: call.tenant.as_str().into(), user: None };
    let count = match trace {
        Some(run) => call.studio.purge_checkpoints_of(&scope, &run).await?,
        None => call.patiently(Box::pin(call.studio.purge_checkpoints(all)), String::new).await?,
    };
    call.say(&format!("Purged {count} checkpoint(s)."));
    call.give(&json!({"checkpoints": count}));
    Ok(Exit::Done)
}

/// Puts queued runs and runs at work to rest.
pub(super) async fn rest(call: &Call<'_>, arguments: Arguments) -> Outcome {
    arguments.end()?;
    must_be_for_all(call, "runs:rest", "nothing was changed")?;
    call.must_find_database("nothing was changed")?;
    let count = call.studio.put_runs_to_rest().await?;
    call.say(&format!("Marked {count} run(s)."));
    call.give(&json!({"resting_runs": count}));
    Ok(Exit::Done)
}

/// What is done for all tenants is not done for someone who named one.
fn must_be_for_all(call: &Call<'_>, command: &str, nothing: &str) -> Result<(), Error> {
    if call.tenant.is_empty() {
        return Ok(());
    }
    Err(super::usage(format!("`{command}` works on all tenants and takes no `--tenant`; {nothing}. Omit `--tenant` to run it for all tenants")))
}
