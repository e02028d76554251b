//! Owns doing deeds: each is done to whatever is there, and what was asked and answered is kept as facts.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::engine::{From, Order, Started};
use wfstudio::model::Id;
use wfstudio::model::event::{DoubtAction, EntityKind};
use wfstudio::studio::runs::requests::{ResumeRequest, RetryRequest, RunRequest};
use wfstudio::studio::{ListQuery, Studio, TraceQuery};
use wfstudio::{Error, Kind};
use tokio_util::sync::CancellationToken;

use super::deeds::Deed;
use super::fair::{self, Moment};
use super::host::markers;
use super::model::{Again, Answered, Asked, Cancel, Fact, Fault};
use super::world::{Reader, Step, World, listen};

/// No request takes longer than this.
const PATIENCE: Duration = Duration::from_secs(8);

/// A refusal that certainly changed nothing.
fn refused(error: &Error) -> bool {
    !matches!(error.kind, Kind::Internal | Kind::StoreUnavailable | Kind::ShuttingDown)
}

impl World {
    /// Does one deed.
    pub async fn act(&mut self, deed: &Deed) -> Result<(), Fault> {
        match *deed {
            Deed::Open => self.open(),
            Deed::Kill(engine) => {
                let at = self.engine(engine);
                let engine = self.take_out(at).await;
                let no = engine.no;
                self.tell(format!("the process of engine {no} is killed"));
                engine.die().await;
                self.dead(no).await;
            }
            Deed::LetGo(engine) => {
                let at = self.engine(engine);
                let engine = self.take_out(at).await;
                let no = engine.no;
                self.tell(format!("engine {no} is let go"));
                engine.let_go().await;
                self.dead(no).await;
            }
            Deed::Close { engine, with_time } => self.close(engine, with_time).await?,
            Deed::DieAtWrite { engine, writes } => {
                let at = self.engine(engine);
                self.engines[at].life.writes.store(i64::try_from(writes).unwrap_or(1), Ordering::SeqCst);
                self.tell(format!("engine {} will die at write {writes}", self.engines[at].no));
            }
            Deed::DieInCall { engine, calls } => {
                let at = self.engine(engine);
                self.engines[at].life.calls.store(i64::try_from(calls).unwrap_or(1), Ordering::SeqCst);
                self.tell(format!("engine {} will die in call {calls}", self.engines[at].no));
            }
            Deed::Start { engine, graph, queued } => self.start(engine, graph, queued).await?,
            Deed::Chat { engine, agent, thread } => self.chat(engine, agent, thread).await?,
            Deed::Branch { engine, thread, before } => self.branch(engine, thread, before).await?,
            Deed::DeleteThread { engine, thread } => self.delete_thread(engine, thread).await?,
            Deed::Answer(call) => self.answer(call, true),
            Deed::Fail(call) => self.answer(call, false),
            Deed::Spend(call) => {
                let waiting: Vec<_> = self.book.waiting().into_iter().filter(|(_, call)| call.name == "chat").collect();
                if let Some((no, call)) = waiting.get(usize::try_from(call).unwrap_or(0) % waiting.len().max(1)) {
                    self.book.spend(*no);
                    self.tell(format!("model call {} tells 7 tokens so far", call.act));
                }
            }
            Deed::AnswerAll => {
                self.tell("the host answers all calls that wait");
                self.book.waiting().iter().for_each(|(no, _)| self.book.answer(*no, true));
            }
            Deed::Cancel { engine, run } => self.cancel(engine, run).await?,
            Deed::Resume { engine, run, how, queued } => self.resume(engine, run, how, queued).await?,
            Deed::Retry { engine, run, how, queued } => self.retry(engine, run, how, queued).await?,
            Deed::Delete { engine, run } => self.delete(engine, run).await?,
            Deed::Step { engine, threads } => self.step(engine, threads).await,
            Deed::TakeOver(engine) => self.take_over(engine).await?,
            Deed::Lapse => self.lapse().await,
            Deed::Jump(seconds) => self.jump(seconds).await,
            Deed::Read { engine, run, after } => self.read(engine, run, after),
            Deed::Leave(reader) => {
                if !self.readers.is_empty() {
                    let at = usize::try_from(reader).unwrap_or(0) % self.readers.len();
                    self.readers[at].task.abort();
                    self.tell(format!("reader {at} goes away"));
                }
            }
            Deed::Wait(millis) => {
                self.tell(format!("{millis} ms pass"));
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            Deed::Spoil(run) => self.spoil(run).await,
        }
        Ok(())
    }

    /// A run that a number points at; none when there is none.
    pub fn run_at(&self, number: u64) -> Option<usize> {
        (!self.facts.is_empty()).then(|| usize::try_from(number).unwrap_or(0) % self.facts.len())
    }

    /// Waits for an answer. A process that died gives none.
    async fn within<T>(&self, no: usize, what: &str, work: impl Future<Output = Result<T, Error>>) -> Result<Result<T, Error>, Fault> {
        match fair::within(PATIENCE, work).await {
            Some(answer) => Ok(answer),
            None if !self.lives(no) => Ok(Err(Error::new(Kind::ShuttingDown, "the process is dead"))),
            None => Err(Fault { rule: "hangs", text: format!("{what} on engine {no} gave no answer within {} s", PATIENCE.as_secs()) }),
        }
    }

    async fn close(&mut self, engine: u64, with_time: bool) -> Result<(), Fault> {
        let at = self.engine(engine);
        let no = self.engines[at].no;
        let studio = self.engines[at].studio.clone();
        let time = Duration::from_millis(if with_time { 3000 } else { 30 });
        self.tell(format!("engine {no} is closed within {} ms{}", time.as_millis(), if with_time { "; the host answers meanwhile" } else { "" }));
        let book = Arc::clone(&self.book);
        let answering = async move {
            while with_time {
                tokio::time::sleep(Duration::from_millis(3)).await;
                book.waiting().iter().filter(|(_, call)| call.engine == no).for_each(|(waits, _)| book.answer(*waits, true));
            }
            std::future::pending::<()>().await;
        };
        let (began, fair) = (Instant::now(), Moment::now());
        let done = fair::within(time + Duration::from_secs(4), async {
            tokio::select! {
                () = studio.shutdown(time) => {}
                () = answering => {}
            }
        });
        if done.await.is_none() && !self.engines[at].life.is_over() {
            return Err(Fault { rule: "close", text: format!("closing engine {no} took over {} ms", time.as_millis() + 4000) });
        }
        // An engine cuts its calls when most of its time is over. What it was answered until then is kept, unless the machine took that time from it.
        let most = time * 3 / 4;
        let had_time = began.elapsed() < most || fair.elapsed() >= most;
        if with_time && had_time && !self.engines[at].life.is_over() {
            let calm = self.book.tick();
            self.calms.0.push(calm);
        }
        drop(studio);
        let deaths: Vec<u32> = self.facts.iter().map(|fact| fact.deaths).collect();
        let engine = self.take_out(at).await;
        self.gone(no);
        let (owner, died) = (engine.owner.clone(), engine.life.is_over());
        drop(engine);
        if died {
            return Ok(());
        }
        // What it drove was put down, also where there was hardly time: nobody died.
        self.facts.iter_mut().zip(deaths).for_each(|(fact, deaths)| fact.deaths = deaths);
        self.holds_nothing(no, &owner).await
    }

    /// An engine that was closed leaves no run to its lease; what is still being written may be.
    async fn holds_nothing(&mut self, no: usize, owner: &str) -> Result<(), Fault> {
        let began = Moment::now();
        loop {
            let held = self.held_by(owner).await;
            let Some(at) = held.iter().position(|held| *held) else { return Ok(()) };
            if began.elapsed() > PATIENCE {
                return self.fault("lease", format!("engine {no} was closed and left run {} to its lease", self.facts[at].marker));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Keeps a run that was started.
    fn started(&mut self, what: &str, started: Result<Started, Error>, marker: String, chat: Option<(String, Vec<String>)>) -> Option<usize> {
        match started {
            Ok(started) => {
                self.tell(format!("{what}: run {marker} is {}, {}", started.run, started.status.as_str()));
                let chat = chat.map(|(_, shown)| (started.thread.to_string(), shown));
                self.facts.push(Fact::new(started.run, marker, chat));
                Some(self.facts.len() - 1)
            }
            Err(error) => {
                self.tell(format!("{what}: {} {}", error.kind.code(), error.message));
                None
            }
        }
    }

    async fn start(&mut self, engine: u64, graph: u64, queued: bool) -> Result<(), Fault> {
        let (no, studio) = self.studio(engine);
        let marker = format!("r{}", self.book.tick());
        let workflow = self.workflows[usize::try_from(graph).unwrap_or(0) % self.workflows.len()].clone();
        let body = json!({"message": "hello", "state": {"run": marker, "pass": "p"}});
        let request = RunRequest::parse(&body, EntityKind::Workflow).expect("a run body");
        let answer = self.within(no, "a start", studio.start(&self.scope.clone(), EntityKind::Workflow, &workflow, request, queued)).await?;
        self.started(&format!("engine {no} starts workflow {}", graph % 2), answer, marker, None);
        Ok(())
    }

    async fn chat(&mut self, engine: u64, agent: u64, thread: u64) -> Result<(), Fault> {
        let (no, studio) = self.studio(engine);
        let at = usize::try_from(agent).unwrap_or(0) % self.agents.len();
        let known: Vec<String> = self.threads.iter().filter(|(_, of)| *of == at).map(|(id, _)| id.clone()).collect();
        let thread = if known.is_empty() || thread % 5 == 0 { None } else { Some(known[usize::try_from(thread).unwrap_or(0) % known.len()].clone()) };
        let marker = format!("r{}", self.book.tick());
        let shown = match &thread {
            Some(thread) => self.shown(&studio, at, thread).await,
            None => Vec::new(),
        };
        let mut body = json!({"message": format!("@{marker} p@ {}", "tell me more ".repeat(12))});
        body["thread_id"] = thread.clone().map_or(Value::Null, Value::String);
        let request = RunRequest::parse(&body, EntityKind::Agent).expect("a chat body");
        let agent = self.agents[at].clone();
        let answer = self.within(no, "a chat turn", studio.start(&self.scope.clone(), EntityKind::Agent, &agent, request, false)).await?;
        let what = format!("engine {no} says to agent {at} on {}", thread.as_deref().unwrap_or("a new thread"));
        let run = self.started(&what, answer, marker, Some((String::new(), shown)));
        if thread.is_none() && let Some(run) = run {
            let made = self.facts[run].chat.as_ref().map(|(thread, _)| thread.clone()).unwrap_or_default();
            self.threads.push((made, at));
        }
        Ok(())
    }

    /// The runs that a thread shows, oldest first.
    pub async fn shown(&self, studio: &Studio, agent: usize, thread: &str) -> Vec<String> {
        self.messages(studio, agent, thread).await.iter().flat_map(|message| markers(message["content"].as_str().unwrap_or_default())).collect()
    }

    async fn messages(&self, studio: &Studio, agent: usize, thread: &str) -> Vec<Value> {
        let query = ListQuery::parse_with([("limit", "100")], 100).expect("a query");
        let page = studio.chat_messages(&self.scope, EntityKind::Agent, &self.agents[agent], thread, query).await;
        page.ok().and_then(|page| page["messages"].as_array().cloned()).unwrap_or_default()
    }

    async fn branch(&mut self, engine: u64, thread: u64, before: u64) -> Result<(), Fault> {
        if self.threads.is_empty() {
            return Ok(());
        }
        let (no, studio) = self.studio(engine);
        let (thread, agent) = self.threads[usize::try_from(thread).unwrap_or(0) % self.threads.len()].clone();
        let said: Vec<Value> = self.messages(&studio, agent, &thread).await.into_iter().filter(|message| message["role"] == "user").collect();
        let place = usize::try_from(before).unwrap_or(0) % (said.len() + 1);
        let body = said.get(place).map_or(json!({}), |message| json!({"before": message["id"]}));
        let wanted: Vec<String> = said[..place].iter().flat_map(|message| markers(message["content"].as_str().unwrap_or_default())).collect();
        let answer = self.within(no, "a branch", studio.branch_thread(&self.scope.clone(), &thread, &body)).await?;
        match answer {
            Ok(made) => {
                let made = made["id"].as_str().unwrap_or_default().to_owned();
                self.tell(format!("engine {no} branches thread {thread} after {place} turns: {made}"));
                let shown = self.shown(&studio, agent, &made).await;
                // Without an end a branch has all of the thread, also a turn that ended meanwhile.
                let fits = if place < said.len() { shown == wanted } else { shown.starts_with(&wanted) };
                if !fits {
                    return Err(Fault { rule: "branch", text: format!("a branch after {wanted:?} shows {shown:?}") });
                }
                self.threads.push((made, agent));
            }
            Err(error) => self.tell(format!("engine {no} branches thread {thread}: {}", error.message)),
        }
        Ok(())
    }

    async fn delete_thread(&mut self, engine: u64, thread: u64) -> Result<(), Fault> {
        if self.threads.is_empty() {
            return Ok(());
        }
        let (no, studio) = self.studio(engine);
        let (thread, agent) = self.threads[usize::try_from(thread).unwrap_or(0) % self.threads.len()].clone();
        let answer = self.within(no, "deleting a thread", studio.delete_thread(&self.scope.clone(), &thread)).await?;
        self.tell(format!("engine {no} deletes thread {thread}: {}", answer.as_ref().map_or_else(|error| error.message.clone(), |()| "done".into())));
        let shown = self.shown(&studio, agent, &thread).await;
        if answer.is_ok() && !shown.is_empty() {
            return Err(Fault { rule: "thread", text: format!("the deleted thread {thread} shows {shown:?}") });
        }
        Ok(())
    }

    fn answer(&mut self, call: u64, well: bool) {
        let waiting = self.book.waiting();
        if let Some((no, call)) = waiting.get(usize::try_from(call).unwrap_or(0) % waiting.len().max(1)) {
            self.tell(format!("the host {} {} {} of engine {}", if well { "answers" } else { "fails" }, call.name, call.act, call.engine));
            self.book.answer(*no, well);
        }
    }

    async fn cancel(&mut self, engine: u64, run: u64) -> Result<(), Fault> {
        let Some(run) = self.run_at(run) else { return Ok(()) };
        let driver = self.row(run).await.filter(|row| row.status == "running").and_then(|row| self.engine_of(row.owner.as_deref()));
        let (no, studio) = self.studio(engine);
        let id = self.facts[run].id.to_string();
        let asked = self.book.tick();
        let answer = self.within(no, "a cancel", studio.cancel(&self.scope.clone(), &id)).await?;
        // A worker may have taken it meanwhile, and may have ended it by now.
        let driver = driver.filter(|driver| self.lives(*driver));
        let now = match &answer {
            Ok((_, status)) if driver.is_none() && status.as_str() == "running" => self.row(run).await,
            Ok(_) | Err(_) => None,
        };
        let was_driven = now.as_ref().is_some_and(|row| matches!(row.status.as_str(), "completed" | "failed"));
        let driver = driver.or_else(|| self.engine_of(now?.owner.as_deref())).filter(|driver| self.lives(*driver));
        let told = answer.as_ref().map_or_else(|error| error.message.clone(), |(_, status)| status.as_str().to_owned());
        self.tell(format!("engine {no} cancels {} (driven by {driver:?}): {told}", self.facts[run].marker));
        let at = self.book.tick();
        match answer {
            Ok((_, status)) => {
                let what = Cancel { over: status.as_str() == "cancelled", driver };
                self.facts[run].cancels.push(Asked { at, sure: !was_driven, what });
            }
            Err(error) if refused(&error) => {}
            Err(_) => self.facts[run].cancels.push(Asked { at: asked, sure: false, what: Cancel { over: false, driver } }),
        }
        Ok(())
    }

    async fn resume(&mut self, engine: u64, run: u64, how: u64, queued: bool) -> Result<(), Fault> {
        let Some(run) = self.run_at(run) else { return Ok(()) };
        let (no, studio) = self.studio(engine);
        let id = self.facts[run].id.to_string();
        let Ok(trace) = studio.trace(&self.scope, &id, TraceQuery::default()).await else { return Ok(()) };
        let pauses = trace["trace"]["pauses"].as_array().cloned().unwrap_or_default();
        let Some(pause) = pauses.get(usize::try_from(how).unwrap_or(0) % pauses.len().max(1)) else { return Ok(()) };
        let Some(pause_id) = pause["pause_id"].as_str().and_then(|id| id.parse::<Id>().ok()) else { return Ok(()) };
        let mut body = json!({"pause_id": pause["pause_id"]});
        let mut acts = Vec::new();
        if pause["reason"] == "human" {
            body["message"] = json!(format!("h{};", self.book.tick()));
        } else {
            let calls = pause["pending_tools"].as_array().cloned().unwrap_or_default();
            let decide = |(at, call): (usize, &Value)| {
                let approved = !(how >> (at % 4)).is_multiple_of(3);
                acts.push((call["arguments"]["act"].as_str().unwrap_or_default().to_owned(), approved));
                let mut decision = json!({"call_id": call["call_id"], "approval": if approved { "approve" } else { "reject" }});
                if approved && how % 5 == 0 {
                    decision["arguments"] = json!({"act": call["arguments"]["act"], "edited": true});
                }
                decision
            };
            body["decisions"] = calls.iter().enumerate().map(decide).collect();
        }
        let queued = queued && self.facts[run].chat.is_none();
        let request = ResumeRequest::parse(&body).unwrap_or_else(|error| panic!("{error} {:?} {body}", error.members));
        let at = self.book.tick();
        let answer = self.within(no, "a resume", studio.resume(&self.scope.clone(), &id, request, queued)).await?;
        let told = answer.as_ref().map_or_else(|error| error.message.clone(), |started| started.status.as_str().to_owned());
        self.tell(format!("engine {no} answers {} at {}: {body}: {told}", self.facts[run].marker, pause["node_id"]));
        let sure = match &answer {
            Err(error) if refused(error) => return Ok(()),
            other => other.is_ok(),
        };
        self.facts[run].answers.push(Asked { at, sure, what: Answered { pause: pause_id, acts } });
        Ok(())
    }

    pub async fn retry(&mut self, engine: u64, run: u64, how: u64, queued: bool) -> Result<(), Fault> {
        let Some(run) = self.run_at(run) else { return Ok(()) };
        let Some(row) = self.row(run).await.filter(|row| row.status == "failed") else { return Ok(()) };
        let (no, studio) = self.studio(engine);
        let id = self.facts[run].id.to_string();
        let mut body = json!({});
        if how % 2 == 1 && let Ok(trace) = studio.trace(&self.scope, &id, TraceQuery::default()).await {
            let none = Vec::new();
            let usable = |step: &&Value| step["status"] == "completed" && step["superseded"] == false;
            let steps: Vec<&Value> = trace["steps"].as_array().unwrap_or(&none).iter().filter(usable).collect();
            if !steps.is_empty() {
                body["from_step_id"] = steps[usize::try_from(how * 7).unwrap_or(0) % steps.len()]["id"].clone();
            }
        }
        let mut doubts = BTreeMap::new();
        let error = row.error.unwrap_or_default();
        for (at, call) in error["calls"].as_array().into_iter().flatten().enumerate() {
            let action = [DoubtAction::Rerun, DoubtAction::Skip, DoubtAction::Use][(usize::try_from(how).unwrap_or(0) + at) % 3];
            doubts.insert(call["call_id"].as_str().unwrap_or_default().to_owned(), action);
        }
        let words = doubts.iter().map(|(call, action)| match action {
            DoubtAction::Rerun => json!({"call_id": call, "action": "rerun"}),
            DoubtAction::Skip => json!({"call_id": call, "action": "skip"}),
            DoubtAction::Use => json!({"call_id": call, "action": "use", "result": "{\"serial\":\"used;\"}"}),
        });
        body["in_doubt"] = words.collect();
        let queued = queued && self.facts[run].chat.is_none();
        let at = self.book.tick();
        let request = RetryRequest::parse(&body).unwrap_or_else(|error| panic!("{error} {:?} {body}", error.members));
        let answer = self.within(no, "a retry", studio.retry(&self.scope.clone(), &id, request, queued)).await?;
        let told = answer.as_ref().map_or_else(|error| error.message.clone(), |started| started.status.as_str().to_owned());
        self.tell(format!("engine {no} retries {} with {body}: {told}", self.facts[run].marker));
        let sure = match &answer {
            Err(error) if refused(error) => return Ok(()),
            other => other.is_ok(),
        };
        self.facts[run].again.push(Asked { at, sure, what: Again { from_step: body.get("from_step_id").is_some(), doubts } });
        Ok(())
    }

    async fn delete(&mut self, engine: u64, run: u64) -> Result<(), Fault> {
        let Some(run) = self.run_at(run) else { return Ok(()) };
        let (no, studio) = self.studio(engine);
        let id = self.facts[run].id.to_string();
        let answer = self.within(no, "deleting a run", studio.delete_run(&self.scope.clone(), &id)).await?;
        let told = answer.as_ref().map_or_else(|error| error.message.clone(), |()| "done".to_owned());
        self.tell(format!("engine {no} deletes {}: {told}", self.facts[run].marker));
        self.facts[run].deleted |= answer.is_ok() || answer.is_err_and(|error| !refused(&error));
        Ok(())
    }

    async fn step(&mut self, engine: u64, threads: u64) {
        let rows = self.rows().await;
        let (no, studio) = self.studio(engine);
        for _ in 0..threads {
            let now = studio.world().clock.now();
            let due = rows.iter().flatten().filter(|row| row.status == "queued" && row.available_at.is_none_or(|at| at.0 <= now.0));
            let waited: BTreeMap<Id, i64> = due.map(|row| (row.id, row.fence)).collect();
            let mut working = studio.working(None, Some(1)).expect("a queue");
            working.once = true;
            let studio = studio.clone();
            let task = tokio::spawn(async move {
                let ended = Arc::new(Mutex::new(Vec::new()));
                let told = Arc::clone(&ended);
                let done = studio.work(working, CancellationToken::new(), move |finished| told.lock().expect("a lock").push(finished)).await;
                done.map_err(|error| error.message)?;
                let ended = ended.lock().expect("a lock").clone();
                Ok(ended)
            });
            self.stepped.entry(no).or_default().0.extend(waited.keys());
            self.steps.push(Step { engine: no, waited, task });
        }
        self.tell(format!("engine {no} takes a step of a worker, in {threads} threads"));
    }

    pub async fn take_over(&mut self, engine: u64) -> Result<(), Fault> {
        let (no, studio) = self.studio(engine);
        let before: Vec<_> = self.rows().await;
        let taken = self.within(no, "a takeover", studio.take_over()).await?;
        let after = self.rows().await;
        self.tell(format!("engine {no} takes over {taken:?}"));
        let own = |rows: &[Option<wfstudio::store::runs::RunRow>]| {
            rows.iter().flatten().filter(|row| row.status == "running" && row.mode == "async" && self.engine_of(row.owner.as_deref()) == Some(no)).count()
        };
        let (held, holds) = (own(&before), own(&after));
        // Steps of workers have places of their own, and may take theirs meanwhile.
        let steps = self.steps.iter().filter(|step| step.engine == no).count();
        if holds > held.max(self.limits.concurrency) + steps {
            let text = format!("engine {no} drives {holds} queued runs after a takeover, {held} before; `worker.concurrency` is {}", self.limits.concurrency);
            return self.fault("concurrency", text);
        }
        Ok(())
    }

    fn read(&mut self, engine: u64, run: u64, after: u64) {
        let Some(run) = self.run_at(run) else { return };
        let (no, studio) = self.studio(engine);
        let order = if after.is_multiple_of(3) { Order::Live } else { Order::Ordered };
        let from = From { order, after: if after.is_multiple_of(2) { 0 } else { after } };
        let heard = Arc::default();
        let task = tokio::spawn(listen(studio, self.scope.clone(), self.facts[run].id, from, Arc::clone(&heard)));
        self.tell(format!("reader {} follows {} on engine {no} after {}, {order:?}", self.readers.len(), self.facts[run].marker, from.after));
        self.readers.push(Reader { run, order, engine: no, heard, task });
    }
}
