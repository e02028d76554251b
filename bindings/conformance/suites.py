"""Owns what is held against a host beside the scenario: silence, load, its end, the engine closed under way."""

import contextlib
import json
import os
import pathlib
import signal
import threading
import time

import scenario
import wire

ROUNDS = int(os.environ.get("ROUNDS", "3"))
STREAMS, PINGS, REQUESTS, HEAP_ROUNDS = 64, 200, 1000, 8
PING_MS, MORE_THREADS, MORE_FILES, MORE_MEMORY = 20, 4, 8, 0.02
# What an allocator keeps of a load says nothing yet.
SLACK_KB = 4096


def prepared(host, **variables):
    """A new process that has the workflows `desk` and `sleepy`."""
    process = host.start(**variables)
    made = next(step for step in scenario.steps() if step["step"] == "a workflow is made")
    wire.send(process.port, made["send"], made).read()
    sleepy = json.loads(json.dumps(made["json"]).replace('"clerk"', '"sleepy"').replace('"desk"', '"sleepy"'))
    wire.send(process.port, made["send"], {"json": sleepy}).read()
    return process


def opened(process, workflow, message, until="event: step_started"):
    step = {"json": {"message": message}}
    return wire.send(process.port, f"POST /studio/workflows/{workflow}/run/stream", step).read_until(until)


def members(process):
    """The processes of the host's group."""
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int((folder / "stat").read_text().rsplit(")", 1)[1].split()[2]) == process.process.pid:
                yield folder
        except (OSError, IndexError):
            pass


def measured(process):
    """Threads, descriptors and kilobytes of the host."""
    threads = files = memory = 0
    for folder in members(process):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
            threads += int(fields["Threads"])
            memory += int(fields.get("VmRSS", "0 kB").split()[0])
            files += len(list((folder / "fd").iterdir()))
    return threads, files, memory


def slowest(process):
    """Milliseconds that 99 of 100 pings take at most."""
    took = []
    for _ in range(PINGS):
        begun = time.perf_counter()
        wire.send(process.port, "GET /own/ping").read()
        took.append((time.perf_counter() - begun) * 1000)
    return sorted(took)[int(PINGS * 0.99) - 1]


def told(tap, name, bad):
    tap.no(name, "\n".join(bad)) if bad else tap.ok(name)


def silent(host, tap):
    """64 open streams that say nothing: everything else goes on, and they cost neither threads nor descriptors."""
    if "silent" in host.without:
        return tap.skip("silent", host.without["silent"])
    process = prepared(host)
    try:
        opened(process, "desk", "look up A-100").read()
        # On a machine that others use too, pings are slow without any stream.
        allowed = max(PING_MS, 2 * slowest(process))
        before = measured(process)
        streams = [opened(process, "sleepy", "x") for _ in range(STREAMS)]
        # Whoever shares the machine makes pings slower, never faster.
        took = min(slowest(process) for _ in range(3))
        after = measured(process)
        told(tap, "silent: other requests are answered at once", [f"99 of 100 pings took up to {took:.1f} ms; {allowed:.1f} ms are allowed"] if took > allowed else [])
        more = after[0] - before[0]
        if "threads" in host.without:
            tap.skip("silent: streams have no threads", host.without["threads"])
        else:
            told(tap, "silent: streams have no threads", [f"{more} more threads for {STREAMS} streams"] if more > MORE_THREADS else [])
        more = after[1] - before[1] - STREAMS
        told(tap, "silent: streams have no descriptors but their sockets", [f"{more} more descriptors for {STREAMS} streams"] if more > MORE_FILES else [])
        for stream in streams:
            stream.close()
    finally:
        process.close()


def load(host, tap):
    """1,000 requests and 20 streams leave nothing behind."""
    if "load" in host.without:
        return tap.skip("load", host.without["load"])
    process = prepared(host)
    try:
        work(process, REQUESTS // 2)
        # A heap that is collected and a pool of threads grow for some rounds; what leaks grows in every round.
        for _ in range(HEAP_ROUNDS):
            before = settled(process)
            work(process, REQUESTS)
            after = settled(process)
            bad = [f"{name}: {was} before, {now} after" for name, was, now in zip(("threads", "descriptors"), before, after) if now > was + 2]
            if after[2] > before[2] * (1 + MORE_MEMORY) + SLACK_KB:
                bad.append(f"memory: {before[2]} KB before, {after[2]} KB after")
            if not bad:
                break
        told(tap, f"load: {REQUESTS} requests and 20 streams leave nothing behind", bad)
    finally:
        process.close()


def work(process, requests):
    streams = [opened(process, "desk", "look up A-100") for _ in range(20)]
    paths = ["/studio/api/workflows", "/studio/api/agents/none", "/studio/workflows", "/own/ping"]
    for number in range(requests):
        wire.send(process.port, f"GET {paths[number % len(paths)]}").read()
    for stream in streams:
        stream.read()


def settled(process):
    time.sleep(1)
    return measured(process)


def under_way(process):
    """A stream that is read, with a call of a tool that is being answered."""
    return opened(process, "desk", "slow", "event: tool_call")


def exits(host, tap):
    """However the host ends, with a stream open and a call under way: in time, and by no signal that it did not get."""
    ways = {"SIGTERM": {0, 143, -signal.SIGTERM}, "exit": {0}, "throw": None, "now": {70}}
    for way, codes in ways.items():
        bad = []
        for _ in range(ROUNDS):
            process = prepared(host)
            stream = under_way(process)
            if way == "SIGTERM":
                code = process.end()
            else:
                asked = threading.Thread(target=crash, args=(process, way), daemon=True)
                asked.start()
                code = process.wait_for_end()
            stream.close()
            if code is None:
                bad.append("it did not end within 10 s")
            elif code < 0 and code != -signal.SIGTERM or codes is not None and code not in codes or code < 0 and way != "SIGTERM":
                bad.append(f"exit code {code}" + (f", allowed: {sorted(codes)}" if codes else "") + "\n" + process.tail(15))
            process.close()
        if way == "throw" and "throw" in host.without:
            tap.skip("exits: throw", host.without["throw"])
        else:
            told(tap, f"exits: {way}", bad)


def crash(process, way):
    with contextlib.suppress(OSError):
        wire.send(process.port, "POST /own/crash", {"json": {"how": way}}).read()


def race(host, tap):
    """The engine is closed while streams are read and runs begin, twice at once; the application goes on."""
    bad = []
    for _ in range(ROUNDS):
        process = prepared(host)
        streams = [under_way(process) for _ in range(4)]
        run = {"json": {"run": {"workflow": "desk", "message": "look up A-100"}}}
        asked = [threading.Thread(target=quiet, args=(process, "POST /own/run", run)) for _ in range(8)]
        asked += [threading.Thread(target=quiet, args=(process, "POST /own/close", {"json": {}})) for _ in range(2)]
        for one in asked:
            one.start()
        for one in asked:
            one.join(20)
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.read()
        if any(one.is_alive() for one in asked):
            bad.append("a request hangs")
        with contextlib.suppress(OSError):
            if wire.send(process.port, "GET /own/ping").read().body != b"pong":
                bad.append("`GET /own/ping` is not answered")
        if process.process.poll() is not None:
            bad.append(f"the host has ended: exit code {process.process.returncode}\n{process.tail(15)}")
        if not process.close():
            bad.append("the host does not end")
    told(tap, "race: closed while it is used", bad)


def quiet(process, line, step):
    with contextlib.suppress(OSError):
        wire.send(process.port, line, step).read()


ALL = {"silent": silent, "load": load, "exits": exits, "race": race}
