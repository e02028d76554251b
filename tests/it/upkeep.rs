//! Upkeep: what retention removes and what it never touches, what the doctor says, what a worker takes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::Studio;
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::engine::Boundary;
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::upkeep::retention::Purged;
use wfstudio::studio::runs::requests::ResumeRequest;
use wfstudio::studio::{Examination, Level, Options, Resource, Scope, TraceQuery, Upload};
use tokio_util::sync::CancellationToken;

use crate::support::config;
use crate::support::story::Story;

const DAY: i64 = 86_400_000;

/// A clock that is ahead.
struct Ahead(SystemClock, i64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + self.1)
    }

    fn id(&self) -> Id {
        let (high, low) = self.0.id().0.as_u64_pair();
        let at = u64::try_from(self.now().0).expect("a time");
        Id::v7(at, (high & 0xfff) as u16, low)
    }

    fn random(&self, into: &mut [u8]) {
        self.0.random(into);
    }
}

/// The same database so many milliseconds later.
fn later(folder: &Path, settings: Value, ahead: i64) -> Studio {
    let path = folder.join("studio.sqlite");
    let clock: Arc<dyn Clock> = Arc::new(Ahead(SystemClock::default(), ahead));
    let options = Options { clock: Some(clock), ..Options::default() };
    Studio::open_with(config(settings, path.to_str().expect("a path")), options).expect("a studio")
}

/// A purge so many milliseconds later. Where a server says what time it is, it is told the time.
async fn purged(studio: &Studio, ahead: i64) -> Purged {
    purge_telling(studio, ahead, |_| ()).await
}

async fn purge_telling(studio: &Studio, ahead: i64, told: impl Fn(&Purged) + Send + Sync) -> Purged {
    let (stop, now) = (CancellationToken::new(), Timestamp(SystemClock::default().now().0 + ahead));
    let done = if on_a_server() { studio.purge_at(now, stop, told).await } else { studio.purge_telling(stop, told).await };
    done.expect("a purge")
}

async fn purgeable(studio: &Studio, ahead: i64) -> Purged {
    let now = Timestamp(SystemClock::default().now().0 + ahead);
    let counted = if on_a_server() { studio.purgeable_at(now).await } else { studio.purgeable().await };
    counted.expect("counts")
}

async fn known(studio: &Studio, run: &str) -> bool {
    studio.trace(&Scope::default(), run, TraceQuery::default()).await.is_ok()
}

/// A run that is over, one that waits for a person, one that is at work.
struct Three {
    over: String,
    paused: String,
    working: String,
}

async fn three(story: &Story) -> Three {
    let over = story.run("start -> llm_1{provider: script, model: echo} -> stop").await.id;
    let paused = story.run("start -> human_1{prompt: \"Well?\"} -> stop").await.id;
    let workflow = story.workflow("start -> tool_1{tool_ref: \"host:stuck\"} -> stop").await;
    let working = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    story.calls(1).await;
    Three { over, paused, working }
}

