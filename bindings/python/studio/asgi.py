"""Owns the mount for ASGI applications (FastAPI, Starlette, Quart, Django)::

    mount = StudioApp(studio, user=lambda scope: {"id": "7"})
    app.mount("/studio", mount)
    app.mount("/api/studio", mount)
"""

import asyncio
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote


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
        head = await self._head(scope)
        body, here = await _body(receive)
        if not here:
            return
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._pool, self._engine.http, json.dumps(head), body)
        told = json.loads(answer.head)
        headers = [(name.encode(), value.encode()) for name, value in told["headers"]]
        await send({"type": "http.response.start", "status": told["status"], "headers": headers})
        if answer.body is None:
            await send({"type": "http.response.body", "body": told.get("body", "").encode()})
        else:
            await _stream(answer.body, receive, send)

    async def _head(self, scope):
        raw = scope.get("raw_path")
        path = raw.split(b"?", 1)[0].decode("ascii") if raw else quote(scope["path"])
        head = {
            "method": scope["method"],
            "path": path,
            "query": scope.get("query_string", b"").decode("ascii"),
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]],
        }
        for name, mark in self._marks.items():
            said = mark(scope) if callable(mark) else mark
            said = await said if inspect.isawaitable(said) else said
            if said is not None:
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


async def _body(receive):
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"", False
        parts.append(message.get("body", b""))
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
    loop = asyncio.get_running_loop()
    try:
        watch = asyncio.Event()
        loop.add_reader(descriptor, watch.set) if descriptor >= 0 else None
    except NotImplementedError:
        descriptor = -1
    try:
        while True:
            if descriptor >= 0:
                watch.clear()
                batch = stream.next_batch(0, 0)
            else:
                batch = await asyncio.to_thread(stream.next_batch, 1000, 0)
            if batch is None:
                return
            if batch:
                yield batch
            elif descriptor >= 0:
                await watch.wait()
    finally:
        if descriptor >= 0:
            loop.remove_reader(descriptor)
