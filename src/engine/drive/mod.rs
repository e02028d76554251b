//! Owns the execution of a run until it pauses or ends: the next lane, concurrent branches, the end.

pub(in crate::engine) mod advance;
pub(in crate::engine) mod checkpoints;
pub(in crate::engine) mod context;
mod forks;
pub(in crate::engine) mod history;
pub(in crate::engine) mod question;
mod queue_retry;
pub(in crate::engine) mod step;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use crate::engine::drive::advance::Advance;
use crate::engine::log::journal::Journal;

use super::world::World;
use crate::model::agent::Definitions;
use crate::model::event::{Event, Fault, FaultCode, LaneId};
use crate::model::node::Node;
use crate::model::run::{At, Run, Status};

/// Why driving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveResult {
    /// The run has paused or ended.
    Rested(Status),
    /// It goes on later, by itself: a queued retry.
    Requeued,
    /// The engine shuts down; the next owner continues.
    Interrupted,
    /// Another worker owns the run now, or the store failed: nothing more was written.
    Lost,
}

/// How a lane's effect step ended.
#[derive(Debug)]
pub(super) enum StepOver {
    /// The lane goes on.
    Goes,
    /// It waits for a person.
    Paused,
    /// It failed; the run will.
    Failed(Fault, Arc<str>),
    /// It was cut short by a cancel, a limit or a shutdown, or not begun because of a sibling's failure or a shutdown.
    Cut,
    /// Nothing more can be written.
    Lost,
}

/// Signals from outside to a driven run.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// A person cancels the run.
    pub cancel: CancellationToken,
    /// The engine shuts down.
    pub stop: CancellationToken,
}

/// What drives one run.
pub struct Drive {
    pub(super) world: Arc<World>,
    pub(super) journal: Arc<Journal>,
    pub(super) definitions: Arc<Definitions>,
    pub(super) signals: Signals,
    /// A retryable failure may be tried again by the queue so many more times.
    pub(super) tries_left: u32,
    /// Steps failed, and the previous owner died before it handled that.
    pub(super) failed: Vec<(Fault, Arc<str>)>,
}

/// What is under way in one pass of driving.
struct DrivePass {
    ready: VecDeque<LaneId>,
    busy: FuturesUnordered<BoxFuture<'static, (LaneId, StepOver)>>,
    failed: Option<(Fault, Option<Arc<str>>)>,
    /// A step failed, or the engine shuts down: no lane begins another one.
    stops: Arc<AtomicBool>,
    /// Cuts calls that are under way.
    cut: CancellationToken,
}

enum Ending {
    Cancel,
    Timeout,
}

impl Drive {
    /// Drives until the run pauses or ends.
    pub async fn run(self) -> DriveResult {
        if self.journal.status() != Status::Running {
            let _lost = self.journal.durable().await;
            return DriveResult::Rested(self.journal.status());
        }
        let mut pass = DrivePass {
            ready: if self.failed.is_empty() { self.first_lanes() } else { VecDeque::new() },
            busy: FuturesUnordered::new(),
            failed: None,
            stops: Arc::default(),
            cut: CancellationToken::new(),
        };
        for (fault, node) in &self.failed {
            self.blame(&mut pass, fault.clone(), Some(Arc::clone(node)));
        }
        let left = self.time_left();
        let until = tokio::time::Instant::now() + left;
        let deadline = tokio::time::sleep_until(until);
        tokio::pin!(deadline);
        loop {
            if self.journal.lost() {
                return DriveResult::Lost;
            }
            if self.signals.cancel.is_cancelled() {
                return Box::pin(self.end(pass, Ending::Cancel)).await;
            }
            if self.signals.stop.is_cancelled() {
                return Box::pin(self.leave(pass, until)).await;
            }
            if self.advance_ready(&mut pass) {
                self.journal.keep_up().await;
                tokio::task::yield_now().await;
                self.look_at_calls(&mut pass).await;
                if tokio::time::Instant::now() >= until {
                    return Box::pin(self.end(pass, Ending::Timeout)).await;
                }
                continue;
            }
            if pass.busy.is_empty() {
                return self.rest(pass).await;
            }
            tokio::select! {
                biased;
                () = self.signals.cancel.cancelled() => {}
                () = self.signals.stop.cancelled() => {}
                () = self.journal.broken() => {}
                () = &mut deadline => return Box::pin(self.end(pass, Ending::Timeout)).await,
                Some((lane, over)) = pass.busy.next() => self.step_over(&mut pass, lane, over),
            }
        }
    }

