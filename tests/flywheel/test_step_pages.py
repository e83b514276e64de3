"""Trajectories read in parts."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write

from deskhand_flywheel import step_pages
from deskhand_flywheel.errors import InvalidQuery, UnknownTrajectory
from deskhand_flywheel.records import loads
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore
from deskhand_sandbox.types import CallTool

DATABASES = ("sqlite", "postgresql")


async def test_pages_hold_every_step_once_and_read_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_trajectory("a", steps=tuple(make_step(at) for at in range(7)))
    await write(store, whole)
    await write(store, make_trajectory("b"))
    read: list[str] = []

    def counted(kind: type, text: str) -> object:
        read.append(text)
        return loads(kind, text)

    monkeypatch.setattr(step_pages, "loads", counted)
    pages = [await store.steps("a", offset=offset, limit=3) for offset in (0, 3, 6)]
    assert [page.total for page in pages] == [7, 7, 7] and len(read) == 7
    found = [step for page in pages for step in page.items]
    assert [step.index for step in found] == list(range(7))
    assert found == list((await store.trajectory("a")).steps)
    beyond = await store.steps("a", offset=7)
    assert (beyond.items, beyond.total) == ((), 7)


async def test_an_episode_without_steps_is_not_one_that_is_unknown(store: Store) -> None:
    await store.begin(make_start("a"))
    assert (await store.steps("a")).total == 0
    assert await store.end_of("a") is None
    await store.step("a", make_step(0))
    end = make_end()
    await store.end("a", end)
    kept = await store.end_of("a")
    assert kept is not None and kept.outcome == end.outcome
    for reading in (store.steps("b"), store.end_of("b")):
        with pytest.raises(UnknownTrajectory):
            await reading


@pytest.mark.parametrize("text", ["a\0b", "\ud83d", "\\u0000", "\\\0", "\\\\u\ud83d", "ä"])
async def test_curves_are_read_whatever_a_step_says(store: Store, text: str) -> None:
    step = make_step(0, reward=0.5)
    odd = replace(step, decision=replace(step.decision, text=text, thought=f'{text}\\"{text}'))
    bare = make_step(1)
    asked_none = replace(bare, decision=replace(bare.decision, text=text, completion=None))
    await write(store, make_trajectory("a", steps=(odd, asked_none)))
    assert (await store.trajectory("a")).steps[0].decision.text == text
    curves = await store.step_curves("a")
    assert (curves.rewards, curves.values) == ((0.5, 0.0), (0.4, None))


async def test_curves_are_read_whatever_figures_a_step_holds(store: Store) -> None:
    whole = make_step(0)
    completion = whole.decision.completion
    assert completion is not None
    called = CallTool(name="NaN", arguments={"a": [-inf, inf, nan], "-Infinity": "\\Infinity"})
    odd = replace(whole.decision, actions=(called,), cost={"usd": nan})
    unsure = replace(whole.decision, completion=replace(completion, value=nan))
    await write(
        store, make_trajectory("a", steps=(make_step(0, decision=odd), make_step(1, decision=unsure)))
    )
    curves = await store.step_curves("a")
    assert (curves.rewards, curves.values) == ((0.0, 0.0), (0.4, None))


@pytest.mark.parametrize(("offset", "limit"), [(-1, 5), (0, 0), (0, 501)])
async def test_a_page_out_of_range_is_refused(store: Store, offset: int, limit: int) -> None:
    with pytest.raises(InvalidQuery):
        await store.steps("a", offset=offset, limit=limit)


async def test_scores_of_some_steps(store: Store) -> None:
    await write(store, make_trajectory("a", steps=tuple(make_step(at) for at in range(4))))
    given = [StepScore(trajectory_id="a", step_index=at, score=0.5, scorer="prm:x") for at in range(4)]
    await store.add_scores(given)
    assert await store.scores("a", steps=range(1, 3)) == tuple(given[1:3])
