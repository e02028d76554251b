//! Owns `RunUsageRecorded`: what a host that bills is told of each run that ended, children included.

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::World;
use crate::model::event::EntityKind;
use crate::model::run::Run;
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};

/// The events of a run that just ended; none when they are switched off.
pub(super) fn recorded(world: &World, run: &Run, tenant: &Arc<str>) -> Vec<Value> {
    if !world.config.usage.events.enabled {
        return Vec::new();
    }
    let currency = &world.config.usage.currency;
    let at = run.finished_at.unwrap_or_default();
    let event = |id: Id, status: &str, usage: &Usage, entity: (EntityKind, Id), parent: Option<Id>| Told {
        id,
        status: status.to_owned(),
        attempt: run.attempt,
        usage: *usage,
        entity,
        thread: run.created.thread,
        parent,
        at,
    };
    let top = event(run.id, run.status.as_str(), &run.total(), (run.created.entity, run.created.entity_id), None);
    let definitions = world.pinned(run.id).unwrap_or_default();
    let children = run.children.iter().map(|(id, child)| {
        let agent = super::names::agent_of(run, &child.node, &definitions).0;
        event(*id, child.status.as_str(), &child.usage, (EntityKind::Agent, agent), Some(run.id))
    });
    children.chain([top]).map(|told| told.json(currency, tenant, world.clock.id())).collect()
}

struct Told {
    id: Id,
    status: String,
    attempt: u32,
    usage: Usage,
    entity: (EntityKind, Id),
    thread: Id,
    parent: Option<Id>,
    at: Timestamp,
}

impl Told {
    fn json(&self, currency: &str, tenant: &str, event_id: Id) -> Value {
        let tokens = &self.usage.tokens;
        json!({
            "event": "RunUsageRecorded",
            "event_id": event_id,
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
