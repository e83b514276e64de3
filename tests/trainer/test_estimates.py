"""What an estimator is told of episodes: how fast rewards fade back, who is compared, where rewards lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_trainer.config import PpoConfig
from deskhand_trainer.estimates import estimated, groups_of, token_returns
from deskhand_trainer.types import Episode


def played(an_episode: Episode, replies: Sequence[int], rewards: Sequence[float]) -> Episode:
    """Turns with replies of so many tokens."""
    (turn,) = an_episode.samples
    samples = tuple(
        replace(turn, turn_index=h, reply_ids=(2,) * tokens, reward=reward)
        for h, (tokens, reward) in enumerate(zip(replies, rewards, strict=True))
    )
    return replace(an_episode, samples=samples)


def advantages(episodes: Sequence[Episode], **config: Any) -> list[list[float]]:
    """Of every turn's tokens, where the critic expects nothing and γ = 1."""
    lengths = [len(s.reply_ids) for e in episodes for s in e.samples]
    values = torch.zeros(len(lengths), max(lengths))
    got = estimated(
        episodes, values, torch.zeros(len(episodes)), (True,) * len(episodes), PpoConfig(gamma=1.0, **config)
    )
    return [row[:n].tolist() for row, n in zip(got.advantages, lengths, strict=True)]


def test_the_lambda_of_turns_is_that_of_its_own_episodes_turns(an_episode: Episode) -> None:
    """1 − 1/4 and 1 − 1/2, though every reply has three tokens."""
    four = played(an_episode, (3,) * 4, (0.0, 0.0, 0.0, 1.0))
    two = played(an_episode, (3,) * 2, (0.0, 1.0))
    got = advantages([four, two], lambda_policy="adaptive")
    want = (0.75**3, 0.75**2, 0.75, 1.0, 0.5, 1.0)
    assert got == [[pytest.approx(a)] * 3 for a in want]


@pytest.mark.parametrize(("advantage", "first_turn"), [("token", (0.125, 0.25)), ("bilevel", (0.25, 0.5))])
def test_the_lambda_of_tokens_is_that_of_all_it_wrote(
    an_episode: Episode, advantage: str, first_turn: tuple[float, float]
) -> None:
    """1 − 1/(.05·40) = ½: over tokens it fades by each of the last turn's two, over turns once; inside the
    first turn by each token again. The other episode wrote 80, and there it is ¾."""
    forty, eighty = (played(an_episode, (n, 2), (0.0, 1.0)) for n in (38, 78))
    got = advantages([forty, eighty], advantage=advantage, ratio="token", lambda_policy="adaptive")
    assert got[0][-2:] == pytest.approx(first_turn) and got[1] == pytest.approx([0.5, 1.0])
    assert got[2][-1] == pytest.approx(0.75**2 if advantage == "token" else 0.75)
    assert got[3] == pytest.approx([0.75, 1.0])


def test_a_lambda_that_is_given_is_that_of_all(an_episode: Episode) -> None:
    episode = played(an_episode, (1,) * 3, (0.0, 0.0, 1.0))
    assert advantages([episode], lambda_policy=0.5) == [[0.25], [0.5], [1.0]]


def test_a_group_is_who_began_alike_or_else_who_had_the_task(an_episode: Episode) -> None:
    made = [
        replace(an_episode, trajectory_id=str(n), task_id=task, group_id=group)
        for n, (task, group) in enumerate([("b", None), ("b", "a"), ("b", None), ("b", "c"), ("b", "a")])
    ]
    assert groups_of(made).tolist() == [1, 0, 1, 2, 0]


def test_golden_returns_of_tokens(an_episode: Episode) -> None:
    """γ = ½ by tokens; a turn's reward is earned by its last: 1, ½, then .2 + ¼, and half of that twice."""
    episode = played(an_episode, (3, 2), (0.2, 1.0))
    got = token_returns([episode, played(an_episode, (1,), (4.0,))], gamma=0.5)
    torch.testing.assert_close(got, torch.tensor([0.1125, 0.225, 0.45, 0.5, 1.0, 4.0]), rtol=1e-6, atol=0)
