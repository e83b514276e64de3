"""The head learns scores and values, the model below learns reasons, and what is kept says which."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path
from string import ascii_lowercase, digits
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.types import (
    Decision,
    Step,
    StepTimings,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel.errors import NoLabels, RewardModelError
from deskhand_flywheel.prm.calibration import Scaling, fit_scaling
from deskhand_flywheel.prm.examples import examples_from
from deskhand_flywheel.prm.metrics import brier
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, step_hidden
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.prm.targets import StepTarget, by_step
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Outcome, Press, Split
from deskhand_trainer.config import parse_config
from deskhand_trainer.errors import ConfigError, RunStopped, TrainingDiverged
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.keeping import about
from deskhand_trainer.prm.material import Material
from deskhand_trainer.prm.scaling import Calibration, calibrate
from deskhand_trainer.prm.train import train_reward_model

torch.set_num_threads(1)
WHY = {True: "it goes to the flag", False: "it goes back"}


@pytest.fixture(scope="module")
def bundle() -> ModelBundle:
    return build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )


async def walk(name: str, seed: int, key: str) -> Trajectory:
    """A step of a real world."""
    task = make_task("worlds/chain", seed)
    async with WorldSandbox() as sandbox:
        start = await sandbox.reset(task)
    right = key == "ArrowRight"
    step = Step(
        index=0,
        observation=start.observation,
        decision=Decision(actions=(Press(keys=(key,)),), text=f"press(key='{key}')"),
        reward=0.0,
        timings=StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0),
        finished_at_s=1.0,
    )
    began = TrajectoryStart(
        id=name, task=task, instruction=start.instruction, policy_id="p", policy_update=0, group_id=None,
        split=Split.TRAIN, started_at_s=0.0,
    )  # fmt: skip
    end = TrajectoryEnd(
        final_observation=None, outcome=Outcome(score=float(right), success=right),
        stop_reason=StopReason.TERMINATED, failure=None, ended_at_s=2.0,
    )  # fmt: skip
    return Trajectory(start=began, steps=(step,), end=end)


async def material(*, value: float | None = 0.5, reasons: bool = False) -> Material:
    keys = {True: "ArrowRight", False: "ArrowLeft"}
    walks = [await walk(f"{seed}{right}", seed, keys[right]) for seed in range(10) for right in keys]
    targets = [
        StepTarget(
            trajectory_id=w.id,
            step_index=0,
            label=0.75 if "True" in w.id else 0.25,
            source="mc",
            value=value,
            rationale=WHY["True" in w.id] if reasons else None,
        )
        for w in walks
    ]
    return Material(trajectories=tuple(walks), targets=by_step(targets))


async def test_the_head_learns_what_helps_and_how_good_states_are(
    bundle: ModelBundle, tmp_path: Path
) -> None:
    given = await material(value=0.8)
    config = ScoreConfig(labels=("monte-carlo",), epochs=80, lr=0.01, minibatch=8, dropout=0.0)
    trained = train_reward_model(bundle, given, config)
    report = trained.report
    assert trained.bundle is bundle and report.unit == "start" and report.auc == 1.0
    assert report.loss < report.base_loss - 0.05 and report.rationale_loss is None
    model = ProcessRewardModel(trained.bundle, trained.head)
    model.save(tmp_path / "model")
    loaded = ProcessRewardModel.load(tmp_path / "model")
    samples = [e.sample for e in examples_from(given.trajectories, bundle, given.targets)]
    assert loaded.turn_scores(samples) == pytest.approx([0.75, 0.25] * 10, abs=0.1)
    assert loaded.turn_values(samples) == pytest.approx([0.8] * 20, abs=0.1)
    # of the state alone: whatever was done in it
    assert loaded.turn_values(samples[:1]) == loaded.turn_values(samples[1:2])


async def test_few_labels_teach_how_much_is_right_of_what_is_likely(bundle: ModelBundle) -> None:
    """Of keys that it never saw, whose states say nothing."""
    bundle = bundle.clone()
    with torch.no_grad():
        bundle.model.lm_head.weight.mul_(20.0)  # a new model finds everything alike
    walks = [await walk(key, seed, key) for seed, key in enumerate(ascii_lowercase + digits)]
    unlabelled = by_step(
        [StepTarget(trajectory_id=w.id, step_index=0, label=0.5, source="mc") for w in walks]
    )
    with torch.no_grad():
        likely = step_hidden(bundle, [e.sample for e in examples_from(walks, bundle, unlabelled)])[:, -2]
    given = Material(
        trajectories=tuple(walks),
        targets={
            key: replace(target, label=0.75 if rank >= 18 else 0.25)
            for (key, target), rank in zip(
                unlabelled.items(), likely.argsort().argsort().tolist(), strict=True
            )
        },
    )
    config = ScoreConfig(labels=("monte-carlo",), epochs=40, lr=0.01, minibatch=8, held_out=0.5)
    report = train_reward_model(bundle, given, config).report
    assert report.auc is not None and report.auc > 0.8


async def test_a_model_says_when_it_knows_no_values(bundle: ModelBundle) -> None:
    trained = train_reward_model(bundle, await material(value=None), ScoreConfig(epochs=1))
    model = ProcessRewardModel(trained.bundle, trained.head)
    assert not model.knows_values
    with pytest.raises(RewardModelError, match="monte-carlo"):
        model.turn_values([])


async def test_reasons_are_learned_by_the_model_below_and_by_a_copy_of_it(
    bundle: ModelBundle, caplog: pytest.LogCaptureFixture
) -> None:
    given = await material(reasons=True)
    told: dict[str, Any] = {
        "labels": ("human",),
        "epochs": 12,
        "lr": 0.01,
        "minibatch": 8,
        "microbatch": 3,
        "trunk_lr": 3e-3,
    }
    before = {name: tensor.clone() for name, tensor in bundle.model.state_dict().items()}
    with_reasons = train_reward_model(bundle, given, ScoreConfig(**told, rationale_weight=0.5))
    assert all(torch.equal(tensor, before[name]) for name, tensor in bundle.model.state_dict().items())
    assert with_reasons.bundle is not bundle and with_reasons.report.rationales == 16
    assert with_reasons.report.rationales_left_out == 0 and not caplog.messages
    untaught = train_reward_model(
        bundle, given, ScoreConfig(labels=("human",), epochs=1, lr=0.0, trunk_lr=1e-12, rationale_weight=0.5)
    )
    learned, unlearned = with_reasons.report.rationale_loss, untaught.report.rationale_loss
    assert learned is not None and unlearned is not None and learned < unlearned / 2
    assert with_reasons.report.loss < with_reasons.report.base_loss
    without = train_reward_model(bundle, given, ScoreConfig(**told))
    assert without.report.rationale_loss is None
    assert (without.report.rationales, without.report.rationales_left_out) == (0, 16)
    assert caplog.messages == ["left out 16 rationales: rationale_weight, with a trunk_lr, learns them"]


async def test_it_stops_between_minibatches(bundle: ModelBundle) -> None:
    asked = iter([False, False, True])
    with pytest.raises(RunStopped, match="epoch 1"):
        train_reward_model(
            bundle, await material(), ScoreConfig(minibatch=2), should_stop=lambda: next(asked)
        )


async def test_no_minibatch_begins_after_its_minutes(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    minute = count(0.0, 60.0)
    clock = SimpleNamespace(monotonic=lambda: next(minute))
    monkeypatch.setattr("deskhand_trainer.prm.train.time", clock)
    begun = 0

    def should_stop() -> bool:
        nonlocal begun
        begun += 1
        return False

    config = ScoreConfig(labels=("monte-carlo",), epochs=9, minibatch=2, held_out=0.5, minutes=2.5)
    trained = train_reward_model(bundle, await material(), config, should_stop=should_stop)
    assert (begun, trained.report.epochs) == (3, 1)


@pytest.mark.parametrize("vision", [False, True])
async def test_the_vision_tower_learns_where_it_is_told_to(bundle: ModelBundle, vision: bool) -> None:
    config = ScoreConfig(epochs=1, minibatch=8, trunk_lr=1e-3, vision=vision)
    trained = train_reward_model(bundle, await material(), config).bundle
    before, after = bundle.model.state_dict(), trained.model.state_dict()
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert any("language_model" in name for name in changed)
    assert any("visual" in name for name in changed) is vision


async def test_the_microbatch_changes_no_gradient(bundle: ModelBundle) -> None:
    given = await material(reasons=True)
    # values are known of the second half alone
    some = {
        key: replace(target, value=None if n < 10 else 0.1 * (n % 10))
        for n, (key, target) in enumerate(given.targets.items())
    }
    given = replace(given, targets=some)
    heads = [
        train_reward_model(
            bundle,
            given,
            ScoreConfig(epochs=1, minibatch=8, microbatch=size, trunk_lr=1e-3, rationale_weight=0.3),
        ).head
        for size in (8, 3)
    ]
    for one, other in zip(heads[0].parameters(), heads[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


async def test_where_it_learns_is_chosen(bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    given = await material()
    heads = [train_reward_model(bundle, given, ScoreConfig(epochs=2, device=d)).head for d in ("auto", "cpu")]
    for one, other in zip(heads[0].parameters(), heads[1].parameters(), strict=True):
        assert one.device.type == "cpu" and torch.equal(one, other)
    with pytest.raises(ConfigError, match=r"field 'device'.*no CUDA device"):
        train_reward_model(bundle, given, ScoreConfig(device="cuda"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device here")
@pytest.mark.parametrize("trunk_lr", [0.0, 1e-4])
async def test_a_gpu_learns_and_scores_as_the_processor_does(
    bundle: ModelBundle, tmp_path: Path, trunk_lr: float
) -> None:
    given = await material(reasons=True)
    scores: list[list[float]] = []
    for device in ("cpu", "cuda"):
        config = ScoreConfig(epochs=3, trunk_lr=trunk_lr, device=device)
        trained = train_reward_model(bundle.clone(), given, config)
        ProcessRewardModel(trained.bundle, trained.head).save(tmp_path / device)
        loaded = ProcessRewardModel.load(tmp_path / device)
        assert loaded.bundle.device.type == loaded.head.scale.device.type == "cuda"
        samples = [e.sample for e in examples_from(given.trajectories, bundle, given.targets)]
        scores.append(loaded.turn_scores(samples))
    assert scores[1] == pytest.approx(scores[0], abs=0.02)


@pytest.mark.parametrize("trunk_lr", [0.0, 1e-3])
async def test_a_loss_that_is_no_number_ends_it_with_what_to_do(trunk_lr: float) -> None:
    broken = build_tiny(
        TinyConfig(vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2)
    )
    with torch.no_grad():
        next(iter(broken.model.model.language_model.layers.parameters())).fill_(math.nan)
    config = ScoreConfig(labels=("monte-carlo",), trunk_lr=trunk_lr, epochs=1)
    with pytest.raises(TrainingDiverged, match="no gradient was finite in 1 steps in a row: lower lr"):
        train_reward_model(broken, await material(), config)


async def test_a_minibatch_without_a_finite_gradient_is_left_out(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, forward = list[int](), ScoreHead.forward

    def broken_once(head: ScoreHead, hidden: torch.Tensor) -> torch.Tensor:
        shown.append(len(hidden))
        return forward(head, hidden) * (math.nan if len(shown) == 1 else 1.0)

    given = await material()
    monkeypatch.setattr(ScoreHead, "forward", broken_once)
    config = ScoreConfig(labels=("monte-carlo",), epochs=2, minibatch=8)
    head = train_reward_model(bundle, given, config).head
    fresh = ScoreHead(hidden_width(bundle), seed=config.seed)
    assert all(torch.isfinite(each).all() for each in head.parameters())
    pairs = zip(head.parameters(), fresh.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


def test_reasons_want_a_model_that_is_trained() -> None:
    with pytest.raises(ConfigError, match="trunk_lr"):
        parse_config(ScoreConfig, {"rationale_weight": 0.1})
    with pytest.raises(ConfigError, match="at least one source"):
        parse_config(ScoreConfig, {"labels": []})


async def test_calibration_is_measured_on_what_it_was_not_fitted_to(bundle: ModelBundle) -> None:
    given = await material()
    config = ScoreConfig(labels=("monte-carlo",), epochs=40, lr=0.01, minibatch=8, held_out=0.5)
    trained = train_reward_model(bundle, given, config)
    with torch.no_grad():
        for each in list(trained.head.layers.parameters())[-2:]:
            each.mul_(8.0)  # far too sure of itself
    model = ProcessRewardModel(trained.bundle, trained.head)
    told = about(config, trained.report, given)
    calibrated, found = calibrate(model, given, given, told)
    assert found.scorer == calibrated.scorer != model.scorer
    assert found.after.steps == found.fitted == 10 and found.measured_on == "unseen starts, cross-fitted"
    assert found.before.auc == found.after.auc == found.kappa == 1.0
    assert found.after.brier is not None and found.before.brier is not None
    assert found.after.brier < found.before.brier / 2
    samples = [e.sample for e in examples_from(given.trajectories, bundle, given.targets)]
    wanted = [found.scaling.score(logit) for logit in model.turn_logits(samples)]
    assert calibrated.turn_scores(samples) == pytest.approx(wanted, abs=1e-6)
    # calibrated again it comes to the same
    assert calibrate(calibrated, given, given, told)[1].scorer == found.scorer
    everything: dict[str, Any] = {**told, "trained": [f"worlds/chain#{seed}" for seed in range(10)]}
    with pytest.raises(NoLabels, match="trained on"):
        calibrate(model, given, given, everything)


async def calibrated_on(
    bundle: ModelBundle, given: Material, *, held_out: frozenset[str] = frozenset()
) -> tuple[ProcessRewardModel, Calibration]:
    """By a model that was trained on nothing of it and is sure of itself."""
    head = ScoreHead(hidden_width(bundle))
    with torch.no_grad():
        head.confidence.weight.fill_(3.0)
    model = ProcessRewardModel(bundle, head)
    return calibrate(model, given, given, {"unit": "start", "trained": []}, held_out=held_out)


async def test_nothing_is_fitted_to_held_out_tasks(bundle: ModelBundle) -> None:
    model, found = await calibrated_on(bundle, await material(), held_out=frozenset({"worlds/chain"}))
    assert (found.measured_on, found.fitted, found.scaling) == ("held-out tasks and seeds", 0, Scaling())
    assert found.after == found.before and found.after.steps == 20 and found.scorer == model.scorer


async def test_nothing_is_fitted_to_held_out_seeds(bundle: ModelBundle) -> None:
    given = await material()
    test = [
        replace(each, start=replace(each.start, split=Split.TEST)) if place < 8 else each
        for place, each in enumerate(given.trajectories)
    ]
    _, found = await calibrated_on(bundle, replace(given, trajectories=tuple(test)))
    assert (found.measured_on, found.fitted, found.after.steps) == ("held-out tasks and seeds", 12, 8)
    trained_only = replace(given, trajectories=given.trajectories[8:])
    assert found.scaling == (await calibrated_on(bundle, trained_only))[1].scaling


async def test_no_half_of_the_starts_is_measured_by_what_was_fitted_to_it(bundle: ModelBundle) -> None:
    given = await material()
    for one, other in combinations(range(0, 20, 2), 2):
        # of one start the way right, of the other the way left
        walks = given.trajectories[one], given.trajectories[other + 1]
        model, found = await calibrated_on(bundle, replace(given, trajectories=walks))
        examples = examples_from(walks, bundle, given.targets)
        labels = [each.label for each in examples]
        raw = model.turn_logits([each.sample for each in examples])
        raw = [(logit - found.scaling.shift) / found.scaling.scale for logit in raw]
        by_the_other = [fit_scaling([raw[1 - n]], [labels[1 - n]]).score(raw[n]) for n in (0, 1)]
        assert found.measured_on == "unseen starts, cross-fitted"
        assert found.after.brier == pytest.approx(brier(by_the_other, labels), abs=1e-5)
    _, found = await calibrated_on(bundle, replace(given, trajectories=given.trajectories[:2]))
    assert found.measured_on == "the one unseen start, fitted to it too"


async def test_of_unseen_tasks_the_halves_are_of_other_tasks(bundle: ModelBundle) -> None:
    """Seeds of one task are on the same side; so are those of a task with one start."""
    given = await material()

    def of(place: int, task_id: str) -> Trajectory:
        one = given.trajectories[place]
        return replace(one, start=replace(one.start, task=replace(one.start.task, id=task_id)))

    head = ScoreHead(hidden_width(bundle))
    for unit, task_id, said in (
        ("task", "worlds/chain", "the one unseen task, fitted to it too"),
        ("start", "grown/one", "the one unseen start, fitted to it too"),
    ):
        walks = tuple(of(place, task_id) for place in range(4))
        told: dict[str, Any] = {"unit": unit, "trained": []}
        one = replace(given, trajectories=walks)
        assert calibrate(ProcessRewardModel(bundle, head), one, one, told)[1].measured_on == said
        two = replace(given, trajectories=(*walks[:2], of(2, "grown/two"), of(3, "grown/two")))
        found = calibrate(ProcessRewardModel(bundle, head), two, two, told)[1]
        assert found.measured_on == f"unseen {unit}s, cross-fitted"
