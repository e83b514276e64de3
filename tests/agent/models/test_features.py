from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import features
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import encode_pictures
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def test_each_picture_is_encoded_once(bundle: ModelBundle, picture: Picture) -> None:
    cache = FeatureCache(bundle)
    one, two, three = (picture(seed) for seed in range(3))
    _, encoded = cache.of([one, two])
    assert encoded == 2
    found, encoded = cache.of([three, one])
    assert encoded == 1
    for mine, alone in zip(found, encode_pictures(bundle, [three, one]), strict=True):
        torch.testing.assert_close(mine, alone, rtol=1e-5, atol=1e-6)
        assert not mine.requires_grad


def test_threads_wait_for_each_other(
    bundle: ModelBundle, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each encodes what the other waits for, and both have claimed theirs before either begins."""
    cache, both = FeatureCache(bundle), Barrier(2)

    def encode(bundle: ModelBundle, images: Sequence[Image]) -> list[Tensor]:
        both.wait(timeout=60)
        return encode_pictures(bundle, images)

    monkeypatch.setattr(features, "encode_pictures", encode)
    one, two, three = (picture(seed) for seed in range(3))
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(cache.of, ([one, two], [two, three])))
    assert sum(encoded for _, encoded in done) == 3
    assert torch.equal(done[0][0][1], done[1][0][0])


def test_the_oldest_is_forgotten(bundle: ModelBundle, picture: Picture) -> None:
    one, two, three = (picture(seed) for seed in range(3))
    size = encode_pictures(bundle, [one])[0].nbytes
    cache = FeatureCache(bundle, max_bytes=2 * size)
    for image in (one, two, one, three):
        cache.of([image])
    assert cache.of([one, three])[1] == 0
    assert cache.of([two])[1] == 1


def test_an_unreadable_picture_is_said_again_and_spoils_no_other(
    bundle: ModelBundle, picture: Picture
) -> None:
    cache, broken = FeatureCache(bundle), replace(picture(1), data=None)
    for _ in range(2):
        with pytest.raises(InferenceError, match="came without its bytes"):
            cache.of([picture(2), broken])
    assert cache.of([picture(2)])[1] == 1
