//! Owns the event `RunUsageRecorded`: the usage of each ended run, child runs included, for billing.

use serde_json::{Value, json};

use crate::engine::world::World;
use crate::model::agent::Definitions;
use crate::model::event::EntityKind;
use crate::model::run::{Child, Run, Status};
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};
use crate::store::runs::RunRow;

/// The usage events of child runs that just ended, and of their run if it ended too; none if the events are disabled.
pub(in crate::engine) fn recorded(world: &World, run: &Run, tenant: &str, definitions: &Definitions, ended: &[Id]) -> Vec<Value> {
    if !world.config.usage.events.enabled {
        return Vec::new();
    }
    // A child also has an event when the queue retries its run, which is not a new attempt of the run.
    let attempt = |id: Id| if id == run.id { run.attempt } else { run.attempt.saturating_add(run.requeued) };
    let event = |id: Id, status: Status, usage: Usage, entity: (EntityKind, Id), at: Option<Timestamp>| RecordedUsage {
        id,
        status: status.as_str(),
        attempt: attempt(id),
        usage,
        entity,
        thread: run.created.thread,
        parent: (id != run.id).then_some(run.id),
        at: at.unwrap_or_default(),
    };
    let children = ended.iter().filter_map(|id| Some((*id, run.children.get(id)?)));
    let children = children.filter(|(_, child)| child.status.terminal()).map(|(id, child)| {
        let agent = crate::engine::runs::names::agent_of(run, &child.node, definitions).0;
        event(id, child.status, child.usage, (EntityKind::Agent, agent), child.finished_at)
    });
    let itself = run.status.terminal().then(|| {
        event(run.id, run.status, run.total(), (run.created.entity, run.created.entity_id), run.finished_at)
    });
    let currency = &world.config.usage.currency;
    children.chain(itself).map(|usage_event| usage_event.json(currency, tenant, world.clock.id())).collect()
}

/// The usage event of an ended run whose log cannot be read.
pub(in crate::engine) fn of_row(world: &World, row: &RunRow, status: Status, at: Timestamp) -> Vec<Value> {
    if !world.config.usage.events.enabled {
        return Vec::new();
    }
    let usage_event = RecordedUsage {
        id: row.id,
        status: status.as_str(),
        attempt: row.attempt,
        usage: row.total,
        entity: (row.entity_type, row.entity_id),
        thread: row.thread,
        parent: None,
        at,
    };
    vec![usage_event.json(&world.config.usage.currency, &row.tenant, world.clock.id())]
}

/// Child runs that an entry ended together with their run; others already had their event.
pub(in crate::engine) fn cut(run: &Run, at: Timestamp) -> Vec<Id> {
    let ended = |child: &Child| child.finished_at == Some(at) && child.status == run.status && child.fault.is_none();
    run.children.iter().filter(|(_, child)| ended(child)).map(|(id, _)| *id).collect()
}

struct RecordedUsage {
    id: Id,
    status: &'static str,
    attempt: u32,
    usage: Usage,
    entity: (EntityKind, Id),
    thread: Id,
    parent: Option<Id>,
    at: Timestamp,
}

impl RecordedUsage {
    fn json(&self, currency: &str, tenant: &str, event_id: Id) -> Value {
        let tokens = &self.usage.tokens;
        json!({
            "event": "RunUsageRecorded",
            "eventId": event_id,
            "run": self.id,
            "status": self.status,
            "attempt": self.attempt,
            "promptTokens": tokens.prompt,
            "completionTokens": tokens.completion,
            "totalTokens": tokens.prompt + tokens.completion,
            "cachedTokens": tokens.cached,
            "cacheWriteTokens": tokens.cache_write,
            "reasoningTokens": tokens.reasoning,
            "estimatedCost": self.usage.cost.shown(),
            "currency": currency,
            "unpriced": self.usage.unpriced,
            "entityType": self.entity.0.as_str(),
            "entityId": self.entity.1,
            "threadId": self.thread,
            "parentRunId": self.parent,
            "tenant": tenant,
            "recordedAt": self.at.rfc3339(),
        })
    }
}
