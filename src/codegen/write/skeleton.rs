//! Owns the skeleton of a host tool: its name, description and input schema, and an empty body.

use serde_json::{Value, json};

use super::names::Names;
use super::{Syntax, WriteError, syntax};
use crate::codegen::{ClassKind, SourceFile, Target};

const DESCRIPTION: &str = "Says to the model what the tool does and when to use it.";

/// What a skeleton is made of.
struct Parts<'a> {
    names: &'a Names,
    header: String,
    /// Literals of the language.
    name: String,
    description: String,
    /// What a call fails with until there is a body.
    unwritten: String,
    syntax: &'a Syntax,
    schema: Value,
}

impl Parts<'_> {
    fn schema(&self, indent: &str) -> String {
        self.syntax.literal(&self.schema, indent)
    }
}

/// The file of a new tool; `name` is what models are shown.
///
/// # Errors
/// The slug is none, or the namespace is none of the language.
pub fn skeleton(target: Target, slug: &str, name: &str, namespace: &str) -> Result<SourceFile, WriteError> {
    let names = Names::of(target, ClassKind::Tool, slug, namespace)?;
    let syntax = syntax(target);
    let text = |text: &str| (syntax.string)(text);
    let parts = Parts {
        header: format!("Workflow Studio: host tool {slug}. Declare it to the studio with its name, description and input schema."),
        name: text(name),
        description: text(DESCRIPTION),
        unwritten: text(&format!("{} has no body yet", names.class)),
        syntax,
        schema: json!({"type": "object", "properties": {"query": {"type": "string", "description": "What is asked"}}, "required": ["query"]}),
        names: &names,
    };
    let text = match target {
        Target::Php => php(&parts),
        Target::Python => python(&parts),
        Target::TypeScript => typescript(&parts),
        Target::Kotlin => kotlin(&parts),
        Target::Swift => swift(&parts),
        Target::Ruby => ruby(&parts),
        Target::Rust => rust(&parts),
    };
    Ok(SourceFile { path: names.path, namespace: names.namespace, class: names.class, text })
}

fn php(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (namespace, class, schema) = (&names.namespace, &names.class, parts.schema("        "));
    format!(
        "<?php

// {header}

declare(strict_types=1);

namespace {namespace};

final class {class}
{{
    public const NAME = {name};

    public const DESCRIPTION = {description};

    public static function inputSchema(): array
    {{
        return {schema};
    }}

    public static function invoke(string $query): mixed
    {{
        throw new \\LogicException({unwritten});
    }}
}}
"
    )
}

fn python(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (class, schema) = (&names.class, parts.schema("    "));
    format!(
        "# {header}


class {class}:
    name = {name}
    description = {description}
    input_schema = {schema}

    @staticmethod
    def invoke(query):
        raise NotImplementedError({unwritten})
"
    )
}

fn typescript(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (class, schema) = (&names.class, parts.schema("  "));
    format!(
        "// {header}

export class {class} {{
  static readonly toolName = {name};

  static readonly description = {description};

  static readonly inputSchema = {schema} as const;

  static async invoke(input: {{ query: string }}): Promise<unknown> {{
    throw new Error({unwritten} + \": \" + input.query);
  }}
}}
"
    )
}

fn kotlin(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (package, class, schema) = (super::kotlin::package(names), &names.class, parts.schema("    "));
    format!(
        "// {header}

package {package}

object {class} {{
    const val NAME = {name}

    const val DESCRIPTION = {description}

    val inputSchema: Map<String, Any?> = {schema}

    fun invoke(input: Map<String, Any?>): Any? {{
        throw NotImplementedError({unwritten} + \": \" + input[\"query\"])
    }}
}}
"
    )
}

fn swift(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (class, schema) = (&names.class, parts.schema("    "));
    format!(
        "// {header}

enum {class} {{
    static let name = {name}

    static let description = {description}

    static let inputSchema: [String: Any?] = {schema}

    struct Unwritten: Error {{
        let message: String
    }}

    static func invoke(_ input: [String: Any?]) throws -> Any? {{
        throw Unwritten(message: {unwritten})
    }}
}}
"
    )
}

fn ruby(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let body = format!(
        "class {class}
  NAME = {name}

  DESCRIPTION = {description}

  def self.input_schema
    {schema}
  end

  def self.invoke(query:)
    raise NotImplementedError, {unwritten} + \": \" + query.to_s
  end
end",
        class = names.class,
        schema = parts.schema("    "),
    );
    format!("# {header}\n\n{}", super::ruby::within(&names.parts, &body))
}

fn rust(parts: &Parts<'_>) -> String {
    let Parts { names, header, name, description, unwritten, .. } = parts;
    let (class, schema) = (&names.class, parts.schema("        "));
    format!(
        "// {header}

use wfstudio::serde_json;

pub struct {class};

impl {class} {{
    pub const NAME: &str = {name};

    pub const DESCRIPTION: &str = {description};

    pub fn input_schema() -> serde_json::Value {{
        serde_json::json!({schema})
    }}

    pub fn invoke(input: &serde_json::Value) -> Result<serde_json::Value, String> {{
        Err(format!(\"{{}}: {{}}\", {unwritten}, input[\"query\"]))
    }}
}}
"
    )
}
