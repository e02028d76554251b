#!/usr/bin/env python3
"""Writes what the Go module lists: codes, operations, events, the C functions. `--check` only compares."""

import shutil
import subprocess
import sys

from _native import Abi, camel, keep, version

TYPES = {
    "const uint8_t*": "*byte",
    "const char*": "*byte",
    "size_t": "uintptr",
    "int32_t": "int32",
    "uint32_t": "uint32",
    "uint64_t": "uint64",
    "uint64_t*": "*uint64",
    "size_t*": "*uintptr",
    "studio_buf*": "*buffer",
    "studio_engine*": "uint64",
    "studio_stream*": "uint64",
    "studio_engine**": "*uint64",
    "studio_stream**": "*uint64",
    "void*": "uintptr",
    "studio_host_fn": "uintptr",
    "studio_destroy_fn": "uintptr",
}
# Callbacks are not for Go: the library never calls into its runtime.
PUSHED = {"log_set", "stream_on_event"}


def go_name(name):
    name = camel(name, first_upper=False)
    return name + "_" if name in ("len", "type", "func") else name


def listed(abi):
    lines = ["// Written by `make generate`; do not edit.", "", "package wfstudio", ""]
    lines += ["// Version is that of this module and of the library that comes with it.", f'const Version = "{version()}"', ""]
    lines += [f"const abiMajor, abiMinor = {abi.major}, {abi.minor}", "", "// Codes of the library.", "const ("]
    for code in abi.codes:
        name = f"Code{camel(code.name)}" if code.value < 0 else f"code{camel(code.name)}"
        kind = " Code" if code.value < 0 else " int32"
        lines += [f"\t// {name}: {code.text}"] if code.value < 0 else []
        lines.append(f"\t{name}{kind} = {code.value}")
    lines += [")", "", "var codeNames = map[Code]string{"]
    lines += [f'\tCode{camel(code.name)}: "{code.name.lower().replace("_", " ")}",' for code in abi.codes if code.value < 0]
    lines += ["}", ""]
    for said, prefix, names in (
        ("What Studio.Call does.", "Op", abi.ops),
        ("What a host may be asked; see HostCall.", "Host", abi.host_ops),
        ("Names of events.", "Event", abi.events),
        ("What begins a stream.", "do", abi.started),
    ):
        lines += [f"// {said}", "const ("] + [f'\t{prefix}{camel(name)} = "{name}"' for name in names] + [")", ""]
    lines += ["// library has the C functions; streams and engines are numbers.", "type library struct {"]
    for function in abi.functions:
        if function.name not in PUSHED:
            lines.append(f"\t{go_name(function.name)} {signature(function)}")
    lines += ["}", ""]
    return "\n".join(lines)


def signature(function):
    taken = ", ".join(f"{go_name(one.name)} {TYPES[one.type]}" for one in function.parameters)
    result = {"void": "", "const char*": " string"}.get(function.result) if function.result in ("void", "const char*") else " " + TYPES[function.result]
    return f"func({taken}){result}"


def purego(abi):
    lines = ["// Written by `make generate`; do not edit.", "", "package wfstudio", ""]
    lines += ["// symbols are where each function goes.", "func (l *library) symbols() map[string]any {", "\treturn map[string]any{"]
    lines += [f'\t\t"studio_{one.name}": &l.{go_name(one.name)},' for one in abi.functions if one.name not in PUSHED]
    return "\n".join(lines + ["\t}", "}", ""])


def formatted(text):
    """As gofmt writes it."""
    return subprocess.run(["gofmt"], input=text, capture_output=True, text=True, check=True).stdout


if shutil.which("gofmt") is None:
    print("skipped: the files of the Go module, there is no gofmt")
    sys.exit(0)
made = {"generated": listed, "generated_purego": purego}
sys.exit(min(1, sum(keep(f"bindings/go/{name}.go", formatted(write(Abi()))) for name, write in made.items())))
