"""Owns the library's functions with Python's values: text, bytes and numbers in; what they fill in comes back. Written by bindings/generate/python.py; do not edit."""

import ctypes as c

from ._calling import checked, filled, lib, sized


def abi_version():
    """Returns the version of these functions; see `STUDIO_ABI_VERSION`."""
    return lib.studio_abi_version()


def version():
    """Returns the version of the library, such as `0.1.0`."""
    return lib.studio_version()


def engine_open(config):
    """Opens an engine."""
    out = c.c_uint64()
    filled(lib.studio_engine_open, *sized(config), c.byref(out))
    return out.value


def engine_shared(shared, config):
    """Returns the engine of this name in the process."""
    out = c.c_uint64()
    filled(lib.studio_engine_shared, shared.encode(), *sized(config), c.byref(out))
    return out.value


def engine_close(engine, timeout_ms):
    """Closes an engine: ends its streams, waits for callbacks that are running, and releases its runs so that another engine can take them over."""
    return checked(lib.studio_engine_close(engine, timeout_ms))


def shutdown(timeout_ms):
    """Closes every engine of the process and ends all callbacks."""
    lib.studio_shutdown(timeout_ms)


def call(engine, op, request):
    """Calls an operation by name, with JSON as input and output: `studio_call(engine, "ops", NULL, 0, &out)` lists the operations."""
    _, data = filled(lib.studio_call, engine, op.encode(), *sized(request))
    return data


def run(engine, request):
    """Runs a workflow (`{"workflow", "message", "state", "tenant", "user", …}`) or a chat turn of an agent (`{"agent", …}`)."""
    out = c.c_uint64()
    filled(lib.studio_run, engine, *sized(request), c.byref(out))
    return out.value


def resume(engine, request):
    """Answers a pause (`{"trace_id", "message" or "approval", "tenant", "user", …}`)."""
    out = c.c_uint64()
    filled(lib.studio_resume, engine, *sized(request), c.byref(out))
    return out.value


def trace(engine, request):
    """Returns the trace of a run as JSON: `{"trace_id", "tenant", "include"}`."""
    _, data = filled(lib.studio_trace, engine, *sized(request))
    return data


def usage(engine, query):
    """Returns the usage and the costs of runs as JSON: `{"from", "to", "group_by", "tenant", …}`, or `{"run", "tenant"}` for one run."""
    _, data = filled(lib.studio_usage, engine, *sized(query))
    return data


def http(engine, head, body_in):
    """Handles an HTTP request."""
    body_out = c.c_uint64()
    _, data = filled(lib.studio_http, engine, *sized(head), *sized(body_in), c.byref(body_out))
    return data, body_out.value


def host_set(engine, ops_json):
    """Declares what the host provides, `{"ops", "tools", "schemas", "classes"}`, and replaces the previous declaration."""
    return checked(lib.studio_host_set(engine, *sized(ops_json), None, None, None))


def host_next(engine, timeout_ms):
    """Returns the next call that waits for the host."""
    return filled(lib.studio_host_next, engine, timeout_ms)


def host_complete(engine, call_id, ok, data):
    """Answers a call."""
    return checked(lib.studio_host_complete(engine, call_id, ok, *sized(data)))


def start(engine, op, request, body):
    """Starts a request and returns immediately."""
    out = c.c_uint64()
    filled(lib.studio_start, engine, op.encode(), *sized(request), *sized(body), c.byref(out))
    return out.value


def ready(engine, timeout_ms, room):
    """Returns the handles of streams with new data: `*count` handles, at most `room`."""
    handles = (c.c_uint64 * room)()
    count = c.c_size_t()
    checked(lib.studio_ready(engine, timeout_ms, handles, room, c.byref(count)))
    return handles[: count.value]


def engine_fd(engine):
    """Returns a file descriptor that is readable while `studio_ready` has handles to return."""
    return lib.studio_engine_fd(engine)


def stream_next(stream, timeout_ms):
    """Returns the next event, or the next part of a body."""
    return filled(lib.studio_stream_next, stream, timeout_ms)


def stream_next_batch(stream, timeout_ms, max_bytes):
    """Returns all events that are available, whole events only, up to `max_bytes` (0 means 64 KiB)."""
    return filled(lib.studio_stream_next_batch, stream, timeout_ms, max_bytes)


def stream_fd(stream):
    """Returns a file descriptor to watch for reading, level-triggered: while it is readable, `next` with a timeout of 0 may return something."""
    return lib.studio_stream_fd(stream)


def stream_cancel(stream):
    """Cancels the run."""
    return checked(lib.studio_stream_cancel(stream))


def stream_close(stream):
    """Closes the stream."""
    return checked(lib.studio_stream_close(stream))
