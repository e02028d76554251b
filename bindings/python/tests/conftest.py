"""Owns an engine with the refund workflow, its host and a database of its own, for each test."""

import json
import pathlib

import pytest

import wfstudio

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


@pytest.fixture
def host():
    made = wfstudio.Host()
    made.refunds = []

    @made.tool(**json.loads((EXAMPLES / "refund.host.json").read_text())["tools"][0])
    def issue_refund(order_id, amount):
        made.refunds.append((order_id, amount))
        return {"order_id": order_id, "refunded": True}

    return made


@pytest.fixture
def opened(tmp_path, host):
    config = json.loads((EXAMPLES / "refund.config.json").read_text())
    config["database"] = {"path": str(tmp_path / "studio.sqlite")}
    engine = wfstudio.Studio(config, host)
    engine.call("workflow.save", **json.loads((EXAMPLES / "refund.json").read_text()))
    yield engine
    engine.shutdown()
