"""Owns proof that the engine works from Python: a run with an approval, errors, forks, the end of the interpreter."""

import json
import os
import subprocess
import sys
import textwrap
import time
import traceback

import pytest

import wfstudio
from conftest import EXAMPLES


def names(events):
    return [event for event, _ in events]


def test_a_run_waits_for_approval_and_its_host_tool_runs_once(opened, host):
    first = list(opened.run(workflow="refund", message="Please refund order A-100"))
    assert names(first)[-1] == "tool_approval_required"
    asked = first[-1][1]
    assert asked["pending_tools"][0]["arguments"] == {"order_id": "A-100", "amount": 25}
    assert host.refunds == []
    second = list(opened.resume(asked["trace_id"], pause_id=asked["pause_id"], approval="approve"))
    assert names(second)[0] == "tool_approval_resolved" and names(second)[-1] == "trace_completed"
    assert host.refunds == [("A-100", 25)]
    trace = opened.trace(asked["trace_id"])["trace"]
    assert trace["status"] == "completed" and trace["total_tokens"] > 0


def test_errors_carry_their_problem(opened):
    with pytest.raises(wfstudio.StudioError.Failed) as failed:
        opened.call("trace.get", trace_id="00000000-0000-7000-8000-000000000000")
    assert failed.value.code == -2
    assert json.loads(failed.value.problem)["code"] == "not_found"
    with pytest.raises(wfstudio.StudioError.Failed) as failed:
        list(opened.run(workflow="refund", message=""))
    assert json.loads(failed.value.problem)["errors"]["message"]


def test_a_tool_that_raises_is_a_failed_call_and_not_a_crash(tmp_path, host, opened):
    broken = wfstudio.Host()

    @broken.tool(require_approval=False, input_schema={"type": "object"})
    def issue_refund(**_):
        raise ValueError("the till is empty")

    opened.set_host(broken)
    told = list(opened.run(workflow="refund", message="Please refund order A-100"))
    result = next(data for event, data in told if event == "tool_result")
    assert result["is_error"] and "the till is empty" in result["result"]


def test_one_host_answers_two_studios(tmp_path, host, opened):
    config = json.loads((EXAMPLES / "refund.config.json").read_text())
    second = wfstudio.Studio({**config, "database": {"path": str(tmp_path / "second.sqlite")}}, host)
    try:
        second.call("workflow.save", **json.loads((EXAMPLES / "refund.json").read_text()))
        for done, one in enumerate((opened, second, opened)):
            asked = list(one.run(workflow="refund", message="Please refund order A-100"))[-1][1]
            told = list(one.resume(asked["trace_id"], pause_id=asked["pause_id"], approval="approve"))
            result = next(data for event, data in told if event == "tool_result")
            assert not result["is_error"], result
            assert names(told)[-1] == "trace_completed" and len(host.refunds) == done + 1
    finally:
        second.shutdown()


@pytest.mark.parametrize("result, told", [(float("nan"), "Out of range float"), (SystemExit(3), "SystemExit")])
def test_a_result_that_is_no_json_is_a_failed_call_at_once(opened, result, told):
    odd = wfstudio.Host()

    @odd.tool(require_approval=False, input_schema={"type": "object"})
    def issue_refund(**_):
        if isinstance(result, BaseException):
            raise result
        return result

    opened.set_host(odd)
    begun = time.monotonic()
    events = list(opened.run(workflow="refund", message="Please refund order A-100"))
    ended = next(data for event, data in events if event == "tool_result")
    assert ended["is_error"] and told in ended["result"], ended
    assert time.monotonic() - begun < 10


def test_half_a_character_of_a_result_is_left_out(opened):
    odd = wfstudio.Host()

    @odd.tool(require_approval=False, input_schema={"type": "object"})
    def issue_refund(**_):
        return "paid \ud83d"

    opened.set_host(odd)
    events = list(opened.run(workflow="refund", message="Please refund order A-100"))
    ended = next(data for event, data in events if event == "tool_result")
    assert (ended["is_error"], ended["result"]) == (False, "paid "), ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_opens_the_studio_again_and_declares_its_host(opened, host):
    """The library tells a child that the engine is its parent's; a studio opens another one by itself, on the same database."""
    asked = list(opened.run(workflow="refund", message="Please refund order A-100"))[-1][1]
    child = os.fork()
    if child == 0:
        try:
            try:
                opened.engine.call("health", "{}")
            except wfstudio.StudioError.Failed as failed:
                told = [event for event, _ in opened.resume(asked["trace_id"], pause_id=asked["pause_id"], approval="approve")]
                opened.shutdown()
                os._exit(0 if (failed.code, told[-1], host.refunds) == (-7, "trace_completed", [("A-100", 25)]) else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert opened.call("health")["status"] == "ok" and host.refunds == []


def test_the_interpreter_ends_while_runs_and_calls_are_under_way(tmp_path):
    program = textwrap.dedent(
        """
        import json, sys, threading, time
        import wfstudio

        class Slow(wfstudio.native.HostCalls):
            def take_call(self, call):
                time.sleep(30)

        engine = wfstudio.Studio({"environment": "local", "database": {"path": sys.argv[1]}})
        declaration = {"ops": ["tool.call"], "tools": [{"name": "slow", "require_approval": False}]}
        engine.engine.set_host(json.dumps(declaration), None)
        edge = {"sourceHandle": "default", "targetHandle": "default"}
        at = {"position": {"x": 0, "y": 0}}
        engine.call("workflow.save", slug="slow", name="Slow", graph={"version": 1, "nodes": [
            {"id": "start", "type": "start", "data": {}, **at},
            {"id": "tool", "type": "tool", "data": {"tool_ref": "host:slow"}, **at},
            {"id": "stop", "type": "stop", "data": {}, **at},
        ], "edges": [{"id": "a", "source": "start", "target": "tool", **edge}, {"id": "b", "source": "tool", "target": "stop", **edge}]})
        def read(stream):
            # A thread that writes while the interpreter ends would bring it down by itself.
            try:
                for _ in range(99):
                    stream.next_batch(-1, 0)
            except wfstudio.native.StudioError:
                pass

        for _ in range(8):
            stream = engine.engine.run(json.dumps({"workflow": "slow", "message": "x"}))
            threading.Thread(target=read, args=(stream,), daemon=True).start()
        """
    )
    for turn in range(3):
        done = subprocess.run([sys.executable, "-c", program, str(tmp_path / f"{turn}.sqlite")], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
