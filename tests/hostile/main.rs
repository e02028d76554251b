//! What hostile definitions and values may cost: every interpreter is tried at the largest input that its limits let through, in a process of
//! its own with little memory and a small stack. None may end the process, take 256 MB, or keep a core for two seconds.

#[cfg(feature = "fuzzing")]
mod arguments;
mod conditions;
mod documents;
mod graphs;
mod masking;
#[cfg(feature = "fuzzing")]
mod mcp;
mod prices;
#[cfg(feature = "fuzzing")]
mod requests;
mod schemas;
#[cfg(feature = "fuzzing")]
mod scripts;
mod sources;
mod trial;
