"""A critic of whole turns, learned off-policy beside the policy: ArCHer (arXiv:2402.19446 §3).

V(s) and Q(s, a) read the policy's own states, before a reply and after it. Q learns from replayed turns of
older policies, its targets asking the V of now; V learns from what the policy of now replies. The policy's
gradient takes Q − V for the advantage of all tokens of a turn.

Left out: a second pair of which the smaller counts, and training the trunk of the model with the critic. The
paper draws replies afresh for replayed states when it fits V; here V is fitted on the iteration's own states
alone, for which the replies are there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from deskhand_trainer.actor_critic import ActorCritic, by_beginning
from deskhand_trainer.checkpoints import take_up_moments
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.estimates import by_attempt
from deskhand_trainer.replay import Restorer
from deskhand_trainer.side_by_side import one_thread
from deskhand_trainer.skipped_steps import SkippedSteps
from deskhand_trainer.types import Episode, TrainingSample

MINIBATCH = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Turns:
    """N turns as the critic reads them."""

    before: Tensor
    """[N, D] the state, before the reply."""
    after: Tensor
    """[N, E] the state and the reply."""
    rewards: Tensor
    """[N]"""
    following: Tensor
    """[N, D] the state after the turn; anything where nothing follows."""
    goes_on: Tensor
    """[N] bool: a turn follows, or would have if the episode had not been cut off."""

    def and_(self, other: Turns) -> Turns:
        """Both, one after the other."""
        return Turns(
            **{
                name: torch.cat([getattr(self, name), getattr(other, name)])
                for name in ("before", "after", "rewards", "following", "goes_on")
            }
        )


class TurnCritic:
    """Q and V with target networks; remembers the turns of iterations before."""

    def __init__(self, q: nn.Module, v: nn.Module, config: PpoConfig) -> None:
        """
        Args:
            q: [..., E] -> [...].
            v: [..., D] -> [...].
            config: γ, the critic's rate, and all that begins with `turn_critic`.
        """
        self.config = config
        self.nets = nn.ModuleDict({"q": q, "v": v})
        self.targets = copy.deepcopy(self.nets).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.nets.parameters(), lr=config.critic_lr, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.skipped = SkippedSteps(config.max_skipped_steps, lower="critic_lr")
        self.replay: tuple[Episode, ...] = ()
        """With their rewards, oldest first."""
        self._kept: list[tuple[str, list[float]]] = []

    def judged(self, episodes: Sequence[Episode], model: ActorCritic) -> tuple[Episode, ...]:
        """Learn from an iteration's episodes and those before, and say how good each of its turns was.

        Args:
            episodes: with their rewards.
            model: whose states are read.

        Returns:
            The episodes with `turn_advantages`.
        """
        fresh = turns_of(by_attempt(episodes, self.config), model, microbatch=self.config.microbatch)
        replayed = fresh
        if self.replay:
            older = by_attempt(self.replay, self.config)
            replayed = turns_of(older, model, microbatch=self.config.microbatch).and_(fresh)
        self.fit(replayed, fresh)
        self.replay = newest((*self.replay, *episodes), turns=self.config.turn_critic_replay)
        rows = iter(self.advantages(fresh).tolist())
        return tuple(replace(e, turn_advantages=tuple(next(rows) for _ in e.samples)) for e in episodes)

    def fit(self, replayed: Turns, fresh: Turns) -> None:
        """Steps on ½(Q(s, a) − r − γ V̄(s'))² over replayed turns and ½(V(s) − Q̄(s, a))² over fresh ones
        (eqs. 1 and 2), the target networks following (Polyak).

        Raises:
            TrainingDiverged: no gradient was finite in `max_skipped_steps` steps in a row.
        """
        parameters = [*self.nets.parameters()]
        with one_thread():
            for _ in range(self.config.turn_critic_steps):
                loss = self._q_loss(self._drawn(replayed)) + self._v_loss(self._drawn(fresh))
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                if self.skipped.left_out(get_total_norm([p.grad for p in parameters if p.grad is not None])):
                    continue
                self.optimizer.step()
                polyak(self.targets, self.nets, share=self.config.turn_critic_polyak)

    @torch.no_grad()
    def advantages(self, turns: Turns) -> Tensor:
        """[N] Q(s, a) − V(s) (eq. 3)."""
        return self.nets["q"](turns.after) - self.nets["v"](turns.before)

    def state(self) -> dict[str, Any]:
        """Everything that decides how it goes on."""
        return {
            "nets": dict(self.nets.state_dict()),
            "targets": dict(self.targets.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "skipped_in_row": self.skipped.in_row,
            "replay": [(e.trajectory_id, [s.reward for s in e.samples]) for e in self.replay],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up a state kept by `state`; its episodes come with `restore`."""
        self.nets.load_state_dict(state["nets"])
        self.targets.load_state_dict(state["targets"])
        take_up_moments(self.optimizer, state["optimizer"])
        self.generator.set_state(state["generator"])
        self.skipped.in_row = int(state.get("skipped_in_row", 0))
        self._kept = [(name, list(rewards)) for name, rewards in state["replay"]]

    async def restore(self, episodes_of: Restorer) -> None:
        """Fetch the episodes that a loaded state names, as far as they can be had."""
        if not self._kept:
            return
        found = {e.trajectory_id: e for e in await episodes_of([name for name, _ in self._kept])}
        self.replay = tuple(
            replace(
                found[name],
                samples=tuple(
                    replace(s, reward=r) for s, r in zip(found[name].samples, rewards, strict=True)
                ),
            )
            for name, rewards in self._kept
            if name in found
        )

    def _q_loss(self, turns: Turns) -> Tensor:
        with torch.no_grad():
            target = td_targets(
                turns.rewards, self.targets["v"](turns.following), turns.goes_on, gamma=self.config.gamma
            )
        return 0.5 * (self.nets["q"](turns.after) - target).square().mean()

    def _v_loss(self, turns: Turns) -> Tensor:
        with torch.no_grad():
            target = self.targets["q"](turns.after)
        return 0.5 * (self.nets["v"](turns.before) - target).square().mean()

    def _drawn(self, turns: Turns) -> Turns:
        rows = torch.randint(len(turns.rewards), (MINIBATCH,), generator=self.generator)
        return Turns(
            before=turns.before[rows],
            after=turns.after[rows],
            rewards=turns.rewards[rows],
            following=turns.following[rows],
            goes_on=turns.goes_on[rows],
        )


def td_targets(rewards: Tensor, following: Tensor, goes_on: Tensor, *, gamma: float) -> Tensor:
    """[N] r + γ V̄(s'), and r alone at an end (ArCHer eq. 1).

    Args:
        rewards: [N] of each turn.
        following: [N] V̄ of the state after it; not looked at where nothing follows.
        goes_on: [N] bool.
        gamma: discount per turn.
    """
    return rewards + gamma * torch.where(goes_on, following, 0.0)


@torch.no_grad()
def polyak(targets: nn.Module, nets: nn.Module, *, share: float) -> None:
    """Move every target parameter `share` of the way: θ̄ ← (1 − τ)·θ̄ + τ·θ."""
    for target, net in zip(targets.parameters(), nets.parameters(), strict=True):
        target.lerp_(net, share)


def newest(episodes: Sequence[Episode], *, turns: int) -> tuple[Episode, ...]:
    """The last episodes, whole, that have so many turns at most."""
    kept, room = list[Episode](), turns
    for episode in reversed(episodes):
        room -= len(episode.samples)
        if room < 0:
            break
        kept.append(episode)
    return tuple(reversed(kept))


def turns_of(episodes: Sequence[Episode], model: ActorCritic, *, microbatch: int) -> Turns:
    """Every turn of rewarded episodes, in order, as the model sees it now."""
    samples = [s for e in episodes for s in e.samples]
    cut = [e.after for e in episodes if e.after is not None]
    before, after = _read([*samples, *cut], model, microbatch=microbatch)
    rows, extra = 0, len(samples)
    place: list[int] = []
    goes_on: list[bool] = []
    for episode in episodes:
        turns = len(episode.samples)
        bootstraps = episode.after is not None
        place += [*range(rows + 1, rows + turns), extra if bootstraps else rows]
        goes_on += [True] * (turns - 1) + [bootstraps]
        rows, extra = rows + turns, extra + bootstraps
    return Turns(
        before=before[:rows],
        after=after[:rows],
        rewards=torch.tensor([s.reward for s in samples]),
        following=before[place],
        goes_on=torch.tensor(goes_on),
    )


def _read(samples: Sequence[TrainingSample], model: ActorCritic, *, microbatch: int) -> tuple[Tensor, Tensor]:
    """[N, D] and [N, E] what V and Q read, in order."""
    order = by_beginning(samples, range(len(samples)))
    parts = [
        model.turn_states([samples[i] for i in order[at : at + microbatch]])
        for at in range(0, len(order), microbatch)
    ]
    back = torch.tensor(order).argsort()
    before, after = (torch.cat(each).detach()[back] for each in zip(*parts, strict=True))
    return before, after
