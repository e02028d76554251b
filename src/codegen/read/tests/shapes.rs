//! Classes in the shapes that people and exports write, with other code around them.

use serde_json::json;

use super::super::super::{ClassKind, Target};
use super::super::{decode, list, read};

const PHP: &str = r##"<!doctype html>
<?php // not yet ?> text "with a quote
<?php
declare(strict_types=1);

/** Workflow Studio: lead-triage */
namespace App\Studio\Workflows;

use Studio\{StudioWorkflow, StudioAgent};

const NAME = 'x' . "y {$z['a']} ${w} `";
function other(array $a = []) : ?string { return "class Fake implements StudioWorkflow { }"; }
interface Marker {}
#[Attribute(Attribute::TARGET_CLASS)]
abstract class Base implements StudioWorkflow { abstract public static function definition(): array; }
$anonymous = new class implements StudioWorkflow { };
echo Base::class;
# final class Commented implements StudioWorkflow {}
final readonly class LeadTriageWorkflow extends Other implements Marker, StudioWorkflow
{
    private const A = ['definition' => 1];

    public function other(): array { return $this->definition(); }

    static public FUNCTION definition() : array
    {
        // a comment
        return array('slug' => "lead\ttriage", "list" => [1, -2.5, 1_000, 0x1F, 0b11, 0o17, 017, .5, 6.02e23, TRUE, null, (object) [], (['a'])], /* here */ 'text' => <<<"X"
              two
               lines
              X, );
    }
}
"##;

const PYTHON: &str = r#"# Workflow Studio
from wfstudio import StudioAgent
import abc


def helper(a={"class": 1}):
    return f"{a['class']!r:>10}" + 'class Fake(StudioAgent):'


class Other:
    def definition(self):
        return {}


class Base(StudioAgent, metaclass=abc.ABCMeta):
    pass


@decorated(1)
class LeadTriage(
    Other,
    studio.StudioAgent,
):
    """Says
what it is."""

    name: str = "x"

    class Meta:
        @staticmethod
        def definition(): return {"wrong": True}

    def helper(self):
        if True:
            return self.definition()

    @staticmethod
    def definition() -> dict[str, object]:
        """The definition."""
        return {
            # a comment
            'slug': r'a\b', "list": [1, -2.5, 1_000, 0x1F, 0b11, 0o17, .5, 5., 6.02E23, True, None,
  ], "text": """two
lines""", "deep": ({}),
        }


VALUE = LeadTriage.definition()
"#;

const TYPESCRIPT: &str = r#"#!/usr/bin/env node
import { StudioTool } from '@wfstudio/host';
const pattern = /class Fake implements StudioTool {['"]/g, half = 4 / 2 / 1;
const text = `class ${ `nested ${"}"}` } implements`;
export abstract class Base implements StudioTool { static definition() { return {}; } }
export type Shape = { definition(): void };
export default class LeadTriage<T extends { a: string }> extends mixin({ b: 1 }) implements Other<{ c: 1 }>, studio.StudioTool {
  private value = this.definition;
  definition2() { return 1 }
  constructor(private readonly definition = 1) { super(); }

  public static override definition(): Readonly<{ a: string }> | { b: string } {
    // a comment
    return ({
      slug: 'it\'s', "list": [1, -2.5, 1_000, 0x1F, 0b11, 0o17, .5, 5., 6.02e23, true, null, {},],
      class: `two
lines`, ["__proto__"]: "p", "dashed-key": "\u{1F600}\ud83d\ude00\x41",
    } as const);
  }
}
"#;

const KOTLIN: &str = r#"/* outer /* inner */ class Fake : StudioWorkflow */
@file:Suppress("x")
package app.studio.`in`.workflows

import wfstudio.StudioWorkflow

const val NAME = "class ${ if (true) "}" else 'x' } $name"
data class Other(val a: Map<String, Any?> = mapOf())
sealed class Base : StudioWorkflow
class Generic<T>(val t: T) where T : StudioWorkflow
class LeadTriage(private val own: StudioAgent = object : StudioAgent {}) :
    Parent<StudioAgent>(1), Deep by own,
    studio.StudioWorkflow {
    fun other() = definition()

    companion object Named : Factory {
        private val definition = 1

        @JvmStatic
        fun definition(): Map<String, Any?> = mapOf<String, Any?>(
            "slug" to "a\$b\u0041", // a comment
            "list" to listOf<Any?>(1, -2.5, 1_000, 0x1F, 0b11, 5L, 18446744073709551615UL, .5, 6.02e23, true, null, emptyMap<String, Any?>(), listOf()),
            "text" to """two
lines "" and ${"$"}""".let { 1 },
        )
    }
}
"#;

const SWIFT: &str = r##"import class Foundation.NSObject
/* outer /* inner */ class Fake: StudioWorkflow {} */
let text = "class \( "nested \(1)" ) Fake: StudioWorkflow {"
protocol Marker: AnyObject {}
struct Generic<T> where T: StudioWorkflow {}
@objc public final class LeadTriage<T: StudioAgent>: NSObject, Studio.StudioWorkflow, @unchecked Sendable where T: StudioTool {
    static var name: String { return "definition" }
    func other() { LeadTriage.definition() }

    @discardableResult
    public static func definition() -> [String: Any?] {
        [
            "slug": #"a\b"c"#, // a comment
            "list": [1, -2.5, 1_000, 0x1F, 0b11, 0o17, 6.02e23, true, nil, [:] as [String: Any?], ["a" as Any?]] as [Any?],
            "large": 18446744073709551615 as UInt64,
            "text": """
              two \
              words
                and "more"
              """,
        ]
    }
}
"##;

const RUBY: &str = r##"#!/usr/bin/env ruby
=begin
class Fake
  include StudioWorkflow
end
=end
require "studio"
text = <<~ONE + <<-'TWO' if 4 / 2 / 1 == 2
  class #{"Fake"}
  ONE
class Fake
  TWO
pattern = /class Fake "/
module App
  module Studio
    def self.helper(list) = list.map { |one| one }
    def self.other
      while list.any? do puts "x" end
      list.each do |one|
        next unless one
        if one then two else three end
      end
      { if: 1, :end => 2, class: ?a }
    end

    class Other < Struct.new(:definition); end

    class Workflows::LeadTriage < Parent
      include Comparable
      include ::Studio::StudioWorkflow

      class << self
        def other; end
      end

      def definition
        {}
      end

      def self.definition()
        # a comment
        return {
          "slug" => 'it\'s', "list" => [1, -2.5, 1_000, 0x1F, 0b11, 0o17, 017, 6.02e23, true, nil, {},],
          "text" => <<~TEXT, "raw" => %q(a (b) \n),
            two
              lines
          TEXT
        }
      end
    end
  end
end
__END__
class Fake
"##;

const RUST: &str = r###"#!/usr/bin/env run
//! Workflow Studio
/* outer /* inner */ struct Fake; impl StudioTool for Fake {} */
use wfstudio::StudioTool;

const TEXT: &str = r#"impl StudioTool for Fake { "#;
fn life<'a>(a: &'a str, b: char) -> impl Iterator<Item = &'a str> { let _ = ('\'', '{', b'}', '"'); a.lines() }
pub mod workflows {
    #[derive(Debug)]
    pub struct LeadTriage<T>(T);
    impl<T: wfstudio::StudioAgent> LeadTriage<T> { fn definition(&self) {} }

