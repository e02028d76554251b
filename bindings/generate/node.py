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
ROOTS = ["WorkflowEvents", "ChatEvents", "HostCalls"]
# How a type is told to the loader. Handles are numbers; buffers are memory that the binding owns.
KINDS = {
    "struct studio_engine *": "handle",
    "struct studio_stream *": "handle",
    "struct studio_engine **": "outHandle",
    "struct studio_stream **": "outHandle",
    "struct studio_buf *": "buffer",
    "const uint8_t *": "bytes",
    "const char *": "text",
    "uint64_t *": "words",
    "size_t *": "words",
    "size_t": "size",
    "int32_t": "int32",
    "uint32_t": "uint32",
    "uint64_t": "uint64",
    "void *": "pointer",
    "void": "void",
}
LISTS = [("Op", "ops", "Operations of `call`."), ("HostOp", "host_ops", "What a host may be asked."), ("EventName", "events", "Events of runs.")]


def functions(abi):
    callbacks = {one["name"] for one in abi["types"] if one["kind"] == "callback"}
    for one in abi["functions"]:
        kinds = ["pointer" if parameter["type"] in callbacks else KINDS[parameter["type"]] for parameter in one["parameters"]]
        yield one["name"], KINDS[one["returns"]], ", ".join(f"'{kind}'" for kind in kinds)


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
        f"export type Kind = {' | '.join(repr(kind) for kind in dict.fromkeys([*KINDS.values()]))};",
        "",
        "/** Result and parameters of each function. */",
        "export const FUNCTIONS = {",
        *(f"  {name}: ['{result}', [{kinds}]]," for name, result, kinds in functions(abi)),
        "} as const satisfies Record<string, readonly [Kind, readonly Kind[]]>;",
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
    return client.schemas(part).replace("client.py", "node.py").replace("the shapes on the wire", "the data of events and the calls to the host")


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
