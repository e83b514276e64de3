from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
import torch
from transformers import Qwen3VLForConditionalGeneration

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.forward import (
    Batch,
    TokenSequence,
    collate,
    encode_pictures,
    forward,
    last_states,
    rotary_positions,
)
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def sequence(bundle: ModelBundle, text: str, *images: Image) -> TokenSequence:
    segments = (Text(text=text), *(ImageSegment(image=image) for image in images))
    prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=segments)])
    return TokenSequence(ids=prompt.ids, images=prompt.images)


def pixels(bundle: ModelBundle, batch: Batch) -> dict[str, torch.Tensor]:
    """Every picture shown, as transformers takes them."""
    patches, grids = bundle.cache.features([batch.images[i] for i in batch.shown])
    return {
        "pixel_values": torch.cat(patches),
        "image_grid_thw": torch.tensor([[1, *grid] for grid in grids]),
    }


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_positions_equal_those_of_transformers(bundle: ModelBundle, picture: Picture, family: str) -> None:
    assert bundle.tiny is not None
    bundle = build_tiny(replace(bundle.tiny, family=family))
    one = sequence(bundle, "Click", picture(1), picture(2, width=30))
    batch = collate(bundle, [one])
    kinds = (batch.ids == bundle.model.config.image_token_id).int()
    expected, delta = bundle.model.model.get_rope_index(
        batch.ids, mm_token_type_ids=kinds, image_grid_thw=pixels(bundle, batch)["image_grid_thw"]
    )
    assert torch.equal(batch.positions, expected)
    assert batch.next_positions.item() == len(one.ids) + delta.item()


def test_gradients_equal_the_stock_ones(bundle: ModelBundle, picture: Picture) -> None:
    batch = collate(bundle, [sequence(bundle, "Click", picture(1))])
    bundle.model.requires_grad_(True)
    weight = torch.randn(batch.ids.shape[1], bundle.text_width, generator=torch.Generator().manual_seed(0))
    (forward(bundle, batch)[0] * weight).sum().backward()
    mine = {name: p.grad.clone() for name, p in bundle.model.named_parameters() if p.grad is not None}
    bundle.model.zero_grad()
    stock_hidden = bundle.model.model(
        input_ids=batch.ids,
        position_ids=batch.positions,
        **pixels(bundle, batch),
    ).last_hidden_state
    (stock_hidden * weight).sum().backward()
    stock = {name: p.grad for name, p in bundle.model.named_parameters() if p.grad is not None}
    assert mine.keys() == stock.keys()
    for name, grad in stock.items():
        torch.testing.assert_close(mine[name], grad, rtol=1e-5, atol=1e-5 * float(grad.abs().max()) + 1e-7)


def with_deepstack(bundle: ModelBundle) -> ModelBundle:
    """What it saw on the way is added to its first layer."""
    config = copy.deepcopy(bundle.model.config)
    config.vision_config.deepstack_visual_indexes = [0]
    torch.manual_seed(0)
    return replace(bundle, model=Qwen3VLForConditionalGeneration(config).eval())


