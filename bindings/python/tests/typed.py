"""What a type checker has to accept and to refuse; it is checked, not run. An ignore that is not needed is an error."""

from wfstudio import Studio
from wfstudio.types import EventTraceStarted, HostGate

studio = Studio(database={"path": "studio.sqlite"})


def accepted() -> None:
    for event in studio.run(workflow="draft", message="hi"):
        if event.name == "token":
            print(event.data["delta"].upper())
        if event.name == "trace_started":
            started: EventTraceStarted = event.data
            print(started["status"])
        if event.name == "thread":
            print(event.data["delta"])  # type: ignore[typeddict-item]
        if event.name == "tokens":  # type: ignore[comparison-overlap]
            print(1)
        name, data = event


async def awaited() -> None:
    async for event in studio.arun(agent="support", message="hi"):
        if event.name == "done":
            print(event.data["thread_id"])


def gate(asked: HostGate) -> bool:
    return asked["gate"] == "viewStudio" and asked["gates"]  # type: ignore[typeddict-item]