#[tokio::test]
async fn retention_removes_what_is_old_and_never_what_is_at_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let three = three(&story).await;

    let keeps = later(folder.path(), json!({"worker": {"in_process": false}}), 400 * DAY);
    // Nothing was made for so long: somebody must say that the clock is right.
    let now = keeps.time_of_purge(true).await.expect("a time");
    let removed = keeps.purge_at(now, CancellationToken::new(), |_| ()).await.expect("a purge");
    assert_eq!((removed.runs, removed.threads), (0, 0), "nothing is configured to go");

    let settings = json!({"worker": {"in_process": false}, "retention": {"runs_days": 5}});
    let early = later(folder.path(), settings.clone(), 4 * DAY);
    assert_eq!(purged(&early, 4 * DAY).await.runs, 0, "it is not old enough");
    let late = later(folder.path(), settings, 6 * DAY);
    assert_eq!(purgeable(&late, 6 * DAY).await.runs, 1);
    assert!(known(&late, &three.over).await, "counting removes nothing");
    assert_eq!(purged(&late, 6 * DAY).await.runs, 1);
    let left = [known(&late, &three.over).await, known(&late, &three.paused).await, known(&late, &three.working).await];
    assert_eq!(left, [false, true, true]);

    let settings = json!({"worker": {"in_process": false}, "retention": {"paused_days": 5, "threads_days": 5}});
    let late = later(folder.path(), settings, 6 * DAY);
    assert_eq!(purgeable(&late, 6 * DAY).await.runs, 1);
    let removed = purged(&late, 6 * DAY).await;
    assert_eq!((removed.runs, removed.threads), (1, 2), "the thread of the run at work stays");
    assert!(!known(&late, &three.paused).await && known(&late, &three.working).await);
    let again = purged(&late, 6 * DAY).await;
    assert_eq!((again.runs, again.threads), (0, 0));
    let _status = story.cancel(&three.working).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_leaves_what_is_answered_while_it_is_at_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let ask = "start -> human_1{prompt: \"Well?\"} -> human_2{prompt: \"And?\"} -> stop";
    let (first, second, third) = (story.run(ask).await.id, story.run(ask).await.id, story.run(ask).await.id);
    let late = later(folder.path(), json!({"worker": {"in_process": false}, "async_runs_enabled": true, "retention": {"paused_days": 5}}), 6 * DAY);
    let answered = std::sync::Mutex::new(false);
    // Between its first run and its second one, a person answers both of the others: one goes on and waits again, one waits for a worker.
    let answer = |_: &Purged| {
        if std::mem::replace(&mut *answered.lock().expect("a lock"), true) {
            return;
        }
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                story.resume(&second, json!({"message": "yes"})).await;
                let body = ResumeRequest::parse(&json!({"message": "yes"})).expect("a body");
                late.resume(&Scope::default(), &third, body, true).await.expect("an answer");
            });
        });
    };
    let removed = purge_telling(&late, 6 * DAY, answer).await;
    assert_eq!(removed.runs, 1, "what waited all the time");
    assert_eq!([known(&late, &first).await, known(&late, &second).await, known(&late, &third).await], [false, true, true]);
    let status = async |run: &str| late.trace(&Scope::default(), run, TraceQuery::default()).await.expect("a trace")["trace"]["status"].clone();
    assert_eq!([status(&second).await, status(&third).await], ["awaiting_input", "queued"]);
}

#[tokio::test]
async fn a_purge_that_is_stopped_goes_on_with_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let workflow = story.workflow("start -> stop").await;
    for _ in 0..130 {
        let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
        story.settle(&started.run.to_string()).await;
    }
    let late = later(folder.path(), json!({"worker": {"in_process": false}, "retention": {"runs_days": 1}}), 2 * DAY);
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(late.purge(stop).await.expect("a purge").runs, 0);
    assert_eq!(purged(&late, 2 * DAY).await.runs, 130, "more than one batch");
    let usage = late.usage_run(&Scope::default(), &Id::v7(0, 0, 0).to_string()).await;
    assert!(usage.is_err());
}

