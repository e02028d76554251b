//! Tests of reading classes: shapes and rules of each language, strings, hostile files, what is written is read.

mod exports;
mod hostile;
mod mutations;
mod round_trips;
mod rules;
mod shapes;
mod strings;

use serde_json::Value;

use super::super::{ReadError, Target};

/// A class `A` with the contract of workflows that returns a literal.
fn class(target: Target, literal: &str) -> String {
    match target {
        Target::Php => format!("<?php\n\nfinal class A implements \\Studio\\StudioWorkflow\n{{\n    public static function definition(): array\n    {{\n        return {literal};\n    }}\n}}\n"),
        Target::Python => format!("from wfstudio import StudioWorkflow\n\n\nclass A(StudioWorkflow):\n    @staticmethod\n    def definition() -> dict:\n        return {literal}\n"),
        Target::TypeScript => format!("import {{ StudioWorkflow }} from '@wfstudio/host';\n\nexport class A implements StudioWorkflow {{\n  static definition() {{\n    return {literal} as const;\n  }}\n}}\n"),
        Target::Kotlin => format!("package app\n\nclass A : StudioWorkflow {{\n    companion object {{\n        @JvmStatic\n        fun definition(): Map<String, Any?> = {literal}\n    }}\n}}\n"),
        Target::Swift => format!("import WfStudio\n\nfinal class A: StudioWorkflow {{\n    static func definition() -> [String: Any?] {{\n        return {literal}\n    }}\n}}\n"),
        Target::Ruby => format!("class A\n  include StudioWorkflow\n\n  def self.definition\n    {literal}\n  end\nend\n"),
        Target::Rust => format!("pub struct A;\n\nimpl StudioWorkflow for A {{\n    fn definition() -> serde_json::Value {{\n        serde_json::json!({literal})\n    }}\n}}\n"),
    }
}

/// A map with one key.
fn map(target: Target, key: &str, value: &str) -> String {
    match target {
        Target::Php => format!("[{key} => {value}]"),
        Target::Python | Target::TypeScript | Target::Rust => format!("{{{key}: {value}}}"),
        Target::Kotlin => format!("mapOf({key} to {value})"),
        Target::Swift => format!("[{key}: {value}]"),
        Target::Ruby => format!("{{{key} => {value}}}"),
    }
}

/// What a class returns under the key `k` when this is written there.
fn value(target: Target, written: &str) -> Result<Value, ReadError> {
    let read = super::read(target, &class(target, &map(target, "\"k\"", written)), None)?;
    Ok(read.definition["k"].clone())
}

/// The fault of a text as `reason line: message`.
fn fault(target: Target, text: &str, name: Option<&str>) -> String {
    match super::read(target, text, name) {
        Ok(found) => format!("read {}", found.definition),
        Err(error) => format!("{:?} {}: {}", error.reason, error.line, error.message),
    }
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most.max(1) as u64).unwrap_or(0)
    }
}
