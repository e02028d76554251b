"""Owns what a host costs: processor time for each event of a run in the language's default loop, for each request through a mount, for the import of the package.

Processor time, not time on the clock: whoever shares the machine changes it little. It is that of the host's processes, the engine in them included.
The bounds hold for a debug build too; COST_EVENT_US, COST_REQUEST_US and COST_IMPORT_MS set others, such as those of an optimised library.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import suites
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS, RUNS, REQUESTS, ROUNDS, IMPORTS = 2500, 8, 500, 3, 5
# The start page is read from no database and is the same for everybody; the settings are 10 KB that are put together for each request.
SMALL, LARGE = "/studio", "/studio/api/settings"
EVENT_US = float(os.environ.get("COST_EVENT_US", "60"))
REQUEST_US = float(os.environ.get("COST_REQUEST_US", "5000"))
IMPORT_MS = float(os.environ.get("COST_IMPORT_MS", "250"))
# How a language begins and ends at once, and how it does so with the package. Python without what the packages of this machine load when it begins.
IMPORTED = {
    "python": ([sys.executable, "-S", "-c", "import os"], [sys.executable, "-S", "-c", "import os, wfstudio"]),
    "ruby": (["ruby", "-e", "require 'ffi'"], ["ruby", "-I", "bindings/ruby/lib", "-e", "require 'wfstudio'"]),
    "node": (["node", "-e", "0"], ["node", "--input-type=module", "-e", "await import('./bindings/node/dist/index.js')"]),
    "php": (["php", "-r", "0;"], ["php", "-r", "require 'bindings/php/tests/autoload.php'; class_exists('Studio\\Studio');"]),
}


def cost(host, tap):
    process = suites.prepared(host)
    try:
        if "native" in host.without:
            tap.skip("cost: an event in the loop of the language", host.without["native"])
        else:
            bounded(tap, "cost: an event in the loop of the language", warm(lambda: event(process)), "µs", EVENT_US)
        asked = {
            "cost: a request through the mount, above one of the application's own": SMALL,
            "cost: a large answer through the mount, above one of the application's own": LARGE,
        }
        for name, path in asked.items():
            bounded(tap, name, warm(lambda: request(process, path)), "µs", REQUEST_US)
    finally:
        process.close()
    name = "cost: the import of the package"
    if host.lang in IMPORTED:
        with tempfile.TemporaryDirectory() as compiled:
            bare, package = (min(taken(command, compiled) for _ in range(IMPORTS)) for command in IMPORTED[host.lang])
        bounded(tap, name, package - bare, "ms", IMPORT_MS)
    else:
        tap.skip(name, "the language compiles it in, or its runtime takes longer to begin than the package")


def warm(measured):
    """The median of some rounds, after one that does not count: in it, runtimes compile and the processes of a server open their engines."""
    measured()
    return statistics.median(measured() for _ in range(ROUNDS))


def bounded(tap, name, figure, unit, most):
    figure = max(figure, 0)
    if figure > most:
        tap.no(name, f"{figure:.1f} {unit} of processor time; {most:g} {unit} are allowed")
    else:
        tap.ok(name, f"{figure:.1f} {unit} of processor time")


def spent(process):
    """Microseconds of processor time that the processes of the host have used."""
    # The clock of another process by its number, as `clock_getcpuclockid` makes it: the ticks of /proc are 10 ms each.
    return sum(time.clock_gettime_ns(~int(folder.name) << 3 | 2) for folder in suites.members(process)) / 1000


def told(process, **more):
    """Runs a model that says many words by the native API; the lines of the answer."""
    run = {"workflow": "wordy", "message": "word " * WORDS}
    answer = wire.send(process.port, "POST /own/run", {"json": {"run": run, **more}}).read()
    return [json.loads(line) for line in answer.body.decode().splitlines()]


def event(process):
    """A run whose loop leaves at its first event costs what the engine does; what a loop that counts them costs more, the events cost."""
    made = next(step for step in suites.scenario.steps() if step["step"] == "a workflow is made")
    wordy = json.loads(json.dumps(made["json"]).replace('"desk"', '"wordy"'))
    wordy["graph"]["nodes"][1] |= {"type": "llm", "data": {"provider": "script", "model": "echo", "prompt": "{{input}}", "stream": True, "output_key": "answer"}}
    wire.send(process.port, made["send"], {"json": wordy}).read()
    took, events = {}, 0
    for how in ({"count": True}, {"leave_after": "trace_started"}):
        before = spent(process)
        for _ in range(RUNS):
            first = told(process, **how)[0]
            # Words that a slow reader finds together may come as one event.
            if "count" in how and first.get("tokens", 0) < WORDS // 5:
                sys.exit(f"the run told too few tokens, {WORDS} words were to be said: {first}")
            events += first.get("counted", 0)
        rested(process)
        took[next(iter(how))] = spent(process) - before
    return (took["count"] - took["leave_after"]) / events


def rested(process):
    """Waits until no run is under way."""
    while True:
        answer = wire.send(process.port, "GET /studio/api/traces?status=running").read()
        if not json.loads(answer.body).get("data"):
            return


def request(process, path):
    """What a page of the studio costs more than the host's own answer."""
    took = []
    for asked in ("/own/ping", path):
        wire.send(process.port, f"GET {asked}").read()
        before = spent(process)
        for _ in range(REQUESTS):
            wire.send(process.port, f"GET {asked}").read()
        took.append((spent(process) - before) / REQUESTS)
    return took[1] - took[0]


def taken(command, compiled):
    """Milliseconds of processor time of a program; Python finds its modules compiled, as it does when they are installed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python"), "PYTHONPYCACHEPREFIX": compiled}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
