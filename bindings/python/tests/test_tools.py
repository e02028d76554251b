"""Owns proof that tools are what their functions say: schemas from annotations, threads and the event loop, failures, cancels, chunks."""

import asyncio
import dataclasses
import enum
import threading
import time
import typing

import pydantic  # comes with FastAPI
import pytest

import wfstudio
from wfstudio import _schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Item:
    name: str
    count: int = 1


class Where(typing.TypedDict):
    city: str


def test_the_schema_of_a_tool_comes_from_its_annotations():
    def tool(
        a: str,
        b: typing.Annotated[int, "How many"],
        c: Colour,
        d: typing.Optional[float] = None,
        e: typing.Literal["x", "y"] = "x",
        f: typing.List[str] = (),
        g: Item = None,
        h: Where = None,
        i: typing.Dict[str, bool] = None,
        j=None,
    ):
        pass

    schema = _schema.of_function(tool)
    assert schema["required"] == ["a", "b", "c"] and schema["additionalProperties"] is False
    told = {name: {key: value for key, value in one.items() if key != "default"} for name, one in schema["properties"].items()}
    assert told == {
        "a": {"type": "string"},
        "b": {"type": "integer", "description": "How many"},
        "c": {"enum": ["red", "blue"]},
        "d": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "e": {"enum": ["x", "y"]},
        "f": {"type": "array", "items": {"type": "string"}},
        "g": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}, "required": ["name"]},
        "h": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "i": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "j": {},
    }
    assert _schema.given(tool, {"c": "blue", "g": {"name": "n"}}) == {"c": Colour.BLUE, "g": Item("n")}


@pytest.fixture
def shop(tmp_path):
    """A studio whose agent calls whatever tool it is told the name of."""
    replies = [{"match": {"regex": f"^call {name}$"}, "tool_calls": [{"name": name, "arguments": {"order_id": "A-1"}}], "times": 0} for name in ("thread", "loop", "wait")]
    script = {"replies": [{"match": {"tool_result": name}, "text": "{{tool_result}}", "times": 0} for name in ("thread", "loop", "wait")] + replies}
    studio = wfstudio.Studio(
        database={"path": str(tmp_path / "studio.sqlite")},
        providers={"script": {"scripts": {"shop": script}}, "own": {"kind": "host", "models": [{"id": "m"}]}},
    )

    @studio.tool
    def thread(order_id: str):
        return {"order": order_id, "user": wfstudio.current_call().payload.get("user")}

    @studio.tool
    async def loop(order_id: str):
        await asyncio.sleep(0.01)
        return id(asyncio.get_running_loop())

    studio.cancelled, studio.begun = [], threading.Event()

    @studio.tool
    async def wait(order_id: str):
        studio.begun.set()
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            studio.cancelled.append(order_id)
            raise

    tools = [{"ref": f"host:{name}"} for name in ("thread", "loop", "wait")]
    studio.call("agent.save", name="Shop", slug="shop", provider="script", model="shop", tools=tools)
    studio.call("agent.save", name="Own", slug="own", provider="own", model="m")
    yield studio
    studio.shutdown()


def reply(events):
    return [event.data["reply"] for event in events if event.name == "done"][-1]


def test_a_tool_declared_after_the_studio_was_opened_is_called(shop):
    assert reply(shop.run(agent="shop", message="call thread", user={"id": "7"})) == '{"order":"A-1","user":{"id":"7"}}'


def test_an_async_tool_runs_on_the_loop_that_is_there(shop):
    async def use():
        told = [event async for event in shop.arun(agent="shop", message="call loop")]
        return reply(told), id(asyncio.get_running_loop())

    told, mine = asyncio.run(use())
    assert told == str(mine)
    # Without one it has a loop of its own.
    assert reply(shop.run(agent="shop", message="call loop")) != str(mine)


@pytest.mark.parametrize("on_loop", [True, False])
def test_a_cancel_reaches_a_tool(shop, on_loop):
    if on_loop:

        async def use():
            events = shop.arun(agent="shop", message="call wait")
            run = None
            async for event in events:
                if event.name == "thread":
                    run = event.data["trace_id"]
                if event.name == "tool_call":
                    while not shop.begun.is_set():
                        await asyncio.sleep(0.01)
                    await shop.acall("run.cancel", trace_id=run)

        asyncio.run(use())
    else:
        events = shop.run(agent="shop", message="call wait")
        for event in events:
            if event.name == "tool_call":
                assert shop.begun.wait(10)
                events.cancel()
    until = time.monotonic() + 10
    while not shop.cancelled and time.monotonic() < until:
        time.sleep(0.01)
    assert shop.cancelled == ["A-1"]


@pytest.mark.parametrize("kind", ["generator", "async generator", "function", "failure"])
def test_a_model_of_the_application(shop, kind):
    end = {"message": {"role": "assistant", "content": "Hello you"}, "usage": {"prompt_tokens": 1, "completion_tokens": 2}, "finish_reason": "stop"}

    def generator(asked):
        yield {"delta": "Hello "}
        yield {"delta": "you"}
        return end

    async def agenerator(asked):
        yield {"delta": "Hello "}
        yield {"delta": "you"}
        yield end

    def failure(asked):
        raise wfstudio.ToolFailure("it sleeps")

    shop.answers("provider.chat")({"generator": generator, "async generator": agenerator, "function": lambda asked: end, "failure": failure}[kind])
    told = list(shop.run(agent="own", message="x"))
    if kind == "failure":
        assert told[-1].name == "error" and told[-1].data["message"] == "it sleeps"
        return
    assert reply(told) == "Hello you"
    deltas = [event.data["delta"] for event in told if event.name == "token"]
    assert deltas == (["Hello ", "you"] if kind != "function" else deltas)