/// The same database where the clock is a year ahead: on a server its clock is asked, elsewhere that is more than anything in it can tell.
#[tokio::test]
async fn a_clock_that_is_a_year_ahead_removes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let three = three(&story).await;
    let settings = json!({"worker": {"in_process": false}, "retention": {"runs_days": 30, "paused_days": 30, "threads_days": 30}});
    let ahead = later(folder.path(), settings.clone(), 365 * DAY);
    // It also makes runs while its clock is ahead: they say nothing about the time of the others.
    let graph = wfstudio::model::sketch::graph("start -> stop").expect("a graph");
    let bench = crate::support::Bench { studio: ahead.clone(), scope: Scope::default() };
    let made = bench.start(&bench.workflow(graph).await, json!({"message": "hi"})).await.run.to_string();
    Story::of(bench).settle(&made).await;
    match ahead.purge(CancellationToken::new()).await {
        Ok(removed) => assert_eq!((removed.runs, removed.threads), (0, 0), "{removed:?}"),
        Err(error) => assert!(!on_a_server() && error.message.contains("clock"), "{error}"),
    }
    for run in [&three.over, &three.paused, &three.working] {
        assert!(known(&ahead, run).await, "a clock that is wrong deletes nothing");
    }
    if !on_a_server() {
        assert!(ahead.purgeable().await.is_err(), "what would be counted is wrong, too");
        let now = ahead.time_of_purge(true).await.expect("a time");
        let removed = ahead.purge_at(now, CancellationToken::new(), |_| ()).await.expect("a purge");
        assert_eq!(removed.runs, 2, "somebody says that it is right");
        ahead.purge(CancellationToken::new()).await.expect("it was right a moment ago");
    }
    let _status = story.cancel(&three.working).await;
}

#[tokio::test]
async fn a_clock_that_purges_meet_for_eight_days_is_right() {
    if on_a_server() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let three = three(&story).await;
    let settings = json!({"worker": {"in_process": false}, "retention": {"runs_days": 30}});
    let purged = async |days: i64| {
        let studio = later(folder.path(), settings.clone(), days * DAY);
        let removed = studio.purge(CancellationToken::new()).await.map(|removed| removed.runs).ok();
        removed
    };
    for days in [400, 800, 804, 801, 805, 808] {
        assert_eq!(purged(days).await, None, "a clock that jumps is not met for long: {days}");
    }
    assert!(purged(812).await.is_some_and(|runs| runs > 0), "it went on for eight days");
    assert_eq!(purged(819).await, Some(0));
    let _status = story.cancel(&three.working).await;
}

#[tokio::test]
async fn a_clock_that_was_set_right_between_two_jumps_is_doubted_anew() {
    if on_a_server() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    let three = three(&story).await;
    let settings = json!({"worker": {"in_process": false}, "retention": {"runs_days": 10}});
    for (days, removed) in [(20, None), (22, None), (6, Some(0)), (29, None)] {
        let studio = later(folder.path(), settings.clone(), days * DAY);
        let purged = studio.purge(CancellationToken::new()).await.map(|purged| purged.runs).ok();
        assert_eq!(purged, removed, "day {days}");
    }
    assert!(known(&story.bench.studio, &three.over).await);
    let _status = story.cancel(&three.working).await;
}

#[tokio::test]
async fn a_copy_holds_the_files_and_leaves_what_was_at_work_to_the_original() {
    if on_a_server() {
        return;
    }
    let (folder, copies) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let story = Story::of(crate::support::Bench::on_disk(settings.clone(), folder.path()));
    let three = three(&story).await;
    let queued = story.queue("start -> llm_1{provider: script, model: echo} -> stop").await;
    let (studio, scope) = (&story.bench.studio, Scope::default());
    let upload = Upload { name: Some("note.txt".into()), mime_type: Some("text/plain".into()), kind: None, bytes: "hello".into() };
    let file = studio.upload(&scope, upload).await.expect("a file")["storage_key"].as_str().expect("a key").to_owned();
    let beside = folder.path().join("copy.sqlite");
    let refused = studio.backup(&beside).await.map(drop).expect_err("the copy would lose the files that the original deletes");
    assert!(refused.message.contains("a folder of its own") && !beside.exists(), "{refused}");
    let copy = copies.path().join("monday.sqlite");
    let made = studio.backup(&copy).await.expect("a backup");
    let files = |made: wfstudio::store::upkeep::backup::Backup| made.files.map(|files| (files.folder, files.copied, files.kept, files.missing));
    assert_eq!((made.resting, files(made)), (2, Some((copies.path().join("attachments"), 1, 0, 0))));
    let again = studio.backup(&copies.path().join("tuesday.sqlite")).await.expect("a backup");
    assert_eq!(files(again), Some((copies.path().join("attachments"), 0, 1, 0)), "a file never changes");

    let studio = Studio::open(config(settings, copy.to_str().expect("a path"))).expect("a studio");
    let other = Story::of(crate::support::Bench { studio, scope: scope.clone() });
    let studio = &other.bench.studio;
    assert_eq!(&studio.attachment(&scope, &file).await.expect("a file").bytes[..], b"hello");
    assert_eq!(studio.take_over().await.expect("a look"), 1);
    assert_eq!(studio.world().work().await.expect("a look").map(|run| run.to_string()), Some(queued.clone()));
    for (run, code) in [(&three.working, "in_doubt"), (&queued, "worker_lost")] {
        other.join(run).await;
        let trace = other.trace(run).await;
        assert_eq!((&trace["trace"]["status"], &trace["trace"]["error"]["code"]), (&json!("failed"), &json!(code)), "{}", trace["trace"]);
    }
    assert_eq!(other.trace(&three.paused).await["trace"]["status"], "awaiting_input");
    let told = other.retry(&queued, json!({})).await;
    assert!(told.contains("trace_completed"), "a person decides that it goes on here: {told}");
    assert_eq!(story.trace(&three.working).await["trace"]["status"], "running", "the original goes on");
    let _status = story.cancel(&three.working).await;
}

