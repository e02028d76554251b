//! Owns the list of providers with their models, for pickers.
