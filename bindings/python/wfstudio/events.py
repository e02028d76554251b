"""Owns the events of a run: found in the bytes of its stream, and told to a loop."""

import collections.abc
import contextlib
import itertools
import json
import re

TYPE_CHECKING = False  # type checkers know better
if TYPE_CHECKING:
    import typing

    from .types import RunEvent

# What the library writes of an event: its lines are always in this order. Other frames are said to browsers only.
EVENT = re.compile("^event: (.*)\ndata: (.*)$", re.MULTILINE)
_read = json.JSONDecoder().raw_decode


class Event(collections.abc.Sequence):
    """One event of a run, as the pair of its name and its members. ``data`` is parsed when it is first read."""

    __slots__ = ("name", "_data")
    __match_args__ = ("name", "data")

    def __init__(self, name, data):
        self.name, self._data = name, data

    @property
    def data(self):
        data = self._data
        if isinstance(data, str):  # the JSON, as the library wrote it
            data = self._data = _read(data)[0]
        return data

    def _asdict(self):
        """As of a named tuple, which type checkers take an event for."""
        return {"name": self.name, "data": self.data}

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return (self.name, self.data)[index]

    def __iter__(self):
        return iter((self.name, self.data))

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, (Event, tuple)) else NotImplemented

    def __repr__(self):
        return f"Event(name={self.name!r}, data={self.data!r})"


class Frames:
    """Cuts the bytes of a stream into events."""

    def __init__(self):
        self._rest = b""

    def of(self, batch):
        frames, end, self._rest = (self._rest + batch).rpartition(b"\n\n")
        return itertools.starmap(Event, EVENT.findall(frames.decode()))


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
