//! Owns the masking of the provider's credential in answers: text, reasoning and the whole reply.

use crate::providers::{ChatReply, Delta, Deltas};
use crate::secrets::masking::Masker;
use crate::sync::Mutex;

/// Text and reasoning that are held back, because a key may continue.
#[derive(Default)]
pub(super) struct Held {
    said: Mutex<String>,
    thought: Mutex<String>,
}

impl Held {
    /// Forwards the safe part of a piece: a possible beginning of a key is held back.
    pub(super) fn hear(&self, masker: &Masker, delta: Delta, deltas: Deltas<'_>) {
        match delta {
            Delta::Text(text) => tell(masked(masker, &self.said, &text), Delta::Text, deltas),
            Delta::Reasoning(text) => tell(masked(masker, &self.thought, &text), Delta::Reasoning, deltas),
            other @ (Delta::Spent(_) | Delta::Waited(_) | Delta::Made) => deltas(other),
        }
    }

    /// Forwards the rest: nothing follows.
    pub(super) fn end(&self, deltas: Deltas<'_>) {
        tell(std::mem::take(&mut *self.thought.lock()), Delta::Reasoning, deltas);
        tell(std::mem::take(&mut *self.said.lock()), Delta::Text, deltas);
    }
}

fn tell(text: String, delta: fn(String) -> Delta, deltas: Deltas<'_>) {
    if !text.is_empty() {
        deltas(delta(text));
    }
}

/// The part of a streamed text that can be forwarded.
fn masked(masker: &Masker, held: &Mutex<String>, piece: &str) -> String {
    let mut held = held.lock();
    held.push_str(piece);
    masker.settled(&mut held)
}

/// The whole answer.
pub(super) fn without_secrets(mut reply: ChatReply, masker: &Masker) -> ChatReply {
    masker.text(&mut reply.message.content);
    for call in &mut reply.message.tool_calls {
        masker.value(&mut call.arguments);
    }
    reply.message.parts.iter_mut().for_each(|part| part.each_text(|text| masker.text(text)));
    reply.message.blocks.take_if(|blocks| blocks.spoilt_by(|value| masker.value(value)));
    reply.named.id.iter_mut().chain(&mut reply.named.model).for_each(|name| masker.text(name));
    if let Some(value) = &mut reply.structured {
        masker.value(value);
    }
    reply
}
