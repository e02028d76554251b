//! Owns the upkeep of a database: retention, health, idempotency keys, events for the host.

pub mod health;
pub mod outbox;
pub mod request_keys;
pub mod retention;
