//! Owns the played world: one database, its engines, what was done, and the moments at which nothing moves.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{Finished, Follow, From, Order};
use wfstudio::model::Id;
use wfstudio::store::runs::{self, RunRow};
use wfstudio::studio::{Resource, Scope, Studio};
use tokio::task::JoinHandle;

use super::chance::Chance;
use super::deeds::{LEANINGS, Leaning};
use super::engine::{Engine, Limits, Time};
use super::fair::{self, Moment};
use super::graphs::{self, Taste};
use super::host::{Book, Life, Manners};
use super::model::{Calms, Fact, Fault, Ignored, Span};

/// One event as a reader was told it: number, name, data.
pub type SeenEvent = (u64, &'static str, String);

/// Somebody who reads a run while it goes on.
pub struct Reader {
    pub run: usize,
    pub order: Order,
    pub engine: usize,
    /// What it heard so far.
    pub heard: Arc<Mutex<Vec<SeenEvent>>>,
    pub task: JoinHandle<()>,
}

/// A `worker.step` that is under way.
pub struct Step {
    pub engine: usize,
    /// Runs that were due in the queue since it began, with their fences.
    pub waited: BTreeMap<Id, i64>,
    pub task: JoinHandle<Result<Vec<Finished>, String>>,
}

/// Everything.
pub struct World {
    pub leaning: Leaning,
    pub limits: Limits,
    pub time: Arc<Time>,
    pub book: Arc<Book>,
    pub engines: Vec<Engine>,
    pub spans: Vec<Span>,
    /// The engine that was taken out last, and which runs were counted as lost with it.
    counted: Option<(String, Arc<Life>, Vec<bool>)>,
    pub owners: Vec<String>,
    pub sketches: Vec<String>,
    pub workflows: Vec<String>,
    pub agents: Vec<String>,
    pub threads: Vec<(String, usize)>,
    pub facts: Vec<Fact>,
    pub readers: Vec<Reader>,
    pub steps: Vec<Step>,
    /// By engine: runs that waited for its steps, and runs whose end its steps told.
    pub stepped: BTreeMap<usize, (HashSet<Id>, HashSet<Id>)>,
    pub calms: Calms,
    pub ignored: Ignored,
    /// What happened, for people.
    pub story: Vec<String>,
    pub scope: Scope,
    place: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    /// The world of a seed, before anything is done in it.
    pub async fn of(seed: u64, ignored: Ignored) -> Self {
        let mut chance = Chance::new(seed);
        let leaning = *chance.pick(&LEANINGS);
        let limits = Limits::of(&mut chance);
        let manners = Manners { seed, waits: 30 + chance.below(40), fails: chance.below(if leaning == Leaning::Queue { 30 } else { 12 }), counts_ids: chance.percent(50) };
        let fast = std::path::Path::new("/dev/shm");
        let folder = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.expect("a folder");
        let taste = match leaning {
            Leaning::People if chance.percent(60) => Taste::Asking,
            Leaning::Queue if chance.percent(40) => Taste::Racing,
            Leaning::Queue | Leaning::Retries if chance.percent(70) => Taste::Wide,
            _ => *chance.pick(&[Taste::Mixed, Taste::Mixed, Taste::Wide]),
        };
        let sketches = (0..2).map(|_| graphs::sketch(&mut chance, taste)).collect();
        let mut world = Self {
            leaning, limits, time: Arc::default(), book: Arc::new(Book::new(manners)), engines: Vec::new(), spans: Vec::new(), counted: None,
            owners: Vec::new(), sketches, workflows: Vec::new(), agents: Vec::new(), threads: Vec::new(), facts: Vec::new(),
            readers: Vec::new(), steps: Vec::new(), stepped: BTreeMap::new(), calms: Calms::default(), ignored, story: Vec::new(), scope: Scope::default(),
            place: folder.path().to_path_buf(), _folder: folder,
        };
        world.open();
        world.define(&mut chance).await;
        world
    }

    async fn define(&mut self, chance: &mut Chance) {
        let studio = self.engines[0].studio.clone();
        for sketch in &self.sketches {
            let graph = wfstudio::model::sketch::graph(sketch).unwrap_or_else(|error| panic!("{error}\n{sketch}"));
            let made = studio.create(&self.scope, Resource::Workflow, &json!({"name": "Test", "graph": graph})).await;
            let made = made.unwrap_or_else(|error| panic!("{error} {:?}\n{sketch}", error.members));
            self.workflows.push(made["id"].as_str().expect("an id").to_owned());
        }
        for at in 0..2 {
            let plan = *chance.pick(&["", "", "n", "r", "p.n"]);
            let memory = if at == 0 { json!({"context_window": 512, "summarization_enabled": true}) } else { json!({}) };
            let tools: Vec<Value> = ["note", "pay", "refund"].iter().map(|name| json!({"ref": format!("host:{name}")})).collect();
            let body = json!({
                "name": format!("Helper {at}"), "provider": "peer", "model": format!("chat/{plan}"), "instructions": "Be brief.",
                "tools": tools, "memory_config": memory,
            });
            let made = studio.create(&self.scope, Resource::Agent, &body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
            self.agents.push(made["id"].as_str().expect("an id").to_owned());
        }
    }

    /// Another engine.
    pub fn open(&mut self) {
        let engine = Engine::open(self.spans.len(), &self.place, &self.limits, &self.time, &self.book);
        self.spans.push(Span { gone: None });
        self.owners.push(engine.owner.clone());
        self.engines.push(engine);
    }

    pub fn tell(&mut self, text: impl Into<String>) {
        self.story.push(text.into());
    }

    /// The place of an engine that lives; one is opened when there is none.
    pub fn engine(&mut self, number: u64) -> usize {
        if self.engines.is_empty() {
            self.open();
            self.tell(format!("(engine {} is opened: none was left)", self.spans.len() - 1));
        }
        usize::try_from(number).unwrap_or(0) % self.engines.len()
    }

    pub fn studio(&mut self, number: u64) -> (usize, Studio) {
        let at = self.engine(number);
        (self.engines[at].no, self.engines[at].studio.clone())
    }

    /// The place of the engine that has this name in leases.
    pub fn engine_of(&self, owner: Option<&str>) -> Option<usize> {
        self.owners.iter().position(|known| Some(known.as_str()) == owner)
    }

    pub fn lives(&self, no: usize) -> bool {
        self.engines.iter().any(|engine| engine.no == no && !engine.life.is_over())
    }

    /// Takes an engine out, with all that is asked of it; what it drives goes on until it is closed, dead or dropped.
    pub async fn take_out(&mut self, at: usize) -> Engine {
        let engine = self.engines.remove(at);
        let before = self.rows_seen_by(&engine.studio).await;
        for step in self.steps.extract_if(.., |step| step.engine == engine.no) {
            step.task.abort();
            let _aborted = step.task.await;
        }
        // A step may take a run until it is aborted: what it asked for is written by now, and looked at once more.
        let _written = fair::within(Duration::from_secs(1), engine.studio.world().store.write(|_| Ok(()))).await;
        let after = self.rows_seen_by(&engine.studio).await;
        // A process that dies at a write may have given its run back as lost by then.
        let dead = engine.life.is_over();
        let held = |row: &Option<RunRow>| {
            row.as_ref().is_some_and(|row| row.status == "running" && row.owner.as_deref().map_or(dead, |owner| owner == &*engine.owner))
        };
        let cut = engine.life.cut.lock().expect("a lock").clone();
        let lost: Vec<bool> = before.iter().zip(&after).zip(&self.facts).map(|((before, after), fact)| held(before) || held(after) || cut.contains(&fact.id)).collect();
        self.facts.iter_mut().zip(&lost).for_each(|(fact, lost)| fact.deaths += u32::from(*lost));
        self.counted = Some((engine.owner.clone(), Arc::clone(&engine.life), lost));
        for reader in self.readers.iter().filter(|reader| reader.engine == engine.no) {
            reader.task.abort();
        }
        engine
    }

    /// From now on an engine that was taken out does nothing any more.
    pub fn gone(&mut self, no: usize) {
        self.spans[no].gone = Some(self.book.tick());
    }

    /// A process that was taken out last is dead. What it took at the very end, on another connection than it was asked by, it died with too, also where
    /// the write that died gave the run back.
    pub async fn dead(&mut self, no: usize) {
        self.gone(no);
        let Some((owner, life, counted)) = self.counted.take() else { return };
        let held = self.held_by(&owner).await;
        let cut = life.cut.lock().expect("a lock").clone();
        for (fact, (held, counted)) in self.facts.iter_mut().zip(held.into_iter().zip(counted)) {
            fact.deaths += u32::from((held || cut.contains(&fact.id)) && !counted);
        }
    }

    /// Engines whose process died are no more.
    pub async fn bury(&mut self) {
        while let Some(at) = self.engines.iter().position(|engine| engine.life.is_over()) {
            let engine = self.take_out(at).await;
            self.tell(format!("(the process of engine {} is dead)", engine.no));
            let no = engine.no;
            engine.die().await;
            self.dead(no).await;
        }
    }

    /// Waits until nothing moves: every run rests, or waits for the host.
    pub async fn calm(&mut self) -> Result<(), Fault> {
        let began = Moment::now();
        let mut still = (0, Moment::now());
        loop {
            let at_work: usize = self.engines.iter().filter(|engine| !engine.life.is_over()).map(|engine| engine.studio.world().at_work()).sum();
            let now = self.book.now();
            if still.0 != now {
                still = (now, Moment::now());
            }
            let waiting: HashSet<(usize, String)> = self.book.waiting().into_iter().map(|(_, call)| (call.engine, call.run)).collect();
            let enough = if at_work <= waiting.len() { Duration::from_micros(1500) } else { Duration::from_millis(12) };
            if at_work == 0 || still.1.elapsed() > enough {
                break;
            }
            if began.elapsed() > Duration::from_secs(10) {
                return Err(Fault { rule: "busy", text: "engines call and write for 10 s without an end".into() });
            }
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        self.bury().await;
        let calm = self.book.tick();
        self.calms.0.push(calm);
        Ok(())
    }

    /// The rows of all runs; none of those that are gone.
    pub async fn rows(&mut self) -> Vec<Option<RunRow>> {
        let (_, studio) = self.studio(0);
        self.rows_by(&studio).await
    }

    async fn rows_by(&self, studio: &Studio) -> Vec<Option<RunRow>> {
        // A server that gets no turn refuses a read now and then.
        for _ in 0..20 {
            if let Some(rows) = self.read_by(studio).await {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        vec![None; self.facts.len()]
    }

    /// The runs as an engine that ends sees them; a store that was closed tells nothing, so another engine is asked.
    async fn rows_seen_by(&mut self, studio: &Studio) -> Vec<Option<RunRow>> {
        match self.read_by(studio).await {
            Some(rows) => rows,
            None => self.rows().await,
        }
    }

    async fn read_by(&self, studio: &Studio) -> Option<Vec<Option<RunRow>>> {
        let ids: Vec<Id> = self.facts.iter().map(|fact| fact.id).collect();
        let read = studio.world().store.read(move |tx| ids.iter().map(|id| runs::get(tx, "", id)).collect::<Result<Vec<_>, _>>()).await;
        read.ok()
    }

    /// Which runs an owner has a lease on, as the next engine sees it.
    pub async fn held_by(&mut self, owner: &str) -> Vec<bool> {
        let (_, studio) = self.studio(0);
        let rows = self.rows_by(&studio).await;
        rows.iter().map(|row| row.as_ref().is_some_and(|row| row.status == "running" && row.owner.as_deref() == Some(owner))).collect()
    }

    /// A run's row.
    pub async fn row(&mut self, run: usize) -> Option<RunRow> {
        let (_, studio) = self.studio(0);
        let id = self.facts[run].id;
        studio.world().store.read(move |tx| runs::get(tx, "", &id)).await.ok().flatten()
    }

    /// Everything that is told of a run, as a reader who comes now hears it.
    pub async fn hear(&self, studio: &Studio, run: Id, from: From) -> Result<Vec<SeenEvent>, Fault> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = listen(studio.clone(), self.scope.clone(), run, from, Arc::clone(&heard));
        if fair::within(Duration::from_secs(10), hearing).await.is_none() {
            return Err(Fault { rule: "reader", text: format!("a reader of run {run}, which rests, was not told the end") });
        }
        let told = heard.lock().expect("a lock").clone();
        Ok(told)
    }
}

/// Reads a run to its end.
pub async fn listen(studio: Studio, scope: Scope, run: Id, from: From, heard: Arc<Mutex<Vec<SeenEvent>>>) {
    let Ok(Some(mut stream)) = studio.events(&scope, &run.to_string(), from, Follow::Tail).await else { return };
    drop(studio);
    while let Some(batch) = stream.next_batch().await {
        let told = batch.iter().map(|frame| {
            let (mut id, mut data) = (Vec::new(), Vec::new());
            frame.write_id(&mut id);
            frame.write_data(&mut data);
            let number = String::from_utf8_lossy(&id).trim_start_matches('L').parse().expect("a number");
            (number, frame.event(), String::from_utf8_lossy(&data).into_owned())
        });
        heard.lock().expect("a lock").extend(told);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.steps.iter().for_each(|step| step.task.abort());
        self.readers.iter().for_each(|reader| reader.task.abort());
        self.engines.iter().for_each(|engine| engine.life.dead.store(true, Ordering::SeqCst));
    }
}
