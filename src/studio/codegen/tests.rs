//! Code in the facade.