/// A clock on which much time passes between two looks: whatever waits to be written is written meanwhile.
struct Slow(SystemClock);

impl Clock for Slow {
    fn now(&self) -> Timestamp {
        std::thread::sleep(Duration::from_millis(20));
        self.0.now()
    }

    fn id(&self) -> Id {
        self.0.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.0.random(into);
    }
}

/// Were it stored that a run has begun before it is stored that it rests, it would go on in the copy after a crash between the two.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_copy_rests_with_the_first_thing_that_is_stored_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let story = Story::of(crate::support::Bench::on_disk(settings.clone(), folder.path()));
    let queued = story.queue("start -> stop").await;
    assert_eq!(story.bench.studio.put_runs_to_rest().await.expect("a change"), 1);

    let writes = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, run) = (Arc::clone(&writes), queued.clone());
    let hook = move |boundary, id: Id, head| {
        if boundary == Boundary::Before && id.to_string() == run {
            seen.lock().expect("writes").push(head);
        }
    };
    let options = Options { clock: Some(Arc::new(Slow(SystemClock::default()))), on_append: Some(Arc::new(hook)), ..Options::default() };
    let path = folder.path().join("studio.sqlite");
    let studio = Studio::open_with(config(settings, path.to_str().expect("a path")), options).expect("a studio");
    assert_eq!(studio.world().work().await.expect("a look").map(|run| run.to_string()), Some(queued.clone()));
    Story::of(crate::support::Bench { studio, scope: Scope::default() }).join(&queued).await;
    assert_eq!(story.trace(&queued).await["trace"]["error"]["code"], "worker_lost");
    assert_eq!(*writes.lock().expect("writes"), [1, 1], "the claim, and all that became of it");
}

#[tokio::test]
async fn runs_of_a_restored_database_are_put_to_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let story = Story::of(crate::support::Bench::on_disk(settings, folder.path()));
    let queued = story.queue("start -> stop").await;
    let studio = &story.bench.studio;
    assert_eq!(studio.put_runs_to_rest().await.expect("a change"), 1);
    assert_eq!(studio.world().work().await.expect("a look").map(|run| run.to_string()), Some(queued.clone()));
    story.join(&queued).await;
    assert_eq!(story.trace(&queued).await["trace"]["error"]["code"], "worker_lost");
    let told = story.retry(&queued, json!({})).await;
    assert!(told.contains("trace_completed"), "{told}");
}

fn worst(found: &wfstudio::studio::Diagnosis, name: &str) -> Option<(Level, String)> {
    found.0.iter().filter(|check| check.name == name).max_by_key(|check| check.level).map(|check| (check.level, check.text.clone()))
}

