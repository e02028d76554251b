//! Each rule of source files that are read: what breaks it, in each language, with its line.

use super::super::super::Target;
use super::*;

fn check(target: Target, written: &str, wanted: &str) {
    let told =
        value(target, written).map_or_else(|error| format!("{:?}: {}", error.reason, error.message), |value| format!("read {value}"));
    assert!(told.contains(wanted), "{target:?} {written}: {told}");
    assert!(told.starts_with("NotALiteral") || told.starts_with("BadKey") || told.starts_with("Syntax"), "{target:?} {written}: {told}");
}

#[test]
fn what_is_no_literal_is_named() {
    use Target::{Kotlin, Php, Python, Ruby, Rust, Swift, TypeScript};
    for (target, rows) in [
        (
            Php,
            &[
                ("file_get_contents('x')", "a call"),
                ("$x", "the variable `$x`"),
                ("FOO", "the name `FOO`"),
                ("Foo::BAR", "a call or a member"),
                ("'a' . 'b'", "a concatenation"),
                ("\"a $b\"", "an interpolation"),
                ("\"a {$b}\"", "an interpolation"),
                ("[...$x]", "a spread"),
                ("new Foo", "the name `new`"),
                ("1 + 1", "calculation"),
                ("`ls`", "`ls`"),
                ("fn() => 1", "a call"),
                ("(int) 1", "the name `int`"),
                ("true ? 1 : 2", "found `?`"),
                ("['a'][0]", "found `[`"),
                ("-$x", "found `-`"),
                ("<<<X\n$a\nX", "an interpolation"),
                ("1.5.2", "found"),
                ("0x", "no number"),
                ("99999999999999999999", "64 bits"),
            ][..],
        ),
        (
            Python,
            &[
                ("open('x')", "a call"),
                ("FOO", "the name `FOO`"),
                ("'a' 'b'", "a concatenation"),
                ("'a' + 'b'", "concatenation"),
                ("f'{x}'", "an interpolation"),
                ("f'x'", "an interpolation"),
                ("[*x]", "a spread"),
                ("{**x}", "a spread"),
                ("b'x'", "bytes"),
                ("(1, 2)", "found `,`"),
                ("()", "found `)`"),
                ("1j", "no number"),
                ("true", "the name `true`"),
                ("[x for x in y]", "the name `x`"),
                ("[1 for x in y]", "the name `for`"),
                ("lambda: 1", "the name `lambda`"),
                ("1 if x else 2", "the name `if`"),
                ("'\\N{DASH}'", "an escape"),
                ("'\\ud800'", "no character"),
                ("007", "no number"),
                ("not True", "the name `not`"),
            ],
        ),
        (
            TypeScript,
            &[
                ("readFile('x')", "a call"),
                ("x", "the name `x`"),
                ("'a' + 'b'", "concatenation"),
                ("`a${b}`", "an interpolation"),
                ("tag`a`", "the name `tag`"),
                ("[...x]", "a spread"),
                ("{...x}", "a spread"),
                ("{x}", "the name `x`"),
                ("{x() {}}", "a call"),
                ("/x/", "found `/x/`"),
                ("1n", "no number"),
                ("undefined", "the name `undefined`"),
                ("[,1]", "found `,`"),
                ("-x", "found `-`"),
                ("'a'.length", "a call or a member"),
                ("x as const", "the name `x`"),
                ("1 as number", "the name `as`"),
                ("'\\ud800'", "lone surrogate"),
                ("010", "no number"),
                ("() => 1", "found `)`"),
            ],
        ),
        (
            Kotlin,
            &[
                ("readText()", "a call"),
                ("x", "the name `x`"),
                ("\"a\" + \"b\"", "concatenation"),
                ("\"a$b\"", "an interpolation"),
                ("\"a${b}\"", "an interpolation"),
                ("\"\"\"a$b\"\"\"", "an interpolation"),
                ("\"a\".trimIndent()", "a call or a member"),
                ("listOf(*x)", "a spread"),
                ("'c'", "found `'c'`"),
                ("Pair(\"a\", 1)", "a call"),
                ("mapOf(Pair(\"a\", 1))", "a call"),
                ("arrayOf(1)", "a call"),
                ("emptyList(1)", "a call"),
                ("1.5f", "no number"),
                ("\"\\q\"", "an escape"),
            ],
        ),
        (
            Swift,
            &[
                ("read()", "a call"),
                ("x", "the name `x`"),
                ("\"a\" + \"b\"", "concatenation"),
                ("\"a\\(b)\"", "an interpolation"),
                ("#\"a\\#(b)\"#", "an interpolation"),
                (".case", "a call or a member"),
                ("1 as! Int", "the name `as`"),
                ("null", "the name `null`"),
                ("0x1p3", "no number"),
                ("\"\"\"a\"\"\"", "on the line of a mark"),
                ("\"\"\"\n  a\n b\n  \"\"\"", "indented less"),
                ("\"\\q\"", "an escape"),
                ("{ 1 }", "found `{`"),
            ],
        ),
        (
            Ruby,
            &[
                ("File.read('x')", "a call or a member"),
                ("x", "the name `x`"),
                ("\"a\" + \"b\"", "concatenation"),
                ("\"a\" \"b\"", "a concatenation"),
                ("\"a#{b}\"", "an interpolation"),
                ("[*x]", "a spread"),
                ("{**x}", "a spread"),
                (":a", "found `:`"),
                ("\"a\".freeze", "a call or a member"),
                ("`ls`", "`ls`"),
                ("%w[a b]", "found `%w[a b]`"),
                ("@x", "the variable `@x`"),
                ("?a", "found `?a`"),
                ("1r", "no number"),
                ("/x/", "found `/x/`"),
                ("<<~X\n#{a}\nX\n", "an interpolation"),
                ("%(a#{b})", "an interpolation"),
            ],
        ),
        (
            Rust,
            &[
                ("read()", "a call"),
                ("x", "the name `x`"),
                ("\"a\".to_string()", "a call or a member"),
                ("format!(\"a\")", "a call"),
                ("concat!(\"a\", \"b\")", "a call"),
                ("b\"x\"", "bytes"),
                ("'c'", "found `'c'`"),
                ("None", "the name `None`"),
                ("vec![1]", "a call"),
                ("1 + 1", "calculation"),
                ("1f32", "no number"),
            ],
        ),
    ] {
        for (written, wanted) in rows {
            check(target, written, wanted);
        }
    }
}

