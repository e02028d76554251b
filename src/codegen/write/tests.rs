//! Exported files: what they look like, which names they get, how they write what languages read differently.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::codegen::{ClassKind, Target, WriteError, skeleton, write};

fn small() -> Value {
    json!({"tags": [], "slug": "lead-triage", "name": "Lead triage", "description": null, "graph": {"version": 1, "nodes": [
        {"id": "start_1", "type": "start", "position": {"x": 100, "y": -2.5}, "data": {}}, {"id": "stop_1", "data": {"reply": "a\n$b#{c}"}}]}})
}

fn check(target: Target, wanted: &Expect) {
    let file = write(target, ClassKind::Workflow, &small(), "App\\Studio").expect("a file");
    wanted.assert_eq(&format!("{}\n{}", file.path, file.text));
}
#[test]
fn a_workflow_in_php() {
    check(Target::Php, &expect![[r#"
        Workflows/LeadTriageWorkflow.php
        <?php

        // Workflow Studio: workflow lead-triage. An export writes this file anew.

        declare(strict_types=1);

        namespace App\Studio\Workflows;

        final class LeadTriageWorkflow implements \Studio\StudioWorkflow
        {
            public static function definition(): array
            {
                return [
                    'slug' => 'lead-triage',
                    'name' => 'Lead triage',
                    'graph' => [
                        'version' => 1,
                        'nodes' => [
                            [
                                'id' => 'start_1',
                                'type' => 'start',
                                'position' => ['x' => 100, 'y' => -2.5],
                                'data' => (object) [],
                            ],
                            [
                                'id' => 'stop_1',
                                'data' => ['reply' => "a\n\$b#{c}"],
                            ],
                        ],
                    ],
                    'tags' => [],
                ];
            }
        }
    "#]]);
}
#[test]
fn a_workflow_in_python() {
    check(Target::Python, &expect![[r#"
        workflows/lead_triage_workflow.py
        # Workflow Studio: workflow lead-triage. An export writes this file anew.

        from wfstudio import StudioWorkflow


        class LeadTriageWorkflow(StudioWorkflow):
            @staticmethod
            def definition() -> dict:
                return {
                    "slug": "lead-triage",
                    "name": "Lead triage",
                    "graph": {
                        "version": 1,
                        "nodes": [
                            {
                                "id": "start_1",
                                "type": "start",
                                "position": {"x": 100, "y": -2.5},
                                "data": {},
                            },
                            {
                                "id": "stop_1",
                                "data": {"reply": "a\n$b#{c}"},
                            },
                        ],
                    },
                    "tags": [],
                }
    "#]]);
}
#[test]
fn a_workflow_in_typescript() {
    check(Target::TypeScript, &expect![[r#"
        workflows/LeadTriageWorkflow.ts
        // Workflow Studio: workflow lead-triage. An export writes this file anew.

        import type { StudioWorkflow } from "@wfstudio/host";

        export class LeadTriageWorkflow implements StudioWorkflow {
          static definition() {
            return {
              "slug": "lead-triage",
              "name": "Lead triage",
              "graph": {
                "version": 1,
                "nodes": [
                  {
                    "id": "start_1",
                    "type": "start",
                    "position": { "x": 100, "y": -2.5 },
                    "data": {},
                  },
                  {
                    "id": "stop_1",
                    "data": { "reply": "a\n$b#{c}" },
                  },
                ],
              },
              "tags": [],
            } as const;
          }
        }
    "#]]);
}
#[test]
fn a_workflow_in_kotlin() {
    check(Target::Kotlin, &expect![[r#"
        workflows/LeadTriageWorkflow.kt
        // Workflow Studio: workflow lead-triage. An export writes this file anew.

        package app.studio.workflows

        import wfstudio.StudioWorkflow

        class LeadTriageWorkflow : StudioWorkflow {
            companion object {
                @JvmStatic
                fun definition(): Map<String, Any?> = mapOf(
                    "slug" to "lead-triage",
                    "name" to "Lead triage",
                    "graph" to mapOf(
                        "version" to 1,
                        "nodes" to listOf(
                            mapOf(
                                "id" to "start_1",
                                "type" to "start",
                                "position" to mapOf("x" to 100, "y" to -2.5),
                                "data" to mapOf<String, Any?>(),
                            ),
                            mapOf(
                                "id" to "stop_1",
                                "data" to mapOf("reply" to "a\n\$b#{c}"),
                            ),
                        ),
                    ),
                    "tags" to listOf<Any?>(),
                )
            }
        }
    "#]]);
}
#[test]
fn a_workflow_in_swift() {
    check(Target::Swift, &expect![[r#"
        Workflows/LeadTriageWorkflow.swift
        // Workflow Studio: workflow lead-triage. An export writes this file anew.

        import WfStudio

        final class LeadTriageWorkflow: StudioWorkflow {
            static func definition() -> [String: Any?] {
                return [
                    "slug": "lead-triage",
                    "name": "Lead triage",
                    "graph": [
                        "version": 1,
                        "nodes": [
                            [
                                "id": "start_1",
                                "type": "start",
                                "position": ["x": 100, "y": -2.5] as [String: Any?],
                                "data": [:] as [String: Any?],
                            ] as [String: Any?],
                            [
                                "id": "stop_1",
                                "data": ["reply": "a\n$b#{c}"] as [String: Any?],
                            ] as [String: Any?],
                        ] as [Any?],
                    ] as [String: Any?],
                    "tags": [] as [Any?],
                ]
            }
        }
    "#]]);
}
#[test]
fn a_workflow_in_ruby() {
    check(Target::Ruby, &expect![[r#"
        workflows/lead_triage_workflow.rb
        # Workflow Studio: workflow lead-triage. An export writes this file anew.

        module App
          module Studio
            module Workflows
              class LeadTriageWorkflow
                include ::StudioWorkflow

                def self.definition
                  {
                    "slug" => "lead-triage",
                    "name" => "Lead triage",
                    "graph" => {
                      "version" => 1,
                      "nodes" => [
                        {
                          "id" => "start_1",
                          "type" => "start",
                          "position" => { "x" => 100, "y" => -2.5 },
                          "data" => {},
                        },
                        {
                          "id" => "stop_1",
                          "data" => { "reply" => "a\n$b\#{c}" },
                        },
                      ],
                    },
                    "tags" => [],
                  }
                end
              end
            end
          end
        end
    "#]]);
}
#[test]
fn a_workflow_in_rust() {
    check(Target::Rust, &expect![[r#"
        workflows/lead_triage_workflow.rs
        // Workflow Studio: workflow lead-triage. An export writes this file anew.

        use wfstudio::{StudioWorkflow, serde_json};

        pub struct LeadTriageWorkflow;

        impl StudioWorkflow for LeadTriageWorkflow {
            fn definition() -> serde_json::Value {
                serde_json::json!({
                    "slug": "lead-triage",
                    "name": "Lead triage",
                    "graph": {
                        "version": 1,
                        "nodes": [
                            {
                                "id": "start_1",
                                "type": "start",
                                "position": { "x": 100, "y": (-2.5) },
                                "data": {},
                            },
                            {
                                "id": "stop_1",
                                "data": { "reply": "a\n$b#{c}" },
                            },
                        ],
                    },
                    "tags": [],
                })
            }
        }
    "#]]);
}

#[test]
fn paths_and_classes_follow_from_the_slug() {
    let of = |slug: &str| {
        let mut all = Vec::new();
        for (target, kind) in Target::ALL.into_iter().zip(ClassKind::ALL.into_iter().cycle()) {
            let file = write(target, kind, &json!({"slug": slug}), "App\\in").expect("a file");
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n") && file.text.lines().all(|line| line.trim_end() == line), "{}", file.text);
            all.push(format!("{} {} {}", file.path, file.namespace, file.class));
        }
        all.join("\n")
    };
    expect![[r#"
        Workflows/LeadTriageWorkflow.php App\in\Workflows LeadTriageWorkflow
        agents/lead_triage_agent.py app.in.agents LeadTriageAgent
        tools/LeadTriageTool.ts  LeadTriageTool
        workflows/LeadTriageWorkflow.kt app.in.workflows LeadTriageWorkflow
        Agents/LeadTriageAgent.swift  LeadTriageAgent
        tools/lead_triage_tool.rb App::In::Tools LeadTriageTool
        workflows/lead_triage_workflow.rs  LeadTriageWorkflow"#]].assert_eq(&of("lead-triage"));
    expect![[r#"
        Workflows/N2024A1bWorkflow.php App\in\Workflows N2024A1bWorkflow
        agents/n2024_a_1b_agent.py app.in.agents N2024A1bAgent
        tools/N2024A1bTool.ts  N2024A1bTool
        workflows/N2024A1bWorkflow.kt app.in.workflows N2024A1bWorkflow
        Agents/N2024A1bAgent.swift  N2024A1bAgent
        tools/n2024_a_1b_tool.rb App::In::Tools N2024A1bTool
        workflows/n2024_a_1b_workflow.rs  N2024A1bWorkflow"#]].assert_eq(&of("2024-a-1b"));
    for slug in ["", "A", "a/b", "../x", "a--b", "a\n?>", "é"] {
        assert_eq!(write(Target::Php, ClassKind::Tool, &json!({"slug": slug}), ""), Err(WriteError::NoName), "{slug}");
    }
}

#[test]
fn a_class_that_is_called_like_its_contract_names_that_whole() {
    let line = |target| {
        let file = write(target, ClassKind::Workflow, &json!({"slug": "studio"}), "App").expect("a file").text;
        file.lines().filter(|line| line.contains("StudioWorkflow")).collect::<Vec<_>>().join(" | ")
    };
    let lines: Vec<String> = Target::ALL.into_iter().map(line).collect();
    expect![[r#"
        final class StudioWorkflow implements \Studio\StudioWorkflow
        class StudioWorkflow(wfstudio.StudioWorkflow):
        export class StudioWorkflow implements wfstudio.StudioWorkflow {
        class StudioWorkflow : wfstudio.StudioWorkflow {
        final class StudioWorkflow: WfStudio.StudioWorkflow {
            class StudioWorkflow |       include ::StudioWorkflow
        pub struct StudioWorkflow; | impl wfstudio::StudioWorkflow for StudioWorkflow {"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn namespaces_are_those_of_the_language_or_refused() {
    let namespace = |target, given: &str| write(target, ClassKind::Agent, &json!({"slug": "a"}), given).map(|file| file.namespace);
    assert_eq!(namespace(Target::Php, "\\App::Studio.X/").as_deref(), Ok("App\\Studio\\X\\Agents"));
    assert_eq!(namespace(Target::Php, "").as_deref(), Ok("Agents"));
    assert_eq!(namespace(Target::Ruby, "app\\studio").as_deref(), Ok("App::Studio::Agents"));
    assert_eq!(namespace(Target::Rust, "App").as_deref(), Ok(""));
    for (target, given) in [(Target::Php, "App\\1x"), (Target::Kotlin, "a-b"), (Target::Ruby, "_x"), (Target::Ruby, "END"), (Target::Php, "namespace"),
        (Target::Python, "é"), (Target::Php, "App; exit()")] {
        assert!(matches!(namespace(target, given), Err(WriteError::Namespace { .. })), "{given}");
    }
    let file = write(Target::Kotlin, ClassKind::Agent, &json!({"slug": "a"}), "App.in.When").expect("a file");
    assert!(file.text.contains("\npackage app.`in`.`when`.agents\n"), "{}", file.text);
}

#[test]
fn what_languages_read_differently_is_written_so_that_they_read_the_same() {
    let hostile = json!({"slug": "a", "texts": ["'\"\\", "$a {$b} ${c} #{d} #@e \\(f)", "\u{0}\u{7}\r\n\t", "\u{2028}\u{202e}\u{feff}", "é😀", "\u{10ffff}"],
        "maps": {"": {}, "__proto__": [], "0": {"1": null}}, "numbers": [1.0, -0.0, 1e300, 2_147_483_648_u64, -5, u64::MAX]});
    let mut all = Vec::new();
    for target in Target::ALL {
        let file = write(target, ClassKind::Tool, &hostile, "A").expect("a file").text;
        let from = file.find("\"a\",").or_else(|| file.find("'a',")).expect("a slug");
        all.push(format!("{}: {}", target.name(), file[from..].trim_end()));
    }
    expect![[r#"
        php: 'a',
                    'texts' => [
                        '\'"\\',
                        '$a {$b} ${c} #{d} #@e \\(f)',
                        "\u{0}\u{7}\r\n\t",
                        "\u{2028}\u{202E}\u{FEFF}",
                        'é😀',
                        "\u{10FFFF}",
                    ],
                    'maps' => (object) [
                        '' => (object) [],
                        '__proto__' => [],
                        '0' => (object) ['1' => null],
                    ],
                    'numbers' => [1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615],
                ];
            }
        }
        python: "a",
                    "texts": [
                        "'\"\\",
                        "$a {$b} ${c} #{d} #@e \\(f)",
                        "\u0000\u0007\r\n\t",
                        "\u2028\u202E\uFEFF",
                        "é😀",
                        "\U0010FFFF",
                    ],
                    "maps": {
                        "": {},
                        "__proto__": [],
                        "0": {"1": None},
                    },
                    "numbers": [1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615],
                }
        typescript: "a",
              "texts": [
                "'\"\\",
                "$a {$b} ${c} #{d} #@e \\(f)",
                "\u{0}\u{7}\r\n\t",
                "\u{2028}\u{202E}\u{FEFF}",
                "é😀",
                "\u{10FFFF}",
              ],
              "maps": {
                "": {},
                ["__proto__"]: [],
                "0": { "1": null },
              },
              "numbers": [1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615],
            } as const;
          }
        }
        kotlin: "a",
                    "texts" to listOf(
                        "'\"\\",
                        "\$a {\$b} \${c} #{d} #@e \\(f)",
                        "\u0000\u0007\r\n\t",
                        "\u2028\u202E\uFEFF",
                        "é😀",
                        "\uDBFF\uDFFF",
                    ),
                    "maps" to mapOf(
                        "" to mapOf<String, Any?>(),
                        "__proto__" to listOf<Any?>(),
                        "0" to mapOf("1" to null),
                    ),
                    "numbers" to listOf(1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615UL),
                )
            }
        }
        swift: "a",
                    "texts": [
                        "'\"\\",
                        "$a {$b} ${c} #{d} #@e \\(f)",
                        "\u{0}\u{7}\r\n\t",
                        "\u{2028}\u{202E}\u{FEFF}",
                        "é😀",
                        "\u{10FFFF}",
                    ] as [Any?],
                    "maps": [
                        "": [:] as [String: Any?],
                        "__proto__": [] as [Any?],
                        "0": ["1": nil] as [String: Any?],
                    ] as [String: Any?],
                    "numbers": [1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615 as UInt64] as [Any?],
                ]
            }
        }
        ruby: "a",
                  "texts" => [
                    "'\"\\",
                    "$a {$b} ${c} \#{d} \#@e \\(f)",
                    "\u{0}\u{7}\r\n\t",
                    "\u{2028}\u{202E}\u{FEFF}",
                    "é😀",
                    "\u{10FFFF}",
                  ],
                  "maps" => {
                    "" => {},
                    "__proto__" => [],
                    "0" => { "1" => nil },
                  },
                  "numbers" => [1.0, -0.0, 1e+300, 2147483648, -5, 18446744073709551615],
                }
              end
            end
          end
        end
        rust: "a",
                    "texts": [
                        "'\"\\",
                        "$a {$b} ${c} #{d} #@e \\(f)",
                        "\u{0}\u{7}\r\n\t",
                        "\u{2028}\u{202E}\u{FEFF}",
                        "é😀",
                        "\u{10FFFF}",
                    ],
                    "maps": {
                        "": {},
                        "__proto__": [],
                        "0": { "1": null },
                    },
                    "numbers": [1.0, (-0.0), 1e+300, 2147483648i64, (-5), 18446744073709551615u64],
                })
            }
        }"#]].assert_eq(&all.join("\n"));
}

#[test]
fn what_cannot_be_written_is_refused_and_nothing_else() {
    let number = json!({"slug": "a", "config": [{"x": i64::MIN}]});
    let told = write(Target::Kotlin, ClassKind::Tool, &number, "A").expect_err("refused").to_string();
    assert_eq!(told, "kotlin has no literal for the number -9223372036854775808");
    for target in Target::ALL.into_iter().filter(|target| *target != Target::Kotlin) {
        assert!(write(target, ClassKind::Tool, &number, "A").is_ok(), "{target:?}");
    }
    let nested = |levels: usize| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
    for target in Target::ALL {
        assert!(write(target, ClassKind::Tool, &json!({"slug": "a", "config": nested(95)}), "A").is_ok());
        assert_eq!(write(target, ClassKind::Tool, &json!({"slug": "a", "config": nested(96)}), "A"), Err(WriteError::TooDeep));
    }
}

#[test]
fn a_new_tool_has_its_name_in_every_language() {
    for target in Target::ALL {
        let file = skeleton(target, "lookup-order", "lookup_order", "App\\Studio").expect("a file");
        assert!(file.text.contains("lookup_order") && file.text.contains("invoke") && file.text.contains(&file.class), "{}", file.text);
        assert_eq!(file.class, "LookupOrderTool");
        assert!(file.text.ends_with('\n') && file.text.lines().all(|line| line.trim_end() == line), "{}", file.text);
    }
}
