//! Owns files in Python.

use super::escape::{Numbered, quoted};
use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    map: ("{", "}"),
    words: ["None", "True", "False"],
    string,
    key: string,
    ..COMMON
};

fn string(text: &str) -> String {
    quoted(text, &[], Numbered::Long)
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    let contract = kind.contract();
    let (import, base) = if names.collides {
        ("import wfstudio".to_owned(), format!("wfstudio.{contract}"))
    } else {
        (format!("from wfstudio import {contract}"), contract.to_owned())
    };
    format!(
        "# {header}\n\n{import}\n\n\nclass {}({base}):\n    @staticmethod\n    def definition() -> dict:\n        return {}\n",
        names.class,
        SYNTAX.literal(definition, "        "),
    )
}
