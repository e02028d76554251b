//! Model providers as they really answer: one suite of conversations, held by every wire family with programs that others wrote.
//!
//! And model providers as they fail, played by a provider of our own: that part needs nothing else.
//! `scripts/test-providers.sh` installs and starts these programs and names their addresses.

mod aimock;
mod engine;
mod faults;
mod litellm;
mod live;
mod llamacpp;
mod llmock;
mod peers;
mod templates;
