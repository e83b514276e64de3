"""The command line and a platform at an address, as it may be on another machine."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.services import Services
from deskhand_platform.states import AlarmState

Deskhand = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.mark.slow
async def test_tasks_of_a_platform_elsewhere(services: Services, there: Deskhand) -> None:
    status, sent, said = await there("submit", "fake/press-button", "--label", "batch=a", "--label", "x=y=z")
    assert (status, said) == (0, "")
    id = sent.strip()
    assert (await services.queue.get(id)).labels == {"batch": "a", "x": "y=z"}
    listed = await there("tasks", "submitted", "--label", "batch=a")
    assert listed[0] == 0 and listed[1].count(id) == 1
    assert await there("tasks", "cancel", id) == (0, "cancelled\n", "")
    watched = await there("tasks", "watch", id, "--no-follow")
    assert watched[0] == 0, watched[2]
    [told] = map(json.loads, watched[1].splitlines())
    assert (told["id"], told["state"]) == (id, "cancelled")
    refused = await there("submit", "fake/press-button", "--label", "batch")
    assert refused[0] == 2 and "name=value" in refused[2]


@pytest.mark.slow
async def test_alarms_rounds_and_evaluations_of_a_platform_elsewhere(
    services: Services, there: Deskhand
) -> None:
    figures = {"value": 0.8, "unit": "GB free", "limit": 2.0}
    alarm = await AlarmBook(services.store).tell("platform", "disk_low", AlarmState.RAISED, figures)
    alarms = await there("alarms", "list")
    assert alarms[0] == 0 and "disk_low" in alarms[1] and "0.8 GB free, limit 2" in alarms[1]
    rounds = await there("rounds", "list")
    schedules = await there("rounds", "schedules", "list")
    assert rounds[0] == schedules[0] == 0 and "preset" in rounds[1]
    assert await there("rounds", "show", "7") == (2, "", "deskhand: no round '7'\n")
    refused = await there("evaluations", "ask", "--suite", "nothing")
    assert refused[0] == 2 and "held-out" in refused[2]
    asked = await there("evaluations", "ask", "fake/press-button", "--episodes", "4", "--mode", "greedy")
    assert asked[0] == 0, asked[2]
    id = asked[1].strip()
    seen = await there("alarms", "acknowledge", str(alarm.id))
    assert seen == (0, f"Alarm {alarm.id} is acknowledged\n", "")
    listed = await there("evaluations", "list", "--task", "fake/press-button")
    assert listed[0] == 0 and id in listed[1] and "oracle" in listed[1]
    compared = await there("evaluations", "compare", "policy-a", "policy-b")
    assert compared[0] in (1, 2) and "policy-a" in compared[2]
    suites = await there("evaluations", "suites")
    assert suites[0] == 0 and "held-out" in suites[1]
    kept = await there("evaluations", "keep-suite", "ours", "fake/press-button", "fake/press-in-order")
    assert kept == (0, "ours has 2 tasks\n", "")
    assert "ours" in (await there("evaluations", "suites"))[1]
    assert await there("evaluations", "delete-suite", "ours") == (0, "ours is forgotten\n", "")
    assert (await there("evaluations", "delete-suite", "ours"))[0] == 2
    assert await there("evaluations", "cancel", id) == (0, f"{id} is stopping\n", "")
    shown = await there("evaluations", "show", id)
    assert shown[0] == 0 and "interval" in shown[1]
