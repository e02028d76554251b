//! Owns the mask between a run and everything that stores or sends it; only the process that executes the run has the values.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::log::journal::Journal;
use crate::engine::log::projection::Rows;
use crate::engine::world::World;
use crate::model::chat::Message;
use crate::model::event::{Created, Entry, Event, PartHash, PauseReason};
use crate::model::redaction::Masks;
use crate::model::run::Run;
use crate::store::runs::RunUpdate;
use crate::sync::Mutex;

/// The masks of a run that is driven here; none when nothing is to be masked.
pub(in crate::engine) struct Masking(Option<Inner>);

struct Inner {
    masks: Mutex<Masks>,
    /// Parts as they were, by the hash under which they are stored masked.
    originals: Mutex<HashMap<PartHash, Arc<str>>>,
}

impl Masking {
    /// Knows the values that a run began with.
    pub(in crate::engine) fn of(world: &World, run: &Run) -> Self {
        Self(world.masks().map(|masks| Inner { masks: Mutex::new(knowing(masks, run)), originals: Mutex::default() }))
    }

    /// Masks something, if anything is to be masked.
    pub(in crate::engine) fn mask(&self, mask: impl FnOnce(&mut Masks)) {
        if let Some(inner) = &self.0 {
            mask(&mut inner.masks.lock());
        }
    }

    pub(in crate::engine) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// An entry as it is stored and published.
    pub(in crate::engine) fn entry(&self, entry: &Arc<Entry>) -> Arc<Entry> {
        match &self.0 {
            None => Arc::clone(entry),
            Some(inner) => Arc::new(Entry { event: inner.masks.lock().event(&entry.event), ..**entry }),
        }
    }

    /// A text that is stored by its hash.
    pub(in crate::engine) fn part(&self, text: Arc<str>) -> (PartHash, Arc<str>) {
        let Some(inner) = &self.0 else { return (crate::engine::log::projection::hash(&text), text) };
        let kept = message(&mut inner.masks.lock(), &text);
        let hash = crate::engine::log::projection::hash(&kept);
        if *kept != *text {
            inner.originals.lock().insert(Arc::clone(&hash), text);
        }
        (hash, kept)
    }

    /// A part as it was before it was masked, when that was here.
    pub(in crate::engine) fn original(&self, hash: &PartHash) -> Option<Arc<str>> {
        self.0.as_ref()?.originals.lock().get(hash).cloned()
    }

    /// Rows as they are stored.
    pub(in crate::engine) fn rows(&self, rows: &mut Rows) {
        self.mask(|masks| {
            for row in &mut rows.messages {
                row.body = message(masks, &row.body);
            }
            for row in &mut rows.children {
                masks.text(&mut row.input_preview);
                row.error.iter_mut().for_each(|error| masks.value(error));
            }
            for row in &mut rows.checkpoints {
                for text in std::iter::once(&mut row.change).chain(&mut row.turn) {
                    if let Ok(mut value) = serde_json::from_str(text) {
                        masks.value(&mut value);
                        *text = value.to_string();
                    }
                }
            }
        });
    }

    /// The run's row as it is stored.
    pub(in crate::engine) fn update(&self, row: &mut RunUpdate) {
        self.mask(|masks| {
            row.error.iter_mut().for_each(|error| masks.value(error));
            if let Some(reply) = &mut row.reply {
                let mut text = reply.to_string();
                masks.text(&mut text);
                *reply = text.into();
            }
        });
    }

    /// The part of a streamed text that can be published; the rest stays in `held`.
    pub(in crate::engine) fn settled(&self, held: &mut String) -> String {
        let mut told = String::new();
        self.mask(|masks| told = masks.settled(held));
        told
    }
}

/// A stored message with its texts masked; a text that is none is masked as it is.
fn message(masks: &mut Masks, text: &Arc<str>) -> Arc<str> {
    let Ok(mut message) = serde_json::from_str::<Message>(text) else {
        let mut plain = text.to_string();
        masks.text(&mut plain);
        return plain.into();
    };
    masks.message(&mut message);
    serde_json::to_string(&message).map_or_else(|_| Arc::clone(text), Arc::from)
}

fn knowing(mut masks: Masks, run: &Run) -> Masks {
    masks.created(&mut (*run.created).clone());
    for lane in run.lanes.values() {
        masks.fields(&mut lane.state.to_json(true));
    }
    masks
}

/// The first entry as it is stored and published.
pub(in crate::engine) fn created(world: &World, created: Arc<Created>) -> Event {
    let event = Event::Created(created);
    match world.masks() {
        None => event,
        Some(mut masks) => masks.event(&event),
    }
}

/// The entry that continues a run, as it is stored and published. An answer to a prompt with a masked key is masked completely.
pub(in crate::engine) fn going_on(world: &World, run: &Run, event: &Event) -> Event {
    let Some(masks) = world.masks() else { return event.clone() };
    let (mut masks, mut event) = (knowing(masks, run), event.clone());
    if let Event::Resumed(resumed) = &mut event {
        let named = run.pauses().into_iter().any(|(_, pause)| match &pause.reason {
            PauseReason::Human { output_key, .. } => pause.id == resumed.pause && masks.names(output_key.split('.').next_back().unwrap_or_default()),
            PauseReason::Approval { .. } => false,
        });
        if named {
            masks.answer(&mut resumed.answer);
        }
    }
    masks.event(&event)
}

/// A text that is held back is looked at with each piece up to this length, and then each time that it grew by an eighth: looking
/// at all of it with every piece would take the square of its length.
const OFTEN: usize = 4096;

const fn grew(before: usize, after: usize) -> bool {
    let doubled = if before > OFTEN { (before / OFTEN).ilog2() } else { 0 };
    let step = (OFTEN / 8) << doubled;
    after <= OFTEN || before / step != after / step
}

impl Journal {
    /// Publishes the safe part of a streamed text.
    pub(in crate::engine) fn unheld(&self, held: &Mutex<String>, delta: &str) -> String {
        let mut held = held.lock();
        let before = held.len();
        held.push_str(delta);
        if grew(before, held.len()) { self.masking().settled(&mut held) } else { String::new() }
    }

    /// What was held back of a text that has come to its end.
    pub(in crate::engine) fn rest_of(&self, held: &Mutex<String>) -> String {
        let mut rest = std::mem::take(&mut *held.lock());
        if rest.is_empty() {
            return rest;
        }
        self.masking().mask(|masks| masks.text(&mut rest));
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::{OFTEN, grew};

    #[test]
    fn a_long_text_that_is_held_back_is_looked_at_a_few_times_each_time_it_doubles() {
        const PIECE: usize = 16;
        let looks = |from: usize, to: usize| (from / PIECE..to / PIECE).filter(|at| grew(at * PIECE, (at + 1) * PIECE)).count();
        assert_eq!(looks(0, OFTEN), OFTEN / PIECE, "a short one with each piece");
        for doubled in 0..10 {
            let from = OFTEN << doubled;
            let looks = looks(from, 2 * from);
            assert!((4..=9).contains(&looks), "{looks} looks from {from} bytes on");
        }
    }
}
