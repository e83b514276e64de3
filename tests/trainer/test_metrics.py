"""Every number of an iteration comes to the database, to TensorBoard and to stdout."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from deskhand_agent.models.bundle import ModelBundle
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.types import Outcome
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop

WANTED = {
    "explained_variance", "clip_fraction", "entropy", "entropy_void", "kl_per_turn",
    "kl_reference", "ratio_mean", "ratio_max",
    "staleness_mean", "staleness_max", "effective_share", "value_loss", "policy_loss", "reward_outcome",
    "void_share", "over_turn_share", "success_sampled", "actor_grad_norm", "critic_grad_norm", "logprob_gap",
    "skipped_steps", "dropped", "image_encoder_calls", "lr",
}  # fmt: skip


class NowAndThen:
    """Every other episode succeeds, so that returns vary."""

    def __init__(self) -> None:
        self._wins = itertools.cycle([True, False])

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        won = next(self._wins)
        return Outcome(score=float(won), success=won)


async def test_every_metric_comes_to_the_database_to_tensorboard_and_to_stdout(
    store: Store,
    spot: Any,
    tiny: ModelBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verifier = NowAndThen()
    monkeypatch.setattr("deskhand_agent.worker.create_verifier", lambda _: verifier)
    reporter = Reporter(store, subject="run:r", folder=tmp_path / "board")
    config = PpoConfig(
        tasks=("fake/spot",), iterations=1, minutes=0.0, episodes_per_iteration=12, max_tokens=12,
        concurrency=4, validation_episodes=2, threads=1, importance_cap=2.0, rollouts="stream", kl_coef=0.01,
        value_pretraining=ValuePretrainingConfig(enabled=False),
    )  # fmt: skip
    setting = PpoSetting(
        run_id="r", config=config, bundle=tiny, policy_id="tiny", store=store, source=spot, reporter=reporter,
        folder=tmp_path, progress=lambda phase, done, total: None, labels={},
    )  # fmt: skip
    await PpoLoop(setting).train()
    reporter.close()

    (told,) = [e for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert (told.kind, told.subject) == (EventKind.METRIC, "run:r")
    numbers = {name: value for name, value in told.data.items() if name != "step"}
    assert numbers.keys() >= WANTED

    board = EventAccumulator(str(tmp_path / "board")).Reload()
    drawn = {tag.removeprefix("ppo/iteration/"): board.Scalars(tag)[0] for tag in board.Tags()["scalars"]}
    for name, value in numbers.items():
        assert drawn[name].step == 1
        assert drawn[name].value == pytest.approx(float(str(value)), rel=1e-6)

    (line,) = [each for each in capsys.readouterr().out.splitlines() if " metric ppo/iteration " in each]
    said = {pair.partition("=")[0] for pair in line.split() if "=" in pair}
    assert said == told.data.keys()
