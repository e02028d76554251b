//! Owns the workload of many stored runs: a database like that of a busy quarter, and what people and hosts ask of it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::chat::Tokens;
use wfstudio::model::event::{EntityKind, Entry};
use wfstudio::model::usage::{Picos, Usage};
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::log::{self, Append};
use wfstudio::store::runs::{self, RunRow, RunUpdate};
use wfstudio::store::usage::SpanRow;
use wfstudio::store::{Param, StoreError, Tx};
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{ListQuery, Resource, RunsQuery, Scope, Studio, TraceQuery, UsageWindow};

use crate::graphs;
use crate::measure::{self, Sample, emit};

const DAYS: i64 = 90;
const DAY: i64 = 86_400_000;
/// The last moment of the 90 days.
const END: i64 = 1_795_219_200_000;
const MODELS: u64 = 8;
const ENTITIES: u64 = 50;
const BATCH: u64 = 500;

fn open(database: &Path) -> Studio {
    let settings = json!({"environment": "local", "database": {"path": database, "synchronous": "normal"}, "worker": {"in_process": false},
        "providers": {"script": {"scripts": {"m": {"replies": [{"times": 0, "text": "A short answer."}]}}}}});
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: std::collections::BTreeMap::new() });
    Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).expect("a studio")
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// Stores `n` runs over 90 days: copies of the log of one that ran, of 50 workflows and 50 agents; one in ten is a child. Their answers
/// are all the same, or so many words of prose.
pub fn build(database: &str, n: u64, words: u64) {
    let path = Path::new(database);
    measure::remove(path);
    let sample = Sample::start();
    wait(async {
        let studio = open(path);
        let mut pattern = pattern(&studio).await;
        pattern.words = words;
        let pattern = Arc::new(pattern);
        for from in (0..n).step_by(BATCH as usize) {
            let pattern = Arc::clone(&pattern);
            let batch = move |tx: &mut Tx<'_>| (from..(from + BATCH).min(n)).try_for_each(|number| pattern.store(tx, number, n, Metered::Whole));
            studio.world().store.write(batch).await.expect("runs are stored");
        }
        studio.shutdown(std::time::Duration::from_secs(60)).await;
    });
    let bytes = measure::size(path) / n.max(1);
    emit("W7build", "sqlite-normal", n, n, &[sample.stop()], json!({"db_bytes_per_unit": bytes}));
}

/// How much of two calls of a run is stored.
#[derive(Clone, Copy)]
enum Metered {
    /// Nothing.
    Nothing,
    /// Their rows, without what they add to sums.
    Rows,
    /// Everything.
    Whole,
}

/// What the calls of a run and their sums cost to store: the last `n` of `of` runs over 90 days, so many in a transaction, without calls,
/// with the rows of two, and with their sums too. The sums of the calls are the difference of the last two. The three take turns, so that
/// a machine that becomes slower makes all of them slower.
pub fn metered(database: &str, n: u64, of: u64, together: u64) {
    const TURN: u64 = 240;
    let (of, together) = (of.max(n), together.clamp(1, TURN));
    let variants = [("no calls", Metered::Nothing), ("rows of two calls", Metered::Rows), ("two calls", Metered::Whole)];
    let paths = ["nothing", "rows", "whole"].map(|name| Path::new(database).with_extension(name));
    wait(async {
        let mut studios = Vec::new();
        for path in &paths {
            measure::remove(path);
            let studio = open(path);
            let pattern = Arc::new(pattern(&studio).await);
            studios.push((studio, pattern));
        }
        let mut used = [(0.0, 0.0); 3];
        for turn in (of - n..of).step_by(TURN as usize) {
            for (((_, calls), (studio, pattern)), used) in variants.iter().zip(&studios).zip(&mut used) {
                let sample = Sample::start();
                let end = (turn + TURN).min(of);
                for from in (turn..end).step_by(together as usize) {
                    let (pattern, calls) = (Arc::clone(pattern), *calls);
                    let store = move |tx: &mut Tx<'_>| {
                        (from..(from + together).min(end)).try_for_each(|number| pattern.store(tx, number, of, calls))
                    };
                    studio.world().store.write(store).await.expect("runs are stored");
                }
                let (wall, cpu) = sample.stop();
                *used = (used.0 + wall, used.1 + cpu);
            }
        }
        for ((variant, _), used) in variants.iter().zip(used) {
            emit("W7metered", variant, n, n, &[used], json!({"of": of, "in_a_transaction": together}));
        }
        for (studio, _) in studios {
            studio.shutdown(std::time::Duration::from_secs(60)).await;
        }
    });
    paths.iter().for_each(|path| measure::remove(path));
}

