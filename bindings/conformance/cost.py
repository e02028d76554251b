"""Owns what a host costs: processor time for each event of a run in the language's default loop, for each request through a mount, for the import of the package.

Processor time, not time on the clock: whoever shares the machine changes it little. The bounds hold for a debug build too; COST_EVENT_US, COST_REQUEST_US and
COST_IMPORT_MS set others, such as those of an optimised library.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

import suites
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS, RUNS, REQUESTS, ROUNDS, IMPORTS = 2500, 8, 1000, 3, 5
EVENT_US = float(os.environ.get("COST_EVENT_US", "60"))
REQUEST_US = float(os.environ.get("COST_REQUEST_US", "5000"))
IMPORT_MS = float(os.environ.get("COST_IMPORT_MS", "250"))
# How a language begins and ends at once, and how it does so with the package.
IMPORTED = {
    "python": ([sys.executable, "-c", "pass"], [sys.executable, "-c", "import wfstudio"]),
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
            bounded(tap, "cost: an event in the loop of the language", statistics.median(event(process) for _ in range(ROUNDS)), "µs", EVENT_US)
        bounded(tap, "cost: a request through the mount, above one of the application's own", statistics.median(request(process) for _ in range(ROUNDS)), "µs", REQUEST_US)
    finally:
        process.close()
    name = "cost: the import of the package"
    if host.lang in IMPORTED:
        bare, package = (min(taken(command) for _ in range(IMPORTS)) for command in IMPORTED[host.lang])
        bounded(tap, name, package - bare, "ms", IMPORT_MS)
    else:
        tap.skip(name, "the language compiles it in, or its runtime takes longer to begin than the package")


def bounded(tap, name, figure, unit, most):
    figure = max(figure, 0)
    if figure > most:
        tap.no(name, f"{figure:.1f} {unit} of processor time; {most:g} {unit} are allowed")
    else:
        tap.ok(name, f"{figure:.1f} {unit} of processor time")


def spent(process):
    """Microseconds of processor time that the processes of the host have used."""
    ticks = 0
    for folder in suites.members(process):
        fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks * 1e6 / os.sysconf("SC_CLK_TCK")


def told(process, more):
    """Runs a model that says many words by the native API; the events that the loop saw."""
    run = {"workflow": "wordy", "message": "word " * WORDS}
    answer = wire.send(process.port, "POST /own/run", {"json": {"run": run, **more}}).read()
    return [json.loads(line).get("event") for line in answer.body.decode().splitlines()]


def event(process):
    """A run whose loop leaves at its first event costs what the engine does; what a whole loop costs more, the events cost."""
    made = next(step for step in suites.scenario.steps() if step["step"] == "a workflow is made")
    wordy = json.loads(json.dumps(made["json"]).replace('"desk"', '"wordy"'))
    wordy["graph"]["nodes"][1] |= {"type": "llm", "data": {"provider": "script", "model": "echo", "prompt": "{{input}}", "stream": True, "output_key": "answer"}}
    wire.send(process.port, made["send"], {"json": wordy}).read()
    # A clock of the system tells hundredths of a second: several runs are taken together.
    before = spent(process)
    events = [name for _ in range(RUNS) for name in told(process, {})]
    rested(process)
    whole = spent(process) - before
    # Words that a slow reader finds together may come as one event.
    count = events.count("token")
    if count < RUNS * WORDS // 5:
        sys.exit(f"the runs told {count} tokens, {RUNS * WORDS} words were to be said: {set(events)}")
    before = spent(process)
    for _ in range(RUNS):
        told(process, {"leave_after": "trace_started"})
    rested(process)
    return (whole - (spent(process) - before)) / len(events)


def rested(process):
    """Waits until no run is under way."""
    while True:
        answer = wire.send(process.port, "GET /studio/api/traces?status=running").read()
        if not json.loads(answer.body).get("data"):
            return


def request(process):
    """What a page of the studio's settings costs more than the host's own answer."""
    took = {}
    for path in ("/own/ping", "/studio/api/settings"):
        wire.send(process.port, f"GET {path}").read()
        before = spent(process)
        for _ in range(REQUESTS):
            wire.send(process.port, f"GET {path}").read()
        took[path] = (spent(process) - before) / REQUESTS
    return took["/studio/api/settings"] - took["/own/ping"]


def taken(command):
    """Milliseconds of processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
