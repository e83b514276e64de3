from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Decision, Step, StepTimings, Trajectory, TrajectoryStart
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind
from deskhand_sandbox.types import (
    Action,
    Click,
    EnvironmentSpec,
    Observation,
    Press,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)
from deskhand_trainer.base import experience
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.drawing import count_in, holds_changes
from deskhand_trainer.base.experience import Experience, experienced, write_experience
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception
from deskhand_trainer.base.questions import Kind
from deskhand_trainer.base.shards import read_changes, write_shard
from deskhand_trainer.base.train import PretrainReport, StageProgress, pretrain
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_kinds import pretrain as run_kind


def episode(pages: Sequence[SeenPage], *actions: Sequence[Action]) -> Trajectory:
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"), seed=7)
    start = TrajectoryStart(
        id="x", task=task, instruction="go", policy_id="p", policy_update=0, group_id=None,
        split=Split.TRAIN, started_at_s=0,
    )  # fmt: skip
    steps = tuple(
        Step(
            index=index,
            observation=Observation(screenshot=pages[index].image, captured_at_s=0, settled_ms=0),
            decision=Decision(actions=tuple(done), text=""),
            reward=0.0,
            timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0),
            finished_at_s=0,
        )
        for index, done in enumerate(actions)
    )
    return Trajectory(start=start, steps=steps, end=None)


def failed(pages: list[SeenPage]) -> Trajectory:
    shown = [pages[0], pages[1], pages[1], pages[2], pages[3]]
    return episode(
        shown,
        [Click(x=20, y=30)],
        [Click(x=5, y=5)],  # changes nothing
        [TypeText(text="ok")],
        [Press(keys=("Enter",))],  # not asked for
        [Click(x=1, y=1)],  # the last: what came of it is not seen
    )


def test_turns_that_changed_the_picture_are_experience(pages: list[SeenPage]) -> None:
    first, second = experienced(failed(pages))
    assert (first.action, second.action) == (Click(x=20, y=30), TypeText(text="ok"))
    assert first.target == (16.0, 26.0, 24.0, 34.0) and second.target is None
    assert (first.before.image, first.after.image) == (pages[0].image, pages[1].image)
    assert not first.before.told and not first.after.told


def test_a_click_did_not_lead_to_where_another_attempt_began(pages: list[SeenPage]) -> None:
    trajectory = failed(pages)
    told = (replace(trajectory.steps[0], answer=TRY_AGAIN), *trajectory.steps[1:])
    assert [each.turn for each in experienced(replace(trajectory, steps=told))] == [2]


async def episodes(found: Sequence[Trajectory]) -> AsyncIterator[Trajectory]:
    for each in found:
        yield each


