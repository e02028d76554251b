#!/usr/bin/env python3
"""Owns `bindings/python/wfstudio/_generated.py`: what `bindings/abi.json` lists, for ctypes. `--check` only compares."""

import sys

import abi

OUT = "bindings/python/wfstudio/_generated.py"
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


if __name__ == "__main__":
    sys.exit(abi.keep(OUT, text()))
