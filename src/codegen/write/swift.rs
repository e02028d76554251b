//! Owns files in Swift.

use serde_json::Number;

use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    map: ("[", "]"),
    empty: ("[:]", "[]"),
    typed: (" as [String: Any?]", " as [Any?]"),
    words: ["nil", "true", "false"],
    number,
    ..COMMON
};

/// Whole numbers are signed unless their type is said.
#[expect(clippy::unnecessary_wraps, reason = "one of the ways in which languages write numbers")]
fn number(number: &Number) -> Option<String> {
    let unsigned = number.as_i64().is_none() && number.is_u64();
    Some(if unsigned { format!("{number} as UInt64") } else { number.to_string() })
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    let contract = kind.contract();
    let base = if names.collides { format!("WfStudio.{contract}") } else { contract.to_owned() };
    format!(
        "// {header}\n\nimport WfStudio\n\nfinal class {}: {base} {{\n    static func definition() -> [String: Any?] {{\n        return {}\n    }}\n}}\n",
        names.class,
        SYNTAX.literal(definition, "        "),
    )
}
