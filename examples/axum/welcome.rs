//! Owns what a first visitor finds: an example workflow and two agents that need no key.

use serde_json::Value;
use wfstudio::studio::Resource;
use wfstudio::{Result, Scope, Studio};

const EXAMPLES: &str = include_str!("welcome.json");

/// Puts the examples into a database that was just made.
pub async fn fill(studio: &Studio) -> Result<()> {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
    for (resource, list) in [(Resource::Agent, "agents"), (Resource::Workflow, "workflows")] {
        for body in examples[list].as_array().into_iter().flatten() {
            studio.create(&Scope::default(), resource, body).await?;
        }
    }
    Ok(())
}
