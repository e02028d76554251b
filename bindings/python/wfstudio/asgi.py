"""Owns the mount for ASGI applications (FastAPI, Starlette, Quart, Django)::

    mount = StudioApp(studio, user=lambda scope: {"id": "7"})
    app.mount("/studio", mount)
    app.mount("/api/studio", mount)
"""

import asyncio
import inspect
from urllib.parse import quote

from . import _http
from ._errors import Failed


class StudioApp:
    """The studio's routes. ``user``, ``gate``, ``tenant`` and ``authorized`` take the scope of the request and say who asks,
    whether they may enter the pages, for which tenant, and whether the export routes are open to them."""

    def __init__(self, studio, user=None, gate=None, tenant=None, authorized=None, base_url=None):
        self._studio = studio
        self._marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}
        self._base_url = base_url

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            raise RuntimeError(f"the studio has no {scope['type']} routes")
        head, body, told, reader = await self._head(scope), b"", None, None
        if has_body(scope):
            # The engine says first whether the request may come in at all, and how long its body may be.
            told, reader = await _http.aask(self._studio, {**head, "expect": _http.PROBED})
            if told["status"] == 100:
                reader.close()
                limit, told = told["body_limit"], None
                body, fits = await _body(receive, limit)
                if body is None:
                    return
                told, reader = None if fits else _http.too_large(limit), None
        if told is not None:
            await _tell(told, reader, send)
        else:
            await _while_here(self._answer(head, body, send), receive)

    async def _answer(self, head, body, send):
        told, reader = await _http.aask(self._studio, head, body)
        await _tell(told, reader, send)

    async def _head(self, scope):
        head = head_of(scope)
        for name, mark in self._marks.items():
            said = mark(scope) if callable(mark) else mark
            said = await said if inspect.isawaitable(said) else said
            # A gate that was asked and says nothing lets nobody in who is merely named.
            if said is not None or (name == "gate" and callable(mark)):
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


def head_of(scope):
    """A request as the engine takes it, without marks."""
    raw = scope.get("raw_path")
    head = {
        "method": scope["method"],
        "path": _http.target(raw.split(b"?", 1)[0]) if raw else quote(scope["path"]),
        "query": _http.target(scope.get("query_string", b"")),
        "headers": [[name.decode("latin-1"), _http.text(value)] for name, value in scope["headers"]],
    }
    if scope.get("root_path"):
        head["root_path"] = quote(scope["root_path"])
    return head


def has_body(scope):
    """A body follows the head, or may: HTTP/2 has no header that says it."""
    names = {name: value for name, value in scope["headers"]}
    if b"transfer-encoding" in names or b"content-length" in names:
        return names.get(b"content-length") != b"0"
    return scope.get("http_version", "1.1") >= "2" and scope["method"] not in ("GET", "HEAD")


async def _body(receive, limit):
    """The body and whether it fits; none when the client has gone."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None, False
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            return b"", False
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts), True


async def _tell(told, reader, send):
    """Sends the head, and pieces as they come."""
    try:
        headers = [(name.encode(), value.encode()) for name, value in told["headers"]]
        await send({"type": "http.response.start", "status": told["status"], "headers": headers})
        if "body" in told or reader is None:
            await send({"type": "http.response.body", "body": _http.whole(told)})
            return
        try:
            async for piece in reader.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Failed as failure:
            if _http.torn(told, failure):
                raise  # The server breaks the connection.
        await send({"type": "http.response.body", "body": b""})
    finally:
        if reader is not None:
            reader.close()


async def _while_here(work, receive):
    """Does the work; a client that leaves ends it."""

    async def left():
        while (await receive())["type"] != "http.disconnect":
            pass

    def gone(ended):
        nonlocal went
        went = working.cancel()
        ended.cancelled() or ended.exception()  # it is heard, whatever it was

    went, cancels = False, getattr(asyncio.current_task(), "cancelling", int)  # Python 3.11 counts them
    before = cancels()
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left())
    leaving.add_done_callback(gone)
    try:
        await working  # cancelled with this request, and awaited then too
    except (asyncio.CancelledError, Exception):
        # How the work ends for a client that has gone is told to nobody. Whoever cancels this request meanwhile is told so.
        if not went or cancels() > before:
            raise
    finally:
        # Its end is not waited for: that takes two more turns of the loop for each request.
        leaving.cancel()
