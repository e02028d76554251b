#!/usr/bin/env python3
"""Owns the generated part of the PHP binding: declarations for ext-ffi, codes, exceptions, names of operations and events.

    bindings/generate/php.py [--check]
"""

import sys

import _abi

SOURCE = _abi.ROOT / "bindings/php/src"
HEADER = "<?php\n\n// {owns} Written by bindings/generate/php.py; do not edit.\n\ndeclare(strict_types=1);\n\nnamespace Studio;\n"


def kind(text):
    """The type of a parameter or result. Handles are numbers; bytes are `char`, as ext-ffi lends PHP's strings only as such."""
    text = _abi.bare(text)
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
    abi = _abi.read()
    lines = [HEADER.format(owns="Owns the names and numbers of the C functions."), "/** The C functions of the library, as ext-ffi reads them, and every name that they know. */"]
    lines += ["final class Abi", "{", f"    public const MAJOR = {abi['abi']['major']};", f"    public const MINOR = {abi['abi']['minor']};", ""]
    lines += [f"    public const {one['name'].removeprefix('STUDIO_')} = {one['value']};" for one in abi["codes"]]
    lines += ["", "    /** Operations. */", *constants("OP_", abi["started"] + [one["name"] for one in abi["ops"]])]
    lines += ["", "    /** What the engine asks its host. */", *constants("HOST_", (one["name"] for one in abi["host_ops"]))]
    lines += ["", "    /** Events. */", *constants("EVENT_", (one["name"] for one in abi["events"]))]
    lines += ["", "    /** The class of each error. */", "    public const ERRORS = ["]
    lines += [f"        self::{one['name'].removeprefix('STUDIO_')} => {_abi.pascal(one['name'].removeprefix('STUDIO_'))}Error::class," for one in abi["codes"] if one["error"]]
    lines += ["    ];", "", "    public const PROBE = 'uint32_t studio_abi_version(void); const char *studio_version(void);';", "", "    public const FUNCTIONS = <<<'C'"]
    lines += ["        typedef struct studio_buf { char *data; size_t len; size_t cap; } studio_buf;"]
    lines += [f"        {declaration(one)}" for one in _abi.functions(abi)]
    return "\n".join([*lines, "        C;", "}", ""])


def errors():
    lines = [HEADER.format(owns="Owns the exceptions of negative codes.")]
    for one in _abi.read()["codes"]:
        if one["error"]:
            lines += [f"/** {one['doc']} */", f"final class {_abi.pascal(one['name'].removeprefix('STUDIO_'))}Error extends StudioError\n{{\n}}\n"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(max(_abi.main(SOURCE / "Abi.php", table()), _abi.main(SOURCE / "errors.php", errors())))
