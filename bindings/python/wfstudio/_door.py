"""Owns the library's functions as objects: engines, streams, errors. Everything here is JSON text and bytes, and may be used from any thread."""

import ctypes
import json
import os
import weakref
from collections import deque

from . import _generated as g
from . import _library
from ._errors import Failed
from ._waiter import Waiter

lib = _library.load()


class HostCalls:
    """What the host implements to answer calls: ``take_call`` is given each call as JSON, on a thread that fetches them."""

    def take_call(self, call):
        raise NotImplementedError


def _taken(buffer):
    """The bytes of a buffer, which is given back."""
    try:
        return ctypes.string_at(buffer.data, buffer.len) if buffer.data else b""
    finally:
        lib.studio_buf_free(ctypes.byref(buffer))


def _asked(function, *arguments):
    """Calls a function whose last parameter is a buffer; its code and bytes."""
    buffer = g.Buffer()
    code = function(*arguments, ctypes.byref(buffer))
    data = _taken(buffer)
    if code < 0:
        raise Failed(code, data.decode("utf-8", "replace"))
    return code, data


def _sized(text):
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    return data, len(data)


def library_version():
    """The version of the library."""
    return lib.studio_version().decode()


def abi_version():
    """The version of the C functions."""
    return lib.studio_abi_version()


def shutdown_all(timeout_ms):
    """Closes every engine of the process: for hooks at exit."""
    lib.studio_shutdown(timeout_ms)


_engines = weakref.WeakValueDictionary()


class StudioEngine:
    """An engine: configuration, database, running work."""

    def __init__(self, handle):
        self.handle, self.waiter, self.hosts = handle, Waiter(self), None

    @classmethod
    def open(cls, config):
        """Opens an engine with a configuration in JSON (may be empty)."""
        return cls._opened(lib.studio_engine_open, *_sized(config))

    @classmethod
    def shared(cls, name, config):
        """The engine of that name in this process, opened by whoever asks first."""
        return cls._opened(lib.studio_engine_shared, name.encode(), *_sized(config))

    @classmethod
    def _opened(cls, function, *arguments):
        handle = ctypes.c_uint64()
        _asked(function, *arguments, ctypes.byref(handle))
        return cls(handle.value).adopted()

    def adopted(self):
        """The one object of this engine in this process: two that wait for one engine would take each other's news."""
        return _engines.setdefault((os.getpid(), self.handle), self)

    def shutdown(self, timeout_ms):
        """Closes the engine; its streams end."""
        code = lib.studio_engine_close(self.handle, timeout_ms)
        if code < 0:
            raise Failed(code, "")

    def call(self, op, request):
        """One operation by name, JSON in and out."""
        return _asked(lib.studio_call, self.handle, op.encode(), *_sized(request))[1].decode()

    def run(self, request):
        """Runs a workflow or an agent's chat turn."""
        return self._stream(lib.studio_run, *_sized(request))[1]

    def resume(self, request):
        """Answers a pause."""
        return self._stream(lib.studio_resume, *_sized(request))[1]

    def trace(self, request):
        """The trace of a run."""
        return _asked(lib.studio_trace, self.handle, *_sized(request))[1].decode()

    def usage(self, query):
        """What runs used and cost."""
        return _asked(lib.studio_usage, self.handle, *_sized(query))[1].decode()

    def http(self, head, body):
        """One HTTP request: the answer's head as JSON, and its body where that still comes."""
        answer, stream = self._stream(lib.studio_http, *_sized(head), *_sized(body))
        return HttpResponse(answer.decode(), stream)

    def start(self, op, request, body=b""):
        """Begins an operation and never waits: its stream brings the head and what follows."""
        return self._stream(lib.studio_start, op.encode(), *_sized(request), *_sized(body))[1]

    def _stream(self, function, *arguments):
        handle = ctypes.c_uint64()
        _, data = _asked(function, self.handle, *arguments, ctypes.byref(handle))
        return data, EventStream(self, handle.value) if handle.value else None

    def declare(self, declaration):
        """Declares what the host answers; calls are fetched."""
        code = lib.studio_host_set(self.handle, *_sized(declaration), None, None, None)
        if code < 0:
            raise Failed(code, json.dumps({"detail": "this is no declaration of a host"}))

    def set_host(self, declaration, host=None):
        """Declares what the host answers, and who takes the calls: an object with ``take_call``, else whoever asks for ``next_host_call``."""
        self.declare(declaration)
        self.waiter.take = host and host.take_call
        if host is not None:
            self.waiter.begin()

    def next_host_call(self, timeout_ms):
        """The next call that waits to be fetched; none when the time is over."""
        code, data = _asked(lib.studio_host_next, self.handle, timeout_ms)
        return data.decode() if code != g.TIMEOUT else None

    def complete_host_call(self, call_id, ok, data):
        """Answers a call: ``ok`` 1 the result, 0 a failure, 2 a chunk with more to follow."""
        code = lib.studio_host_complete(self.handle, call_id, ok, *_sized(data))
        if code < 0:
            raise Failed(code, json.dumps({"detail": f"the answer could not be taken ({g.ERRORS.get(code, code)})"}))

    def descriptor(self):
        """A descriptor of the caller's own, readable when ``ready`` has news; -1 where there is none."""
        return lib.studio_engine_fd(self.handle)

    def ready(self, timeout_ms, room=256):
        """Handles of streams that have news, and 0 when calls to the host wait."""
        handles, count = (ctypes.c_uint64 * room)(), ctypes.c_size_t()
        code = lib.studio_ready(self.handle, timeout_ms, handles, room, ctypes.byref(count))
        if code < 0:
            raise Failed(code, "")
        return handles[: count.value]


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
        code, data = _asked(lib.studio_stream_next_batch, self.handle, timeout_ms, max_bytes)
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
        return lib.studio_stream_fd(self.handle)

    def cancel(self):
        """Cancels the run; its end is told."""
        code = lib.studio_stream_cancel(self.handle)
        if code < 0:
            raise Failed(code, "")

    def finish(self):
        """Lets the stream go; once is enough."""
        if not self._closed:
            self._closed = True
            lib.studio_stream_close(self.handle)

    def __del__(self):
        if getattr(self, "_closed", True) is False:
            self.finish()
