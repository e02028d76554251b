//! Any JSON value, written by a small writer of the test's own, is read as it was.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::super::read;
use super::*;

const LETTERS: [char; 32] = [
    'a',
    'Z',
    '0',
    ' ',
    '\n',
    '\r',
    '\t',
    '\0',
    '\u{1b}',
    '"',
    '\'',
    '\\',
    '`',
    '$',
    '{',
    '}',
    '#',
    '@',
    '%',
    '(',
    ')',
    '/',
    '*',
    'é',
    '\u{7f}',
    '\u{a0}',
    '\u{2028}',
    '\u{feff}',
    '\u{ffff}',
    '😀',
    '\u{10ffff}',
    '~',
];

fn text(random: &mut Random) -> String {
    (0..random.below(12)).map(|_| LETTERS[random.below(LETTERS.len())]).collect()
}

fn number(random: &mut Random) -> Value {
    match random.below(5) {
        0 => Value::from(random.next()),
        1 => Value::from(random.next().cast_signed()),
        2 => Value::from(random.below(10)),
        _ => Number::from_f64(f64::from_bits(random.next())).map_or(Value::from(0.5), Value::Number),
    }
}

fn any(random: &mut Random, deep: usize) -> Value {
    match random.below(if deep == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 | 3 => Value::String(text(random)),
        4 => number(random),
        5 => Value::Array((0..random.below(5)).map(|_| any(random, deep - 1)).collect()),
        _ => Value::Object(object(random, deep - 1)),
    }
}

pub(super) fn object(random: &mut Random, deep: usize) -> Map<String, Value> {
    (0..random.below(6)).map(|_| (text(random), any(random, deep))).collect()
}

/// A string with an escape for all that is no plain letter, in double quotes.
fn string(target: Target, text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == ' ' || (letter == '\'' && target != Target::Php) {
            out.push(letter);
            continue;
        }
        let code = u32::from(letter);
        let mut units = [0; 2];
        let written = match target {
            Target::Php | Target::Swift | Target::Ruby | Target::Rust => write!(out, "\\u{{{code:x}}}"),
            Target::Python => write!(out, "\\U{code:08x}"),
            Target::TypeScript | Target::Kotlin => letter.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04X}")),
        };
        written.expect("written");
    }
    out.push('"');
}

fn write(target: Target, value: &Value, out: &mut String) {
    let null = match target {
        Target::Python => "None",
        Target::Swift | Target::Ruby => "nil",
        Target::Php | Target::TypeScript | Target::Kotlin | Target::Rust => "null",
    };
    match value {
        Value::Null => out.push_str(null),
        Value::Bool(yes) if target == Target::Python => out.push_str(if *yes { "True" } else { "False" }),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => string(target, text, out),
        Value::Array(items) => {
            let (open, close) = if target == Target::Kotlin { ("listOf(", ")") } else { ("[", "]") };
            out.push_str(open);
            for item in items {
                write(target, item, out);
                out.push_str(", ");
            }
            out.push_str(close);
        }
        Value::Object(members) => object_in(target, members, out),
    }
}

fn object_in(target: Target, members: &Map<String, Value>, out: &mut String) {
    let (open, pair, close) = match target {
        Target::Php if members.is_empty() => ("(object) [", "", "]"),
        Target::Php => ("[", " => ", "]"),
        Target::Python | Target::TypeScript | Target::Rust => ("{", ": ", "}"),
        Target::Kotlin => ("mapOf(", " to ", ")"),
        Target::Swift if members.is_empty() => ("[:", "", "]"),
        Target::Swift => ("[", ": ", "]"),
        Target::Ruby => ("{", " => ", "}"),
    };
    out.push_str(open);
    for (key, value) in members {
        string(target, key, out);
        out.push_str(pair);
        write(target, value, out);
        out.push_str(",\n");
    }
    out.push_str(close);
}

pub(super) fn written(target: Target, members: &Map<String, Value>) -> String {
    let mut out = String::new();
    object_in(target, members, &mut out);
    out
}

#[test]
fn any_value_is_read_as_it_was_written() {
    let mut random = Random(1);
    for round in 0..400 {
        let members = object(&mut random, 5);
        for target in Target::ALL {
            let text = class(target, &written(target, &members));
            let read = read(target, &text, None).unwrap_or_else(|error| panic!("{round} {target:?} {error:?}\n{text}"));
            assert_eq!(read.definition.to_string(), Value::Object(members.clone()).to_string(), "{round} {target:?}\n{text}");
        }
    }
}

#[test]
fn a_large_file_is_read_at_once() {
    let mut random = Random(3);
    let members: Map<String, Value> = (0..1500).map(|number| (format!("k{number}"), any(&mut random, 3))).collect();
    for target in Target::ALL {
        let text = class(target, &written(target, &members));
        // The fastest of three tries: a busy machine makes any one of them slow.
        let tries = (0..3).map(|_| {
            let begun = std::time::Instant::now();
            let found = read(target, &text, None).unwrap_or_else(|error| panic!("{target:?} {error:?}"));
            assert_eq!(found.definition.as_object().map(Map::len), Some(1500));
            begun.elapsed()
        });
        let fastest = tries.min().expect("three tries");
        assert!(fastest.as_secs() < 1, "{target:?} {fastest:?} for {} bytes", text.len());
    }
}
