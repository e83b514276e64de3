from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.learner import Learner
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

CONFIG = PpoConfig(
    minibatch=100, microbatch=100, epochs=1, threads=1, max_grad_norm=0, critic_max_grad_norm=0
)
VARIANTS = {
    "turn": CONFIG,
    "token": replace(CONFIG, ratio="token", advantage="token", aggregation="token", entropy_coef=0.01),
    "clipping bias": replace(CONFIG, scale_by_clipping_bias=True, clip_low=0.001, clip_high=0.001),
}


def windows(bundle: ModelBundle, pages: Sequence[SeenPage]) -> list[TrainingSample]:
    """Turns of four episodes, each shown its last three screens: other lengths, and pictures shown again."""
    samples: list[TrainingSample] = []
    replies = ("click(point='<point>4 8</point>')", "type(content='some text')", "wait()")
    for episode in range(4):
        screens = [pages[(3 * episode + turn) % len(pages)].image for turn in range(4)]
        for turn in range(4):
            shown = screens[max(0, turn - 2) : turn + 1]
            samples.append(_sample(bundle, shown, replies[(episode + turn) % 3], episode, turn))
    return samples


def _sample(
    bundle: ModelBundle, shown: Sequence[Image], reply: str, episode: int, turn: int
) -> TrainingSample:
    words = Text(text="Click it" + " again" * turn)
    prompt = tokenise_prompt(
        bundle,
        [PromptMessage(role="user", segments=(words, *(ImageSegment(image=image) for image in shown)))],
    )
    ids = tokenise_reply(bundle, reply)
    draw = torch.Generator().manual_seed(10 * episode + turn)

    def numbers(scale: float) -> tuple[float, ...]:
        return tuple((scale * torch.randn(len(ids), generator=draw)).tolist())

    logprobs = tuple(-6.0 + x for x in numbers(0.1))
    value, target = float(torch.randn((), generator=draw)), float(torch.randn((), generator=draw))
    return TrainingSample(
        trajectory_id=f"t{episode}", turn_index=turn, prompt_ids=prompt.ids, reply_ids=ids,
        images=prompt.images, behaviour_logprobs=logprobs, old_logprobs=logprobs, reward=0.0,
        advantage=(float(torch.randn((), generator=draw)),) * len(ids),
        old_values=(value,) * len(ids), returns=(target,) * len(ids),
    )  # fmt: skip


Build = Callable[[ModelBundle], VlmActorCritic]


def gradients(
    model: VlmActorCritic, config: PpoConfig, samples: Sequence[TrainingSample]
) -> tuple[dict[str, Tensor], UpdateReport]:
    """Of an update that moves nothing."""
    with torch.no_grad():
        last = model.value_head.layers[-1].weight
        last.copy_(0.1 * torch.randn(last.shape, generator=torch.Generator().manual_seed(1)))
    report = Learner(model, replace(config, critic_lr=0.0)).update(samples, lr=0.0)
    named = [*model.actor_parameters(), *model.critic_parameters()]
    return {name: p.grad for name, p in named if p.grad is not None}, report


def assert_same(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert mine.keys() == theirs.keys()
    for name, gradient in theirs.items():
        limit = 1e-5 * float(gradient.abs().max()) + 1e-8
        torch.testing.assert_close(
            mine[name], gradient, rtol=1e-5, atol=limit, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("name", VARIANTS)
def test_packed_padded_and_any_split_give_the_same_gradients(
    bundle: ModelBundle, pages: list[SeenPage], name: str
) -> None:
    config, samples = VARIANTS[name], windows(bundle, pages)
    expected, report = gradients(VlmActorCritic(bundle, packing=False), config, samples)
    assert any(g.abs().max() > 1e-4 for n, g in expected.items() if n.startswith("model.visual"))
    assert any(n.startswith("layers") and g.abs().max() > 1e-4 for n, g in expected.items())
    for packing in (True, False):
        for size in (1, 5, 100):
            found, other = gradients(
                VlmActorCritic(bundle, packing=packing), replace(config, microbatch=size), samples
            )
            assert_same(found, expected)
            assert other.actor_grad_norm == pytest.approx(report.actor_grad_norm, rel=1e-5)
            assert other.critic_grad_norm == pytest.approx(report.critic_grad_norm, rel=1e-5)
