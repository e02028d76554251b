//! Owns the access of the facade to the store: work that the facade itself may refuse, which rolls it back.

use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::Value;

use super::{Scope, Studio};
use crate::error::{Error, Result};
use crate::model::Timestamp;
use crate::store::upkeep::request_keys::{self, RequestKey};
use crate::store::{StoreError, Tx};

/// Why a piece of work on the database ended early.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The database failed.
    Store(StoreError),
    /// The request is refused.
    Refused(Box<Error>),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Where a refusal is kept while the database undoes the work.
#[derive(Clone, Default)]
struct KeptRefusal(Arc<Mutex<Option<Box<Error>>>>);

impl KeptRefusal {
    /// Work whose refusal rolls the transaction back.
    fn by<T>(
        &self,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static {
        let kept = self.clone();
        move |tx: &mut Tx<'_>| {
            *kept.0.lock() = None;
            work(tx).map_err(|refusal| match refusal {
                Refusal::Store(error) => error,
                Refusal::Refused(error) => {
                    *kept.0.lock() = Some(error);
                    StoreError::Conflict("the request was refused".to_owned())
                }
            })
        }
    }

    fn outcome<T>(&self, done: Result<T, StoreError>) -> Result<T> {
        done.map_err(|error| self.0.lock().take().map_or_else(|| error.into(), |refusal| *refusal))
    }
}

impl Studio {
    /// Reads from one unchanging view.
    pub(super) async fn reading<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T> {
        let kept = KeptRefusal::default();
        kept.outcome(self.world().store.read(kept.by(work)).await)
    }

    /// Writes, all or nothing.
    pub(super) async fn writing<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T> {
        let kept = KeptRefusal::default();
        kept.outcome(self.world().store.write(kept.by(work)).await)
    }
}

/// Stores the answer under the key of its request, in the transaction that made what it tells of.
pub(super) fn keep_answer(tx: &mut Tx<'_>, tenant: &str, key: Option<&RequestKey>, now: Timestamp, answer: impl FnOnce() -> Value) -> Result<(), StoreError> {
    key.map_or(Ok(()), |key| request_keys::keep(tx, tenant, key, &answer(), now))
}

/// The `id` that the host gave its user, as it is stored.
pub(super) fn user_id(scope: &Scope) -> Option<String> {
    match scope.user.as_ref()?.get("id")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
