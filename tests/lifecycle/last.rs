//! Owns the end: the world becomes polite, everything comes to rest, and what is left must agree with what happened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{From, Loaded, Order, load};
use wfstudio::model::Id;
use wfstudio::model::event::{Answer, CallOutcome, Event, PauseReason};
use wfstudio::model::run::Run;
use wfstudio::store::log;
use wfstudio::studio::{Studio, TraceQuery};

use super::deeds::Deed;
use super::fair::Moment;
use super::host::{Call, End};
use super::model::{Asked, Cancel, Fact, Fault};
use super::world::{SeenEvent, World};

impl World {
    /// Brings everything to an end and looks at what it came to.
    pub async fn finish(&mut self) -> Result<(), Fault> {
        self.tell("-- from here on everybody is polite");
        self.book.polite.store(true, Ordering::SeqCst);
        for engine in &self.engines {
            engine.life.writes.store(-1, Ordering::SeqCst);
            engine.life.calls.store(-1, Ordering::SeqCst);
        }
        self.bury().await;
        self.open();
        self.rest().await?;
        for at in 0..self.facts.len() {
            self.agrees(at).await?;
        }
        Ok(())
    }

    /// Works until every run is over, or waits for nobody.
    async fn rest(&mut self) -> Result<(), Fault> {
        let began = Moment::now();
        let (mut moved, mut before) = (began, Vec::new());
        let mut told = usize::MAX;
        loop {
            self.book.waiting().iter().for_each(|(no, _)| self.book.answer(*no, true));
            self.calm().await?;
            self.look().await?;
            let rows = self.rows().await;
            let last = self.engines.len() as u64 - 1;
            // Nobody can retry a failed run whose log cannot be read.
            let failed = |at: &usize| rows[*at].as_ref().is_some_and(|row| row.status == "failed");
            let wanted = |at: &usize| !(self.facts[*at].spoiled && (self.ignored.0.contains("unreadable") || failed(at)));
            let is_open = |at: &usize| rows[*at].as_ref().is_some_and(|row| !is_over(&row.status, row.error.as_ref()));
            let open: Vec<usize> = (0..rows.len()).filter(wanted).filter(is_open).collect();
            if open.is_empty() && self.steps.is_empty() {
                return Ok(());
            }
            // What goes round is told once.
            told = if self.story.len() > told.saturating_add(60) { told } else { told.min(self.story.len()) };
            if self.story.len() > told.saturating_add(60) {
                self.story.truncate(told + 60);
            }
            // A server may be starved where this process is not: as long as runs go on, there is time.
            let now: Vec<_> = rows.iter().flatten().map(|row| (row.status.clone(), row.head, row.fence)).collect();
            if now != before {
                (moved, before) = (Moment::now(), now);
            }
            if moved.elapsed() > Duration::from_secs(8) || began.elapsed() > Duration::from_secs(60) {
                let left: Vec<String> = open.iter().map(|at| format!("{} {:?}", self.facts[*at].marker, rows[*at].as_ref().map(|row| (&row.status, &row.owner, row.lease_until, row.takeovers, row.cancel_requested)))).collect();
                return self.fault("rest", format!("everybody is polite, and nothing comes to rest: {left:?}, {} steps of workers", self.steps.len()));
            }
            let status = |at: &usize| rows[*at].as_ref().map(|row| row.status.clone()).unwrap_or_default();
            if open.iter().any(|at| status(at) == "running") {
                self.lapse().await;
                self.take_over(last).await?;
            }
            // Also one that was driven from memory to a pause while its log was lost: its answer cannot be taken.
            let stuck: Vec<usize> = open.iter().copied().filter(|at| self.facts[*at].spoiled && goes_on(&status(at))).collect();
            for at in stuck {
                self.give_up_spoiled(at, last).await?;
            }
            if open.iter().any(|at| status(at) == "queued") && self.steps.is_empty() {
                // A clock that went back may have left jobs for later.
                self.time.jump(60_000);
                self.act(&Deed::Step { engine: last, threads: 1 }).await?;
            }
            for at in open {
                let run = at as u64;
                match status(&at).as_str() {
                    "awaiting_input" | "awaiting_tool_approval" => self.act(&Deed::Resume { engine: last, run, how: 1, queued: false }).await?,
                    "failed" => self.retry(last, run, 0, false).await?,
                    _ => {}
                }
            }
        }
    }

