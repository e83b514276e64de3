from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from deskhand_agent.models import fast, scoring
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import Batch, collate
from deskhand_agent.models.prompting import encode_text, tokenise_prompt, tokenise_reply
from deskhand_agent.models.scoring import reply_logits, score_turns
from deskhand_agent.models.trees import grown
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


def of_an_episode(bundle: ModelBundle, picture: Picture) -> list[Turn]:
    """Three turns, each prompt all that was said before and another picture; and one from another episode."""
    ids: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()
    found: list[Turn] = []
    for number, reply in ((1, "click(1)"), (2, "wait()"), (1, "")):
        asked = turn(bundle, picture(number), "Click", reply)
        ids, images = ids + asked.prompt_ids, images + asked.images
        found.append(Turn(ids, asked.reply_ids, images))
        ids += asked.reply_ids
    first, second, _ = found
    return [*found, Turn(second.prompt_ids, second.reply_ids, (first.images[0], picture(3)))]


def of_a_group(bundle: ModelBundle, picture: Picture) -> list[Turn]:
    """Replies to one prompt, one of them twice, and turns that see or are told something else."""
    found = [turn(bundle, picture(1), "Click", reply) for reply in ("abc", "", "d", "abc")]
    found[2:2] = [turn(bundle, picture(2), "Click", "click(1)"), turn(bundle, picture(1), "Press", "wait()")]
    return found


@pytest.mark.parametrize("fast_path", [True, False])
@pytest.mark.parametrize(("turns_of", "twice"), [(of_an_episode, 0), (of_a_group, 4)])
def test_what_turns_begin_with_is_computed_once_and_the_gradient_is_the_same(
    bundle: ModelBundle,
    picture: Picture,
    monkeypatch: pytest.MonkeyPatch,
    turns_of: Callable[[ModelBundle, Picture], list[Turn]],
    twice: int,
    fast_path: bool,
) -> None:
    """But for the few tokens that would not pay for a longer sequence."""
    monkeypatch.setattr(fast, "supports", lambda model: fast_path)
    turns = turns_of(bundle, picture)
    random.Random(0).shuffle(turns)
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
    image_id = int(bundle.model.config.image_token_id)
    begun: set[tuple[object, ...]] = set()
    for each in turns:
        shown = iter([i.digest for i in each.images for _ in range(_placeholders(bundle, i))])
        path = [next(shown) if token == image_id else token for token in each.prompt_ids]
        path += each.reply_ids[:-1]
        begun |= {tuple(path[: end + 1]) for end in range(len(path))}
    assert computed == [len(begun) + twice, sum(len(t.prompt_ids) + len(t.reply_ids) - 1 for t in turns)]


def _placeholders(bundle: ModelBundle, image: Image) -> int:
    rows, columns = bundle.cache.grid(image)
    return rows * columns // bundle.images.merge**2


def test_turns_stay_apart_where_attention_would_cost_more_than_is_saved(bundle: ModelBundle) -> None:
    """It grows with the square of what stands in one sequence."""

    def turns_of(*texts: str) -> list[Turn]:
        return [Turn(tuple(encode_text(bundle, text)), (bundle.end_id,), ()) for text in texts]

    assert [len(tree.places) for tree in grown(bundle, turns_of("a", "abc", "abd"))] == [3]
    assert [len(t.places) for t in grown(bundle, turns_of("a", "b" * 3000, "b" * 2000 + "c"))] == [1, 1, 1]


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