    fn time_left(&self) -> Duration {
        let limit = self.world.config.timeouts.run_seconds * 1000;
        Duration::from_millis(limit.saturating_sub(self.journal.worked()))
    }

    /// Lanes that can go on when driving begins.
    fn first_lanes(&self) -> VecDeque<LaneId> {
        let mut lanes: Vec<(Vec<usize>, LaneId)> = self.journal.with(|run| {
            let going = run.lanes.values().filter(|lane| lane.pause().is_none() && lane.fork().is_none());
            going.map(|lane| (lane.order().to_vec(), lane.id)).collect()
        });
        lanes.sort();
        let mut ready: VecDeque<LaneId> = lanes.into_iter().map(|(_, lane)| lane).collect();
        let forks: Vec<LaneId> =
            self.journal.with(|run| run.lanes.values().filter(|lane| lane.fork().is_some()).map(|lane| lane.id).collect());
        for parent in forks {
            self.fill_fork(&mut ready, parent);
        }
        ready
    }

    /// Advances ready lanes up to their next calls, for a while. True if some lane goes on at once.
    fn advance_ready(&self, pass: &mut DrivePass) -> bool {
        let (mut breaks, begun) = (Vec::new(), Instant::now());
        while begun.elapsed() <= advance::LONG
            && let Some(lane) = pass.ready.pop_front()
        {
            if pass.failed.is_some() {
                continue;
            }
            match advance::advance(&self.world, &self.journal, lane) {
                Advance::Break => breaks.push(lane),
                Advance::Effect => pass.busy.push(self.effect(lane, pass)),
                Advance::Forked => self.fill_fork(&mut pass.ready, lane),
                Advance::Ended => self.lane_ended(pass, lane),
                Advance::Paused => {}
                Advance::Failed(fault, node) => self.blame(pass, fault, node),
                Advance::Lost => return false,
            }
        }
        pass.ready.extend(breaks);
        !pass.ready.is_empty()
    }

