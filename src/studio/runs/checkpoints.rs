//! Owns node checkpoints for people: list and delete.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::Id;
use crate::store::log::checkpoints as table;
use crate::store::log::checkpoints::CheckpointRow;
use crate::studio::{Scope, Studio};

/// At most so many are listed.
const MOST: usize = 1000;

fn show(row: &CheckpointRow) -> Value {
    json!({
        "key": row.key, "trace_id": row.run.to_string(), "node_id": row.node_id, "iteration_path": row.iteration_path,
        "input_hash": row.input_hash, "handle": row.handle, "created_at": row.created_at.rfc3339(),
        "expires_at": row.expires_at.map(crate::model::Timestamp::rfc3339),
    })
}

pub(in crate::studio) fn run_of(run: &str) -> Result<Id> {
    run.parse().map_err(|_| Error::field("trace_id", "trace_id must be the id of a run"))
}

impl Studio {
    /// The node results that are kept of a run, or of all runs when none is named.
    pub async fn checkpoints(&self, scope: &Scope, run: &str) -> Result<Value> {
        let tenant = scope.tenant.clone();
        let run = if run.is_empty() { None } else { Some(run_of(run)?) };
        let found = self.reading(move |tx| Ok(table::list(tx, &tenant, run.as_ref(), MOST)?)).await?;
        Ok(json!({"data": found.iter().map(show).collect::<Vec<_>>()}))
    }

    /// Removes the node results of a run.
    pub async fn delete_checkpoints(&self, scope: &Scope, run: &str) -> Result<()> {
        let (tenant, run) = (scope.tenant.clone(), run_of(run)?);
        self.writing(move |tx| Ok(table::delete_of_run(tx, &tenant, &run)?)).await.map(|_| ())
    }
}
