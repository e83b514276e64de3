"""AgentFlow in small: a policy learns what to tell a frozen one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.types import Context, Trajectory
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.tasks import make_task
from deskhand_trainer.config import PpoConfig, SftConfig, parse_config
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.sft.train import train_sft
from deskhand_trainer.types import Episode, TrainingSample

SMALL: dict[str, Any] = {
    "minibatch": 32, "lr": 1e-3, "lr_warmup_iterations": 0, "validation_episodes": 4, "evaluate_every": 9,
    "concurrency": 16, "max_tokens": 8, "plan_tokens": 6, "threads": 1, "void_limit": 3,
    "precision": "float32",
}  # fmt: skip


class Worlds:
    @asynccontextmanager
    async def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AsyncGenerator[Sandbox]:
        yield WorldSandbox()


class Silent:
    """An engine nobody asks."""

    async def generate(self, request: CompletionRequest) -> Completion:
        return Completion(ids=(), logprobs=(), finish_reason=FinishReason.STOP, policy_id="", policy_update=0)


def loop_of(store: Store, bundle: ModelBundle, executor: LocalPolicy, folder: Path, **told: Any) -> PpoLoop:
    config = parse_config(PpoConfig, {**method("agent-flow").config, **SMALL, **told})
    folder.mkdir()
    return PpoLoop(
        PpoSetting(
            run_id="r", config=config, bundle=bundle, policy_id="planner", store=store, source=Worlds(),
            reporter=Reporter(store, subject="run:r", folder=folder / "board"), folder=folder,
            progress=lambda phase, done, total: None, labels={}, executor=executor,
        )
    )  # fmt: skip


def acting(bundle: ModelBundle) -> LocalPolicy:
    engine = LocalEngine(bundle, policy_id="frozen")
    return LocalPolicy(
        bundle=bundle, engine=engine, policy_id="frozen", sampling=Sampling(temperature=0.0, max_tokens=8)
    )


async def cloned(bundle: ModelBundle, said: dict[str, str], *, executor: LocalPolicy | None = None) -> None:
    """Teach to reply so to instructions on the bandit's screen, until it does."""
    task = make_task("worlds/bandit", 0)
    seen = (await WorldSandbox().reset(task)).observation
    policy = LocalPolicy(bundle=bundle, engine=Silent(), executor=executor)
    samples: list[TrainingSample] = []
    for number, (instruction, reply) in enumerate(said.items()):
        told = instruction.strip("#")  # so that one instruction may have several replies
        asked = policy.request(Context(task=task, instruction=told, steps=(), observation=seen))
        ids = tokenise_reply(bundle, reply)
        samples += [
            TrainingSample(
                trajectory_id=f"{number}", turn_index=0, prompt_ids=asked.prompt_ids, images=asked.images,
                reply_ids=ids, behaviour_logprobs=(0.0,) * len(ids), reward=1.0, last=True,
            )
        ] * 6  # fmt: skip
    config = SftConfig(
        cloning_epochs=40, perception_tasks=(), threads=1, minibatch=8, cloning_lr_scale=1.0, warmup_steps=5
    )
    await asyncio.to_thread(train_sft, bundle, samples, (), config)


async def played(store: Store) -> list[Trajectory]:
    ids = await store.trajectory_ids(TrajectoryFilter(labels={"stage": "rollout"}))
    return [t async for t in store.each_trajectory(ids, images=True)]


@pytest.mark.slow
async def test_the_planner_learns_which_plan_pays_and_the_executor_stays_as_it_was(
    store: Store, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four arms; the executor pulls the one it is told, and the planner names worse ones at first."""
    monkeypatch.setattr("deskhand_sandbox.tasks.worlds.ARMS", (0.0, 1.0, 0.0, 0.0))
    tiny.memory = WindowMemory(screens="text")
    frozen, planner = tiny.clone(), tiny.clone()
    await cloned(frozen, {f"arm {n}": f"hotkey(key='{n}')" for n in "1234"})
    executor = acting(frozen)
    planner.memory = WindowMemory(screens="text", plan_tokens=SMALL["plan_tokens"])
    instruction = (await WorldSandbox().reset(make_task("worlds/bandit", 0))).instruction
    await cloned(
        planner, {instruction + "#" * n: f"arm {arm}" for n, arm in enumerate("1132")}, executor=executor
    )
    before = {name: weights.clone() for name, weights in frozen.model.state_dict().items()}
    loop = loop_of(
        store, planner, executor, tmp_path / "run", tasks=["worlds/bandit"], iterations=5,
        episodes_per_iteration=64,
    )  # fmt: skip
    outcome = await loop.train()
    await asyncio.to_thread(executor._engine.close)  # type: ignore[attr-defined]
    assert all(torch.equal(weights, before[name]) for name, weights in frozen.model.state_dict().items())
    assert load_bundle(outcome.best).memory == planner.memory
    told_of = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    # token in, token out: what was drawn is what the trainer computes
    assert all(float(str(each["logprob_gap"])) < 1e-5 for each in told_of)
    for trajectory in await played(store):
        (step,) = trajectory.steps
        execution = step.decision.execution
        assert execution is not None and execution.policy_id == "frozen" and execution.completion is not None
        assert execution.completion.policy_id == "frozen" and step.decision.completion is not None
        assert step.decision.completion.policy_id == "planner"
    won = [float(str(each["success_sampled"])) for each in told_of]
    print("won", won)
    assert won[0] < 0.7 and won[-1] > won[0] + 0.2


async def test_every_plan_of_an_episode_has_its_outcome_and_nothing_else_is_learned(
    store: Store, tiny: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flow-GRPO's advantage, by hand: (R − mean of the group) / its deviation, the same for every plan."""
    tiny.memory = WindowMemory(screens="text")
    executor = acting(tiny.clone())
    tiny.memory = WindowMemory(screens="text", plan_tokens=SMALL["plan_tokens"])
    told = {"tasks": ["worlds/chain"], "iterations": 1, "episodes_per_iteration": 16}
    loop = loop_of(store, tiny, executor, tmp_path / "run", **told)
    learned: list[TrainingSample] = []
    update, episodes = loop.learner.update, loop._episodes  # pyright: ignore[reportPrivateUsage]

    def notes(samples: Any, **rest: Any) -> Any:
        learned.extend(samples)
        return update(samples, **rest)

    async def uneven(collected: Any) -> list[Episode]:
        found = await episodes(collected)
        return [replace(e, outcome=float(n % 8 == 0)) for n, e in enumerate(found)]

    monkeypatch.setattr(loop.learner, "update", notes)
    monkeypatch.setattr(loop, "_episodes", uneven)
    await loop.train()
    await asyncio.to_thread(executor._engine.close)  # type: ignore[attr-defined]
    trajectories = await played(store)
    assert len(trajectories) == 16 and any(len(t.steps) > 1 for t in trajectories)
    deviation = (1 / 8 * 7 / 8) ** 0.5  # of one success among eight
    worth = {round((1 - 1 / 8) / deviation, 3), round(-1 / 8 / deviation, 3)}
    for trajectory in trajectories:
        own = {s.turn_index: s for s in learned if s.trajectory_id == trajectory.id}
        assert len(own) == len(trajectory.steps)
        advantages = {round(a, 3) for s in own.values() for a in s.advantage}
        assert len(advantages) == 1 and advantages <= worth
        for step in trajectory.steps:
            drawn = step.decision.completion
            assert drawn is not None and own[step.index].reply_ids == drawn.ids
            assert own[step.index].behaviour_logprobs == pytest.approx(drawn.logprobs)
            assert len(drawn.ids) <= SMALL["plan_tokens"]
