"""Owns proof that a studio lives with its process: servers that fork, green threads, the life of an application, the end of the interpreter."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import typing
import urllib.error
import urllib.request

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import wfstudio
from servers import free_port

APPLICATION = """
import os
import time
import typing
from flask import Flask
from wfstudio import Studio

studio = Studio(environment="local", database={"path": os.environ["DATABASE"]})

@studio.tool
def whoami():
    # Until a file is there.
    while "HOLD" in os.environ and not os.path.exists(os.environ["HOLD"]):
        time.sleep(0.05)
    return os.getpid()

app = Flask("host")
studio.mount(app, gate=True)
app.add_url_rule("/pid", view_func=lambda: str(os.getpid()))
if os.environ.get("USED"):
    # Used before the fork: every worker has to open its own.
    studio.call("health")
"""


def ask(port, path, body=None, seconds=60):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body is not None else None)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return answer.read().decode()


@pytest.fixture
def gunicorn(tmp_path):
    """Starts a server that forks, with its application loaded before."""
    running = []

    def start(*arguments, **variables):
        (tmp_path / "application.py").write_text(APPLICATION)
        port = free_port()
        command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--preload", "--graceful-timeout", "5", *arguments, "application:app"]
        env = {**os.environ, "DATABASE": str(tmp_path / "studio.sqlite"), "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]), **variables}
        process = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.append(process)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                ask(port, "/pid", seconds=1)
                return process, port
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise AssertionError(process.stdout.read().decode())

    yield start
    for process in running:
        process.kill()
        process.wait()


def workflow():
    nodes = [("start", {}), ("tool", {"tool_ref": "host:whoami", "output_key": "pid"}), ("stop", {"reply": "{{pid.result}}"})]
    edges = [{"id": f"e{n}", "source": nodes[n][0], "target": nodes[n + 1][0]} for n in range(2)]
    placed = [{"id": kind, "type": kind, "position": {"x": 0, "y": 0}, "data": data} for kind, data in nodes]
    return {"slug": "who", "name": "Who", "graph": {"version": 1, "nodes": placed, "edges": edges}}


@pytest.mark.parametrize("worker, used", [("sync", "1"), ("gthread", ""), ("gevent", ""), ("gevent", "1")])
def test_every_worker_of_a_server_that_forks_answers_with_its_own_tools(gunicorn, worker, used):
    process, port = gunicorn("--workers", "2", "--threads", "4", "--worker-class", worker, USED=used)
    ask(port, "/studio/api/workflows", workflow())
    told, pids = set(), set()
    for _ in range(8):
        events = ask(port, "/studio/workflows/who/run/stream", {"message": "x"})
        assert "event: trace_completed" in events, events
        told.add(json.loads(events.split("event: trace_completed\ndata: ", 1)[1].split("\n", 1)[0])["reply"])
    # Which worker answers is chance: asked until both have told who they are.
    until = time.monotonic() + 60
    while not (len(pids) == 2 or told <= pids) and time.monotonic() < until:
        pids.add(ask(port, "/pid"))
    assert told and told <= pids, "a tool runs in a process that answers requests"
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0, process.stdout.read().decode()


FORKED = """
import json, os, sys
import wfstudio

studio = wfstudio.Studio(environment="local", database={"path": os.environ["DATABASE"]})
studio.call("health")
if os.fork() == 0:
    studio.shutdown()
    os._exit(0)
idle = os.wait()[1]
if os.fork() == 0:
    # As a module does that only a worker loads.
    studio.tool(name="whoami")(os.getpid)
    studio.call("workflow.save", **json.loads(os.environ["WORKFLOW"]))
    reply = list(studio.run(workflow="who", message="x"))[-1].data["reply"]
    os._exit(0 if reply == str(os.getpid()) else 7)
