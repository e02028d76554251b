//! Owns node checkpoints: a node that opted in does not run again on the same input in the same run.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::engine::drive::context::StepContext;
use crate::engine::log::journal::Lost;
use crate::model::Timestamp;
use crate::model::event::{Change, Event, StepCompleted, Turn};
use crate::model::checkpoint_input::input_hash as input_hash_of;
use crate::store::StoreError;
use crate::store::log::checkpoints::{CheckpointRow, Kept};
use crate::store::log::checkpoints;
use crate::store::threads::remembered;

/// Whether results of the step's node are used again.
pub(in crate::engine) fn is_wanted(context: &StepContext) -> bool {
    context.node().node.has_checkpoint() && context.world().config.checkpoints.enabled
}

/// Uses a stored result when there is one. True when the step is done with it.
pub(in crate::engine) async fn hit(context: &StepContext) -> Result<bool, Lost> {
    let Some(input_hash) = input_hash(context) else { return Ok(false) };
    let key = key(context, &input_hash);
    let (tenant, now) = (Arc::clone(&context.run().tenant), context.world().clock.now());
    let found = context.world().store.read(move |tx| checkpoints::find(tx, &tenant, &key, now)).await;
    let Ok(Some(Kept { handle, change: Value::Object(fields), turn })) = found else { return Ok(false) };
    let change: Change = fields.into_iter().map(|(key, value)| (key.into(), Arc::new(value))).collect();
    if context.state().has_room_for(&change, context.world().config.limits.state_kb).is_err() {
        return Ok(false);
    }
    let turn = match turn.and_then(|turn| serde_json::from_value(turn).ok()) {
        Some(turn) => match is_held(context, &turn).await {
            Ok(held) => (!held).then_some(turn),
            Err(_unreadable) => return Ok(false),
        },
        None => None,
    };
    context.emit(Event::CheckpointHit { step: context.step(), input_hash })?;
    let done = StepCompleted {
        step: context.step(),
        handle: handle.into(),
        change,
        error: None,
        checkpoint_hit: true,
        turn,
        attachment_count: 0,
    };
    context.emit(Event::StepCompleted(Box::new(done)))?;
    Ok(true)
}

/// Whether memory holds what the node added to it. A retry from an earlier step took it out; then the hit puts it back.
async fn is_held(context: &StepContext, turn: &Turn) -> Result<bool, StoreError> {
    let Some(first) = turn.ids.first().copied() else { return Ok(true) };
    let held = context.journal().with(|run| run.holds_turn(first));
    if held || turn.in_memory {
        return Ok(held);
    }
    if context.journal().durable().await.is_err() {
        return Err(StoreError::Fenced);
    }
    let (tenant, thread) = (Arc::clone(&context.run().tenant), context.run().thread);
    context.world().store.read(move |tx| remembered::is_said(tx, &tenant, &thread, &first)).await
}

/// Keeps a result; it is stored in the same write as the step's end.
pub(in crate::engine) fn keep(context: &StepContext, handle: &str, change: &Change, turn: Option<&Turn>) {
    let Some(input_hash) = input_hash(context) else { return };
    let world = context.world();
    let now = world.clock.now();
    let ttl = i64::try_from(world.config.checkpoints.ttl).unwrap_or(0) * 1000;
    let fields = change.iter().map(|(key, value)| (key.to_string(), (**value).clone())).collect();
    let row = CheckpointRow {
        key: key(context, &input_hash),
        run: context.run().id,
        node_id: context.node().id.to_string(),
        iteration_path: context.scope_path().to_owned(),
        input_hash,
        handle: handle.to_owned(),
        change: Value::Object(fields).to_string(),
        turn: turn.and_then(|turn| serde_json::to_string(turn).ok()),
        created_at: now,
        expires_at: (ttl > 0).then_some(Timestamp(now.0 + ttl)),
    };
    context.journal().add(|rows| rows.checkpoints.push(row));
}

fn input_hash(context: &StepContext) -> Option<String> {
    is_wanted(context).then(|| input_hash_of(&context.plan().reads(context.at()), context.state()))
}

fn key(context: &StepContext, input_hash: &str) -> String {
    let text = format!("{}|{}|{}|{input_hash}", context.run().id, context.node().id, context.scope_path());
    crate::model::hex::hex(&Sha256::digest(text.as_bytes()))
}