async def test_experience_is_kept_once(
    tmp_path: Path, pages: list[SeenPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experience, "_ENDS", {(64, 64): ""})
    monkeypatch.setattr(experience, "PAGES_PER_SHARD", 3)
    told = await write_experience(tmp_path, episodes([failed(pages)] * 2))
    shards = told.shards
    assert [count_in(path) for path in shards] == [3, 1] and all(map(holds_changes, shards))
    kept = [change for path in shards for change in read_changes(path)]
    assert kept == experienced(failed(pages)) * 2
    assert await write_experience(tmp_path, episodes([])) == told
    # one that was damaged and taken away is written again
    shards[0].unlink()
    assert await write_experience(tmp_path, episodes([failed(pages)] * 2)) == told
    assert [change for path in shards for change in read_changes(path)] == kept


async def test_pages_of_a_size_no_step_takes_are_left_out(tmp_path: Path, pages: list[SeenPage]) -> None:
    assert (await write_experience(tmp_path, episodes([failed(pages)]))).shards == ()


async def test_an_episode_that_showed_nothing_is_not_learned_from(
    tmp_path: Path, pages: list[SeenPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a screen that no step takes, or without one click or text that changed it."""
    monkeypatch.setattr(experience, "_ENDS", {(64, 64): ""})

    def named(trajectory: Trajectory, name: str) -> Trajectory:
        return replace(trajectory, start=replace(trajectory.start, id=name))

    keys = episode(pages[:2], [Press(keys=("Enter",))], [Press(keys=("Tab",))])
    wide = [replace(p, image=replace(p.image, width_px=128)) for p in pages]
    found = await write_experience(
        tmp_path, episodes([named(keys, "keys"), named(failed(pages), "clicks"), named(failed(wide), "wide")])
    )
    assert found.episodes == ("clicks",)
    assert sum(map(count_in, found.shards)) == len(experienced(failed(pages)))


async def test_a_pretrained_model_names_as_its_material_what_it_learned_from(
    store: Store, tmp_path: Path, tiny: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the failures that taught it nothing; how many these were stands beside its figures."""
    heads: Any = SimpleNamespace(save=str)
    learned: list[Sequence[Path]] = []

    def pretrained(bundle: object, train: Sequence[Path], *_: object, **__: object) -> PretrainReport:
        learned.append(train)
        return PretrainReport(figures={}, steps=1, curve=[], seconds=1.0, heads=heads)

    def giving(found: Any) -> Callable[..., Any]:
        async def given(*_: object) -> Any:
            return found

        return given

    monkeypatch.setattr(run_kind, "pretrain", pretrained)
    monkeypatch.setattr(run_kind, "_bundle", giving(tiny))
    monkeypatch.setattr(run_kind, "_shown", giving([]))
    monkeypatch.setattr(run_kind, "_pages", giving(([tmp_path / "drawn"], [])))
    monkeypatch.setattr(run_kind, "_failures", giving(["a", "b", "c"]))
    shown = Experience(shards=(tmp_path / "shard",), episodes=("b",))
    monkeypatch.setattr(run_kind, "write_experience", giving(shown))
    told: list[Sequence[str]] = []

    async def keep(*_: object, learned_from: Sequence[str]) -> str:
        told.append(learned_from)
        return "p"

    reporter = Reporter(store, subject="run:r", folder=tmp_path / "board")
    spec = SimpleNamespace(policy_in=None, dataset="failures@1")
    context: Any = SimpleNamespace(
        folder=RunFolder(tmp_path), spec=spec, read=list, keep=keep, reporter=reporter
    )
    _, metrics = await run_kind.run(context, PretrainConfig(experience=True))
    assert learned == [[tmp_path / "drawn", tmp_path / "shard"]]
    assert told == [["b"]] and (metrics["failures"], metrics["experience_left_out"]) == (1, 2)
    (event,) = await store.events_after(0)
    assert (event.kind, event.name, event.data["failures"]) == (EventKind.METRIC, "pretrain", 1)
    # of a dataset that shows nothing the pages alone are learned, and it says so
    monkeypatch.setattr(run_kind, "write_experience", giving(Experience(shards=(), episodes=())))
    await run_kind.run(context, PretrainConfig(experience=True))
    alarm, _ = await store.events_after(event.id)
    reporter.close()
    assert learned[1:] == [[tmp_path / "drawn"]]
    assert (alarm.kind, alarm.name, alarm.data["dataset"]) == (EventKind.ALARM, "no_experience", "failures@1")


def test_only_the_action_is_asked_and_nothing_is_claimed_of_the_pages(
    tiny: ModelBundle, pages: list[SeenPage]
) -> None:
    perception = Perception(tiny)
    changes = [perception.study_change(change) for change in experienced(failed(pages))]
    asked, _ = perception.ask(changes, random.Random(0), questions=12)
    assert [each.question.kind for each in asked.asked] == [Kind.ACTION, Kind.ACTION]
    loss, parts = perception.asking_loss(changes, random.Random(0), questions=12, looking=1.0)
    assert (parts["character"], parts["spelling"]) == (0.0, 0.0)
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in tiny.model.parameters() if p.grad is not None)


async def test_pretraining_takes_experience_in(
    tmp_path: Path, tiny: ModelBundle, pages: list[SeenPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experience, "_ENDS", {(64, 64): ""})
    drawn = tmp_path / "press-train-0000000-12.tar"
    write_shard(drawn, pages)
    shown = await write_experience(tmp_path / "experience", episodes([failed(pages)] * 2))
    config = PretrainConfig(
        reading_steps=0, asking_steps=4, pages_per_step=1, questions_per_page=2, change_share=0.5, threads=1
    )
    told: list[StageProgress] = []
    pretrain(tiny, [drawn, *shown.shards], [], config, progress=told.append)
    assert [each.step for each in told] == [1, 2, 3, 4]
    assert all(0 < each.loss < 100 for each in told)