/// A run that really ran, and its log.
struct Pattern {
    row: RunRow,
    entries: Vec<Arc<Entry>>,
    /// How many words of prose an answer has; 0 = all have the same one.
    words: u64,
}

/// Words of prose: frequent ones are there often.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    const PROSE: [&str; 4] =
        [include_str!("../docs/graphs.md"), include_str!("../docs/hosts.md"), include_str!("../docs/http.md"), include_str!("../docs/tools.md")];
    PROSE.into_iter().flat_map(str::split_whitespace).collect()
});

/// The answer of a run of this number.
fn prose(number: u64, words: u64) -> String {
    let mut drawn = number;
    let mut text = String::new();
    for _ in 0..words {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[usize::try_from(drawn >> 33).unwrap_or(0) % WORDS.len()]);
        text.push(' ');
    }
    text
}

async fn pattern(studio: &Studio) -> Pattern {
    let scope = Scope::default();
    let body = json!({"name": "Triage", "graph": graphs::asking()});
    let workflow = studio.create(&scope, Resource::Workflow, &body).await.expect("a workflow");
    let request = RunRequest::parse(&json!({"message": "m".repeat(200)}), EntityKind::Workflow).expect("a body");
    let id = workflow["id"].as_str().expect("an id");
    let started = studio.start(&scope, EntityKind::Workflow, id, request, false).await.expect("a run");
    let run = started.run;
    let from = From { after: started.after, ..From::default() };
    let mut events = studio.events(&scope, &run.to_string(), from, Follow::Answer).await.expect("events").expect("a stream");
    while events.next_batch().await.is_some() {}
    let read = move |tx: &mut Tx<'_>| {
        let row = runs::get(tx, "", &run)?.ok_or(StoreError::Closed)?;
        let entries = log::entries(tx, "", &run, 0, 1000)?.into_iter().map(Arc::new).collect();
        Ok(Pattern { row, entries, words: 0 })
    };
    studio.world().store.read(read).await.expect("the run is stored")
}

fn id(kind: u64, number: u64) -> Id {
    Id::v7(kind, (number & 0xfff) as u16, number)
}

fn usage(number: u64) -> Usage {
    let tokens = Tokens { prompt: 800 + number % 400, completion: 150, ..Tokens::default() };
    Usage { tokens, cost: Picos(i64::try_from(tokens.prompt * 150_000 + tokens.completion * 600_000).unwrap_or(0)), unpriced: false }
}

impl Pattern {
    fn store(&self, tx: &mut Tx<'_>, number: u64, n: u64, metered: Metered) -> Result<(), StoreError> {
        let back = i64::try_from((n - number) as u128 * (DAYS * DAY) as u128 / u128::from(n)).unwrap_or(0);
        let at = Timestamp(END - back);
        let agent = number % 2 == 1;
        let child = number % 10 == 9;
        let mut row = RunRow {
            no: 0,
            id: id(at.0.unsigned_abs(), number),
            entity_type: if agent { EntityKind::Agent } else { EntityKind::Workflow },
            entity_id: id(if agent { 1 } else { 2 }, number / 2 % ENTITIES),
            thread: id(3, number),
            created_at: at,
            started_at: None,
            finished_at: None,
            status: "running".to_owned(),
            head: 0,
            fence: 1,
            ..self.row.clone()
        };
        if child {
            row.parent = Some(id((END - i64::try_from((n - number + 1) as u128 * (DAYS * DAY) as u128 / u128::from(n)).unwrap_or(0)).unsigned_abs(), number - 1));
        }
        runs::insert(tx, &row)?;
        let calls = [usage(number), usage(number + 7)];
        let mut total = calls[0];
        total.add(&calls[1]);
        let mut append = Append::new(row.id, Arc::clone(&row.tenant), 0, 1, self.update(at, number, total));
        append.entries.clone_from(&self.entries);
        let spans: Vec<_> = (0..).zip(calls).map(|(place, usage)| span(&row, place, number, at, usage)).collect();
        let rows = match metered {
            Metered::Nothing => Vec::new(),
            Metered::Rows => spans,
            Metered::Whole => {
                append.spans = spans;
                Vec::new()
            }
        };
        let (run, _) = log::append(tx, &append)?;
        rows.iter().try_for_each(|span| row_alone(tx, run, span))
    }