def test_leaving_a_loop_of_events_lets_the_stream_go(shop):
    for event in shop.run(agent="shop", message="call thread"):
        break
    assert shop.call("health")["status"] == "ok"

    async def use():
        async for event in shop.arun(agent="shop", message="call thread"):
            break
        with pytest.raises(wfstudio.StudioError.Failed) as failed:
            async for event in shop.arun(agent="none", message="x"):
                pass
        return failed.value.code

    assert asyncio.run(use()) == -2


@dataclasses.dataclass
class Tree:
    colour: typing.Optional[Colour] = None
    parts: typing.List["Tree"] = dataclasses.field(default_factory=list)


class Sku(pydantic.BaseModel):
    code: str


class Order(pydantic.BaseModel):
    skus: typing.List[Sku]


def other_order():
    class Sku(pydantic.BaseModel):
        number: int

    class Order(pydantic.BaseModel):
        skus: typing.List[Sku]

    return Order


def test_parts_of_annotations_have_their_types_too():
    def tool(
        colour: typing.Optional[Colour] = None,
        items: typing.List[Item] = (),
        stock: typing.Dict[str, Item] = None,
        either: typing.Union[Item, Where, None] = None,
        tree: Tree = None,
        pair: typing.Tuple[int, Colour] = None,
        many: typing.Tuple[Colour, ...] = (),
        tags: typing.Set[str] = frozenset(),
        word: typing.Literal[Colour.RED, "x"] = "x",
        none: typing.Tuple[()] = (),
    ):
        pass

    told = {"colour": "red", "items": [{"name": "a"}], "stock": {"b": {"name": "b"}}, "either": {"city": "c"}, "pair": [1, "blue"], "many": ["red"]}
    told |= {"tags": ["x", "x"], "word": "red", "tree": {"colour": "blue", "parts": [{"parts": []}]}, "none": []}
    wanted = {"colour": Colour.RED, "items": [Item("a")], "stock": {"b": Item("b")}, "either": {"city": "c"}, "pair": (1, Colour.BLUE), "many": (Colour.RED,)}
    wanted |= {"tags": {"x"}, "word": Colour.RED, "tree": Tree(Colour.BLUE, [Tree()]), "none": ()}
    assert _schema.given(tool, told) == wanted
    assert _schema.given(tool, {"colour": None, "either": {"name": "n"}}) == {"colour": None, "either": Item("n")}
    with pytest.raises(ValueError, match="green"):
        _schema.given(tool, {"colour": "green"})
    schema = _schema.of_function(tool)["properties"]
    either = {"anyOf": [{"type": "integer"}, {"enum": ["red", "blue"]}]}
    assert schema["pair"] == {"type": "array", "items": either, "minItems": 2, "maxItems": 2, "default": None}
    assert schema["tree"]["properties"]["parts"] == {"type": "array", "items": {"type": "object"}}
    assert schema["word"]["enum"] == ["red", "x"] and schema["none"]["maxItems"] == 0
    assert _schema.of(typing.Tuple, {}) == _schema.of(tuple, {}) == {"type": "array"}


def test_a_default_that_json_has_not_is_not_told(tmp_path):
    def tool(most: float = float("inf"), least: float = float("nan"), some: float = 1.5):
        pass

    assert [one.get("default") for one in _schema.of_function(tool)["properties"].values()] == [None, None, 1.5]
    studio = wfstudio.Studio(database={"path": str(tmp_path / "studio.sqlite")})
    studio.tool(tool)
    studio.shutdown()


def test_what_a_model_refers_to_is_found(tmp_path):
    studio = wfstudio.Studio(environment="local", database={"path": str(tmp_path / "studio.sqlite")})
    Other = other_order()

    @studio.tool
    def pack(first: Order, others: typing.List[Other] = ()):
        return [type(first.skus[0]).__qualname__, type(others[0]).__name__]

    found = []

    def refer(one):
        for value in one.values() if isinstance(one, dict) else one if isinstance(one, list) else []:
            refer(value)
        found.extend([one["$ref"].removeprefix("#/$defs/")] if isinstance(one, dict) and "$ref" in one else [])

    schema = _schema.of_function(pack)
    refer(schema)
    assert len(set(found)) == 2 and set(found) == set(schema["$defs"])
    at = {"position": {"x": 0, "y": 0}}
    edges = [{"id": "a", "source": "start", "target": "tool"}, {"id": "b", "source": "tool", "target": "stop"}]

    def ends(slug, arguments):
        tool = {"tool_ref": "host:pack", "parameters": arguments, "output_key": "said"}
        nodes = [{"id": kind, "type": kind, "data": data, **at} for kind, data in (("start", {}), ("tool", tool), ("stop", {"reply": "{{said}}"}))]
        studio.call("workflow.save", slug=slug, name=slug, graph={"version": 1, "nodes": nodes, "edges": edges})
        return list(studio.run(workflow=slug, message="x"))[-1]

    try:
        assert ends("fits", {"first": {"skus": [{"code": "c"}]}, "others": [{"skus": [{"number": 1}]}]}).name == "trace_completed"
        # What does not fit is refused by the engine, which the tool is never asked for.
        assert "do not fit" in ends("none", {"first": {"skus": [{"number": 1}]}}).data["message"]
    finally:
        studio.shutdown()
