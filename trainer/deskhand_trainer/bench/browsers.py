"""What waiting costs on real pages: the training loop itself, three ways, on MiniWoB++ in Chromium.

deskhand-tiny plays, its replies drawn at temperature 1 by the engine of the run, and learns by PPO beside it;
at learning rate 0, so that all of an update is computed and every way plays by the same policy to the end.

- synchronous: a batch of episodes, then an update (`rollouts: batch`).
- asynchronous: episodes go on while it learns (`rollouts: stream`).
- streaming: the same, and it begins as soon as finished episodes have as many turns as a batch has episodes.

The vision tower stays as it is (`freeze: vision`), as one has it on a processor: to encode every picture anew
and to go back through the tower is two thirds of an update. Browsers, engine and learner share this machine's
processor, and what they need of it bounds every way: where the synchronous one uses a share u of all cores,
no other can be more than 1 / u times as fast.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.bench.processor import machine_s, processor_s
from deskhand_trainer.bench.streaming import ASYNCHRONOUS, BOUND, STREAMING, SYNCHRONOUS, spread
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.gathering import ROLLOUT
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.results import Figure

TASKS = (
    "miniwob/click-button-sequence",
    "miniwob/click-checkboxes",
    "miniwob/enter-text",
    "miniwob/navigate-tree",
)
"""Of one turn to many, as the policy fares."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLoad:
    """What is played and learned."""

    environments: int = 8
    batch: int = 16
    """Episodes an update learns from; streaming: fewer."""
    turns: int = 240
    """Learned from, after which a way has done its work."""
    epochs: int = 1
    """Over the turns of an update."""
    threads: int = 2
    """Of the learner."""
    tasks: tuple[str, ...] = TASKS

    def config(self, way: str) -> PpoConfig:
        """What the training loop is told."""
        return PpoConfig(
            tasks=self.tasks,
            rollouts="batch" if way == SYNCHRONOUS else "stream",
            minimum_turns=self.batch if way == STREAMING else 0,
            max_staleness=BOUND * 3 if way == STREAMING else BOUND,  # its updates are about so many more
            episodes_per_iteration=self.batch,
            concurrency=self.environments,
            iterations=10_000,
            minutes=0.0,
            lr=0.0,
            critic_lr=0.0,
            epochs=self.epochs,
            microbatch=16,
            threads=self.threads,
            freeze="vision",
            max_tokens=40,
            evaluate_every=10_000,
            value_pretraining=ValuePretrainingConfig(enabled=False),
        )


@dataclass(slots=True)
class Played:
    """What one way came to between the begin of its first iteration and the end of its last."""

    episodes: int = 0
    turns: int = 0
    dropped: int = 0
    began_s: float = 0.0
    """Unix time."""
    ended_s: float = 0.0
    processor_s: float = 0.0
    """Of this process and all that descend from it."""
    others_s: float = 0.0
    """Of all other programs of the machine."""
    busy_s: float = 0.0
    """Environments with an episode under way, added up."""
    steps_s: list[float] = field(default_factory=list[float])
    """Of every turn of episodes that ended meanwhile, waiting for its reply included."""
    learning_s: float = 0.0
    """The learner computed, and did not wait for episodes."""
    staleness: list[float] = field(default_factory=list[float])
    """Mean age in updates of the weights that drew the turns, of every iteration."""

    @property
    def seconds(self) -> float:
        return self.ended_s - self.began_s


class _Enough(Exception):
    """It has learned from as many turns as were wanted."""


class _Watched(Reporter):
    """Takes the measurements as the loop reports its iterations, and ends it."""

    def __init__(self, played: Played, turns: int, store: Store, folder: Path) -> None:
        super().__init__(store, subject="run:bench", folder=folder)
        self._played, self._turns = played, turns
        self._ours_s = self._all_s = 0.0

    def progress(self, phase: str, done: int, total: int) -> None:
        if not self._played.began_s and phase.startswith("PPO iteration"):
            self._played.began_s = time.time()
            self._ours_s, self._all_s = processor_s(), machine_s()

    async def metric(self, name: str, values: Mapping[str, JsonValue], *, step: int) -> None:
        played = self._played
        if name == "ppo/iteration":
            played.ended_s, played.processor_s = time.time(), processor_s() - self._ours_s
            played.others_s = max(0.0, machine_s() - self._all_s - played.processor_s)
            found = {name: float(str(values[name])) for name in ("episodes", "turns", "dropped")}
            played.episodes += int(found["episodes"])
            played.turns += int(found["turns"])
            played.dropped += int(found["dropped"])
            played.learning_s += float(str(values["time_training"])) * float(str(values["seconds"]))
            played.staleness.append(float(str(values["staleness_mean"])))
            if played.turns >= self._turns:
                raise _Enough


async def measured(way: str, load: PageLoad, bundle: ModelBundle, source: SandboxSource) -> Played:
    """One way, once."""
    played = Played()
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as name:
        folder = Path(name)
        store = await Store.open(f"sqlite+aiosqlite:///{folder}/store.db", f"file://{folder}/blobs")
        watched = _Watched(played, load.turns, store, folder / "board")
        try:
            setting = PpoSetting(
                run_id="bench",
                config=load.config(way),
                bundle=bundle.clone(),
                policy_id=DESKHAND_TINY,
                store=store,
                source=source,
                reporter=watched,
                folder=folder,
                progress=watched.progress,
                labels={},
            )
            loop = PpoLoop(setting)
            loop.cursor.best = 0.0  # nothing is evaluated
            with suppress(_Enough):
                await loop.train()
            ids = await store.trajectory_ids(TrajectoryFilter(labels={"purpose": ROLLOUT}, ended=True))
            async for trajectory in store.each_trajectory(ids):
                assert trajectory.end is not None
                begin, end = trajectory.start.started_at_s, trajectory.end.ended_at_s
                played.busy_s += max(0.0, min(end, played.ended_s) - max(begin, played.began_s))
                if end <= played.ended_s:
                    played.steps_s += [
                        (step.timings.model_ms + step.timings.act_ms) / 1000 for step in trajectory.steps
                    ]
        finally:
            watched.close()
            await store.close()
    return played


