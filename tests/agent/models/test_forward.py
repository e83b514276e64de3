from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.forward import TokenSequence, collate, forward, rotary_positions
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def sequence(bundle: ModelBundle, text: str, *images: Image) -> TokenSequence:
    segments = (Text(text=text), *(ImageSegment(image=image) for image in images))
    prompt = tokenise_prompt(bundle, [PromptMessage(role="user", segments=segments)])
    return TokenSequence(ids=prompt.ids, images=prompt.images)


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_positions_equal_those_of_transformers(bundle: ModelBundle, picture: Picture, family: str) -> None:
    assert bundle.tiny is not None
    bundle = build_tiny(replace(bundle.tiny, family=family))
    one = sequence(bundle, "Click", picture(1), picture(2, width=30))
    batch = collate(bundle, [one])
    kinds = (batch.ids == bundle.model.config.image_token_id).int()
    expected, delta = bundle.model.model.get_rope_index(
        batch.ids, mm_token_type_ids=kinds, image_grid_thw=torch.tensor([[1, *grid] for grid in batch.grids])
    )
    assert torch.equal(batch.positions, expected)
    assert batch.next_positions.item() == len(one.ids) + delta.item()


def test_the_fast_pass_equals_the_stock_one(bundle: ModelBundle, picture: Picture) -> None:
    batch = collate(
        bundle,
        [
            sequence(bundle, "Click on the button", picture(1)),
            sequence(bundle, "Find it", picture(2), picture(3, width=30)),
        ],
    )
    assert fast.supports(bundle.model)
    mine, _ = forward(bundle, batch)
    real = torch.arange(batch.ids.shape[1]) < batch.lengths[:, None]
    stock = bundle.model.model(
        input_ids=batch.ids,
        attention_mask=real.long(),
        position_ids=batch.positions,
        pixel_values=torch.cat(batch.patches),
        image_grid_thw=torch.tensor([[1, *grid] for grid in batch.grids]),
    ).last_hidden_state
    torch.testing.assert_close(mine[real], stock[real], rtol=1e-5, atol=1e-5)


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
        pixel_values=torch.cat(batch.patches),
        image_grid_thw=torch.tensor([[1, *grid] for grid in batch.grids]),
    ).last_hidden_state
    (stock_hidden * weight).sum().backward()
    stock = {name: p.grad for name, p in bundle.model.named_parameters() if p.grad is not None}
    assert mine.keys() == stock.keys()
    for name, grad in stock.items():
        torch.testing.assert_close(mine[name], grad, rtol=1e-4, atol=1e-4 * float(grad.abs().max()) + 1e-7)


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
