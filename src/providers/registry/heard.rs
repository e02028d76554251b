//! Owns what is heard of a model that may repeat the key that its provider was asked with: its text, its thoughts and its whole answer without it.

use crate::providers::{ChatReply, Delta, Deltas};
use crate::secrets::masking::Masker;
use crate::sync::Mutex;

/// What was said and thought and cannot be told yet, since a key may go on.
#[derive(Default)]
pub(super) struct Held {
    said: Mutex<String>,
    thought: Mutex<String>,
}

impl Held {
    /// Tells a piece as far as it can be told: the beginning of a key waits for what follows, also behind a text.
    pub(super) fn hear(&self, masker: &Masker, delta: Delta, deltas: Deltas<'_>) {
        match delta {
            Delta::Text(text) => tell(masked(masker, &self.said, &text), Delta::Text, deltas),
            Delta::Reasoning(text) => tell(masked(masker, &self.thought, &text), Delta::Reasoning, deltas),
            other @ (Delta::Spent(_) | Delta::Waited(_)) => deltas(other),
        }
    }

    /// Tells the rest: nothing follows.
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

/// What can be told of a text that comes in pieces.
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
