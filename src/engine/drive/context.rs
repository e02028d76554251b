//! Owns the context of one attempt of a step: the only access of a node to calls and to the log.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::drive::history::{Reach, StoredHistory};
use crate::engine::log::journal::{Journal, Lost};
use crate::engine::world::World;
use crate::model::Id;
use crate::model::agent::{Definitions, Parameters};
use crate::model::chat::Message;
use crate::model::event::{Change, Decision, EntityKind, Event, Fault, FaultCode, LaneId, PauseReason, Seq, Turn};
use crate::model::graph::GraphNode;
use crate::model::memory::{Past, Summary};
use crate::model::plan::{NodeIndex, Plan};
use crate::model::run::At;
use crate::model::state::State;
use crate::model::template_text::System;
use crate::model::trace_context::{SAMPLED, TraceContext};
use crate::observe::span_id;

/// How a node's work ended.
#[derive(Debug)]
pub enum StepEnd {
    /// It leaves by a handle.
    Left {
        handle: &'static str,
        /// What it wrote.
        change: Change,
        /// What it adds to a history.
        turn: Option<NewTurn>,
        /// Files that the model was sent.
        attachment_count: u32,
    },
    /// It waits for a person.
    Pause(PauseReason),
}

/// What a step adds to a history.
#[derive(Clone, Debug)]
pub struct NewTurn {
    pub history: String,
    /// The user's message and all that followed.
    pub messages: Vec<Message>,
    /// A driver that lives as long as the run.
    pub in_memory: bool,
    /// Older messages have a summary from now on.
    pub summary: Option<Summary>,
}

/// How a node's work ended, or why it failed.
pub type StepResult = Result<StepEnd, Fault>;

/// What a node may know of its run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    pub id: Id,
    pub tenant: Arc<str>,
    /// What the host said of the user.
    pub user: Option<Value>,
    pub thread: Id,
    /// What it is a run of.
    pub entity: EntityKind,
    pub entity_id: Id,
    /// The workflow; none for a chat turn.
    pub workflow_id: Option<Id>,
    /// What a chat turn overrides.
    pub chat: Option<ChatOverrides>,
    /// The span of the host that it was started in.
    pub began_in: Option<Arc<TraceContext>>,
    /// The span of the host that it was started or last gone on in.
    pub host_span: Option<Arc<TraceContext>>,
}

/// What a chat turn overrides of its agent.
#[derive(Clone, Debug)]
pub struct ChatOverrides {
    /// Instead of the instructions.
    pub instructions: Option<String>,
    /// Appended to them.
    pub context: Option<Value>,
    /// Instead of the parameters, key by key.
    pub parameters: Option<Parameters>,
}

/// One attempt of one step, with all side effects that it may have.
#[derive(Clone)]
pub struct StepContext {
    world: Arc<World>,
    journal: Arc<Journal>,
    definitions: Arc<Definitions>,
    cut: CancellationToken,
    lane: LaneId,
    at: NodeIndex,
    step: Id,
    plan: Arc<Plan>,
    state: State,
    system: System,
    scope: String,
    facts: RunFacts,
}

impl StepContext {
    /// The context of the step that is open in a lane.
    pub(in crate::engine) fn new(
        world: &Arc<World>,
        journal: &Arc<Journal>,
        definitions: &Arc<Definitions>,
        lane: LaneId,
        cut: &CancellationToken,
    ) -> Option<Self> {
        let core = journal.lock();
        let run = &core.run;
        let of = run.lanes.get(&lane)?;
        let At::Node(at) = of.at else { return None };
        let created = &run.created;
        let chat = (created.entity == EntityKind::Agent).then(|| ChatOverrides {
            instructions: created.instructions.clone(),
            context: created.context.clone(),
            parameters: created.parameters.clone(),
        });
        let facts = RunFacts {
            id: run.id,
            tenant: Arc::clone(&journal.tenant),
            user: created.user.clone(),
            thread: created.thread,
            entity: created.entity,
            entity_id: created.entity_id,
            workflow_id: (created.entity == EntityKind::Workflow).then_some(created.entity_id),
            chat,
            began_in: created.trace.clone(),
            host_span: run.host_span().cloned(),
        };
        Some(Self {
            step: of.step.as_deref()?.id,
            plan: Arc::clone(&run.plan),
            state: of.state.clone(),
            system: crate::engine::runs::template_keys::system(run, of, world),
            scope: of.scope(&run.plan),
            world: Arc::clone(world),
            journal: Arc::clone(journal),
            definitions: Arc::clone(definitions),
            cut: cut.clone(),
            lane,
            at,
            facts,
        })
    }

    pub const fn step(&self) -> Id {
        self.step
    }

    pub fn node(&self) -> &GraphNode {
        self.plan.node(self.at)
    }

    /// Its node's place in the plan.
    pub const fn at(&self) -> NodeIndex {
        self.at
    }

    /// The graph.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The state that the step began with.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The `__studio_*` keys of templates.
    pub fn system(&self) -> System {
        self.system.clone()
    }

    /// Where the step is in loops and forks: `loop_1#2/fork_1:b`.
    pub fn scope_path(&self) -> &str {
        &self.scope
    }

    pub const fn run(&self) -> &RunFacts {
        &self.facts
    }

    /// The pinned definitions.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The dependencies of the engine.
    pub const fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Cut short: by a cancel, a limit or a shutdown.
    pub const fn cancelled(&self) -> &CancellationToken {
        &self.cut
    }

    /// The same step, in an attempt that may be cut short by itself.
    pub(in crate::engine) fn attempting(&self) -> Self {
        Self { cut: self.cut.child_token(), ..self.clone() }
    }

