#!/usr/bin/env python3
"""Writes what the Go module lists: codes, operations, events, the C functions for purego and for cgo. `--check` only compares."""

import shutil
import subprocess
import sys

from _native import Abi, camel, keep, version

TYPES = {
    "const uint8_t*": ("*byte", "(*C.uint8_t)(unsafe.Pointer({0}))"),
    "const char*": ("*byte", "(*C.char)(unsafe.Pointer({0}))"),
    "size_t": ("uintptr", "C.size_t({0})"),
    "int32_t": ("int32", "C.int32_t({0})"),
    "uint32_t": ("uint32", "C.uint32_t({0})"),
    "uint64_t": ("uint64", "C.uint64_t({0})"),
    "uint64_t*": ("*uint64", "(*C.uint64_t)(unsafe.Pointer({0}))"),
    "size_t*": ("*uintptr", "(*C.size_t)(unsafe.Pointer({0}))"),
    "studio_buf*": ("*buffer", "(*C.studio_buf)(unsafe.Pointer({0}))"),
    "studio_engine*": ("uint64", "C.wfstudio_engine(C.uint64_t({0}))"),
    "studio_stream*": ("uint64", "C.wfstudio_stream(C.uint64_t({0}))"),
    "studio_engine**": ("*uint64", "(**C.studio_engine)(unsafe.Pointer({0}))"),
    "studio_stream**": ("*uint64", "(**C.studio_stream)(unsafe.Pointer({0}))"),
    "void*": ("uintptr", "nil"),
    "studio_host_fn": ("uintptr", "nil"),
    "studio_destroy_fn": ("uintptr", "nil"),
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
    taken = ", ".join(f"{go_name(one.name)} {TYPES[one.type][0]}" for one in function.parameters)
    result = {"void": "", "const char*": " string"}.get(function.result) if function.result in ("void", "const char*") else " " + TYPES[function.result][0]
    return f"func({taken}){result}"


def purego(abi):
    lines = ["// Written by `make generate`; do not edit.", "", "//go:build !wfstudio_cgo", "", "package wfstudio", ""]
    lines += ["// symbols are where each function goes.", "func (l *library) symbols() map[string]any {", "\treturn map[string]any{"]
    lines += [f'\t\t"studio_{one.name}": &l.{go_name(one.name)},' for one in abi.functions if one.name not in PUSHED]
    return "\n".join(lines + ["\t}", "}", ""])


def cgo(abi):
    lines = ["// Written by `make generate`; do not edit.", "", "//go:build wfstudio_cgo", "", "package wfstudio", "", "/*"]
    lines += ["#cgo pkg-config: wfstudio", "#include <wfstudio.h>", "static studio_engine *wfstudio_engine(uint64_t handle) { return (studio_engine *)(uintptr_t)handle; }"]
    lines += ["static studio_stream *wfstudio_stream(uint64_t handle) { return (studio_stream *)(uintptr_t)handle; }", "*/", 'import "C"', "", 'import "unsafe"', ""]
    lines += ["// linked has the functions that the linker found.", "func linked() *library {", "\treturn &library{"]
    for one in abi.functions:
        if one.name in PUSHED:
            continue
        call = f"C.studio_{one.name}({', '.join(TYPES[p.type][1].format(go_name(p.name)) for p in one.parameters)})"
        if one.result == "const char*":
            call = f"C.GoString({call})"
        elif one.result != "void":
            call = f"{TYPES[one.result][0]}({call})"
        lines.append(f"\t\t{go_name(one.name)}: {signature(one)} {{ {'' if one.result == 'void' else 'return '}{call} }},")
    return "\n".join(lines + ["\t}", "}", ""])


def formatted(text):
    """As gofmt writes it."""
    return subprocess.run(["gofmt"], input=text, capture_output=True, text=True, check=True).stdout


if shutil.which("gofmt") is None:
    print("skipped: the files of the Go module, there is no gofmt")
    sys.exit(0)
made = {"generated": listed, "generated_purego": purego, "generated_cgo": cgo}
sys.exit(min(1, sum(keep(f"bindings/go/{name}.go", formatted(write(Abi()))) for name, write in made.items())))