#[test]
fn keys_are_strings_and_stand_once() {
    for (target, literal, wanted) in [
        (Target::Php, "['a' => 1, 'a' => 2]", "BadKey 7: the key `'a'` stands twice"),
        (Target::Php, "['a' => 1,\n\"\\x61\" => 2]", "BadKey 8: the key `\"\\x61\"` stands twice"),
        (Target::Php, "['a' => [1 => 2]]", "BadKey 7: a key is no string, or stands in a list: `1`"),
        (Target::Php, "['a' => 1, 2]", "BadKey 7: the key `2` is no string"),
        (Target::Php, "['a' => 1, 'b']", "BadKey 7: `'b'` stands in a map without a key"),
        (Target::Php, "[1, 'a' => 2]", "BadKey 7: a key is no string, or stands in a list: `'a'`"),
        (Target::Php, "['a' => 1, $b => 2]", "BadKey 7: the key `$b` is no string"),
        (Target::Python, "{1: 2}", "BadKey 7: the key `1` is no string"),
        (Target::Python, "{'a': 1, \"a\": 2}", "BadKey 7: the key `\"a\"` stands twice"),
        (Target::Python, "{None: 2}", "BadKey 7: the key `None` is no string"),
        (Target::Python, "{'a', 'b'}", "BadKey 7: `'a'` stands in a map without a key"),
        (Target::TypeScript, "{a: 1, 'a': 2}", "BadKey 5: the key `'a'` stands twice"),
        (Target::TypeScript, "{1: 2}", "BadKey 5: the key `1` is no string"),
        (Target::TypeScript, "{[a]: 2}", "BadKey 5: the key `[` is no string"),
        (Target::Kotlin, "mapOf(1 to 2)", "BadKey 6: the key `1` is no string"),
        (Target::Kotlin, "mapOf(\"a\" to 1, \"a\" to 2)", "BadKey 6: the key `\"a\"` stands twice"),
        (Target::Kotlin, "mapOf(\"a\" to listOf(\"a\" to 1))", "BadKey 6: a key is no string, or stands in a list: `\"a\"`"),
        (Target::Swift, "[1: 2]", "BadKey 5: a key is no string, or stands in a list: `1`"),
        (Target::Swift, "[\"a\": 1, \"a\": 2]", "BadKey 5: the key `\"a\"` stands twice"),
        (Target::Ruby, "{a: 1}", "BadKey 5: the key `a` is no string"),
        (Target::Ruby, "{\"a\": 1}", "BadKey 5: the key `\"a\"` is a symbol and no string"),
        (Target::Ruby, "{:a => 1}", "BadKey 5: the key `:` is no string"),
        (Target::Ruby, "{\"a\" => 1, 'a' => 2}", "BadKey 5: the key `'a'` stands twice"),
        (Target::Rust, "{a: 1}", "BadKey 5: the key `a` is no string"),
        (Target::Rust, "{\"a\": 1, \"a\": 2}", "BadKey 5: the key `\"a\"` stands twice"),
    ] {
        assert_eq!(fault(target, &class(target, literal), None), wanted, "{target:?} {literal}");
    }
}

