"""Workflow Studio inside a Python web application.

``Studio`` opens an engine and speaks dictionaries; ``studio.asgi`` and ``studio.wsgi`` mount its pages and routes; ``Host``
answers what the engine asks: tools, secrets, the gate. The objects underneath are those of ``wfstudio.native``.
"""

import atexit
import json

from . import native
from .classes import StudioAgent, StudioTool, StudioWorkflow
from .host import Host
from .native import EventStream, HttpResponse, StudioEngine, StudioError

__all__ = [
    "EventStream",
    "Host",
    "HttpResponse",
    "Studio",
    "StudioAgent",
    "StudioEngine",
    "StudioError",
    "StudioTool",
    "StudioWorkflow",
    "events_of",
]

# Threads of the library must not call into an interpreter that has ended.
atexit.register(native.shutdown_all, 10_000)


def events_of(stream):
    """The events of a stream as ``(event, data)``; leaving the loop lets the stream go."""
    rest = b""
    try:
        while (batch := stream.next_batch(-1, 0)) is not None:
            *frames, rest = (rest + batch).split(b"\n\n")
            for frame in frames:
                fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
                if b"event" in fields:
                    yield fields[b"event"].decode(), json.loads(fields[b"data"])
    finally:
        stream.finish()


class Studio:
    """An engine. ``config`` is a dictionary of configuration keys, dotted ones nested."""

    def __init__(self, config=None, host=None, name=None):
        text = json.dumps(config or {})
        self.engine = StudioEngine.shared(name, text) if name else StudioEngine.open(text)
        if host is not None:
            self.set_host(host)

    def set_host(self, host):
        """Declares what the host answers; see ``Host``. One host may answer several studios."""
        self.engine.set_host(json.dumps(host.declaration()), host.of(self.engine))

    def register(self, *classes):
        """Registers classes with the contract ``StudioWorkflow``, ``StudioAgent`` or ``StudioTool``: they are listed and run, and nobody
        can write them in the studio."""
        for cls in classes:
            self.call("class.register", **{"class": f"{cls.__module__}.{cls.__qualname__}", "definition": cls.definition()})

    def call(self, op, **request):
        """One operation, such as ``trace.list``; ``ops`` lists them."""
        return json.loads(self.engine.call(op, json.dumps(request)))

    def start(self):
        """Starts the workers of this process without asking for anything: an engine that is only opened takes no run until its first call."""
        self.call("start")

    def run(self, **request):
        """Runs ``workflow=`` or ``agent=`` and gives its events."""
        return events_of(self.engine.run(json.dumps(request)))

    def resume(self, trace_id, **answer):
        """Answers a pause and gives the events that follow."""
        return events_of(self.engine.resume(json.dumps({"trace_id": trace_id, **answer})))

    def trace(self, trace_id, **request):
        """The trace of a run."""
        return json.loads(self.engine.trace(json.dumps({"trace_id": trace_id, **request})))

    def usage(self, **query):
        """What runs used and cost; ``run=`` for one."""
        return json.loads(self.engine.usage(json.dumps(query)))

    def shutdown(self, timeout=10.0):
        """Closes the engine; its streams end."""
        self.engine.shutdown(int(timeout * 1000))