    impl<T> wfstudio::StudioTool for LeadTriage<T>
    where
        T: StudioAgent,
    {
        const A: u8 = 1;

        fn definition() -> serde_json::Value {
            serde_json::json!({
                // a comment
                "slug": "a\u{41}\x42 \
                         b", "list": [1, -2.5, 1_000i64, 0x1F, 0b11, 0o17, 18446744073709551615u64, 6.02e23, true, null, {}],
                "raw": r##"a\b"#"##, "group": ("a")
            })
        }
    }
}
"###;

#[test]
fn classes_are_found_among_other_code() {
    let floats = |more: &[serde_json::Value]| {
        let mut all = vec![json!(1), json!(-2.5), json!(1000), json!(31), json!(3)];
        all.extend_from_slice(more);
        all
    };
    let (large, n) = (json!(6.02e23), serde_json::Value::Null);
    let t = json!(true);
    for (target, text, class, kind, line, wanted) in [
        (
            Target::Php,
            PHP,
            "App\\Studio\\Workflows\\LeadTriageWorkflow",
            ClassKind::Workflow,
            19,
            json!({"slug": "lead\ttriage", "list": floats(&[json!(15), json!(15), json!(0.5), large.clone(), t.clone(), n.clone(), json!({}), json!(["a"])]), "text": "two\n lines"}),
        ),
        (
            Target::Python,
            PYTHON,
            "LeadTriage",
            ClassKind::Agent,
            20,
            json!({"slug": "a\\b", "list": floats(&[json!(15), json!(0.5), json!(5.0), large.clone(), t.clone(), n.clone()]), "text": "two\nlines", "deep": {}}),
        ),
        (
            Target::TypeScript,
            TYPESCRIPT,
            "LeadTriage",
            ClassKind::Tool,
            7,
            json!({"slug": "it's", "list": floats(&[json!(15), json!(0.5), json!(5.0), large.clone(), t.clone(), n.clone(), json!({})]), "class": "two\nlines", "__proto__": "p", "dashed-key": "😀😀A"}),
        ),
        (
            Target::Kotlin,
            &KOTLIN.replace(".let { 1 }", "").replace("${\"$\"}", "$ 5"),
            "app.studio.in.workflows.LeadTriage",
            ClassKind::Workflow,
            11,
            json!({"slug": "a$bA", "list": floats(&[json!(5), json!(u64::MAX), json!(0.5), large.clone(), t.clone(), n.clone(), json!({}), json!([])]), "text": "two\nlines \"\" and $ 5"}),
        ),
        (
            Target::Swift,
            SWIFT,
            "LeadTriage",
            ClassKind::Workflow,
            6,
            json!({"slug": "a\\b\"c", "list": floats(&[json!(15), large.clone(), t.clone(), n.clone(), json!({}), json!(["a"])]), "large": u64::MAX, "text": "two words\n  and \"more\""}),
        ),
        (
            Target::Ruby,
            RUBY,
            "App::Studio::Workflows::LeadTriage",
            ClassKind::Workflow,
            28,
            json!({"slug": "it's", "list": floats(&[json!(15), json!(15), large.clone(), t.clone(), n.clone(), json!({})]), "text": "two\n  lines\n", "raw": "a (b) \\n"}),
        ),
        (
            Target::Rust,
            RUST,
            "workflows::LeadTriage",
            ClassKind::Tool,
            10,
            json!({"slug": "aAB b", "list": floats(&[json!(15), json!(u64::MAX), large, t.clone(), n.clone(), json!({})]), "raw": "a\\b\"#", "group": "a"}),
        ),
    ] {
        let found = read(target, text, None).unwrap_or_else(|error| panic!("{target:?} {error:?}"));
        assert_eq!((found.class.as_str(), found.kind, found.line), (class, kind, line), "{target:?}");
        assert_eq!(found.definition, wanted, "{target:?}");
        assert_eq!(list(target, text), [(class.to_owned(), kind, line)], "{target:?}");
        let short = class.rsplit(target.separator()).next().expect("a name");
        for name in [class, short] {
            assert_eq!(read(target, text, Some(name)).expect("found by its name").class, class, "{name}");
        }
        let windows = text.replace('\n', "\r\n");
        let found = read(target, &windows, None).unwrap_or_else(|error| panic!("{target:?} {error:?}"));
        assert_eq!(found.line, line, "{target:?}");
        let definition =
            if target == Target::Php { found.definition.to_string().replace("\\r\\n", "\\n") } else { found.definition.to_string() };
        assert_eq!(definition, wanted.to_string(), "{target:?}: line ends of Windows");
    }
}

