"""Prints what exported classes return; registered with an engine, its workflows must run as the stored ones did: run.py FILES"""

import importlib.util
import json
import os
import sys

import wfstudio

files = sys.argv[1]


def read(name):
    with open(os.path.join(files, name), encoding="utf-8") as file:
        return json.load(file)


def loaded(entry):
    spec = importlib.util.spec_from_file_location(entry["path"].replace("/", "_")[:-3], f"{files}/{entry['path']}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, entry["class"])
    assert issubclass(found, getattr(wfstudio, f"Studio{entry['kind'].capitalize()}")), entry
    return found


def played(studio, story):
    told, trace_id = [], None
    events = studio.run(workflow=story["workflow"], message=story["message"])
    for answer in [*story["answers"], None]:
        for event in events:
            told.append([event.name, event.data.get("node_id")])
            trace_id = event.data.get("trace_id", trace_id)
        events = answer and studio.resume(trace_id, **answer)
    trace = studio.trace(trace_id)["trace"]
    return {**story, "told": told, "end": [trace["status"], trace["reply"], trace["output"]]}


index = read("index.json")
classes = {entry["full"]: loaded(entry) for entry in index["classes"]}
print(json.dumps({full: found.definition() for full, found in classes.items()}))

studio = wfstudio.Studio({"environment": "local", "database": {"path": ":memory:"}, "default_provider": "script"})
stories = read("../stories.json")
wanted = {story["workflow"] for story in stories}
workflows = [found for found in classes.values() if issubclass(found, wfstudio.StudioWorkflow) and found.definition()["slug"] in wanted]
assert len(workflows) == len(wanted)
studio.register(*workflows)
for story in stories:
    ended = played(studio, story)
    assert ended == story, f"{story}\nran as\n{ended}"
print(f"python: {len(stories)} runs of registered classes end as the stored workflows do", file=sys.stderr)
studio.shutdown()
