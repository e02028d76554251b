"""Owns the host's side in Python: functions that answer what the engine asks, on threads of their own."""

import json
from concurrent.futures import ThreadPoolExecutor

from . import native

# The code of an answer that cannot be read.
INVALID = -1


class Host:
    """Tools and other answers of the application::

        host = Host()

        @host.tool(description="Pays an order back", require_approval=True)
        def issue_refund(order_id, amount):
            return {"refunded": True}
    """

    def __init__(self, schemas=None, classes=None, workers=8):
        self._tools = {}
        self._declared = []
        self._answers = {}
        self._schemas = schemas or {}
        self._classes = classes or {}  # definitions by class name; ``Studio.register`` takes classes
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="studio-host")
        # Who may enter, secrets and cancels are not to wait behind tools that take their time.
        self._quick = ThreadPoolExecutor(4, thread_name_prefix="studio-host-quick")

    def tool(self, name=None, **declaration):
        """Makes a function a tool; its arguments come by name. ``declaration`` is the rest of a tool's declaration."""

        def declare(function):
            called = name or function.__name__
            self._tools[called] = function
            self._declared.append({"name": called, "description": (function.__doc__ or "").strip(), **declaration})
            return function

        return declare

    def answers(self, op):
        """Makes a function the answer to an op such as ``gate`` or ``secret.get``: payload in, result out."""

        def declare(function):
            self._answers[op] = function
            return function

        return declare

    def declaration(self):
        """What is declared to the engine."""
        ops = (["tool.call"] if self._tools else []) + list(self._answers)
        return {"ops": ops, "tools": self._declared, "schemas": self._schemas, "classes": self._classes}

    def of(self, engine):
        """What answers one engine: a host may answer several."""
        return _Calls(self, engine)

    def take(self, engine, call):
        """Answers a call of an engine on a thread of the host."""
        (self._pool if call["op"] == "tool.call" else self._quick).submit(self._take, engine, call)

    def _take(self, engine, call):
        op, payload = call["op"], call["payload"]
        try:
            if op == "tool.call":
                ok, result = 1, self._tools[payload["name"]](**payload["arguments"])
            elif op in self._answers:
                ok, result = 1, self._answers[op](payload)
            else:
                return
            answer = json.dumps(result, allow_nan=False)
        except BaseException as failure:  # the failure is the answer, also that of `sys.exit`
            ok, answer = 0, _failed(failure)
        try:
            engine.complete_host_call(call["call_id"], ok, answer)
        except native.StudioError as refused:
            if getattr(refused, "code", 0) == INVALID:
                _give_up(engine, call["call_id"], refused)
            # Otherwise nobody waits for it any more.


class _Calls(native.HostCalls):
    """The calls of one engine."""

    def __init__(self, host, engine):
        self._host, self._engine = host, engine

    def take_call(self, call):
        """Called by a thread of the library."""
        self._host.take(self._engine, json.loads(call))


def _give_up(engine, call_id, refused):
    """The engine cannot read the answer: the call ends with that, instead of waiting for its time to be over."""
    try:
        engine.complete_host_call(call_id, 0, json.dumps({"message": f"the answer could not be taken: {refused}"}))
    except native.StudioError:
        pass


def _failed(failure):
    message = f"{type(failure).__name__}: {failure}".encode("utf-8", "replace").decode()
    return json.dumps({"message": message[:10_000]})