async def bench_browsers(
    load: PageLoad, *, repeats: int, command: str, say: Callable[[str], None]
) -> list[Figure]:
    """Every way in turns, `repeats` times, in an order that rotates; ratios are of one repeat's runs.

    Raises:
        SandboxError: there is no Chromium, or it failed.
        AgentError: the model is not there.
        TrainerError: too many episodes broke.
    """
    bundle = await asyncio.to_thread(load_bundle, shipped_model())
    runs: dict[str, list[Played]] = {way: [] for way in (SYNCHRONOUS, ASYNCHRONOUS, STREAMING)}
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        pools = {"browser": PoolSettings(max_sandboxes=load.environments)}
        async with (
            start_host(HostSettings(kinds=pools, state_folder=Path(folder))) as host,
            SandboxClient(host.url, host.token) as client,
        ):
            await measured(ASYNCHRONOUS, replace(load, turns=1), bundle, client)
            for repeat in range(repeats):
                ways = [*runs]
                turn = repeat % len(ways)
                for way in (*ways[turn:], *ways[:turn]):
                    runs[way].append(seen := await measured(way, load, bundle, client))
                    say(
                        f"{repeat + 1}/{repeats} {way:13} {_rate(seen):7.1f} episodes/min, "
                        f"{_turns(seen):.2f} turns/s, environments {_use(seen, load):.3f}, "
                        f"processor {_processor(seen):.3f}, others {_others(seen):.3f}"
                    )
    return _figures(runs, load, repeats, command)


def _figures(
    runs: Mapping[str, Sequence[Played]], load: PageLoad, repeats: int, command: str
) -> list[Figure]:
    told: dict[str, Any] = {
        "command": command,
        "config": {**asdict(load), "tasks": list(load.tasks), "policy": DESKHAND_TINY, "repeats": repeats},
        "seeds": "train, from 0",
    }
    whose = f"browsers, engine and learner on the same {_cores()} cores"
    figures = [
        spread(
            f"browser_{way}_per_min", [_rate(seen) for seen in found], "episodes/min", **told,
            note=f"learned from; {whose}",
        )
        for way, found in runs.items()
    ]  # fmt: skip
    streaming = runs[STREAMING]
    for name, ours, other, goal in (
        ("browser_async_vs_sync", STREAMING, SYNCHRONOUS, ">= 3"),
        ("browser_whole_batches_vs_sync", ASYNCHRONOUS, SYNCHRONOUS, None),
    ):
        pairs = zip(runs[ours], runs[other], strict=True)
        note = f"turns learned from a minute, {ours} over {other}; {whose}: see browser_async_vs_sync_bound"
        ratios = [_turns(a) / _turns(b) for a, b in pairs]
        figures.append(spread(name, ratios, "times", goal=goal, note=note, **told))
    for way, found in runs.items():
        figures += _of_way(way, found, load, told)
    return [
        *figures,
        spread(
            "browser_learner_use", [seen.learning_s / seen.seconds for seen in streaming], "share", **told,
            note="streaming: time the learner computes and does not wait; 1: environments wait for it",
        ),
        spread(
            "browser_async_vs_sync_bound", [1 / _processor(seen) for seen in runs[SYNCHRONOUS]], "times",
            note="what browser_async_vs_sync can be at most: 1 / processor use of synchronous", **told,
        ),
        spread(
            "browser_processor_use", [_processor(seen) for seen in streaming], "share", **told,
            note=f"streaming: of all {_cores()} cores, by browsers, engine and learner together; 1 is ideal",
        ),
        spread(
            "browser_others_processor_use", [_others(seen) for found in runs.values() for seen in found],
            "share", **told,
            note="of all cores, by programs that have nothing to do with it: far from 0, measure again",
        ),
    ]  # fmt: skip


def _of_way(way: str, found: Sequence[Played], load: PageLoad, told: Mapping[str, Any]) -> list[Figure]:
    """How well it used its environments, how long its slowest turns took, and how old what it learned was."""
    called, goal = ("browser", ">= 0.95") if way == STREAMING else (f"browser_{way}", None)
    return [
        spread(
            f"{called}_env_use", [_use(seen, load) for seen in found], "share", goal=goal, **told,
            note=f"{way}: time environments have an episode under way; ideal: all of it",
        ),
        spread(
            f"{called}_p99_step_s", [statistics.quantiles(seen.steps_s, n=100)[-1] for seen in found], "s",
            note=f"{way}: 99th percentile of a turn, from asking for its reply to a still page", **told,
        ),
        spread(
            f"{called}_staleness", [statistics.fmean(seen.staleness) for seen in found], "updates", **told,
            note=f"{way}: updates between the drawing of a turn and its learning, on average",
        ),
    ]  # fmt: skip


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _rate(seen: Played) -> float:
    return 60 * seen.episodes / seen.seconds


def _turns(seen: Played) -> float:
    return seen.turns / seen.seconds


def _use(seen: Played, load: PageLoad) -> float:
    return seen.busy_s / (load.environments * seen.seconds)


def _processor(seen: Played) -> float:
    return seen.processor_s / (_cores() * seen.seconds)


def _others(seen: Played) -> float:
    return seen.others_s / (_cores() * seen.seconds)
