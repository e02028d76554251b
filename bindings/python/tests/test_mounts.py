"""Owns proof that the mounts carry everything: pages, JSON, streams, uploads, refusals, a client that leaves."""

import asyncio
import contextlib
import json
import threading
import time
from wsgiref import simple_server

import fastapi
import flask
import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server

import wfstudio
from servers import cut_off, free_port
from wfstudio import asgi, wsgi

USER = {"id": "7", "name": "Zoë"}


def serve_asgi(studio):
    app = fastapi.FastAPI()

    @app.get("/own")
    def own():
        return "the host's own page"

    mount = asgi.StudioApp(studio, user=lambda scope: USER)
    app.mount("/studio", mount)
    app.mount("/api/studio", mount)
    server = uvicorn.Server(uvicorn.Config(app, port=free_port(), log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def end():
        server.should_exit = True
        thread.join()

    return f"http://127.0.0.1:{server.config.port}", end


def serve_wsgi(studio):
    app = flask.Flask("host")
    app.add_url_rule("/own", view_func=lambda: "the host's own page")
    mount = wsgi.StudioApp(studio, user=lambda environ: USER)
    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/studio": mount, "/api/studio": mount})
    server = make_server("127.0.0.1", free_port(), app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def end():
        server.shutdown()
        thread.join()

    return f"http://127.0.0.1:{server.port}", end


@pytest.fixture(params=[serve_asgi, serve_wsgi], ids=["asgi", "wsgi"])
def client(request, opened):
    base, end = request.param(opened)
    with httpx.Client(base_url=base, timeout=20) as made:
        yield made
    end()


@pytest.mark.parametrize("path", ["/studio", "/studio/", "/studio/workflows/"])
def test_pages_are_found_with_and_without_a_slash(client, path):
    page = client.get(path, headers={"accept": "text/html"}, follow_redirects=True)
    assert page.status_code == 200, page.headers
    assert page.headers["content-type"].startswith("text/html")


def events(client, path, body):
    with client.stream("POST", path, json=body) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = list(answer.iter_lines())
    assert lines[0] == "retry: 2000"
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


def test_json_comes_and_goes_as_it_is(client):
    assert "the host's own page" in client.get("/own").text
    made = client.post("/studio/api/agents", json={"name": "Zoë's \"agent\"\n2", "provider": "script", "model": "echo"})
    assert made.status_code == 201 and made.json()["name"] == "Zoë's \"agent\"\n2", made.text
    assert client.get(f"/studio/api/agents/{made.json()['slug']}").json()["id"] == made.json()["id"]
    found = client.get("/studio/api/agents", params={"q": "Zoë's"}).json()["data"]
    assert [agent["id"] for agent in found] == [made.json()["id"]]
    assert client.delete(f"/studio/api/agents/{made.json()['id']}", headers={"X-Requested-With": "test"}).status_code == 204


def test_refusals_are_problem_documents(client):
    for path, status, code in [("/studio/api/agents/none", 404, "not_found"), ("/studio/api/nothing", 404, "not_found")]:
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    answer = client.post("/studio/api/agents", content=b"{", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")


def test_a_run_is_streamed_paused_and_resumed(client, host):
    told = events(client, "/studio/workflows/refund/run/stream", {"message": "Please refund order A-100"})
    assert told[-1] == "tool_approval_required"
    run = client.get("/studio/api/runs").json()["data"][0]["trace_id"]
    told = events(client, f"/studio/workflows/traces/{run}/resume/stream", {"approval": "approve"})
    assert told[-1] == "trace_completed" and host.refunds == [("A-100", 25)]
    assert client.get(f"/studio/traces/{run}/json").json()["trace"]["status"] == "completed"


def test_files_come_back_byte_for_byte(client):
    sent = bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + bytes(range(256)) * 1000
    made = client.post("/studio/api/attachments", files={"file": ("a.png", sent, "image/png")}, headers={"X-Requested-With": "test"})
    assert made.status_code == 201, made.text
    kept = client.get("/studio/api/attachments/file", params={"storage_key": made.json()["storage_key"]})
    assert kept.content == sent and kept.headers["x-content-type-options"] == "nosniff"


def test_a_client_that_leaves_ends_its_stream_and_not_the_run(client, opened):
    with client.stream("POST", "/studio/workflows/refund/run/stream", json={"message": "I leave at once"}) as answer:
        next(answer.iter_raw())
    for _ in range(600):
        run = client.get("/studio/api/runs").json()["data"][0]
        if run["status"] == "awaiting_tool_approval":
            break
        time.sleep(0.05)
    assert run["status"] == "awaiting_tool_approval", json.dumps(run)


def test_a_body_that_was_cut_off_is_not_taken_for_a_whole_one(client):
    told = cut_off(client.base_url.port, "/studio/workflows/refund/run/stream", b'{"message":"Please refund order A-100"}', 500)
    assert not told or b" 400 " in told.splitlines()[0], told
    assert client.get("/studio/api/runs").json()["data"] == []


class Still:
    """A body that always has more."""

    async def pieces(self):
        for _ in range(2):
            yield b"x"

    def close(self):
        pass


def test_a_slow_reader_leaves_the_event_loop_alone():
    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        await asyncio.sleep(0.5)

    begun = time.process_time()
    asyncio.run(asgi._while_here(asgi._tell({"status": 200, "headers": []}, Still(), send), receive))
    assert time.process_time() - begun < 0.3


@pytest.mark.parametrize("why", ["it leaves", "it breaks off", "the request is cancelled", "the work fails", "the work is done"])
def test_work_for_a_client_ends_with_it(why):
    ended, heard = [], []

    async def work():
        try:
            if why.startswith("the work"):
                return 1 / (why == "the work is done")
            await asyncio.sleep(20)
        finally:
            ended.append(why)

    async def receive():
        await asyncio.sleep(0.05 if why.startswith("it") else 20)
        if why == "it breaks off":
            raise OSError("reset")
        return {"type": "http.disconnect"}

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, told: heard.append(told))
        request = asyncio.ensure_future(asgi._while_here(work(), receive))
        await asyncio.sleep(0.02)
        if why == "the request is cancelled":
            request.cancel()
        await asyncio.wait([request])
        await asyncio.sleep(0)
        told = "cancelled" if request.cancelled() else type(request.exception()).__name__
        return told, len(asyncio.all_tasks())

    told, tasks = asyncio.run(main())
    assert (told, tasks) == ({"the request is cancelled": "cancelled", "the work fails": "ZeroDivisionError"}.get(why, "NoneType"), 1)
    assert ended == [why] and heard == []


@pytest.mark.parametrize("why", ["the work fails at its end", "the task has let a cancel pass before"])
def test_a_client_that_leaves_is_no_failure_of_its_request(why):
    async def work():
        try:
            await asyncio.sleep(20)
        finally:
            if why == "the work fails at its end":
                raise OSError("nobody is there")

    async def receive():
        await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def request():
        if why == "the task has let a cancel pass before":
            asyncio.current_task().cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(20)
        await asgi._while_here(work(), receive)

    async def main():
        task = asyncio.ensure_future(request())
        await asyncio.wait([task])
        return "cancelled" if task.cancelled() else task.exception()

    assert asyncio.run(main()) is None


def test_a_body_is_read_only_as_far_as_it_is_taken(opened):
    read = 0

    async def call(mount, path):
        sent = []

        async def receive():
            nonlocal read
            read += 1 << 20
            return {"type": "http.request", "body": b"x" * (1 << 20), "more_body": True}

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"transfer-encoding", b"chunked"), (b"content-type", b"application/json"), (b"sec-fetch-site", b"same-origin")]
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}
        await mount(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(call(asgi.StudioApp(opened, gate=False), "/studio/api/agents")) == 403
    assert read == 0
    assert asyncio.run(call(asgi.StudioApp(opened, user=USER, gate=True), "/studio/api/agents")) == 413
    assert read < 64 << 20


def test_a_path_before_the_mount_is_taken_off(opened):
    inner, outer = fastapi.FastAPI(), fastapi.FastAPI()
    inner.mount("/studio", asgi.StudioApp(opened, user=USER, gate=True))
    outer.mount("/ai", inner)
    client = TestClient(outer, base_url="http://127.0.0.1")
    assert client.get("/ai/studio/api/agents").status_code == 200
    behind = TestClient(inner, base_url="http://127.0.0.1", root_path="/app")
    assert behind.get("/app/studio/api/agents").status_code == 200


def test_a_request_that_cannot_be_taken_is_a_problem_document(tmp_path):
    own = wfstudio.Studio({"environment": "local", "database": {"path": str(tmp_path / "own.sqlite")}})
    client = TestClient(asgi.StudioApp(own, user=USER, gate=True), base_url="http://127.0.0.1")
    assert client.get('/studio/api/agents?q="x"').status_code == 200
    own.shutdown()
    answer = client.get("/studio/api/agents")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")


@pytest.mark.parametrize("kind, whole", [("text/event-stream", True), ("image/png", False)])
def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(kind, whole):
    closed = wfstudio.StudioError.Failed(-5, "")
    told = {"status": 200, "headers": [["content-type", kind]]}

    class Broken:
        def pieces(self):
            yield b"part"
            raise closed

        def close(self):
            pass

    class LoopBroken(Broken):
        async def pieces(self):
            yield b"part"
            raise closed

    sent = []

    async def send(message):
        sent.append(message)

    if whole:
        assert list(wsgi.Pieces(Broken(), told)) == [b"part"]
        asyncio.run(asgi._tell(told, LoopBroken(), send))
        assert sent[-1] == {"type": "http.response.body", "body": b""}
        return
    with pytest.raises(wfstudio.StudioError.Failed):
        list(wsgi.Pieces(Broken(), told))
    with pytest.raises(wfstudio.StudioError.Failed):
        asyncio.run(asgi._tell(told, LoopBroken(), send))
    assert sent[-1]["more_body"]


def test_a_body_whose_length_nobody_says_is_read():
    """HTTP/2 needs neither of the headers that say so in HTTP/1.1."""
    scope = {"type": "http", "method": "POST", "http_version": "2", "headers": []}
    assert asgi.has_body(scope) and not asgi.has_body({**scope, "method": "GET"}) and not asgi.has_body({**scope, "http_version": "1.1"})
    assert not asgi.has_body({**scope, "headers": [(b"content-length", b"0")]})


def test_a_post_without_a_body_passes_under_a_server_that_invents_its_type(opened):
    """The standard library's server names `text/plain` where the request named no type."""
    mount = wsgi.StudioApp(opened)
    server = simple_server.make_server("127.0.0.1", free_port(), DispatcherMiddleware(flask.Flask("host"), {"/studio": mount, "/api/studio": mount}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        path = f"http://127.0.0.1:{server.server_port}/studio/api/workflows/none/duplicate"
        answer = httpx.post(path, headers={"X-Requested-With": "test"})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text
        answer = httpx.post(path, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text
        answer = httpx.post(path)
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin"), answer.text
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_headers_are_the_same_under_both_interfaces():
    for sent, text in (("Zoë".encode(), "Zoë"), ("Zoë".encode("latin-1"), "Zoë"), (b"plain", "plain")):
        scope = asgi.head_of({"type": "http", "method": "GET", "path": "/", "headers": [(b"x-name", sent)]})
        environ = wsgi.head_of({"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_X_NAME": sent.decode("latin-1")})
        assert scope["headers"] == [["x-name", text]] and environ["headers"] == [["X-NAME", text]]
