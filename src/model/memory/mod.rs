//! Owns the pure part of memory: token estimates, histories, and their selection for a window.

mod estimate;
mod image_dimensions;
mod inside_turn;
mod pages;
mod past;
mod window;

pub use estimate::{Measure, estimate, file_tokens, measure, media_tokens, quarters_of, text_tokens};
pub use image_dimensions::image_dimensions;
pub use inside_turn::{cleared, clear_results, older_part, older_turns};
pub use past::{HistoryMessage, Past, PastTurn, Summary, settled};
pub use window::{Sizes, Window};

/// What the content of a stored summary begins with, before a line break.
pub const SUMMARY_MARK: &str = "[Studio memory summary]";
