//! Owns the row of a run: insert and select.

pub mod delete;
pub mod line;
pub mod list;
pub mod queue;
pub(in crate::store) mod update;

use std::sync::Arc;

use serde_json::Value;

use super::db::{Param, Row, Tx, params, to_json};
use super::error::StoreError;
use super::usage;
use crate::model::chat::Tokens;
use crate::model::event::{EntityKind, Seq};
use crate::model::usage::{Picos, Usage};
use crate::model::{Id, Timestamp};

pub use crate::store::runs::delete::delete;
pub use crate::store::runs::list::{RunCounts, RunCursor, RunFilter, children, counts, list, page};
pub use crate::store::runs::queue::{cancel_wanted, claim, claim_expired, claim_queued, due_at, request_cancel};
pub use crate::store::runs::update::{RunUpdate, Standing};
pub(super) use crate::store::runs::update::{Updated, keep_reply, update};

/// A run as it is listed.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the run summary")]
pub struct RunRow {
    pub id: Id,
    pub tenant: Arc<str>,
    pub entity_type: EntityKind,
    pub entity_id: Id,
    pub entity_name: String,
    /// Of the workflow; none for a draft or an agent.
    pub revision: Option<i64>,
    pub thread: Id,
    pub parent: Option<Id>,
    pub status: String,
    /// `sync` or `async`.
    pub mode: String,
    pub user_id: Option<String>,
    /// At most 120 characters; search takes a shorter one for the whole input.
    pub input_preview: String,
    /// Hash of the graph's part.
    pub graph: Option<Arc<str>>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub working_ms: u64,
    pub waiting_ms: u64,
    /// When it last paused or ended.
    pub rested_at: Option<Timestamp>,
    pub awaiting_node: Option<String>,
    pub awaiting_pause: Option<Id>,
    /// `{code, message, node_id}`.
    pub error: Option<Value>,
    pub head: Seq,
    /// The owner's token: grows with each new owner.
    pub fence: i64,
    pub owner: Option<String>,
    pub lease_until: Option<Timestamp>,
    pub takeovers: u32,
    pub last_event_id: u64,
    pub attempt: u32,
    /// Of its own calls.
    pub own: Usage,
    /// With all descendants.
    pub total: Usage,
    pub queue: Option<String>,
    pub available_at: Option<Timestamp>,
    pub tries: u32,
    pub cancel_requested: bool,
    /// Its number; 0 before it is stored.
    pub no: i64,
}

/// The columns of a run in the order in which `of_row` reads them.
macro_rules! run_columns {
    () => {
        "no, id, tenant, entity_type, entity_id, entity_name, revision, thread, parent, status, mode, user_id, input_preview, graph, \
         created_at, started_at, finished_at, working_ms, waiting_ms, rested_at, awaiting_node, awaiting_pause, error, \
         head, fence, owner, lease_until, takeovers, last_event_id, attempt, \
         own_prompt, own_completion, own_cached, own_cache_write, own_reasoning, own_cost, own_unpriced, \
         total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_cost, total_unpriced, \
         queue, available_at, tries, cancel_requested"
    };
}
pub(super) use run_columns;

pub(super) fn of_row(row: &Row<'_>) -> Result<RunRow, StoreError> {
    let owned = |column| row.opt_text(column).map(|text| text.map(str::to_owned));
    let time = |column| row.opt_int(column).map(|at| at.map(Timestamp));
    Ok(RunRow {
        no: row.int(0)?,
        id: row.id(1)?,
        tenant: row.text(2)?.into(),
        entity_type: entity_kind(row.text(3)?)?,
        entity_id: row.id(4)?,
        entity_name: row.text(5)?.to_owned(),
        revision: row.opt_int(6)?,
        thread: row.id(7)?,
        parent: row.opt_id(8)?,
        status: row.text(9)?.to_owned(),
        mode: row.text(10)?.to_owned(),
        user_id: owned(11)?,
        input_preview: row.text(12)?.to_owned(),
        graph: row.opt_text(13)?.map(Arc::from),
        created_at: Timestamp(row.int(14)?),
        started_at: time(15)?,
        finished_at: time(16)?,
        working_ms: row.count(17)?,
        waiting_ms: row.count(18)?,
        rested_at: time(19)?,
        awaiting_node: owned(20)?,
        awaiting_pause: row.opt_id(21)?,
        error: row.opt_json(22)?,
        head: row.count(23)?,
        fence: row.int(24)?,
        owner: owned(25)?,
        lease_until: time(26)?,
        takeovers: small(row.int(27)?)?,
        last_event_id: row.count(28)?,
        attempt: small(row.int(29)?)?,
        own: usage_at(row, 30)?,
        total: usage_at(row, 37)?,
        queue: owned(44)?,
        available_at: time(45)?,
        tries: small(row.int(46)?)?,
        cancel_requested: row.truth(47)?,
    })
}

