"""The whole loop on a small page: demonstrations, warm start, PPO, evaluation."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.branching import BRANCH_OF
from deskhand_agent.inference import Completion, CompletionRequest
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.notebook import Notebook
from deskhand_agent.types import Trajectory
from deskhand_agent.worker import Job, WorkerSettings
from deskhand_flywheel.prm.model import ScoreHead, hidden_width
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind, TrajectoryFilter
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.types import Split
from deskhand_trainer.config import PpoConfig, SftConfig, ShapingConfig, ValuePretrainingConfig
from deskhand_trainer.errors import RolloutsStalled, RunRefused
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.process_reward import refuse_unpayable
from deskhand_trainer.rollouts import collect, jobs_of, seed_ranges
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.sft.train import train_sft
from deskhand_trainer.streaming import StreamSettings
from deskhand_trainer.types import Episode, TrainingSample

SPOT = "fake/spot"
CONFIG = PpoConfig(
    tasks=(SPOT,),
    iterations=8,
    episodes_per_iteration=48,
    minibatch=24,
    lr=1e-3,
    lr_warmup_iterations=0,
    validation_episodes=24,
    evaluate_every=4,
    concurrency=16,
    max_tokens=12,
    precision="float32",
    value_pretraining=ValuePretrainingConfig(episodes=32, max_epochs=10),
)


def setting(store: Store, source: Any, bundle: ModelBundle, folder: Path, **changes: Any) -> PpoSetting:
    folder.mkdir(exist_ok=True)
    return PpoSetting(
        run_id=changes.pop("run_id", "r"),
        config=replace(CONFIG, **changes),
        bundle=bundle,
        policy_id="tiny",
        store=store,
        source=source,
        reporter=Reporter(store, subject="run:r", folder=folder / "board"),
        folder=folder,
        progress=lambda phase, done, total: None,
        labels={"round": "1"},
    )


async def warm_start(bundle: ModelBundle, source: Any, oracle: Any, store: Store, *, epochs: int) -> None:
    ranges = seed_ranges((SPOT,), Split.TRAIN, episodes=48, offset=5000)
    shown = await collect(
        jobs_of(ranges, labels={"purpose": "demonstration"}),
        policy=oracle,
        source=source,
        sink=store,
        settings=WorkerSettings(concurrency=8, void_limit=1),
        owner="t",
    )
    samples = samples_from_trajectories(shown.trajectories, bundle)
    config = SftConfig(
        cloning_epochs=epochs,
        perception_tasks=(),
        threads=1,
        minibatch=8,
        cloning_lr_scale=1.0,
        warmup_steps=5,
    )
    train_sft(bundle, samples, (), config)


def samples_learned(loop: PpoLoop, monkeypatch: pytest.MonkeyPatch) -> list[TrainingSample]:
    """What the learner is given from now on."""
    learned: list[TrainingSample] = []
    update = loop.learner.update

    def notes(samples: Any, **rest: Any) -> Any:
        learned.extend(samples)
        return update(samples, **rest)

    monkeypatch.setattr(loop.learner, "update", notes)
    return learned


async def validations(store: Store) -> list[dict[str, Any]]:
    events = await store.events_after(0)
    return [dict(e.data) for e in events if e.name == "ppo/validation"]


async def test_collect_warm_start_ppo_evaluate(
    store: Store, spot: Any, spot_oracle: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    """A policy that clicks but cannot tell left from right learns to, on seeds it never saw."""
    began = time.monotonic()
    await warm_start(tiny, spot, spot_oracle, store, epochs=10)
    outcome = await PpoLoop(setting(store, spot, tiny, tmp_path / "run")).train()
    seen = await validations(store)
    start, best = seen[0]["success_sampled"], max(v["success_sampled"] for v in seen)
    print(f"{start} -> {best} in {time.monotonic() - began:.0f} s")
    assert best >= min(0.9, start + 0.2)
    events = await store.events_after(0)
    iterations = [e.data for e in events if e.name == "ppo/iteration"]
    assert len(iterations) == CONFIG.iterations
    # token in, token out: engine and trainer agree on what was drawn
    assert all(float(str(i["logprob_gap"])) < 1e-5 for i in iterations)
    shares = [
        sum(float(str(i[f"time_{w}"])) for w in ("environment", "inference", "training")) for i in iterations
    ]
    assert shares == pytest.approx([1.0] * len(shares))
    assert outcome.metrics["train_seeds"] == {
        "task_id": "each",
        "split": "train",
        "offset": 0,
        "count": 32 + CONFIG.iterations * 48,
    }
    load_bundle(outcome.best)


def test_no_life_and_no_engine_draws_the_replies_of_another(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    folder, seeds = RunFolder(tmp_path), set[int]()
    # the first and the second die before their first checkpoint
    for _ in range(3):
        begun = setting(store, spot, tiny.clone(), tmp_path / "run", seed=7, engines=2)
        loop = PpoLoop(replace(begun, life=folder.next_life()))
        loop.engine.close()
        seeds.update(engine.settings.seed for engine in loop.engine.engines)
    assert len(seeds) == 6


async def test_the_best_weights_are_those_that_the_checkpoint_knows_of(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> PpoLoop:
        return PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", validation_episodes=2, threads=1))

    best = tmp_path / "run/best"

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    loop = make()
    await loop._evaluate()  # pyright: ignore[reportPrivateUsage]
    known = load_bundle(best).model.state_dict()
    loop.cursor.best, loop.cursor.iteration = 0.0, 1
    with torch.no_grad():
        for parameter in loop.acting.model.parameters():
            parameter.zero_()
    monkeypatch.setattr(loop, "_checkpoint", dies)
    with pytest.raises(KeyboardInterrupt):
        await loop._evaluate()  # pyright: ignore[reportPrivateUsage]
    loop.engine.close()
    again = make()
    again.engine.close()
    assert again.cursor.best_iteration == 0
    assert all(torch.equal(p, known[name]) for name, p in load_bundle(best).model.state_dict().items())
    assert [p.name for p in best.parent.glob("best*")] == ["best"]


async def test_the_critic_is_fitted_to_stored_successes_too_where_it_is_told_to(
    store: Store, spot: Any, spot_oracle: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    """To those that the run may learn from, of its own tasks and split, and of no evaluation."""
    jobs: list[Job] = []
    for split, purpose, offset in (
        (Split.TRAIN, "demonstration", 0),
        (Split.TRAIN, "rollout", 10),
        (Split.TRAIN, "evaluation", 20),
        (Split.TEST, "demonstration", 0),
    ):
        ranges = seed_ranges((SPOT,), split, episodes=5, offset=offset)
        jobs += jobs_of(ranges, labels={"purpose": purpose})
    await collect(
        jobs, policy=spot_oracle, source=spot, sink=store, settings=WorkerSettings(concurrency=8), owner="t"
    )
    ids = await store.trajectory_ids(TrajectoryFilter(split=Split.TRAIN, labels={"purpose": "rollout"}))

    async def choose(chosen: TrajectoryFilter) -> list[str]:
        return [each for each in await store.trajectory_ids(chosen) if each != ids[-1]]

    async def choose_none(_: TrajectoryFilter) -> list[str]:
        return []

    told, learned_from = [], []
    for name, fitted_to, chosen in (
        ("plain", "rollouts", choose),
        ("both", "rollouts_and_stored", choose),
        ("none", "rollouts_and_stored", choose_none),
    ):
        fitting = replace(CONFIG.value_pretraining, episodes=4, max_epochs=1, fitted_to=fitted_to)
        small = setting(
            store, spot, tiny.clone(), tmp_path / name, run_id=name, iterations=1, minutes=0.0,
            environment_steps=1, validation_episodes=1, value_pretraining=fitting,
        )  # fmt: skip
        outcome = await PpoLoop(replace(small, choose=chosen)).train()
        assert outcome.metrics["episodes"] == 4
        learned_from.append(outcome.learned_from)
        told.append([e.data for e in await store.events_after(0) if e.name == "ppo/value_pretraining"][-1])
    plain, both, none = told
    assert none == {**plain, "stored": 0} and learned_from.pop() == ()
    turns = [int(str(each["train_turns"])) + int(str(each["held_out_turns"])) for each in (plain, both)]
    assert (plain["stored"], both["stored"]) == (0, 8) and turns[1] == turns[0] + 8
    assert plain["success_sampled"] == both["success_sampled"]
    shown = await store.trajectory_ids(
        TrajectoryFilter(split=Split.TRAIN, labels={"purpose": "demonstration"})
    )
    assert (learned_from[0], {*learned_from[1]}) == ((), {*shown[-4:], *ids[:-1]})


@pytest.mark.parametrize("group_size", [1, 4])
async def test_a_killed_loop_goes_on_and_trains_nothing_twice(
    store: Store,
    spot: Any,
    tiny: ModelBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group_size: int,
) -> None:
    """Killed in its second iteration after the rollouts: resumed, it takes them from the store."""
    small = {"iterations": 3, "episodes_per_iteration": 16, "evaluate_every": 9, "validation_episodes": 4}
    none = ValuePretrainingConfig(enabled=False)
    # a batch of failures alone teaches by nothing else
    changes = {**small, "value_pretraining": none, "group_size": group_size, "entropy_coef": 0.01}
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **changes))
    learn, calls = loop._learn, 0  # pyright: ignore[reportPrivateUsage]

    async def dies(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return await learn(*arguments)

    monkeypatch.setattr(loop, "_learn", dies)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    chosen = TrajectoryFilter(labels={"run": "r", "stage": "rollout"})
    assert await store.count_trajectories(chosen) == 32
    resumed = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **changes))
    assert resumed.cursor.iteration == 1
    outcome = await resumed.train()
    assert outcome.metrics["iterations"] == 3
    assert outcome.metrics["episodes"] == 48
    assert await store.count_trajectories(chosen) == 48  # nothing was run twice
    summaries = (await store.trajectories(chosen, limit=100)).items
    assert set(Counter(s.seed for s in summaries).values()) == {group_size}
    groups = Counter(s.group_id for s in summaries)
    assert len(groups) == (48 // group_size if group_size > 1 else 1)
    assert {s.policy_update for s in summaries} == {0, 1, 2}


@pytest.mark.parametrize(("critic", "fitted"), [("turn", True), ("archer", False)])
async def test_a_run_that_goes_on_with_a_critic_it_had_none_of_begins_one(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, critic: str, fitted: bool
) -> None:
    small = {"episodes_per_iteration": 8, "evaluate_every": 9, "validation_episodes": 2}
    pretraining = ValuePretrainingConfig(episodes=8, max_epochs=1)
    grpo = {**small, "advantage": "grpo", "normalisation": "none", "value_pretraining": pretraining}
    run = tmp_path / "run"
    await PpoLoop(setting(store, spot, tiny.clone(), run, **grpo, iterations=1)).train()
    told = (
        {**method("archer").config, "turn_critic_steps": 1} if critic == "archer" else {"advantage": critic}
    )
    loop = PpoLoop(setting(store, spot, tiny.clone(), run, **{**grpo, **told, "iterations": 2}))
    assert loop.cursor.iteration == 1
    outcome = await loop.train()
    assert outcome.metrics["iterations"] == 2
    assert any(e.name == "ppo/value_pretraining" for e in await store.events_after(0)) == fitted


@pytest.mark.parametrize(("solved", "iterations"), [(0.0, 0), (1.0, 2), (None, 2)])
async def test_it_ends_early_once_it_is_solved(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, solved: float | None, iterations: int
) -> None:
    """By validation success: what it begins with already does as well as is asked, or nothing does."""
    small = {"iterations": 2, "episodes_per_iteration": 16, "validation_episodes": 4, "evaluate_every": 1}
    none = ValuePretrainingConfig(enabled=False)
    loop = PpoLoop(
        setting(store, spot, tiny.clone(), tmp_path / "run", **small, value_pretraining=none, solved=solved)
    )
    outcome = await loop.train()
    assert outcome.metrics["iterations"] == iterations
    assert (outcome.best / "model.safetensors").is_file()


async def test_what_is_replayed_and_how_tasks_went_outlive_a_death(
    store: Store, spot: Any, spot_oracle: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    await warm_start(tiny, spot, spot_oracle, store, epochs=10)
    small = {"iterations": 2, "episodes_per_iteration": 16, "validation_episodes": 4, "evaluate_every": 9}
    shaping = ShapingConfig(void=0.1, repetition=0.1, length=0.2)
    told = {**small, **method("dart").config, "entropy_smoothing": 0.01, "shaping": shaping}
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told))
    await loop.train()
    assert loop.successes.of_task[SPOT]
    assert len(loop.cursor.entropies) == 2
    assert loop.cursor.tasks[SPOT].longest >= 1
    again = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told))
    await again.train()
    assert again.cursor == loop.cursor
    assert again.successes.of_task == loop.successes.of_task
    assert again.successes.waiting == loop.successes.waiting
    assert all(len(e.conduct) == len(e.samples) for e in loop.successes.of_task[SPOT])
    for iteration in [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]:
        parts = [float(str(iteration[f"reward_{name}"])) for name in ("void", "repetition", "length")]
        assert max(parts) <= 0.0 and parts[-1] < 0.0 and "reward_format" not in iteration


async def test_rollouts_act_on_near_misses_where_those_have_a_price(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = setting(
        store, spot, tiny, tmp_path / "run", iterations=1, episodes_per_iteration=8, validation_episodes=2,
        shaping=ShapingConfig(format=0.1), value_pretraining=ValuePretrainingConfig(enabled=False),
    )  # fmt: skip
    refuse_unpayable(told.config, None)
    for imitates in ({"algorithm": "rejection", "keep_spread": 0.5}, {"self_imitation": 4}):
        with pytest.raises(RunRefused, match=r"field 'shaping\.format'"):
            refuse_unpayable(replace(told.config, **imitates), None)
    loop = PpoLoop(told)
    generate, ids = (
        loop.engine.generate,
        tokenise_reply(tiny, "```\nclick(point='<point>16 32</point>')\n```"),
    )

    async def fenced(request: CompletionRequest) -> Completion:
        return replace(await generate(request), ids=ids, logprobs=(-1.0,) * len(ids))

    monkeypatch.setattr(loop.engine, "generate", fenced)
    await loop.train()
    said: dict[str, set[tuple[int, tuple[str, ...]]]] = {}
    for found in [await store.trajectory(each) for each in await store.trajectory_ids()]:
        turns = said.setdefault(found.start.labels["purpose"], set())
        turns |= {(len(step.decision.actions), step.decision.repairs) for step in found.steps}
    assert said == {"rollout": {(1, ("fence",))}, "evaluation": {(0, ())}}
    (iteration,) = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    mended = float(str(iteration["mean_turns"]))
    assert iteration["reward_format"] == pytest.approx(-0.1 * mended)


@pytest.mark.parametrize("name", ["archer", "bilevel", "dart", "epo", "grpo", "rloo", "st-ppo", "starpo-s"])
async def test_methods_by_name_run_and_engine_and_trainer_agree(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, name: str
) -> None:
    small = {"iterations": 2, "episodes_per_iteration": 16, "validation_episodes": 4, "evaluate_every": 9,
             "value_pretraining": ValuePretrainingConfig(episodes=8, max_epochs=2)}  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", **{**small, **method(name).config}))
    outcome = await loop.train()
    assert outcome.metrics["episodes"] == 32 + (8 if loop.config.by_critic else 0)
    told = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert all(float(str(i["logprob_gap"])) < 1e-5 for i in told)
    assert all(p.isfinite().all() for p in tiny.model.parameters())


async def test_the_critic_of_turns_and_what_it_replays_outlive_a_death(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    told = {**method("archer").config, "iterations": 2, "episodes_per_iteration": 8, "validation_episodes": 2,
            "evaluate_every": 9, "turn_critic_steps": 5, "turn_critic_replay": 20}  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told))
    await loop.train()
    again = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told))
    await again.train()
    assert loop.turn_critic is not None and again.turn_critic is not None
    kept, restored = (
        [(e.trajectory_id, [(s.reply_ids, s.reward) for s in e.samples]) for e in critic.replay]
        for critic in (loop.turn_critic, again.turn_critic)
    )
    assert restored == kept and kept
    one, other = loop.turn_critic.nets.state_dict(), again.turn_critic.nets.state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert any(p.abs().sum() > 0 for p in again.turn_critic.nets["q"].parameters())


async def test_branches_are_learned_beside_the_episodes_they_left_and_outlive_a_death(
    store: Store, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Worlds:
        @asynccontextmanager
        async def lease(self, kind: str, **_: Any) -> AsyncGenerator[WorldSandbox]:
            yield WorldSandbox()

    tiny.memory = WindowMemory(screens="text")
    told = {**method("aepo").config, "tasks": ("worlds/chain",), "iterations": 1, "episodes_per_iteration": 4,
            "validation_episodes": 1, "void_limit": 3, "branch_rise": -50.0, "branches_in_a_row": 1,
            "max_tokens": 4}  # fmt: skip
    loop = PpoLoop(setting(store, Worlds(), tiny.clone(), tmp_path / "run", **told))

    async def dies(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_learn", dies)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    resumed = PpoLoop(setting(store, Worlds(), tiny.clone(), tmp_path / "run", **told))
    learn, seen = resumed._learn, list[Trajectory]()  # pyright: ignore[reportPrivateUsage]

    async def notes(collected: Any, lr: float) -> Any:
        seen.extend(collected.trajectories)
        return await learn(collected, lr)

    monkeypatch.setattr(resumed, "_learn", notes)
    await resumed.train()
    trunks = {t.id: t for t in seen if BRANCH_OF not in t.start.labels}
    branches = [t for t in seen if BRANCH_OF in t.start.labels]
    assert len(trunks) == 4 and len(branches) == 4  # all taken from the store, each once
    chosen = TrajectoryFilter(labels={"stage": "rollout"})
    assert await store.count_trajectories(chosen) == 8 == len({t.id for t in seen})
    assert {t.start.group_id for t in seen} == {seen[0].start.group_id}
    for branch in branches:
        trunk = trunks[branch.start.labels[BRANCH_OF]]
        assert branch.steps[0] == trunk.steps[0] and branch.start.labels["shared_turns"] == "1"
    turns = sum(len(t.steps) for t in seen) - len(branches)
    assert resumed.cursor.turns == turns  # shared ones were played once


async def test_summaries_are_learned_like_turns_and_stay_with_the_policy(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.memory = WindowMemory(summary_after=1, summary_tokens=5)
    told = {**method("supo").config, "iterations": 1, "episodes_per_iteration": 16, "validation_episodes": 4,
            "void_limit": 9, "skip_overlong": False, "shuffled_rewards": False}  # fmt: skip
    notebook = Notebook(tmp_path / "notes", tiny.memory)
    loop = PpoLoop(replace(setting(store, spot, tiny, tmp_path / "run", **told), notebook=notebook))
    learned = samples_learned(loop, monkeypatch)
    # somebody must do better than others, or nothing is learned: the first of each group
    episodes = loop._episodes  # pyright: ignore[reportPrivateUsage]

    async def uneven(collected: Any) -> list[Episode]:
        found = await episodes(collected)
        return [replace(e, outcome=float(n % 8 == 0)) for n, e in enumerate(found)]

    monkeypatch.setattr(loop, "_episodes", uneven)
    outcome = await loop.train()
    assert load_bundle(outcome.best).memory == tiny.memory
    ids = await store.trajectory_ids(TrajectoryFilter(labels={"stage": "rollout"}))
    played = {t.id: t async for t in store.each_trajectory(ids, images=True)}
    summaries = [(t, s) for t in played.values() for s in t.steps if s.decision.summary is not None]
    assert len(played) == 16 and len(summaries) == 16
    for trajectory, step in summaries:
        own = {s.turn_index: s for s in learned if s.trajectory_id == trajectory.id}
        (taken,) = [s for s in own.values() if s.turn_index == step.index]
        assert step.decision.completion is not None and taken.reply_ids == step.decision.completion.ids
        assert len(taken.reply_ids) <= 5
        advantages = {round(a, 5) for s in own.values() for a in s.advantage}
        assert len(advantages) == 1 and advantages != {0.0}  # shared by all turns of the trajectory
    written = {path.stem for path in (tmp_path / "notes").rglob("*.json")}
    assert written and written <= set(ids)  # of rollouts alone, where they wrote anything


@pytest.mark.parametrize("name", ["turn-ppo", "grpo"])
async def test_where_the_learner_rounds_nothing_is_clipped_for_it(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In bfloat16 beside an engine in float32, with a critic and without: ratios begin at 1 all the same."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    small = {"iterations": 2, "episodes_per_iteration": 16, "validation_episodes": 4, "precision": "auto",
             "lr": 0.0, "value_pretraining": ValuePretrainingConfig(episodes=8, max_epochs=2)}  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", **{**method(name).config, **small}))
    outcome = await loop.train()
    told: list[dict[str, Any]] = [
        dict(e.data) for e in await store.events_after(0) if e.name == "ppo/iteration"
    ]
    assert [each["clip_fraction"] for each in told] == [0.0, 0.0]
    assert all(0 < each["logprob_gap"] < 0.05 for each in told)
    acted = loop.acting.model.state_dict()
    assert all(torch.equal(p, acted[n]) for n, p in load_bundle(outcome.best).model.state_dict().items())
    assert all(torch.equal(p, p.bfloat16().float()) for n, p in acted.items() if n.endswith("q_proj.weight"))


async def test_of_a_frozen_tower_the_learner_uses_what_the_engine_saw(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    tower = {n: v.clone() for n, v in tiny.model.state_dict().items() if ".visual." in n}
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", freeze="vision", iterations=2, lr=1e-4))
    await loop.train()
    events = await store.events_after(0)
    seen: list[dict[str, Any]] = [dict(e.data) for e in events if e.name == "ppo/iteration"]
    assert [each["image_encoder_calls"] for each in seen] == [0, 0]
    assert all(each["logprob_gap"] < 1e-5 for each in seen)
    after = tiny.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in tower.items())


@pytest.mark.parametrize(("truncation", "target"), [("bootstrap", 0.5), ("end", 0.0)])
async def test_an_episode_that_was_cut_off_goes_on_in_v_or_ended_there(
    store: Store,
    spot: Any,
    tiny: ModelBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    truncation: str,
    target: float,
) -> None:
    told = {"iterations": 1, "episodes_per_iteration": 16, "validation_episodes": 4, "turn_limits": (1,),
            "void_limit": 9, "value_pretraining": ValuePretrainingConfig(enabled=False),
            "truncation": truncation}  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", **told))
    model: Any = loop.company.model
    torch.nn.init.constant_(model.value_head.layers[-1].bias, 0.5)
    learned = samples_learned(loop, monkeypatch)
    await loop.train()
    failed = [s for s in learned if s.reward == 0.0]
    assert len(failed) > 8 and all(s.returns == pytest.approx([target] * len(s.returns)) for s in failed)


@pytest.mark.parametrize("algorithm", ["reinforce", "rejection", "cloning"])
async def test_the_arms_beside_it_run_on_the_same_budget(
    store: Store,
    spot: Any,
    spot_oracle: Any,
    tiny: ModelBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
) -> None:
    monkeypatch.setattr("deskhand_trainer.gathering.ScriptedPolicy", lambda **_: spot_oracle)
    small = {"iterations": 2, "episodes_per_iteration": 16, "validation_episodes": 4}
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", algorithm=algorithm, **small))
    outcome = await loop.train()
    assert outcome.metrics["episodes"] == 32
    events = await store.events_after(0)
    seen: list[dict[str, Any]] = [dict(e.data) for e in events if e.name == "ppo/iteration"]
    assert len(seen) == 2 and sum(each["turns"] for each in seen) == outcome.metrics["turns"]
    # of 16 failures there is nothing to clone
    assert all(each["learned_turns"] == (0 if algorithm == "rejection" else each["turns"]) for each in seen)
    if algorithm != "cloning":
        # an untrained model never succeeds: the alarm says so
        assert any(e.kind is EventKind.ALARM and e.name == "success_low" for e in events)


async def test_broken_sandboxes_are_dropped_and_counted(store: Store, spot: Any, spot_oracle: Any) -> None:
    spot.breaks = 3
    ranges = seed_ranges((SPOT,), Split.TRAIN, episodes=8, offset=0)
    got = await collect(
        jobs_of(ranges, labels={}),
        policy=spot_oracle,
        source=spot,
        sink=store,
        settings=WorkerSettings(concurrency=2, void_limit=1),
        owner="t",
    )
    assert len(got.trajectories) == 8
    assert sum(got.dropped.values()) == 3
    assert [t.start.task.seed for t in got.trajectories] == sorted(
        t.start.task.seed for t in got.trajectories
    )


@pytest.mark.parametrize(("group_size", "engines"), [(1, 2), (4, 1)])
async def test_an_asynchronous_loop_loses_nothing_over_a_death_and_says_how_old_its_turns_are(
    store: Store,
    spot: Any,
    tiny: ModelBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group_size: int,
    engines: int,
) -> None:
    """Killed in its second iteration after the rollouts were taken: what it had not learned comes back."""
    changes: dict[str, Any] = {
        "iterations": 3, "episodes_per_iteration": 16, "evaluate_every": 9, "validation_episodes": 4,
        "value_pretraining": ValuePretrainingConfig(episodes=8, max_epochs=2), "group_size": group_size,
        "rollouts": "stream", "importance_cap": 2.0, "concurrency": 4, "entropy_coef": 0.01,
        "engines": engines,
    }  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **changes))
    learn, taken = loop._learn, list[set[str]]()  # pyright: ignore[reportPrivateUsage]

    async def dies(collected: Any, lr: float) -> Any:
        taken.append({t.id for t in collected.trajectories})
        if len(taken) == 2:
            raise KeyboardInterrupt
        return await learn(collected, lr)

    monkeypatch.setattr(loop, "_learn", dies)
    with pytest.raises(KeyboardInterrupt):
        await loop.train()
    resumed = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **changes))
    assert resumed.cursor.iteration == 1
    again, later = resumed._learn, list[set[str]]()  # pyright: ignore[reportPrivateUsage]

    async def notes(collected: Any, lr: float) -> Any:
        later.append({t.id for t in collected.trajectories})
        return await again(collected, lr)

    monkeypatch.setattr(resumed, "_learn", notes)
    outcome = await resumed.train()
    assert outcome.metrics["iterations"] == 3
    learned = [taken[0], *later]
    assert sum(map(len, learned)) == len(set().union(*learned)) == 48  # nothing is learned twice
    assert taken[1] <= set().union(*later)  # nothing is lost
    told = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert all(0 <= float(str(i["staleness_max"])) <= 2 for i in told)
    assert any(float(str(i["staleness_mean"])) > 0 for i in told)
    assert all(0 < float(str(i["effective_share"])) <= 1 + 1e-6 for i in told)
    passed = [float(str(i["elapsed_s"])) for i in told]
    seconds = [float(str(i["seconds"])) for i in told]
    assert [b - a for a, b in pairwise(passed)] == pytest.approx(seconds[1:])


@pytest.mark.slow
async def test_an_asynchronous_loop_learns(
    store: Store, spot: Any, spot_oracle: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    await warm_start(tiny, spot, spot_oracle, store, epochs=10)
    await PpoLoop(
        setting(store, spot, tiny, tmp_path / "run", rollouts="stream", importance_cap=2.0, max_staleness=2)
    ).train()
    seen = await validations(store)
    start, best = seen[0]["success_sampled"], max(v["success_sampled"] for v in seen)
    assert best >= min(0.9, start + 0.2)


async def test_the_event_loop_goes_on_while_weights_are_published_and_kept(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both go on only once the event loop, which serves the environments, has done something meanwhile."""
    none = ValuePretrainingConfig(enabled=False)
    small = {
        "iterations": 1,
        "episodes_per_iteration": 8,
        "validation_episodes": 2,
        "value_pretraining": none,
    }
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", rollouts="stream", **small))
    events, done = asyncio.get_running_loop(), list[str]()

    def meanwhile(name: str, work: Any) -> Any:
        def waiting(*told: Any, **named: Any) -> Any:
            served = threading.Event()
            events.call_soon_threadsafe(served.set)
            assert served.wait(60), f"{name} holds the event loop up"
            done.append(name)
            return work(*told, **named)

        return waiting

    checkpoint = loop._checkpoint  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(loop.engine, "update_weights", meanwhile("weights", loop.engine.update_weights))
    monkeypatch.setattr(loop, "_checkpoint", meanwhile("checkpoint", checkpoint))
    await loop.train()
    assert done.count("weights") == 1
    assert done.count("checkpoint") >= 2


