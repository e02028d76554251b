"""Owns what the generators of Ruby and PHP share: `bindings/abi.json`, and how a generated file is written or compared."""

import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]


def read():
    """The description of the C functions; WFSTUDIO_ABI names another file."""
    return json.loads(pathlib.Path(os.environ.get("WFSTUDIO_ABI") or ROOT / "bindings/abi.json").read_text())


def bare(kind):
    """A C type without `struct` and `const`, spaces before stars."""
    return " ".join(kind.replace("struct ", "").split())


def functions(abi):
    """Those that a host without callbacks calls."""
    without = {"studio_log_set", "studio_stream_on_event"}
    return [one for one in abi["functions"] if one["name"] not in without]


def pascal(name):
    """`NOT_FOUND` and `tool.call` as names of classes."""
    return "".join(part.capitalize() for part in name.replace(".", "_").split("_"))


def main(path, text):
    """Writes the file, or with `--check` says whether it is as it would be written."""
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
        return 0
    if path.exists() and path.read_text() == text:
        return 0
    print(f"{path} is not what the generator writes", file=sys.stderr)
    return 1
