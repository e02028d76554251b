"""Owns the host's side in Python: functions that answer what the engine asks. Plain ones run on threads, ``async def`` on the event loop."""

import contextlib
import contextvars
import json
import sys
import threading
import weakref

from . import _generated as g
from ._errors import StudioError
from ._process import Lock, load
from ._threads import Threads

_current = contextvars.ContextVar("wfstudio_call")
# For what is declared: one thread at a time.
declaring = Lock()


class ToolFailure(Exception):
    """Raised by a tool that fails on purpose: its text is all that is told."""


class Call:
    """A call to the host: ``op``, ``payload``, and ``cancelled``, an event that is set when the answer is no longer wanted."""

    def __init__(self, told):
        self.op, self.payload, self.id = told["op"], told["payload"], told["call_id"]
        self.cancelled, self.task = threading.Event(), None

    def cancel(self):
        self.cancelled.set()
        if self.task:
            with contextlib.suppress(RuntimeError):  # its loop has ended, and so has it
                self.task.cancel()

    def begin(self):
        """Before the function is called: a result that nobody wants any more is not worked for."""
        if self.cancelled.is_set():
            raise ToolFailure("the call was cancelled before it began; nothing was done")


def current_call():
    """The call that the running function answers: its payload has tenant, user, trace and idempotency key."""
    return _current.get()


class Host:
    """Tools and other answers of the application::

        host = Host()

        @host.tool(description="Pays an order back", require_approval=True)
        def issue_refund(order_id: str, amount: float):
            return {"refunded": True}
    """

    def __init__(self, schemas=None, classes=None, workers=8):
        load()
        self._tools, self._declared, self._answers, self._changed = {}, {}, {}, []
        self._schemas = schemas or {}
        self._classes = classes or {}  # definitions by class name; ``Studio.register`` takes classes
        self.workers = workers

    def tool(self, name=None, **declaration):
        """Makes a function a tool; its arguments come by name, their schema from the annotations unless ``input_schema`` says it.
        ``declaration`` is the rest of a tool's declaration."""
        import inspect

        from . import _schema

        if callable(name):
            return self.tool()(name)

        def declare(function):
            called = name or function.__name__
            schema = {} if "input_schema" in declaration else {"input_schema": _schema.of_function(function)}
            with self._changing():
                self._tools[called] = function
                self._declared[called] = {"name": called, "description": inspect.getdoc(function) or "", **schema, **declaration}
            return function

        return declare

    def answers(self, op):
        """Makes a function the answer to an op such as ``gate`` or ``secret.get``: payload in, result out. What a generator yields is told
        as chunks, its ``return`` is the result; of an async generator the last value is the result."""

        def declare(function):
            with self._changing():
                self._answers[op] = function
            return function

        return declare

    def declaration(self):
        """What is declared to the engine."""
        ops = ([g.HOST_TOOL_CALL, g.HOST_TOOL_CANCEL] if self._tools else []) + list(self._answers)
        return {"ops": list(dict.fromkeys(ops)), "tools": list(self._declared.values()), "schemas": self._schemas, "classes": self._classes}

    def on_change(self, declare):
        """Has ``declare`` called when something was added."""
        self._changed.append(declare)

    @contextlib.contextmanager
    def _changing(self):
        """What is refused is taken back: later declarations are not to be refused for it. One thread at a time, so that nothing is taken
        back that another has added meanwhile."""
        with declaring():
            before, told = (dict(self._tools), dict(self._declared), dict(self._answers)), []
            try:
                yield
                for declare in self._changed:
                    declare()
                    told.append(declare)
            except BaseException:
                self._tools, self._declared, self._answers = before
                for declare in told:  # of several engines, those that have taken it
                    with contextlib.suppress(StudioError):
                        declare()
                raise

    def has(self, op, name):
        """Whether this host answers it."""
        return name in self._tools if op == g.HOST_TOOL_CALL else op in self._answers

    def function(self, call):
        """Who answers a call, and with which arguments."""
        if call.op == g.HOST_TOOL_CALL:
            from . import _schema

            function = self._tools.get(call.payload["name"])
            return function, (_schema.given(function, call.payload["arguments"]) if function else None)
        return self._answers.get(call.op), None


