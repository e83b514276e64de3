"""MUA-RL in small: a policy that asks every other time learns that asking pays."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import EndpointError
from deskhand_agent.grammar import format_reply
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision
from deskhand_agent.users import Question, Reply, by_rule
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.store import Store
from deskhand_sandbox.backends.world import WorldSandbox
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Press, Split
from deskhand_trainer.config import PpoConfig, SftConfig, parse_config
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.rollouts import collect, episode_of, jobs_of, seed_ranges
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.sft.train import train_sft

TASK = "worlds/bandit-asking"


class Worlds:
    @asynccontextmanager
    async def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AsyncGenerator[Sandbox]:
        yield WorldSandbox()


class Undecided(ScriptedPolicy):
    """Asks in every other task, and pulls any arm in the others."""

    async def act(self, context: Context) -> Decision:
        chance = random.Random(context.task.seed)
        if chance.random() < 0.5:
            return await super().act(context)
        actions = (Press(keys=(str(chance.randint(1, 4)),)),)
        return Decision(actions=actions, text=format_reply(None, actions))


@pytest.mark.slow
async def test_a_policy_that_asks_now_and_then_learns_to_ask(
    store: Store, tiny: ModelBundle, tmp_path: Path
) -> None:
    tiny.memory = WindowMemory(screens="text")
    source: Any = Worlds()
    shown = await collect(
        jobs_of(seed_ranges((TASK,), Split.TRAIN, episodes=96, offset=5000), labels={}),
        policy=Undecided(), source=source, sink=store, settings=WorkerSettings(concurrency=8), owner="t",
    )  # fmt: skip
    samples = samples_from_trajectories([*shown.trajectories], tiny)
    train_sft(
        tiny, samples, (),
        SftConfig(cloning_epochs=30, perception_tasks=(), threads=1, minibatch=8, cloning_lr_scale=1.0,
                  warmup_steps=5),
    )  # fmt: skip
    told = {
        **method("mua").config, "tasks": [TASK], "iterations": 6, "episodes_per_iteration": 64,
        "minibatch": 32, "lr": 1e-3, "lr_warmup_iterations": 0, "validation_episodes": 4,
        "evaluate_every": 9, "concurrency": 16, "max_tokens": 40, "threads": 1,
    }  # fmt: skip
    config = parse_config(PpoConfig, told)
    (folder := tmp_path / "run").mkdir()
    await PpoLoop(
        PpoSetting(
            run_id="r", config=config, bundle=tiny, policy_id="tiny", store=store, source=source,
            reporter=Reporter(store, subject="run:r", folder=folder / "board"), folder=folder,
            progress=lambda phase, done, total: None, labels={},
        )
    ).train()  # fmt: skip
    told_of = [e.data for e in await store.events_after(0) if e.name == "ppo/iteration"]
    asked = [float(str(each["questions"])) / float(str(each["episodes"])) for each in told_of]
    won = [float(str(each["success_sampled"])) for each in told_of]
    print("asked", asked, "won", won)
    assert asked[0] < 0.7 and max(asked) > asked[0] + 0.2
    assert max(won) > won[0] + 0.15


async def test_questions_are_counted_and_those_that_nobody_answered(tiny: ModelBundle) -> None:
    async def broken(question: Question) -> Reply:
        raise EndpointError("no")

    bundle, asks = tiny, tokenise_reply(tiny, "call_user(content='Which arm?')")
    tiny.memory = WindowMemory(screens="text")

    class Asks:
        async def generate(self, request: CompletionRequest) -> Completion:
            return Completion(
                ids=asks, logprobs=(-0.5,) * len(asks), finish_reason=FinishReason.STOP, policy_id="p",
                policy_update=0,
            )  # fmt: skip

    policy, task = LocalPolicy(bundle=bundle, engine=Asks()), make_task(TASK, 0)
    for user, unanswered in ((broken, 3), (by_rule, 0)):
        played = await run_episode(
            task, sandbox=WorldSandbox(), policy=policy, verifier=create_verifier(task.verifier),
            sink=MemorySink(), split=Split.TRAIN, user=user,
        )  # fmt: skip
        episode = episode_of(played, policy.request)
        assert episode is not None and (episode.questions, episode.unanswered) == (3, unanswered)
        # what is said to the policy is shown and never learned
        assert all(sample.reply_ids == asks for sample in episode.samples)
        assert len({len(sample.prompt_ids) for sample in episode.samples}) == 3
