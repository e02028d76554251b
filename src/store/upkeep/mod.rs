//! Owns what keeps a database in order: retention, health, answers to repeated requests, events for the host.

pub mod health;
pub mod idempotency;
pub mod outbox;
pub mod retention;