/// Leases and due times are told by the server's clock there, whatever the studio's says.
fn on_a_server() -> bool {
    std::env::var_os("STUDIO_TEST_DATABASE_URL").is_some()
}

#[tokio::test]
async fn the_doctor_sees_what_nobody_looks_after() {
    let folder = tempfile::tempdir().expect("a folder");
    let idle = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let before = later(folder.path(), idle.clone(), 0);
    if !on_a_server() {
        let found = before.doctor(Examination::default()).await;
        assert_eq!(worst(&found, "migrations").map(|(level, _)| level), Some(Level::Warn), "nothing is there yet: {found:?}");
    }
    let story = Story::on_disk(folder.path(), json!([]));
    let three = three(&story).await;
    let found = before.doctor(Examination { verify: true, online: false }).await;
    assert_eq!(worst(&found, "runs").map(|(level, _)| level), Some(Level::Fine), "{found:?}");
    assert_eq!(worst(&found, "logs").map(|(level, text)| (level, text.starts_with('3'))), Some((Level::Fine, true)), "{found:?}");
    assert_ne!(found.level(), Level::Fail);

    if on_a_server() {
        // A host whose clock is wrong says so, and takes no run for abandoned.
        for apart in [60_000, -7_200_000] {
            let found = later(folder.path(), idle.clone(), apart).doctor(Examination::default()).await;
            assert_eq!(worst(&found, "clock").map(|(level, _)| level), Some(Level::Warn), "{found:?}");
            assert_eq!(worst(&found, "runs").map(|(level, _)| level), Some(Level::Fine), "{found:?}");
        }
        let _status = story.cancel(&three.working).await;
        return;
    }
    // A minute later, by a clock that the owner does not share, its lease is over and nobody takes the run.
    let found = later(folder.path(), idle.clone(), 60_000).doctor(Examination::default()).await;
    let (level, text) = worst(&found, "runs").expect("a check");
    assert!(level == Level::Fail && text.contains("studio work"), "{text}");
    assert_eq!(found.json()["status"], "fail");

    // Leases from a clock that is two hours ahead.
    let found = later(folder.path(), idle, -7_200_000).doctor(Examination::default()).await;
    assert!(worst(&found, "runs").is_some_and(|(level, text)| level == Level::Warn && text.contains("clock")), "{found:?}");
    let _status = story.cancel(&three.working).await;
}

#[tokio::test]
async fn the_doctor_counts_jobs_without_a_worker_and_names_missing_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let idle = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let studio = later(folder.path(), idle.clone(), 0);
    let scope = Scope::default();
    let tool = json!({"name": "look", "kind": "webhook", "description": "d", "input_schema": {"type": "object"},
        "config": {"method": "GET", "url": "https://a.example/", "headers": {"x-key": "secret:SHOP_KEY"}}});
    studio.create(&scope, wfstudio::studio::Resource::Tool, &tool).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    let graph = wfstudio::model::sketch::graph("start -> stop").expect("a graph");
    let stored = studio.create(&scope, wfstudio::studio::Resource::Workflow, &json!({"name": "w", "graph": graph})).await.expect("a workflow");
    let body = wfstudio::studio::runs::requests::RunRequest::parse(&json!({"message": "hi"}), wfstudio::model::event::EntityKind::Workflow).expect("a body");
    let id = stored["id"].as_str().expect("an id");
    let run = studio.start(&scope, wfstudio::model::event::EntityKind::Workflow, id, body, true).await.expect("a run").run;

    let found = studio.doctor(Examination::default()).await;
    assert_eq!(worst(&found, "queue").map(|(level, text)| (level, text.starts_with("1 jobs"))), Some((Level::Fine, true)), "{found:?}");
    assert!(found.0.iter().any(|check| check.text.contains("secret:SHOP_KEY")), "{found:?}");
    let found = later(folder.path(), idle, 40_000).doctor(Examination::default()).await;
    let (level, text) = worst(&found, "queue").expect("a check");
    let waits = level == Level::Warn && text.contains("studio work");
    assert!(if on_a_server() { level == Level::Fine } else { waits }, "{found:?}");

    // A worker takes it, says so, and ends by itself.
    let mut working = studio.working(None, Some(1)).expect("a worker");
    working.until_empty = true;
    let (sender, receiver) = std::sync::mpsc::channel();
    let worked = studio.work(working, CancellationToken::new(), move |finished| {
        let _heard = sender.send((finished.run, finished.status.as_str()));
    });
    tokio::time::timeout(Duration::from_secs(30), worked).await.expect("it ends").expect("work");
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [(run, "completed")]);
    let found = studio.doctor(Examination::default()).await;
    assert_eq!(worst(&found, "queue").map(|(_, text)| text).as_deref(), Some("nothing waits"));
}

