//! Model providers as they really answer: one suite of conversations, held by every wire family with programs that others wrote.
//!
//! `scripts/test-providers.sh` installs and starts these programs and names their addresses.

mod aimock;
mod engine;
mod llmock;
mod peers;
