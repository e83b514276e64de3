"""Pretraining: it learns, and what is stopped and resumed ends as what was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from deskhand_agent.models.bundle import ModelBundle
from deskhand_trainer.base import train
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.optimizers import WarmStartOptimizer
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception, Studied
from deskhand_trainer.base.shards import write_changes, write_shard
from deskhand_trainer.base.train import StageProgress, pretrain
from deskhand_trainer.errors import RunRefused, RunStopped, ShardDamaged
from deskhand_trainer.types import TrainingSample

CONFIG = PretrainConfig(
    reading_steps=4,
    asking_steps=4,
    strips_per_step=4,
    pages_per_step=3,
    questions_per_page=3,
    figures_every=3,
    checkpoint_every_s=0.0,
    threads=1,
)


@pytest.fixture
def shards(pages: list[SeenPage], tmp_path: Path) -> list[Path]:
    """Train pages and held-out ones."""
    parts = ((0, 8, "train"), (8, 12, "validation"))
    paths = [tmp_path / f"press-{split}-{low:07d}-{high - low}.tar" for low, high, split in parts]
    for (low, high, _), path in zip(parts, paths, strict=True):
        write_shard(path, pages[low:high])
    return paths


@pytest.fixture
def change_shards(changes: list[SeenChange], tmp_path: Path) -> list[Path]:
    """Of the train pages and of the held-out ones."""
    parts = ((0, 24, "train"), (24, 36, "validation"))
    paths = [tmp_path / f"changes-{split}-{low:07d}-{high - low}.tar" for low, high, split in parts]
    for (low, high, _), path in zip(parts, paths, strict=True):
        write_changes(path, changes[low:high])
    return paths


def weights(bundle: ModelBundle) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in bundle.model.state_dict().items()}


@pytest.mark.parametrize("stop_after", [1, 4, 6, 7])
def test_stopped_and_resumed_equals_uninterrupted(
    bundle: ModelBundle, shards: list[Path], change_shards: list[Path], tmp_path: Path, stop_after: int
) -> None:
    """Two of the four asking steps are about changes."""
    whole, second = bundle.clone(), bundle.clone()
    train, held_out = [shards[0], change_shards[0]], [shards[1], change_shards[1]]
    config = replace(CONFIG, change_share=0.5)
    expected = pretrain(whole, train, held_out, config)
    steps = 0

    def count(_: StageProgress) -> None:
        nonlocal steps
        steps += 1

    where = tmp_path / "checkpoints"
    with pytest.raises(RunStopped):
        pretrain(
            bundle,
            train,
            held_out,
            config,
            progress=count,
            checkpoint_dir=where,
            should_stop=lambda: steps == stop_after,
        )
    report = pretrain(second, train, held_out, config, progress=count, checkpoint_dir=where)
    assert steps == 8
    mine, theirs = weights(second), weights(whole)
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert report.figures == expected.figures
    assert {"change", "action", "point_named"} <= set(report.figures)
    assert [each["step"] for each in report.curve] == [3.0, 6.0, 8.0]


@pytest.mark.slow
def test_reading_and_answering_get_better(bundle: ModelBundle, shards: list[Path]) -> None:
    first = replace(CONFIG, reading_steps=1, asking_steps=0, figures_every=1)
    before = pretrain(bundle.clone(), shards[:1], shards[1:], first).figures
    config = replace(CONFIG, reading_steps=120, asking_steps=120, figures_every=1000)
    losses: list[float] = []
    report = pretrain(bundle, shards[:1], shards[:1], config, progress=lambda told: losses.append(told.loss))
    assert report.figures["character"] > before["character"] + 0.2
    assert losses[-1] < 0.5 * losses[120]
    assert len(losses) == 240


@pytest.mark.slow
def test_changes_are_learned(bundle: ModelBundle, shards: list[Path], change_shards: list[Path]) -> None:
    """By heart: which box was checked, what was typed, that nothing was done; and what had been done."""
    config = replace(
        CONFIG,
        reading_steps=60,
        asking_steps=140,
        change_share=0.95,
        strips_per_step=8,
        pages_per_step=12,
        questions_per_page=4,
        warmup_steps=20,
        figures_every=1000,
    )
    train, known = [shards[0], change_shards[0]], change_shards[:1]
    first = pretrain(bundle.clone(), train, known, replace(config, reading_steps=1, asking_steps=1)).figures
    report = pretrain(bundle, train, known, config)
    assert (first["change"], first["action"]) == (0.0, 0.0)
    assert report.figures["change"] > 0.3
    assert report.figures["action"] > 0.3


def test_changes_come_as_often_as_told(
    bundle: ModelBundle, shards: list[Path], change_shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    prepare = Perception.prepare_pages

    def counted(perception: Perception, studied: Sequence[Studied], *rest: Any, **named: Any) -> Any:
        if not named.get("examined"):
            shown.append(len(studied[0].pictures))
        return prepare(perception, studied, *rest, **named)

    monkeypatch.setattr(Perception, "prepare_pages", counted)
    config = replace(CONFIG, reading_steps=0, asking_steps=10, change_share=0.3, figures_every=100)
    config = replace(config, pages_per_step=1)
    pretrain(bundle, [shards[0], change_shards[0]], shards[1:], config)
    assert shown == [1, 1, 1, 2, 1, 1, 2, 1, 1, 2]
    shown.clear()
    pretrain(bundle, shards[:1], shards[1:], config)
    assert shown == [1] * 10


def test_a_damaged_shard_is_told(bundle: ModelBundle, shards: list[Path]) -> None:
    shards[0].write_bytes(b"nothing")
    with pytest.raises(ShardDamaged, match="drawn again"):
        pretrain(bundle, shards[:1], shards[1:], CONFIG)


def test_a_step_asks_as_much_of_large_pages_as_of_small_ones(
    bundle: ModelBundle, shards: list[Path], change_shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[tuple[int, int]] = []
    prepare = Perception.prepare_pages

    def watched(
        perception: Perception, studied: Sequence[Studied], *rest: Any, questions: int, **named: Any
    ) -> Any:
        counts.append((len(studied[0].pictures), questions))
        return prepare(perception, studied, *rest, questions=questions, **named)

    monkeypatch.setattr(Perception, "prepare_pages", watched)
    config = replace(CONFIG, reading_steps=0, asking_steps=2, pages_per_step=6, change_share=0.5)
    larger = shards[0].with_name(shards[0].name.replace("press-", "press-wide-"))
    shards[0].rename(larger)
    pretrain(bundle, [larger, change_shards[0]], [], config)
    assert counts == [(1, 9), (1, 9), (2, 3), (2, 3)]


def test_the_global_random_state_is_left_alone(bundle: ModelBundle, shards: list[Path]) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    pretrain(bundle, shards[:1], shards[1:], replace(CONFIG, reading_steps=1, asking_steps=1))
    assert torch.rand(1) == expected


def test_heads_that_lie_beside_a_model_are_gone_on_with(
    bundle: ModelBundle, shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = pretrain(bundle, [shards[0]], [], replace(CONFIG, asking_steps=0))
    report.heads.save(tmp_path)
    aids: list[bool] = []
    learn = Perception.learn

    def watched(perception: Perception, *rest: Any, aided: bool, **named: Any) -> Any:
        aids.append(aided)
        return learn(perception, *rest, aided=aided, **named)

    monkeypatch.setattr(Perception, "learn", watched)
    further = replace(CONFIG, reading_steps=0, asking_steps=1)
    pretrain(bundle.clone(), [shards[0]], [], further, heads_from=tmp_path / "nothing")
    assert aids == [False, False]
    second = pretrain(bundle.clone(), [shards[0]], [], further, heads_from=tmp_path)
    assert aids[2:] == [True, True]
    kept, now = (each.heads.state_dict()["character.weight"] for each in (report, second))
    assert 0 < (kept - now).abs().max() < 0.05
    fewer = {name: each for name, each in report.heads.state_dict().items() if "letter" not in name}
    save_file(fewer, tmp_path / "perception.safetensors")
    pretrain(bundle.clone(), [shards[0]], [], further, heads_from=tmp_path)
    assert aids[4:] == [True, True]
    (tmp_path / "perception.safetensors").write_bytes(b"nonsense")
    with pytest.raises(
        RunRefused, match=r"does not fit the model beside it .*: copy the model's folder again"
    ):
        pretrain(bundle.clone(), [shards[0]], [], further, heads_from=tmp_path)


def test_demonstrations_are_imitated_as_often_as_told(
    bundle: ModelBundle,
    shards: list[Path],
    demonstrations: list[TrainingSample],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[int] = []
    cloned = train.cloning_loss

    def counted(held: ModelBundle, turns: Sequence[TrainingSample], *, tokens: int) -> torch.Tensor:
        learned.append(len(turns))
        return cloned(held, turns, tokens=tokens)

    monkeypatch.setattr(train, "cloning_loss", counted)
    config = replace(CONFIG, reading_steps=0, asking_steps=10, demonstration_share=0.3, turns_per_step=6)
    config = replace(config, parts=1, figures_every=10)
    report = pretrain(bundle, shards[:1], shards[1:], config, demonstrations=demonstrations)
    assert learned == [6, 5, 6]  # of twelve one is held out
    assert {"imitated_loss", "imitated_token_likelihood", "answers"} <= set(report.figures)


def test_what_is_learned_does_not_depend_on_who_prepares_it(bundle: ModelBundle, shards: list[Path]) -> None:
    config = replace(CONFIG, reading_steps=2, asking_steps=3, elsewhere=0.5, figures_every=100)
    told: list[list[float]] = []
    for workers in (0, 2):
        losses: list[float] = []
        learned = replace(config, workers=workers)
        pretrain(bundle.clone(), shards[:1], [], learned, progress=lambda p, kept=losses: kept.append(p.loss))
        told.append(losses)
    assert told[0] == told[1]
    assert len(told[0]) == 5


def clocked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """From now on the clock stands but for what is added to the only number here, in seconds."""
    now = [0.0]
    monkeypatch.setattr("deskhand_trainer.base.clock.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_the_clock_ends_it_with_figures_and_lowers_the_rates(
    bundle: ModelBundle, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten seconds a step: of two minutes twelve fit, whatever steps are allowed; rates fall with the time."""
    now, spent = clocked(monkeypatch), list[float]()
    learned = WarmStartOptimizer.step

    def step(optimizer: WarmStartOptimizer, losses: Any, progress: float, **named: Any) -> float:
        spent.append(progress)
        found = learned(optimizer, losses, progress, **named)
        now[0] += 10.0
        return found

    monkeypatch.setattr(WarmStartOptimizer, "step", step)
    looked: list[float] = []
    learn = Perception.learn

    def watched(perception: Perception, prepared: Any, *, looking: float, aided: bool) -> Any:
        looked.append(looking)
        return learn(perception, prepared, looking=looking, aided=aided)

    monkeypatch.setattr(Perception, "learn", watched)
    config = replace(
        CONFIG, reading_steps=2, asking_steps=1_000_000, minutes=2.0, figures_every=1000, parts=1
    )
    report = pretrain(bundle, shards[:1], shards[1:], config)
    assert report.steps == 12
    assert spent == pytest.approx([step / 12 for step in range(12)])
    assert [each["step"] for each in report.curve] == [12.0] and "answers" in report.figures
    # told where to look, less and less, over the time that asking has
    assert looked == pytest.approx([min(1.0, max(0.0, (0.85 - share / 10) / 0.3)) for share in range(10)])


def test_steps_end_it_where_they_are_done_first(
    bundle: ModelBundle, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    clocked(monkeypatch)
    assert pretrain(bundle, shards[:1], shards[1:], replace(CONFIG, minutes=5.0)).steps == 8


def test_a_resumed_run_has_the_minutes_that_are_left(
    bundle: ModelBundle, shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, where = clocked(monkeypatch), tmp_path / "checkpoints"
    config = replace(CONFIG, asking_steps=1_000_000, minutes=2.0, figures_every=1000)
    steps: list[int] = []

    def count(_: StageProgress) -> None:
        steps.append(1)
        now[0] += 10.0

    def pretrained(should_stop: Callable[[], bool]) -> int:
        told = {"progress": count, "checkpoint_dir": where, "should_stop": should_stop}
        return pretrain(bundle.clone(), shards[:1], [], config, **told).steps

    with pytest.raises(RunStopped):
        pretrained(lambda: len(steps) == 5)
    now[0] += 3600.0  # nobody worked at it
    # ten seconds come after each step: the first to end when two minutes are over is the thirteenth
    assert pretrained(lambda: False) == len(steps) == 13
