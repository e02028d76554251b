"""A server on the public Python library: `server.py` speaks over pipes, `server.py PORT` over HTTP."""

import os
import sys
import time

from mcp.server import MCPServer

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
def die() -> str:
    """Ends the server in the middle of the call."""
    os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
