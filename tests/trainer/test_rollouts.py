from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from deskhand_agent.episode import run_episode
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_sandbox.backends.fake import FakeBackend
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Limits, Outcome, Split
from deskhand_trainer.batches import prepare
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import TrainingSample


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
async def test_a_verdict_at_the_limit_is_not_foretold_again(tiny: ModelBundle, score: float) -> None:
    """Episodes that all end so: however often V is fitted to its targets, it says what they are paid."""
    waits = tokenise_reply(tiny, "wait()")

    class Waits:
        async def generate(self, request: CompletionRequest) -> Completion:
            return Completion(
                ids=waits, logprobs=(-0.5,) * len(waits), finish_reason=FinishReason.STOP, policy_id="p",
                policy_update=0,
            )  # fmt: skip

    policy = LocalPolicy(bundle=tiny, engine=Waits())
    task = replace(make_task("fake/never-done", 0), limits=Limits(turns=3, seconds=60.0))
    async with await FakeBackend({}).create() as sandbox:
        played = await run_episode(
            task, sandbox=sandbox, policy=policy, verifier=create_verifier(task.verifier), sink=MemorySink(),
            split=Split.TRAIN,
        )  # fmt: skip
    assert played.truncated and played.end is not None
    paid = replace(played, end=replace(played.end, outcome=Outcome(score=score, success=score == 1.0)))
    episode, ended = episode_of(paid, policy.request), episode_of(paid, None)
    assert episode is not None and (episode.after is None) == (score > 0)
    assert ended is not None and ended.after is None

    def stateless(turn: TrainingSample) -> TrainingSample:
        replied = turn.reply_ids[:1] and (0,)
        return replace(turn, prompt_ids=(0, 0), reply_ids=replied, behaviour_logprobs=(0.0,) * len(replied))

    after = None if episode.after is None else stateless(episode.after)
    shown = replace(episode, samples=tuple(map(stateless, episode.samples)), after=after)
    model = TabularActorCritic(states=1, tokens=1)
    for _ in range(4):
        samples = prepare([shown], model, PpoConfig()).samples
        assert [s.returns[0] for s in samples] == pytest.approx([score] * 3)
        with torch.no_grad():
            model.critic.bias.fill_(samples[0].returns[0])
