"""What may break in a step of training: the step finishes without it, or stops with its state safe."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.turn import Deadlines
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.store import Store
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.types import Split, Start, Task
from deskhand_trainer import checkpoints
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.errors import CheckpointMismatch, DiskFull, NoTrainableTurns
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.rollouts import Collected, collect, jobs_of, seed_ranges

CONFIG = PpoConfig(
    tasks=("fake/spot",), iterations=3, minutes=0.0, episodes_per_iteration=12, minibatch=8, concurrency=4,
    max_tokens=12, evaluate_every=1000, threads=1, value_pretraining=ValuePretrainingConfig(enabled=False),
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("unexamined")
Make = Callable[..., PpoLoop]


@pytest.fixture
def make(store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path) -> Make:
    def made(config: PpoConfig = CONFIG, *, bundle: ModelBundle = tiny, source: Any = spot) -> PpoLoop:
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        return PpoLoop(
            PpoSetting(
                run_id="r", config=config, bundle=bundle.clone(), policy_id="tiny", store=store,
                source=source, reporter=Reporter(store, subject="run:r", folder=folder / "board"),
                folder=folder, progress=lambda phase, done, total: None, labels={},
            )
        )  # fmt: skip

    return made


class Moody:
    """Lends spot sandboxes; of all resets those of these numbers never end, or end the sandbox."""

    def __init__(self, spot: Any, *, hang: set[int], die: set[int]) -> None:
        self._spot, self._hang, self._die, self._resets = spot, hang, die, 0

    @asynccontextmanager
    async def lease(self, kind: str, *, owner: str, **told: Any) -> AsyncGenerator[Sandbox]:
        async with self._spot.lease(kind, owner=owner, **told) as sandbox:
            reset = sandbox.reset

            async def moody(task: Task) -> Start:
                number, self._resets = self._resets, self._resets + 1
                if number in self._hang:
                    await asyncio.Event().wait()
                if number in self._die:
                    raise SandboxDied("as it was told")
                return await reset(task)

            sandbox.reset = moody
            yield sandbox


async def test_a_step_finishes_without_what_hung_died_or_said_nonsense_and_names_it(
    make: Make, store: Store, spot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resets of the spot never wait, so that no deadline can pass but that of those that hang."""
    short = partial(WorkerSettings, deadlines=replace(Deadlines(), reset_s=0.2), retries=0, backoff_s=0.0)
    monkeypatch.setattr("deskhand_trainer.gathering.WorkerSettings", short)
    moody = Moody(spot, hang={1, 5}, die={3, 14, 20})
    loop = make(replace(CONFIG, iterations=2), source=moody)
    await loop.train()
    first, second = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert (first["dropped"], first["dropped_sandbox_timeout"], first["dropped_sandbox_died"]) == (3, 2, 1)
    assert first["episodes"] == 9
    assert (second["dropped"], second["dropped_sandbox_died"], second["episodes"]) == (2, 2, 10)
    assert int(str(first["void_turns"])) > 0  # a fresh model knows no grammar
    assert all(p.isfinite().all() for p in loop.s.bundle.model.parameters())


async def test_a_full_disk_stops_it_and_the_last_good_checkpoint_goes_on(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = checkpoints.save_tensors, list[Path]()

    def full(tensors: Any, path: Path) -> None:
        written.append(path)
        if len(written) == 2:  # after the first iteration, after the second
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        write(tensors, path)

    monkeypatch.setattr(checkpoints, "save_tensors", full)
    with pytest.raises(DiskFull, match="the last good one is kept: free some space and start the run again"):
        await make().train()
    resumed = make()
    assert resumed.cursor.iteration == 1
    outcome = await resumed.train()
    assert (outcome.metrics["iterations"], outcome.metrics["episodes"]) == (3, 3 * 12)


async def test_a_checkpoint_of_another_architecture_is_refused(make: Make) -> None:
    await make(replace(CONFIG, iterations=1)).train()
    wider = build_tiny(
        TinyConfig(
            vision_width=16, vision_depth=1, vision_heads=2, text_width=48, text_depth=1, text_heads=2,
            text_mlp=64, max_side_px=64, grid_px=16, patch_px=8,
        )
    )  # fmt: skip
    with pytest.raises(CheckpointMismatch, match=r"another architecture: .* there and .* here"):
        make(bundle=wider)


async def test_episodes_without_a_usable_turn_end_it_and_touch_no_weight(
    make: Make, store: Store, spot: Any, spot_oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle's turns have no ids, and nothing is tokenised again."""
    shown = await collect(
        jobs_of(seed_ranges(("fake/spot",), Split.TRAIN, episodes=6, offset=0), labels={}),
        policy=spot_oracle, source=spot, sink=store, settings=WorkerSettings(concurrency=2), owner="t",
    )  # fmt: skip
    loop = make()
    before = [p.clone() for p in loop.s.bundle.model.parameters()]

    async def iteration() -> Collected:
        return shown

    monkeypatch.setattr(loop.gather, "iteration", iteration)
    with pytest.raises(NoTrainableTurns, match="none of 6 episodes has turns whose ids are known"):
        await loop.train()
    assert all(torch.equal(a, b) for a, b in zip(before, loop.s.bundle.model.parameters(), strict=True))
