//! Owns the database. Stand-in until the real one is merged.
pub mod idempotency;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

/// What is in the stand-in's memory.
pub struct Tx<'a>(pub(crate) &'a mut BTreeMap<(String, String, String), (String, Option<Value>)>);
/// What can go wrong.
#[derive(Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum StoreError { Closed }
impl From<StoreError> for crate::Error {
    fn from(_: StoreError) -> Self { Self::new(crate::Kind::StoreUnavailable, "the database is closed") }
}
/// The database.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<BTreeMap<(String, String, String), (String, Option<Value>)>>>);
impl Store {
    /// Writes.
    pub async fn write<T: Send + 'static>(&self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static) -> Result<T, StoreError> {
        work(&mut Tx(&mut self.0.lock()))
    }
}
