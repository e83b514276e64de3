from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import fast, tiny
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.decoding import Decoder
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.prefixes import SHORTEST
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]
REMEMBER = 2**20


def sequence(bundle: ModelBundle, text: str, *images: Image) -> TokenSequence:
    """Pictures and text in turns, as a memory window shows them."""
    messages = [
        PromptMessage(role="user", segments=(ImageSegment(image=image), Text(text=text))) for image in images
    ]
    prompt = tokenise_prompt(bundle, messages or [PromptMessage(role="user", segments=(Text(text=text),))])
    return TokenSequence(ids=prompt.ids, images=prompt.images)


def whole(bundle: ModelBundle, one: TokenSequence, reply: list[int]) -> Tensor:
    """[width] of the last token, by one pass over everything: the slow way."""
    with torch.no_grad():
        batch = collate(bundle, [TokenSequence(ids=(*one.ids, *reply), images=one.images)])
        return forward(bundle, batch)[0][0, -1]


def close(mine: Tensor, slow: Tensor) -> None:
    torch.testing.assert_close(mine, slow, rtol=1e-5, atol=1e-5)


@pytest.fixture(params=["qwen3_vl", "qwen2_5_vl", "grouped heads"])
def each_bundle(
    request: pytest.FixtureRequest, bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModelBundle]:
    """Both families, and one whose heads share keys and values."""
    assert bundle.tiny is not None
    if request.param == "grouped heads":
        plain: Any = tiny._text  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(tiny, "_text", lambda *args: {**plain(*args), "num_key_value_heads": 1})
        grouped = build_tiny(bundle.tiny)
        assert fast.supports(grouped.model)
        yield grouped
    else:
        yield build_tiny(replace(bundle.tiny, family=request.param))


def test_every_step_equals_a_pass_over_everything(each_bundle: ModelBundle, picture: Picture) -> None:
    bundle = each_bundle
    torch.manual_seed(0)
    for norm in (p for name, p in bundle.model.named_parameters() if "norm" in name):
        norm.data.uniform_(0.5, 1.5)
    prompts = [
        sequence(bundle, "Click", picture(1)),
        sequence(bundle, "Find it " * 5, picture(2), picture(3, width=30)),
        sequence(bundle, "No picture"),
    ]
    decoder = Decoder(bundle, remember_bytes=REMEMBER)
    for one in prompts[:2]:
        close(decoder.join(one, room=8), whole(bundle, one, []))
    rows, replies = [0, 1], {0: [27], 1: [29], 2: [31]}
    for number in range(8):
        if number == 2:  # one joins half way
            close(decoder.join(prompts[2], room=8), whole(bundle, prompts[2], []))
            rows.append(2)
        if number == 5:  # the first leaves, the last takes its place
            decoder.leave(0)
            rows = [rows[-1], *rows[1:-1]]
        hidden = decoder.step([replies[row][-1] for row in rows])
        assert decoder.rows == len(rows)
        for place, row in enumerate(rows):
            close(hidden[place], whole(bundle, prompts[row], replies[row]))
            replies[row].append(int(hidden[place].argmax()) + 20)


def test_steps_of_rows_as_long_as_each_other(bundle: ModelBundle, picture: Picture) -> None:
    prompts = [sequence(bundle, "Click", picture(i)) for i in range(3)]
    decoder = Decoder(bundle, remember_bytes=0)
    for one in prompts:
        decoder.join(one, room=2)
    for place, hidden in enumerate(decoder.step([25, 26, 27])):
        close(hidden, whole(bundle, prompts[place], [25 + place]))


def test_a_prompt_that_begins_like_another_goes_on_from_there(bundle: ModelBundle, picture: Picture) -> None:
    decoder = Decoder(bundle, remember_bytes=REMEMBER)
    first = sequence(bundle, "Click on the button: it", picture(1), picture(2))
    decoder.join(first, room=4)
    assert decoder.reused_tokens == 0
    again = decoder.join(first, room=4)
    assert decoder.reused_tokens == len(first.ids) - 1
    close(again, whole(bundle, first, []))
    for other in (
        sequence(bundle, "Click on the button: it", picture(1), picture(3)),
        sequence(bundle, "Click on the button: it", picture(1), picture(2), picture(1)),
        sequence(bundle, "Click on the button: that", picture(1)),
    ):
        before = decoder.reused_tokens
        close(decoder.join(other, room=4), whole(bundle, other, []))
        assert decoder.reused_tokens - before >= SHORTEST


def test_another_picture_is_another_prompt(bundle: ModelBundle, picture: Picture) -> None:
    decoder = Decoder(bundle, remember_bytes=REMEMBER)
    decoder.join(sequence(bundle, "Click", picture(1)), room=4)
    other = sequence(bundle, "Click", picture(2))
    close(decoder.join(other, room=4), whole(bundle, other, []))
    assert decoder.reused_tokens == 0


@pytest.mark.parametrize("remember", [0, 3000])
def test_what_is_remembered_is_bounded(bundle: ModelBundle, picture: Picture, remember: int) -> None:
    decoder = Decoder(bundle, remember_bytes=remember)
    for seed in (0, 1, 2, 0):
        one = sequence(bundle, "Click", picture(seed, width=16, height=16))
        close(decoder.join(one, room=4), whole(bundle, one, []))
    for cache in (decoder.features, decoder._prefixes):  # pyright: ignore[reportPrivateUsage]
        assert cache._bytes <= remember  # pyright: ignore[reportPrivateUsage]


def test_new_weights_forget_what_the_old_ones_made(bundle: ModelBundle, picture: Picture) -> None:
    decoder = Decoder(bundle, remember_bytes=REMEMBER)
    one = sequence(bundle, "Click", picture(1))
    decoder.join(one, room=4)
    decoder.step([25])
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.mul_(1.1)
    decoder.forget()
    assert decoder.rows == 0
    close(decoder.join(one, room=4), whole(bundle, one, []))
    close(decoder.step([25])[0], whole(bundle, one, [25]))


def test_a_row_of_no_numbers_harms_none_beside_or_after_it(bundle: ModelBundle, picture: Picture) -> None:
    decoder = Decoder(bundle, remember_bytes=0)
    long, good = sequence(bundle, "Find it " * 6, picture(1)), sequence(bundle, "Click", picture(2))
    decoder.join(long, room=4)
    decoder.join(good, room=4)
    decoder._rows._states[:, 0] = float("nan")  # pyright: ignore[reportPrivateUsage]
    hidden = decoder.step([25, 26])
    assert hidden[0].isnan().any()
    close(hidden[1], whole(bundle, good, [26]))
    decoder.leave(0, spoilt=True)
    close(decoder.step([27])[0], whole(bundle, good, [26, 27]))
    decoder.join(long, room=4)
    hidden = decoder.step([28, 29])
    close(hidden[0], whole(bundle, good, [26, 27, 28]))
    close(hidden[1], whole(bundle, long, [29]))


def test_a_prompt_that_does_not_fit_its_pictures_takes_no_row(bundle: ModelBundle, picture: Picture) -> None:
    decoder = Decoder(bundle, remember_bytes=REMEMBER)
    one = sequence(bundle, "Click", picture(1))
    with pytest.raises(InferenceError, match="placeholder"):
        decoder.join(replace(one, images=()), room=4)
    assert decoder.rows == 0
    close(decoder.join(one, room=4), whole(bundle, one, []))