async def alarms_of(store: Store) -> list[Any]:
    return [e for e in await store.events_after(0) if e.kind is EventKind.ALARM]


async def test_rollouts_that_stand_still_are_told_of_with_their_cause(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sandbox ever comes: every silence is stored as an alarm, the last one before the run ends too."""

    @asynccontextmanager
    async def nobody(kind: str, **_: Any) -> AsyncGenerator[Any]:
        await asyncio.Event().wait()
        yield None

    async def evaluate(self: PpoLoop) -> None:
        self.cursor.best = 0.0

    monkeypatch.setattr(PpoLoop, "_evaluate", evaluate)
    monkeypatch.setattr(spot, "lease", nobody)
    monkeypatch.setattr("deskhand_trainer.gathering.StreamSettings", partial(StreamSettings, stall_s=0.02))
    told = setting(
        store, spot, tiny, tmp_path / "run", rollouts="stream", importance_cap=2.0,
        value_pretraining=ValuePretrainingConfig(enabled=False),
    )  # fmt: skip
    with pytest.raises(RolloutsStalled, match="environments do not answer"):
        await PpoLoop(told).train()
    alarms = await alarms_of(store)
    assert {(e.name, e.subject) for e in alarms} == {("no_rollouts_arriving", "run:r")}
    assert [e.data for e in alarms] == [{"iteration": 1, "cause": "environments do not answer"}] * 5


async def test_a_batch_that_stands_still_is_told_of_and_goes_on(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sandbox comes until two silences have been told of."""
    lease, told = spot.lease, asyncio.Event()
    alarm = Reporter.alarm

    @asynccontextmanager
    async def late(kind: str, **named: Any) -> AsyncGenerator[Any]:
        await told.wait()
        async with lease(kind, **named) as sandbox:
            yield sandbox

    async def noted(self: Reporter, name: str, data: Any) -> None:
        await alarm(self, name, data)
        told.set() if len(await alarms_of(store)) >= 2 else None

    async def evaluate(self: PpoLoop) -> None:
        self.cursor.best = 0.0

    monkeypatch.setattr(PpoLoop, "_evaluate", evaluate)
    monkeypatch.setattr(spot, "lease", late)
    monkeypatch.setattr(Reporter, "alarm", noted)
    monkeypatch.setattr("deskhand_trainer.gathering.STALL_S", 0.05)
    none = ValuePretrainingConfig(enabled=False)
    small = {"iterations": 1, "episodes_per_iteration": 4, "value_pretraining": none}
    outcome = await PpoLoop(setting(store, spot, tiny, tmp_path / "run", **small)).train()
    assert outcome.metrics["iterations"] == 1
    stalls = [e for e in await alarms_of(store) if e.name == "no_rollouts_arriving"]
    assert [e.data for e in stalls[:2]] == [{"iteration": 1, "cause": "environments do not answer"}] * 2


PAID: dict[str, Any] = {
    "iterations": 1, "episodes_per_iteration": 8, "validation_episodes": 4, "process_weight": 0.5,
    "value_pretraining": ValuePretrainingConfig(enabled=False),
}  # fmt: skip
"""One small iteration that a process reward model pays for, too."""


def reward_model(tiny: ModelBundle) -> ProcessRewardModel:
    return ProcessRewardModel(tiny.clone(), ScoreHead(hidden_width(tiny), inner_width=8))


async def test_values_of_states_are_paid_as_potential_differences(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    model = reward_model(tiny)
    told = setting(store, spot, tiny, tmp_path / "run", **PAID, process_form="potential")
    with pytest.raises(RunRefused, match="knows of no state"):
        refuse_unpayable(told.config, model)
    with pytest.raises(RunRefused, match="below 1"):
        refuse_unpayable(replace(told.config, process_weight=2.0), None)
    with pytest.raises(RunRefused, match="the run has none: give one with --reward-model"):
        refuse_unpayable(told.config, None)
    refuse_unpayable(told.config, None, of_round=True)
    model.head.knows_values.fill_(True)
    refuse_unpayable(told.config, model)
    loop = PpoLoop(replace(told, reward_model=model))
    await loop.train()
    (iteration,) = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    # a fresh head values every state at a half: an episode that ended loses w·½, one cut off nothing
    ended = float(str(iteration["reward_process"])) / -0.25 * 8
    assert 0.0 <= ended <= 8.0 and ended == pytest.approx(round(ended), abs=1e-6)


async def test_what_the_reward_model_said_of_practice_stands_with_its_steps(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    model = reward_model(tiny)
    told = setting(store, spot, tiny, tmp_path / "run", **PAID)
    await PpoLoop(replace(told, reward_model=model)).train()
    played = await store.trajectory_ids(TrajectoryFilter(labels={"stage": "rollout"}))
    assert len(played) == 8
    for trajectory in [await store.trajectory(id, images=True) for id in played]:
        kept = await store.scores(trajectory.id, scorer=model.scorer)
        # as if it had been asked about the stored episode
        anew = await model.score(trajectory)
        assert [(s.step_index, pytest.approx(s.score, abs=1e-5)) for s in anew] == [
            (s.step_index, s.score) for s in kept
        ]
    assert not set(played) & set(await store.unscored(model.scorer))


async def test_a_reward_model_that_takes_too_long_is_left_out_and_told_of(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    """It is asked once: while it has not answered the first iteration, the second goes without it at once."""
    asked, ends = list[int](), threading.Event()

    class Slow:
        def turn_scores(self, turns: Any) -> list[float]:
            asked.append(len(turns))
            assert ends.wait(60)
            return [0.5] * len(turns)

    told = setting(store, spot, tiny, tmp_path / "run", **{**PAID, "iterations": 2}, scoring_s=0.05)
    slow: Any = Slow()
    outcome = await PpoLoop(replace(told, reward_model=slow)).train()
    ends.set()
    assert outcome.metrics["episodes"] == 16
    events = await store.events_after(0)
    late = [e.data["turns"] for e in events if e.name == "reward_model_too_slow"]
    assert len(late) == 2 and asked == late[:1]
    iterations = [e.data for e in events if e.name == "ppo/iteration"]
    assert len(iterations) == 2 and not any("reward_process" in each for each in iterations)


async def test_a_policy_learns_beside_recorded_demonstrations_without_a_sandbox(
    store: Store, spot: Any, spot_oracle: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    ui_s1 = {**method("ui-s1").config, "validation_episodes": 4}
    refused = setting(store, spot, tiny, tmp_path / "none", **ui_s1)
    with pytest.raises(RunRefused, match="no successful demonstration"):
        await PpoLoop(refused).train()
    await warm_start(tiny, spot, spot_oracle, store, epochs=10)
    before = await store.count_trajectories(TrajectoryFilter())
    told = {**ui_s1, "iterations": 6, "episodes_per_iteration": 48, "evaluate_every": 9, "kl_coef": 0.0}
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "run", **told))
    outcome = await loop.train()
    assert outcome.metrics["episodes"] == 6 * 48
    rollouts = await store.count_trajectories(TrajectoryFilter(labels={"stage": "rollout"}))
    assert rollouts == 0 and await store.count_trajectories(TrajectoryFilter()) > before
    told_of = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    rewards = [float(str(i["reward_environment"])) for i in told_of]
    assert max(rewards[3:]) > rewards[0]


async def test_a_policy_plays_against_itself_and_what_is_usual_outlives_a_death(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def evaluate(self: PpoLoop) -> None:
        self.cursor.best = 0.0

    monkeypatch.setattr(PpoLoop, "_evaluate", evaluate)
    told = {**method("spiral").config, "tasks": ("worlds/tic-tac-toe",)}
    small = {"iterations": 3, "episodes_per_iteration": 16}
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told, **small))
    await loop.train()
    assert set(loop.cursor.sides) <= {"worlds/tic-tac-toe:X", "worlds/tic-tac-toe:O"}
    again = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told, **small))
    assert again.cursor.sides == loop.cursor.sides and loop.cursor.sides


