//! Owns one run in a list, borrowed from the database row.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

use crate::model::Timestamp;
use crate::model::usage::Usage;
use crate::store::db::Row;
use crate::store::error::StoreError;
use crate::store::runs::list::RunCursor;
use crate::store::runs::{RunRow, usage_at};

/// What lists show of a run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of the run summary")]
pub struct RunLine<'a> {
    pub id: Cow<'a, str>,
    pub status: &'a str,
    pub entity_type: &'a str,
    pub entity_id: Cow<'a, str>,
    pub entity_name: &'a str,
    pub thread: Cow<'a, str>,
    pub parent: Option<Cow<'a, str>>,
    pub awaiting_node: Option<&'a str>,
    pub awaiting_pause: Option<Cow<'a, str>>,
    pub input_preview: &'a str,
    pub mode: &'a str,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub working_ms: u64,
    pub waiting_ms: u64,
    /// `{code, message, node_id}`.
    pub error: Option<Cow<'a, RawValue>>,
    /// With all descendants.
    pub total: Usage,
    /// Its number.
    pub no: i64,
}

/// The columns of a run in the order in which `RunLine::of_row` reads them.
macro_rules! line_columns {
    () => {
        "no, created_at, id, status, entity_type, entity_id, entity_name, thread, parent, awaiting_node, awaiting_pause, \
         input_preview, mode, started_at, finished_at, working_ms, waiting_ms, error, \
         total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_cost, total_unpriced"
    };
}
pub(in crate::store) use line_columns;

impl<'a> RunLine<'a> {
    pub(in crate::store) fn of_row(row: &'a Row<'_>) -> Result<Self, StoreError> {
        let time = |column| row.opt_int(column).map(|at| at.map(Timestamp));
        let error = row.opt_text(17)?.map(serde_json::from_str::<&RawValue>).transpose();
        Ok(Self {
            no: row.int(0)?,
            created_at: Timestamp(row.int(1)?),
            id: row.text(2)?.into(),
            status: row.text(3)?,
            entity_type: row.text(4)?,
            entity_id: row.text(5)?.into(),
            entity_name: row.text(6)?,
            thread: row.text(7)?.into(),
            parent: row.opt_text(8)?.map(Cow::Borrowed),
            awaiting_node: row.opt_text(9)?,
            awaiting_pause: row.opt_text(10)?.map(Cow::Borrowed),
            input_preview: row.text(11)?,
            mode: row.text(12)?,
            started_at: time(13)?,
            finished_at: time(14)?,
            working_ms: row.count(15)?,
            waiting_ms: row.count(16)?,
            error: error.map_err(|error| StoreError::damaged(format!("stored JSON: {error}")))?.map(Cow::Borrowed),
            total: usage_at(row, 18)?,
        })
    }

    /// The place right behind this run.
    pub const fn cursor(&self) -> RunCursor {
        RunCursor::after(self.created_at, self.no)
    }
}

impl<'a> From<&'a RunRow> for RunLine<'a> {
    fn from(run: &'a RunRow) -> Self {
        Self {
            id: run.id.to_string().into(),
            status: &run.status,
            entity_type: run.entity_type.as_str(),
            entity_id: run.entity_id.to_string().into(),
            entity_name: &run.entity_name,
            thread: run.thread.to_string().into(),
            parent: run.parent.map(|id| id.to_string().into()),
            awaiting_node: run.awaiting_node.as_deref(),
            awaiting_pause: run.awaiting_pause.map(|id| id.to_string().into()),
            input_preview: &run.input_preview,
            mode: &run.mode,
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            working_ms: run.working_ms,
            waiting_ms: run.waiting_ms,
            error: run.error.as_ref().and_then(|error| to_raw_value(error).ok()).map(Cow::Owned),
            total: run.total,
            no: run.no,
        }
    }
}
