"""A server on the public Python library: `server.py` speaks over pipes, `server.py PORT` over HTTP."""

import os
import sys
import time
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("studio-tests")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it fails on purpose")


@server.tool()
def large(bytes: int) -> str:
    """Answers with that many letters."""
    return "x" * bytes


@server.tool()
def slow(seconds: int) -> str:
    """Answers late."""
    time.sleep(seconds)
    return "done"


@server.tool()
async def count(to: int, context: Context) -> str:
    """Tells how far it is."""
    for at in range(to):
        await context.report_progress(at + 1, to)
    return f"counted to {to}"


class Seat(BaseModel):
    row: int = Field(ge=1)
    window: bool = True


async def ask_for_seat(train: str) -> Elicit[Seat]:
    return Elicit(f"Which seat on {train}?", Seat)


@server.tool()
def book(train: str, seat: Annotated[Seat, Resolve(ask_for_seat)]) -> str:
    """Books a seat that a person chooses."""
    return f"{train}: row {seat.row}, {'window' if seat.window else 'aisle'}"


@server.tool()
def die() -> str:
    """Ends the server in the middle of the call."""
    os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
