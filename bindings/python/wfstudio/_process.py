"""Owns what a process does to those who live in it: locks and imports at a fork, and the end of the interpreter."""

import atexit
import concurrent.futures.thread  # noqa: F401  (what it and logging do at a fork and at the end has to be registered before ours)
import contextlib
import importlib
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


_LATER = ("asyncio", "inspect", "platform", __package__ + "._schema")
_loading, _loaded = threading.RLock(), set()


def load():
    """Imports what the first engine or host needs, and the import of the package does not. A fork waits for it: a module that another thread had begun to
    import would stay locked in the child."""
    for name in _LATER:
        if name not in _loaded:
            with _loading:
                importlib.import_module(name)
            _loaded.add(name)


def _forked():
    global _loading
    _loading = threading.RLock()
    for lock in _locks:
        lock._free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _loading.acquire(), after_in_parent=lambda: _loading.release(), after_in_child=_forked)


_ends = set()


def at_end(function):
    """Has it called before pools of threads are waited for, where the interpreter has such a hook: a tool that waits would keep it. Once for each
    function, however often this is called. While the interpreter ends it is too late, and nothing is registered."""
    if function in _ends:
        return
    with contextlib.suppress(RuntimeError):
        getattr(threading, "_register_atexit", atexit.register)(function)
    _ends.add(function)
