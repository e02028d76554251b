//! Source files that are read as classes.

use wfstudio::codegen::{Target, list, read};

use crate::trial::{STACK, each, trials};

/// Bytes of the largest file.
const FILE: usize = (2 << 20) - 200;
const PIECES: [&str; 30] = [
    "(", "{", "[", "a ", "a.", "\"", "'", "/*", "#", "<<A\n", "<<~A ", "\"${", "\"\\(", "\"#{", "r#\"", "%q(", "class A{}\n", "class A implements StudioWorkflow{}\n",
    "class A(StudioWorkflow): pass\n", "class A\ninclude StudioTool\nend\n", "impl StudioTool for A{}\n", "def definition\n", "fun definition() = ", "namespace A;", "mod a{",
    "use a::", "import a\n", "\n\t", "1e9,", "\\u{1}",
];

fn tried(target: Target) {
    let head = if target == Target::Php { "<?php\n" } else { "" };
    // Without optimisation a smaller one takes long enough.
    let bytes = if cfg!(debug_assertions) { FILE / 8 } else { FILE };
    for piece in PIECES {
        let text = format!("{head}{}", piece.repeat(bytes / piece.len()));
        each(piece, || drop(read(target, &text, None)));
        each(piece, || drop(list(target, &text)));
    }
}

#[test]
fn the_largest_php_is_read() {
    trials("sources::the_largest_php_is_read", STACK, || tried(Target::Php));
}

#[test]
fn the_largest_python_is_read() {
    trials("sources::the_largest_python_is_read", STACK, || tried(Target::Python));
}

#[test]
fn the_largest_typescript_is_read() {
    trials("sources::the_largest_typescript_is_read", STACK, || tried(Target::TypeScript));
}

#[test]
fn the_largest_kotlin_is_read() {
    trials("sources::the_largest_kotlin_is_read", STACK, || tried(Target::Kotlin));
}

#[test]
fn the_largest_swift_is_read() {
    trials("sources::the_largest_swift_is_read", STACK, || tried(Target::Swift));
}

#[test]
fn the_largest_ruby_is_read() {
    trials("sources::the_largest_ruby_is_read", STACK, || tried(Target::Ruby));
}

#[test]
fn the_largest_rust_is_read() {
    trials("sources::the_largest_rust_is_read", STACK, || tried(Target::Rust));
}