#[test]
fn a_class_is_there_once_is_not_abstract_and_declares_the_contract() {
    for target in Target::ALL {
        let text = class(target, &map(target, "\"a\"", "1"));
        let told = |text: &str, name: Option<&str>| fault(target, text, name).split(' ').next().map(str::to_owned).unwrap_or_default();
        assert_eq!(told(&text, Some("A")), "read", "{target:?}");
        assert_eq!(told(&text, Some("B")), "ClassNotFound", "{target:?}");
        assert_eq!(told(if target == Target::Php { "<?php\n" } else { "\n" }, None), "ClassNotFound", "{target:?}");
        assert_eq!(
            told(&text.replace("StudioWorkflow", "StudioWorkflows"), None),
            if target == Target::Rust { "ContractMissing" } else { "ContractMissing" },
            "{target:?}"
        );
        let second =
            text.strip_prefix("<?php\n").unwrap_or(&text).replace("class A", "class B").replace(" A", " B").replace("package app", "");
        let both = format!("{text}{second}");
        assert_eq!(told(&both, None), "Ambiguous", "{target:?} {both}");
        assert_eq!(told(&both, Some("B")), "read", "{target:?} {both}");
        let twice = text.replace(
            "StudioWorkflow",
            match target {
                Target::Php | Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Ruby => {
                    "StudioWorkflow, StudioAgent"
                }
                Target::Rust => continue,
            },
        );
        assert_eq!(told(&twice, None), "Ambiguous", "{target:?} {twice}");
    }
    for (target, from, to) in [
        (Target::Php, "final class", "abstract class"),
        (Target::Python, "(StudioWorkflow)", "(StudioWorkflow, ABC)"),
        (Target::TypeScript, "export class", "export abstract class"),
        (Target::Kotlin, "class A", "public abstract class A"),
        (Target::Kotlin, "class A", "sealed class A"),
    ] {
        let text = class(target, &map(target, "\"a\"", "1")).replace(from, to);
        let told = fault(target, &text, Some("A"));
        assert!(told.starts_with("ContractMissing") && told.ends_with("the class `A` is abstract"), "{told}");
        assert!(super::super::list(target, &text).is_empty());
    }
}

