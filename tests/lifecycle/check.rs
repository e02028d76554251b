//! Owns what must hold after every deed: of statuses, of calls, of workers.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use wfstudio::model::Id;

use super::host::{Call, End};
use super::model::{Fact, Fault};
use super::world::{Step, World};

impl World {
    /// A fault, unless nobody looks at its rule.
    pub fn fault(&self, rule: &'static str, text: String) -> Result<(), Fault> {
        if self.ignored.0.contains(rule) { Ok(()) } else { Err(Fault { rule, text }) }
    }

    /// Looks at everything that can be seen at once.
    pub async fn look(&mut self) -> Result<(), Fault> {
        self.statuses().await?;
        let calls = self.book.calls();
        self.repeats(&calls)?;
        self.unwanted(&calls)?;
        self.prompts(&calls)?;
        self.workers().await
    }

    /// Statuses go only where they may.
    async fn statuses(&mut self) -> Result<(), Fault> {
        let now = self.book.tick();
        let rows = self.rows().await;
        for at in 0..self.facts.len() {
            let fact = &self.facts[at];
            let Some(row) = &rows[at] else {
                if !fact.deleted && !self.engines.is_empty() {
                    return self.fault("gone", format!("run {} is gone", fact.marker));
                }
                continue;
            };
            if let Some((before, since)) = &fact.seen
                && let Some(why) = fact.wrong_move(before, &row.status, *since)
            {
                return self.fault("status", format!("run {} went from {before} to {}: {why}", fact.marker, row.status));
            }
            self.must_have_reason(fact, row)?;
            self.facts[at].seen = Some((row.status.clone(), now));
        }
        Ok(())
    }

    /// A run fails only for what happened.
    fn must_have_reason(&self, fact: &Fact, row: &wfstudio::store::runs::RunRow) -> Result<(), Fault> {
        let error = row.error.as_ref().map(|error| error["code"].as_str().unwrap_or_default().to_owned()).unwrap_or_default();
        match error.as_str() {
            "run_timeout" => self.fault("run_timeout", format!("run {} failed run_timeout; nobody drove it for so long, the clock jumped", fact.marker)),
            "worker_lost" if fact.deaths <= self.limits.takeovers => {
                let text = format!("run {} failed worker_lost; {} engines died while they drove it, {} may", fact.marker, fact.deaths, self.limits.takeovers);
                self.fault("worker_lost", text)
            }
            "internal" if !fact.spoiled => self.fault("internal", format!("run {} failed: {:?}", fact.marker, row.error)),
            _ => Ok(()),
        }
    }

