#!/usr/bin/env python3
"""Owns what is generated of `bindings/python/wfstudio`: `_generated.py`, what `bindings/abi.json` lists, for ctypes; `_functions.py`, its functions with Python's values;
`types.py`, events and calls to the host of `docs/openapi.json`, for type checkers. `--check` only compares."""

import json
import keyword
import re
import sys

import abi

OUT, FUNCTIONS, TYPES = (f"bindings/python/wfstudio/{name}.py" for name in ("_generated", "_functions", "types"))
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Handles are numbers, so they travel as numbers.
KINDS = {
    "void": "None",
    "int32_t": "c.c_int32",
    "uint32_t": "c.c_uint32",
    "uint64_t": "c.c_uint64",
    "size_t": "c.c_size_t",
    "const char *": "c.c_char_p",
    "const uint8_t *": "c.c_char_p",
    "void *": "c.c_void_p",
    "studio_engine *": "c.c_uint64",
    "studio_stream *": "c.c_uint64",
    "studio_engine **": "c.POINTER(c.c_uint64)",
    "studio_stream **": "c.POINTER(c.c_uint64)",
    "studio_buf *": "c.POINTER(Buffer)",
    "uint64_t *": "c.POINTER(c.c_uint64)",
    "size_t *": "c.POINTER(c.c_size_t)",
}


def kind(text):
    return KINDS.get(abi.bare(text), "c.c_void_p")


def listed(title, names):
    return [f"# {title}", *(f'{prefix}{name.replace(".", "_").upper()} = "{name}"' for prefix, name in names), ""]


def text():
    read = abi.read()
    lines = ['"""Owns what the library lists: functions, codes, names. Written by bindings/generate/python.py; do not edit."""', "", "import ctypes as c", ""]
    lines += [f'VERSION = "{abi.version()}"', f"ABI = ({read['abi']['major']}, {read['abi']['minor']})", ""]
    lines += ["", "class Buffer(c.Structure):", '    """Bytes of the library."""', ""]
    lines += ['    _fields_ = [("data", c.c_void_p), ("len", c.c_size_t), ("cap", c.c_size_t)]', "", ""]
    lines += ["# Results of functions; errors are negative."]
    lines += [f"{one['name'].removeprefix('STUDIO_')} = {one['value']}  # {one['doc']}" for one in read["codes"]]
    errors = [(one["value"], one["name"].removeprefix("STUDIO_").lower()) for one in read["codes"] if one["value"] < 0]
    lines += ["ERRORS = {", *(f'    {value}: "{name}",' for value, name in errors), "}", ""]
    lines += ["# Name, result, parameters.", "FUNCTIONS = ["]
    for one in abi.fetched(read):
        given = ", ".join(kind(parameter["type"]) for parameter in one["parameters"])
        lines.append(f'    ("{one["name"]}", {kind(one["returns"])}, [{given}]),')
    lines += ["]", ""]
    lines += listed("What begins a stream.", [("START_", name) for name in abi.names(read, "started")])
    lines += listed("Operations of `call`.", [("OP_", name) for name in abi.names(read, "ops")])
    lines += listed("What a host may be asked.", [("HOST_", name) for name in abi.names(read, "host_ops")])
    unanswered = ", ".join(f"HOST_{one['name'].replace('.', '_').upper()}" for one in read["host_ops"] if not one["answered"])
    lines += ["# Of these, what no answer is expected to.", f"UNANSWERED = ({unanswered})", ""]
    lines += listed("Names of events.", [("EVENT_", name) for name in abi.names(read, "events")])
    lines += [f"EVENTS = {tuple(abi.names(read, 'events'))!r}".replace("'", '"'), f"MARKS = {tuple(abi.names(read, 'marks'))!r}".replace("'", '"')]
    return "\n".join(lines) + "\n"


HEAD = '''"""Owns the library's functions with Python's values: text, bytes and numbers in; what they fill in comes back. Written by bindings/generate/python.py; do not edit."""

import ctypes as c

from ._calling import checked, filled, lib, sized
'''


def functions():
    """One Python function for each that a host calls; what it gives follows from the roles of the parameters."""
    lines = [HEAD]
    for one in abi.fetched(abi.read()):
        roles = {parameter["role"]: parameter for parameter in one["parameters"]}
        if "in_out_buffer" not in roles:
            lines += ["", *function(one, roles), ""]
    return "\n".join(lines)


