#!/usr/bin/env python3
"""Owns bindings/node/src/generated.ts: what bindings/abi.json lists, in TypeScript; and bindings/node/src/wire.ts: events and calls to the host of docs/openapi.json.

    bindings/generate/node.py [--check] [ABI_JSON]
"""

import json
import re
import sys
from pathlib import Path

import client

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "bindings/node/src/generated.ts"
WIRE = ROOT / "bindings/node/src/wire.ts"
# From here, with all that these name.
ROOTS = ["WorkflowEvents", "ChatEvents", "HostCalls", "Problem"]
# Handles are numbers, buffers are memory that the binding owns, callbacks are not used.
TYPES = {
    "struct studio_engine *": "uint64_t ",
    "struct studio_stream *": "uint64_t ",
    "struct studio_engine **": "_Out_ uint64_t *",
    "struct studio_stream **": "_Out_ uint64_t *",
    "struct studio_buf *": "void *",
    "size_t *": "uint64_t *",
}
LISTS = [("Op", "ops", "Operations of `call`."), ("HostOp", "host_ops", "What a host may be asked."), ("EventName", "events", "Events of runs.")]


def functions(abi):
    callbacks = {one["name"]: "void *" for one in abi["types"] if one["kind"] == "callback"}

    def declared(kind, name):
        told = (TYPES | callbacks).get(kind, kind)
        return told + name if told[-1] in " *" else f"{told} {name}"

    for one in abi["functions"]:
        parameters = ", ".join(declared(each["type"], each["name"]) for each in one["parameters"])
        yield one["name"], declared(one["returns"], f"{one['name']}({parameters})")


def text(abi):
    lines = [
        "/** Owns what the library lists: codes, functions, names. Made by `bindings/generate/node.py`; do not edit. */",
        "",
        f"export const ABI_VERSION = {abi['abi']['number']};",
        "",
        "export const CODES = {",
        *(f"  {one['name'].removeprefix('STUDIO_')}: {one['value']}," for one in abi["codes"]),
        "} as const;",
        "",
        "/** Each function, as koffi reads it. */",
        "export const FUNCTIONS = {",
        *(f"  {name}: '{prototype}'," if len(name + prototype) < 133 else f"  {name}:\n    '{prototype}'," for name, prototype in functions(abi)),
        "} as const;",
    ]
    for name, key, note in LISTS:
        members = "\n".join(f"  | '{one['name']}'" for one in abi[key])
        lines += ["", f"/** {note} */", f"export type {name} =", members + ";"]
    return "\n".join(lines) + "\n"


def wire():
    """The shapes that reach an application by the native API."""
    api = json.loads((ROOT / "docs/openapi.json").read_text())
    schemas, needed, found = api["components"]["schemas"], list(ROOTS), []
    while needed:
        name = needed.pop()
        if name not in found:
            found.append(name)
            needed += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))
    part = {"components": {"schemas": {name: schemas[name] for name in found}}}
    return client.schemas(part).replace("client.py", "node.py").replace("the shapes on the wire", "the data of events, the calls to the host and problems")


def keep(path, made):
    if "--check" not in sys.argv:
        path.write_text(made)
    elif not path.exists() or path.read_text() != made:
        sys.exit(f"{path.relative_to(ROOT)} is not as made: run bindings/generate/node.py")


def main():
    named = [one for one in sys.argv[1:] if one != "--check"]
    made = text(json.loads(Path(named[0] if named else ROOT / "bindings/abi.json").read_text()))
    keep(KEPT, made)
    keep(WIRE, wire())


if __name__ == "__main__":
    main()
