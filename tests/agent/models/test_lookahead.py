from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import torch

from deskhand_agent.models import features as features_module
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.lookahead import Lookahead
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]
SOON_S = 60.0


@pytest.fixture
def features(bundle: ModelBundle) -> FeatureCache:
    return FeatureCache(bundle)


@pytest.fixture
def lookahead(bundle: ModelBundle, features: FeatureCache) -> Iterator[Lookahead]:
    lookahead = Lookahead(bundle, features, threads=1, precision=torch.float32)
    yield lookahead
    lookahead.close()


class Wanted:
    """Says so, or not, and that it was asked."""

    def __init__(self, answer: bool) -> None:
        self.asked, self.answer = threading.Event(), answer

    def __call__(self) -> bool:
        self.asked.set()
        return self.answer


@pytest.mark.parametrize("answer", [True, False])
def test_what_is_still_wanted_is_encoded(
    lookahead: Lookahead, features: FeatureCache, picture: Picture, answer: bool
) -> None:
    wanted = Wanted(answer)
    lookahead.look([picture(0), picture(1)], wanted=wanted)
    assert wanted.asked.wait(SOON_S)
    with lookahead.weights:
        assert features.of([picture(0), picture(1)])[1] == (0 if answer else 2)


def test_it_is_what_the_worker_would_have_made_of_it(
    bundle: ModelBundle, lookahead: Lookahead, features: FeatureCache, picture: Picture
) -> None:
    wanted = Wanted(True)
    lookahead.look([picture(0)], wanted=wanted)
    assert wanted.asked.wait(SOON_S)
    ((found,), _), ((own,), _) = features.of([picture(0)]), FeatureCache(bundle).of([picture(0)])
    torch.testing.assert_close(found, own)


def test_nothing_is_encoded_while_the_weights_change(lookahead: Lookahead, picture: Picture) -> None:
    wanted = Wanted(True)
    with lookahead.weights:
        lookahead.look([picture(0)], wanted=wanted)
        assert not wanted.asked.wait(0.1)
    assert wanted.asked.wait(SOON_S)


def test_an_unreadable_picture_is_the_workers_to_tell(
    lookahead: Lookahead, features: FeatureCache, picture: Picture
) -> None:
    broken = Image(digest="0" * 64, format="png", width_px=16, height_px=16, data=b"no picture")
    for image in (broken, picture(0)):
        wanted = Wanted(True)
        lookahead.look([image], wanted=wanted)
        assert wanted.asked.wait(SOON_S)
    with lookahead.weights:
        assert features.of([picture(0)])[1] == 0


def test_who_waits_for_a_picture_encodes_those_behind_it(
    lookahead: Lookahead, features: FeatureCache, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding, behind, own = threading.Event(), threading.Event(), features_module.encode_pictures

    def encode(bundle: ModelBundle, images: list[Image]) -> list[torch.Tensor]:
        if images[0].digest == picture(0).digest:
            encoding.set()
            assert behind.wait(SOON_S), "nobody encoded the others"
        elif images[0].digest == picture(2).digest:
            behind.set()
        return own(bundle, images)

    monkeypatch.setattr(features_module, "encode_pictures", encode)
    given_up = Wanted(False)
    lookahead.look([picture(0)], wanted=Wanted(True))
    assert encoding.wait(SOON_S)
    for number, wanted in ((1, Wanted(True)), (3, given_up), (2, Wanted(True))):
        lookahead.look([picture(number)], wanted=wanted)
    assert features.of([picture(0)], meanwhile=lookahead.next)[1] == 0
    assert features.of([picture(1), picture(2)])[1] == 0
    assert given_up.asked.is_set() and not features.begun(picture(3))
    assert not lookahead.next()


def test_a_cache_that_keeps_nothing_and_a_closed_one_are_left_alone(
    bundle: ModelBundle, lookahead: Lookahead, picture: Picture
) -> None:
    wanted = Wanted(True)
    with_nothing = Lookahead(bundle, FeatureCache(bundle, max_bytes=0), threads=1, precision=torch.float32)
    with_nothing.look([picture(0)], wanted=wanted)
    with_nothing.close()
    lookahead.close()
    lookahead.look([picture(0)], wanted=wanted)
    assert not wanted.asked.is_set()
