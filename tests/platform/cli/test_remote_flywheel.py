"""The flywheel's commands and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api

Record = Callable[..., Awaitable[str]]


async def deskhand(home: Path, token: str, *arguments: str) -> tuple[int | None, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DESKHAND_URL"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deskhand_platform.cli.app", "flywheel", *arguments,
        env={**environment, "DESKHAND_HOME": str(home), "DESKHAND_TOKEN": token, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, told = await process.communicate()
    return process.returncode, said.decode(), told.decode()


async def test_episodes_of_a_platform_elsewhere(
    services: Services, token: str, record_episode: Record, tmp_path: Path
) -> None:
    won, _ = await record_episode(services.store), await record_episode(services.store, success=False)
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        there, away = ("--url", address_of(listener)), tmp_path / "away"
        out = await deskhand(
            away,
            token,
            "export",
            str(tmp_path / "out"),
            "--outcome",
            "success",
            "--format",
            "osworld",
            *there,
        )
        assert out == (0, "", f"written to {tmp_path / 'out'}\n")
        assert [one.parent.name for one in (tmp_path / "out").rglob("traj.jsonl")] == [won]
        taken, unknown, back, lost = await asyncio.gather(
            deskhand(away, token, "export", str(tmp_path / "out"), *there),
            deskhand(away, token, "export", str(tmp_path / "csv"), "--format", "csv", *there),
            deskhand(away, token, "import", str(tmp_path / "out"), *there),
            deskhand(away, token, "import", str(tmp_path / "nothing"), *there),
        )
        assert taken[0] == 1 and "there already" in taken[2]
        assert unknown[0] == 2 and "parquet" in unknown[2]
        assert back == (0, "osworld: 0 new, 1 here already\n", "")
        assert lost[0] == 2 and "nothing" in lost[2]
        (tmp_path / "empty").mkdir()
        empty = await deskhand(away, token, "import", str(tmp_path / "empty"), *there)
        assert empty[0] == 2 and "nothing that can be imported" in empty[2]
        assert not (away / "deskhand.db").exists()
