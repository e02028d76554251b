//! The door as hosts see it: requests in, answers out.

mod chain;
mod description;
mod facade;
mod mounted;
mod support;
mod walk;
