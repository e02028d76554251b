"""Owns the one who waits for an engine: a thread that wakes readers of streams which have news, and takes calls to the host.

The library never calls into the interpreter: everything is fetched, so nothing runs in it while it ends.
"""

import json
import os
import select
import sys
import threading

from . import _generated as g
from ._errors import Failed, log

# How long a green thread watches the descriptor before it looks whether the engine is still open.
LOOK_MS = 1000


def green():
    """Threads are greenlets here (gevent): a wait inside the library would stop all of them."""
    monkey = sys.modules.get("gevent.monkey")
    return bool(monkey and monkey.is_module_patched("threading"))


def blocks():
    """This thread may wait inside the library. The main thread may not: no signal, Ctrl-C among them, is heard in there."""
    return not green() and threading.current_thread() is not threading.main_thread()


class Waiter:
    """Waits for one engine. ``take`` is given each call to the host, as JSON; without it they are left to whoever fetches them."""

    def __init__(self, engine):
        self._engine, self._wakes, self._process = engine, {}, 0
        self.take = None

    def begin(self):
        """Begins to wait; once in a process."""
        if self._process != os.getpid():
            self._process = os.getpid()
            threading.Thread(target=self._wait, name="wfstudio-waiter", daemon=True).start()
        return self

    def watch(self, stream, wake):
        """Has ``wake`` called, on the waiter's thread, when the stream has news after it was found empty."""
        # No lock: readers are let go wherever the interpreter collects them.
        self._wakes[stream.handle] = wake

    def forget(self, stream):
        self._wakes.pop(stream.handle, None)

    def _wait(self):
        watched = self._watched() if green() else None
        try:
            while True:
                if watched:
                    watched.poll(LOOK_MS)
                for handle in self._engine.ready(0 if watched else -1):
                    self._wake(handle) if handle else self._fetch()
        except Failed:
            # It was closed; whoever still reads is told so by the stream itself.
            for wake in list(self._wakes.values()):
                _call(wake)

    def _watched(self):
        descriptor = self._engine.descriptor()
        if descriptor < 0 or not hasattr(select, "poll"):
            return None
        watched = select.poll()
        watched.register(descriptor, select.POLLIN)
        return watched

    def _wake(self, handle):
        wake = self._wakes.get(handle)
        if wake:
            _call(wake)

    def _fetch(self):
        # While the interpreter ends no thread can be begun: calls that nobody took are put down with their runs.
        while self.take and threading.main_thread().is_alive() and (call := self._engine.next_host_call(0)) is not None:
            try:
                self.take(call)
            except Exception as failure:  # whoever takes calls is the application's; this thread has to go on
                log().exception("a call to the host could not be taken")
                self._refuse(call, failure)

    def _refuse(self, call, failure):
        try:
            message = f"the host could not take the call: {type(failure).__name__}: {failure}"[:10_000]
            self._engine.complete_host_call(json.loads(call)["call_id"], 0, json.dumps({"message": message}))
        except Failed:
            pass  # Nobody waits for it any more.


def _call(wake):
    try:
        wake()
    except RuntimeError:
        pass  # The loop that read it was closed.
    except Exception:
        log().exception("news could not be handed on")


class Reader:
    """Reads one stream for threads; waits inside the library where nothing else waits for this thread."""

    def __init__(self, stream):
        self.stream, self._waiter, self._news = stream, stream.engine.waiter.begin(), threading.Event()
        self._waiter.watch(stream, self._news.set)

    def take(self):
        """The next code but TIMEOUT, and its bytes."""
        if blocks():
            return self.stream.take(-1)
        while True:
            self._news.clear()
            code, data = self.stream.take(0)
            if code != g.TIMEOUT:
                return code, data
            self._news.wait()

    def head(self):
        """What comes before the body: the whole answer of an operation, or the head of an HTTP answer."""
        while (told := self.take())[0] != g.HEAD:
            pass
        return told[1]

    def pieces(self):
        """The bytes, as they come."""
        while (told := self.take())[0] != g.END:
            if told[0] == g.OK:
                yield told[1]

    def close(self):
        self._let_go()
        self._news.set()  # whoever reads it on another thread is told that it is closed

    def _let_go(self):
        self._waiter.forget(self.stream)
        self.stream.finish()

    def __del__(self):
        # The interpreter may collect it in the middle of `set`: no lock is taken here.
        if hasattr(self, "_waiter"):
            self._let_go()


class LoopReader(Reader):
    """Reads one stream on the event loop that runs here; nothing blocks it."""

    def __init__(self, stream):
        import asyncio

        self.stream, self._waiter, self._news = stream, stream.engine.waiter.begin(), asyncio.Event()
        loop = asyncio.get_running_loop()
        self._waiter.watch(stream, lambda: loop.call_soon_threadsafe(self._news.set))

    async def take(self):
        """The next code but TIMEOUT, and its bytes."""
        while True:
            self._news.clear()
            code, data = self.stream.take(0)
            if code != g.TIMEOUT:
                return code, data
            await self._news.wait()

    async def head(self):
        """What comes before the body."""
        while (told := await self.take())[0] != g.HEAD:
            pass
        return told[1]

    async def pieces(self):
        """The bytes, as they come."""
        while (told := await self.take())[0] != g.END:
            if told[0] == g.OK:
                yield told[1]
