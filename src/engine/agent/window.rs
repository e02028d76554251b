//! Owns the context window of an agent: what its model takes, within what the agent and the configuration allow.

use super::profile::Profile;
use crate::engine::drive::context::StepContext;
use crate::model::memory::Window;

/// Share of the window above which older turns are summarised, when nothing else is said.
const THRESHOLD: f64 = 0.85;

/// What is left for an answer where nothing is said.
const ANSWER: u64 = 4096;

/// What a model takes beside an answer, when its window is known.
fn room_of(context: &StepContext, (provider, model): (&str, &str), max_tokens: Option<u64>) -> Option<u64> {
    let window = context.world().providers.facts(provider, model).facts.context_window?;
    // A model whose answer may be as long as its window leaves half of it for the prompt.
    Some(window.saturating_sub(max_tokens.unwrap_or(0).max(ANSWER)).max(window / 2))
}

/// The window of an agent that has none of its own: what its model takes, within what the configuration allows.
fn usual_window(context: &StepContext, room: Option<u64>) -> u64 {
    let config = &context.world().config;
    let Some(room) = room else { return config.chat_history_context_window };
    config.own_context_window().map_or(room, |configured| configured.min(room))
}

/// The window of an agent while the model at a place of its list is asked. One that was set for the agent is also that of a fallback
/// that takes as much.
pub(super) fn of(context: &StepContext, profile: &Profile, place: u32) -> Window {
    let memory = &profile.memory;
    let tokens = match profile.fallback(place) {
        Some(other) => {
            let room = room_of(context, (&other.provider, &other.model), other.parameters.max_tokens);
            memory.context_window.map_or_else(|| usual_window(context, room), |own| room.map_or(own, |room| own.min(room)))
        }
        None => memory.context_window.unwrap_or_else(|| {
            usual_window(context, room_of(context, (&profile.provider, &profile.model), profile.parameters.max_tokens))
        }),
    };
    Window {
        tokens,
        threshold: memory.summarization_threshold.unwrap_or(THRESHOLD),
        summarises: memory.summarization_enabled.unwrap_or(false),
    }
}
