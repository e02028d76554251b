//! Owns files in PHP.

use serde_json::{Map, Value};

use super::escape::{Numbered, is_plain, quoted};
use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    map: ("[", "]"),
    empty: ("(object) []", "[]"),
    pair: " => ",
    string,
    key: string,
    cast,
    ..COMMON
};

fn string(text: &str) -> String {
    if text.chars().all(is_plain) {
        return format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    }
    quoted(text, &['$'], Numbered::Braces)
}

/// PHP makes a number of a key like one, and a list of an array with such keys: objects keep theirs.
fn cast(members: &Map<String, Value>) -> &'static str {
    let is_number = |key: &String| {
        let digits = key.strip_prefix('-').unwrap_or(key);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if members.is_empty() || members.keys().any(is_number) { "(object) " } else { "" }
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    format!(
        "<?php\n\n// {header}\n\ndeclare(strict_types=1);\n\nnamespace {};\n\nfinal class {} implements \\Studio\\{}\n{{\n    public static function definition(): array\n    {{\n        return {};\n    }}\n}}\n",
        names.namespace,
        names.class,
        kind.contract(),
        SYNTAX.literal(definition, "        "),
    )
}