pub(super) fn entity_kind(text: &str) -> Result<EntityKind, StoreError> {
    match text {
        "agent" => Ok(EntityKind::Agent),
        "workflow" => Ok(EntityKind::Workflow),
        other => Err(StoreError::Corrupt(format!("`{other}` is no kind of entity"))),
    }
}

fn small(number: i64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(|_| StoreError::damaged("a count of a run is out of range"))
}

/// Seven columns of usage from `first` on.
pub(super) fn usage_at(row: &Row<'_>, first: usize) -> Result<Usage, StoreError> {
    Ok(Usage {
        tokens: Tokens {
            prompt: row.count(first)?,
            completion: row.count(first + 1)?,
            cached: row.count(first + 2)?,
            cache_write: row.count(first + 3)?,
            reasoning: row.count(first + 4)?,
            ..Tokens::default()
        },
        cost: Picos(row.int(first + 5)?),
        unpriced: row.truth(first + 6)?,
    })
}

pub(super) fn usage_params(usage: &Usage) -> [Param<'static>; 7] {
    let tokens = &usage.tokens;
    [
        tokens.prompt.into(),
        tokens.completion.into(),
        tokens.cached.into(),
        tokens.cache_write.into(),
        tokens.reasoning.into(),
        usage.cost.0.into(),
        usage.unpriced.into(),
    ]
}

/// Makes a run's row; its log is empty. A run that began counts for usage.
pub fn insert(tx: &mut Tx<'_>, run: &RunRow) -> Result<i64, StoreError> {
    store(tx, run, run.head)
}

/// Makes the row of a run whose log has these first entries.
pub(super) fn make(tx: &mut Tx<'_>, run: &RunRow, head: Seq) -> Result<Updated, StoreError> {
    let no = store(tx, run, head)?;
    Ok(Updated {
        no,
        root: no,
        entity: (run.entity_type, run.entity_id),
        top: run.parent.is_none(),
        started_at: run.started_at,
    })
}

/// Makes a child run's row, or brings it up to date.
pub(super) fn upsert(tx: &mut Tx<'_>, run: &RunRow) -> Result<i64, StoreError> {
    let (id, error, pause) = (run.id.text(), json_of(run.error.as_ref())?, run.awaiting_pause.map(|id| id.text()));
    let mut values = vec![
        Param::from(&id),
        (&run.tenant).into(),
        Param::from(&run.status),
        run.started_at.map(|at| at.0).into(),
        run.finished_at.map(|at| at.0).into(),
        run.working_ms.into(),
        run.waiting_ms.into(),
        run.rested_at.map(|at| at.0).into(),
        run.awaiting_node.as_ref().into(),
        pause.as_ref().into(),
        error.as_ref().into(),
        run.attempt.into(),
    ];
    values.extend(usage_params(&run.own));
    values.extend(usage_params(&run.total));
    let found = tx.query_one(
        "UPDATE #runs SET status = $3, started_at = $4, finished_at = $5, working_ms = $6, waiting_ms = $7, rested_at = $8, \
         awaiting_node = $9, awaiting_pause = $10, error = $11, attempt = $12, \
         own_prompt = $13, own_completion = $14, own_cached = $15, own_cache_write = $16, own_reasoning = $17, own_cost = $18, \
         own_unpriced = $19, total_prompt = $20, total_completion = $21, total_cached = $22, total_cache_write = $23, \
         total_reasoning = $24, total_cost = $25, total_unpriced = $26 WHERE id = $1 AND tenant = $2 RETURNING no",
        &values,
        |row| row.int(0),
    )?;
    found.map_or_else(|| insert(tx, run), Ok)
}

