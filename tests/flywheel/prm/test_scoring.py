"""Scoring: in order, in batches, only what is new, and it can learn what the labels say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, picture, write
from torch.nn.functional import binary_cross_entropy_with_logits

from deskhand_agent.errors import InferenceError
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.types import Trajectory
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import (
    CorruptBlob,
    FlywheelError,
    RewardModelError,
    StorageFull,
    StoreError,
    StoreUnavailable,
    UnreadablePicture,
)
from deskhand_flywheel.prm.examples import examples_from
from deskhand_flywheel.prm.metrics import auc
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, step_hidden
from deskhand_flywheel.prm.scoring import ProcessRewardModel, score_store
from deskhand_flywheel.prm.targets import by_step, outcome_targets
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, TrajectoryFilter
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import Click

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    return build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )


def _clicked(name: str, right: bool, column: int) -> Trajectory:
    """One turn: a click on the button succeeds, one above it does not."""
    click = Click(x=40 + 4 * column, y=92 if right else 20)
    return make_trajectory(name, steps=(make_step(0, actions=(click,)),), end=make_end(success=right))


def _trained(bundle: ModelBundle, trajectories: list[Trajectory]) -> ProcessRewardModel:
    examples = examples_from(trajectories, bundle, by_step(outcome_targets(trajectories)))
    head = ScoreHead(hidden_width(bundle), inner_width=32)
    with torch.no_grad():
        hidden = step_hidden(bundle, [example.sample for example in examples])
    labels = torch.tensor([example.label for example in examples])
    optimizer = torch.optim.AdamW(head.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        binary_cross_entropy_with_logits(head(hidden), labels).backward()
        optimizer.step()
    return ProcessRewardModel(bundle, head.eval(), batch=3)


async def test_it_learns_which_clicks_succeed_and_says_so_of_new_ones(bundle: ModelBundle) -> None:
    learned = [_clicked(f"{right}{n}", right, n) for n in range(0, 16, 2) for right in (True, False)]
    model = _trained(bundle, learned)
    fresh = [_clicked(f"{right}{n}", right, n) for n in range(1, 16, 2) for right in (True, False)]
    scores = [scored[0].score for scored in await model.score_all(fresh)]
    right = [n % 2 == 0 for n in range(16)]
    assert auc(scores, right) == 1.0
    # the same head without what it learned says nothing
    blank = ProcessRewardModel(bundle, ScoreHead(hidden_width(bundle)))
    assert [scored[0].score for scored in await blank.score_all(fresh)] == [0.5] * 16


async def test_scores_are_in_order_whatever_the_batches(bundle: ModelBundle) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    trajectories = [
        make_trajectory("a"),
        make_trajectory("empty", steps=()),
        make_trajectory(
            "b", steps=tuple(make_step(n, actions=(Click(x=n, y=n),) * (3 - n)) for n in range(3))
        ),
    ]
    scored = await model.score_all(trajectories)
    assert [[(s.trajectory_id, s.step_index) for s in scores] for scores in scored] == [
        [("a", 0), ("a", 1), ("a", 2)],
        [],
        [("b", 0), ("b", 1), ("b", 2)],
    ]
    for trajectory, scores in zip(trajectories, scored, strict=True):
        alone = await model.score(trajectory)
        assert [s.score for s in alone] == pytest.approx([s.score for s in scores], abs=1e-5)
        assert all(0.0 < s.score < 1.0 and s.scorer == model.scorer for s in scores)


async def test_the_store_is_scored_once_by_each_scorer(bundle: ModelBundle, store: Store) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    for name in "ab":
        await write(store, make_trajectory(name, end=make_end(), labels={"run": name}))
    done: list[tuple[int, int]] = []
    only_a = TrajectoryFilter(labels={"run": "a"})
    assert await score_store(store, model, only_a) == 1
    assert await score_store(store, model, progress=lambda *counts: done.append(counts)) == 1
    assert await score_store(store, model) == 0
    assert done == [(1, 1)]
    expected = await model.score(await store.trajectory("b", images=True))
    assert [s.score for s in await store.scores("b")] == pytest.approx([s.score for s in expected], abs=1e-5)
    other = _trained(bundle, [_clicked("a", False, 0), _clicked("b", True, 0)])
    assert await score_store(store, other) == 2
    assert {s.scorer for s in await store.scores("a")} == {model.scorer, other.scorer}


async def test_what_scores_contradict_waits_for_a_person(bundle: ModelBundle, store: Store) -> None:
    model = _trained(bundle, [_clicked(f"{right}{n}", right, n) for n in range(8) for right in (True, False)])
    for name, right, success in (("fine", True, True), ("lost", True, False), ("poor", False, False)):
        said = replace(_clicked(name, right, 3), end=make_end(success=success))
        await write(store, said)
    assert await score_store(store, model) == 3
    (entry,) = (await store.review_queue()).items
    assert (entry.disagreement.trajectory_id, entry.disagreement.kind.value) == ("lost", "verifier_steps")
    assert {side.scorer for side in entry.disagreement.said} == {"verifier", model.scorer}


async def test_an_episode_that_cannot_be_read_stays_unscored_and_is_told_of(
    bundle: ModelBundle, store: Store, urls: Urls
) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    for number, name in enumerate("ab"):
        step = make_step(0, image=picture(500 + number))
        await write(store, make_trajectory(name, steps=(step,), end=make_end()))
    digest = picture(500).digest
    (urls.folder / "blobs" / digest[:2] / digest).write_bytes(b"broken")
    told: dict[str, FlywheelError] = {}
    fresh = Store(store.database, BlobStore(urls.blobs))
    with pytest.raises(CorruptBlob):
        await score_store(fresh, model)
    assert await score_store(fresh, model, on_damaged=lambda name, why: told.update({name: why})) == 1
    assert [*told] == ["a"] and isinstance(told["a"], CorruptBlob)
    assert await store.unscored(model.scorer) == ("a",)


async def test_a_stored_picture_that_is_none_costs_its_episode_alone(
    bundle: ModelBundle, store: Store
) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    broken = as_image(b"no picture at all", (160, 210))
    for name, shown in (("a", picture(0)), ("b", broken), ("c", picture(1))):
        steps = (make_step(0, image=shown),)
        await write(store, make_trajectory(name, steps=steps, end=make_end()))
    with pytest.raises(InferenceError):
        await score_store(store, model)
    told: dict[str, FlywheelError] = {}
    done: list[tuple[int, int]] = []
    for left in (3, 1):
        scored = await score_store(
            store,
            model,
            progress=lambda *counts: done.append(counts),
            on_damaged=lambda name, why: told.update({name: why}),
        )
        assert (scored, done.pop()) == (left - 1, (left, left))
        assert [*told] == ["b"] and isinstance(told["b"], UnreadablePicture)
    assert await store.unscored(model.scorer) == ("b",)


async def test_an_episode_whose_scores_are_no_numbers_stays_unscored_and_is_told_of(
    bundle: ModelBundle, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    for name in "abc":
        await write(store, make_trajectory(name, end=make_end()))
    score_all = model.score_all

    async def damaged(trajectories: Sequence[Trajectory]) -> list[list[StepScore]]:
        scored = await score_all(trajectories)
        return [
            [replace(s, score=math.nan) if s.trajectory_id == "b" else s for s in each] for each in scored
        ]

    monkeypatch.setattr(model, "score_all", damaged)
    with pytest.raises(RewardModelError, match="gives nan for step 0 of b"):
        await score_store(store, model)
    told: dict[str, FlywheelError] = {}
    assert await score_store(store, model, on_damaged=lambda name, why: told.update({name: why})) == 2
    assert [*told] == ["b"] and isinstance(told["b"], RewardModelError)
    assert await store.unscored(model.scorer) == ("b",)


@pytest.mark.parametrize("trouble", [StoreUnavailable, StorageFull])
async def test_a_store_that_fails_is_no_damaged_episode(
    bundle: ModelBundle, store: Store, monkeypatch: pytest.MonkeyPatch, trouble: type[StoreError]
) -> None:
    model = _trained(bundle, [_clicked("a", True, 0), _clicked("b", False, 0)])
    await write(store, make_trajectory("a", end=make_end()))

    async def refuses(digest: str) -> bytes:
        raise trouble("not now")

    monkeypatch.setattr(store.blobs, "get", refuses)
    told: list[str] = []
    with pytest.raises(trouble):
        await score_store(store, model, on_damaged=lambda name, why: told.append(name))
    assert told == []
