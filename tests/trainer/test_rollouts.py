from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_sandbox.types import Outcome
from deskhand_trainer.batches import prepare
from deskhand_trainer.config import PpoConfig
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
