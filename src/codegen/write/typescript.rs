//! Owns files in TypeScript.

use super::escape::{Numbered, quoted};
use super::literal::{Syntax, no_cast, plain_number};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    map: ("{ ", " }"),
    list: ("[", "]"),
    empty: ("{}", "[]"),
    typed: ("", ""),
    pair: ": ",
    words: ["null", "true", "false"],
    step: "  ",
    string,
    key,
    number: plain_number,
    cast: no_cast,
};

fn string(text: &str) -> String {
    quoted(text, &[], Numbered::Braces)
}

/// `__proto__` would set the prototype; in brackets it is a key like any other.
fn key(text: &str) -> String {
    if text == "__proto__" { format!("[{}]", string(text)) } else { string(text) }
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
