"""Owns the threads that calls to the host run on."""

import queue
import threading

from ._errors import log


class Threads:
    """Threads for calls, up to so many. The end of the interpreter does not wait for one that goes on."""

    def __init__(self, most, name):
        self._most, self._name, self._made, self._lock = most, name, 0, threading.Lock()
        self._jobs, self._open = queue.SimpleQueue(), 0

    def submit(self, work, *given):
        """Has it worked on; a RuntimeError where there is no thread at all."""
        with self._lock:
            if self._made <= self._open and self._made < self._most:
                try:
                    threading.Thread(target=self._serve, name=f"{self._name}_{self._made}", daemon=True).start()
                    self._made += 1
                except RuntimeError:
                    if not self._made:
                        raise  # else those that work come to it
            self._open += 1
            self._jobs.put((work, given))

    def _serve(self):
        while True:
            job = self._jobs.get()
            if job is None:
                return self._jobs.put(None)
            try:
                job[0](*job[1])
            except BaseException:  # one call that fails takes no thread from those that follow
                log().exception("a call to the host could not be answered")
            del job
            with self._lock:
                self._open -= 1

    def end(self):
        self._jobs.put(None)
