"""Owns proof of the mount in Django, under ASGI and WSGI: its marks, its token against forgery, its middleware, bodies, streams, prefixes."""

import threading
import time

import httpx
import pytest
import uvicorn
from werkzeug.serving import make_server

import django
import wfstudio.django
from django.conf import settings
from django.http import HttpResponse
from django.urls import clear_url_caches, path
from servers import cut_off, free_port

urlpatterns = []
seen = []


class Person:
    """What an application's middleware puts into a request."""

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, request):
        request.person = {"id": request.headers["X-Person"]} if "X-Person" in request.headers else None
        seen.append(request.path)
        return self.answer(request)


def _configured():
    if not settings.configured:
        middleware = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware", f"{__name__}.Person"]
        settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none", MIDDLEWARE=middleware, INSTALLED_APPS=["wfstudio.django"])
        django.setup()


def serve_asgi(port):
    from django.core.asgi import get_asgi_application

    server = uvicorn.Server(uvicorn.Config(get_asgi_application(), port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def end():
        server.should_exit = True
        thread.join()

    return end


def serve_wsgi(port):
    from django.core.wsgi import get_wsgi_application

    server = make_server("127.0.0.1", port, get_wsgi_application(), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def end():
        server.shutdown()
        thread.join()

    return end


@pytest.fixture(params=[serve_asgi, serve_wsgi], ids=["asgi", "wsgi"])
def client(request, opened):
    _configured()

    async def gate(asked):
        return {"ada": True, "eve": False}.get((asked.person or {}).get("id"))

    own = path("own", lambda asked: HttpResponse("the application's own page"))
    urlpatterns[:] = [own, *wfstudio.django.urls(opened, user=lambda asked: asked.person, gate=gate)]
    clear_url_caches()
    seen.clear()
    port = free_port()
    end = request.param(port)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, headers={"X-Person": "ada"}) as made:
        yield made
    end()


def test_pages_and_refusals(client):
    for where in ("/studio", "/studio/", "/studio/workflows"):
        page = client.get(where, headers={"accept": "text/html"}, follow_redirects=True)
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert client.get("/own").text == "the application's own page"
    for person, status in (("ada", 200), ("eve", 403)):
        assert client.get("/studio/api/agents", headers={"X-Person": person}).status_code == status, person
    refused = client.get("/studio/api/agents/a%2Fb%0A")
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert "/studio/api/agents" in seen


def test_other_paths_are_the_applications(client):
    for where in ("/studios", "/studio-x/workflows", "/api/studios", "/shop/studio/api/agents"):
        answer = client.get(where)
        assert answer.status_code == 404 and "x-studio-version" not in answer.headers, where


def test_the_token_of_django_is_for_the_applications_own_forms(client):
    assert client.post("/own").status_code == 403
    made = client.post("/studio/api/agents", json={"name": "Zoë's", "provider": "script", "model": "echo"})
    assert made.status_code == 201 and made.json()["name"] == "Zoë's", made.text
    other = client.post("/studio/api/agents", json={"name": "x"}, headers={"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"})
    assert other.status_code == 403, other.text


def test_bodies_and_heads(client):
    large = client.post("/studio/api/agents", json={"name": "x" * (3 << 20)})
    assert large.status_code == 413 and large.headers["content-type"] == "application/problem+json"
    for where in ("/studio/api/settings", "/studio/workflows", "/studio/api/none"):
        head = client.head(where)
        assert head.headers["content-length"] == str(len(client.get(where).content)) and head.content == b""
    sent = bytes(range(256)) * 1000
    made = client.post("/studio/api/attachments", files={"file": ("a.bin", b"\x89PNG\r\n\x1a\n" + sent, "image/png")}, headers={"X-Requested-With": "test"})
    assert made.status_code == 201, made.text
    assert client.get("/studio/api/attachments/file", params={"storage_key": made.json()["storage_key"]}).content[8:] == sent


def test_a_run_is_streamed_and_its_reader_may_leave(client):
    with client.stream("POST", "/studio/workflows/refund/run/stream", json={"message": "Please refund order A-100"}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        assert [line for line in answer.iter_lines() if line.startswith("event: ")][-1] == "event: tool_approval_required"
    with client.stream("POST", "/studio/workflows/refund/run/stream", json={"message": "Please refund order A-101"}) as answer:
        next(answer.iter_raw())
    for _ in range(600):
        runs = client.get("/studio/api/runs").json()["data"]
        if [run["status"] for run in runs] == ["awaiting_tool_approval"] * 2:
            return
        time.sleep(0.05)
    raise AssertionError(runs)


def test_a_body_that_was_cut_off_is_not_taken_for_a_whole_one(client):
    told = cut_off(client.base_url.port, "/studio/workflows/refund/run/stream", b'{"message":"Please refund order A-100"}', 500)
    assert not told or b" 400 " in told.splitlines()[0], told
    assert client.get("/studio/api/runs").json()["data"] == []