    pub fn fact_of(&self, marker: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.marker == marker)
    }

    /// What may not be repeated is made once, unless it failed or a person decided.
    fn repeats(&self, calls: &[Call]) -> Result<(), Fault> {
        let mut last: BTreeMap<(&str, &str), &Call> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.is_tool()) {
            let before = last.insert((&call.act, &call.name), call);
            let Some(before) = before.filter(|before| !before.may_repeat() && before.end != End::Failed) else { continue };
            let allowed = self.fact_of(&call.run).is_none_or(|fact| fact.may_repeat(&before.call_id, before.began, call.began));
            if !allowed {
                let text = format!(
                    "{} {} is called again by engine {} as {}, though engine {} called it before as {} ({:?}) and nobody decided that it may",
                    call.name, call.act, call.engine, call.call_id, before.engine, before.call_id, before.end
                );
                return self.fault("repeat", text);
            }
        }
        Ok(())
    }

    /// Nothing is called that nobody wants any more.
    fn unwanted(&self, calls: &[Call]) -> Result<(), Fault> {
        for call in calls {
            if self.spans[call.engine].gone.is_some_and(|gone| call.began > gone) {
                return self.fault("after_end", format!("engine {} is gone and calls {} {}", call.engine, call.name, call.act));
            }
            let Some(fact) = self.fact_of(&call.run) else { continue };
            for cancel in fact.cancels.iter().filter(|cancel| cancel.sure && call.began > cancel.at) {
                let driver = cancel.what.driver == Some(call.engine);
                let again = fact.again.iter().any(|again| again.at > cancel.at);
                if !again && (cancel.what.over || !driver) {
                    let text = format!("{} {} is called by engine {} after the cancel was accepted", call.name, call.act, call.engine);
                    return self.fault("after_cancel", text);
                }
            }
            let heeded = call.name == "heed" && call.end == End::Dropped && self.spans[call.engine].gone.is_none_or(|gone| call.ended < gone);
            let asked = fact.cancels.iter().any(|cancel| cancel.sure && cancel.what.driver == Some(call.engine));
            let step_cut = fact.deaths > 0 || !self.lives(call.engine);
            if heeded && asked && !step_cut {
                return self.fault("heed", format!("the tool {} heeds a cancel, and its answer was not waited for", call.act));
            }
            let declined = fact.answers.iter().find(|answer| answer.sure && answer.at < call.began && answer.what.acts.contains(&(call.act.clone(), false)));
            if let Some(declined) = declined
                && call.is_tool()
                && !fact.again.iter().any(|again| (declined.at..call.began).contains(&again.at))
            {
                return self.fault("declined", format!("{} {} is called, though a person declined it", call.name, call.act));
            }
        }
        Ok(())
    }

    /// What a thread shows is what its model is sent, whole turns only, each once.
    fn prompts(&self, calls: &[Call]) -> Result<(), Fault> {
        for call in calls.iter().filter(|call| call.name == "chat") {
            let Some((sent, whole)) = &call.sent else { continue };
            if !whole {
                return self.fault("whole", format!("model call {} is sent a part of a turn", call.act));
            }
            let Some((fact, (thread, shown))) = self.fact_of(&call.run).and_then(|fact| Some((fact, fact.chat.as_ref()?))) else { continue };
            let seen: HashSet<&String> = sent.iter().collect();
            if seen.len() != sent.len() {
                return self.fault("memory", format!("model call {} is sent a turn twice: {sent:?}", call.act));
            }
            let missing: Vec<&String> = shown.iter().filter(|marker| !seen.contains(marker)).collect();
            if !missing.is_empty() {
                let text = format!("model call {} of {} on thread {thread} is not sent {missing:?}, which the thread shows: {sent:?}", call.act, fact.marker);
                return self.fault("memory", text);
            }
        }
        Ok(())
    }

    /// Whether one of these runs is not taken by anybody; where somebody may be about to, that is waited for.
    async fn still_wait(&mut self, waited: &BTreeMap<Id, i64>, others: bool) -> bool {
        let looks = if others { 200 } else { 1 };
        for look in 0..looks {
            if look > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let rows = self.rows().await;
            if !rows.iter().flatten().any(|row| row.status == "queued" && waited.get(&row.id) == Some(&row.fence)) {
                return false;
            }
        }
        true
    }

    /// A step of a worker tells the run that it took, and takes one when one waits.
    async fn workers(&mut self) -> Result<(), Fault> {
        let over: Vec<Step> = self.steps.extract_if(.., |step| step.task.is_finished()).collect();
        if over.is_empty() {
            return Ok(());
        }
        let rows = self.rows().await;
        let fences: BTreeMap<Id, i64> = rows.iter().flatten().filter(|row| row.status == "queued").map(|row| (row.id, row.fence)).collect();
        let queued: HashSet<Id> = fences.keys().copied().collect();
        let mut engines = Vec::new();
        for step in over {
            let Ok(Ok(ended)) = step.task.await else { continue };
            self.tell(format!("(a step of engine {} ended: {:?})", step.engine, ended.iter().map(|end| (end.run, end.status.as_str())).collect::<Vec<_>>()));
            // What others took and put back meanwhile has another fence.
            let left: Vec<&Id> = step.waited.iter().filter(|(id, fence)| fences.get(id) == Some(fence)).map(|(id, _)| id).collect();
            // On PostgreSQL, a run that another step is about to take is passed over while its row is locked. A step waits for such a run for two
            // seconds, because a process that dies while it claims leaves the run in the queue.
            if ended.is_empty() && !left.is_empty() && self.still_wait(&step.waited, !self.steps.is_empty()).await {
                let text = format!("a step of engine {} took nothing, though {left:?} waited when it began and wait still", step.engine);
                return self.fault("step", text);
            }
            let (_, told) = self.stepped.entry(step.engine).or_default();
            told.extend(ended.iter().map(|end| end.run));
            engines.push(step.engine);
        }
        // Steps that ended between two looks are all heard before anybody asks what none of them told.
        engines.into_iter().try_for_each(|engine| self.steps_published(engine, &queued))
    }

    /// Where only one engine ever took steps, and none is under way, every run that left the queue was told.
    fn steps_published(&self, engine: usize, queued: &HashSet<Id>) -> Result<(), Fault> {
        if self.stepped.len() > 1 || self.steps.iter().any(|step| step.engine == engine) || self.spans.iter().any(|span| span.gone.is_some()) {
            return Ok(());
        }
        let Some((waited, told)) = self.stepped.get(&engine) else { return Ok(()) };
        let touched = |id: &Id| self.facts.iter().any(|fact| fact.id == *id && (!fact.cancels.is_empty() || fact.deleted || fact.deaths > 0));
        match waited.iter().find(|id| !told.contains(id) && !queued.contains(id) && !touched(id)) {
            Some(run) => self.fault("step_answer", format!("a step of engine {engine} took run {run}, and no step told its end")),
            None => Ok(()),
        }
    }
}

/// Two steps of one engine, each with a run of its own, that ended before anybody looked.
#[tokio::test]
async fn steps_that_end_together_are_heard_together() {
    use wfstudio::engine::Finished;
    use wfstudio::model::run::Status;
    let mut world = World::of(1, super::model::Ignored::default()).await;
    let runs = [Id::v7(1, 0, 1), Id::v7(1, 0, 2)];
    for run in runs {
        let task = tokio::spawn(async move { Ok(vec![Finished { run, status: Status::Completed, millis: 1 }]) });
        world.steps.push(Step { engine: 0, waited: runs.into_iter().map(|run| (run, 0)).collect(), task });
    }
    world.stepped.entry(0).or_default().0.extend(runs);
    while !world.steps.iter().all(|step| step.task.is_finished()) {
        tokio::task::yield_now().await;
    }
    let found = world.look().await.err().map(|fault| fault.text);
    assert_eq!(found, None);
    let lost = Id::v7(1, 0, 3);
    world.stepped.entry(0).or_default().0.insert(lost);
    world.steps.push(Step { engine: 0, waited: BTreeMap::new(), task: tokio::spawn(async { Ok(Vec::new()) }) });
    while !world.steps[0].task.is_finished() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.look().await.expect_err("a run that no step told").rule, "step_answer");
    let engine = world.engines.pop().expect("an engine");
    engine.die().await;
}
