"""Owns the mount for ASGI applications (FastAPI, Starlette, Quart, Django)::

    mount = StudioApp(studio, user=lambda scope: {"id": "7"})
    app.mount("/studio", mount)
    app.mount("/api/studio", mount)
"""

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from . import _http


class StudioApp:
    """The studio's routes. ``user``, ``gate``, ``tenant`` and ``authorized`` take the scope of the request and say who asks,
    whether they may enter the pages, for which tenant, and whether the export routes are open to them."""

    def __init__(self, studio, user=None, gate=None, tenant=None, authorized=None, base_url=None, threads=16):
        self._engine = getattr(studio, "engine", studio)
        self._marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}
        self._base_url = base_url
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="studio-http")

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            raise RuntimeError(f"the studio has no {scope['type']} routes")
        head, body = await self._head(scope), b""
        told, stream = None, None
        if _has_body(scope):
            # The engine says first whether the request may come in at all, and how long its body may be.
            told, stream = await self._ask({**head, "expect": "100-continue"}, b"")
            if told["status"] == 100:
                limit, told = told["body_limit"], None
                body, fits = await _body(receive, limit)
                if body is None:
                    return
                told = None if fits else _http.too_large(limit)
        if told is None:
            told, stream = await self._ask(head, body)
        headers = [(name.encode(), value.encode()) for name, value in told["headers"]]
        await send({"type": "http.response.start", "status": told["status"], "headers": headers})
        if stream is None:
            await send({"type": "http.response.body", "body": told.get("body", "").encode()})
        else:
            await _stream(stream, receive, send)

    async def _ask(self, head, body):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, _http.ask, self._engine, head, body)

    async def _head(self, scope):
        raw = scope.get("raw_path")
        path = _http.target(raw.split(b"?", 1)[0]) if raw else quote(scope["path"])
        head = {
            "method": scope["method"],
            "path": path,
            "query": _http.target(scope.get("query_string", b"")),
            "headers": [[name.decode("latin-1"), _http.text(value)] for name, value in scope["headers"]],
        }
        if scope.get("root_path"):
            head["root_path"] = quote(scope["root_path"])
        for name, mark in self._marks.items():
            said = mark(scope) if callable(mark) else mark
            said = await said if inspect.isawaitable(said) else said
            if said is not None:
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


def _has_body(scope):
    names = {name: value for name, value in scope["headers"]}
    return b"transfer-encoding" in names or names.get(b"content-length", b"0") != b"0"


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


async def _stream(stream, receive, send):
    """Sends pieces as they come; a client that leaves ends it."""

    async def left():
        while (await receive())["type"] != "http.disconnect":
            pass

    async def tell():
        async for piece in _pieces(stream):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    tasks = [asyncio.ensure_future(tell()), asyncio.ensure_future(left())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0] in done:
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stream.finish()


async def _pieces(stream):
    """Waits with the event loop where it can watch a descriptor, else in a thread."""
    descriptor = stream.descriptor()
    while True:
        if descriptor >= 0:
            batch = stream.next_batch(0, 0)
        else:
            batch = await asyncio.to_thread(stream.next_batch, 1000, 0)
        if batch is None:
            return
        if batch:
            yield batch
        elif descriptor >= 0 and not await _readable(descriptor):
            descriptor = -1


async def _readable(descriptor):
    """Waits for a descriptor. It is watched only meanwhile: one that stays readable would keep the loop turning while the client is slow.
    False where the loop cannot watch descriptors."""
    loop, watch = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, watch.set)
    except NotImplementedError:
        return False
    try:
        await watch.wait()
    finally:
        loop.remove_reader(descriptor)
    return True
