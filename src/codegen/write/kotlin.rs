//! Owns files in Kotlin.

use serde_json::Number;

use super::escape::{Numbered, quoted};
use super::literal::{COMMON, Syntax};
use super::Parts;
use super::names::Names;

pub(super) const SYNTAX: Syntax = Syntax {
    map: ("mapOf(", ")"),
    list: ("listOf(", ")"),
    empty: ("mapOf<String, Any?>()", "listOf<Any?>()"),
    pair: " to ",
    string,
    key: string,
    number,
    ..COMMON
};

/// Words that may not name a part of a package.
const KEYWORDS: [&str; 28] = [
    "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null", "object", "package",
    "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var", "when", "while",
];

fn string(text: &str) -> String {
    quoted(text, &['$'], Numbered::Pairs)
}

/// The sign is an operator: the smallest whole number has no literal.
fn number(number: &Number) -> Option<String> {
    match (number.as_i64(), number.is_u64()) {
        (Some(i64::MIN), _) => None,
        (None, true) => Some(format!("{number}UL")),
        (Some(_), _) | (None, false) => Some(number.to_string()),
    }
}

/// The name of the package; words of the language in backticks.
pub(super) fn package(names: &Names) -> String {
    let quote = |part: &String| if KEYWORDS.contains(&part.as_str()) { format!("`{part}`") } else { part.clone() };
    names.parts.iter().map(quote).collect::<Vec<_>>().join(".")
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    let contract = kind.contract();
    let (import, base) = if names.collides {
        (String::new(), format!("wfstudio.{contract}"))
    } else {
        (format!("import wfstudio.{contract}\n\n"), contract.to_owned())
    };
    format!(
        "// {header}\n\npackage {}\n\n{import}class {} : {base} {{\n    companion object {{\n        @JvmStatic\n        fun definition(): Map<String, Any?> = {}\n    }}\n}}\n",
        package(names),
        names.class,
        SYNTAX.literal(definition, "        "),
    )
}
