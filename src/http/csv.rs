//! Owns usage as a table: comma-separated, safe to open in a spreadsheet.

use serde_json::{Value, json};

use crate::store::usage::report::GroupBy;
use crate::studio::WindowUsage;

/// What every row ends with.
const FIGURES: [&str; 8] = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost",
    "unpriced",
];

const fn heads(group_by: Option<GroupBy>) -> &'static [&'static str] {
    match group_by {
        None => &["from", "to", "run_count"],
        Some(GroupBy::Model) => &["provider", "model"],
        Some(GroupBy::Entity) => &["entity_type", "entity_id", "entity_name", "run_count"],
        Some(GroupBy::Day) => &["date", "run_count"],
        Some(GroupBy::Thread) => &["thread_id", "run_count"],
    }
}

/// A report: its breakdown, or its totals where there is none.
pub(super) fn usage(report: &WindowUsage, group_by: Option<GroupBy>) -> String {
    let told = Value::Object(report.summary());
    let columns: Vec<&str> = heads(group_by).iter().copied().chain(FIGURES).collect();
    let mut table = format!("{},currency\r\n", columns.join(","));
    let mut line = |entry: &Value| {
        for name in &columns {
            table.push_str(&cell(entry.get(*name).unwrap_or(&told[*name])));
            table.push(',');
        }
        table.push_str(&cell(&told["currency"]));
        table.push_str("\r\n");
    };
    match group_by {
        Some(_) => report.entries().for_each(|entry| line(&json!(entry))),
        None => line(&told["totals"]),
    }
    table
}

/// Text never becomes a formula, nor another cell.
pub(super) fn cell(value: &Value) -> String {
    let Value::String(text) = value else { return if value.is_null() { String::new() } else { value.to_string() } };
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{guard}{}\"", text.replace('"', "\"\""));
    }
    format!("{guard}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_guarded() {
        for (value, told) in [
            (json!("plain"), "plain"),
            (json!("ÄÖ, \"x\""), "\"ÄÖ, \"\"x\"\"\""),
            (json!("=1+1"), "'=1+1"),
            (json!("+a"), "'+a"),
            (json!("-a,b"), "\"'-a,b\""),
            (json!("@a\r\nb"), "\"'@a\r\nb\""),
            (json!("\t=1"), "'\t=1"),
            (json!("a=b"), "a=b"),
            (json!(""), ""),
            (json!(null), ""),
            (json!(-7), "-7"),
            (json!(false), "false"),
        ] {
            assert_eq!(cell(&value), told);
        }
    }
}
