from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image as Picture

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_sandbox.pictures import encoded
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception, StudiedPage
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.errors import CheckpointMismatch, ConfigError, RunStopped
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.train import train_sft
from deskhand_trainer.types import TrainingSample

CONFIG = SftConfig(
    reading_steps=4,
    pointing_steps=4,
    cloning_epochs=2,
    minibatch=4,
    strips_per_step=4,
    pages_per_step=3,
    questions_per_page=2,
    checkpoint_every_s=0.0,
    threads=1,
)


def larger(page: SeenPage) -> SeenPage:
    """The same on paper of twice the width and height."""
    assert page.image.data is not None
    paper = Picture.new("RGB", (128, 128), "white")
    paper.paste(Picture.open(io.BytesIO(page.image.data)), (0, 0))
    return replace(page, image=encoded(paper))


def weights(bundle: ModelBundle) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in bundle.model.state_dict().items()}


OFTEN = {(1, 0.4), (5, 0.0), (8, 0.4), (10, 0.4)}


@pytest.mark.parametrize(
    ("stop_after", "question_share"),
    [
        pytest.param(stop_after, share, marks=[] if (stop_after, share) in OFTEN else pytest.mark.slow)
        for stop_after in (1, 4, 5, 8, 10)
        for share in (0.0, 0.4)
    ],
)
def test_stopped_and_resumed_equals_uninterrupted(
    bundle: ModelBundle,
    demonstrations: list[TrainingSample],
    pages: list[SeenPage],
    tmp_path: Path,
    stop_after: int,
    question_share: float,
) -> None:
    """Boundaries between stages included: parameters continue bit-identically."""
    samples = demonstrations
    whole = bundle.clone()
    config = replace(CONFIG, question_share=question_share)
    expected = train_sft(whole, samples, pages, config)
    steps = 0

    def count(progress: StageProgress) -> None:
        nonlocal steps
        steps += not progress.figures

    first = bundle.clone()
    with pytest.raises(RunStopped):
        train_sft(
            first,
            samples,
            pages,
            config,
            progress=count,
            checkpoint_dir=tmp_path,
            should_stop=lambda: steps >= stop_after,
        )
    assert steps == stop_after
    second = build_tiny(bundle.tiny)
    report = train_sft(second, samples, pages, config, progress=count, checkpoint_dir=tmp_path)
    assert steps == sum(expected.steps.values())
    mine, theirs = weights(second), weights(whole)
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    assert report.figures == expected.figures


@pytest.mark.parametrize("stop_after", [3, 7])
def test_its_curve_is_one_however_often_it_was_stopped(
    bundle: ModelBundle,
    demonstrations: list[TrainingSample],
    pages: list[SeenPage],
    tmp_path: Path,
    stop_after: int,
) -> None:
    """Figures at the end of each stage, and every few steps where they are asked for; they train nothing."""
    usual = bundle.clone()
    report = train_sft(usual, demonstrations, pages, CONFIG)
    ends = list(accumulate(report.steps[stage] for stage in ("reading", "pointing", "cloning")))
    assert [each["step"] for each in report.curve] == ends
    assert report.figures.items() <= {**report.curve[1], **report.curve[2]}.items()
    config, steps = replace(CONFIG, figures_every=3), 0

    def count(_: StageProgress) -> None:
        nonlocal steps
        steps += 1

    stopping = {"progress": count, "should_stop": lambda: steps == stop_after}
    with pytest.raises(RunStopped):
        train_sft(bundle.clone(), demonstrations, pages, config, checkpoint_dir=tmp_path, **stopping)
    often = bundle.clone()
    found = train_sft(often, demonstrations, pages, config, checkpoint_dir=tmp_path)
    begun = {0, ends[0], ends[1]}
    between = {first + 3 * n for first, last in zip(sorted(begun), ends, strict=True)
               for n in range(1, last) if first + 3 * n < last}  # fmt: skip
    assert [each["step"] for each in found.curve] == sorted(between | {*ends})
    assert all({"seconds", "perception/answers"} <= each.keys() for each in found.curve[:4])
    assert found.figures == report.figures
    assert all(torch.equal(value, weights(usual)[name]) for name, value in weights(often).items())


def test_cloning_learns_the_demonstrations(
    bundle: ModelBundle, demonstrations: list[TrainingSample], pages: list[SeenPage]
) -> None:
    samples = demonstrations
    config = replace(CONFIG, cloning_epochs=30, cloning_lr_scale=1.0)
    seen: list[StageProgress] = []
    report = train_sft(bundle, samples, [], config, progress=seen.append)
    losses = [p.loss for p in seen if not p.figures]
    assert losses[0] > 3
    assert losses[-1] < 0.5 * losses[0]
    assert report.steps == {"reading": 0, "pointing": 0, "cloning": 90}
    assert 0 < report.figures["cloning/token_likelihood"] <= 1


