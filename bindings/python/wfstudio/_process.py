"""Owns what a process does to those who live in it: locks after a fork, and the end of the interpreter."""

import atexit
import contextlib
import os
import threading
import weakref

_locks = weakref.WeakSet()


class Lock:
    """A lock that one thread may take several times. In the child of a fork it is free: another thread of the parent may have held it."""

    def __init__(self):
        self._free()
        _locks.add(self)

    def _free(self):
        self._lock = threading.RLock()

    def __call__(self):
        """What a block holds, as ``with lock():``; it gives back what it took, also after a fork."""
        return self._lock


def _forked():
    for lock in _locks:
        lock._free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


_ends = set()


def at_end(function):
    """Has it called before pools of threads are waited for, where the interpreter has such a hook: a tool that waits would keep it. Once for each
    function, however often this is called. While the interpreter ends it is too late, and nothing is registered."""
    if function in _ends:
        return
    with contextlib.suppress(RuntimeError):
        # What was registered last ends first, so the pools have to be there before.
        import concurrent.futures.thread  # noqa: F401

        getattr(threading, "_register_atexit", atexit.register)(function)
    _ends.add(function)
