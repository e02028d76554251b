//! Owns tests of the facade.
