"""Turns that branches share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_agent.types import StopReason
from deskhand_trainer.batches import prepare
from deskhand_trainer.branches import repeated_turns, shared_advantages
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.learner import Learner
from deskhand_trainer.run_kinds.ppo import _need_snapshots  # pyright: ignore[reportPrivateUsage]
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode, TrainingSample

CONFIG = PpoConfig(
    advantage="grpo", normalisation="none", ratio="token", aggregation="token", group_size=4, epochs=1,
    episodes_per_iteration=4, minibatch=64,
)  # fmt: skip


def turns(name: str, *replies: int) -> tuple[TrainingSample, ...]:
    return tuple(
        TrainingSample(
            trajectory_id=name, turn_index=turn, prompt_ids=(turn,), reply_ids=(reply,), images=(),
            behaviour_logprobs=(-0.6931472,), reward=0.0,
        )
        for turn, reply in enumerate(replies)
    )  # fmt: skip


def tree(an_episode: Episode) -> list[Episode]:
    """A trunk of three turns that fails, a branch after its first that succeeds, one after its second that
    fails, and an episode apart that succeeds."""
    trunk = replace(an_episode, trajectory_id="a", samples=turns("a", 0, 0, 0), group_id="g")
    good = replace(trunk, trajectory_id="b", samples=turns("b", 0, 1, 1), outcome=1.0, success=True,
                   branch_of="a", shared_turns=1)  # fmt: skip
    bad = replace(trunk, trajectory_id="c", samples=turns("c", 0, 0, 1), branch_of="a", shared_turns=2)
    apart = replace(good, trajectory_id="d", samples=turns("d", 1), branch_of=None, shared_turns=0)
    return [trunk, good, bad, apart]


def test_by_hand(an_episode: Episode) -> None:
    episodes = tree(an_episode)
    everyone = [True] * 4
    again = [*[False] * 3, True, *[False] * 2, *[True] * 2, *[False] * 2]
    assert repeated_turns(episodes, everyone).tolist() == again
    assert repeated_turns([episodes[1], episodes[0]], [True] * 2).tolist() == [True, *[False] * 5]
    own = torch.tensor([-1.0] * 3 + [5.0] * 3 + [-3.0] * 3 + [2.0]).unsqueeze(-1)
    got = shared_advantages(own, episodes, everyone).squeeze(-1).tolist()
    assert got[:3] == pytest.approx([(-1 + 5 - 3) / 3, (-1 - 3) / 2, -1.0])
    assert got[4:6] + got[8:] == [5.0, 5.0, -3.0, 2.0]
    left_out = shared_advantages(own, episodes, [True, False, True, True]).squeeze(-1).tolist()
    assert left_out[:3] == pytest.approx([-2.0, -2.0, -1.0])


def test_without_branches_nothing_changes(an_episode: Episode) -> None:
    own = torch.randn(3, 2)
    episodes = [replace(an_episode, trajectory_id=name) for name in "abc"]
    assert torch.equal(shared_advantages(own, episodes, [True] * 3), own)
    assert not repeated_turns(episodes, [True] * 3).any()


def test_what_branches_share_is_learned_once_though_the_episode_they_left_is_not(an_episode: Episode) -> None:
    """Outcomes 1 0 1 of two branches and the episode apart: what a leave-one-out mean says of the branches,
    once for the turn they share, and once for that which the second alone has of the episode that is gone."""
    trunk, good, bad, apart = tree(an_episode)
    model = TabularActorCritic(states=3, tokens=2)
    over = replace(trunk, stop_reason=StopReason.TURN_LIMIT)
    config = replace(CONFIG, advantage="rloo", skip_overlong=True)
    for episodes in ([over, good, bad, apart], [good, bad, apart]):
        batch = prepare(episodes, model, config)
        learned = {(s.trajectory_id, s.turn_index): s.advantage[0] for s in batch.samples if s.in_policy_loss}
        assert learned == pytest.approx(
            {("b", 0): -0.25, ("b", 1): 0.5, ("b", 2): 0.5, ("c", 1): -1.0, ("c", 2): -1.0, ("d", 0): 0.5}
        )
        valued = [(s.trajectory_id, s.turn_index) for s in batch.samples if s.in_value_loss]
        assert sorted(valued) == sorted([*learned, *([("a", 2)] if over in episodes else [])])
    # where none of those who share it counts, the critic still learns it once
    assert repeated_turns([trunk, good], [False, False]).tolist() == [False, False, False, True, False, False]


async def test_computers_that_cannot_go_back_are_named_before_anything_runs(spot: Any) -> None:
    with pytest.raises(RunRefused, match=r"'branches': a fake sandbox has no snapshot .* leave it at 0"):
        await _need_snapshots(spot, {"fake"}, owner="t")


def test_the_shared_turns_pull_once_with_what_all_of_them_came_to(an_episode: Episode) -> None:
    """Outcomes 0 1 0 1: advantages −1 1 −1 1. The first turn is in the trunk and both branches, −1/3 of a
    mean, the second in the trunk and one that failed alike."""
    model = TabularActorCritic(states=3, tokens=2)
    batch = prepare(tree(an_episode), model, CONFIG)
    learned = [(s.trajectory_id, s.turn_index, s.advantage[0]) for s in batch.samples if s.in_policy_loss]
    assert [each[:2] for each in learned] == [
        ("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 2), ("d", 0),
    ]  # fmt: skip
    assert [each[2] for each in learned] == pytest.approx([-1 / 3, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    assert [s.in_value_loss for s in batch.samples] == [s.in_policy_loss for s in batch.samples]
    learner = Learner(model, replace(CONFIG, max_grad_norm=0.0))
    learner.update(batch.samples, lr=0.0)
    # −A∇logπ, a mean over seven tokens: state 0 drew 0 with −1/3 and 1 with 1
    gradient = model.logits.grad
    assert gradient is not None
    want = -(-1 / 3 * torch.tensor([0.5, -0.5]) + 1.0 * torch.tensor([-0.5, 0.5])) / 7
    torch.testing.assert_close(gradient[0, 0], want)
