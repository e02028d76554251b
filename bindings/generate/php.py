#!/usr/bin/env python3
"""Owns the generated part of the PHP binding: declarations for ext-ffi, codes, exceptions, names of operations and events.

    bindings/generate/php.py [--check]
"""

import sys

import abi

SOURCE = "bindings/php/src"
HEADER = "<?php\n\n// {owns} Written by bindings/generate/php.py; do not edit.\n\ndeclare(strict_types=1);\n\nnamespace Studio;\n"


def pascal(name):
    """`NOT_FOUND` as the name of a class."""
    return "".join(part.capitalize() for part in name.split("_"))


def kind(text):
    """The type of a parameter or result. Handles are numbers; bytes are `char`, as ext-ffi lends PHP's strings only as such."""
    text = abi.bare(text)
    if text.endswith("_fn"):
        return "void *"
    text = text.replace("uint8_t", "char")
    for handle in ("studio_engine *", "studio_stream *"):
        text = text.replace(handle, "uint64_t ")
    return text.replace("studio_buf *", "studio_buf *").strip()


def declaration(function):
    given = ", ".join(f"{kind(one['type'])} {one['name']}" for one in function["parameters"]) or "void"
    return f"{kind(function['returns'])} {function['name']}({given});"


def constants(prefix, names):
    return [f"    public const {prefix}{name.replace('.', '_').upper()} = '{name}';" for name in dict.fromkeys(names)]


def table():
    read = abi.read()
    lines = [HEADER.format(owns="Owns the names and numbers of the C functions."), "/** The C functions of the library, as ext-ffi reads them, and every name that they know. */"]
    lines += ["final class Abi", "{", "    /** Of the library and of this package. */", f"    public const VERSION = '{abi.version()}';", f"    public const MAJOR = {read['abi']['major']};", f"    public const MINOR = {read['abi']['minor']};", ""]
    lines += [f"    public const {one['name'].removeprefix('STUDIO_')} = {one['value']};" for one in read["codes"]]
    lines += ["", "    /** Operations. */", *constants("OP_", read["started"] + abi.names(read, "ops"))]
    lines += ["", "    /** What the engine asks its host. */", *constants("HOST_", abi.names(read, "host_ops"))]
    lines += ["", "    /** Events. */", *constants("EVENT_", abi.names(read, "events"))]
    lines += ["", "    /** The class of each error. */", "    public const ERRORS = ["]
    lines += [f"        self::{one['name'].removeprefix('STUDIO_')} => {pascal(one['name'].removeprefix('STUDIO_'))}Error::class," for one in read["codes"] if one["error"]]
    lines += ["    ];", "", "    public const PROBE = 'uint32_t studio_abi_version(void); const char *studio_version(void);';", "", "    public const FUNCTIONS = <<<'C'"]
    lines += ["        typedef struct studio_buf { char *data; size_t len; size_t cap; } studio_buf;"]
    lines += [f"        {declaration(one)}" for one in abi.fetched(read)]
    return "\n".join([*lines, "        C;", "}", ""])


def errors():
    lines = [HEADER.format(owns="Owns the exceptions of negative codes.")]
    for one in abi.read()["codes"]:
        if one["error"]:
            lines += [f"/** {one['doc']} */", f"final class {pascal(one['name'].removeprefix('STUDIO_'))}Error extends StudioError\n{{\n}}\n"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(max(abi.keep(f"{SOURCE}/Abi.php", table()), abi.keep(f"{SOURCE}/errors.php", errors())))
