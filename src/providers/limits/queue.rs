//! Owns the queue of calls that wait for a provider: first in, first out within a tenant, tenants in turn. A key that rests holds only its own calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// What a provider knows a caller by. Calls of the same key rest together.
pub type Key = u64;

/// Whose calls wait one after another: those of a tenant with the same key.
type Group = (Arc<str>, Option<Key>);

/// The place of one call in the line.
#[derive(Debug, Default)]
pub(super) struct Place {
    tenant: Arc<str>,
    /// The estimate of its tokens.
    pub(super) tokens: u64,
    /// The key whose `retry-after` delays it observes.
    pub(super) key: Option<Key>,
    admitted: AtomicBool,
    stamp: AtomicU64,
    /// It was admitted, or it is the first now.
    pub(super) moved: Notify,
}

impl Place {
    pub(super) fn new(tenant: &str, tokens: u64, key: Option<Key>) -> Arc<Self> {
        Arc::new(Self { tenant: tenant.into(), tokens, key, ..Self::default() })
    }

    fn is_of(&self, group: &Group) -> bool {
        (&group.0, group.1) == (&self.tenant, self.key)
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

/// All calls that wait, by tenant and key.
#[derive(Debug, Default)]
pub(super) struct Line {
    groups: VecDeque<(Group, VecDeque<Arc<Place>>)>,
    /// The one that was served last: one that comes anew goes before it.
    served: Option<Group>,
}

impl Line {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn join(&mut self, place: &Arc<Place>) {
        if let Some((_, waiting)) = self.groups.iter_mut().find(|(group, _)| place.is_of(group)) {
            waiting.push_back(Arc::clone(place));
            return;
        }
        let others = |group: &Group| self.served.as_ref().is_some_and(|served| served == group);
        let at = self.groups.iter().position(|(group, _)| others(group)).unwrap_or(self.groups.len());
        self.groups.insert(at, ((Arc::clone(&place.tenant), place.key), VecDeque::from([Arc::clone(place)])));
    }

    /// The first whose key does not rest.
    pub(super) fn first(&self, mut rests: impl FnMut(Option<Key>) -> bool) -> Option<&Arc<Place>> {
        self.groups.iter().find(|((_, key), _)| !rests(*key)).and_then(|(_, waiting)| waiting.front())
    }

    /// Lets all calls of a key look again: the key has to rest until another time than they know of.
    pub(super) fn wake(&self, key: Key) {
        let of_key = self.groups.iter().filter(|(group, _)| group.1 == Some(key));
        of_key.flat_map(|(_, waiting)| waiting).for_each(|place| place.moved.notify_one());
    }

    /// Takes a call that is the first of its tenant and key; the next one of these comes after one of each other.
    pub(super) fn take(&mut self, place: &Arc<Place>) {
        let Some(at) = self.groups.iter().position(|(group, _)| place.is_of(group)) else { return };
        let Some((group, mut waiting)) = self.groups.remove(at) else { return };
        waiting.pop_front();
        self.served = Some(group.clone());
        if !waiting.is_empty() {
            self.groups.push_back((group, waiting));
        }
    }

    pub(super) fn leave(&mut self, place: &Arc<Place>) {
        let Some(at) = self.groups.iter().position(|(group, _)| place.is_of(group)) else { return };
        let waiting = &mut self.groups[at].1;
        waiting.retain(|other| !Arc::ptr_eq(other, place));
        if waiting.is_empty() {
            self.groups.remove(at);
        }
    }
}
