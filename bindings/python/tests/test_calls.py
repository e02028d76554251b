"""Owns proof of what becomes of calls to the host when things go wrong: cancelled before they began, engines of one name, a taker that fails."""

import asyncio
import gc
import json
import logging
import os
import signal
import threading
import time
import weakref
from decimal import Decimal

import pytest

import wfstudio
from wfstudio.host import Call, Calls, _with


def workflow(slug, tool):
    at = {"position": {"x": 0, "y": 0}}
    edge = {"sourceHandle": "default", "targetHandle": "default"}
    nodes = [
        {"id": "start", "type": "start", "data": {}, **at},
        {"id": "tool", "type": "tool", "data": {"tool_ref": f"host:{tool}", "output_key": "said"}, **at},
        {"id": "stop", "type": "stop", "data": {"reply": "{{said}}"}, **at},
    ]
    edges = [{"id": "a", "source": "start", "target": "tool", **edge}, {"id": "b", "source": "tool", "target": "stop", **edge}]
    return {"slug": slug, "name": slug, "graph": {"version": 1, "nodes": nodes, "edges": edges}}


def config(tmp_path, name="studio"):
    return {"environment": "local", "database": {"path": str(tmp_path / f"{name}.sqlite")}}


def test_a_call_that_is_no_longer_wanted_before_it_begins_is_not_run(tmp_path):
    studio = wfstudio.Studio(config(tmp_path), wfstudio.Host(workers=1))
    begun, leave, ran = threading.Event(), threading.Event(), []

    @studio.tool(input_schema={"type": "object"})
    def slow(**_):
        begun.set()
        leave.wait(20)

    @studio.tool(timeout_ms=300, input_schema={"type": "object"})
    def pay(**_):
        ran.append("plain")

    @studio.tool(timeout_ms=300, input_schema={"type": "object"})
    async def apay(**_):
        ran.append("async")

    try:
        for name in ("slow", "pay", "apay"):
            studio.call("workflow.save", **workflow(name, name))
        first = threading.Thread(target=lambda: list(studio.run(workflow="slow", message="x")))
        first.start()
        assert begun.wait(10)
        for name in ("pay", "apay"):
            assert list(studio.run(workflow=name, message="x"))[-1].name != "trace_completed"
        leave.set()
        first.join()
        # The one thread is free again: what waits for it comes before this.
        studio.call("workflow.save", **workflow("last", "slow"))
        list(studio.run(workflow="last", message="x"))
        assert ran == []
    finally:
        leave.set()
        studio.shutdown()


class Told:
    """An engine that is told answers, and refuses results when it is said to."""

    def __init__(self, refuses=False):
        self.answers, self.refuses = [], refuses

    def complete_host_call(self, _, ok, answer):
        if self.refuses and ok == 1:
            raise wfstudio.StudioError.Failed(-1, "{}")
        self.answers.append((ok, json.loads(answer)))


def answered(op, work, refuses=False):
    host, engine = wfstudio.Host(workers=1), Told(refuses)
    (host.tool(name="odd", input_schema={"type": "object"}) if op == "tool.call" else host.answers(op))(work)
    calls = Calls(host, engine)
    calls._answer(Call({"op": op, "call_id": 1, "payload": {"name": "odd", "arguments": {}}}))
    calls.close()
    assert len(engine.answers) == 1
    return engine.answers[0]


def circle():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("result", "why", "refuses"),
    [({1}, "set", False), (Decimal("1.5"), "Decimal", False), (float("nan"), "JSON compliant", False), (circle(), "Circular", False), ("x\ud83d", "does not read", True)],
)
def test_a_tool_that_ran_is_not_told_as_one_that_failed(result, why, refuses):
    async def later(**_):
        return result

    for work in (lambda **_: result, later):
        ok, told = answered("tool.call", work, refuses)
        assert (ok, told["ran"]) == (0, True)
        assert told["message"].startswith("the tool ran, but its result could not be written as JSON (") and why in told["message"]
    ok, told = answered("gate", lambda _: result, refuses)
    assert ok == 0 and "ran" not in told


def test_a_tool_that_raises_is_told_as_one_that_failed():
    def till(**_):
        raise TypeError("the till is empty")

    assert answered("tool.call", till) == (0, {"message": "TypeError: the till is empty"})


def test_a_failure_whose_text_fails_is_told_all_the_same():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    def till(**_):
        raise Mute

    assert answered("tool.call", till) == (0, {"message": "Mute"})


def test_who_may_enter_does_not_wait_behind_models():
    host, engine, written, told = wfstudio.Host(workers=4), Told(), threading.Event(), threading.Event()
    host.answers("provider.chat")(lambda _: written.wait(20))
    host.answers("gate")(lambda _: told.set())
    calls = Calls(host, engine)
    try:
        for number in range(8):
            calls.take({"op": "provider.chat", "call_id": number, "payload": {}})
        calls.take({"op": "gate", "call_id": 9, "payload": {}})
        assert told.wait(5)
    finally:
        written.set()
        calls.close()


