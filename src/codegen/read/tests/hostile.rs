//! Files that are made to do harm: each is refused at once, and nothing of it is run.

use std::time::{Duration, Instant};

/// How long this thread has worked, where the system tells it: what else the machine does is no fault of ours.
fn worked(begun: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = told.and_then(|told| told.split(' ').next().and_then(|nanos| nanos.parse().ok()).map(Duration::from_nanos));
    spent.unwrap_or_else(|| begun.elapsed())
}

use super::super::super::Reason;
use super::super::{list, read};
use super::*;

/// How long a file may take.
const LIMIT: Duration = Duration::from_secs(1);
/// How large files are that may take so long: without optimisation smaller ones, in which what is not linear still takes longer.
const SIZE: usize = if cfg!(debug_assertions) { 1 << 16 } else { (2 << 20) - 1000 };
/// What files are filled with.
const PIECES: [&str; 63] = [
    "a ",
    "(",
    ")",
    "{",
    "}",
    "[",
    "\"",
    "'",
    "'''",
    "`",
    "\\",
    "#",
    "/",
    "/*",
    "*/",
    "<",
    "<<A",
    "<<A\n",
    "<<<A\n",
    "<<~A ",
    "<<\"",
    "?",
    "$",
    "${",
    "\"${",
    "\"\\(",
    "\"#{",
    "f\"{",
    "r#",
    "r#\"",
    "#\"",
    "\"\"\"",
    "%(",
    "%q(",
    "=begin\n",
    "=/[",
    "class A ",
    "class A{}",
    "class A implements StudioWorkflow{}",
    "class A(StudioWorkflow): pass\n",
    "class A\ninclude StudioTool\nend\n",
    "module A ",
    "module A{",
    "namespace A{",
    "mod a{",
    "impl<",
    "impl;",
    "impl where ",
    "impl A for ",
    "impl StudioTool for A{}",
    "struct A;",
    "class A<",
    "def definition ",
    "fun definition() ",
    "if ",
    "do ",
    "end ",
    "\n",
    "\n\t",
    "1.",
    "0x_",
    "é",
    "<?",
];

/// Reads on a small stack, within the time.
fn read_bounded(target: Target, text: &str) -> Result<Value, ReadError> {
    let (told, took) = std::thread::scope(|scope| {
        let reading = || {
            let begun = Instant::now();
            let told = read(target, text, None).map(|found| found.definition);
            (told, worked(begun))
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, reading);
        thread.expect("a thread").join().expect("no panic")
    });
    let start: String = text.chars().take(60).collect();
    assert!(took < LIMIT, "{target:?} took {took:?}: {start}");
    told
}

fn refused(target: Target, text: &str) -> ReadError {
    read_bounded(target, text).expect_err("a refusal")
}

#[test]
fn depth_is_bounded_on_a_small_stack() {
    for target in Target::ALL {
        let (open, close) = match target {
            Target::Php | Target::Swift | Target::Python | Target::TypeScript | Target::Ruby | Target::Rust => ("[", "]"),
            Target::Kotlin => ("listOf(", ")"),
        };
        for levels in [10_000, 30_000] {
            for (open, close) in [(open, close), ("(", ")")] {
                let literal = map(target, "\"k\"", &[open.repeat(levels), "1".to_owned(), close.repeat(levels)].concat());
                let error = refused(target, &class(target, &literal));
                assert_eq!(error.reason, Reason::TooDeep, "{target:?} {error:?}");
            }
        }
        let literal = map(target, "\"k\"", &open.repeat(10_000));
        assert_eq!(refused(target, &class(target, &literal)).reason, Reason::Syntax, "{target:?}");
        let deepest = [open.repeat(98), close.repeat(98)].concat();
        assert!(value(target, &deepest).is_ok(), "{target:?}");
        assert!(value(target, &[open, open, &deepest, close, close].concat()).is_err(), "{target:?}");
    }
}

#[test]
fn size_is_bounded_and_time_is_linear() {
    for target in Target::ALL {
        assert!(refused(target, &"a".repeat(50 << 20)).message.contains("2 MiB") && list(target, &"{".repeat(50 << 20)).is_empty());
        let fill = |text: &str| text.repeat(SIZE / text.len());
        let head = if target == Target::Php { "<?php\n" } else { "" };
        for text in PIECES {
            refused(target, &[head, &fill(text)].concat());
        }
        for text in ["1, ", "'a', ", "\"\\", "{", "<<~A, ", "/*", "mapOf(", "-", "as "] {
            let inside = class(target, &map(target, "\"k\"", &format!("[{}]", fill(text))));
            drop(read_bounded(target, &inside));
        }
    }
}

