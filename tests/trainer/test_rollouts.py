from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_sandbox.types import Outcome
from deskhand_trainer.batches import prepare, with_rewards
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import TrainingSample


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
async def test_a_verdict_at_the_limit_is_not_foretold_again(wait_to_the_limit: Any, score: float) -> None:
    """Episodes that all end so: however often V is fitted to its targets, it says what they are paid."""
    played, policy = await wait_to_the_limit(turns=3)
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


async def test_what_failed_attempts_scored_comes_with_the_episode_and_shuffled_says_nothing_of_it(
    wait_to_the_limit: Any,
) -> None:
    played, _ = await wait_to_the_limit(turns=1, attempts=3)
    assert [step.attempt_score for step in played.steps] == [0.0, 0.0, None]
    told = tuple(
        replace(step, attempt_score=score)
        for step, score in zip(played.steps, (0.75, None, None), strict=True)
    )
    episode = episode_of(replace(played, steps=told), None)
    assert episode is not None and episode.failed_attempts == ((0, 0.75), (1, None))
    rule = RewardRule(progress_bonus=2.0)
    episodes = [replace(episode, outcome=0.5, failed_attempts=((0, n / 8), (1, n / 8))) for n in range(8)]
    assert [e.samples[2].reward for e in with_rewards(episodes, rule)] == [
        0.5 + 2 * (0.5 - n / 8) for n in range(8)
    ]
    dealt = with_rewards(episodes, rule, shuffle=torch.Generator().manual_seed(0))
    earned = [dict(s.reward_parts)["outcome"] for e in dealt for s in e.samples[:2]]
    assert sorted(earned) == [n / 8 for n in range(8) for _ in range(2)] != earned
