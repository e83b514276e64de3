"""What a round starts from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.errors import InvalidField
from deskhand_platform.serving import platform
from deskhand_platform.settings import Settings

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
BRIEF: dict[str, Any] = {"collect": None, "explore": None, "score": None, "pretrain": None, "rejection": None}


async def test_the_first_round_starts_from_its_base_and_the_next_from_what_it_made(
    counting: Settings, until: Callable[..., Any], packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "1")
    changed = {**BRIEF, "base": "deskhand-tiny"}
    async with platform(counting) as up:
        services = up.services

        async def over(round_id: int) -> Any:
            async def is_over() -> bool:
                return (await services.book.get(round_id)).state.over

            await until(is_over)
            return await services.book.get(round_id)

        base = (await services.store.policy_named("deskhand-tiny")).id
        first = await over((await services.rounds.start("smoke", changed)).id)
        assert first.policy_in == base and first.phases[0].name == "evaluate-start"
        assert (first.policy_out, first.promoted) == ("round-1-ppo-made", True)
        second = await over((await services.rounds.start("smoke", changed)).id)
        assert second.policy_in == "round-1-ppo-made"
        third = await over((await services.rounds.start("smoke", {**changed, "start": "deskhand-tiny"})).id)
        assert third.policy_in == base
        assert "validate-promoted" in [phase.name for phase in third.phases]


async def test_a_start_that_is_not_there_is_refused_by_name(counting: Settings, packaged: Path) -> None:
    (packaged / "config.json").write_text("{}")
    async with platform(counting) as up:
        for field, name, said in (
            ("start", "deskhand-tin", "no policy"),
            ("base", "policy-0", "no policy"),
            ("base", "\ud800", "no policy"),
            ("base", "deskhand-tiny", "damaged"),
        ):
            with pytest.raises(InvalidField, match=f"^{field}: .*{said}"):
                await up.services.rounds.start("smoke", {field: name})
        assert await up.services.book.list() == ()


async def test_tasks_that_no_sandbox_here_could_be_used_for_are_refused_by_their_place(
    counting: Settings, packaged: Path
) -> None:
    async with platform(counting) as up:
        changed = {"collect": {"tasks": ["miniwob/click-test", "android/clock-timer"], "unproven": True}}
        with pytest.raises(InvalidField, match=r"^collect\.tasks\[1\]: sandboxes of kind 'android'"):
            await up.services.rounds.start("smoke", changed)
        assert await up.services.book.list() == ()


async def test_no_round_goes_on_from_a_probe(counting: Settings, packaged: Path) -> None:
    async with platform(counting) as up:
        probed = await up.services.store.keep_policy(packaged, parent_id=None, metadata={"probe": True})
        for field, changed in (
            ("start", {"start": probed.id}),
            ("base", {"base": probed.id}),
            ("ppo.probe", {"ppo": {"probe": True}}),
        ):
            with pytest.raises(InvalidField, match=f"^{field}: .*probe"):
                await up.services.rounds.start("smoke", changed)
        assert await up.services.book.list() == ()