#[test]
fn wide_margins_take_no_longer() {
    let (spaces, tabs) = (" ".repeat(SIZE / 2), "\t".repeat(SIZE / 4));
    for (target, written) in [
        (Target::Ruby, format!("<<~X\n{spaces}a\n{tabs}b\nX\n")),
        (Target::Php, format!("<<<X\n{spaces}a\n{tabs}b\nX")),
        (Target::Swift, format!("\"\"\"\n{spaces}a\n{tabs}b\n\"\"\"")),
    ] {
        read_bounded(target, &class(target, &map(target, "\"k\"", &written))).unwrap_or_else(|error| panic!("{target:?} {error:?}"));
    }
}

#[test]
fn what_is_never_closed_is_told_with_its_line() {
    for (target, text, wanted) in [
        (Target::Php, "<?php\n'a", "2: the string"),
        (Target::Php, "<?php\n\"a {$b['", "2: the string"),
        (Target::Php, "<?php /*", "1: the comment"),
        (Target::Php, "<?php\n\n<<<X\nX1", "3: the heredoc `X`"),
        (Target::Php, "<?php <<<X a\nX", "1: the heredoc `X` does not begin"),
        (Target::Php, "<?php [", "1: `[` is never closed"),
        (Target::Php, "<?php\n[}", "2: `}` closes nothing"),
        (Target::Python, "'a\n'", "1: the string"),
        (Target::Python, "\n'''a'", "2: the string"),
        (Target::TypeScript, "`${", "1: the string"),
        (Target::TypeScript, "x = /a\n/", "1: the regular"),
        (Target::Kotlin, "/* /* */", "1: the comment"),
        (Target::Kotlin, "\"\"\"\"\"", "1: the string"),
        (Target::Swift, "##\"a\"#", "1: the string"),
        (Target::Swift, "\"\\(", "1: the string"),
        (Target::Ruby, "\nx = <<~X", "2: the heredoc `X`"),
        (Target::Ruby, "x = <<~X\na\n XY\n", "1: the heredoc `X`"),
        (Target::Ruby, "=begin\n", "1: the comment"),
        (Target::Ruby, "%q(()", "1: the string"),
        (Target::Rust, "r#\"a\"", "1: the string"),
        (Target::Rust, "/*", "1: the comment"),
        (Target::Python, "a\n\0", "2: the file has a NUL byte"),
    ] {
        let told = fault(target, text, None);
        assert!(told.starts_with(&format!("Syntax {wanted}")), "{target:?} {text:?}: {told}");
    }
}

#[test]
fn nothing_of_a_file_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let marker = folder.path().join("marker");
    let path = marker.to_str().expect("a path");
    for (target, written) in [
        (Target::Php, format!("file_put_contents('{path}', 'x')")),
        (Target::Php, format!("`touch {path}`")),
        (Target::Python, format!("open('{path}', 'w')")),
        (Target::TypeScript, format!("require('fs').writeFileSync('{path}', '')")),
        (Target::Kotlin, format!("java.io.File(\"{path}\").createNewFile()")),
        (Target::Swift, format!("FileManager.default.createFile(atPath: \"{path}\", contents: nil)")),
        (Target::Ruby, format!("\"#{{`touch {path}`}}\"")),
        (Target::Ruby, format!("%x(touch {path})")),
        (Target::Rust, format!("std::fs::write(\"{path}\", \"\")")),
    ] {
        let text = class(target, &map(target, "\"k\"", &written));
        assert_eq!(refused(target, &text).reason, Reason::NotALiteral, "{written}");
        let around = format!("{text}\n{written}\n");
        drop((read(target, &around, None), list(target, &around)));
        assert!(!marker.exists(), "{written}");
    }
}

#[test]
fn a_chain_of_words_that_could_begin_a_namespace_takes_linear_time() {
    for (target, head, word) in [(Target::TypeScript, "", "module."), (Target::Php, "<?php\n", "namespace."), (Target::Kotlin, "", "package .a\n")] {
        refused(target, &[head, &word.repeat((1 << 18) / word.len())].concat());
    }
}