def test_questions_between_demonstrations_keep_what_is_seen(
    bundle: ModelBundle,
    demonstrations: list[TrainingSample],
    pages: list[SeenPage],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every sample is still imitated as often, and larger pages are fewer in a step."""
    asked: list[list[int]] = []
    asking_loss = Perception.asking_loss

    def watched(perception: Perception, studied: Sequence[StudiedPage], *rest: Any, **named: Any) -> Any:
        asked.append([page.page.image.width_px for page in studied])
        return asking_loss(perception, studied, *rest, **named)

    monkeypatch.setattr(Perception, "asking_loss", watched)
    config = replace(CONFIG, reading_steps=0, pointing_steps=0, cloning_epochs=3, question_share=0.5)
    config = replace(config, pages_per_step=8)
    samples = demonstrations
    alone = train_sft(bundle.clone(), samples, [], config)
    assert not asked
    report = train_sft(bundle.clone(), samples, [*pages, *(larger(page) for page in pages)], config)
    assert report.steps["cloning"] == 2 * alone.steps["cloning"]
    assert sorted({(len(each), each[0]) for each in asked}) == [(1, 128), (4, 64)]
    assert len(asked) == 2 * alone.steps["cloning"]
    assert {"perception/point_named", "cloning/loss"} <= set(report.figures)
    assert "perception/point_named" not in alone.figures


def test_heads_of_the_model_it_starts_as_go_on_learning_while_cloning(
    bundle: ModelBundle, demonstrations: list[TrainingSample], pages: list[SeenPage], tmp_path: Path
) -> None:
    heads = Perception(bundle).heads
    heads.save(tmp_path)
    config = replace(CONFIG, reading_steps=0, pointing_steps=0, question_share=0.5, threads=2, parts=2)
    samples = demonstrations
    report = train_sft(bundle, samples, pages, config, heads_from=tmp_path)
    assert report.heads is not None
    for name, value in heads.state_dict().items():
        if name.endswith("weight"):
            assert not torch.equal(report.heads.state_dict()[name], value), name
    assert train_sft(bundle, samples, pages, config, heads_from=tmp_path / "none").heads is None


def test_a_frozen_tower_stays_while_the_rest_imitates_and_is_asked(
    bundle: ModelBundle, demonstrations: list[TrainingSample], pages: list[SeenPage], tmp_path: Path
) -> None:
    """Stopped and resumed too; what is trained later is all of it again."""
    Perception(bundle).heads.save(tmp_path)
    config = replace(CONFIG, reading_steps=0, pointing_steps=0, question_share=0.5, freeze="vision")
    samples, before = demonstrations, weights(bundle)
    whole = bundle.clone()
    expected = train_sft(whole, samples, pages, config, heads_from=tmp_path)
    assert expected.heads is not None
    for name, value in weights(whole).items():
        assert torch.equal(value, before[name]) is (".visual." in name), name
    stopped = bundle.clone()
    told = {"checkpoint_dir": tmp_path / "checkpoint", "heads_from": tmp_path}
    with pytest.raises(RunStopped):
        train_sft(stopped, samples, pages, config, should_stop=lambda: True, **told)
    assert all(parameter.requires_grad for parameter in stopped.model.parameters())
    train_sft(stopped, samples, pages, config, **told)
    assert all(torch.equal(value, weights(whole)[name]) for name, value in weights(stopped).items())


@pytest.mark.parametrize("first", ["nothing", "vision"])
def test_what_else_would_be_trained_than_the_checkpoint_was_is_refused(
    bundle: ModelBundle, demonstrations: list[TrainingSample], tmp_path: Path, first: Any
) -> None:
    others: dict[str, Any] = {"nothing": "vision", "vision": "nothing"}
    config = replace(CONFIG, reading_steps=0, pointing_steps=0)
    with pytest.raises(RunStopped):
        train_sft(
            bundle.clone(), demonstrations, [], replace(config, freeze=first), checkpoint_dir=tmp_path,
            should_stop=lambda: True,
        )  # fmt: skip
    other = replace(config, freeze=others[first])
    with pytest.raises(CheckpointMismatch, match="'freeze' and the 'perception_tasks' that the run"):
        train_sft(bundle.clone(), demonstrations, [], other, checkpoint_dir=tmp_path)


@pytest.mark.parametrize("first", [True, False])
def test_pages_come_to_no_run_that_began_without_and_leave_none(
    bundle: ModelBundle,
    demonstrations: list[TrainingSample],
    pages: list[SeenPage],
    tmp_path: Path,
    first: bool,
) -> None:
    config = replace(CONFIG, reading_steps=0, pointing_steps=0)
    shown = {True: pages, False: []}
    with pytest.raises(RunStopped):
        train_sft(
            bundle.clone(), demonstrations, shown[first], config, checkpoint_dir=tmp_path,
            should_stop=lambda: True,
        )  # fmt: skip
    with pytest.raises(CheckpointMismatch, match=r"character\.bias is .* go on with the policy and settings"):
        train_sft(bundle.clone(), demonstrations, shown[not first], config, checkpoint_dir=tmp_path)


def test_the_global_random_state_is_left_alone(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    train_sft(bundle, [], pages, replace(CONFIG, reading_steps=1, pointing_steps=1))
    assert torch.rand(1) == expected


def test_reading_learns_letters(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    config = replace(CONFIG, reading_steps=150, pointing_steps=0, strips_per_step=8)
    untrained = train_sft(bundle.clone(), [], pages, replace(CONFIG, reading_steps=1, pointing_steps=0))
    report = train_sft(bundle, [], pages, config)
    before, after = (r.figures["perception/character"] for r in (untrained, report))
    assert after > before + 0.2


def test_pictures_of_one_size_stand_side_by_side(
    bundle: ModelBundle, demonstrations: list[TrainingSample], pages: list[SeenPage]
) -> None:
    """Every sample once an epoch, in no step pictures of two sizes, and in another order every epoch."""
    seen: list[list[str]] = []
    sizes: list[set[tuple[int, int]]] = []
    samples = demonstrations
    small = [
        replace(s, images=tuple(replace(i, width_px=i.width_px - 40) for i in s.images)) for s in samples[:5]
    ]
    samples = small + samples[5:]

    def watched(_: ModelBundle, batch: list[TrainingSample], *, tokens: int) -> torch.Tensor:
        assert tokens >= sum(len(sample.reply_ids) for sample in batch)
        seen.append([sample.trajectory_id for sample in batch])
        sizes.append({(i.width_px, i.height_px) for sample in batch for i in sample.images})
        return next(bundle.model.parameters()).sum() * 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deskhand_trainer.sft.train.cloning_loss", watched)
        train_sft(bundle, samples, [], replace(CONFIG, cloning_epochs=3))
    assert all(len(each) == 1 for each in sizes) and len(seen) % 3 == 0
    steps = len(seen) // 3
    epochs = [list(chain(*seen[at : at + steps])) for at in range(0, len(seen), steps)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 1 and len(set(epochs[0])) == len(epochs[0])


def test_where_it_learns_is_chosen_and_changes_nothing_on_the_processor(
    bundle: ModelBundle,
    demonstrations: list[TrainingSample],
    pages: list[SeenPage],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    learned: list[dict[str, torch.Tensor]] = []
    for device in ("auto", "cpu"):
        model = bundle.clone()
        train_sft(model, demonstrations, pages, replace(CONFIG, device=device))
        learned.append(weights(model))
    assert all(torch.equal(learned[0][name], value) for name, value in learned[1].items())
    before = weights(bundle)
    with pytest.raises(ConfigError, match=r"field 'device'.*no CUDA device"):
        train_sft(bundle, demonstrations, pages, replace(CONFIG, device="cuda"))
    assert all(torch.equal(value, before[name]) for name, value in weights(bundle).items())


@pytest.mark.parametrize("reading", [True, False])
def test_bfloat16_multiplies_otherwise_and_keeps_float32_weights(
    bundle: ModelBundle, demonstrations: list[TrainingSample], pages: list[SeenPage], reading: bool
) -> None:
    """Every stage, as it does on a GPU, but for rounding."""
    losses: dict[str, list[float]] = {"float32": [], "bfloat16": []}
    for name, told in losses.items():
        model = bundle.clone()
        config = replace(CONFIG, precision=name, device="cpu", cloning_epochs=0 if reading else 2)
        train_sft(
            model,
            demonstrations,
            pages if reading else [],
            config,
            progress=lambda each, told=told: told.append(each.loss),
        )
        kept = model.model.state_dict().values()
        assert {value.dtype for value in kept if value.is_floating_point()} == {torch.float32}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.03)
    assert losses["bfloat16"] != losses["float32"]
