"""Owns the scenario: its steps one after another, what they save, and the comparison with what is expected."""

import difflib
import fnmatch
import json
import pathlib
import re
import time

import normal
import wire

HERE = pathlib.Path(__file__).resolve().parent
FILE, EXPECTED = HERE / "scenario.jsonl", HERE / "expected"
UNTIL_SECONDS = 60
# So many looks come before a request is sent again.
AGAIN = 40


class Failed(Exception):
    """A step did not do what it should."""


def steps():
    lines = FILE.read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip() and not line.startswith("#")]


def chosen(all_steps, pattern):
    """The steps of a pattern, and those before them that save something."""
    if not pattern:
        return all_steps
    named = [number for number, step in enumerate(all_steps) if fnmatch.fnmatch(step["step"], pattern)]
    last = named[-1] if named else -1
    return [step for number, step in enumerate(all_steps[: last + 1]) if number in named or "save" in step or step.get("sets")]


class Play:
    """One run of the scenario against one process."""

    def __init__(self, process, write):
        self.port, self.write = process.port, write
        self.saved, self.open = {"peer": process.peer.address}, {}
        self.known = {name for step in steps() for name in step.get("save", {})}
        here = {f"127.0.0.1:{process.port}": "«host»", process.peer.address: "«peer»", str(process.folder): "«folder»"}
        self.names = normal.Names(here)

    def fill(self, value):
        """Replaces `{name}` by what was saved."""
        if isinstance(value, dict):
            return {key: self.fill(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        if not isinstance(value, str):
            return value
        for name in re.findall(r"\{(\w+)\}", value):
            if name in self.saved:
                value = value.replace("{%s}" % name, str(self.saved[name]))
        missing = [name for name in re.findall(r"\{(\w+)\}", value) if name in self.known and name not in self.saved]
        if missing:
            raise Failed(f"`{missing[0]}` is needed here, and no earlier step saved it")
        return value

    def ask(self, line, step):
        """Sends it, again where the step says `until`; what is to bring that about is sent `again` when it does not come for two seconds."""
        end, before, again = time.monotonic() + UNTIL_SECONDS, [], 0
        while True:
            answer = wire.send(self.port, line, step)
            if "start" in step:
                self.open[step["start"]] = answer.read_until(step["read_until"]) if "read_until" in step else answer
                return answer
            answer.read()
            if "until" not in step or step["until"].encode() in answer.body:
                return joined(answer, before, again)
            before.append(answer.body)
            if "again" in step and len(before) % AGAIN == 0:
                wire.send(self.port, step["again"]["send"], step["again"]).read()
                again += 1
            if time.monotonic() > end:
                raise Failed(f"`{step['until']}` did not come:\n{answer.body.decode('utf-8', 'replace')}")
            time.sleep(0.05)

    def play(self, step):
        """The differences of a step."""
        if step.get("empty", any(line.endswith("/own/journal") for line in step.get("then", {}))):
            # Of what came before nothing is told: steps may have been left out.
            wire.send(self.port, "GET /own/journal").read()
        if "wait" in step:
            line, answer = "GET /studio/waited", self.open.pop(step["wait"]).read()
        elif "leave" in step:
            self.open.pop(step["leave"]).close()
            return []
        else:
            line = self.fill(step["send"])
            answer = self.ask(line, {**step, **{key: self.fill(step[key]) for key in ("json", "text", "headers", "form") if key in step}})
        if "start" in step:
            self.save(step, answer)
            return []
        differences = [self.compare(step.get("expect"), answer, step, line)]
        if any(name.lower() == step.get("absent") for name, _ in answer.headers):
            differences.append(f"{line}: the header `{step['absent']}` is there")
        if "length_of" in step:
            differences.append(self.lengths(answer, line, step))
        self.save(step, answer)
        for then, name in step.get("then", {}).items():
            line = self.fill(then)
            differences.append(self.compare(name, self.ask(line, {key: step[key] for key in ("only", "unsorted") if key in step}), step, line))
        return [one for one in differences if one]

    def compare(self, name, answer, step, line):
        if name is None:
            wanted = step.get("status", 200)
            return None if answer.status == wanted else f"{line}: {answer.status} instead of {wanted}\n{answer.body.decode('utf-8', 'replace')[:2000]}"
        file, told = EXPECTED / f"{name}.txt", normal.shown(answer, step, line, self.names)
        if self.write:
            file.write_text(told)
            return None
        wanted = file.read_text() if file.exists() else ""
        lines = difflib.unified_diff(wanted.splitlines(), told.splitlines(), f"expected/{name}.txt", line, lineterm="", n=2)
        return "\n".join(text[:1000] for text in lines)

    def lengths(self, answer, line, step):
        """A head alone tells the length that the whole answer has."""
        whole = wire.send(self.port, step["length_of"], {key: step[key] for key in ("headers",) if key in step}).read()
        told = [value for name, value in answer.headers if name.lower() == "content-length"]
        if told == [str(len(whole.body))] and not answer.body:
            return None
        return f"{line}: Content-Length {told} and {len(answer.body)} bytes of a body; GET has {len(whole.body)}"

    def save(self, step, answer):
        for name, where in step.get("save", {}).items():
            self.saved[name] = value = str(found(answer, where))
            if normal.ID.fullmatch(value):
                self.names.saved[name] = value


def joined(answer, before, again):
    """A journal that was asked for several times, as one. What was sent again may have told its entries once more: of those that are alike so many less count."""
    if before:
        entries = [entry for body in [*before, answer.body] for entry in json.loads(body)]
        kept = [entry for number, entry in enumerate(entries) if not 0 < entries[:number].count(entry) <= again]
        answer.body = json.dumps(kept).encode()
    return answer


def found(answer, where):
    """What a step saves of an answer."""
    kind, _, rest = where.partition(".")
    if kind == "header":
        return next((value for name, value in answer.headers if name.lower() == rest.lower()), "")
    text = answer.body.decode("utf-8", "replace")
    if kind == "match":
        hit = re.search(rest, text)
        value = hit.group(1) if hit else None
    elif kind == "event":
        event, _, path = rest.partition(".")
        hit = re.search(rf"event: {event}\ndata: (.*)\n", text) or re.search(rf'"event":\s?"{event}",\s?"data":\s?(\{{.*\}})\}}', text)
        value = inside(json.loads(hit.group(1)), path) if hit else None
    else:
        value = inside(json.loads(text), where)
    if value is None:
        raise Failed(f"`{where}` is not in the answer:\n{text[:2000]}")
    return value


def inside(value, path):
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else (value or {}).get(part)
    return value


def play(host, tap, pattern, write):
    if write:
        EXPECTED.mkdir(exist_ok=True)
    process = host.start()
    try:
        acts = Play(process, write)
        for step in chosen(steps(), pattern):
            reasons = [host.without[word] for word in step.get("needs", []) if word in host.without]
            if reasons:
                tap.skip(step["step"], reasons[0])
                continue
            try:
                differences = acts.play(step)
            except (Failed, OSError, ValueError, KeyError, IndexError, AttributeError) as failure:
                differences = [f"{type(failure).__name__}: {failure}"]
            if differences:
                tap.no(step["step"], "\n".join(differences))
            else:
                tap.ok(step["step"])
        tail = process.tail() if tap.failed else ""
    finally:
        went = process.close()
    if not went:
        tap.no("the host ends within 10 s of SIGTERM", "it was killed")
    if tail:
        tap.tell("the log of the host:\n" + tail)
