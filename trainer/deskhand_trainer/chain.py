"""A chain of states with known values: the world the learner's machinery is checked on.

From state s, STEP goes to s + 1 (or, with chance `slip`, falls off for nothing) and STAY only costs a
turn. Arriving at the end pays 1. With no limit near, V(s) = (1 − slip)^(length − s) for any policy that
steps now and then.
"""

from __future__ import annotations

import torch

from deskhand_agent.types import StopReason
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode, TrainingSample

STAY, STEP = 0, 1


def chain_episode(
    model: TabularActorCritic,
    *,
    length: int,
    name: str,
    generator: torch.Generator,
    limit: int = 100,
    slip: float = 0.0,
) -> Episode:
    """One walk with the model's policy; truncated after `limit` turns."""
    state, fell, samples = 0, False, list[TrainingSample]()
    while state < length and not fell and len(samples) < limit:
        sample = _draw(model, state, name, len(samples), generator)
        samples.append(sample)
        if sample.reply_ids == (STEP,):
            fell = bool(torch.rand(1, generator=generator).item() < slip)
            state += not fell
    arrived = state == length
    cut = not arrived and not fell
    after = TrainingSample(
        trajectory_id=name, turn_index=len(samples), prompt_ids=(state,), reply_ids=(), images=(),
        behaviour_logprobs=(), reward=0.0,
    )  # fmt: skip
    return Episode(
        trajectory_id=name,
        task_id="chain",
        seed=0,
        samples=tuple(samples),
        outcome=float(arrived),
        success=arrived,
        stop_reason=StopReason.TURN_LIMIT if cut else StopReason.TERMINATED,
        after=after if cut else None,
    )


def chain_episodes(
    model: TabularActorCritic, count: int, *, length: int, seed: int, limit: int = 100, slip: float = 0.0
) -> list[Episode]:
    """Many walks, the same for the same seed and policy."""
    generator = torch.Generator().manual_seed(seed)
    return [
        chain_episode(model, length=length, name=f"{seed}-{i}", generator=generator, limit=limit, slip=slip)
        for i in range(count)
    ]


def _draw(
    model: TabularActorCritic, state: int, name: str, turn: int, generator: torch.Generator
) -> TrainingSample:
    logprobs = torch.log_softmax(model.logits[state, 0].detach(), -1)
    token = int(torch.multinomial(logprobs.exp(), 1, generator=generator).item())
    return TrainingSample(
        trajectory_id=name,
        turn_index=turn,
        prompt_ids=(state,),
        reply_ids=(token,),
        images=(),
        behaviour_logprobs=(float(logprobs[token]),),
        reward=0.0,
    )
