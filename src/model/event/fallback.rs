//! Owns the entry for a change to a fallback model.

use serde::{Deserialize, Serialize};

use super::{FaultCode, OWN_MODEL};
use crate::model::Id;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelName {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
}

/// A call of a model failed, and the next one in the list of fallbacks is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFallback {
    /// The step.
    pub step: Id,
    /// The key of the call.
    pub key: String,
    /// Whose call failed.
    pub from: ModelName,
    /// Who is asked instead.
    pub to: ModelName,
    /// Why the call failed.
    pub code: FaultCode,
    /// The place of `to` in the list: 0 is the model itself, 1 its first fallback.
    pub place: u32,
}

impl ModelFallback {
    /// The call whose specialist speaks; none for the step's own model.
    pub fn parent_call_id(&self) -> Option<&str> {
        speaker(&self.key)?.strip_suffix('/')
    }
}

/// Who speaks in a model call, by its key: empty for the step's own model, else what a specialist's keys begin with. None for a summariser.
pub fn speaker(key: &str) -> Option<&str> {
    key.rsplit_once(OWN_MODEL).map(|(speaker, _)| speaker)
}

/// The number of a model call among those of its speaker.
pub fn number(key: &str) -> usize {
    key.rsplit_once(OWN_MODEL).and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}
