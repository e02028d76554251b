"""Workflow Studio inside a Python web application.

``Studio`` opens an engine and speaks dictionaries; ``Studio.mount`` puts its pages and routes into an application (``wfstudio.asgi`` and
``wfstudio.wsgi`` are the mounts themselves, ``wfstudio.django`` is for Django); ``Host`` answers what the engine asks: tools, secrets, the
gate. The objects underneath are those of ``wfstudio.native``.
"""

import atexit

from . import native
from ._library import UnsupportedPlatform
from .classes import StudioAgent, StudioTool, StudioWorkflow
from .events import Event, Events, Frames
from .host import Host, ToolFailure, current_call
from .native import EventStream, HttpResponse, StudioEngine, StudioError
from .studio import Studio

__all__ = [
    "Event",
    "EventStream",
    "Events",
    "Host",
    "HttpResponse",
    "Studio",
    "StudioAgent",
    "StudioEngine",
    "StudioError",
    "StudioTool",
    "StudioWorkflow",
    "ToolFailure",
    "UnsupportedPlatform",
    "current_call",
    "events_of",
]

# Runs are put down safely before the interpreter is gone.
atexit.register(native.shutdown_all, 5_000)


def events_of(stream):
    """The events of a stream as ``(event, data)``; leaving the loop lets the stream go."""
    frames = Frames()
    try:
        while (batch := stream.next_batch(-1, 0)) is not None:
            yield from frames.of(batch)
    finally:
        stream.finish()
