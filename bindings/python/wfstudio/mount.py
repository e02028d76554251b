"""Owns how a studio is put into the applications of frameworks: both prefixes at once, marks that see the framework's own request."""

import os

from . import asgi, wsgi


def prefixes(config):
    """What the paths of pages and routes begin with, by the configuration alone; its variables win."""

    def key(path, variable):
        value = config
        for part in path.split("."):
            value = (value or {}).get(part)
        return os.environ.get(variable) or value

    adapters = key("stream_adapters.route_prefix", "STUDIO_STREAM_ADAPTERS_PREFIX") or "api/studio"
    found = [key("route_prefix", "STUDIO_ROUTE_PREFIX") or "studio", adapters]
    found.append(key("usage.export.route_prefix", "STUDIO_USAGE_EXPORT_PREFIX") or adapters)
    return list(dict.fromkeys("/" + one.strip("/") if one.strip("/") else "" for one in found))


def mount(app, studio, marks):
    """Mounts a studio into an application of FastAPI, Starlette, Quart or Flask; gives the application back."""
    if hasattr(app, "asgi_app"):
        return _quart(app, studio, marks)
    if hasattr(app, "wsgi_app"):
        return _flask(app, studio, marks)
    if hasattr(app, "mount") and hasattr(app, "routes"):
        return _starlette(app, studio, marks)
    raise TypeError(f"`{type(app).__name__}` is not known here: mount `wfstudio.asgi.StudioApp` or `wfstudio.wsgi.StudioApp` by hand")


def _seeing(marks, request):
    """Marks that are given what ``request`` makes of a scope."""

    def seen(mark):
        return (lambda scope: mark(request(scope))) if callable(mark) else mark

    return {name: mark if name == "base_url" else seen(mark) for name, mark in marks.items()}


def _starlette(app, studio, marks):
    from starlette.requests import Request
    from starlette.routing import Mount, Route

    routes = asgi.StudioApp(studio, **_seeing(marks, Request))
    for prefix in studio.prefixes():
        # In front of everything else: a route of the application that takes any path must not hide the studio.
        app.router.routes[:0] = [Route(prefix or "/", routes, include_in_schema=False), Mount(prefix, app=routes)]
    return app


def _quart(app, studio, marks):
    from quart.wrappers import Request

    def request(scope):
        from werkzeug.datastructures import Headers

        headers = Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])
        root, version = scope.get("root_path", ""), scope.get("http_version", "1.1")
        return Request(scope["method"], scope.get("scheme", "http"), scope["path"], scope.get("query_string", b""), headers, root, version, scope, send_push_promise=_no_push)

    routes, below, inner = asgi.StudioApp(studio, **_seeing(marks, request)), studio.prefixes(), app.asgi_app

    async def outer(scope, receive, send):
        ours = scope["type"] == "http" and is_below(scope["path"], below)
        await (routes if ours else inner)(scope, receive, send)

    app.asgi_app = outer
    return app


async def _no_push(path, headers):
    pass


def is_below(path, below):
    """The path is one of the studio's."""
    return any(path == prefix or path.startswith(prefix + "/") for prefix in below)


def _flask(app, studio, marks):
    from flask import request

    routes = wsgi.StudioApp(studio, **_seeing(marks, lambda environ: request._get_current_object()))
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    def studio_routes(path=""):
        """Flask takes an application of WSGI for an answer; sessions and what runs before requests are those of the application."""
        return _answer(app, routes, request.environ)

    # Another site cannot send what the studio takes; the application's own token is not in its requests.
    csrf = app.extensions.get("csrf")
    view = csrf.exempt(studio_routes) if csrf else studio_routes
    for number, prefix in enumerate(studio.prefixes()):
        for rule in (prefix, f"{prefix}/", f"{prefix}/<path:path>"):
            endpoint = f"wfstudio{number}{len(rule)}"
            app.add_url_rule(rule, endpoint, view, methods=methods, strict_slashes=False, merge_slashes=False, provide_automatic_options=False)
    return app


def _answer(app, routes, environ):
    told = {}

    def start_response(status, headers, _=None):
        told.update(status=status, headers=headers)

    body = routes(environ, start_response)
    response = app.response_class(body, status=told["status"], headers=told["headers"], direct_passthrough=True)
    if not told["headers"] or all(name.lower() != "content-type" for name, _ in told["headers"]):
        response.headers.pop("content-type", None)
    return response
