//! The studio as its users meet it: through the facade, over HTTP, after crashes.

mod support;

mod adapters;
mod agents;
mod clocks;
mod closing;
mod earlier;
mod api;
mod caches;
mod codegen;
mod endings;
mod functions;
mod knowledge;
mod mcp;
mod memory;
mod models;
mod observability;
mod ownership;
mod parts;
mod scenarios;
mod searches;
mod templates;
mod tidy;
mod tools;
mod upkeep;
mod usage;
