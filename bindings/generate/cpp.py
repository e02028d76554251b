#!/usr/bin/env python3
"""Writes what the C++ header lists: operations, calls to the host, events. `--check` only compares."""

import sys

from _native import Abi, keep

abi = Abi()
lines = ["// Written by `make generate`; do not edit.", "// Owns the names that the library knows.", "#ifndef WFSTUDIO_NAMES_HPP", "#define WFSTUDIO_NAMES_HPP", ""]
for said, space, names in (
    ("What `Engine::call` does.", "op", abi.ops),
    ("What a host may be asked.", "host_op", abi.host_ops),
    ("What happens in a run.", "event_name", abi.events),
    ("What begins a stream.", "begin", abi.started),
):
    lines += [f"// {said}", f"namespace studio::{space} {{"]
    lines += [f'inline constexpr char {name.replace(".", "_")}[] = "{name}";' for name in names] + ["}", ""]
sys.exit(keep("bindings/cpp/wfstudio_names.hpp", "\n".join([*lines, "#endif", ""])))
