//! Owns the limit of runs at work (`limits.runs`).

use crate::engine::world::World;
use crate::error::{Error, Kind, Result};

/// Refuses a run if too many are active; queued ones wait.
pub(in crate::engine) fn must_have_room(world: &World, queued: bool) -> Result<()> {
    let limit = usize::try_from(world.config.limits.runs).unwrap_or(usize::MAX);
    if queued || world.sync_runs() < limit {
        return Ok(());
    }
    Err(Error::new(Kind::TooManyRuns, format!("{limit} runs are active (`limits.runs`); nothing was started; try again soon")))
}
