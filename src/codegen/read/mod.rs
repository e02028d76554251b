//! Owns the parser of classes in source text, which never runs it.

mod braces;
mod class;
mod escape;
mod forms;
mod heredoc;
mod lexer;
mod literal;
mod method;
mod number;
mod python;
mod ruby;
mod rust;
mod strings;
#[cfg(test)]
mod tests;
mod text;
mod token;

use serde_json::Value;

use super::{ClassKind, FoundClass, ReadError, Reason, Target};

/// Bytes of one source file.
pub const MOST_BYTES: usize = 2 << 20;

fn syntax(line: u32, message: impl Into<String>) -> ReadError {
    ReadError { line, message: message.into(), reason: Reason::Syntax }
}

/// The text of a source file: UTF-8, with a mark at its beginning or not.
///
/// # Errors
/// The file is too large, or is no UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, ReadError> {
    if bytes.len() > MOST_BYTES {
        return Err(syntax(1, format!("the file has more than {} MiB", MOST_BYTES >> 20)));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(syntax(1, "the file is UTF-16; save it as UTF-8"));
    }
    let bare = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
    std::str::from_utf8(bare).map_err(|error| {
        let before = bare.get(..error.valid_up_to()).unwrap_or_default();
        syntax(line_after(before), "the file is no UTF-8")
    })
}

/// The number of the line that goes on behind these bytes.
fn line_after(before: &[u8]) -> u32 {
    token::place(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}

fn tokens(target: Target, text: &str) -> Result<token::Tokens<'_>, ReadError> {
    if text.len() > MOST_BYTES {
        return Err(syntax(1, format!("the file has more than {} MiB", MOST_BYTES >> 20)));
    }
    if let Some(at) = text.find('\0') {
        return Err(syntax(line_after(&text.as_bytes()[..at]), "the file has a NUL byte"));
    }
    lexer::tokens(target, text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The class of a source file that has this name, or the only one with a contract.
///
/// # Errors
/// Which rule the file breaks, and where.
pub fn read(target: Target, text: &str, class: Option<&str>) -> Result<FoundClass, ReadError> {
    let tokens = tokens(target, text)?;
    let classes = class::all(&tokens);
    let (class, kind) = class::choose(&tokens, &classes, class)?;
    let definition = class::definition(&tokens, class)?;
    Ok(FoundClass { class: class.full(target), kind, line: tokens.line(class.at), definition })
}

/// The classes of a source file that declare a contract, with their lines. A file that cannot be read has none.
pub fn list(target: Target, text: &str) -> Vec<(String, ClassKind, u32)> {
    let mut found = Vec::new();
    each(target, text, |class, kind, line, _| found.push((class, kind, line)));
    found
}

/// Same, one after the other, each with a function that gives its definition. The file is read once for all of them.
pub fn each(target: Target, text: &str, mut take: impl FnMut(String, ClassKind, u32, &dyn Fn() -> Result<Value, ReadError>)) {
    let Ok(tokens) = tokens(target, text) else { return };
    for class in class::all(&tokens).into_iter().filter(|class| !class.is_abstract) {
        if let [kind] = class.kinds[..] {
            take(class.full(target), kind, tokens.line(class.at), &|| class::definition(&tokens, &class));
        }
    }
}
