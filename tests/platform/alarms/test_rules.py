from __future__ import annotations

from collections.abc import Sequence

import pytest

from deskhand_platform.alarms.rules import (
    Work,
    disk_low,
    entropy_collapse,
    failure_rate,
    no_rollouts,
    reward_collapse,
)
from deskhand_platform.settings import AlarmSettings

LIMITS = AlarmSettings()


@pytest.mark.parametrize(
    ("waiting", "newest", "quiet"),
    [(None, 0.0, False), (0.0, None, True), (0.0, 900.0, False), (900.0, 0.0, False), (0.0, 100.0, True)],
)
def test_quiet_is_an_alarm_only_while_something_waits(
    waiting: float | None, newest: float | None, quiet: bool
) -> None:
    found = no_rollouts(Work(waiting_since_s=waiting, newest_s=newest), LIMITS, now=1000.0)
    assert (found is not None) == quiet


@pytest.mark.parametrize(("failed", "ok", "raised"), [(10, 10, True), (9, 11, False), (19, 0, False)])
def test_failures_count_from_twenty_episodes_on(failed: int, ok: int, raised: bool) -> None:
    found = failure_rate([True] * failed + [False] * ok, LIMITS)
    assert (found is not None) == raised


def test_a_full_disk() -> None:
    assert disk_low(2_000_000_000, LIMITS) is None
    found = disk_low(1_500_000_000, LIMITS)
    assert found is not None and (found.data["value"], found.data["limit"]) == (1.5, 2.0)


def series(name: str, values: Sequence[float]) -> list[dict[str, float | int | str | None]]:
    return [{"step": at, name: value} for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "raised"),
    [
        ([0.6] * 5 + [0.29] * 5, True),
        ([0.6] * 5 + [0.31] * 5, False),
        ([0.0] * 5 + [0.6] * 5 + [0.1] * 5, True),
        ([0.0] * 20, False),
        ([0.6] * 5 + [0.0] * 4, False),
    ],
)
def test_reward_collapses_from_its_best(values: list[float], raised: bool) -> None:
    found = reward_collapse("run:a", series("success_sampled", values), LIMITS)
    assert (found is not None) == raised
    assert found is None or found.subject == "run:a"


@pytest.mark.parametrize(
    ("values", "raised"),
    [([1.0] * 5 + [0.09] * 5, True), ([1.0] * 5 + [0.2] * 5, False), ([1.0] * 9, False)],
)
def test_entropy_collapses_from_its_start(values: list[float], raised: bool) -> None:
    assert (entropy_collapse("run:a", series("entropy", values), LIMITS) is not None) == raised