    /// No call begins any more when the step is cut short, or when the run is in other hands by now.
    pub(in crate::engine) fn may_call(&self) -> Result<(), Fault> {
        match () {
            () if self.journal.lost() => Err(lost()),
            () if self.cut.is_cancelled() => Err(cut_short()),
            () => Ok(()),
        }
    }

    /// How long a call that is cut short may take to end by itself: a little less than its step, which has to record that.
    pub(in crate::engine) fn grace(&self) -> Duration {
        let whole = Duration::from_millis(self.world.config.timeouts.cancel_grace_ms);
        whole - (whole / 10).min(crate::engine::drive::step::MARGIN)
    }

    pub(in crate::engine) const fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    pub(in crate::engine) const fn lane(&self) -> LaneId {
        self.lane
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.open(|step| step.attempt).unwrap_or(1)
    }

    /// The trace context of a call: its own span if spans are sent to OpenTelemetry collectors, else the host's.
    pub(in crate::engine) fn onward(&self, span: Id) -> Option<Arc<TraceContext>> {
        if !self.world.config.observability.propagate.reaches_tools() {
            return None;
        }
        if !self.world.observer.traces() {
            return self.facts.host_span.clone();
        }
        let own = || TraceContext { trace: self.facts.id.0.as_u128(), span: 0, flags: SAMPLED, state: None };
        let around = self.facts.began_in.as_deref().cloned().unwrap_or_else(own);
        Some(Arc::new(TraceContext { span: span_id(span), ..around }))
    }

    /// Looks at the open step.
    pub(in crate::engine) fn open<T>(&self, look: impl FnOnce(&crate::model::run::OpenStep) -> T) -> Option<T> {
        self.journal.with(|run| run.lanes.get(&self.lane)?.step.as_deref().map(look))
    }

    pub(in crate::engine) fn emit(&self, event: Event) -> Result<Seq, Lost> {
        self.journal.emit(self.lane, event)
    }

    /// Appends an entry on behalf of a node.
    pub(in crate::engine) fn record(&self, event: Event) -> Result<(), Fault> {
        self.emit(event).map(|_| ()).map_err(|Lost| lost())
    }

    /// The run has a call of that id in another step.
    pub fn call_id_taken(&self, id: &str) -> bool {
        !self.has_call(id) && self.journal.with(|run| run.call_ids.contains(id))
    }

    /// This step has a call of that id.
    pub fn has_call(&self, id: &str) -> bool {
        self.open(|step| step.has_call(id)).unwrap_or(false)
    }

    /// The answer to a call that waited for approval.
    pub fn decision(&self, call_id: &str) -> Option<Decision> {
        self.open(|step| step.decisions.get(call_id).cloned()).flatten()
    }

    /// Publishes a whole text as one piece, together with the end of the step.
    ///
    /// # Errors
    /// When the run is lost.
    pub async fn tell_text(&self, text: &str, publish_reply: bool) -> Result<(), Fault> {
        self.journal.durable().await.map_err(|Lost| lost())?;
        let mut text = text.to_owned();
        self.journal.masking().mask(|masks| masks.text(&mut text));
        if !text.is_empty() {
            self.journal.whole_text(self.lane, self.step, publish_reply, &text);
        }
        Ok(())
    }

    /// What a history holds: what is stored, as far back as `reach` says, then the turns of this lane and of the lanes above it.
    pub(in crate::engine) async fn history(&self, history: &str, in_memory: bool, reach: Option<Reach>) -> Result<Past, Fault> {
        let pending = self.pending_turns(history, in_memory);
        // A summary that is not stored yet needs what it stands for.
        let reach = reach.filter(|_| pending.iter().all(|turn| turn.summary.is_none()));
        let mut past = if in_memory { Past::default() } else { self.stored(history, reach).await? };
        for turn in &pending {
            past.add_turn(turn);
        }
        Ok(past)
    }

    async fn stored(&self, history: &str, reach: Option<Reach>) -> Result<Past, Fault> {
        self.journal.durable().await.map_err(|Lost| lost())?;
        let stored = StoredHistory {
            tenant: Arc::clone(&self.facts.tenant),
            thread: self.facts.thread,
            name: history.to_owned(),
            replaced: self.journal.with(|run| run.created.replaces),
        };
        let read = self.world.store.read(move |tx| stored.read(tx, reach)).await;
        read.map_err(|error| store_fault(&error))?
    }

    fn pending_turns(&self, history: &str, in_memory: bool) -> Vec<Turn> {
        self.journal.with(|run| {
            let mut lanes = Vec::new();
            let mut at = run.lanes.get(&self.lane);
            while let Some(lane) = at {
                lanes.push(lane);
                at = lane.branch.as_ref().and_then(|branch| run.lanes.get(&branch.parent));
            }
            let kept = run.memory.iter().chain(lanes.iter().rev().flat_map(|lane| &lane.turns));
            let fits = |turn: &&Turn| turn.history == history && turn.in_memory == in_memory;
            kept.filter(fits).cloned().collect()
        })
    }
}

/// The run is not this owner's any more: whatever the node does next is not recorded.
pub(in crate::engine) fn lost() -> Fault {
    Fault::new(FaultCode::Cancelled, "another process took this run over; this step ends here")
}

/// What is under way in a step that is cut short ends with this.
pub(in crate::engine) fn cut_short() -> Fault {
    Fault::new(FaultCode::Cancelled, "the call was cut short")
}

/// The fault of a store that cannot be read.
pub(in crate::engine) fn store_fault(error: &crate::store::StoreError) -> Fault {
    Fault::new(FaultCode::StoreUnavailable, error.to_string())
}
