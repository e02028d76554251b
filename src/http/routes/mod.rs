//! Owns the list of the API's routes, topic by topic.

mod attachments;
mod chat;
mod codegen;
mod definitions;
pub(super) mod documents;
mod drafts;
mod facts;
mod knowledge;
mod mcp_servers;
mod runs;
mod runs_query;
mod templates;
mod threads;
mod usage;

use super::openapi;
use super::table::Route;

pub(crate) use runs::LIST as RUN_FILTERS;
#[cfg(feature = "fuzzing")]
pub(super) use runs_query::read_any;

/// All of them below the export prefix.
pub(super) fn exported() -> Vec<Route> {
    let mut exported = usage::exported();
    exported.extend(super::adapters::routes());
    exported
}

/// All of them below the studio's prefix.
pub(super) fn all() -> Vec<Route> {
    let mut all = runs::routes();
    all.extend(chat::routes());
    all.extend(attachments::routes());
    all.extend(definitions::routes());
    all.extend(mcp_servers::routes());
    all.extend(drafts::routes());
    all.extend(facts::routes());
    all.extend(knowledge::routes());
    all.extend(templates::routes());
    all.extend(codegen::routes());
    all.extend(threads::routes());
    all.extend(usage::routes());
    all.extend(openapi::routes());
    all
}
