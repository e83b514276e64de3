"""How often an update runs the vision tower, as the learner counts it itself."""

from __future__ import annotations

import random
from typing import Any

import torch

from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_agent.shipped import DESKHAND_TINY, shipped_model
from deskhand_trainer.bench.decoding import drawn_page
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.learner import Learner
from deskhand_trainer.results import Figure
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

EPISODES, TURNS, SCREENSHOTS = 8, 4, 2
REPLY = "click(point='<point>4 8</point>')"


def encoder_calls(command: str) -> list[Figure]:
    """Of one update at the learner's own settings, the vision tower trained and not.

    Raises:
        AgentError: the model cannot be loaded.
    """
    torch.set_num_threads(1)
    bundle = load_bundle(shipped_model())
    samples = _windows(bundle)
    shown = sum(len(sample.images) for sample in samples)
    config = PpoConfig(threads=1)
    calls = {
        freeze: Learner(VlmActorCritic(bundle, freeze=freeze), config)
        .update(samples, lr=1e-6)
        .image_encoder_calls
        for freeze in ("nothing", "vision")
    }
    told: dict[str, Any] = {
        "unit": "pictures",
        "command": command,
        "config": {
            "model": DESKHAND_TINY, "episodes": EPISODES, "turns_each": TURNS, "screenshots": SCREENSHOTS,
            "epochs": config.epochs, "minibatch": config.minibatch, "microbatch": config.microbatch,
        },
        "seeds": 0,
    }  # fmt: skip
    behind = (
        f"one update of {len(samples)} turns in micro-batches of {config.microbatch}, {config.epochs} "
        f"epochs: prompts show {shown} pictures an epoch, {EPISODES * TURNS} of them distinct"
    )
    return [
        Figure(
            name="image_encoder_calls_per_update", value=calls["nothing"],
            note=f"that the vision tower was run on, the tower trained: {behind}", **told,
        ),
        Figure(
            name="image_encoder_calls_frozen", value=calls["vision"], goal=f"<= {EPISODES * TURNS}",
            note=f"the same with the tower left as it is: {behind}", **told,
        ),
    ]  # fmt: skip


def _windows(bundle: ModelBundle) -> list[TrainingSample]:
    """Turns that are shown their episode's latest screenshots."""
    draws = random.Random(0)
    reply = tokenise_reply(bundle, REPLY)
    made: list[TrainingSample] = []
    for episode in range(EPISODES):
        pages = [drawn_page(draws) for _ in range(TURNS)]
        for turn in range(TURNS):
            shown = pages[max(0, turn + 1 - SCREENSHOTS) : turn + 1]
            segments = (Text(text="Click it"), *(ImageSegment(image=page) for page in shown))
            prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=segments)])
            made.append(
                TrainingSample(
                    trajectory_id=str(episode), turn_index=turn, prompt_ids=prompt.ids, reply_ids=reply,
                    images=prompt.images, behaviour_logprobs=(-1.0,) * len(reply), reward=0.0,
                    advantage=(draws.gauss(0, 1),) * len(reply), old_values=(0.0,) * len(reply),
                    returns=(1.0,) * len(reply),
                )
            )  # fmt: skip
    return made
