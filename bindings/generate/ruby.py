#!/usr/bin/env python3
"""Owns the generated part of the Ruby binding: functions, codes, names of operations and events.

    bindings/generate/ruby.py [--check]
"""

import sys

import abi

OUT = "bindings/ruby/lib/wfstudio/generated.rb"
SIMPLE = {"int32_t": ":int32", "uint32_t": ":uint32", "uint64_t": ":uint64", "size_t": ":size_t", "void": ":void", "const char *": ":string"}


def pascal(name):
    """`NOT_FOUND` as the name of a class."""
    return "".join(part.capitalize() for part in name.split("_"))


def kind(text):
    """The type of a parameter or result as the gem `ffi` names it. Handles are numbers, so they travel as numbers."""
    text = abi.bare(text)
    if text in ("studio_engine *", "studio_stream *"):
        return ":uint64"
    return SIMPLE.get(text, ":pointer")


def may_wait(function):
    """Also what opens: it reads files. Those that a callback may call do not wait."""
    return bool(function["waits"]) or function["name"] in ("studio_engine_open", "studio_engine_shared", "studio_host_set")


def constants(names):
    return [f"    {name.replace('.', '_').upper()} = \"{name}\"" for name in names]


def text():
    read = abi.read()
    codes = [(one["name"].removeprefix("STUDIO_"), one["value"], one["doc"]) for one in read["codes"]]
    lines = ["# Owns the names and numbers of the C functions. Written by bindings/generate/ruby.py; do not edit.", "", "module WfStudio", "  module Native"]
    lines += [f"    ABI = [{read['abi']['major']}, {read['abi']['minor']}].freeze"]
    lines += [f"    STUDIO_{name} = {value}" for name, value, _ in codes if value >= 0]
    lines += ["", "    # [name, parameters, result, may wait]: those that may wait are called without the interpreter's lock.", "    FUNCTIONS = ["]
    for function in abi.fetched(read):
        given = ", ".join(kind(one["type"]) for one in function["parameters"])
        lines.append(f"      [:{function['name']}, [{given}], {kind(function['returns'])}, {str(may_wait(function)).lower()}],")
    lines += ["    ].freeze", "  end", "", "  # Names of operations.", "  module Ops", *constants(dict.fromkeys(read["started"] + abi.names(read, "ops"))), "  end", ""]
    lines += ["  # What the engine asks its host.", "  module HostOps", *constants(abi.names(read, "host_ops"))]
    unanswered = ", ".join(one["name"].replace(".", "_").upper() for one in read["host_ops"] if not one["answered"])
    lines += [f"    UNANSWERED = [{unanswered}].freeze", "  end", ""]
    lines += ["  # Names of events.", "  module Events", *constants(abi.names(read, "events")), "  end", ""]
    for name, value, doc in codes:
        if value < 0:
            lines += [f"  # {doc}", f"  class {pascal(name)} < Error; end", ""]
    lines += ["  # The class of each negative code.", "  ERRORS = {"]
    lines += [f"    {value} => {pascal(name)}," for name, value, _ in codes if value < 0]
    return "\n".join([*lines, "  }.freeze", "end", ""])


def version():
    return f'# Owns the version, which is the library\'s. Written by bindings/generate/ruby.py; do not edit.\n\nmodule WfStudio\n  VERSION = "{abi.version()}"\nend\n'


if __name__ == "__main__":
    sys.exit(max(abi.keep(OUT, text()), abi.keep("bindings/ruby/lib/wfstudio/version.rb", version())))
