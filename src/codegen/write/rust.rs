//! Owns files in Rust.

use serde_json::Number;

use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    number,
    ..COMMON
};

/// Whole numbers have 32 bits unless they say more. A sign stands in parentheses: the macro takes single trees of tokens.
#[expect(clippy::unnecessary_wraps, reason = "one of the ways in which languages write numbers")]
fn number(number: &Number) -> Option<String> {
    let kind = match number.as_i64() {
        Some(whole) if i32::try_from(whole).is_ok() => "",
        Some(_) => "i64",
        None if number.is_u64() => "u64",
        None => "",
    };
    let text = format!("{number}{kind}");
    Some(if text.starts_with('-') { format!("({text})") } else { text })
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    let (class, contract) = (&names.class, kind.contract());
    let (import, base) = if names.collides {
        ("use wfstudio::serde_json;".to_owned(), format!("wfstudio::{contract}"))
    } else {
        (format!("use wfstudio::{{{contract}, serde_json}};"), contract.to_owned())
    };
    format!(
        "// {header}\n\n{import}\n\npub struct {class};\n\nimpl {base} for {class} {{\n    fn definition() -> serde_json::Value {{\n        serde_json::json!({})\n    }}\n}}\n",
        SYNTAX.literal(definition, "        "),
    )
}
