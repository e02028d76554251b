"""Owns proof that the metering example bills what the studio says that runs cost, once."""

import importlib.util
import pathlib
import time

from fastapi.testclient import TestClient

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "python" / "metering.py"
SPEC = importlib.util.spec_from_file_location("metering", EXAMPLE)
metering = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(metering)

CONFIG = {
    "environment": "local",
    "usage": {"prices": {"models": [{"provider": "script", "model": "m", "input": "0.15", "output": "0.60"}]}},
    "providers": {"script": {"scripts": {"m": {"replies": [{"times": 0, "text": "ok", "usage": {"prompt_tokens": 1000, "completion_tokens": 500}}]}}}},
}


def ask(studio, tenant):
    """Runs a workflow whose one node is a stored agent, to its end."""
    agent = studio.call("agent.save", tenant=tenant, name="Helper", slug="helper", provider="script", model="m")
    nodes = [("start", "start", {}), ("a", "agent", {"config_mode": "existing", "agent_id": agent["id"]}), ("stop", "stop", {})]
    graph = {
        "version": 1,
        "nodes": [{"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data} for id, kind, data in nodes],
        "edges": [{"id": "e1", "source": "start", "target": "a"}, {"id": "e2", "source": "a", "target": "stop"}],
    }
    workflow = studio.call("workflow.save", tenant=tenant, name="Ask", graph=graph)
    told = list(studio.run(workflow=workflow["id"], tenant=tenant, message="hi"))
    assert told[-1][0] == "trace_completed", told
    return told[-1][1]["trace_id"]


def until(true):
    limit = time.monotonic() + 20
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_each_run_is_billed_once_with_what_its_children_took(tmp_path, monkeypatch):
    monkeypatch.setenv("BILLING_TOKEN", "secret")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(metering, "metered", lambda config, path, real=metering.metered: opened.append(real({**CONFIG, **config}, path)) or opened[-1])
    opened = []
    client = TestClient(metering.application())
    studio, ledger = opened[0]
    try:
        run = ask(studio, "acme")
        until(lambda: ledger.owed("acme")["runs"] == 1)
        owed = {"runs": 1, "tokens": 1500, "cost": "0.000450", "unpriced": 0}
        assert ledger.owed("acme") == owed and ledger.owed("other")["runs"] == 0
        told = studio.usage(run=run, tenant="acme")
        assert (told["total_tokens"], told["estimated_cost"]) == (1500, "0.000450")
        event = {"run": run, "attempt": 1, "tenant": "acme", "parentRunId": None, "entityType": "workflow", "entityId": "x"}
        event |= {"totalTokens": 9, "estimatedCost": "9.000000", "unpriced": False, "recordedAt": "2026-11-20T10:00:00.000+00:00"}
        ledger.record(event)
        assert ledger.owed("acme") == owed, "what is told twice changes nothing"
        ledger.record({**event, "attempt": 2})
        assert ledger.owed("acme")["cost"] == "9.000000", "a retried run is told again"
        assert client.get("/bills/acme").status_code == 401
        assert client.get("/bills/acme", headers={"Authorization": "Bearer secret"}).json()["runs"] == 1
    finally:
        studio.shutdown()
