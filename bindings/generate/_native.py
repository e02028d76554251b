"""Owns the reading of `bindings/abi.json` for the generators of Go, C++ and C#: codes, functions, ops, events. WFSTUDIO_ABI, or a path on the command line, names another file."""

import json
import os
import pathlib
import re
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = "--check" in sys.argv


class Code(NamedTuple):
    name: str  # without STUDIO_
    value: int
    text: str


class Parameter(NamedTuple):
    type: str  # as in C, without `struct` and without spaces before `*`
    name: str


class Function(NamedTuple):
    name: str  # without studio_
    result: str
    parameters: list
    text: str


class Abi:
    def __init__(self):
        given = next((one for one in sys.argv[1:] if not one.startswith("-")), None)
        path = given or os.environ.get("WFSTUDIO_ABI") or ROOT / "bindings/abi.json"
        read = json.loads(pathlib.Path(path).read_text())
        self.major, self.minor = read["abi"]["major"], read["abi"]["minor"]
        self.codes = [Code(one["name"].removeprefix("STUDIO_"), one["value"], one["doc"]) for one in read["codes"]]
        self.functions = [_function(one) for one in read["functions"]]
        self.started, self.ops, self.host_ops, self.events = (
            [one if isinstance(one, str) else one["name"] for one in read[key]] for key in ("started", "ops", "host_ops", "events")
        )


def _function(one):
    parameters = [Parameter(_type(parameter["type"]), parameter["name"]) for parameter in one["parameters"]]
    return Function(one["name"].removeprefix("studio_"), _type(one["returns"]), parameters, one["doc"])


def _type(text):
    return re.sub(r" *\*", "*", text.replace("struct ", ""))


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)


def camel(name, first_upper=True):
    text = "".join(part.capitalize() for part in re.split(r"[_.]", name.lower()))
    return text if first_upper else text[0].lower() + text[1:]


def keep(path, text):
    """Writes a file, or with `--check` says whether it is as made; the number of files that are not."""
    path = ROOT / path
    if path.exists() and path.read_text() == text:
        return 0
    if CHECK:
        print(f"{path.relative_to(ROOT)} is not as made: run `make generate`")
        return 1
    path.write_text(text)
    return 0
