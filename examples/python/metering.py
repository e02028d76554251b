"""Metering: what the runs of each tenant cost, kept by the application in a table of its own.

    BILLING_TOKEN=secret uvicorn --factory metering:application --port 8787
"""

import hmac
import json
import os
import sqlite3
from contextlib import closing
from decimal import Decimal

from fastapi import Depends, FastAPI, Header, HTTPException

from wfstudio import Host, Studio, StudioError
from wfstudio.asgi import StudioApp


class Ledger:
    """One line for each run. What is told twice changes nothing; a retried run is told again and its line replaced."""

    def __init__(self, path):
        self.path = path
        with closing(self._open()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS bills (run TEXT PRIMARY KEY, attempt INTEGER NOT NULL, tenant TEXT NOT NULL,"
                " entity TEXT NOT NULL, tokens INTEGER NOT NULL, micros INTEGER NOT NULL, unpriced INTEGER NOT NULL, at TEXT NOT NULL)"
            )

    def _open(self):
        return sqlite3.connect(self.path, timeout=10)

    def record(self, event):
        """Answers `usage.recorded`: the run is billed once this has returned; until then it is told again."""
        if event["parentRunId"] is not None:
            return  # the parent's figures hold it
        micros = int(Decimal(event["estimatedCost"]) * 1_000_000)
        line = (event["run"], event["attempt"], event["tenant"], f"{event['entityType']}:{event['entityId']}")
        line += (event["totalTokens"], micros, event["unpriced"], event["recordedAt"])
        with closing(self._open()) as database, database:
            database.execute(
                "INSERT INTO bills VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO UPDATE SET attempt = excluded.attempt,"
                " tokens = excluded.tokens, micros = excluded.micros, unpriced = excluded.unpriced, at = excluded.at"
                " WHERE excluded.attempt > bills.attempt",
                line,
            )

    def owed(self, tenant):
        """Runs, tokens and cost of a tenant; `unpriced` counts runs that hold a call without a price."""
        with closing(self._open()) as database:
            asked = "SELECT COUNT(*), COALESCE(SUM(tokens), 0), COALESCE(SUM(micros), 0), COALESCE(SUM(unpriced), 0) FROM bills WHERE tenant = ?"
            runs, tokens, micros, unpriced = database.execute(asked, (tenant,)).fetchone()
        return {"runs": runs, "tokens": tokens, "cost": f"{Decimal(micros) / 1_000_000:.6f}", "unpriced": unpriced}


def metered(config, path):
    """A studio whose runs are billed to the ledger at the path."""
    ledger, host = Ledger(path), Host()
    host.answers("usage.recorded")(ledger.record)
    return Studio({**config, "usage": {**config.get("usage", {}), "events": {"enabled": True}}}, host), ledger


def accountant(authorization: str = Header("")):
    """Who may read bills and the export."""
    if not hmac.compare_digest((authorization or "").encode(), f"Bearer {os.environ['BILLING_TOKEN']}".encode()):
        raise HTTPException(401)


def application():
    studio, ledger = metered({"environment": "local"}, "bills.sqlite")
    app = FastAPI()

    @app.get("/bills/{tenant}", dependencies=[Depends(accountant)])
    def bills(tenant: str):
        return ledger.owed("" if tenant == "default" else tenant)

    @app.get("/exports/usage", dependencies=[Depends(accountant)])
    def usage(first: str, last: str, group_by: str = "day"):
        try:
            return studio.usage(**{"from": first, "to": last, "group_by": group_by})
        except StudioError.Failed as refusal:
            if json.loads(refusal.problem)["status"] >= 500:
                raise
            raise HTTPException(400, refusal.detail) from refusal

    app.mount("/studio", StudioApp(studio))
    return app