def test_a_call_that_comes_after_the_end_is_refused_and_leaves_no_thread():
    host, engine, ran = wfstudio.Host(), Told(), []
    host.answers("gate")(lambda _: ran.append(1))
    calls = Calls(host, engine)
    calls.close()
    before = set(threading.enumerate())
    calls.take({"op": "gate", "call_id": 1, "payload": {}})
    assert set(threading.enumerate()) == before and ran == []
    assert engine.answers == [(0, {"message": "the studio was closed; nothing was done"})]
    host.answers("log")(lambda _: ran.append(1))
    calls.take({"op": "log", "call_id": 2, "payload": {}})
    assert len(engine.answers) == 1 and ran == []


def names(host):
    return [tool["name"] for tool in host.declaration()["tools"]]


def test_what_one_thread_is_refused_takes_nothing_back_of_another():
    host, refusing, other = wfstudio.Host(), threading.Event(), threading.Event()

    def add(name):
        host.tool(name=name, input_schema={"type": "object"})(lambda **_: name)

    def refused():
        with pytest.raises(ValueError, match="refused"):
            add("left")

    def declare():
        if threading.current_thread() is first:
            refusing.set()
            other.wait(0.5)
            raise ValueError("refused")
        other.set()

    host.on_change(declare)
    first = threading.Thread(target=refused)
    first.start()
    assert refusing.wait(10)
    add("right")
    first.join(10)
    assert names(host) == ["right"]


def test_what_one_engine_refuses_is_taken_back_from_another():
    host, told = wfstudio.Host(), []

    def refuse():
        raise ValueError("refused")

    host.on_change(lambda: told.append(names(host)))
    host.on_change(refuse)
    with pytest.raises(ValueError, match="refused"):
        host.tool(name="left", input_schema={"type": "object"})(lambda **_: "left")
    assert told == [["left"], []] and names(host) == []


def test_a_closed_studio_refuses_nothing_of_a_host_that_others_have(tmp_path):
    host = wfstudio.Host()
    first, second = wfstudio.Studio(config(tmp_path), host), wfstudio.Studio(config(tmp_path, "second"), host)
    try:
        second.shutdown()
        first.tool(name="left", input_schema={"type": "object"})(lambda **_: "left")
        assert names(host) == ["left"]
        first.call("workflow.save", **workflow("left", "left"))
        assert list(first.run(workflow="left", message="x"))[-1].name == "trace_completed"
    finally:
        first.shutdown()


def test_what_was_refused_is_not_declared_again(tmp_path):
    studio = wfstudio.Studio(config(tmp_path))
    with pytest.raises(wfstudio.StudioError.Failed):
        studio.answers("gates")(lambda _: None)
    studio.tool(name="left", input_schema={"type": "object"})(lambda **_: "left")
    assert [tool["name"] for tool in studio.host.declaration()["tools"]] == ["left"]
    studio.shutdown()


def test_studios_of_one_name_are_one_engine_with_the_tools_of_both(tmp_path):
    first, second = (wfstudio.Studio(config(tmp_path), name="one") for _ in range(2))
    first.tool(name="left", input_schema={"type": "object"})(lambda **_: "from the left")
    second.tool(name="right", input_schema={"type": "object"})(lambda **_: "from the right")
    try:
        first.start()
        second.start()

        async def ask():
            for _ in range(40):
                assert (await asyncio.wait_for(first.acall("health"), 5))["status"] == "ok"
                assert (await asyncio.wait_for(second.acall("health"), 5))["status"] == "ok"

        asyncio.run(ask())
        for name, studio in (("left", second), ("right", first)):
            studio.call("workflow.save", **workflow(name, name))
            assert list(studio.run(workflow=name, message="x"))[-1].name == "trace_completed"
    finally:
        first.shutdown()
        second.shutdown()


def test_a_name_is_for_one_configuration(tmp_path):
    first = wfstudio.Studio(config(tmp_path), name="config")
    try:
        assert wfstudio.Studio(name="config").call("health")["status"] == "ok"
        with pytest.raises(wfstudio.StudioError.Failed) as refused:
            wfstudio.Studio(config(tmp_path, "other"), name="config")
        assert refused.value.code == -3
    finally:
        first.shutdown()


