"""Owns a studio as an application holds it: dictionaries in and out, tools by decorators, and a process that may fork."""

import collections
import contextlib
import json
import os
import weakref

from . import _generated as g
from ._door import StudioEngine
from ._errors import Failed
from ._process import Lock, at_end
from ._sharing import Hosts
from ._waiter import LoopReader, Reader, blocks
from .events import Events, Frames
from .host import Calls, Host

TYPE_CHECKING = False  # type checkers know better
if TYPE_CHECKING:
    import typing

    from .types import RunEvent

CLOSE_SECONDS = 10.0
# When an application or the interpreter ends: whoever asked for it waits.
END_SECONDS = 5.0


# The configurations of engines with a name.
_named = {}


# An engine of this process, and who answers its calls.
_Opened = collections.namedtuple("_Opened", ["process", "engine", "calls"])


class Studio:
    """An engine::

        studio = Studio(database={"path": "studio.sqlite"})

        @studio.tool(require_approval=True)
        def refund(order_id: str, amount: float) -> dict:
            "Pays an order back"

    Configuration keys come as a dictionary, as arguments, or both. In a forked process the engine is opened again by itself, and its host
    declared again."""

    def __init__(self, config=None, host=None, name=None, **keys):
        self._keys = {**(config or {}), **keys}
        self._name, self._lock = name, Lock()
        self._opened, self._began, self._closed = None, 0, False
        self._classes, self._loop = [], None
        self.host = host or Host()
        self._open()
        self._listen(self.host)
        _studios.add(self)
        at_end(_end)

    def _listen(self, host):
        here = weakref.ref(self)
        host.on_change(lambda: here() is not None and here().host is host and here()._opened.engine.hosts.declare())

    def _open(self):
        # Without a configuration it is the engine of that name as it is; in a child of a fork, as it was in the parent.
        keys = self._keys or _named.get(self._name, {})
        config = json.dumps(keys) if keys else ""
        engine = StudioEngine.shared(self._name, config) if self._name else StudioEngine.open(config)
        if self._name:
            _named[self._name] = keys
        self._use(engine)
        self._began, self._closed = 0, False
        self._declare()
        for declared in self._classes:
            engine.call(g.OP_CLASS_REGISTER, json.dumps(declared))

    def _use(self, engine):
        self._opened = _Opened(os.getpid(), engine, Hosts.of(engine).add(Calls(self.host, engine, self._loop, self)))

    def _declare(self):
        if any(self.host.declaration().values()):
            self._opened.engine.hosts.declare()

    @property
    def engine(self):
        """The library's own object; see ``wfstudio.native``."""
        return self._opened.engine

    def live(self):
        """What is used in this process: the waiter begins with the first use, and again in a child that has the engine from its parent."""
        if self._began != os.getpid():
            with self._lock():
                if self._began != os.getpid():
                    self._begin()
        return self._opened

    def _begin(self):
        here = os.getpid()
        if self._opened.process != here:
            self._adopt()
        if not self._closed:
            self._opened.engine.waiter.begin()
        self._began = here

    def _adopt(self):
        """In a child: the engine is its own if the parent had not used it, otherwise another one is opened. The
        parent's loop stands still here."""
        self._loop = None
        try:
            # Asks whose it is, and changes nothing: there is no such call.
            self._opened.engine.complete_host_call(0, 0, "{}")
        except Failed as failure:
            if failure.code == g.FORKED:
                self._open()
            elif failure.code == g.NOT_FOUND:
                self._use(self._opened.engine.adopted())

    def set_host(self, host):
        """Has another host answer; see ``Host``. One host may answer several studios."""
        self.host = host
        self._opened.calls.host = host
        self._opened.engine.hosts.declare()
        self._listen(host)

    def tool(self, name=None, **declaration):
        """Makes a function a tool that agents may call; see ``Host.tool``."""
        return self.host.tool(name, **declaration)

    def answers(self, op):
        """Makes a function the answer to an op such as ``gate`` or ``secret.get``; see ``Host.answers``."""
        return self.host.answers(op)

    def register(self, *classes):
        """Registers classes with the contract ``StudioWorkflow``, ``StudioAgent`` or ``StudioTool``: they are listed and run, and nobody
        can write them in the studio."""
        for cls in classes:
            declared = {"class": f"{cls.__module__}.{cls.__qualname__}", "definition": cls.definition()}
            self.call(g.OP_CLASS_REGISTER, **declared)
            self._classes.append(declared)

    def call(self, op, **request):
        """One operation, such as ``trace.list``; ``ops`` lists them."""
        opened = self.live()
        if blocks():
            return json.loads(opened.engine.call(op, json.dumps(request)))
        reader = Reader(opened.engine.start(op, json.dumps(request)))
        try:
            return json.loads(reader.head())
        finally:
            reader.close()

    async def acall(self, op, **request):
        """One operation, without blocking the event loop."""
        reader = self._async(op, json.dumps(request))
        try:
            return json.loads(await reader.head())
        finally:
            reader.close()

    def start(self):
        """Starts the workers of this process without asking for anything: an engine that is only opened takes no run until its first call."""
        self.call(g.OP_START)

    def run(self, **request: object) -> Events:
        """Runs ``workflow=`` or ``agent=`` and gives its events."""
        return self._events(g.START_RUN, request)

    def resume(self, trace_id: str, **answer: object) -> Events:
        """Answers a pause and gives the events that follow."""
        return self._events(g.START_RESUME, {"trace_id": trace_id, **answer})

    def _events(self, op, request):
        opened, text = self.live(), json.dumps(request)
        if not blocks():
            stream = opened.engine.start(op, text)
        else:
            stream = opened.engine.run(text) if op == g.START_RUN else opened.engine.resume(text)
        return Events(Reader(stream))

    def arun(self, **request: object) -> "typing.AsyncIterator[RunEvent]":
        """Runs ``workflow=`` or ``agent=`` and gives its events, for ``async for``."""
        return self._aevents(g.START_RUN, request)

    def aresume(self, trace_id: str, **answer: object) -> "typing.AsyncIterator[RunEvent]":
        """Answers a pause and gives the events that follow, for ``async for``."""
        return self._aevents(g.START_RESUME, {"trace_id": trace_id, **answer})

    async def _aevents(self, op, request):
        frames, reader = Frames(), self._async(op, json.dumps(request))
        try:
            async for batch in reader.pieces():
                for event in frames.of(batch):
                    yield event
        finally:
            reader.close()

    def _async(self, op, request, body=b""):
        return LoopReader(self.on_loop().engine.start(op, request, body))

    def on_loop(self):
        """Has ``async def`` tools run on the event loop that runs here, the first one that is seen."""
        import asyncio

        opened = self.live()
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
            opened.calls.loop = self._loop
        return opened

    def trace(self, trace_id, **request):
        """The trace of a run."""
        return self.call(g.OP_TRACE_GET, trace_id=trace_id, **request)

    def usage(self, **query):
        """What runs used and cost; ``run=`` for one."""
        return self.call(g.OP_USAGE_RUN if "run" in query else g.OP_USAGE_QUERY, **query)

    def shutdown(self, timeout=CLOSE_SECONDS):
        """Closes the engine; its streams end. Once is enough."""
        if not self._closed:
            self._closed = True
            try:
                self._opened.engine.shutdown(int(timeout * 1000))
            except Failed as failure:
                if failure.code not in (g.CLOSED, g.BAD_HANDLE, g.FORKED):  # closed by another studio of that name; the parent's
                    raise
            finally:
                if self._opened.process == os.getpid():  # what the parent runs is the parent's, and so are its locks
                    self._opened.calls.close()
                    self._opened.engine.hosts.close()

    close = shutdown

    @contextlib.asynccontextmanager
    async def lifespan(self, app=None):
        """The life of an application: ``FastAPI(lifespan=studio.lifespan)`` begins the studio's work with it and ends it with it."""
        import asyncio

        if self._closed:
            self._open()
        self.on_loop()
        await self.acall(g.OP_START)
        try:
            yield
        finally:
            await asyncio.get_running_loop().run_in_executor(None, self.shutdown, END_SECONDS)

    def prefixes(self):
        """What the paths of pages and routes begin with. The engine is not used for it: it may be mounted before a fork."""
        from .mount import prefixes

        return prefixes(self._keys or _named.get(self._name, {}))

    def mount(self, app, user=None, gate=None, tenant=None, authorized=None, base_url=None):
        """Puts pages and routes into an application: FastAPI, Starlette, Quart, Flask. The marks are values, or functions of the
        framework's own request. For Django see ``wfstudio.django``."""
        from .mount import mount

        return mount(app, self, {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized, "base_url": base_url})


_studios = weakref.WeakSet()


def _end():
    """The interpreter ends: tools may still answer, then those that run are told to end."""
    for studio in list(_studios):
        with contextlib.suppress(Failed):
            studio.shutdown(END_SECONDS)
