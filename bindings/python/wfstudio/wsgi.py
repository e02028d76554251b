"""Owns the mount for WSGI applications (Flask, Django)::

    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/studio": mount, "/api/studio": mount})
"""

import http
import select
from urllib.parse import quote

from . import _http


class StudioApp:
    """The studio's routes. ``user``, ``gate``, ``tenant`` and ``authorized`` take the environ of the request and say who asks,
    whether they may enter the pages, for which tenant, and whether the export routes are open to them."""

    def __init__(self, studio, user=None, gate=None, tenant=None, authorized=None, base_url=None):
        self._engine = getattr(studio, "engine", studio)
        self._marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}
        self._base_url = base_url

    def __call__(self, environ, start_response):
        told, stream = self._answer(environ)
        status = told["status"]
        try:
            line = f"{status} {http.HTTPStatus(status).phrase}"
        except ValueError:
            line = f"{status} Status"
        start_response(line, [(name, value) for name, value in told["headers"]])
        if stream is None:
            return [told.get("body", "").encode()]
        return _Pieces(stream)

    def _answer(self, environ):
        head, body = self._head(environ), b""
        if environ.get("CONTENT_LENGTH") or environ.get("wsgi.input_terminated"):
            # The engine says first whether the request may come in at all, and how long its body may be.
            told, stream = _http.ask(self._engine, {**head, "expect": "100-continue"})
            if told["status"] != 100:
                return told, stream
            body = _body(environ, told["body_limit"])
            if body is None:
                return _http.too_large(told["body_limit"]), None
        return _http.ask(self._engine, head, body)

    def _head(self, environ):
        raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
        if raw and raw.startswith("/"):
            path = _http.target(raw.split("?", 1)[0].encode("latin-1", "replace"))
        else:
            path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
        headers = [[name[5:].replace("_", "-"), value] for name, value in environ.items() if name.startswith("HTTP_")]
        headers += [[name.replace("_", "-"), environ[name]] for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)]
        head = {"method": environ["REQUEST_METHOD"], "path": path, "query": _http.target(environ.get("QUERY_STRING", "").encode("latin-1", "replace")), "headers": headers}
        if environ.get("SCRIPT_NAME"):
            head["root_path"] = quote(environ["SCRIPT_NAME"].encode("latin-1"))
        for name, mark in self._marks.items():
            said = mark(environ) if callable(mark) else mark
            if said is not None:
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


def _body(environ, limit):
    """The body; none when it is longer than ``limit``."""
    length = environ.get("CONTENT_LENGTH")
    if length:
        return environ["wsgi.input"].read(int(length)) if length.isdigit() and int(length) <= limit else None
    body = environ["wsgi.input"].read(limit + 1)
    return body if len(body) <= limit else None


class _Pieces:
    """A body that still comes; the server closes it when the client has gone."""

    def __init__(self, stream):
        self._stream = stream

    def __iter__(self):
        descriptor = self._stream.descriptor()
        watched = select.poll() if descriptor >= 0 and hasattr(select, "poll") else None
        if watched:
            watched.register(descriptor, select.POLLIN)
        # Waited for with `poll`, which servers with green threads replace; a wait inside the library would stop all of them.
        while (batch := self._stream.next_batch(0 if watched else -1, 0)) is not None:
            if batch:
                yield batch
            elif watched:
                watched.poll()

    def close(self):
        self._stream.finish()
