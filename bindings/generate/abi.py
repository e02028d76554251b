"""Owns what generators share: `bindings/abi.json`, and how a generated file is written or compared.

A generator is a file of this folder that writes what one language lists; `bindings/generate/all [--check]` runs all of them.
"""

import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Callbacks of the library are for C, C++ and Rust: other hosts fetch.
PUSHED = {"studio_log_set", "studio_stream_on_event"}


def read():
    """The description of the C functions; WFSTUDIO_ABI, or a path on the command line, names another file."""
    given = next((one for one in sys.argv[1:] if not one.startswith("-")), os.environ.get("WFSTUDIO_ABI"))
    return json.loads(pathlib.Path(given or ROOT / "bindings/abi.json").read_text())


def description():
    """The description of the HTTP routes."""
    return json.loads((ROOT / "docs/openapi.json").read_text())


def version():
    """The version of the library and of all packages."""
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)


def names(abi, key):
    """The names of a list: ops, host_ops, events, marks, started."""
    return [one if isinstance(one, str) else one["name"] for one in abi[key]]


def fetched(abi):
    """The functions that a host without callbacks calls."""
    return [one for one in abi["functions"] if one["name"] not in PUSHED]


def bare(kind):
    """A C type without `struct`."""
    return " ".join(kind.replace("struct ", "").split())


def keep(path, text):
    """Writes the file, or with `--check` says whether it is as it would be written; the exit code."""
    path = ROOT / path
    if path.exists() and path.read_text() == text:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{path.relative_to(ROOT)} is not as made: run `make generate`", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return 0
