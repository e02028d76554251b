"""FastAPI with the studio inside: its pages, its routes, and a tool of the application that agents may call."""

from fastapi import FastAPI

from wfstudio import Host, Studio
from wfstudio.asgi import StudioApp

host = Host()


@host.tool(
    require_approval=True,
    input_schema={
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["order_id", "amount"],
    },
)
def issue_refund(order_id, amount):
    """Pays an order back"""
    return {"order_id": order_id, "refunded": amount}


studio = Studio({"environment": "local", "async_runs_enabled": True}, host)
# Nobody is named here: `local` lets in whoever asks by a name of this machine. An application says who asks (`user`) and who may enter (`gate`).
mount = StudioApp(studio)

app = FastAPI()
app.mount("/studio", mount)
app.mount("/api/studio", mount)
