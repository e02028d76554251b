//! Owns the execution of runs: create, drive, follow, answer, recover.

mod leases;
mod log;
mod runs;
pub mod agent;
mod calls;
mod drive;
mod feed;
mod nodes;
mod upkeep;
mod world;

pub use crate::engine::feed::stream::{EventStream, Follow, From};
pub(crate) use crate::engine::leases::owner::prepare;
pub use crate::engine::leases::{Finished, Working};
pub use crate::engine::log::journal::Boundary;
pub use crate::engine::runs::answer::{Again, Reply, must_fit, resume, retry};
pub use crate::engine::runs::cancel::{cancel, cancel_left, cancel_paused, fence_here};
pub use crate::engine::runs::create::{NewRun, Pinned, create};
pub use crate::engine::runs::load::{Loaded, load};
pub(crate) use crate::engine::runs::names::preview;
pub use crate::engine::runs::started::{Begun, Started};
pub use feed::Order;
pub use world::{AppendHook, Parts, World};