/// Stores a row whose log has so many entries.
fn store(tx: &mut Tx<'_>, run: &RunRow, head: Seq) -> Result<i64, StoreError> {
    let ids = [run.id, run.entity_id, run.thread].map(|id| id.text());
    let [parent, pause] = [run.parent, run.awaiting_pause].map(|id| id.map(|id| id.text()));
    let error = json_of(run.error.as_ref())?;
    let time = |at: Option<Timestamp>| Param::from(at.map(|at| at.0));
    let values = [
        Param::from(&ids[0]),
        (&run.tenant).into(),
        run.entity_type.as_str().into(),
        (&ids[1]).into(),
        (&run.entity_name).into(),
        run.revision.into(),
        (&ids[2]).into(),
        parent.as_ref().into(),
        (&run.status).into(),
        (&run.mode).into(),
        run.user_id.as_ref().into(),
        (&run.input_preview).into(),
        run.graph.as_ref().into(),
        run.created_at.0.into(),
        time(run.started_at),
        time(run.finished_at),
        run.working_ms.into(),
        run.waiting_ms.into(),
        time(run.rested_at),
        run.awaiting_node.as_ref().into(),
        pause.as_ref().into(),
        error.as_ref().into(),
        head.into(),
        run.fence.into(),
        run.owner.as_ref().into(),
        time(run.lease_until),
        run.takeovers.into(),
        run.last_event_id.into(),
        run.attempt.into(),
        run.queue.as_ref().into(),
        time(run.available_at),
        run.tries.into(),
        run.cancel_requested.into(),
    ];
    let no = tx.insert(
        "INSERT INTO #runs (id, tenant, entity_type, entity_id, entity_name, revision, thread, parent, status, mode, user_id, input_preview, graph, \
         created_at, started_at, finished_at, working_ms, waiting_ms, rested_at, awaiting_node, awaiting_pause, error, \
         head, fence, owner, lease_until, takeovers, last_event_id, attempt, queue, available_at, tries, cancel_requested, \
         own_prompt, own_completion, own_cached, own_cache_write, own_reasoning, own_cost, own_unpriced, \
         total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_cost, total_unpriced, \
         root, tokens_kept) VALUES (\
         $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, \
         $27, $28, $29, $30, $31, $32, $33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
         (SELECT COALESCE(p.root, p.no) FROM #runs p WHERE p.id = $8), 0){| RETURNING no}",
        &values,
    )?;
    if [run.own, run.total] != [Usage::default(); 2] {
        set_usage(tx, no, run)?;
    }
    if run.parent.is_none() && let Some(started) = run.started_at {
        usage::count_run(tx, &run.tenant, started, (run.entity_type, run.entity_id), 1);
    }
    Ok(no)
}

/// A run that is stored for the first time has mostly used nothing yet.
fn set_usage(tx: &mut Tx<'_>, no: i64, run: &RunRow) -> Result<(), StoreError> {
    let mut values = vec![Param::from(no)];
    values.extend(usage_params(&run.own));
    values.extend(usage_params(&run.total));
    tx.send(
        "UPDATE #runs SET own_prompt = $2, own_completion = $3, own_cached = $4, own_cache_write = $5, own_reasoning = $6, own_cost = $7, \
         own_unpriced = $8, total_prompt = $9, total_completion = $10, total_cached = $11, total_cache_write = $12, total_reasoning = $13, \
         total_cost = $14, total_unpriced = $15 WHERE no = $1",
        &values,
    )
}

pub(super) fn json_of(value: Option<&Value>) -> Result<Option<String>, StoreError> {
    value.map(to_json).transpose()
}

/// A run's row.
pub fn get(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Option<RunRow>, StoreError> {
    tx.query_one(
        concat!("SELECT ", run_columns!(), " FROM #runs WHERE id = $1 AND tenant = $2"),
        params![&run.text(), tenant],
        of_row,
    )
}
