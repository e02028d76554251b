//! An export that is imported again gives the same definition, in every language.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Desk;

#[path = "../../lifecycle/chance.rs"]
#[expect(dead_code, reason = "shared with the suite that plays against the engine")]
mod chance;
#[path = "../../lifecycle/graphs.rs"]
#[expect(dead_code, reason = "shared with the suite that plays against the engine")]
mod graphs;

const TARGETS: [&str; 7] = ["php", "python", "typescript", "kotlin", "swift", "ruby", "rust"];
