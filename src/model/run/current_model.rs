//! Owns the current model in the fallback list of each agent or llm node of a step.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::event::{ModelFallback, fallback::speaker};

/// The speakers of a step whose first model did not answer.
#[derive(Clone, Debug, Default)]
pub struct Fallbacks(HashMap<String, Turned>);

/// A speaker that turned to a fallback.
#[derive(Clone, Debug)]
struct Turned {
    last: Arc<ModelFallback>,
    /// The place of the model that answered last.
    answered: u32,
    place: u32,
}

impl Fallbacks {
    /// Another model is asked.
    pub(super) fn turn(&mut self, event: &ModelFallback) {
        let Some(speaker) = speaker(&event.key) else { return };
        let answered = self.0.get(speaker).map_or(0, |turned| turned.answered);
        self.0.insert(speaker.to_owned(), Turned { last: Arc::new(event.clone()), answered, place: event.place });
    }

    pub(super) fn answered(&mut self, key: &str) {
        if !self.0.is_empty()
            && let Some(turned) = speaker(key).and_then(|speaker| self.0.get_mut(speaker))
        {
            turned.answered = turned.place;
        }
    }

    /// The step failed: its next attempt begins with those that answered.
    pub(super) fn failed(&mut self) {
        self.0.values_mut().for_each(|turned| turned.place = turned.answered);
    }

    /// The place in the list of the model that is asked in a call.
    pub fn place(&self, key: &str) -> u32 {
        self.of(key).map_or(0, |turned| turned.place)
    }

    /// How its speaker came to the model that is asked in a call; none when that is its first one.
    pub fn last(&self, key: &str) -> Option<&Arc<ModelFallback>> {
        self.of(key).filter(|turned| turned.place == turned.last.place).map(|turned| &turned.last)
    }

    fn of(&self, key: &str) -> Option<&Turned> {
        self.0.get(speaker(key)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Id;
    use crate::model::event::{FaultCode, ModelName};

    fn turn(key: &str, place: u32) -> ModelFallback {
        let name = |model: &str| ModelName { provider: "p".into(), model: model.into() };
        let step: Id = "01a1faaf-fd00-7000-8000-000000000001".parse().expect("an id");
        ModelFallback { step, key: key.into(), from: name("a"), to: name("b"), code: FaultCode::ProviderTimeout, place }
    }

    #[test]
    fn a_speaker_stays_with_the_one_that_answered_until_its_step_fails() {
        let mut all = Fallbacks::default();
        assert_eq!((all.place("model:1"), all.last("model:1")), (0, None));
        all.turn(&turn("model:1", 1));
        all.answered("call_1/model:1");
        assert_eq!((all.place("model:1"), all.place("model:7"), all.place("call_1/model:1"), all.place("summarize")), (1, 1, 0, 0));
        all.failed();
        assert_eq!((all.place("model:1"), all.last("model:1")), (0, None), "nobody answered: the next attempt begins with the first");
        all.turn(&turn("model:1", 1));
        all.answered("model:1");
        all.turn(&turn("model:2", 3));
        assert_eq!(all.place("model:2"), 3);
        all.failed();
        assert_eq!(all.place("model:2"), 1, "the next attempt begins with the one that answered");
        all.turn(&turn("call_1/model:4", 2));
        assert_eq!((all.place("call_1/model:9"), all.place("model:2")), (2, 1));
        assert_eq!(all.last("call_1/model:9").and_then(|last| last.parent_call_id().map(str::to_owned)), Some("call_1".into()));
    }
}
