"""The command line and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path

import pytest

from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.states import AlarmState


async def deskhand(home: Path, token: str, *arguments: str) -> tuple[int | None, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DESKHAND_URL"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deskhand_platform.cli.app", *arguments,
        env={**environment, "DESKHAND_HOME": str(home), "DESKHAND_TOKEN": token, "COLUMNS": "200"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode, said.decode()


@pytest.mark.slow
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


@pytest.mark.slow
async def test_alarms_rounds_and_evaluations_of_a_platform_elsewhere(
    services: Services, token: str, tmp_path: Path
) -> None:
    book, listener = AlarmBook(services.store), listen("127.0.0.1", 0)
    figures = {"value": 0.8, "unit": "GB free", "limit": 2.0}
    alarm = await book.tell("platform", "disk_low", AlarmState.RAISED, figures)
    async with serve_api(services, listener):

        def there(*arguments: str) -> Coroutine[None, None, tuple[int | None, str]]:
            return deskhand(tmp_path, token, *arguments, "--url", address_of(listener))

        alarms, rounds, schedules, unknown, asked, refused = await asyncio.gather(
            there("alarms", "list"),
            there("rounds", "list"),
            there("rounds", "schedules", "list"),
            there("rounds", "show", "7"),
            there("evaluations", "ask", "fake/press-button", "--episodes", "4", "--mode", "greedy"),
            there("evaluations", "ask", "--suite", "nothing"),
        )
        assert alarms[0] == 0 and "disk_low" in alarms[1] and "0.8 GB free, limit 2" in alarms[1]
        assert rounds[0] == schedules[0] == 0 and "preset" in rounds[1]
        assert unknown == (2, "deskhand: no round '7'\n")
        assert refused[0] == 2 and "held-out" in refused[1]
        assert asked[0] == 0, asked[1]
        id = asked[1].strip()
        seen, listed, compared, suites = await asyncio.gather(
            there("alarms", "acknowledge", str(alarm.id)),
            there("evaluations", "list", "--task", "fake/press-button"),
            there("evaluations", "compare", "policy-a", "policy-b"),
            there("evaluations", "suites"),
        )
        assert seen == (0, f"Alarm {alarm.id} is acknowledged\n")
        assert listed[0] == 0 and id in listed[1] and "oracle" in listed[1]
        assert compared[0] in (1, 2) and "policy-a" in compared[1]
        assert suites[0] == 0 and "held-out" in suites[1]
        kept = await there("evaluations", "keep-suite", "ours", "fake/press-button", "fake/press-in-order")
        assert kept == (0, "ours has 2 tasks\n")
        assert "ours" in (await there("evaluations", "suites"))[1]
        assert await there("evaluations", "delete-suite", "ours") == (0, "ours is forgotten\n")
        assert (await there("evaluations", "delete-suite", "ours"))[0] == 2
        assert await there("evaluations", "cancel", id) == (0, f"{id} is stopping\n")
        shown = await there("evaluations", "show", id)
        assert shown[0] == 0 and "interval" in shown[1]
