//! Owns the queue of calls that wait for a provider: first in, first out within a tenant, tenants in turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// The place of one call in the line.
#[derive(Debug, Default)]
pub(super) struct Place {
    tenant: Arc<str>,
    /// The estimate of its tokens.
    pub(super) tokens: u64,
    /// It observes `retry-after` delays.
    pub(super) heeds: bool,
    admitted: AtomicBool,
    stamp: AtomicU64,
    /// It was admitted, or it is the first now.
    pub(super) moved: Notify,
}

impl Place {
    pub(super) fn new(tenant: &str, tokens: u64, heeds: bool) -> Arc<Self> {
        Arc::new(Self { tenant: tenant.into(), tokens, heeds, ..Self::default() })
    }

    /// It may go, under this number.
    pub(super) fn admit(&self, stamp: u64) {
        self.stamp.store(stamp, Ordering::Relaxed);
        self.admitted.store(true, Ordering::Release);
        self.moved.notify_one();
    }

    /// The number under which it may go.
    pub(super) fn admitted(&self) -> Option<u64> {
        self.admitted.load(Ordering::Acquire).then(|| self.stamp.load(Ordering::Relaxed))
    }
}

/// All calls that wait, by tenant.
#[derive(Debug, Default)]
pub(super) struct Line {
    tenants: VecDeque<(Arc<str>, VecDeque<Arc<Place>>)>,
    /// The tenant that was served last: one that comes anew goes before it.
    served: Option<Arc<str>>,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty()
    }

    pub(super) fn join(&mut self, place: &Arc<Place>) {
        if let Some((_, waiting)) = self.tenants.iter_mut().find(|(tenant, _)| *tenant == place.tenant) {
            waiting.push_back(Arc::clone(place));
            return;
        }
        let others = |tenant: &Arc<str>| self.served.as_ref().is_some_and(|served| served == tenant);
        let at = self.tenants.iter().position(|(tenant, _)| others(tenant)).unwrap_or(self.tenants.len());
        self.tenants.insert(at, (Arc::clone(&place.tenant), VecDeque::from([Arc::clone(place)])));
    }

    pub(super) fn first(&self) -> Option<&Arc<Place>> {
        self.tenants.front().and_then(|(_, waiting)| waiting.front())
    }

    /// Takes the first; its tenant's next call comes after one of each other tenant.
    pub(super) fn take_first(&mut self) -> Option<Arc<Place>> {
        let (tenant, mut waiting) = self.tenants.pop_front()?;
        let first = waiting.pop_front();
        self.served = Some(Arc::clone(&tenant));
        if !waiting.is_empty() {
            self.tenants.push_back((tenant, waiting));
        }
        first
    }

    pub(super) fn leave(&mut self, place: &Arc<Place>) {
        let Some(at) = self.tenants.iter().position(|(tenant, _)| *tenant == place.tenant) else { return };
        let waiting = &mut self.tenants[at].1;
        waiting.retain(|other| !Arc::ptr_eq(other, place));
        if waiting.is_empty() {
            self.tenants.remove(at);
        }
    }
}
