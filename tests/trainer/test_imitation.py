"""What imitation sees of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from deskhand_trainer.batches import Batch, needs_first_scores
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.imitation import to_learn
from deskhand_trainer.types import Episode

REJECTION = PpoConfig(algorithm="rejection")


def played(an_episode: Episode, name: str, outcome: float, *, success: bool) -> Episode:
    """Of two turns, the last of which is paid."""
    (turn,) = an_episode.samples
    turns = [
        replace(turn, trajectory_id=name, turn_index=n, reply_ids=(2, 3), reward_parts=(("outcome", paid),))
        for n, paid in enumerate((0.0, outcome))
    ]
    return replace(
        an_episode, trajectory_id=name, samples=tuple(turns), outcome=outcome, success=success, task_id="t"
    )


def learned(episodes: Sequence[Episode], config: PpoConfig = REJECTION) -> dict[str, list[tuple[float, ...]]]:
    samples = tuple(s for e in episodes for s in e.samples)
    batch = Batch(samples=samples, explained_variance=0.0, reward_parts=())
    found: dict[str, list[tuple[float, ...]]] = {}
    for sample in to_learn(config, episodes, batch):
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


def test_without_a_success_nothing_is_learned(an_episode: Episode) -> None:
    assert learned([played(an_episode, "near", 0.9, success=False)]) == {}
    assert learned([]) == {}


def test_what_is_paid_decides_where_rewards_were_dealt_out_anew(an_episode: Episode) -> None:
    """The control with shuffled rewards must not learn from the true ones."""
    won, lost = played(an_episode, "won", 1.0, success=True), played(an_episode, "lost", 0.0, success=False)
    nothing, everything = (("outcome", 0.0),), (("outcome", 1.0),)
    swapped = [
        replace(won, samples=tuple(replace(s, reward_parts=nothing) for s in won.samples)),
        replace(lost, samples=(lost.samples[0], replace(lost.samples[1], reward_parts=everything))),
    ]
    assert learned(swapped) == {"lost": [(1.0, 1.0)] * 2}


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
    episodes = [played(an_episode, "none", 0.0, success=False)]
    assert learned(episodes, PpoConfig()) == {"none": [s.advantage for s in episodes[0].samples]}