    fn effect(&self, lane: LaneId, pass: &DrivePass) -> BoxFuture<'static, (LaneId, StepOver)> {
        let (world, journal, definitions) =
            (Arc::clone(&self.world), Arc::clone(&self.journal), Arc::clone(&self.definitions));
        let (cut, stops) = (pass.cut.clone(), Arc::clone(&pass.stops));
        let calls_only = journal.with(|run| calls_only(run, lane));
        Box::pin(async move {
            if !calls_only {
                tokio::select! {
                    begun = journal.begun() => if begun.is_err() { return (lane, StepOver::Lost) },
                    () = cut.cancelled() => return (lane, StepOver::Cut),
                }
            }
            // A step that has begun is finished also after that; one that has not waits for a retry, or for the next owner.
            if stops.load(Ordering::Relaxed) && !journal.with(|run| run.lanes.get(&lane).is_some_and(|lane| lane.step.is_some())) {
                return (lane, StepOver::Cut);
            }
            let over = step::run(&world, &journal, &definitions, lane, &cut).await;
            (lane, over)
        })
    }

    /// Calls that are under way go on while other lanes make steps.
    async fn look_at_calls(&self, pass: &mut DrivePass) {
        while let Some((lane, over)) = std::future::poll_fn(|context| match pass.busy.poll_next_unpin(context) {
            Poll::Ready(over) => Poll::Ready(over),
            Poll::Pending => Poll::Ready(None),
        })
        .await
        {
            self.step_over(pass, lane, over);
        }
    }

    fn step_over(&self, pass: &mut DrivePass, lane: LaneId, over: StepOver) {
        match over {
            StepOver::Goes => pass.ready.push_back(lane),
            StepOver::Failed(fault, node) => self.blame(pass, fault, Some(node)),
            StepOver::Paused | StepOver::Cut | StepOver::Lost => {}
        }
    }

    /// The run fails of its first failure; where the queue may try again, of the first that this would not cure.
    fn blame(&self, pass: &mut DrivePass, fault: Fault, node: Option<Arc<str>>) {
        pass.stops.store(true, Ordering::Relaxed);
        let cured = |before: &Fault| self.tries_left > 0 && before.code.is_retryable() && !fault.code.is_retryable();
        if pass.failed.as_ref().is_none_or(|(before, _)| cured(before)) {
            pass.failed = Some((fault, node));
        }
    }

    /// No lane can go on: the run failed, finished, or waits.
    async fn rest(&self, pass: DrivePass) -> DriveResult {
        if let Some((fault, node)) = pass.failed {
            return self.fail(fault, node).await;
        }
        let paused = self.journal.with(Run::paused_status);
        let event = match paused {
            Some(status) => Event::Rested { status },
            None => self.journal.with(|run| Event::Completed {
                output: Arc::new(run.lanes.get(&0).map(|lane| lane.state.to_json(false)).unwrap_or_default()),
                reply: run.answer(),
            }),
        };
        self.close(event).await
    }

    /// Calls in doubt are named with whatever the run failed of: a retry may decide on them at once.
    async fn fail(&self, mut fault: Fault, node: Option<Arc<str>>) -> DriveResult {
        fault.calls = self.journal.with(Run::in_doubt);
        if let Some(delay_ms) = queue_retry::delay(&fault, self.tries_left, self.world.config.queue_backoff) {
            return match self.close(Event::Requeued { fault, delay_ms }).await {
                DriveResult::Rested(_) => DriveResult::Requeued,
                other @ (DriveResult::Requeued | DriveResult::Interrupted | DriveResult::Lost) => other,
            };
        }
        self.close(Event::Failed { fault, node }).await
    }

    /// The last entry of the pass; it is durable before it is published.
    async fn close(&self, event: Event) -> DriveResult {
        if self.journal.emit(0, event).is_err() || self.journal.durable().await.is_err() {
            return DriveResult::Lost;
        }
        DriveResult::Rested(self.journal.with(|run| run.status))
    }

    /// Ends from outside: calls under way are cut, given a moment, then abandoned.
    async fn end(&self, mut pass: DrivePass, ending: Ending) -> DriveResult {
        let node = self.journal.with(node_at_work);
        pass.cut.cancel();
        let settle = async { while pass.busy.next().await.is_some() {} };
        let _abandoned = tokio::time::timeout(self.grace(), settle).await;
        drop(pass);
        match ending {
            Ending::Cancel => self.close(Event::Cancelled { node }).await,
            Ending::Timeout => {
                let seconds = self.world.config.timeouts.run_seconds;
                let text = format!("the run was at work for more than {seconds} s (`timeouts.run_seconds`) and was ended");
                let mut fault = Fault::new(FaultCode::RunTimeout, text);
                fault.calls = self.journal.with(Run::in_doubt);
                self.close(Event::Failed { fault, node: None }).await
            }
        }
    }

    /// What steps have to end by themselves once they are cut short.
    fn grace(&self) -> Duration {
        Duration::from_millis(self.world.config.timeouts.cancel_grace_ms) + step::MARGIN
    }

    /// The engine shuts down: steps under way may finish, as long as nobody cancels the run and its time is not over. When the engine
    /// has no time left, calls are cut, and those that give no answer stay open for whoever goes on.
    async fn leave(&self, mut pass: DrivePass, until: tokio::time::Instant) -> DriveResult {
        pass.stops.store(true, Ordering::Relaxed);
        let (ended, hurried) = tokio::select! {
            biased;
            () = self.signals.cancel.cancelled() => (Some(Ending::Cancel), false),
            () = tokio::time::sleep_until(until) => (Some(Ending::Timeout), false),
            () = self.journal.broken() => (None, false),
            () = self.world.hurry.cancelled() => (None, true),
            () = async { while pass.busy.next().await.is_some() {} } => (None, false),
        };
        if let Some(ending) = ended {
            return self.end(pass, ending).await;
        }
        if hurried {
            pass.cut.cancel();
            let settle = async { while pass.busy.next().await.is_some() {} };
            let _abandoned = tokio::time::timeout(self.grace(), settle).await;
        }
        drop(pass);
        self.journal.release();
        let _given_up_by_the_studio = self.journal.durable().await;
        DriveResult::Interrupted
    }
}

/// Whether the node of a lane does nothing but calls, which wait for the log by themselves.
fn calls_only(run: &Run, lane: LaneId) -> bool {
    let at = run.lanes.get(&lane).map(|lane| lane.at);
    matches!(at, Some(At::Node(at)) if matches!(run.plan.node(at).node, Node::Llm(_)))
}

/// The node that a cancel meets.
pub(super) fn node_at_work(run: &Run) -> Option<Arc<str>> {
    let mut lanes: Vec<_> = run.lanes.values().filter(|lane| lane.fork().is_none()).collect();
    lanes.sort_by(|left, right| left.order().cmp(right.order()));
    lanes.first().and_then(|lane| match lane.at {
        At::Node(node) => Some(Arc::clone(&run.plan.node(node).id)),
        At::End => None,
    })
}
