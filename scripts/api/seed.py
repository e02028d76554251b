"""Gives generated requests something to meet: definitions and runs are made first, and paths often name one of them."""
import json
import os
import random
import urllib.error
import urllib.request

import schemathesis

BASE = os.environ["STUDIO_API"]


def send(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "X-Requested-With": "test", "Accept": "*/*"}
    asked = urllib.request.Request(BASE + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith(("{", "[")) else text


def seeds():
    """Made once for all workers: names of resources with ids that exist."""
    def names(path):
        return [thing["id"] for thing in send("GET", path)["data"]]

    if not names("/api/workflows"):
        for template in ["basic-agent-chat", "parallel-refund-approval", "lead-qualification", "autonomous-lead-qualification"]:
            send("POST", f"/api/templates/workflow/{template}/install", {})
        send("POST", "/api/tools", {"name": "Shop", "kind": "webhook", "config": {"url": "https://shop.invalid/"}})
        send("POST", "/api/knowledge-bases", {"name": "Papers"})
        send("POST", "/api/mcp-servers", {"name": "Far", "transport": "http", "url": "https://mcp.invalid/"})
        for workflow in names("/api/workflows"):
            send("POST", f"/workflows/{workflow}/run/stream", {"message": "Refund A-100"})
    return {
        "workflows": names("/api/workflows"), "agents": names("/api/agents"), "tools": names("/api/tools"),
        "knowledge-bases": names("/api/knowledge-bases"), "mcp-servers": names("/api/mcp-servers"), "runs": names("/api/runs"),
    }


known = seeds()
# What stands before a parameter in a path says what it names.
WORDS = {"traces": "runs", "knowledge": "knowledge-bases", "mcp": "mcp-servers"}


def kind_of(path, name):
    before = path.split("{" + name + "}")[0].rstrip("/").rsplit("/", 1)[-1]
    return WORDS.get(before, before)


@schemathesis.hook("map_path_parameters")
def name_what_there_is(context, path_parameters):
    for name in path_parameters or {}:
        ids = known.get(kind_of(context.operation.path, name))
        if ids and random.random() < 0.7:
            path_parameters[name] = random.choice(ids)
    return path_parameters