#[test]
fn one_file_may_hold_several_classes() {
    let one =
        |name: &str| super::class(Target::Python, "{\"name\": \"x\"}").replace("class A", &format!("class {name}")).replace('x', name);
    let text = [one("One"), one("Two"), "class Three:\n    pass\n".to_owned()].concat();
    let names: Vec<String> = list(Target::Python, &text).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["One", "Two"]);
    assert_eq!(read(Target::Python, &text, Some("Two")).expect("found").definition, json!({"name": "Two"}));
    assert_eq!(read(Target::Python, &text, Some("app.studio.Two")).expect("found").definition, json!({"name": "Two"}));
    let php = "<?php namespace A { class X implements StudioAgent { static function definition() { return ['n' => 1]; } } }\n\
               namespace B { class X implements StudioAgent { static function definition() { return ['n' => 2]; } } }";
    assert_eq!(read(Target::Php, php, Some("\\B\\X")).expect("found").definition, json!({"n": 2}));
    assert!(super::fault(Target::Php, php, Some("X")).starts_with("Ambiguous 2: "));
}

#[test]
fn every_target_reads_its_plain_shape() {
    for target in Target::ALL {
        let literal = super::map(target, "\"a\"", "\"b\"");
        let text = super::class(target, &literal);
        assert_eq!(read(target, &text, None).unwrap_or_else(|error| panic!("{target:?} {error:?}")).definition, json!({"a": "b"}));
        let other = match target {
            Target::Php | Target::Python | Target::TypeScript => continue,
            Target::Kotlin => text.replace("= mapOf", "{ return mapOf").replace("\n    }", " }\n    }"),
            Target::Swift => text.replace("return ", ""),
            Target::Ruby => text.replace("    {\"a\"", "    return {\"a\""),
            Target::Rust => text.replace("serde_json::json!({", "return json!{ {").replace("})", "} };"),
        };
        assert_eq!(read(target, &other, None).unwrap_or_else(|error| panic!("{other} {error:?}")).definition, json!({"a": "b"}));
    }
    let endless = "class A\n include StudioTool\n def self.definition = {\"a\" => 1}\nend";
    assert_eq!(read(Target::Ruby, endless, None).expect("read").definition, json!({"a": 1}));
    let singleton = "class A\n include StudioTool\n class << self\n def definition; {\"a\" => 1}; end\n end\nend";
    assert_eq!(read(Target::Ruby, singleton, None).expect("read").definition, json!({"a": 1}));
}

#[test]
fn files_are_utf_8_with_a_mark_or_without() {
    assert_eq!(decode(b"\xEF\xBB\xBFa"), Ok("a"));
    for (bytes, line, wanted) in [
        (&b"a\nb\xFF"[..], 2, "no UTF-8"),
        (b"\xFF\xFEa\0", 1, "UTF-16"),
        (b"\xFE\xFF\0a", 1, "UTF-16"),
        (&[b' '; (2 << 20) + 1][..], 1, "2 MiB"),
    ] {
        let error = decode(bytes).expect_err("refused");
        assert_eq!(error.line, line);
        assert!(error.message.contains(wanted), "{error:?}");
    }
}