KINDS: dict[str, Callable[[ModelBundle], ModelBundle]] = {
    "fast": lambda bundle: bundle,
    "deepstack": with_deepstack,
    "qwen2_5_vl": lambda bundle: build_tiny(replace(cast(TinyConfig, bundle.tiny), family="qwen2_5_vl")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_pass_equals_that_of_transformers(bundle: ModelBundle, picture: Picture, kind: str) -> None:
    bundle = KINDS[kind](bundle)
    batch = collate(
        bundle,
        [
            sequence(bundle, "Click on the button", picture(1)),
            sequence(bundle, "Find it", picture(2), picture(3, width=30)),
        ],
    )
    mine, _ = forward(bundle, batch)
    real = torch.arange(batch.ids.shape[1]) < batch.lengths[:, None]
    stock = bundle.model.model(
        input_ids=batch.ids,
        attention_mask=real.long(),
        position_ids=batch.positions,
        **pixels(bundle, batch),
    ).last_hidden_state
    torch.testing.assert_close(mine[real], stock[real], rtol=1e-5, atol=1e-5)


Passed = tuple[torch.Tensor, dict[str, torch.Tensor]]
"""States, and the gradients of all weights by a fixed sum of them."""


def with_gradients(bundle: ModelBundle, states: torch.Tensor) -> Passed:
    bundle.model.zero_grad()
    (states * torch.randn(states.shape, generator=torch.Generator().manual_seed(0))).sum().backward()
    gradients = {n: p.grad.clone() for n, p in bundle.model.named_parameters() if p.grad is not None}
    return states.detach(), gradients


def assert_alike(expected: Passed, found: Passed) -> None:
    (states, theirs), (same, mine) = expected, found
    torch.testing.assert_close(same, states, rtol=1e-5, atol=1e-5)
    assert mine.keys() == theirs.keys()
    for name, grad in theirs.items():
        torch.testing.assert_close(mine[name], grad, rtol=1e-5, atol=2e-6 * float(grad.abs().max()) + 1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_equals_padded(bundle: ModelBundle, picture: Picture, kind: str) -> None:
    """Sequences of other lengths, and two pictures that are shown several times."""
    bundle = KINDS[kind](bundle)
    assert fast.supports(bundle.model) == (kind == "fast")
    bundle.model.requires_grad_(True)
    sequences = [
        sequence(bundle, "Click on the button", picture(1)),
        sequence(bundle, "Find it", picture(2), picture(3, width=30), picture(1)),
        sequence(bundle, "Nothing to be seen"),
        sequence(bundle, "Find it", picture(3, width=30), picture(2), picture(1)),
    ]
    lengths = [len(each.ids) for each in sequences]
    found: list[Passed] = []
    for packed in (False, True):
        batch = collate(bundle, sequences, packed=packed)
        assert len(batch.images) == 3
        states, _ = forward(bundle, batch)
        starts = batch.starts.tolist()
        real = torch.cat([states.flatten(0, 1)[s : s + n] for s, n in zip(starts, lengths, strict=True)])
        assert batch.ids.numel() == (sum(lengths) if packed else 4 * max(lengths))
        found.append(with_gradients(bundle, real))
    assert_alike(*found)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_last_states_are_those_of_the_whole_pass(
    bundle: ModelBundle, picture: Picture, kind: str, packed: bool
) -> None:
    """The last layer goes on with the tokens that are asked for; numbers and gradients stay."""
    bundle = KINDS[kind](bundle)
    bundle.model.requires_grad_(True)
    sequences = [
        sequence(bundle, "Click on the button", picture(1)),
        sequence(bundle, "Find it", picture(2), picture(3, width=30)),
        sequence(bundle, "Nothing to be seen"),
    ]
    batch = collate(bundle, sequences, packed=packed)
    last = [3, 1, len(sequences[2].ids)]
    places = fast.last_places((batch.starts + batch.lengths).tolist(), last)
    whole = with_gradients(bundle, forward(bundle, batch)[0].flatten(0, 1)[places])
    assert_alike(whole, with_gradients(bundle, last_states(bundle, batch, last)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_full_of_nan_reaches_no_other_sequence(
    bundle: ModelBundle, picture: Picture, kind: str
) -> None:
    bundle = KINDS[kind](bundle)
    sequences = [sequence(bundle, "Click", picture(1)), sequence(bundle, "Click", picture(2))]
    with torch.no_grad():
        batch = collate(bundle, sequences, packed=True)
        clean, poisoned = encode_pictures(bundle, batch.images)
        expected, _ = forward(bundle, batch)
        found, _ = forward(bundle, batch, features=[clean, torch.full_like(poisoned, torch.nan)])
    first = int(batch.lengths[0])
    assert torch.equal(found[0, :first], expected[0, :first])
    assert found[0, -1].isnan().all()


def test_a_window_sees_its_patches_at_their_places(bundle: ModelBundle) -> None:
    visual = bundle.model.model.visual
    patches = torch.randn(1, 16, 3 * 8 * 8)
    strip, merged = fast.encode_images(visual, patches[:, 8:], 4, 4, window=slice(8, 16))
    assert strip.shape == (1, 8, visual.config.hidden_size)
    assert merged.shape == (1, 2, bundle.text_width)
    elsewhere, _ = fast.encode_images(visual, patches[:, 8:], 4, 4, window=slice(0, 8))
    assert not torch.allclose(strip, elsewhere)


@pytest.mark.parametrize("lost", ["picture", "placeholder"])
def test_pictures_and_placeholders_must_fit(bundle: ModelBundle, picture: Picture, lost: str) -> None:
    one = sequence(bundle, "Click", picture(1))
    ids, grids = list(one.ids), [(4, 6)]
    if lost == "picture":
        grids = []
    else:
        ids.remove(int(bundle.model.config.image_token_id))
    with pytest.raises(InferenceError, match="placeholder"):
        rotary_positions(bundle, ids, grids)