print(idle, os.wait()[1], flush=True)
"""


def test_a_child_declares_tools_before_it_uses_the_studio_and_ends_without_its_use(program):
    process, told = program(FORKED)
    assert told == "0 0", process.communicate()[1]


def test_green_threads_go_on_while_streams_are_silent(gunicorn, tmp_path):
    go = tmp_path / "go"
    _, port = gunicorn("--workers", "1", "--worker-class", "gevent", HOLD=str(go))
    ask(port, "/studio/api/workflows", workflow())
    begun = threading.Event()
    threads = [threading.Thread(target=lambda: (begun.set(), ask(port, "/studio/workflows/who/run/stream", {"message": "x"}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    for _ in range(5):
        ask(port, "/pid")
    assert all(thread.is_alive() for thread in threads), "others were answered before any stream ended"
    go.touch()
    for thread in threads:
        thread.join()


def test_the_life_of_an_application_is_that_of_the_studio(tmp_path):
    studio = wfstudio.Studio(environment="local", database={"path": str(tmp_path / "studio.sqlite")})
    app = FastAPI(lifespan=studio.lifespan)
    studio.mount(app, gate=lambda request: request.headers.get("x-open") == "yes")
    for _ in range(2):
        # An application that begins again finds its studio open again.
        with TestClient(app, base_url="http://127.0.0.1") as client:
            assert client.get("/studio/api/agents", headers={"x-open": "yes"}).status_code == 200
            assert client.get("/studio/api/agents").status_code == 403
        with pytest.raises(wfstudio.StudioError.Failed) as failed:
            studio.call("health")
        assert failed.value.code == -5


def test_opening_takes_no_engine_into_use(tmp_path):
    """Whoever mounts before a fork leaves the engine untouched: its child takes it over as it is."""
    path = tmp_path / "studio.sqlite"
    studio = wfstudio.Studio(environment="local", database={"path": str(path)})
    before = threading.active_count()
    studio.mount(FastAPI())
    assert not path.exists() and threading.active_count() == before
    studio.shutdown()


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), 2)", "1 / 0"])
def test_the_interpreter_ends_with_a_stream_open_and_a_call_under_way(tmp_path, end):
    program = textwrap.dedent(
        """
        import json, os, signal, sys, threading, time
        import wfstudio

        # Whoever started the tests may have had this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        studio = wfstudio.Studio(environment="local", database={"path": sys.argv[1]})

        @studio.tool
        def whoami():
            time.sleep(3)

        studio.call("workflow.save", **json.loads(sys.argv[2]))
        begun = threading.Event()

        def read():
            try:
                for event in studio.run(workflow="who", message="x"):
                    begun.set()
            except wfstudio.StudioError:
                pass

        threading.Thread(target=read, daemon=True).start()
        assert begun.wait(30)
        """
    )
    done = subprocess.run([sys.executable, "-c", program + end, str(tmp_path / "studio.sqlite"), json.dumps(workflow())], capture_output=True, timeout=60)
    wanted = {"pass": 0, "1 / 0": 1}.get(end)
    assert done.returncode == wanted if wanted is not None else done.returncode in (1, 130, -signal.SIGINT), done.stderr.decode()


SHOP = """
import json, os, signal, sys, threading, time
import wfstudio

# Whoever started the tests may have had this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
studio = wfstudio.Studio(environment="local", database={"path": os.environ["DATABASE"]})

begun = threading.Event()

@studio.tool
def whoami():
    print("begun", flush=True)
    begun.set()
    time.sleep(40)
"""

LOOP = SHOP + """
studio.call("workflow.save", **json.loads(os.environ["WORKFLOW"]))
for event in studio.run(workflow="who", message="x"):
    pass
"""

END = SHOP + """
studio.call("workflow.save", **json.loads(os.environ["WORKFLOW"]))
threading.Thread(target=lambda: list(studio.run(workflow="who", message="x")), daemon=True).start()
begun.wait(30)
"""

MANAGE = """
import sys
from django.conf import settings
from django.core.management import execute_from_command_line

