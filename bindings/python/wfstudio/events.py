"""Owns the events of a run: found in the bytes of its stream, and told to a loop."""

import contextlib
import json
import typing

if typing.TYPE_CHECKING:
    from .types import RunEvent


class Event(typing.NamedTuple):
    """One event of a run: its name and its members."""

    name: str
    data: dict


class Frames:
    """Cuts the bytes of a stream into events."""

    def __init__(self):
        self._rest = b""

    def of(self, batch):
        *frames, self._rest = (self._rest + batch).split(b"\n\n")
        for frame in frames:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            if b"event" in fields:
                yield Event(fields[b"event"].decode(), json.loads(fields[b"data"]))


class Events:
    """The events of a run, for a ``for`` loop; leaving it lets the stream go, and the run goes on."""

    def __init__(self, reader):
        self._reader = reader
        self._told = self._tell()

    def _tell(self):
        frames = Frames()
        try:
            for batch in self._reader.pieces():
                yield from frames.of(batch)
        finally:
            self._reader.close()

    def __iter__(self) -> "typing.Iterator[RunEvent]":
        return self._told

    def __next__(self) -> "RunEvent":
        return next(self._told)

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *_):
        self.close()

    def cancel(self):
        """Cancels the run; its end is told."""
        self._reader.stream.cancel()

    def close(self):
        """Lets the stream go. A loop on another thread that waits for more ends with an error: the stream is closed."""
        self._reader.close()
        with contextlib.suppress(ValueError):  # it is read on another thread
            self._told.close()