    fn update(&self, at: Timestamp, number: u64, total: Usage) -> RunUpdate {
        let end = Some(Timestamp(at.0 + 1500));
        let status = if number % 20 == 3 { "failed" } else { "completed" };
        RunUpdate {
            status,
            started_at: Some(at),
            finished_at: end,
            working_ms: 1500,
            waiting_ms: 0,
            rested_at: end,
            awaiting_node: None,
            awaiting_pause: None,
            error: (status == "failed").then(|| json!({"code": "provider_timeout", "message": "no answer", "node_id": "llm_1"})),
            reply: (status == "completed").then(|| match self.words {
                0 => "A short answer.".into(),
                words => prose(number, words).into(),
            }),
            fence: 1,
            owner: None,
            lease_until: None,
            takeovers: 0,
            last_event_id: self.row.last_event_id,
            attempt: 1,
            own: total,
            total,
            mode: "sync",
            queue: None,
            available_at: None,
            tries: 0,
        }
    }
}

/// The row that the store makes of a call, without its part of the sums.
fn row_alone(tx: &mut Tx<'_>, run: i64, span: &SpanRow) -> Result<(), StoreError> {
    let (id, tokens) = (span.id.to_string(), span.usage.tokens);
    let values = [
        Param::from(&id),
        "".into(),
        run.into(),
        run.into(),
        span.kind.into(),
        (&span.provider).into(),
        (&span.model).into(),
        span.started_at.0.into(),
        span.traced.into(),
        tokens.prompt.into(),
        tokens.completion.into(),
        tokens.cached.into(),
        tokens.cache_write.into(),
        tokens.reasoning.into(),
        span.usage.cost.0.into(),
        span.usage.unpriced.into(),
    ];
    tx.send(
        "INSERT INTO #spans (id, tenant, run, root, kind, provider, model, started_at, traced, \
         prompt, completion, cached, cache_write, reasoning, cost, unpriced) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &values,
    )
}

fn span(run: &RunRow, place: u64, number: u64, at: Timestamp, usage: Usage) -> SpanRow {
    SpanRow {
        id: id(at.0.unsigned_abs() + 1, number * 2 + place),
        run: run.id,
        kind: "llm",
        provider: "openai".into(),
        model: format!("model-{}", (number * 2 + place) % MODELS),
        started_at: Timestamp(at.0 + 100 * i64::try_from(place).unwrap_or(0)),
        traced: true,
        usage,
    }
}

/// What is asked of it: each question so many times, or only the one of a name; `text=…` looks for a text.
pub fn query(database: &str, reps: u64, only: Option<&str>) {
    let wanted = |variant: &str| only.is_none_or(|only| only == variant);
    wait(async {
        let studio = open(Path::new(database));
        let scope = Scope::default();
        let entity = id(2, 7).to_string();
        let page = studio.runs(&scope, RunsQuery::default()).await.expect("runs").into_json();
        let run = page["data"][10]["id"].as_str().expect("an id").to_owned();
        for (variant, query) in lists(&studio, &scope, &run).await.into_iter().filter(|(variant, _)| wanted(variant)) {
            ask(variant, reps, async || studio.runs(&scope, query.clone()).await.expect("runs").into_bytes()).await;
        }
        if let Some(text) = only.and_then(|only| only.strip_prefix("text=")) {
            let query = RunsQuery { list: ListQuery::parse([("limit", "50"), ("q", text)]).expect("a query"), ..RunsQuery::default() };
            ask(text, reps, async || studio.runs(&scope, query.clone()).await.expect("runs").into_bytes()).await;
        }
        if wanted("counts") {
            ask("counts", reps, async || studio.run_counts(&scope).await.expect("counts")).await;
        }
        if wanted("trace") {
            ask("trace", reps, async || studio.trace(&scope, &run, TraceQuery::default()).await.expect("a trace")).await;
        }
        for (variant, more) in [
            ("usage", json!({})),
            ("usage-by-model", json!({"group_by": "model"})),
            ("usage-by-entity", json!({"group_by": "entity"})),
            ("usage-by-day", json!({"group_by": "day"})),
            ("usage-of-entity", json!({"entity_id": entity, "group_by": "model"})),
            ("usage-by-thread", json!({"group_by": "thread"})),
            ("usage-of-model", json!({"model": "model-3"})),
            ("usage-of-model-by-day", json!({"model": "model-3", "group_by": "day"})),
        ]
        .into_iter()
        .filter(|(variant, _)| wanted(variant))
        {
            let mut asked = json!({"from": "2026-10-15", "to": "2026-11-13"});
            if let (Value::Object(asked), Value::Object(more)) = (&mut asked, more) {
                asked.extend(more);
            }
            let window = UsageWindow::parse(asked.as_object().expect("an object")).expect("a query");
            ask(variant, reps, async || studio.usage(&scope, window.clone()).await.expect("a report").to_bytes()).await;
        }
    });
}