class Calls:
    """The calls of one engine to one host, on threads of their own; in a forked child another one is made. ``async def`` functions run on
    ``loop``; without one they have a loop for each call."""

    def __init__(self, host, engine, loop=None, studio=None):
        self.host, self._engine, self.loop = host, engine, loop
        self._studio = weakref.ref(studio) if studio is not None else None
        self._running, self._pools, self._lock, self._closed = {}, {}, threading.Lock(), False

    def is_left(self):
        """Whether its studio is gone and nothing runs here."""
        return self._studio is not None and self._studio() is None and not self._running

    def close(self):
        """Ends what still runs: its answers are not wanted any more."""
        with self._lock:
            self._closed = True
            running, pools = list(self._running.values()), list(self._pools.values())
        for call in running:
            call.cancel()
        for pool in pools:
            pool.end()

    def cancel(self, number):
        """Tells a call that its answer is not wanted any more, if it is one of these."""
        with self._lock:
            unwanted = self._running.get(number)
        if unwanted:
            unwanted.cancel()

    def take(self, told):
        """Takes a call; never waits."""
        call = Call(told)
        with self._lock:
            if not self._closed:
                self._running[call.id] = call
                # Threads for each op: who may enter does not wait behind tools and models that take their time.
                pool = self._pools.get(call.op) or self._pools.setdefault(call.op, Threads(self.host.workers, f"wfstudio-{call.op}"))
                try:
                    return pool.submit(self._answer, call)
                except RuntimeError as failure:
                    del self._running[call.id]
                    why = f"the host has no thread for the call: {failure}"
            else:
                why = "the studio was closed"
        # While the interpreter ends, calls that nobody took are put down with their runs.
        if call.op not in g.UNANSWERED and threading.main_thread().is_alive():
            with contextlib.suppress(StudioError):  # nobody waits for it any more
                self._engine.complete_host_call(call.id, 0, _failed(f"{why}; nothing was done"))

    def _answer(self, call):
        context = contextvars.copy_context()
        returned = False
        try:
            ok, result = 1, context.run(self._result, call)
            returned = True
            answer = json.dumps(result, allow_nan=False)
        except BaseException as failure:  # the failure is the answer, also that of `sys.exit`
            ok, answer = 0, _unwritten(call, _text(failure)) if returned else _untold(call, failure)
        with self._lock:
            self._running.pop(call.id, None)
        if call.op in g.UNANSWERED:
            return
        with contextlib.suppress(StudioError):  # nobody waits for it any more
            try:
                self._engine.complete_host_call(call.id, ok, answer)
            except StudioError as refused:
                if getattr(refused, "code", 0) == g.INVALID:
                    # The call ends with that, instead of waiting for its time to be over.
                    self._engine.complete_host_call(call.id, 0, _unwritten(call, "the engine does not read it"))

    def _result(self, call):
        import inspect

        _current.set(call)
        function, arguments = self.host.function(call)
        if function is None:
            if call.op in g.UNANSWERED:
                return None
            raise ToolFailure(f"the host has no answer to `{call.op}`")
        call.begin()
        result = function(call.payload) if arguments is None else function(**arguments)
        if inspect.isawaitable(result):
            return self._awaited(call, result)
        if inspect.isasyncgen(result):
            return self._awaited(call, self._told(call, result))
        return self._chunks(call, result) if inspect.isgenerator(result) else result

    def _awaited(self, call, work):
        import asyncio

        async def run():
            _current.set(call)
            try:
                call.begin()
            except ToolFailure:
                work.close()
                raise
            return await work

        if self.loop is None or not self.loop.is_running():
            try:
                return asyncio.run(_with(call, run()))
            finally:
                # One that was cancelled before its first step was never awaited.
                getattr(work, "close", int)()
        call.task = asyncio.run_coroutine_threadsafe(run(), self.loop)
        if call.cancelled.is_set():
            call.task.cancel()
        return call.task.result()

    def _chunks(self, call, told):
        while True:
            try:
                self._chunk(call, next(told))
            except StopIteration as end:
                return end.value

    async def _told(self, call, told):
        last = None
        async for chunk in told:
            if last is not None:
                self._chunk(call, last)
            last = chunk
        return last

    def _chunk(self, call, chunk):
        self._engine.complete_host_call(call.id, 2, json.dumps(chunk))


async def _with(call, work):
    """Runs on a loop of the call's own, so that a cancel reaches it."""
    import asyncio
    import types

    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    call.task = types.SimpleNamespace(cancel=lambda: loop.call_soon_threadsafe(task.cancel))
    if call.cancelled.is_set():
        task.cancel()
    return await task


def _text(failure):
    try:
        return str(failure) if isinstance(failure, ToolFailure) else f"{type(failure).__name__}: {failure}"
    except Exception:  # its own text fails
        return type(failure).__name__


def _untold(call, failure):
    """A tool that was cancelled although its answer is wanted, as by the end of its event loop, may have done its work: nobody may take it for
    one that failed and call it again."""
    if call.op == g.HOST_TOOL_CALL and _is_cancel(failure) and not call.cancelled.is_set():
        return _failed("the tool was cancelled before it answered, as when its event loop ends; it is not known what it did", unanswered=True)
    return _failed(_text(failure))


def _is_cancel(failure):
    """Whoever raises such an error has loaded its module."""
    modules = (sys.modules.get(name) for name in ("asyncio.exceptions", "concurrent.futures._base"))
    return isinstance(failure, tuple(module.CancelledError for module in modules if hasattr(module, "CancelledError")))


def _failed(text, **more):
    return json.dumps({"message": text.encode("utf-8", "replace").decode()[:10_000], **more})


def _unwritten(call, why):
    """A tool that ran must not look like one that failed: whoever reads that calls it again."""
    if call.op != g.HOST_TOOL_CALL:
        return _failed(f"the answer could not be written as JSON: {why}")
    return _failed(
        f"the tool ran, but its result could not be written as JSON ({why}): return text in UTF-8, finite numbers, lists and dicts, at most 16 MiB",
        ran=True,
    )
