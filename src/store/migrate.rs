//! Owns the schema's versions.

/// Every version of the schema, oldest first; what is released is never changed.
pub(super) const MIGRATIONS: [&str; 10] = [
    include_str!("../../migrations/0001_first.sql"),
    include_str!("../../migrations/0002_knowledge.sql"),
    include_str!("../../migrations/0003_passage_words.sql"),
    include_str!("../../migrations/0004_usage.sql"),
    include_str!("../../migrations/0005_sums.sql"),
    include_str!("../../migrations/0006_text_marks.sql"),
    include_str!("../../migrations/0007_log_rows.sql"),
    include_str!("../../migrations/0008_kept_turns.sql"),
    include_str!("../../migrations/0009_numbers.sql"),
    include_str!("../../migrations/0010_no_text_marks.sql"),
];

/// The version that this program writes.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;
