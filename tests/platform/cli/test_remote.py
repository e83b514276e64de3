"""The command line and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api


async def deskhand(home: Path, token: str, *arguments: str) -> tuple[int | None, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DESKHAND_URL"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deskhand_platform.cli.app", *arguments,
        env={**environment, "DESKHAND_HOME": str(home), "DESKHAND_TOKEN": token, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def test_tasks_of_a_platform_elsewhere(services: Services, token: str, tmp_path: Path) -> None:
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        there = ("--url", address_of(listener))
        sent = await deskhand(
            tmp_path, token, "submit", "fake/press-button", "--label", "batch=a", "--label", "x=y=z", *there
        )
        assert sent[0] == 0, sent[1]
        id = sent[1].strip()
        assert (await services.queue.get(id)).labels == {"batch": "a", "x": "y=z"}
        listed, cancelled = await asyncio.gather(
            deskhand(tmp_path, token, "tasks", "submitted", "--label", "batch=a", *there),
            deskhand(tmp_path, token, "tasks", "cancel", id, *there),
        )
        assert listed[0] == 0 and listed[1].count(id) == 1
        assert cancelled == (0, "cancelled\n")
        watched, refused = await asyncio.gather(
            deskhand(tmp_path, token, "tasks", "watch", id, "--no-follow", *there),
            deskhand(tmp_path, token, "submit", "fake/press-button", "--label", "batch", *there),
        )
        assert watched[0] == 0, watched[1]
        [told] = map(json.loads, watched[1].splitlines())
        assert (told["id"], told["state"]) == (id, "cancelled")
        assert refused[0] == 2 and "name=value" in refused[1]
