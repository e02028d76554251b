"""Owns the library's functions as objects: engines, streams. Everything here is JSON text and bytes, and may be used from any thread."""

import contextlib
import json
import os
import weakref
from collections import deque

from . import _functions as f
from . import _generated as g
from ._errors import Failed
from ._process import load
from ._waiter import Waiter

abi_version, shutdown_all = f.abi_version, f.shutdown


class HostCalls:
    """What the host implements to answer calls: ``take_call`` is given each call as JSON, on a thread that fetches them."""

    def take_call(self, call):
        raise NotImplementedError


def library_version():
    """The version of the library."""
    return f.version().decode()


_engines = weakref.WeakValueDictionary()


class StudioEngine:
    """An engine: configuration, database, running work."""

    def __init__(self, handle):
        self.handle, self.waiter, self.hosts = handle, Waiter(self), None

    @classmethod
    def open(cls, config):
        """Opens an engine with a configuration in JSON (may be empty)."""
        load()
        return cls(f.engine_open(config)).adopted()

    @classmethod
    def shared(cls, name, config):
        """The engine of that name in this process, opened by whoever asks first."""
        load()
        return cls(f.engine_shared(name, config)).adopted()

    def adopted(self):
        """The one object of this engine in this process: two that wait for one engine would take each other's news."""
        return _engines.setdefault((os.getpid(), self.handle), self)

    def shutdown(self, timeout_ms):
        """Closes the engine; its streams end."""
        f.engine_close(self.handle, timeout_ms)

    def call(self, op, request):
        """One operation by name, JSON in and out."""
        return f.call(self.handle, op, request).decode()

    def run(self, request):
        """Runs a workflow or an agent's chat turn."""
        return EventStream(self, f.run(self.handle, request))

    def resume(self, request):
        """Answers a pause."""
        return EventStream(self, f.resume(self.handle, request))

    def trace(self, request):
        """The trace of a run."""
        return f.trace(self.handle, request).decode()

    def usage(self, query):
        """What runs used and cost."""
        return f.usage(self.handle, query).decode()

    def http(self, head, body):
        """One HTTP request: the answer's head as JSON, and its body where that still comes."""
        answer, stream = f.http(self.handle, head, body)
        return HttpResponse(answer.decode(), EventStream(self, stream) if stream else None)

    def start(self, op, request, body=b""):
        """Begins an operation and never waits: its stream brings the head and what follows."""
        return EventStream(self, f.start(self.handle, op, request, body))

    def declare(self, declaration):
        """Declares what the host answers; calls are fetched."""
        try:
            f.host_set(self.handle, declaration)
        except Failed as refused:
            raise Failed(refused.code, json.dumps({"detail": "this is no declaration of a host"})) from None

    def set_host(self, declaration, host=None):
        """Declares what the host answers, and who takes the calls: an object with ``take_call``, else whoever asks for ``next_host_call``."""
        self.declare(declaration)
        self.waiter.take = host and host.take_call
        if host is not None:
            self.waiter.begin()

    def next_host_call(self, timeout_ms):
        """The next call that waits to be fetched; none when the time is over."""
        code, data = f.host_next(self.handle, timeout_ms)
        return data.decode() if code != g.TIMEOUT else None

    def complete_host_call(self, call_id, ok, data):
        """Answers a call: ``ok`` 1 the result, 0 a failure, 2 a chunk with more to follow."""
        try:
            f.host_complete(self.handle, call_id, ok, data)
        except Failed as refused:
            raise Failed(refused.code, json.dumps({"detail": f"the answer could not be taken ({refused})"})) from None

    def descriptor(self):
        """A descriptor of the caller's own, readable when ``ready`` has news; -1 where there is none."""
        return f.engine_fd(self.handle)

    def ready(self, timeout_ms, room=256):
        """Handles of streams that have news, and 0 when calls to the host wait."""
        return f.ready(self.handle, timeout_ms, room)


class HttpResponse:
    """The answer to an HTTP request."""

    def __init__(self, head, body):
        self.head, self.body = head, body


class EventStream:
    """An answer that is still coming. It has one consumer; whoever lets it go closes it."""

    def __init__(self, engine, handle):
        self.engine, self.handle, self._calls, self._closed = engine, handle, deque(), False

    def take(self, timeout_ms, max_bytes=0):
        """What comes next: a code (OK, END, TIMEOUT, HOST_CALL, HEAD) and its bytes."""
        code, data = f.stream_next_batch(self.handle, timeout_ms, max_bytes)
        if code == g.HOST_CALL:
            self._calls.append(data.decode())
        return code, data

    def next_batch(self, timeout_ms, max_bytes=0):
        """All that is there, up to ``max_bytes`` (0: 64 KiB); none at the end; empty when nothing came in time, or when a call to the host
        came instead."""
        code, data = self.take(timeout_ms, max_bytes)
        if code == g.END:
            return None
        return data if code == g.OK else b""

    def next_host_call(self):
        """A call to the host that came with the stream (``"host_calls": "inline"``)."""
        return self._calls.popleft() if self._calls else None

    def descriptor(self):
        """A descriptor for an event loop, readable while there may be something; -1 where there is none."""
        return f.stream_fd(self.handle)

    def cancel(self):
        """Cancels the run; its end is told."""
        f.stream_cancel(self.handle)

    def finish(self):
        """Lets the stream go; once is enough."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Failed):  # closed with its engine
                f.stream_close(self.handle)

    def __del__(self):
        if getattr(self, "_closed", True) is False:
            self.finish()
