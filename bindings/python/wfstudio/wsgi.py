"""Owns the mount for WSGI applications (Flask, Django)::

    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/studio": mount, "/api/studio": mount})
"""

import http
from urllib.parse import quote

from . import _http
from ._errors import Failed


class StudioApp:
    """The studio's routes. ``user``, ``gate``, ``tenant`` and ``authorized`` take the environ of the request and say who asks,
    whether they may enter the pages, for which tenant, and whether the export routes are open to them."""

    def __init__(self, studio, user=None, gate=None, tenant=None, authorized=None, base_url=None):
        self._studio = studio
        self._marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}
        self._base_url = base_url

    def __call__(self, environ, start_response):
        told, reader = self._answer(environ)
        start_response(line(told["status"]), [(name, value) for name, value in told["headers"]])
        if "body" in told or reader is None:
            if reader is not None:
                reader.close()
            return [_http.whole(told)]
        return Pieces(reader, told)

    def _answer(self, environ):
        head, body = self._head(environ), b""
        if has_body(environ):
            # The engine says first whether the request may come in at all, and how long its body may be.
            told, reader = _http.ask(self._studio, {**head, "expect": _http.PROBED})
            if told["status"] != 100:
                return told, reader
            reader.close()
            body = _body(environ, told["body_limit"])
            refused = _http.unfit(body, environ.get("CONTENT_LENGTH"), told["body_limit"])
            if refused:
                return refused, None
        return _http.ask(self._studio, head, body)

    def _head(self, environ):
        head = head_of(environ)
        for name, mark in self._marks.items():
            said = mark(environ) if callable(mark) else mark
            # A gate that was asked and says nothing lets nobody in who is merely named.
            if said is not None or (name == "gate" and callable(mark)):
                head[name] = said
        if self._base_url is not None:
            head["base_url"] = self._base_url
        return head


def line(status):
    """The status as WSGI wants it."""
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Status"


def head_of(environ):
    """A request as the engine takes it, without marks."""
    raw = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    if raw and raw.startswith("/"):
        path = _http.target(raw.split("?", 1)[0].encode("latin-1", "replace"))
    else:
        path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
    headers = [[name[5:].replace("_", "-"), _text(value)] for name, value in environ.items() if name.startswith("HTTP_")]
    # Some servers, such as wsgiref, name this type where the request named none.
    is_invented = not has_body(environ) and environ.get("CONTENT_TYPE") == "text/plain"
    kept = ("CONTENT_LENGTH",) if is_invented else ("CONTENT_TYPE", "CONTENT_LENGTH")
    headers += [[name.replace("_", "-"), environ[name]] for name in kept if environ.get(name)]
    query = _http.target(environ.get("QUERY_STRING", "").encode("latin-1", "replace"))
    head = {"method": environ["REQUEST_METHOD"], "path": path, "query": query, "headers": headers}
    if environ.get("SCRIPT_NAME"):
        head["root_path"] = quote(environ["SCRIPT_NAME"].encode("latin-1"))
    return head


def _text(value):
    """A header's value, whose bytes WSGI gives as latin-1."""
    try:
        return _http.text(value.encode("latin-1"))
    except UnicodeEncodeError:
        return value


def has_body(environ):
    """A body follows the head, or may."""
    return environ.get("CONTENT_LENGTH", "0") not in ("", "0") or "HTTP_TRANSFER_ENCODING" in environ


def _body(environ, limit):
    """The body; none when it says that it is longer than ``limit``."""
    length = environ.get("CONTENT_LENGTH")
    if length:
        return environ["wsgi.input"].read(int(length)) if length.isdigit() and int(length) <= limit else None
    return environ["wsgi.input"].read(limit + 1)


class Pieces:
    """A body that still comes; the server closes it when the client has gone."""

    def __init__(self, reader, told):
        self._reader, self._told = reader, told

    def __iter__(self):
        try:
            yield from self._reader.pieces()
        except Failed as failure:
            if _http.torn(self._told, failure):
                raise  # The server breaks the connection.

    def close(self):
        self._reader.close()
