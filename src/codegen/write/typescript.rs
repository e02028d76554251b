//! Owns files in TypeScript.

use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    step: "  ",
    key,
    ..COMMON
};

/// `__proto__` would set the prototype; in brackets it is a key like any other.
fn key(text: &str) -> String {
    let text_of = COMMON.string;
    if text == "__proto__" { format!("[{}]", text_of(text)) } else { text_of(text) }
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    let contract = kind.contract();
    let (import, base) = if names.collides {
        ("import type * as wfstudio from \"@wfstudio/host\";".to_owned(), format!("wfstudio.{contract}"))
    } else {
        (format!("import type {{ {contract} }} from \"@wfstudio/host\";"), contract.to_owned())
    };
    format!(
        "// {header}\n\n{import}\n\nexport class {} implements {base} {{\n  static definition() {{\n    return {} as const;\n  }}\n}}\n",
        names.class,
        SYNTAX.literal(definition, "    "),
    )
}
