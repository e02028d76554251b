//! Owns the key under which a provider caches the beginning of a conversation.

use sha2::{Digest, Sha256};

use crate::model::Id;
use crate::model::hex::hex;

/// Letters of a key.
const LETTERS: usize = 32;

/// A conversation: its requests begin alike.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The tenant.
    pub tenant: &'a str,
    /// The agent or workflow.
    pub entity: Id,
    /// The thread.
    pub thread: Id,
}

impl Conversation<'_> {
    /// Different for each tenant, without revealing it.
    pub(super) fn key(&self) -> String {
        let Self { tenant, entity, thread } = self;
        let mut key = hex(&Sha256::digest(format!("{tenant}\n{entity}\n{thread}")));
        key.truncate(LETTERS);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_one_tenant_entity_and_thread() {
        let [one, other]: [Id; 2] =
            ["01a1faaf-fd00-7000-8000-000000000001", "01a1faaf-fd00-7000-8000-000000000002"].map(|id| id.parse().expect("an id"));
        let key = |tenant, entity, thread| Conversation { tenant, entity, thread }.key();
        let keys = [key("", one, one), key("a", one, one), key("", other, one), key("", one, other)];
        for (at, key) in keys.iter().enumerate() {
            assert!(key.len() == 32 && key.bytes().all(|letter| letter.is_ascii_hexdigit()), "{key}");
            assert!(!keys[..at].contains(key), "{key}");
        }
        assert_eq!(keys[0], key("", one, one));
    }
}
