//! Owns definitions as classes of a language: generated from JSON, and parsed from source text that is never run.
//!
//! Details of the generated files beyond plain literals:
//! - The contract may be named with its namespace; the last part counts.
//! - PHP: a map that is empty or has a key like a whole number is `(object) [ … ]`; any other map is `[key => value]`, a list is `[value]`.
//! - TypeScript: the key `__proto__` is `["__proto__"]`, the whole literal is followed by `as const`.
//! - Kotlin: empty maps and lists are `mapOf<String, Any?>()` and `listOf<Any?>()`; whole numbers above the signed 64 bits end in `UL`; words of
//!   the language in `package` stand in backticks.
//! - Swift: every inner map is followed by `as [String: Any?]`, every inner list by `as [Any?]`; `[:]` is the empty map; whole numbers
//!   above the signed 64 bits are followed by `as UInt64`.
//! - Rust: whole numbers outside of 32 bits end in `i64` or `u64`.
//! - Strings are in double quotes with the escapes of the language (PHP: in single quotes where no escape is needed).
//! - Numbers with a fraction or an exponent are floating-point numbers, others whole ones: `1.0` is not `1`.

pub mod read;
mod target;
mod write;

pub use read::{each, list, read};
pub use target::{ClassKind, Target};
pub use write::{WriteError, ordered, skeleton, unknown, write};

use serde_json::Value;

/// A file that holds one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it belongs below the export path, with `/`.
    pub path: String,
    /// The namespace of the class as the language writes it; empty where it has none.
    pub namespace: String,
    /// The name of the class, without a namespace.
    pub class: String,
    /// The whole text; it ends with one line feed.
    pub text: String,
}

/// A class that was found in a source file.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundClass {
    /// Its name with the namespace, as the language writes it.
    pub class: String,
    /// Which contract it declares.
    pub kind: ClassKind,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// What its `definition` returns.
    pub definition: Value,
}

/// Why a source file gives no definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there, as a sentence.
    pub message: String,
    /// Which rule is broken.
    pub reason: Reason,
}

/// The rules of source files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The text is not the language's.
    Syntax,
    /// There is no class of that name, or none with a contract.
    ClassNotFound,
    /// Several classes fit.
    Ambiguous,
    /// The class is abstract, or declares no contract.
    ContractMissing,
    /// `definition` is not one returned literal.
    NotALiteral,
    /// A key is not a string, or stands twice.
    BadKey,
    /// The literal is nested too deeply.
    TooDeep,
}