#[test]
fn definition_is_one_static_method_that_returns_one_map() {
    use Target::{Kotlin, Php, Python, Ruby, Rust, Swift, TypeScript};
    for (target, changes) in [
        (
            Php,
            &[
                ("static ", "", "is no static method"),
                ("definition()", "definition($a)", "takes arguments"),
                ("definition()", "define()", "is missing"),
                ("return [", "$a = 1; return [", "more than one"),
                ("];", "]; echo 1;", "more than one"),
                ("return [\"a\" => 1]", "return [1]", "does not return a map"),
                ("return [\"a\" => 1]", "return null", "does not return a map"),
                ("];", "] + [];", "calculation"),
            ][..],
        ),
        (
            Python,
            &[
                ("@staticmethod", "@classmethod", "is no static method"),
                ("    @staticmethod\n", "", "is no static method"),
                ("@staticmethod", "@staticmethod\n    @cached", "is no static method"),
                ("    def", "    async def", "is no static method"),
                ("definition()", "definition(self)", "takes arguments"),
                ("return {", "x = 1\n        return {", "more than one"),
                ("}\n", "}\n        pass\n", "more than one"),
                ("}\n", "}; f()\n", "more than one"),
                ("return {\"a\": 1}", "return [1]", "does not return a map"),
                ("return {", "return \\\n {", "read"),
                ("return {", "return\n        {", "returns nothing"),
                ("}\n", "} | {}\n", "found `|`"),
                ("}\n", "}.copy()\n", "a call or a member"),
                ("def definition", "def other", "is missing"),
            ],
        ),
        (
            TypeScript,
            &[
                ("static ", "", "is no static method"),
                ("static ", "static async ", "is no static method"),
                ("definition()", "definition(a: string)", "takes arguments"),
                ("static definition() {", "static definition = () => {", "is no method"),
                ("return {", "return\n{", "returns nothing"),
                ("return {", "const a = 1; return {", "more than one"),
                ("as const;", "as const; f();", "more than one"),
                ("as const;", "as const && x;", "found `&&`"),
                ("static definition()", "static definition(): void; static definition()", "stands twice"),
            ],
        ),
        (
            Kotlin,
            &[
                ("companion object", "object B", "is missing"),
                (
                    "companion object {",
                    "fun definition() = mapOf(\"a\" to 1) ; companion object { fun f() = 1 }; init {",
                    "is no static method",
                ),
                ("definition()", "definition(a: Int)", "takes arguments"),
                ("= mapOf", "{ return mapOf", "Syntax"),
                ("to 1)", "to 1) + x", "calculation"),
                ("to 1)", "to 1)\n            .copy()", "a call or a member"),
                ("= mapOf(\"a\" to 1)", "= listOf(1)", "does not return a map"),
                ("= mapOf(\"a\" to 1)", "{ val a = 1; return mapOf() }", "more than one"),
                ("= mapOf(\"a\" to 1)", "", "has no body"),
            ],
        ),
        (
            Swift,
            &[
                ("static ", "", "is no static method"),
                ("static func", "class func", "read"),
                ("definition()", "definition(a: Int)", "takes arguments"),
                ("return [", "let a = 1\n return [", "the name `let`"),
                ("1]", "1]\n    print(1)", "more than one"),
                ("[\"a\": 1]", "[1]", "does not return a map"),
            ],
        ),
        (
            Ruby,
            &[
                ("self.", "", "is no static method"),
                ("definition\n", "definition(a)\n", "takes arguments"),
                ("definition\n", "definition a\n", "takes arguments"),
                ("    {", "    x = 1\n    {", "more than one"),
                ("}\n", "}\n    y\n", "more than one"),
                ("}\n", "}.freeze\n", "a call or a member"),
                ("}\n", "}\n      .freeze\n", "a call or a member"),
                ("    {", "    return\n    {", "returns nothing"),
                ("{\"a\" => 1}", "[1]", "does not return a map"),
                ("}\n", "} if x\n", "the name `if`"),
            ],
        ),
        (
            Rust,
            &[
                ("definition()", "definition(&self)", "takes arguments"),
                ("    fn", "    async fn", "no plain method"),
                ("serde_json::json!(", "(", "`{`"),
                ("serde_json::json!({\"a\": 1})", "null", "stands in `json!`"),
                ("        serde", "        let x = 1;\n serde", "the name `let`"),
                ("})", "});", "found `;`"),
                ("})", "}).clone()", "a call or a member"),
                ("{\"a\": 1}", "[1]", "does not return a map"),
            ],
        ),
    ] {
        let plain = class(target, &map(target, "\"a\"", "1"));
        for (from, to, wanted) in changes {
            let text = plain.replacen(from, to, 1);
            assert_ne!(text, plain, "{target:?} {from}");
            let told = fault(target, &text, None);
            assert!(told.contains(wanted), "{target:?} `{from}` -> `{to}`: {told}");
        }
    }
}
