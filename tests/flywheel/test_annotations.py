"""Marks are scores of people; notes are theirs alone."""

from __future__ import annotations

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write

from deskhand_flywheel.errors import (
    InvalidScore,
    NotTheirs,
    StillRunning,
    UnknownAnnotation,
    UnknownStep,
    UnknownTrajectory,
)
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Note, OutcomeScore, StepScore
from deskhand_flywheel.upkeep import RetentionRule, collect
from deskhand_flywheel.upkeep.retention import Drop

DATABASES = ("sqlite", "postgresql")
EVERYTHING = RetentionRule(drop=(Drop(older_than_days=0),), orphans_after_hours=0)


async def test_each_person_has_one_mark_of_a_step_and_it_is_a_score(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.mark("a", 1, "ada", 0.0, "It went back.")
    await store.mark("a", 1, "bob", 1.0)
    ada = StepScore(trajectory_id="a", step_index=1, score=0.5, scorer="human:ada", rationale="Perhaps\\x00.")
    assert await store.mark("a", 1, "ada", 0.5, "Perhaps\0.") == ada
    bob = StepScore(trajectory_id="a", step_index=1, score=1.0, scorer="human:bob")
    assert await store.scores("a") == (ada, bob)
    await store.unmark("a", 1, "ada")
    assert await store.scores("a") == (bob,)
    with pytest.raises(UnknownAnnotation, match="ada has not marked step 1"):
        await store.unmark("a", 1, "ada")


async def test_a_mark_of_the_whole_episode_stands_beside_those_of_its_steps(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.mark("a", 0, "ada", 1.0)
    said = await store.mark("a", None, "ada", 0.0, "It bought the wrong one.")
    assert await store.outcome_scores("a") == (said,)
    assert said == OutcomeScore(
        trajectory_id="a", score=0.0, scorer="human:ada", rationale="It bought the wrong one."
    )
    await store.unmark("a", None, "ada")
    assert await store.outcome_scores("a") == () and len(await store.scores("a")) == 1


async def test_marks_that_cannot_be_are_refused(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    for score in (-0.01, 1.01, float("nan")):
        with pytest.raises(InvalidScore, match="not from 0"):
            await store.mark("a", 0, "ada", score)
    with pytest.raises(UnknownTrajectory):
        await store.mark("b", 0, "ada", 1.0)
    with pytest.raises(UnknownStep, match="no step 3"):
        await store.mark("a", 3, "ada", 1.0)
    for index in (0, None):
        with pytest.raises(StillRunning, match="has not ended"):
            await store.mark("running", index, "ada", 1.0)
    assert await store.scores("a") == await store.scores("running") == ()


async def test_notes_are_written_edited_and_taken_back_by_their_author(store: Store) -> None:
    await store.begin(make_start("a"))
    await store.step("a", make_step(0))
    await store.step("a", make_step(1))
    second = await store.write_note("a", 1, "ada", "Now it looks for the button.")
    first = await store.write_note("a", 0, "bob", "It read the page.")
    again = await store.write_note("a", 1, "ada", "And finds it.")
    assert await store.notes("a") == (first, second, again)
    for change in (store.edit_note(first.id, "ada", "Mine"), store.delete_note(first.id, "ada")):
        with pytest.raises(NotTheirs, match="bob's"):
            await change
    edited = await store.edit_note(second.id, "ada", "It looks.")
    assert (edited.text, edited.created_at_s) == ("It looks.", second.created_at_s)
    assert edited.edited_at_s is not None
    await store.delete_note(again.id, "ada")
    assert await store.notes("a") == (first, edited)
    with pytest.raises(UnknownAnnotation):
        await store.delete_note(again.id, "ada")
    with pytest.raises(UnknownStep):
        await store.write_note("a", 2, "ada", "…")
    with pytest.raises(UnknownTrajectory):
        await store.write_note("b", 0, "ada", "…")


async def test_a_note_from_elsewhere_is_kept_whatever_it_says(store: Store) -> None:
    await store.begin(make_start("a"))
    await store.step("a", make_step(0))
    note = Note(id="n", trajectory_id="a", step_index=0, author="ada", text="h\ud800\0m", created_at_s=1.0)
    await store.add_notes([note])
    assert [each.text for each in await store.notes("a")] == ["h\\ud800\\x00m"]


async def test_what_a_person_said_of_an_episode_keeps_it(store: Store) -> None:
    for name in "abcd":
        await write(store, make_trajectory(name, end=make_end()))
    await store.mark("a", 0, "ada", 1.0)
    await store.mark("b", None, "ada", 1.0)
    await store.write_note("c", 0, "ada", "Look.")
    await store.add_outcome_scores([OutcomeScore(trajectory_id="d", score=1.0, scorer="judge:m@1")])
    assert (await collect(store, EVERYTHING, apply=True)).trajectories == ("d",)
    assert await store.trajectory_ids() == ("a", "b", "c")


async def test_unjudged_are_whole_episodes_without_this_judges_word(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await write(store, make_trajectory("b", end=make_end()))
    await write(store, make_trajectory("empty", steps=(), end=make_end()))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    await store.add_outcome_scores([OutcomeScore(trajectory_id="a", score=1.0, scorer="judge:m@1")])
    assert await store.unjudged("judge:m@1") == ("b",)
    assert await store.unjudged("judge:m@2") == ("a", "b")
    await store.add_outcome_scores([])
    with pytest.raises(UnknownTrajectory):
        await store.add_outcome_scores([OutcomeScore(trajectory_id="x", score=1.0, scorer="judge:m@1")])