def test_hosts_of_studios_that_are_gone_are_let_go_once_others_answer_for_them(tmp_path):
    kept = wfstudio.Studio(config(tmp_path), name="dropped")
    left = []

    def visit(number, *tools):
        studio = wfstudio.Studio(config(tmp_path), name="dropped")
        for tool in tools:
            studio.tool(name=tool, input_schema={"type": "object"})(lambda **_: number)
        left.append(weakref.ref(studio.host))

    try:
        visit(0, "alone")
        for number in range(1, 20):
            visit(number, "common")
        gc.collect()
        assert [number for number, host in enumerate(left) if host()] == [0, 19]
        for tool in ("alone", "common"):
            kept.call("workflow.save", **workflow(tool, tool))
            assert list(kept.run(workflow=tool, message="x"))[-1].name == "trace_completed"
    finally:
        kept.shutdown()
    gc.collect()
    assert not any(host() for host in left)


def test_whoever_takes_calls_may_fail_and_the_waiter_goes_on(tmp_path, caplog):
    class Broken(wfstudio.native.HostCalls):
        def take_call(self, call):
            raise ValueError("it is full")

    engine = wfstudio.native.StudioEngine.open(json.dumps(config(tmp_path)))
    try:
        engine.set_host(json.dumps({"ops": ["tool.call"], "tools": [{"name": "pay"}]}), Broken())
        engine.call("workflow.save", json.dumps(workflow("pay", "pay")))
        for _ in range(2):
            stream, told = engine.run(json.dumps({"workflow": "pay", "message": "x"})), b""
            until = time.monotonic() + 10
            while (batch := stream.next_batch(2000)) is not None and time.monotonic() < until:
                told += batch
            assert b"it is full" in told
        assert any(record.exc_info for record in caplog.records if record.levelno == logging.ERROR)
    finally:
        engine.shutdown(1000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("used", [True, False])
def test_a_child_does_not_wait_for_the_loop_of_its_parent(tmp_path, used):
    """A loop that the parent runs stands still in the child."""
    studio = wfstudio.Studio(config(tmp_path))

    @studio.tool(input_schema={"type": "object"})
    async def later(**_):
        await asyncio.sleep(0.01)
        return "done"

    async def parent():
        if used:
            await studio.acall("workflow.save", **workflow("later", "later"))
        else:
            studio._loop = asyncio.get_running_loop()
        child = os.fork()
        if child == 0:
            code = 3
            try:
                signal.alarm(20)
                studio.call("workflow.save", **workflow("mine", "later"))
                code = 0 if list(studio.run(workflow="mine", message="x"))[-1].name == "trace_completed" else 2
            finally:
                os._exit(code)
        return os.waitpid(child, 0)[1]

    try:
        assert asyncio.run(parent()) == 0
    finally:
        studio.shutdown()


def test_a_cancel_is_nothing_to_a_call_whose_loop_has_ended():
    """The answer is being written: it is still one of those that run."""
    call = Call({"op": "tool.call", "payload": {}, "call_id": 1})
    asyncio.run(_with(call, asyncio.sleep(0)))
    call.cancel()
    assert call.cancelled.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_leaves_alone_what_its_parent_runs(tmp_path):
    """A thread of the parent may hold a lock when it forks; that thread is not in the child."""
    studio = wfstudio.Studio(config(tmp_path))
    try:
        studio.call("health")
        held, leave = threading.Event(), threading.Event()

        def hold():
            with studio._opened.calls._lock:
                held.set()
                leave.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(20)
        child = os.fork()
        if child == 0:
            code = 3
            try:
                signal.alarm(10)
                studio.shutdown()
                code = 0
            finally:
                os._exit(code)
        leave.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
    finally:
        studio.shutdown()


def test_a_tool_whose_loop_ends_is_not_told_as_one_that_failed(tmp_path):
    studio, begun = wfstudio.Studio(config(tmp_path)), threading.Event()
    told = []
    complete = studio.engine.complete_host_call
    studio.engine.complete_host_call = lambda number, ok, answer: (told.append((ok, json.loads(answer))), complete(number, ok, answer))

    @studio.tool(input_schema={"type": "object"})
    async def later(**_):
        begun.set()
        await asyncio.sleep(20)

    async def ask():
        await studio.acall("workflow.save", **workflow("later", "later"))
        thread.start()
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 10)

    last = []
    thread = threading.Thread(target=lambda: last.extend(studio.run(workflow="later", message="x")))
    try:
        asyncio.run(ask())
        thread.join(10)
        assert last[-1].name == "trace_failed" and told[-1][0] == 0 and told[-1][1]["unanswered"] is True
        assert last[-1].data["calls"][0]["name"] == "later", "a person is asked what became of it"
    finally:
        studio.shutdown()


def test_an_async_tool_does_not_wait_for_a_loop_that_stands_still(tmp_path):
    studio, loop = wfstudio.Studio(config(tmp_path)), asyncio.new_event_loop()

    @studio.tool(input_schema={"type": "object"}, timeout_ms=20000)
    async def later(**_):
        await asyncio.sleep(0.01)

    try:
        loop.run_until_complete(studio.acall("workflow.save", **workflow("later", "later")))
        assert list(studio.run(workflow="later", message="x"))[-1].name == "trace_completed"
    finally:
        loop.close()
        studio.shutdown()


