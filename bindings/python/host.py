"""The conformance host in Python: see bindings/conformance/README.md. FRAMEWORK is fastapi (ASGI), quart (ASGI), django (ASGI), flask (WSGI), django-wsgi.
With SERVER=prefork those of WSGI run under gunicorn, whose workers are forked after the engine was used."""

import _thread
import asyncio
import json
import os
import sys
import threading

import wfstudio
from wfstudio import Studio, StudioError, ToolFailure

PORT, CONFIG = int(os.environ["PORT"]), os.environ["CONFIG"]
ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
REFUND = {"type": "object", "properties": {"order_id": {"type": "string"}, "amount": {"type": "integer"}}, "required": ["order_id", "amount"]}
with open(CONFIG) as file:
    studio = Studio(json.load(file))
journal, ending, lock = [], [], threading.Lock()


def note(op, **entry):
    with lock:
        journal.append({"op": op, **entry})


def called(name, **arguments):
    payload = wfstudio.current_call().payload
    note("tool.call", name=name, arguments=arguments, tenant=payload.get("tenant"), user=payload.get("user"))


@studio.tool(description="Looks an order up", idempotent=True, input_schema=ORDER)
def lookup(order_id):
    called("lookup", order_id=order_id)
    return {"note": "Grüße, <b>&</b> 🌍", "order_id": order_id, "status": "shipped"}


@studio.tool(description="Pays an order back", require_approval=True, input_schema=REFUND)
async def refund(order_id, amount):
    called("refund", order_id=order_id, amount=amount)
    return {"order_id": order_id, "refunded": amount}


@studio.tool(description="Always refuses", input_schema=ORDER)
def refuse(order_id):
    called("refuse", order_id=order_id)
    raise ToolFailure("the order is closed")


@studio.tool(description="Always throws", input_schema=ORDER)
def explode(order_id):
    called("explode", order_id=order_id)
    raise ValueError("boom")


@studio.tool(description="Takes its time", timeout_ms=20000, input_schema=ORDER)
async def slow(order_id):
    called("slow", order_id=order_id)
    try:
        await asyncio.sleep(15)
    except asyncio.CancelledError:
        note("cancelled", name="slow")
        raise


@studio.answers("gate")
def gate(asked):
    note("gate", method=asked["method"], path=asked["path"], user=asked.get("user"))
    return {"allow": (asked.get("user") or {}).get("id") == "ada"}


@studio.answers("secret.get")
def secret(asked):
    note("secret.get", name=asked["name"], tenant=asked.get("tenant"))
    if asked["name"] != "PEER_KEY":
        raise ToolFailure("no such secret")
    return {"value": "key-of-the-peer"}


@studio.answers("provider.chat")
def chat(asked):
    said = [message["content"] for message in asked["messages"] if message["role"] == "user"][-1]
    note("provider.chat", model=asked["model"], last=said)
    if asked["model"] == "mute":
        raise ToolFailure("the model is away")
    yield from ({"delta": delta} for delta in ("You ", "said: ", said))
    message = {"role": "assistant", "content": f"You said: {said}"}
    return {"message": message, "usage": {"prompt_tokens": 7, "completion_tokens": 5}, "finish_reason": "stop"}


def failed(failure):
    return {"error": failure.code, "problem": json.loads(failure.problem or "{}").get("code")}


def run(body):
    try:
        events, cancelled = studio.run(**body["run"]) if "run" in body else studio.resume(**body["resume"]), False
        with events:
            if body.get("count"):
                names = [event.name for event in events]
                yield {"counted": len(names), "tokens": names.count("token")}
            for event in events:
                yield {"event": event.name, "data": event.data}
                if event.name == body.get("leave_after"):
                    yield {"left": True}
                    return
                if event.name == body.get("cancel_after") and not cancelled:
                    cancelled = True
                    events.cancel()
        yield {"end": True}
    except StudioError.Failed as failure:
        yield failed(failure)


def own(what, body):
    """The application's own routes: a content type and a text."""
    if what == "ping":
        return "text/plain", "pong"
    if what == "journal":
        with lock:
            told, journal[:] = list(journal), []
        return "application/json", json.dumps(told)
    if what == "run":
        return "application/x-ndjson", "".join(json.dumps(line) + "\n" for line in run(body))
    if what == "close":
        studio.close(2)
        return "application/json", '{"closed": true}'
    if what == "crash":
        if body["how"] == "now":
            os._exit(70)
        ending.append(body["how"])
        _thread.interrupt_main()
    try:
        return "application/json", json.dumps({"result": studio.call(body["op"], **body["request"])})
    except StudioError.Failed as failure:
        return "application/json", json.dumps(failed(failure))


def marks():
    """The same for all frameworks: their requests all have `headers`."""
    opens = {"open": True, "shut": False}
    return {
        "user": lambda request: {"id": request.headers["x-user"]} if "x-user" in request.headers else None,
        "gate": lambda request: opens.get(request.headers.get("x-gate")),
        "tenant": lambda request: request.headers.get("x-tenant"),
        "authorized": lambda request: request.headers.get("x-authorized") == "yes",
    }


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "tests"))
    import servers

    if os.environ.get("SERVER") == "prefork":
        studio.call("health")
    try:
        servers.SERVE[os.environ.get("FRAMEWORK") or ("flask" if os.environ.get("SERVER") else "fastapi")](studio, marks(), own, PORT)
    except KeyboardInterrupt:
        pass
    if "throw" in ending:
        raise RuntimeError("nobody catches this")
