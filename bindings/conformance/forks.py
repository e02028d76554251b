"""Owns what is held against servers whose workers are forked after the engine was used."""

import contextlib
import http.client
import os
import signal
import threading

import suites
import wire

FORKS = int(os.environ.get("FORKS", "24"))
RUN = {"json": {"message": "look up A-100"}}


def forks(host, tap):
    """Workers end and are forked anew, while others answer: each has an engine of its own, with the tools of the host, and nobody wrote a hook."""
    name = "forks: each worker answers with its own engine and its own tools"
    if "forks" in host.without:
        return tap.skip(name, host.without["forks"])
    process = suites.prepared(host, SERVER=os.environ.get("SERVER", "prefork"))
    bad, seen, enough = [], set(), threading.Event()
    load = [threading.Thread(target=keep_asking, args=(process, enough, bad)) for _ in range(3)]
    try:
        for thread in load:
            thread.start()
        for _ in range(FORKS):
            seen |= {folder.name for folder in suites.members(process)}
            suites.crash(process, "now")
            if bad:
                break
            told = asked(process)
            if told is not None:
                bad.append(f"after a fork: {told}")
        enough.set()
        for thread in load:
            thread.join()
        seen |= {folder.name for folder in suites.members(process)}
        if len(seen) <= FORKS and not bad:
            bad.append(f"{len(seen)} processes were seen, of {FORKS} workers that ended and were to be forked anew")
        code = process.end()
        if code is None or code < 0 and code != -signal.SIGTERM:
            bad.append(f"it ended with {code}, or not within 10 s")
        if bad:
            bad.append(process.tail(30))
    finally:
        enough.set()
        process.close()
    suites.told(tap, name, bad)


def asked(process):
    """A run that calls a tool of the host; what was wrong with it."""
    try:
        answer = wire.send(process.port, "POST /studio/workflows/desk/run/stream", RUN).read()
    except (OSError, http.client.HTTPException) as failure:
        return f"{type(failure).__name__}: {failure}"
    text = answer.body.decode("utf-8", "replace")
    return None if answer.status == 200 and "Found: " in text and "event: trace_completed" in text else f"{answer.status} {text[-1000:]}"


def keep_asking(process, enough, bad):
    """Runs, one after another. A worker that ends takes its answers with it; what hangs or is refused is wrong."""
    while not enough.is_set() and not bad:
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            try:
                answer = wire.send(process.port, "POST /studio/workflows/desk/run/stream", RUN).read()
            except TimeoutError:
                bad.append("a run under load hangs")
                return
            text = answer.body.decode("utf-8", "replace")
            if answer.status != 200 or "event: trace_completed" in text and "Found: " not in text:
                bad.append(f"a run under load: {answer.status} {text[-1000:]}")
