from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from deskhand_agent.models import fast, scoring
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import Batch, collate
from deskhand_agent.models.prompting import tokenise_prompt, tokenise_reply
from deskhand_agent.models.scoring import reply_logits, score_turns
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


@dataclass(frozen=True)
class Turn:
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    images: tuple[Image, ...]


def turn(bundle: ModelBundle, image: Image, text: str, reply: str) -> Turn:
    message = PromptMessage(role="user", segments=(Text(text=text), ImageSegment(image=image)))
    prompt = tokenise_prompt(bundle, [message])
    return Turn(prompt.ids, tokenise_reply(bundle, reply), prompt.images)


@pytest.fixture
def turns(bundle: ModelBundle, picture: Picture) -> list[Turn]:
    return [
        turn(bundle, picture(1), "Click", "click(point='<point>4 8</point>')"),
        turn(bundle, picture(2), "Find the longer one", "type(content='some text')"),
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_together_equals_alone(bundle: ModelBundle, turns: list[Turn], packed: bool) -> None:
    together = score_turns(bundle, turns, with_entropy=True, packed=packed)
    for row, one in enumerate(turns):
        alone = score_turns(bundle, [one], with_entropy=True)
        count = len(one.reply_ids)
        assert together.mask[row].sum() == count
        torch.testing.assert_close(together.logprobs[row, :count], alone.logprobs[0], rtol=1e-5, atol=1e-5)
        assert (together.logprobs[row, count:] == 0).all()
        assert together.entropy is not None
        assert alone.entropy is not None
        torch.testing.assert_close(together.entropy[row, :count], alone.entropy[0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(together.prompt_hidden[row], alone.prompt_hidden[0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(
            together.token_hidden[row, 0], together.prompt_hidden[row], rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("fast_path", [True, False])
def test_a_prompt_that_turns_have_in_common_is_computed_once_and_the_gradient_is_the_same(
    bundle: ModelBundle, picture: Picture, monkeypatch: pytest.MonkeyPatch, fast_path: bool
) -> None:
    monkeypatch.setattr(fast, "supports", lambda model: fast_path)
    one, other = picture(1), picture(2)
    turns = [turn(bundle, one, "Click", reply) for reply in ("abc", "", "d", "efg")]
    turns[2:2] = [turn(bundle, other, "Click", "click(1)"), turn(bundle, one, "Press", "wait()")]
    computed: list[int] = []

    def counted(bundle: Any, sequences: Any, **how: Any) -> Batch:
        computed.append(sum(len(sequence.ids) for sequence in sequences))
        return collate(bundle, sequences, **how)

    monkeypatch.setattr(scoring, "collate", counted)
    bundle.model.requires_grad_(True)
    weights = torch.randn(len(turns), 40, generator=torch.Generator().manual_seed(0))
    found: list[Any] = []
    for packed in (True, False):
        bundle.model.zero_grad()
        scores = score_turns(bundle, turns, packed=packed)
        (scores.logprobs * weights[:, : scores.logprobs.shape[1]]).sum().backward()
        grads = [p.grad.clone() for p in bundle.model.parameters() if p.grad is not None]
        found.append((scores.logprobs, scores.token_hidden, grads))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5)
    assert computed[0] == computed[1] - 3 * len(turns[0].prompt_ids)


def test_replies_longer_than_their_prompt_are_not_put_behind_one(
    bundle: ModelBundle, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention grows with the square of what stands in one sequence."""
    long = turn(bundle, picture(1), "Click", "x" * len(turn(bundle, picture(1), "Click", "").prompt_ids))
    lengths: list[int] = []

    def counted(bundle: Any, sequences: Any, **how: Any) -> Batch:
        lengths.extend(len(sequence.ids) for sequence in sequences)
        return collate(bundle, sequences, **how)

    monkeypatch.setattr(scoring, "collate", counted)
    score_turns(bundle, [long] * 3)
    assert lengths == [len(long.prompt_ids) + len(long.reply_ids) - 1] * 3


def test_nan_at_padding_leaves_gradients_alone(bundle: ModelBundle, turns: list[Turn]) -> None:
    """The advantage of a padded slot may be NaN; masked by `where`, nothing of it reaches the weights."""
    bundle.model.requires_grad_(True)
    scores = score_turns(bundle, turns)
    advantage = torch.ones_like(scores.logprobs).masked_fill(~scores.mask, float("nan"))
    torch.where(scores.mask, scores.logprobs * advantage, torch.zeros(())).sum().backward()
    grads = [p.grad for p in bundle.model.parameters() if p.grad is not None]
    assert grads
    assert all(torch.isfinite(grad).all() for grad in grads)


def test_suppressed_tokens_weigh_nothing(bundle: ModelBundle) -> None:
    hidden = torch.randn(3, bundle.text_width)
    for temperature in (0.0, 0.5, 1.0, 2.0):
        chances = reply_logits(bundle, hidden, temperature).softmax(-1)
        assert (chances[:, bundle.suppressed_ids] == 0).all()
        assert chances[:, bundle.end_id].min() > 0
        assert torch.isfinite(chances.log_softmax(-1)).all()


def test_temperature_divides_the_logits(bundle: ModelBundle, turns: list[Turn]) -> None:
    warm = score_turns(bundle, turns, temperature=2.0)
    logits = reply_logits(bundle, warm.token_hidden[0, 0], 1.0)
    kept = torch.ones_like(logits, dtype=torch.bool).index_fill(0, bundle.suppressed_ids, False)
    expected = (logits[kept] / 2).log_softmax(-1)
    place = int(kept[: turns[0].reply_ids[0]].sum())
    torch.testing.assert_close(warm.logprobs[0, 0], expected[place], rtol=1e-5, atol=1e-5)


def test_an_empty_reply_is_refused(bundle: ModelBundle, turns: list[Turn]) -> None:
    with pytest.raises(ValueError, match="reply"):
        score_turns(bundle, [Turn(turns[0].prompt_ids, (), turns[0].images)])
