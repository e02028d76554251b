"""Owns an engine that several studios of one name share: which of them answers a call, and what all of them declare."""

import json
import os

from . import _generated as g
from ._errors import StudioError
from ._process import Lock
from .host import declaring

# For the list of those who answer; where both are needed, `declaring` is taken first.
_joining = Lock()


class Hosts:
    """Who answers the calls of one engine in one process: several studios of one name share it. What was declared last wins."""

    def __init__(self, engine):
        self.process, self._engine, self._calls = os.getpid(), engine, []
        engine.waiter.take = self.take_call

    @classmethod
    def of(cls, engine):
        """Those of this process."""
        with _joining():
            if engine.hosts is None or engine.hosts.process != os.getpid():
                engine.hosts = cls(engine)
            return engine.hosts

    def add(self, calls):
        with _joining():
            self._calls = self._wanted([*self._calls, calls])
        return calls

    def _wanted(self, them):
        """Lets go of those whose studio is gone, once later ones answer all that they answered."""
        wanted, later = [], set()
        for calls in reversed(them):
            names = _names(calls.host)
            if calls.is_left() and names <= later:
                calls.close()
            else:
                wanted.insert(0, calls)
            later |= names
        return wanted

    def close(self):
        """The engine was closed: nobody's answers are wanted any more."""
        with _joining():
            them, self._calls = self._calls, []
        for calls in them:
            calls.close()

    def declare(self):
        """Declares to the engine what all of them answer."""
        with declaring():  # what was composed first does not come last
            self._declare()

    def _declare(self):
        with _joining():
            self._calls = self._wanted(self._calls)
        told = {"ops": {}, "tools": {}, "schemas": {}, "classes": {}}
        for calls in self._calls:
            one = calls.host.declaration()
            told["ops"].update(dict.fromkeys(one["ops"]))
            told["tools"].update({tool["name"]: tool for tool in one["tools"]})
            told["schemas"].update(one["schemas"])
            told["classes"].update(one["classes"])
        try:
            self._engine.declare(json.dumps({**told, "ops": list(told["ops"]), "tools": list(told["tools"].values())}))
        except StudioError as refused:
            # A child of a fork declares with its first use, a studio that was closed when it is opened again.
            if getattr(refused, "code", 0) not in (g.FORKED, g.CLOSED, g.BAD_HANDLE):
                raise

    def take_call(self, text):
        """Hands a call on; never waits."""
        told = json.loads(text)
        op, payload = told["op"], told["payload"]
        if op == g.HOST_TOOL_CANCEL:
            for calls in self._calls:
                calls.cancel(payload.get("cancels"))
        name = payload.get("name") if op == g.HOST_TOOL_CALL else None
        them = list(reversed(self._calls))
        found = next((calls for calls in them if calls.host.has(op, name)), them[0] if them else None)
        if found is not None:
            found.take(told)


def _names(host):
    """What a host answers and gives, by name."""
    told = host.declaration()
    tools = {("tools", tool["name"]) for tool in told["tools"]}
    return tools.union(*({(kind, name) for name in told[kind]} for kind in ("ops", "schemas", "classes")))
