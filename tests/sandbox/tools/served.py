"""A real MCP server by the official SDK: `python served.py` over standard input and output, `python served.py
PORT_FILE` over HTTP on a free port of this machine, which it writes there once it listens."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("shelf", log_level="CRITICAL")
kept: list[str] = []


@server.tool(annotations=ToolAnnotations(readOnlyHint=False))
def keep(title: str, tags: list[str] | None = None, stars: int = 1) -> str:
    """Keep a note.

    It stays until the server ends.
    """
    kept.append(title)
    return f"{len(kept)} kept: {title} {tags} {stars}"


@server.tool()
def fail(why: str) -> str:
    """Always fails."""
    raise ValueError(why)


@server.tool()
async def slow(seconds: float) -> str:
    """Takes its time."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).with_name("slow").touch()
    await anyio.sleep(seconds)
    return "at last"


@server.tool()
def die(apart: bool = False, child_s: int = 60_000) -> str:
    """Ends the server, in the middle of the call; a child of its lives on, which holds its pipes."""
    subprocess.Popen(["sleep", str(child_s)], start_new_session=apart)
    print("out of paper", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def picture() -> Image:
    """One pixel."""
    return Image(data=b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", format="gif")


@server.tool()
def long(characters: int) -> str:
    """A long text."""
    return "é" * characters


@server.tool(structured_output=True)
def pid() -> dict[str, int]:
    """Its process."""
    return {"pid": os.getpid()}


def main() -> None:
    if len(sys.argv) == 1:
        print("ready to serve")  # which no server should: it is no message
        sys.stdout.flush()
        server.run()
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        place = Path(sys.argv[1])
        place.with_suffix(".new").write_text(str(port))
        place.with_suffix(".new").replace(place)
        uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(
            sockets=[listening]
        )


if __name__ == "__main__":
    main()
