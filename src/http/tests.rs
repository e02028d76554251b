//! The door as hosts see it: requests in, answers out.

mod chain;
mod description;
mod drafts;
mod facade;
mod mounted;
mod support;
mod told;
mod walk;
