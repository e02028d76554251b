"""Owns what both mounts share: how a request is written for the engine, how large its body may be, refusals as problem documents."""

import json
from urllib.parse import quote

from . import native

# What may stand in a request target as it is; everything else is percent-encoded.
TARGET = "%/:?#[]@!$&'()*+,;=-._~"
CLOSED = -5


def target(raw):
    """A path or a query as it came, in characters that a request target may have."""
    return quote(raw, safe=TARGET)


def text(value):
    """A header's value; old clients send latin-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def problem(status, title, detail):
    """The head of an answer that tells a problem."""
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
    return {"status": status, "headers": [["content-type", "application/problem+json"]], "body": body}


def refused(failure):
    """The head of the answer to a request that the engine could not take."""
    try:
        detail = json.loads(failure.problem).get("detail") or str(failure)
    except (AttributeError, ValueError):
        detail = str(failure)
    if getattr(failure, "code", 0) == CLOSED:
        return problem(503, "Service Unavailable", detail)
    return problem(400, "Bad Request", detail)


def too_large(limit):
    """The head of the answer to a body that is longer than ``limit`` bytes."""
    return problem(413, "Content Too Large", f"the body is longer than {limit} bytes and was not read to its end; nothing was done")


def ask(engine, head, body=b""):
    """The head of the engine's answer, and its body where that still comes."""
    try:
        answer = engine.http(json.dumps(head), body)
    except native.StudioError as failure:
        return refused(failure), None
    return json.loads(answer.head), answer.body