/// Questions for a page of runs: every filter, alone and together, and pages further on.
async fn lists(studio: &Studio, scope: &Scope, run: &str) -> Vec<(&'static str, RunsQuery)> {
    let page = |text: &str| ListQuery::parse(text.split('&').filter_map(|pair| pair.split_once('='))).expect("a query");
    let newest = RunsQuery { list: page("limit=50"), ..RunsQuery::default() };
    let (mut cursor, mut left) = (newest.clone(), 0);
    while left < 20 {
        let told = studio.runs(scope, cursor.clone()).await.expect("runs").into_json();
        let Some(next) = told["next_cursor"].as_str() else { break };
        cursor.list = page(&format!("limit=50&cursor={next}"));
        left += 1;
    }
    let entity = RunsQuery { entity_id: Some(id(2, 7).to_string()), entity_type: Some(EntityKind::Workflow), ..newest.clone() };
    let failed = RunsQuery { status: vec!["failed".into()], ..newest.clone() };
    let month = RunsQuery { from: Some(Timestamp(END - 60 * DAY)), to: Some(Timestamp(END - 30 * DAY)), ..newest.clone() };
    vec![
        ("newest", newest.clone()),
        ("page-21", cursor),
        ("failed", failed.clone()),
        ("queued", RunsQuery { status: vec!["queued".into(), "running".into()], ..newest.clone() }),
        ("agents", RunsQuery { entity_type: Some(EntityKind::Agent), ..newest.clone() }),
        ("entity", entity.clone()),
        ("entity-failed", RunsQuery { status: failed.status.clone(), ..entity.clone() }),
        ("entity-month", RunsQuery { from: month.from, to: month.to, ..entity }),
        ("failed-month", RunsQuery { status: failed.status, ..month.clone() }),
        ("month", month),
        ("thread", RunsQuery { thread_id: Some(id(3, 10).to_string()), ..newest.clone() }),
        ("children", RunsQuery { parent_run_id: Some(run.to_owned()), ..newest.clone() }),
        ("text", RunsQuery { list: page("limit=50&q=short"), ..newest.clone() }),
        ("text-rare", RunsQuery { list: page("limit=50&q=nowhere"), ..newest }),
    ]
}

async fn ask<T: AsJson>(variant: &str, reps: u64, question: impl AsyncFn() -> T) {
    let told = question().await;
    let mut samples = Vec::new();
    for _ in 0..reps.max(1) {
        let sample = Sample::start();
        let _told_again = question().await;
        samples.push(sample.stop());
    }
    let told = told.value();
    let bytes = told.to_string().len();
    emit("W7query", variant, reps, 1, &samples, json!({"bytes": bytes, "runs": told["totals"]["run_count"], "rows": told["data"].as_array().map(Vec::len), "more": !told["next_cursor"].is_null()}));
}

/// An answer: a value, or the text that is sent.
trait AsJson {
    fn value(self) -> Value;
}

impl AsJson for Value {
    fn value(self) -> Value {
        self
    }
}

impl AsJson for Vec<u8> {
    fn value(self) -> Value {
        serde_json::from_slice(&self).expect("JSON")
    }
}
