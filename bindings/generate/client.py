#!/usr/bin/env python3
"""Owns bindings/client/src/generated: schemas, operations and events of docs/openapi.json, in TypeScript.

    bindings/generate/client.py [--check]
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bindings/client/src/generated"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
METHODS = ("get", "post", "put", "patch", "delete")
# The class that requests throw has this name.
NAMES = {"Problem": "ProblemBody"}
# Any other stream is one of a run, which may be either.
EVENTS_OF = {"/workflows/{id}/": "WorkflowEvents", "/agents/": "ChatEvents"}
HEAD = "/** Owns {}. Made by `bindings/generate/client.py`; do not edit. */\n"


def name_of(ref):
    name = ref.rsplit("/", 1)[1]
    return NAMES.get(name, name)


def literal(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else json.dumps(value)


def key(name):
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else literal(name)


def union(parts):
    return " | ".join(dict.fromkeys(parts))


def typed(schema, indent=""):
    """A schema as a type."""
    if "$ref" in schema:
        return name_of(schema["$ref"])
    if "const" in schema:
        return literal(schema["const"])
    if "enum" in schema:
        return union(map(literal, schema["enum"]))
    if "allOf" in schema:
        own = {name: value for name, value in schema.items() if name in ("properties", "required")}
        # Members beside `allOf` hold as well; `required` alone names members of the parts.
        parts = schema["allOf"] + ([own] if "properties" in own else [])
        return " & ".join(f"({one})" if " | " in one and not one.startswith("{") else one for one in (typed(part, indent) for part in parts))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return union(typed(part, indent) for part in schema[word])
    kinds = schema.get("type", "object" if "properties" in schema else None)
    if kinds is None:
        return "unknown"
    return union(kind_of(kind, schema, indent) for kind in (kinds if isinstance(kinds, list) else [kinds]))


def kind_of(kind, schema, indent):
    if kind == "array":
        items = typed(schema.get("items", {}), indent)
        return f"({items})[]" if re.search(r" [|&] ", items) and not items.startswith("{") else f"{items}[]"
    if kind != "object":
        return "Blob" if schema.get("format") == "binary" else PLAIN[kind]
    if "properties" in schema:
        return members(schema["properties"], schema.get("required", []), indent)
    more = schema.get("additionalProperties")
    return f"Record<string, {typed(more, indent) if isinstance(more, dict) else 'unknown'}>"


def note(schema, indent):
    text = schema.get("description") if "$ref" not in schema else None
    return [f"{indent}/** {text.replace('*/', '* /')} */"] if text and len(text) < 140 else []


def wrapped(name, told, indent):
    """A member; a long union goes over several lines."""
    if len(name) + len(told) < 150 or " | " not in told or "{" in told:
        return f"{name} {told};"
    parts = told.split(" | ")
    rows = [" | ".join(parts[at : at + 12]) for at in range(0, len(parts), 12)]
    return name + "".join(f"\n{indent}  | {row}" for row in rows) + ";"


def members(properties, required, indent):
    inner = indent + "  "
    lines = []
    for name, schema in properties.items():
        lines += note(schema, inner)
        lines.append(wrapped(f"{inner}{key(name)}{'' if name in required else '?'}:", typed(schema, inner), inner))
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def schemas(api):
    parts = [HEAD.format("the shapes on the wire")]
    for name, schema in sorted(api["components"]["schemas"].items()):
        parts.append("\n".join([*note(schema, ""), f"export type {NAMES.get(name, name)} = {typed(schema)};"]) + "\n")
    return "\n".join(parts)


def resolved(api, one):
    return api["components"][one["$ref"].split("/")[2]][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one


def content(api, operation):
    """The types of what is answered, and the schema of JSON."""
    found = {}
    for code, response in operation["responses"].items():
        if code.startswith("2"):
            found.update({kind: body.get("schema", {}) for kind, body in resolved(api, response).get("content", {}).items()})
    return found


def told(api, path, methods):
    """Each operation below a path: its key, its arguments, what it answers."""
    for method in METHODS:
        if method not in methods:
            continue
        operation = methods[method]
        answers = content(api, operation)
        parameters = [resolved(api, one) for one in methods.get("parameters", []) + operation.get("parameters", [])]
        fields = {}
        for place in ("path", "query"):
            own = [one for one in parameters if one["in"] == place]
            needed = [one["name"] for one in own if one.get("required")]
            if own:
                fields[place + ("" if needed else "?")] = members({one["name"]: one["schema"] for one in own}, needed, "    ")
        request = resolved(api, operation.get("requestBody", {}))
        for kind, body in request.get("content", {}).items():
            single = request.get("required") and len(request["content"]) == 1
            word = "form" if kind.startswith("multipart/") else "body"
            fields[word + ("" if single else "?")] = "FormData" if word == "form" else typed(body.get("schema", {}), "    ")
        yield f"{method.upper()} {path}", fields, answers


def entry(name, fields):
    lines = [f"    {field}: {kind};" for field, kind in fields.items()]
    return f"  {literal(name)}: {{\n" + "\n".join(lines) + "\n  };"


def operations(api):
    calls, streams = [], []
    for path, methods in api["paths"].items():
        # What other clients speak has a prefix of its own; pages and their files are for browsers.
        if path.startswith(("/api/studio/", "/assets/")):
            continue
        for name, fields, answers in told(api, path, methods):
            if "text/event-stream" in answers:
                events = next((kind for start, kind in EVENTS_OF.items() if path.startswith(start)), "WorkflowEvents | ChatEvents")
                streams.append(entry(name, {**fields, "events": events}))
            elif "application/json" in answers:
                calls.append(entry(name, {**fields, "answer": typed(answers["application/json"], "    ")}))
            elif not answers:
                calls.append(entry(name, {**fields, "answer": "undefined"}))
    text = "\n".join([*calls, *streams])
    named = sorted({NAMES.get(name, name) for name in api["components"]["schemas"]} & set(re.findall(r"\w+", text)))
    used = [name for name in named if re.search(rf"(?<![\w'/.{{-]){name}(?![\w'/}}-])", text)]
    return "\n".join(
        [
            HEAD.format("what can be asked: arguments and answer of each operation, by method and path"),
            "import type {",
            *(f"  {name}," for name in used),
            "} from './schemas.js';",
            "",
            "/** Answered with JSON. */",
            "export interface Operations {",
            *calls,
            "}",
            "",
            "/** Answered with events. */",
            "export interface Streams {",
            *streams,
            "}",
            "",
        ]
    )


def events(api, abi):
    told_of = api["components"]["schemas"]["WorkflowEvents"]["properties"] | api["components"]["schemas"]["ChatEvents"]["properties"]
    names = [one["name"] for one in abi["events"]]
    if set(names) != set(told_of):
        sys.exit(f"abi.json and openapi.json list other events: {sorted(set(names) ^ set(told_of))}")
    lines = [
        HEAD.format("the names of events"),
        "export const EVENTS = [",
        *(f"  {literal(name)}," for name in names),
        "] as const;",
        "",
        "export type EventName = (typeof EVENTS)[number];",
        "",
    ]
    return "\n".join(lines)


def main():
    api = json.loads((ROOT / "docs/openapi.json").read_text())
    abi = json.loads((ROOT / "bindings/abi.json").read_text())
    made = {"schemas.ts": schemas(api), "operations.ts": operations(api), "events.ts": events(api, abi)}
    for name, text in made.items():
        kept = FOLDER / name
        if "--check" not in sys.argv:
            FOLDER.mkdir(parents=True, exist_ok=True)
            kept.write_text(text)
        elif not kept.exists() or kept.read_text() != text:
            sys.exit(f"{kept.relative_to(ROOT)} is not as made: run bindings/generate/client.py")


if __name__ == "__main__":
    main()
