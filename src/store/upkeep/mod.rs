//! Owns the upkeep of a database: retention, backups, health, idempotency keys, events for the host.

pub mod backup;
pub mod health;
pub mod outbox;
pub mod request_keys;
pub mod retention;
