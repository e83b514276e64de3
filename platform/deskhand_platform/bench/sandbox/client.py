"""A client to be killed: leases a sandbox, says so, and holds it. The token comes by standard input.

python -m deskhand_platform.bench.sandbox.client URL KIND
"""

from __future__ import annotations

import asyncio
import sys

from deskhand_platform.bench.sandbox.starts import measured
from deskhand_sandbox.host import SandboxClient


async def main(url: str, kind: str, token: str) -> None:
    """Hold a sandbox until killed."""
    async with SandboxClient(url, token) as client, client.lease(kind, owner="mortal") as sandbox:
        await sandbox.reset(measured(kind).task)
        print("holding", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.stdin.readline().strip()))
