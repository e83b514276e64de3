"""The learner of this package in a process of its own, updating when told to.

python -m deskhand_trainer.bench.our_arm TURNS packed|apart|padded|compiled MICROBATCH
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from deskhand_agent.models import scoring, trees
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.shipped import shipped_model
from deskhand_trainer.bench.turns import Stopwatch, Turn, read_turns
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.learner import Learner
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

LEARNING_RATE = 1e-6


def samples(turns: Sequence[Turn], logprobs: Sequence[Sequence[float]]) -> list[TrainingSample]:
    """As the batches of an iteration are, with the log-probabilities they were drawn with."""
    draw = torch.Generator().manual_seed(0)
    made: list[TrainingSample] = []
    for turn, own in zip(turns, logprobs, strict=True):
        advantage, value, target = torch.randn(3, generator=draw).tolist()
        count = len(turn.reply)
        made.append(
            TrainingSample(
                trajectory_id=str(turn.episode),
                turn_index=0,
                prompt_ids=turn.prompt,
                reply_ids=turn.reply,
                images=(),
                behaviour_logprobs=tuple(own),
                reward=0.0,
                advantage=(advantage,) * count,
                old_values=(value,) * count,
                returns=(target,) * count,
            )
        )
    return made


def main(turns_file: str, way: str, microbatch: str) -> None:
    """Update until nobody asks any more."""
    torch.set_num_threads(1)
    if way == "apart":
        scoring.grown = _apart
    turns = read_turns(Path(turns_file))
    config = PpoConfig(
        minibatch=len(turns), microbatch=int(microbatch), epochs=1, threads=1, ratio="token",
        aggregation="token", advantage="token", critic_lr=LEARNING_RATE, packing=way != "padded",
        compile=way == "compiled",
    )  # fmt: skip
    model = VlmActorCritic(load_bundle(shipped_model()), packing=config.packing, compile=config.compile)
    with torch.no_grad():
        unscored = samples(turns, [(0.0,) * len(turn.reply) for turn in turns])
        scored = [model.score([each], temperature=1.0).logprobs[0].tolist() for each in unscored]
    batch = samples(turns, scored)
    learner = Learner(model, config)
    watch = Stopwatch([each for row in scored for each in row])
    while watch.wait():
        watch.begin()
        learner.update(batch, lr=LEARNING_RATE)
        watch.end()


def _apart(_: ModelBundle, turns: Sequence[trees.Turn]) -> list[trees.Tree]:
    return trees.apart(turns)


if __name__ == "__main__":
    main(*sys.argv[1:])