def test_a_call_without_a_thread_fails_alone(monkeypatch):
    host, engine, done = wfstudio.Host(workers=2), Told(), threading.Event()
    host.answers("gate")(lambda _: done.wait(10) and {"allow": True})
    calls, start = Calls(host, engine), threading.Thread.start

    def none(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    calls.take({"op": "gate", "call_id": 1, "payload": {}})
    assert engine.answers == [(0, {"message": "the host has no thread for the call: can't start new thread; nothing was done"})]
    monkeypatch.setattr(threading.Thread, "start", start)
    calls.take({"op": "gate", "call_id": 2, "payload": {}})
    monkeypatch.setattr(threading.Thread, "start", none)
    calls.take({"op": "gate", "call_id": 3, "payload": {}})
    done.set()
    until = time.monotonic() + 10
    while len(engine.answers) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert engine.answers[1:] == [(1, {"allow": True})] * 2, "one that works comes to the next"
    calls.close()


@pytest.mark.parametrize("on_main", [True, False])
def test_a_stream_may_be_closed_by_another_thread(tmp_path, on_main):
    studio, begun, leave = wfstudio.Studio(config(tmp_path)), threading.Event(), threading.Event()

    @studio.tool(input_schema={"type": "object"})
    def slow(**_):
        begun.set()
        leave.wait(20)

    studio.call("workflow.save", **workflow("slow", "slow"))
    events, told = studio.run(workflow="slow", message="x"), []

    def read():
        try:
            told.extend(events)
        except wfstudio.StudioError.Failed as failure:
            told.append(failure.code)

    def close():
        assert begun.wait(10)
        time.sleep(0.2)
        events.close()

    try:
        mine, other = (read, close) if on_main else (close, read)
        thread = threading.Thread(target=other)
        thread.start()
        mine()
        thread.join(15)
        assert not thread.is_alive() and told[-1] == -5 and not leave.is_set()
        events.close()
    finally:
        leave.set()
        studio.shutdown()


def test_registered_classes_are_there_after_the_application_begins_again(tmp_path):
    studio = wfstudio.Studio(config(tmp_path))

    class Kept(wfstudio.StudioWorkflow):
        @staticmethod
        def definition():
            nodes = [{"id": kind, "type": kind, "data": {}, "position": {"x": 0, "y": 0}} for kind in ("start", "stop")]
            edges = [{"id": "e", "source": "start", "target": "stop"}]
            return {"slug": "kept", "name": "Kept", "graph": {"version": 1, "nodes": nodes, "edges": edges}}

    studio.register(Kept)

    async def live():
        for _ in range(2):
            async with studio.lifespan():
                assert [event.name async for event in studio.arun(workflow="kept", message="x")][-1] == "trace_completed"

    asyncio.run(live())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_name_without_a_configuration_is_the_same_engine_in_a_child(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = wfstudio.Studio({**config(tmp_path), "route_prefix": "shop"}, name="forked")
    second = wfstudio.Studio(name="forked")
    assert second.prefixes() == first.prefixes()
    try:
        first.call("agent.save", name="Mine", slug="mine", provider="script", model="echo")
        child = os.fork()
        if child == 0:
            code = 3
            try:
                signal.alarm(20)
                assert list(second.run(agent="mine", message="x"))[-1].name == "done"
                assert wfstudio.Studio(name="forked").engine is second.engine and first.live().engine is second.engine
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        first.shutdown()


def test_a_studio_that_begins_takes_no_call_of_another(tmp_path):
    """In a child of a fork each studio of an engine asks whether the engine is its own."""
    first, second = (wfstudio.Studio(config(tmp_path), name="taken") for _ in range(2))
    first.tool(name="pay", input_schema={"type": "object"}, timeout_ms=60000)(lambda **_: "paid")
    try:
        first.call("workflow.save", **workflow("pay", "pay"))
        taken, go, take = threading.Event(), threading.Event(), first.engine.waiter.take

        def slowly(call):
            taken.set()
            go.wait(50)
            take(call)

        first.engine.waiter.take = slowly
        last, threads = [], []
        for _ in range(2):
            threads.append(threading.Thread(target=lambda: last.append(list(first.run(workflow="pay", message="x"))[-1].name)))
            threads[-1].start()
            assert taken.wait(30)
        time.sleep(1)  # the second call waits to be fetched
        second._opened = second._opened._replace(process=0)
        second.live()
        first.engine.waiter.take = take
        go.set()
        for thread in threads:
            thread.join()
        assert last == ["trace_completed"] * 2
    finally:
        first.shutdown()
