"""Targets of steps: one scale, several sources, the first named counting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flywheel_episodes import make_end, make_trajectory, write

from deskhand_flywheel.prm.targets import LabelSource, targets_from
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, StepValue


def value(trajectory_id: str, step: int, before: float, after: float, **changed: object) -> StepValue:
    fields = {
        "trajectory_id": trajectory_id, "step_index": step, "labeller": "mc1:a:4",
        "before": before, "before_error": 0.06, "after": after, "after_error": 0.08,
        "continuations": 4, "exact": True, **changed,
    }  # fmt: skip
    return StepValue(**fields)  # pyright: ignore[reportArgumentType]


def mark(trajectory_id: str, step: int, score: float, scorer: str, rationale: str | None = None) -> StepScore:
    return StepScore(
        trajectory_id=trajectory_id, step_index=step, score=score, scorer=scorer, rationale=rationale
    )


@pytest.fixture
async def labelled(store: Store) -> Store:
    await write(store, make_trajectory("won", end=make_end()))
    await write(store, make_trajectory("lost", end=make_end(success=False)))
    await store.add_step_values(
        [
            value("won", 0, 0.25, 0.75),
            value("won", 1, 0.75, 0.5, exact=False),
            value("lost", 0, 0.5, 0.0),
        ]
    )
    await store.add_scores(
        [
            mark("won", 0, 1.0, "human:ann"),
            mark("won", 0, 0.0, "human:bob", "too far"),
            mark("won", 2, 1.0, "human:ann", "there"),
            mark("won", 2, 0.0, "judge:m", "no"),
            mark("lost", 0, 0.2, "judge:m", "away from the goal"),
            mark("lost", 0, 0.9, "prm:1"),
        ]
    )
    return store


async def test_each_source_has_its_say(labelled: Store) -> None:
    both = ["won", "lost"]
    found = await targets_from(labelled, [LabelSource.MONTE_CARLO], both)
    assert {key: t.label for key, t in found.items()} == {("won", 0): 0.75, ("lost", 0): 0.25}
    assert found["won", 0].error == pytest.approx(0.05) and found["won", 0].value == 0.25
    assert len(await targets_from(labelled, [LabelSource.MONTE_CARLO], both, inexact=True)) == 3
    assert await targets_from(labelled, [LabelSource.MONTE_CARLO], both, labeller="mc1:b:4") == {}
    people = await targets_from(labelled, [LabelSource.HUMAN], both)
    assert {key: (t.label, t.rationale) for key, t in people.items()} == {
        ("won", 0): (0.5, "too far"),
        ("won", 2): (1.0, "there"),
    }
    judged = await targets_from(labelled, [LabelSource.JUDGE], ["lost"])
    assert {key: t.label for key, t in judged.items()} == {("lost", 0): 0.2}
    ended = await targets_from(labelled, [LabelSource.OUTCOME], both, discount=0.5)
    assert [ended["won", k].label for k in range(3)] == [0.25, 0.5, 1.0]
    assert [ended["won", k].value for k in range(3)] == [0.125, 0.25, 0.5]
    assert {ended["lost", k].label for k in range(3)} == {0.0}


async def test_the_first_source_named_counts_and_reasons_come_from_whoever_has_one(labelled: Store) -> None:
    order = [LabelSource.MONTE_CARLO, LabelSource.JUDGE, LabelSource.OUTCOME]
    found = await targets_from(labelled, order, ["won", "lost"])
    assert len(found) == 6
    step = found["lost", 0]
    assert (step.label, step.source, step.rationale, step.value) == (
        0.25,
        "mc1:a:4",
        "away from the goal",
        0.5,
    )
    assert (found["won", 2].label, found["won", 2].source) == (0.0, "judge")
    assert found["won", 1].source == "outcome"


async def test_judges_are_not_averaged_but_the_latest_or_the_one_named_counts(labelled: Store) -> None:
    later = [
        replace(mark("lost", 0, 0.9, "judge:a@2", "towards it"), scored_at_s=2e9),
        replace(mark("lost", 0, 0.0, "judge:z@1", "an old one"), scored_at_s=1.0),
        replace(mark("lost", 1, 0.4, "judge:z@1"), scored_at_s=1.0),
        replace(mark("lost", 2, 0.1, "judge:a@2"), scored_at_s=3.0),
        replace(mark("lost", 2, 0.8, "judge:b@2"), scored_at_s=3.0),
    ]
    await labelled.add_scores(later)
    found = await targets_from(labelled, [LabelSource.JUDGE], ["lost"])
    assert {key: (t.label, t.rationale) for key, t in found.items()} == {
        ("lost", 0): (0.9, "towards it"),
        ("lost", 1): (0.4, None),
        ("lost", 2): (0.8, None),
    }
    one = await targets_from(labelled, [LabelSource.JUDGE], ["lost"], judge="judge:z@1")
    assert {key: (t.label, t.rationale) for key, t in one.items()} == {
        ("lost", 0): (0.0, "an old one"),
        ("lost", 1): (0.4, None),
    }
    # people have their say beside one judge
    both = [LabelSource.HUMAN, LabelSource.JUDGE]
    found = await targets_from(labelled, both, ["won", "lost"], judge="judge:a@2")
    assert {key: t.label for key, t in found.items()} == {
        ("won", 0): 0.5,
        ("won", 2): 1.0,
        ("lost", 0): 0.9,
        ("lost", 2): 0.1,
    }


async def test_a_later_labeller_s_word_counts(labelled: Store) -> None:
    await labelled.add_step_values([value("won", 0, 0.5, 0.5, labeller="mc1:b:4")])
    found = await targets_from(labelled, [LabelSource.MONTE_CARLO], ["won"])
    assert (found["won", 0].label, found["won", 0].source) == (0.5, "mc1:b:4")
    await labelled.add_step_values([value("won", 0, 0.0, 1.0)])
    again = await targets_from(labelled, [LabelSource.MONTE_CARLO], ["won"])
    assert (again["won", 0].label, again["won", 0].source) == (1.0, "mc1:a:4")
