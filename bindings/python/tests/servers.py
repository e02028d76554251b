"""Owns the applications of the conformance host: the studio mounted into each framework, and the application's own routes beside it."""

import json
import os
import socket

import anyio.to_thread  # comes with Starlette


def _body(raw):
    return json.loads(raw or b"{}")


def _serve_asgi(app, port, lifespan="auto"):
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan=lifespan, timeout_graceful_shutdown=1)).run()


def _serve_wsgi(app, port):
    if os.environ.get("SERVER") == "prefork":
        return _serve_forked(app, port)
    from werkzeug.serving import make_server

    make_server("127.0.0.1", port, app, threaded=True).serve_forever()


def _serve_forked(app, port):
    """gunicorn, with the application loaded before its workers are forked; a worker that ended is forked anew."""
    from gunicorn.app.base import BaseApplication

    class Loaded(BaseApplication):
        def load_config(self):
            given = {"bind": f"127.0.0.1:{port}", "workers": 4, "threads": 8, "worker_class": "gthread", "preload_app": True, "graceful_timeout": 2, "loglevel": "warning"}
            for name, value in given.items():
                self.cfg.set(name, value)

        def load(self):
            return app

    Loaded().run()


def fastapi(studio, marks, own, port):
    from fastapi import FastAPI, Request, Response

    app = FastAPI(lifespan=studio.lifespan)

    @app.api_route("/own/{what}", methods=["GET", "POST"])
    async def own_route(what: str, request: Request):
        kind, text = await anyio.to_thread.run_sync(own, what, _body(await request.body()))
        return Response(text, media_type=kind)

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def anything(path: str):
        return Response("the application's own page", 404)

    studio.mount(app, **marks)
    _serve_asgi(app, port)


def quart(studio, marks, own, port):
    from quart import Quart, Response, request

    app = Quart("host")
    app.config["MAX_CONTENT_LENGTH"] = None

    @app.route("/own/<what>", methods=["GET", "POST"])
    async def own_route(what):
        kind, text = await anyio.to_thread.run_sync(own, what, _body(await request.get_data()))
        return Response(text, content_type=kind)

    @app.while_serving
    async def life():
        async with studio.lifespan(app):
            yield

    studio.mount(app, **marks)
    _serve_asgi(app, port)


def flask(studio, marks, own, port):
    from flask import Flask, Response, request

    app = Flask("host")

    @app.route("/own/<what>", methods=["GET", "POST"])
    def own_route(what):
        kind, text = own(what, _body(request.get_data()))
        return Response(text, content_type=kind)

    @app.route("/<path:path>")
    def anything(path):
        return Response("the application's own page", 404)

    studio.mount(app, **marks)
    _serve_wsgi(app, port)


def _django(studio, marks, own):
    import django
    from django.conf import settings
    from django.http import HttpResponse
    from django.urls import path

    import wfstudio.django

    def own_route(request, what):
        kind, text = own(what, _body(request.body))
        return HttpResponse(text, content_type=kind)

    middleware = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none", MIDDLEWARE=middleware, INSTALLED_APPS=["wfstudio.django"])
    django.setup()
    from django.views.decorators.csrf import csrf_exempt

    global urlpatterns
    urlpatterns = [path("own/<str:what>", csrf_exempt(own_route)), *wfstudio.django.urls(studio, **marks)]


urlpatterns = []


def django_asgi(studio, marks, own, port):
    _django(studio, marks, own)
    from django.core.asgi import get_asgi_application

    _serve_asgi(get_asgi_application(), port, "off")


def django_wsgi(studio, marks, own, port):
    _django(studio, marks, own)
    from django.core.wsgi import get_wsgi_application

    _serve_wsgi(get_wsgi_application(), port)


def cut_off(port, path, body, announced):
    """The answer to a request whose client leaves before it has sent the body that it announced."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Person: ada\r\nContent-Type: application/json\r\nX-Requested-With: test\r\nContent-Length: {announced}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(head.encode() + body)
        client.shutdown(socket.SHUT_WR)
        told = b""
        while part := client.recv(65536):
            told += part
        return told


def free_port():
    """A port where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


SERVE = {"fastapi": fastapi, "quart": quart, "flask": flask, "django": django_asgi, "django-wsgi": django_wsgi}
