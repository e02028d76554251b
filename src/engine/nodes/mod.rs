//! Owns what each kind of node does that needs the world.

pub mod agent;
pub mod llm;
pub mod tool;
