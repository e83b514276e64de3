"""Rewards for what a turn brought to light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_sandbox.types import Answer
from deskhand_trainer.information import gains, informed
from deskhand_trainer.rewards import RewardRule, turn_rewards
from deskhand_trainer.types import Episode, TrainingSample


def test_golden() -> None:
    """METHODS: p = .2 .44814 .849018 -> .24814 .400878; the last turn's reward is the outcome."""
    assert gains([0.2, 0.44814, 0.849018]) == pytest.approx([0.24814, 0.400878, 0.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_gains_telescope(probabilities: list[float]) -> None:
    assert list(accumulate(gains(probabilities)))[-1] == pytest.approx(probabilities[-1] - probabilities[0])
    assert len(gains(probabilities)) == len(probabilities)


def test_episodes_are_asked_for_their_answer_before_every_turn(
    bundle: ModelBundle, an_episode: Episode
) -> None:
    turns = 3  # of one turn nothing is gained
    samples = tuple(replace(an_episode.samples[0], turn_index=h, prompt_ids=(1, h)) for h in range(turns))
    asked: list[TrainingSample] = []

    def score(samples: Sequence[TrainingSample]) -> Tensor:
        asked.extend(samples)
        rows = [torch.full((len(s.reply_ids),), -1.0 / (1 + i)) for i, s in enumerate(samples)]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=float("nan"))

    known = replace(an_episode, answer="blue", samples=samples)
    first, second = informed([an_episode, known], bundle, score)
    assert first is an_episode
    reply = tokenise_reply(bundle, format_reply(None, (Answer(text="blue"),)))
    assert [s.reply_ids for s in asked] == [reply] * turns
    assert [s.prompt_ids for s in asked] == [s.prompt_ids for s in samples]
    chances = torch.tensor([-1.0 / (1 + i) for i in range(turns)]).exp().tolist()
    assert second.information_gains == pytest.approx(gains(chances), rel=1e-5)


def test_nobody_is_asked_where_no_answer_is_known(bundle: ModelBundle, an_episode: Episode) -> None:
    def score(samples: Sequence[TrainingSample]) -> Tensor:
        raise AssertionError("nothing to score")

    assert informed([an_episode], bundle, score) == [an_episode]


def test_the_gain_is_a_part_of_the_reward_behind_the_gate() -> None:
    rule = RewardRule(information_weight=2.0, gate=0.5)
    won = turn_rewards(rule, turns=2, outcome=1.0, information=[0.25, 0.0])
    assert [r.total for r in won] == [0.5, 1.0]
    assert won[0].parts == (("outcome", 0.0), ("information", 0.5))
    lost = turn_rewards(rule, turns=2, outcome=0.0, information=[0.25, 0.0])
    assert [r.total for r in lost] == [0.0, 0.0]
    with pytest.raises(ValueError, match="1 information rewards for 2 turns"):
        turn_rewards(rule, turns=2, outcome=0.0, information=[0.25])
