"""What imitation sees of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from deskhand_trainer.batches import Batch, needs_first_scores, prepare
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.filters import in_policy_loss
from deskhand_trainer.imitation import to_learn
from deskhand_trainer.replay import Successes, replayed
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode

REJECTION = PpoConfig(algorithm="rejection")


def played(an_episode: Episode, name: str, outcome: float, *, success: bool) -> Episode:
    """Of two turns, the last of which is paid."""
    (turn,) = an_episode.samples
    turns = [replace(turn, trajectory_id=name, turn_index=n, reply_ids=(2, 3)) for n in range(2)]
    return replace(
        an_episode, trajectory_id=name, samples=tuple(turns), outcome=outcome, success=success, task_id="t"
    )


def learned(episodes: Sequence[Episode]) -> dict[str, list[tuple[float, ...]]]:
    """By episode, the advantages of its turns."""
    batch = prepare(episodes, TabularActorCritic(states=3, tokens=4), REJECTION)
    found: dict[str, list[tuple[float, ...]]] = {}
    for sample in to_learn(REJECTION, episodes, batch):
        found.setdefault(sample.trajectory_id, []).append(sample.advantage)
    return found


def test_rejection_keeps_every_turn_of_a_success_by_what_it_earned(an_episode: Episode) -> None:
    """A third of a reward that counts as success is one, though another episode earned all of it."""
    episodes = [
        played(an_episode, "all", 1.0, success=True),
        played(an_episode, "third", 1 / 3, success=True),
        played(an_episode, "little", 0.2, success=False),
        played(an_episode, "none", 0.0, success=False),
    ]
    assert learned(episodes) == {"all": [(1.0, 1.0)] * 2, "third": [pytest.approx((1 / 3, 1 / 3))] * 2}


def test_of_several_attempts_the_one_that_succeeded_is_learned(an_episode: Episode) -> None:
    won = played(an_episode, "won", 1.0, success=True)
    again = tuple(replace(s, turn_index=n, attempt=n) for n, s in enumerate(won.samples))
    (turn,) = to_learn(
        REJECTION,
        [retried := replace(won, samples=again)],
        prepare([retried], TabularActorCritic(states=3, tokens=4), REJECTION),
    )
    assert (turn.turn_index, turn.attempt, turn.advantage) == (1, 1, (1.0, 1.0))


def test_without_a_success_nothing_is_learned(an_episode: Episode) -> None:
    assert learned([played(an_episode, "near", 0.9, success=False)]) == {}


def test_no_failure_is_learned_where_another_task_pays_by_degrees(an_episode: Episode) -> None:
    """A third is a success of one task; of the other three quarters are none."""
    third, bought = (
        played(an_episode, "third", 1 / 3, success=True),
        played(an_episode, "bought", 1.0, success=True),
    )
    near, dear = (
        replace(played(an_episode, "near", 0.75, success=False), task_id="u"),
        replace(bought, task_id="u"),
    )
    assert learned([third, near]).keys() == {"third"}
    assert learned([third, near, dear]).keys() == {"third", "bought"}


def test_what_is_paid_decides_where_rewards_were_dealt_out_anew(an_episode: Episode) -> None:
    """The control with shuffled rewards must not learn from the true ones."""
    won, lost = played(an_episode, "won", 1.0, success=True), played(an_episode, "lost", 0.0, success=False)
    swapped = [
        replace(e, samples=tuple(replace(s, reward_parts=(("outcome", paid),)) for s in e.samples))
        for e, paid in ((won, 0.0), (lost, 1.0))
    ]
    assert in_policy_loss(swapped, REJECTION) == [False, True]


def test_a_replayed_success_is_learned_by_what_it_earned_in_each_slot(an_episode: Episode) -> None:
    old = replace(played(an_episode, "old", 1.0, success=True), group_id="before")
    failed = [
        replace(played(an_episode, f"{group}{n}", 0.0, success=False), group_id=group)
        for group in "gh"
        for n in range(2)
    ]
    mixed, _ = replayed(failed, Successes(size=8).stored([old]), newest=8)
    assert learned(mixed) == {"old": [(1.0, 1.0)] * 4}
    now = replace(played(an_episode, "now", 1.0, success=True), group_id="i")
    assert learned([*mixed, now]) == {"old": [(1.0, 1.0)] * 4, "now": [(1.0, 1.0)] * 2}


def test_what_a_success_shares_with_a_failure_is_learned(an_episode: Episode) -> None:
    """Its first turn is that of the trunk, which is not learned from; what two successes share is learned
    once."""
    trunk = played(an_episode, "trunk", 0.0, success=False)
    won = replace(played(an_episode, "won", 1.0, success=True), branch_of="trunk", shared_turns=1)
    too = replace(won, trajectory_id="too", samples=played(an_episode, "too", 1.0, success=True).samples)
    assert learned([trunk, won]) == {"won": [(1.0, 1.0)] * 2}
    assert learned([trunk, won, too]) == {"won": [(1.0, 1.0)] * 2, "too": [(1.0, 1.0)]}


def test_what_is_cloned_is_asked_of_no_critic() -> None:
    """Its values would be computed for every turn, and thrown away."""
    assert [PpoConfig(algorithm=name).by_critic for name in ("ppo", "reinforce", "rejection", "cloning")] == [
        True,
        True,
        False,
        False,
    ]
    assert not needs_first_scores(REJECTION) and needs_first_scores(PpoConfig())


def test_ppo_sees_all_as_it_is(an_episode: Episode) -> None:
    batch = Batch(samples=an_episode.samples, explained_variance=0.0, reward_parts=())
    assert to_learn(PpoConfig(), [an_episode], batch) is batch.samples
