//! Owns the number of abandoned parser threads per tenant: a thread cannot be ended from outside.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sync::Mutex;

/// Such threads of one tenant: its other files wait until one of them ends.
const OF_TENANT: usize = 1;
/// Such threads of all tenants: each keeps a core busy.
const OF_ALL: usize = 8;

/// The threads that are stuck.
#[derive(Clone, Debug, Default)]
pub(super) struct Stuck(Arc<Mutex<HashMap<String, usize>>>);

impl Stuck {
    /// Refuses a tenant that has its share.
    pub(super) fn check(&self, tenant: &str) -> Result<(), String> {
        let threads = self.0.lock();
        if threads.get(tenant).is_some_and(|count| *count >= OF_TENANT) {
            return Err("an earlier document is still being read and does not end; delete it, restart the host, then reindex this document".to_owned());
        }
        if threads.values().sum::<usize>() >= OF_ALL {
            return Err("all threads that read documents are stuck in other files; this document was not read; restart the host, then reindex this document".to_owned());
        }
        Ok(())
    }

    pub(super) fn add(&self, tenant: &str) {
        *self.0.lock().entry(tenant.to_owned()).or_default() += 1;
    }

    pub(super) fn remove(&self, tenant: &str) {
        let mut threads = self.0.lock();
        if let Some(count) = threads.get_mut(tenant) {
            *count -= 1;
        }
        threads.retain(|_, count| *count > 0);
    }
}