    /// A run whose log cannot be read: it must come to rest, at least when it is cancelled.
    async fn give_up_spoiled(&mut self, at: usize, engine: u64) -> Result<(), Fault> {
        let before = self.row(at).await.map(|row| row.status);
        if !before.as_deref().is_some_and(goes_on) {
            return Ok(());
        }
        let (_, studio) = self.studio(engine);
        let id = self.facts[at].id.to_string();
        let cancelled = studio.cancel(&self.scope, &id).await;
        if let Ok((_, status)) = &cancelled {
            let what = Cancel { over: status.as_str() == "cancelled", driver: None };
            let asked = self.book.tick();
            self.facts[at].cancels.push(Asked { at: asked, sure: false, what });
        }
        // Another engine may have taken it just now, and be about to end it.
        let asked = Moment::now();
        let mut after = self.row(at).await.map(|row| row.status);
        while after.as_deref().is_some_and(goes_on) && asked.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            after = self.row(at).await.map(|row| row.status);
        }
        if let Some(status) = after.filter(|status| goes_on(status)) {
            let told = cancelled.map_or_else(|error| error.message, |(_, status)| status.as_str().to_owned());
            return self.fault("unreadable", format!("{} cannot be read, stays {status}, and a cancel is answered: {told}", self.facts[at].marker));
        }
        Ok(())
    }

    /// One run against its facts.
    async fn agrees(&mut self, at: usize) -> Result<(), Fault> {
        let fact = self.facts[at].clone();
        if fact.spoiled || self.row(at).await.is_none() {
            return Ok(());
        }
        let studio = self.engines[self.engines.len() - 1].studio.clone();
        let loaded = load(studio.world(), "", &fact.id.to_string()).await;
        let loaded = loaded.map_err(|error| Fault { rule: "log", text: format!("{}: {}", fact.marker, error.message) })?;
        let calls: Vec<Call> = self.book.calls().into_iter().filter(|call| call.run == fact.marker).collect();
        self.log_is_whole(&studio, &fact, &loaded).await?;
        self.decisions(&fact, &loaded)?;
        self.answers_kept(&fact, &loaded, &calls)?;
        self.cancels_kept(&fact, &loaded)?;
        self.limits_kept(&fact, &loaded)?;
        self.usage(&fact, &loaded, &calls)?;
        self.readers(at, &studio).await?;
        self.results(&fact, &studio).await
    }

    async fn log_is_whole(&self, studio: &Studio, fact: &Fact, loaded: &Loaded) -> Result<(), Fault> {
        let folded = match Run::fold(fact.id, &loaded.entries, Arc::clone(&loaded.plan)) {
            Ok(folded) => folded,
            Err(error) => return self.fault("log", format!("{}: {error:?}", fact.marker)),
        };
        let gap = loaded.entries.iter().enumerate().find(|(at, entry)| entry.seq != *at as u64 + 1);
        if gap.is_some() || folded.status.as_str() != loaded.row.status {
            return self.fault("log", format!("{}: gap {gap:?}, the log says {}, the row {}", fact.marker, folded.status.as_str(), loaded.row.status));
        }
        let id = fact.id;
        let chain = studio.world().store.read(move |tx| log::verify(tx, "", &id)).await;
        chain.map_or_else(|error| self.fault("log", format!("{}: {error}", fact.marker)), |_| Ok(()))
    }

    /// Every accepted decision is in the log once, and nobody is asked again what was decided.
    fn decisions(&self, fact: &Fact, loaded: &Loaded) -> Result<(), Fault> {
        let mut resumed: HashMap<Id, usize> = HashMap::new();
        let mut decided: HashSet<String> = HashSet::new();
        let mut pauses: HashMap<Id, Vec<(String, String)>> = HashMap::new();
        let mut retries = 0;
        for entry in &loaded.entries {
            match &entry.event {
                Event::Paused(pause) => {
                    let PauseReason::Approval { calls, .. } = &pause.reason else { continue };
                    let acts: Vec<(String, String)> =
                        calls.iter().map(|call| (call.id.clone(), call.arguments["act"].as_str().unwrap_or_default().to_owned())).collect();
                    if let Some((_, act)) = acts.iter().find(|(_, act)| decided.contains(act)) {
                        return self.fault("asked_again", format!("a person decided on {act}, and is asked again"));
                    }
                    pauses.insert(pause.id, acts);
                }
                Event::Resumed(answer) => {
                    *resumed.entry(answer.pause).or_default() += 1;
                    if let Answer::Approval { decisions } = &answer.answer {
                        let acts = pauses.get(&answer.pause).cloned().unwrap_or_default();
                        let said = acts.into_iter().filter(|(id, _)| decisions.iter().any(|decision| decision.call_id == *id));
                        decided.extend(said.map(|(_, act)| act));
                    }
                }
                Event::Retried(_) => {
                    retries += 1;
                    decided.clear();
                }
                _ => {}
            }
        }
        if let Some((pause, count)) = resumed.iter().find(|(_, count)| **count != 1) {
            return self.fault("decision", format!("{}: pause {pause} was answered {count} times", fact.marker));
        }
        let (sure, all) = (fact.again.iter().filter(|again| again.sure).count(), fact.again.len());
        if !(sure..=all).contains(&retries) {
            return self.fault("decision", format!("{}: {sure} of {all} retries were accepted, the log has {retries}", fact.marker));
        }
        let lost = fact.answers.iter().find(|answer| answer.sure && !resumed.contains_key(&answer.what.pause));
        let unasked = resumed.keys().find(|pause| !fact.answers.iter().any(|answer| answer.what.pause == **pause));
        if lost.is_some() || unasked.is_some() {
            return self.fault("decision", format!("{}: the answer {lost:?} is not in the log; {unasked:?} is there unasked", fact.marker));
        }
        Ok(())
    }

    /// What a tool answered to an engine that lived on is in the log.
    fn answers_kept(&self, fact: &Fact, loaded: &Loaded, calls: &[Call]) -> Result<(), Fault> {
        for call in calls.iter().filter(|call| call.is_tool()) {
            let End::Gave(answer) = &call.end else { continue };
            if !self.calms.outlived(self.spans[call.engine], call.ended) {
                continue;
            }
            // A person may have had it made again, as the same call.
            let began = loaded.entries.iter().position(|entry| {
                matches!(&entry.event, Event::CallStarted(started) if started.call_id.as_deref() == Some(&call.call_id))
            });
            let Some(began) = began else {
                return self.fault("lost", format!("{} {} was called, and the log does not know it", call.name, call.act));
            };
            let kept = loaded.entries.iter().any(|entry| match &entry.event {
                Event::CallFinished(ended) => matches!(&ended.outcome, CallOutcome::Tool(outcome) if outcome.call_id == call.call_id && outcome.result == *answer),
                _ => false,
            });
            let lease_lost = loaded.entries[began..].iter().any(|entry| matches!(entry.event, Event::TakenOver { .. })) || fact.deaths > 0;
            if !kept && !lease_lost {
                return self.fault("lost", format!("{} {} answered {answer} to engine {}, which lived on; the log does not have it", call.name, call.act, call.engine));
            }
        }
        Ok(())
    }

    /// A cancel that nobody was there to hear is heard by whoever comes next.
    fn cancels_kept(&self, fact: &Fact, loaded: &Loaded) -> Result<(), Fault> {
        let lost = fact.cancels.iter().find(|cancel| cancel.sure && cancel.what.driver.is_none());
        let later = |at: u64| fact.again.iter().any(|again| again.at > at);
        match lost {
            Some(cancel) if loaded.row.status != "cancelled" && !later(cancel.at) => {
                self.fault("cancel_lost", format!("the cancel of {} was accepted while nobody drove it, and it is {}", fact.marker, loaded.row.status))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A job is tried no more often than it may be.
    fn limits_kept(&self, fact: &Fact, loaded: &Loaded) -> Result<(), Fault> {
        let mut requeued = 0;
        for entry in &loaded.entries {
            match &entry.event {
                Event::Requeued { .. } => requeued += 1,
                Event::Resumed(_) | Event::Retried(_) => requeued = 0,
                _ => {}
            }
            if requeued >= self.limits.tries {
                return self.fault("tries", format!("{} went back to the queue {requeued} times, `queue_tries` is {}", fact.marker, self.limits.tries));
            }
        }
        Ok(())
    }

    /// What providers billed is what usage says.
    fn usage(&self, fact: &Fact, loaded: &Loaded, calls: &[Call]) -> Result<(), Fault> {
        let taken_over = fact.deaths > 0 || loaded.entries.iter().any(|entry| matches!(entry.event, Event::TakenOver { .. }));
        // A summary quotes the turns of older runs, so its words do not tell for which run it was made.
        let sums: u64 = self.book.calls().iter().filter(|call| call.name == "sum").map(|call| call.spent).sum();
        let own = || calls.iter().filter(|call| call.name != "sum");
        let told: u64 = own().map(|call| call.spent).sum();
        let heard = |call: &&Call| {
            let cut = call.end == End::Dropped && self.spans[call.engine].gone.is_some();
            call.end != End::Open && !cut && self.calms.outlived(self.spans[call.engine], call.ended)
        };
        let sure: u64 = own().filter(heard).map(|call| call.spent).sum();
        let counted = loaded.row.total.tokens.prompt;
        if counted > told + sums || (!taken_over && counted < sure) {
            return self.fault("usage", format!("models told {sure} to {} tokens of {}, its usage says {counted}", told + sums, fact.marker));
        }
        Ok(())
    }

    /// All readers of a run hear the same, whenever they began.
    async fn readers(&mut self, at: usize, studio: &Studio) -> Result<(), Fault> {
        let fact = self.facts[at].clone();
        for order in [Order::Ordered, Order::Live] {
            let all = self.hear(studio, fact.id, From { order, after: 0 }).await?;
            if all.windows(2).any(|pair| pair[0].0 >= pair[1].0) || all.last().is_none_or(|last| last.1 != "run_terminal") {
                return self.fault("reader", format!("{}: events do not rise to an end: {:?}", fact.marker, all.last()));
            }
            let by_number: BTreeMap<u64, &SeenEvent> = all.iter().map(|told| (told.0, told)).collect();
            let own = self.readers.iter().enumerate().filter(|(_, reader)| reader.run == at && reader.order == order);
            for (no, reader) in own {
                let heard = reader.heard.lock().expect("a lock").clone();
                let unbroken = self.spans[reader.engine].gone.is_none() && fact.deaths == 0;
                if let Some(text) = differs(&heard, &by_number, unbroken) {
                    return self.fault("reader", format!("reader {no} of {}: {text}", fact.marker));
                }
            }
        }
        Ok(())
    }

    /// The newest result of each node is in the output, results that were gone back over are not.
    async fn results(&self, fact: &Fact, studio: &Studio) -> Result<(), Fault> {
        let trace = studio.trace(&self.scope, &fact.id.to_string(), TraceQuery::default()).await;
        let trace = trace.map_err(|error| Fault { rule: "trace", text: format!("{}: {}", fact.marker, error.message) })?;
        if trace["trace"]["status"] != "completed" || fact.chat.is_some() {
            return Ok(());
        }
        let output = trace["trace"]["output"].to_string();
        let mut newest: BTreeMap<String, (Option<String>, Vec<String>)> = BTreeMap::new();
        for step in trace["steps"].as_array().into_iter().flatten() {
            let serials = serials(&step["output"]);
            let kind = step["node_type"].as_str().unwrap_or_default();
            if step["status"] != "completed" || !["tool", "llm", "agent", "human"].contains(&kind) {
                continue;
            }
            let serial = serials.into_iter().next();
            let entry = newest.entry(step["node_id"].as_str().unwrap_or_default().to_owned()).or_default();
            if step["superseded"] == true {
                entry.1.extend(serial);
            } else {
                // A call that a person skipped has no number, and its step comes after the older ones all the same.
                entry.1.extend(std::mem::replace(&mut entry.0, serial));
            }
        }
        let told: HashSet<String> = serials(&json!(output)).into_iter().collect();
        for (node, (last, older)) in newest {
            if let Some(last) = last.filter(|last| !told.contains(last)) {
                return self.fault("result", format!("{}: the newest result {last} of {node} is not in the output: {output}", fact.marker));
            }
            if let Some(old) = older.iter().find(|old| told.contains(*old)) {
                return self.fault("result", format!("{}: the older result {old} of {node} is in the output: {output}", fact.marker));
            }
        }
        Ok(())
    }
}

/// A run that nobody has to do anything for; doubts wait for a person's word.
fn is_over(status: &str, error: Option<&Value>) -> bool {
    matches!(status, "completed" | "cancelled") || status == "failed" && error.is_none_or(|error| error["code"] != "in_doubt")
}

/// How what a reader heard differs from what is told now.
fn differs(heard: &[SeenEvent], all: &BTreeMap<u64, &SeenEvent>, unbroken: bool) -> Option<String> {
    for told in heard.iter().filter(|told| told.1 != "run_terminal") {
        match all.get(&told.0) {
            Some(now) if now.1 == told.1 && now.2 == told.2 => {}
            // Text that was told before it was stored may be lost with its process; its number stays free.
            None if told.1 == "token" && !unbroken => {}
            now => return Some(format!("it heard {told:?}, now it is {now:?}")),
        }
    }
    let (Some(first), Some(last)) = (heard.first(), heard.last()) else { return None };
    let numbers: HashSet<u64> = heard.iter().map(|told| told.0).collect();
    let missed = all.range(first.0..=last.0).find(|(number, told)| told.1 != "run_terminal" && !numbers.contains(number));
    missed.filter(|_| unbroken).map(|(_, told)| format!("it did not hear {told:?}"))
}

/// Results by their numbers: `s3;` of a tool, `t3;` of a model, `h3;` of a person.
fn serials(value: &Value) -> Vec<String> {
    let text = value.to_string();
    let mut found = Vec::new();
    for (at, _) in text.match_indices(';') {
        let digits = text[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let from = at - digits;
        if digits > 0 && from > 0 && [b's', b't', b'h'].contains(&text.as_bytes()[from - 1]) {
            found.push(text[from - 1..=at].to_owned());
        }
    }
    found
}

/// It runs, or waits for a person.
fn goes_on(status: &str) -> bool {
    matches!(status, "running" | "awaiting_input" | "awaiting_tool_approval")
}
