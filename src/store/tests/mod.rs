//! Tests of the store through its public functions, on real files.

mod claims;
mod faults;
mod files;
mod lists;
mod logs;
mod numbers;
mod rest;
mod searches;
mod server;
mod sizes;
mod turns;
mod upkeep;
mod usages;

use std::sync::Arc;

use serde_json::{Map, json};

use super::log::{Append, append};
use super::runs::{self, RunRow, RunUpdate};
use super::threads::Begun;
use super::{Store, StoreError, StoreSettings, Tx};
use crate::model::event::{Created, EntityKind, Entry, Event};
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};

/// Runs async code of a test.
fn block<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

/// Runs an ignored test by its whole name, in a process of its own.
pub(in crate::store) fn alone(name: &str) {
    let ran = std::process::Command::new(std::env::current_exe().unwrap()).args(["--exact", name, "--ignored"]).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
}

/// An empty store: in memory, or on the server that tests run on.
fn fresh() -> Store {
    let settings = match crate::place::on_server(":memory:") {
        Some(url) => StoreSettings::of(&crate::config::Config::with(json!({"database": {"url": url}})).unwrap()).unwrap(),
        None => StoreSettings::in_memory(),
    };
    Store::open(settings)
}

/// A store in a folder of its own.
fn store_in(folder: &tempfile::TempDir) -> Store {
    Store::open(StoreSettings::file(folder.path().join("studio.sqlite")))
}

/// Writes in a store, for tests that only want the answer.
fn write<T: Send + 'static>(
    store: &Store,
    work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    block(store.write(work))
}

fn read<T: Send + 'static>(
    store: &Store,
    work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    block(store.read(work))
}

/// The id of a small number.
fn id(number: u64) -> Id {
    Id::v7(number, 0, number)
}

/// A run of an entity that begins on a thread.
const fn of<'a>(entity: (EntityKind, &'a Id), user_id: Option<&'a str>) -> Begun<'a> {
    Begun { entity, user_id, message: None }
}

/// A run of tenant `t` whose number tells its id and the time at which it was made.
fn run(number: u64) -> RunRow {
    RunRow {
        id: id(number),
        tenant: "t".into(),
        entity_type: EntityKind::Workflow,
        entity_id: id(900),
        entity_name: "Triage".into(),
        revision: Some(1),
        thread: id(800),
        parent: None,
        status: "running".into(),
        mode: "sync".into(),
        user_id: None,
        input_preview: format!("input {number}"),
        graph: None,
        created_at: Timestamp(i64::try_from(number).unwrap()),
        started_at: None,
        finished_at: None,
        working_ms: 0,
        waiting_ms: 0,
        rested_at: None,
        awaiting_node: None,
        awaiting_pause: None,
        error: None,
        head: 0,
        fence: 1,
        owner: Some("a".into()),
        lease_until: Some(Timestamp(1000)),
        takeovers: 0,
        last_event_id: 0,
        attempt: 1,
        own: Usage::default(),
        total: Usage::default(),
        queue: None,
        available_at: None,
        tries: 0,
        cancel_requested: false,
        no: 0,
    }
}

/// What an append makes of such a run.
fn update(status: &'static str) -> RunUpdate {
    RunUpdate {
        status,
        started_at: Some(Timestamp(5)),
        finished_at: None,
        working_ms: 7,
        waiting_ms: 0,
        rested_at: None,
        awaiting_node: None,
        awaiting_pause: None,
        error: None,
        reply: None,
        fence: 1,
        owner: Some("a".into()),
        lease_until: Some(Timestamp(1000)),
        takeovers: 0,
        last_event_id: 3,
        attempt: 1,
        own: Usage::default(),
        total: Usage::default(),
        mode: "sync",
        queue: None,
        available_at: None,
        tries: 0,
    }
}

fn entry(seq: u64) -> Arc<Entry> {
    Arc::new(Entry { seq, at: Timestamp(10), lane: 0, event: Event::Began })
}

/// The first entry of a run with a message.
fn created(number: u64, message: &str) -> Event {
    Event::Created(Arc::new(Created {
        entity: EntityKind::Workflow,
        entity_id: id(900),
        entity_name: "Triage".into(),
        revision: Some(1),
        graph: "ab".repeat(32).into(),
        definitions: "cd".repeat(32).into(),
        message: message.into(),
        state: Map::from_iter((0..10).map(|key| (format!("k{key}"), json!(0)))),
        attachments: vec![],
        thread: id(number + 50_000),
        queued: false,
        cancel_on_disconnect: false,
        user: None,
        instructions: None,
        context: None,
        parameters: None,
        replaces: None,
        trace: None,
    }))
}

/// An append of `count` entries to the run of a number.
fn growth(number: u64, head: u64, count: u64) -> Append {
    let mut append = Append::new(id(number), "t".into(), head, 1, update("running"));
    append.entries = (head + 1..=head + count).map(entry).collect();
    append
}

/// A store in memory with one run that has three entries.
fn with_run(store: &Store) {
    write(store, |tx| {
        runs::insert(tx, &run(1))?;
        append(tx, &growth(1, 0, 3))
    })
    .unwrap();
}
