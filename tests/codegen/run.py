"""Prints what exported classes return, and registers them with an engine: run.py FILES"""

import importlib.util
import json
import sys

import wfstudio

files = sys.argv[1]
with open(f"{files}/index.json", encoding="utf-8") as file:
    index = json.load(file)
classes = {}
for entry in index["classes"]:
    name = entry["path"].replace("/", "_")[:-3]
    spec = importlib.util.spec_from_file_location(name, f"{files}/{entry['path']}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, entry["class"])
    contract = getattr(studio, f"Studio{entry['kind'].capitalize()}")
    assert issubclass(found, contract), entry
    classes[entry["full"]] = found
print(json.dumps({full: found.definition() for full, found in classes.items()}))

engine = wfstudio.Studio({"environment": "local", "database": {"path": ":memory:"}, "default_provider": "script"})
found = classes["app.studio.workflows.SupportRagHitlWorkflow"]
engine.register(found)
head = {"method": "GET", "path": "/studio/api/workflows", "gate": True}
shown = json.loads(json.loads(engine.engine.http(json.dumps(head), b"").head)["body"])
assert shown["data"][0]["slug"] == "support-rag-hitl" and shown["data"][0]["locked"], shown
engine.shutdown()
