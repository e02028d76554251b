#!/usr/bin/env python3
"""Owns the generated part of the Ruby binding: functions, codes, names of operations and events.

    bindings/generate/ruby.py [--check]
"""

import sys

import _abi

OUT = _abi.ROOT / "bindings/ruby/lib/wfstudio/generated.rb"
SIMPLE = {"int32_t": ":int32", "uint32_t": ":uint32", "uint64_t": ":uint64", "size_t": ":size_t", "void": ":void", "const char *": ":string"}


def kind(text):
    """The type of a parameter or result as the gem `ffi` names it. Handles are numbers, so they travel as numbers."""
    text = _abi.bare(text)
    if text in ("studio_engine *", "studio_stream *"):
        return ":uint64"
    return SIMPLE.get(text, ":pointer")


def may_wait(function):
    """Also what opens: it reads files. Those that a callback may call do not wait."""
    return bool(function["waits"]) or function["name"] in ("studio_engine_open", "studio_engine_shared", "studio_host_set")


def constants(names):
    return [f"    {name.replace('.', '_').upper()} = \"{name}\"" for name in names]


def text():
    abi = _abi.read()
    codes = [(one["name"].removeprefix("STUDIO_"), one["value"], one["doc"]) for one in abi["codes"]]
    lines = ["# Owns the names and numbers of the C functions. Written by bindings/generate/ruby.py; do not edit.", "", "module WfStudio", "  module Native"]
    lines += [f"    ABI = [{abi['abi']['major']}, {abi['abi']['minor']}].freeze"]
    lines += [f"    STUDIO_{name} = {value}" for name, value, _ in codes if value >= 0]
    lines += ["", "    # [name, parameters, result, may wait]: those that may wait are called without the interpreter's lock.", "    FUNCTIONS = ["]
    for function in _abi.functions(abi):
        given = ", ".join(kind(one["type"]) for one in function["parameters"])
        lines.append(f"      [:{function['name']}, [{given}], {kind(function['returns'])}, {str(may_wait(function)).lower()}],")
    lines += ["    ].freeze", "  end", "", "  # Names of operations.", "  module Ops", *constants(dict.fromkeys(abi["started"] + [one["name"] for one in abi["ops"]])), "  end", ""]
    lines += ["  # What the engine asks its host.", "  module HostOps", *constants(one["name"] for one in abi["host_ops"])]
    unanswered = ", ".join(one["name"].replace(".", "_").upper() for one in abi["host_ops"] if not one["answered"])
    lines += [f"    UNANSWERED = [{unanswered}].freeze", "  end", ""]
    lines += ["  # Names of events.", "  module Events", *constants(one["name"] for one in abi["events"]), "  end", ""]
    for name, value, doc in codes:
        if value < 0:
            lines += [f"  # {doc}", f"  class {_abi.pascal(name)} < Error; end", ""]
    lines += ["  # The class of each negative code.", "  ERRORS = {"]
    lines += [f"    {value} => {_abi.pascal(name)}," for name, value, _ in codes if value < 0]
    return "\n".join([*lines, "  }.freeze", "end", ""])


if __name__ == "__main__":
    sys.exit(_abi.main(OUT, text()))
