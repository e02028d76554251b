"""Owns what counts of an answer: which headers, and what ids, times and addresses become."""

import hashlib
import json
import re

COUNT = {"content-type", "cache-control", "location", "etag", "retry-after", "content-disposition", "content-range", "accept-ranges", "content-security-policy", "allow"}
# Servers take the type off an answer without a body.
BODILESS = {204, 304}
# Of servers and frameworks, not of the studio.
OTHERS = {"x-powered-by", "x-request-id", "x-runtime", "x-process-time"}
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|(?<![\w-])[\w-]{43}(?![\w-])", re.ASCII)
# Two of them may fall together or not, so they have no numbers.
TIMES = [
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"), "«t»"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "«day»"),
    (re.compile(r"(?<=cursor\":\")[A-Za-z0-9_=-]{8,}(?=\")"), "«cursor»"),
]
DURATION = re.compile(r'("(?:\w+_)?(?:ms|seconds)"):\s?\d+(?:\.\d+)?')
ASSET = re.compile(r"(/assets/[\w.-]*?)-[\w-]{8}(\.\w+)")


class Names:
    """What ids and times become: an id that a step saved has its name, others are numbered within an answer by first sight. So a step that is
    left out changes no other."""

    def __init__(self, fixed):
        self._fixed, self.saved = fixed, {}

    def replace(self, text, masks=()):
        fixed = {**{value: f"«{name}»" for name, value in self.saved.items()}, **self._fixed}
        for address, name in sorted(fixed.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(address, name)
        for mask in masks:
            text = re.sub(mask, "«…»", text)
        seen = {}
        text = ID.sub(lambda found: seen.setdefault(found.group(), f"«id{len(seen) + 1}»"), text)
        for pattern, name in TIMES:
            text = pattern.sub(name, text)
        return ASSET.sub(r"\1-«hash»\2", DURATION.sub(r"\1:«ms»", text))


def headers(answer):
    found = []
    for name, value in answer.headers:
        name = name.lower()
        if name == "content-type" and answer.status in BODILESS:
            continue
        if name in COUNT or (name.startswith("x-") and name not in OTHERS):
            if name == "content-type":
                value = re.sub(r";\s*", "; ", value)  # Tomcat leaves the space out
            found.append(f"{name}: {'«version»' if name == 'x-studio-version' else value}")
    return sorted(found)


def whole(value):
    """JSON as all languages can say it: members sorted, numbers that are whole without a fraction."""
    if isinstance(value, dict):
        return {name: whole(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def own(body, step):
    """An answer of the application's own routes: JSON, or a line of JSON each."""
    text = body.decode("utf-8", "replace")
    try:
        lines = [json.loads(text)] if step.get("one") or not text.startswith("{") else [json.loads(line) for line in text.splitlines() if line]
    except ValueError:
        return text
    if len(lines) == 1 and isinstance(lines[0], list):
        lines = [entry for entry in lines[0] if entry.get("op") in step["only"]] if "only" in step else lines[0]
    told = [json.dumps(whole(line), ensure_ascii=False, separators=(",", ":")) for line in lines]
    return "\n".join(sorted(told) if step.get("unsorted") else told)


def shown(answer, step, line, names):
    """An answer as expected files have it."""
    of_studio = not line.split(" ", 1)[1].startswith("/own/")
    head = [str(answer.status), *(headers(answer) if of_studio else [])]
    body = answer.body
    if step.get("body") is False:
        text = ""
    elif not of_studio:
        text = own(body, step)
    else:
        try:
            text = body.decode()
            if len(body) > 200_000:
                raise ValueError
        except ValueError:
            text = f"«{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}»"
    return names.replace("\n".join(head) + "\n\n" + text, step.get("mask", ())).rstrip("\n") + "\n"
