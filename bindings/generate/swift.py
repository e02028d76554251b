#!/usr/bin/env python3
"""Writes what the Swift package lists: operations, calls to the host, events. `--check` only compares; codes come from the header."""

import sys

from _native import Abi, camel, keep

abi = Abi()
lines = ["// Written by `make generate`; do not edit.", ""]
for said, kind, names in (
    ("What `Studio.call` does.", "public enum Operation", abi.ops),
    ("What a host may be asked.", "public enum HostOperation", abi.host_ops),
    ("What happens in a run.", "public enum EventName", abi.events),
    ("What begins a stream.", "enum Begin", abi.started),
):
    access = "public " if kind.startswith("public") else ""
    lines += [f"/// {said}", f"{kind} {{"] + [f'    {access}static let {camel(name, first_upper=False)} = "{name}"' for name in names] + ["}", ""]
sys.exit(keep("bindings/swift/Sources/WfStudio/Generated.swift", "\n".join(lines)))