@pytest.mark.parametrize("old", [8, 5])
async def test_an_asynchronous_loop_waits_for_episodes_it_can_learn_from_and_not_for_ever(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: int
) -> None:
    told: dict[str, Any] = {
        "iterations": 1, "episodes_per_iteration": 8, "validation_episodes": 4, "concurrency": 4,
        "value_pretraining": ValuePretrainingConfig(enabled=False), "rollouts": "stream",
    }  # fmt: skip
    loop = PpoLoop(setting(store, spot, tiny.clone(), tmp_path / "run", **told))
    ages, lengths = iter([9] * old + [0] * 999), list[int]()

    def aged(trajectory: Trajectory) -> int:
        lengths.append(len(trajectory.steps))
        return next(ages)

    monkeypatch.setattr(loop.gather, "_staleness", aged)
    outcome = await loop.train()
    assert outcome.metrics["episodes"] == 8
    # what was too old was played all the same: arms of one budget of turns are to be compared
    assert len(lengths) == 8 + old and outcome.metrics["turns"] == sum(lengths)
    (iteration,) = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert iteration["dropped"] == old
    loop = PpoLoop(setting(store, spot, tiny, tmp_path / "never", **told, run_id="never"))
    monkeypatch.setattr(loop.gather, "_staleness", lambda _: 9)
    with pytest.raises(RolloutsStalled, match=r"no episode could be learned from \({'stale': 80}\)"):
        await loop.train()


async def test_a_budget_of_turns_ends_the_loop_and_counts_value_pretraining(
    store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    told = {"episodes_per_iteration": 8, "validation_episodes": 4, "evaluate_every": 99, "minutes": 0.0}
    pretraining = ValuePretrainingConfig(episodes=8, max_epochs=1)
    loop = PpoLoop(
        setting(
            store, spot, tiny, tmp_path / "run", **told, environment_steps=40, iterations=100,
            value_pretraining=pretraining,
        )
    )  # fmt: skip
    outcome = await loop.train()
    turns = int(str(outcome.metrics["turns"]))
    rollouts = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    assert 40 <= turns < 40 + 8 * 3
    assert turns > sum(int(str(i["turns"])) for i in rollouts)
    assert float(str(rollouts[-1]["lr"])) < float(str(rollouts[0]["lr"]))
