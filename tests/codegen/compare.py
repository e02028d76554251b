"""Compares ``{class: definition}`` on stdin with a file: every class, every value, and the order of keys.

Languages whose only numbers have 64 bits of floating point, and those that read a whole number past 64 bits so, are compared by value.
"""

import json
import sys

expected = json.load(open(sys.argv[1], encoding="utf-8"))
given = json.load(sys.stdin)
loose = sys.argv[2] == "typescript"


def differ(path, want, have):
    if isinstance(want, dict) and isinstance(have, dict):
        # Objects of JavaScript put keys like numbers first.
        same = sorted(want) == sorted(have) if loose else list(want) == list(have)
        if not same:
            return f"{path}: keys {list(want)} are {list(have)}"
        return next(filter(None, (differ(f"{path}.{key}", want[key], have[key]) for key in want)), None)
    if isinstance(want, list) and isinstance(have, list) and len(want) == len(have):
        return next(filter(None, (differ(f"{path}[{at}]", *pair) for at, pair in enumerate(zip(want, have)))), None)
    if isinstance(want, (int, float)) and isinstance(have, (int, float)) and not isinstance(want, bool) and not isinstance(have, bool):
        same = float(want) == float(have) if loose else want == have and type(want) is type(have)
        return None if same else f"{path}: {want!r} is {have!r}"
    return None if want == have and type(want) is type(have) else f"{path}: {want!r} is {have!r}"


problem = differ("", expected, given)
if problem:
    sys.exit(f"{sys.argv[2]}: {problem}")
print(f"{sys.argv[2]}: {len(expected)} classes return what was exported")