def function(one, roles):
    taken, given, before = [], [], []
    for parameter in one["parameters"]:
        role, name = parameter["role"], parameter["name"]
        if role in ("text", "bytes"):
            taken.append(name)
            given.append(f"*sized({name})")
        elif role == "name":
            taken.append(name)
            given.append(f"{name}.encode()")
        elif role in ("callback", "user_data"):
            given.append("None")
        elif role in ("out_handle", "out_count"):
            before.append(f"{name} = c.{'c_uint64' if role == 'out_handle' else 'c_size_t'}()")
            given.append(f"c.byref({name})")
        elif role == "out_numbers":
            before.append(f"{name} = (c.c_uint64 * {parameter['room']})()")
            given.append(name)
        elif role not in ("length", "out_buffer"):
            taken.append(name)
            given.append(name)
    called, result = f"lib.{one['name']}({', '.join(given)})", []
    if "out_buffer" in roles:
        buffer = roles["out_buffer"]["name"]
        if one["waits"] == "timeout_ms":
            result.append("code")
        if buffer != "err":
            result.append("data")
        filled = f"filled({', '.join(['lib.' + one['name'], *given])})"
        if result == ["code", "data"]:
            called, result = filled, []
        else:
            called = f"_, data = {filled}" if "data" in result else filled
    elif one["result"] == "code":
        called = f"checked({called})"
    if "out_handle" in roles:
        result.append(f"{roles['out_handle']['name']}.value")
    if "out_numbers" in roles:
        result.append(f"{roles['out_numbers']['name']}[: {roles['out_count']['name']}.value]")
    if not result and one["returns"] != "void":
        called = f"return {called}"
    returned = [f"return {', '.join(result)}"] if result else []
    head = f"def {one['name'].removeprefix('studio_')}({', '.join(taken)}):"
    return [head, *(f"    {line}" for line in [f'"""{one["doc"].split(". ")[0].rstrip(".")}."""', *before, called, *returned])]


class Types:
    """Schemas as `TypedDict`s; those without a name of their own are called after the member that has them."""

    def __init__(self, schemas):
        self.schemas, self.known, self.lines = schemas, set(), []

    def named(self, name):
        if name not in self.known:
            self.known.add(name)
            schema = self.schemas[name]
            if "properties" in schema:
                self.record(name, schema)
            else:
                told = self.of(schema, name)
                self.lines += [f"{name} = {told}", ""]
        return name

    def record(self, name, schema):
        self.known.add(name)
        needed = set(schema.get("required", []))
        members = {one: self.of(kind, name + one.title().replace("_", "")) for one, kind in schema["properties"].items()}
        if any(not one.isidentifier() or keyword.iskeyword(one) for one in members):
            rows = ", ".join(f'"{one}": {kind!r}' for one, kind in members.items())
            self.lines += ["", f'{name} = TypedDict("{name}", {{{rows}}}, total=False)', ""]
            return
        always = [f"    {one}: {kind}" for one, kind in members.items() if one in needed]
        sometimes = [f"    {one}: {kind}" for one, kind in members.items() if one not in needed]
        above = "TypedDict"
        if always and sometimes:
            above = f"_{name}"
            self.lines += ["", f"class {above}(TypedDict):", *always, ""]
        total = "" if always and not sometimes else ", total=False"
        self.lines += ["", f"class {name}({above}{total}):", *(sometimes or always or ["    pass"]), ""]

    def of(self, schema, name):
        if "$ref" in schema:
            return self.named(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema or "enum" in schema:
            told = [json.dumps(one) if isinstance(one, str) else repr(one) for one in schema.get("enum", [schema.get("const")])]
            return f"Literal[{', '.join(told)}]"
        if "allOf" in schema:
            parts = [self.schemas[one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one for one in [*schema["allOf"], schema]]
            whole = {"properties": {}, "required": []}
            for part in parts:
                whole["properties"] |= part.get("properties", {})
                whole["required"] += part.get("required", [])
            self.record(name, whole)
            return name
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.union(self.of(part, f"{name}{number or ''}") for number, part in enumerate(schema[word]))
        kinds = schema.get("type", "object" if "properties" in schema else None)
        if kinds is None:
            return "Any"
        return self.union(self.kind(kind, schema, name) for kind in (kinds if isinstance(kinds, list) else [kinds]))

    def kind(self, kind, schema, name):
        if kind == "array":
            return f"List[{self.of(schema.get('items', {}), name + 'Item')}]"
        if kind != "object":
            return PLAIN[kind]
        if "properties" in schema:
            self.record(name, schema)
            return name
        more = schema.get("additionalProperties")
        return f"Dict[str, {self.of(more, name + 'Value') if isinstance(more, dict) else 'Any'}]"

    @staticmethod
    def union(parts):
        parts = list(dict.fromkeys(parts))
        return parts[0] if len(parts) == 1 else f"Union[{', '.join(parts)}]"


def types():
    schemas = abi.description()["components"]["schemas"]
    made, events = Types(schemas), []
    for kind in ("Workflow", "Chat"):
        union = []
        for name, schema in schemas[f"{kind}Events"]["properties"].items():
            data, one = made.of(schema, ""), kind + name.title().replace("_", "")
            events += ["", f"class {one}(NamedTuple):", f'    name: Literal["{name}"]', f"    data: {data}", ""]
            union.append(one)
        events += ["", f"{kind}Event = Union[", *(f"    {one}," for one in union), "]", ""]
    calls = [made.of(one["properties"]["payload"], "") for one in schemas["HostCalls"]["properties"].values()]
    head = '"""Owns the shapes of events and of calls to the host, for type checkers: nothing of the package needs it when it runs. Written by bindings/generate/python.py; do not edit."""'
    text = "\n".join([head, "", "from typing import Any, Dict, List, Literal, NamedTuple, TypedDict, Union", "", *made.lines, *events, "RunEvent = Union[WorkflowEvent, ChatEvent]", f"HostPayload = Union[{', '.join(calls)}]"])
    return re.sub("\n{4,}", "\n\n\n", text) + "\n"


if __name__ == "__main__":
    sys.exit(abi.keep(OUT, text()) | abi.keep(FUNCTIONS, functions()) | abi.keep(TYPES, types()))