settings.configure(SECRET_KEY="none", INSTALLED_APPS=["wfstudio.django"], WFSTUDIO="shop.studio")
execute_from_command_line(["manage.py", "studio", "work"])
"""


@pytest.fixture
def program(tmp_path):
    """Starts a program of its own."""
    running = []

    def start(text, **variables):
        (tmp_path / "shop.py").write_text(SHOP + "print('open', flush=True)\n")
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "DATABASE": str(tmp_path / "studio.sqlite"), "PYTHONPATH": path, "WORKFLOW": json.dumps(workflow()), **variables}
        process = subprocess.Popen([sys.executable, "-c", text], env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_a_keyboard_interrupt_reaches_a_loop_over_events(program):
    process, told = program(LOOP)
    assert told == "begun", process.stderr.read()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=25)
    assert process.returncode in (1, 130, -signal.SIGINT) and "KeyboardInterrupt" in said, said


def test_a_worker_ends_well_when_it_is_told_to(program):
    process, told = program(MANAGE)
    assert told == "open", process.stderr.read()
    time.sleep(1)  # It waits for its work now.
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=25)
    assert process.returncode == 0, said


def test_a_tool_that_sleeps_does_not_hold_the_end_of_the_interpreter(program):
    process, told = program(END)
    assert told == "begun", process.stderr.read()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said


POOL = """
import json, os, sys, threading, time
before = set(sys.modules)
import wfstudio

heavy = {"asyncio", "dataclasses", "inspect", "pathlib", "typing"} & (set(sys.modules) - before)
studio = wfstudio.Studio(environment="local", database={"path": os.environ["DATABASE"]})
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor()
begun = threading.Event()

@studio.tool
def whoami():
    cancelled = wfstudio.current_call().cancelled
    print(sorted(heavy), flush=True)
    waits = pool.submit(cancelled.wait, 40)
    begun.set()
    return waits.result()

studio.call("workflow.save", **json.loads(os.environ["WORKFLOW"]))
threading.Thread(target=lambda: list(studio.run(workflow="who", message="x")), daemon=True).start()
begun.wait(30)
"""


def test_the_import_loads_little_and_a_pool_that_was_loaded_later_does_not_hold_the_end(program):
    process, told = program(POOL)
    assert told == "[]", "modules that most hosts have loaded anyway, and others do not need"
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said


FORKS = """
import os, threading, time
import wfstudio

def opened():
    return wfstudio.Studio(environment="local", database={"path": ":memory:"})

thread = threading.Thread(target=opened)
thread.start()
time.sleep(float(os.environ["AFTER"]))
child = os.fork()
if child == 0:
    opened()
    os._exit(0)
until = time.monotonic() + 20
ended = 0
while not ended and time.monotonic() < until:
    ended, status = os.waitpid(child, os.WNOHANG)
    time.sleep(0.01)
if not ended:
    os.kill(child, 9)
thread.join()
print(status if ended else "the child hangs", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("after", [0, 0.005, 0.01, 0.02, 0.04])
def test_a_child_opens_a_studio_also_when_another_thread_was_opening_the_first_one(program, after):
    process, told = program(FORKS, AFTER=str(after))
    assert told == "0", process.stderr.read()


LATE = """
import atexit, os
import wfstudio

def late():
    studio = wfstudio.Studio(environment="local", database={"path": os.environ["DATABASE"]})
    print(studio.call("health")["status"], flush=True)

atexit.register(late)
"""


def test_a_studio_opens_while_the_interpreter_ends(program):
    process, told = program(LATE)
    assert told == "ok", process.stderr.read()
    assert process.wait(30) == 0


def test_annotations_of_a_run_can_be_read():
    for function in (wfstudio.Studio.run, wfstudio.Studio.resume):
        assert typing.get_type_hints(function)["return"] is wfstudio.Events
