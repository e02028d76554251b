"""Owns what all mounts share: how a request is written for the engine, how large its body may be, refusals as problem documents."""

import json
from urllib.parse import quote

from . import _generated as g
from ._errors import Failed
from ._waiter import LoopReader, Reader

# What may stand in a request target as it is; everything else is percent-encoded.
TARGET = "%/:?#[]@!$&'()*+,;=-._~"
PROBED = "100-continue"


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
    if failure.code == g.CLOSED:
        return problem(503, "Service Unavailable", str(failure))
    return problem(400, "Bad Request", str(failure))


def too_large(limit):
    """The head of the answer to a body that is longer than ``limit`` bytes."""
    return problem(413, "Content Too Large", f"the body is longer than {limit} bytes and was not read to its end; nothing was done")


def unfit(body, length, limit):
    """The head of the answer to a body that is too long (or None for that), or shorter than was announced: its client has gone, and a part is not
    what it meant. None for a body that is neither."""
    if body is None or len(body) > limit:
        return too_large(limit)
    if length and length.isdigit() and len(body) < int(length):
        return problem(400, "Bad Request", "the body ended before its `Content-Length`; nothing was done")
    return None


def _engine(studio):
    """The engine of a studio in this process; an engine is its own."""
    return studio.live().engine if hasattr(studio, "live") else studio


def ask(studio, head, body=b""):
    """The head of the answer, and a reader of the body that follows."""
    try:
        reader = Reader(_engine(studio).start(g.START_HTTP, json.dumps(head), body))
    except Failed as failure:
        return refused(failure), None
    try:
        return json.loads(reader.head()), reader
    except Failed as failure:
        reader.close()
        return refused(failure), None


async def aask(studio, head, body=b"", lasting=True):
    """The same on the event loop that runs here. One that does not last longer than the request is not where tools run."""
    if lasting and hasattr(studio, "on_loop"):
        studio.on_loop()
    try:
        reader = LoopReader(_engine(studio).start(g.START_HTTP, json.dumps(head), body))
    except Failed as failure:
        return refused(failure), None
    try:
        return json.loads(await reader.head()), reader
    except Failed as failure:
        reader.close()
        return refused(failure), None
    except BaseException:
        reader.close()
        raise


def whole(told):
    """The body that an answer's head has."""
    return (told.get("body") or "").encode()


def torn(told, failure):
    """Whether an answer that broke off must be seen to: events are whole, and their readers come again with the position that they have."""
    kind = next((value for name, value in told["headers"] if name.lower() == "content-type"), "")
    return failure.code not in (g.CLOSED, g.CANCELLED) or not kind.startswith("text/event-stream")