#[tokio::test]
async fn the_doctor_names_models_that_end_and_those_that_nobody_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([]));
    for (name, provider, model) in [("Old", "anthropic", "claude-opus-4-1"), ("Soon", "openai", "o3"), ("Odd", "mistral", "nobody-knows"), ("Own", "script", "echo")] {
        story.bench.agent(json!({"name": name, "provider": provider, "model": model})).await;
    }
    // The table has no rerankers.
    let ranked = json!({"name": "Ranked", "retrieval_defaults": {"rerank": {"provider": "cohere", "model": "rerank-v3.5"}}});
    story.bench.studio.create(&story.bench.scope, Resource::KnowledgeBase, &ranked).await.expect("a base");
    // The clock stands at the day of the table, then a year later.
    let day = Timestamp(1_795_219_200_000);
    let ahead = day.0 - SystemClock::default().now().0;
    let found = later(folder.path(), json!({}), ahead).doctor(Examination::default()).await;
    let texts: Vec<&str> = found.0.iter().filter(|check| check.name == "models").map(|check| check.text.as_str()).collect();
    let wanted = [
        "model_retired: `claude-opus-4-1` of `anthropic`, used by `old`, ended on 2026-08-05; use `claude-opus-5`",
        "model_unknown: `nobody-knows` of `mistral`, used by `odd`, is not in the table of models",
        "`o3` of `openai`, used by `soon`, ends on 2026-12-11; use `gpt-6.1-sol`",
    ];
    assert_eq!(texts.len(), wanted.len(), "{texts:?}");
    for wanted in wanted {
        assert!(texts.iter().any(|text| text.starts_with(wanted)), "{texts:?}");
    }
    let found = later(folder.path(), json!({}), ahead + 365 * DAY).doctor(Examination::default()).await;
    assert!(found.0.iter().any(|check| check.name == "models" && check.text.contains("older than 90 days")), "{found:?}");
}

/// A failed run can be tried again, but it is over; so is what it left open, for its thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_of_a_child_of_a_failed_run_keeps_no_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = Story::on_disk(folder.path(), json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}]));
    let agent = story.bench.agent(json!({"name": "Payer", "provider": "script", "model": "m", "tools": [{"ref": "host:pay"}]})).await;
    let branches = format!("fork_1.a -> agent_1{{agent_id: \"{agent}\"}} -> join_1; fork_1.b -> tool_1{{tool_ref: \"host:fail\"}} -> join_1");
    let run = story.run(&format!("start -> fork_1 -> join_1 -> stop; {branches}")).await;
    let trace = story.trace(&run.id).await;
    assert_eq!((&trace["trace"]["status"], &trace["children"][0]["status"]), (&json!("failed"), &json!("awaiting_tool_approval")));
    let late = later(folder.path(), json!({"worker": {"in_process": false}, "retention": {"threads_days": 5}}), 6 * DAY);
    assert_eq!(purgeable(&late, 6 * DAY).await.threads, 1);
    assert_eq!(purged(&late, 6 * DAY).await.threads, 1);
}
