//! Owns files in Ruby.

use super::escape::{Numbered, quoted};
use super::literal::{COMMON, Syntax};
use super::Parts;

pub(super) const SYNTAX: Syntax = Syntax {
    pair: " => ",
    words: ["nil", "true", "false"],
    step: "  ",
    string,
    key: string,
    ..COMMON
};

fn string(text: &str) -> String {
    quoted(text, &['#'], Numbered::Braces)
}

/// Lines in the modules of a namespace.
pub(super) fn within(modules: &[String], body: &str) -> String {
    let depth = modules.len();
    let opens: String = modules.iter().enumerate().map(|(at, module)| format!("{}module {module}\n", "  ".repeat(at))).collect();
    let closes: String = (0..depth).rev().map(|at| format!("{}end\n", "  ".repeat(at))).collect();
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{}{line}\n", "  ".repeat(depth)) };
    // Strings have no line feeds of their own: they are escaped.
    format!("{opens}{}{closes}", body.lines().map(line).collect::<String>())
}

pub(super) fn file(parts: &Parts<'_>) -> String {
    let Parts { names, kind, header, definition } = parts;
    // A class beside this one may be called like the contract.
    let base = format!("::{}", kind.contract());
    let (class, literal) = (&names.class, SYNTAX.literal(definition, "    "));
    let body = format!("class {class}\n  include {base}\n\n  def self.definition\n    {literal}\n  end\nend");
    format!("# {header}\n\n{}", within(&names.parts, &body))
}
