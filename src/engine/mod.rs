//! Owns running: runs are made, driven, followed, answered and recovered here.

mod advance;
mod afar;
pub mod agent;
mod answer;
mod calls;
mod context;
mod create;
mod drive;
mod feed;
mod journal;
mod load;
mod names;
mod nodes;
mod owner;
mod projection;
mod pure;
mod recorded;
mod reuse;
mod step;
mod stream;
mod tenure;
mod usage_events;
mod values;
mod world;

pub use answer::{Again, Reply, cancel, resume, retry};
pub use calls::{ModelAnswer, ModelCall, Prompt, Tell};
pub use context::{ChatOverrides, NewTurn, RunFacts, StepContext, StepEnd, StepResult};
pub use create::{NewRun, Pinned, Ticket, create};
pub use feed::Order;
pub use journal::Boundary;
pub use load::{Loaded, load};
pub use stream::{EventStream, Follow, From};
pub use values::ValueCall;
pub use world::{AppendHook, Parts, World};
