"""Owns the mount for WSGI applications (Flask, Django)::

    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/studio": mount, "/api/studio": mount})
"""

import http
import json
from urllib.parse import quote


class StudioApp:
    """The studio's routes. ``user``, ``gate``, ``tenant`` and ``authorized`` take the environ of the request and say who asks,
    whether they may enter the pages, for which tenant, and whether the export routes are open to them."""

    def __init__(self, studio, user=None, gate=None, tenant=None, authorized=None, base_url=None):
        self._engine = getattr(studio, "engine", studio)
        self._marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}
        self._base_url = base_url

    def __call__(self, environ, start_response):
        answer = self._engine.http(json.dumps(self._head(environ)), _body(environ))
        told = json.loads(answer.head)
        status = told["status"]
        try:
            line = f"{status} {http.HTTPStatus(status).phrase}"
        except ValueError:
            line = f"{status} Status"
        start_response(line, [(name, value) for name, value in told["headers"]])
        if answer.body is None:
            return [told.get("body", "").encode()]
        return _Pieces(answer.body)

    def _head(self, environ):
        raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
        if raw and raw.startswith("/"):
            path = raw.split("?", 1)[0]
        else:
            path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
        headers = [[name[5:].replace("_", "-"), value] for name, value in environ.items() if name.startswith("HTTP_")]
        headers += [[name.replace("_", "-"), environ[name]] for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)]
        head = {"method": environ["REQUEST_METHOD"], "path": path, "query": environ.get("QUERY_STRING", ""), "headers": headers}
        for name, mark in self._marks.items():
            said = mark(environ) if callable(mark) else mark
            if said is not None:
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


def _body(environ):
    length = environ.get("CONTENT_LENGTH")
    if length:
        return environ["wsgi.input"].read(int(length))
    return environ["wsgi.input"].read() if environ.get("wsgi.input_terminated") else b""


class _Pieces:
    """A body that still comes; the server closes it when the client has gone."""

    def __init__(self, stream):
        self._stream = stream

    def __iter__(self):
        while (batch := self._stream.next_batch(-1, 0)) is not None:
            if batch:
                yield batch

    def close(self):
        self._stream.finish()
