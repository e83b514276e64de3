"""Passes over whole turns, each the `forward` of a module, so that all of a sharded model is there for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from PIL import Image as Picture
from torch import Tensor, nn

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import encode_pictures
from deskhand_agent.models.scoring import read_turns, score_turns
from deskhand_agent.models.value import ValueHead
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Image
from deskhand_trainer.types import TrainingSample


class _Pass(nn.Module):
    def __init__(
        self,
        bundle: ModelBundle,
        *,
        packing: bool,
        features: FeatureCache | None,
        multiplying: Callable[[], AbstractContextManager[object]],
    ) -> None:
        """
        Args:
            features: of a vision tower that is not trained; None: it is.
            multiplying: within it, in the precision asked for.
        """
        super().__init__()
        self.model: Any = bundle.model
        self._bundle, self._multiplying = bundle, multiplying
        self._how: dict[str, Any] = {"packed": packing, "kept": features}
        self._blank: Image | None = None
        """Looked at where a pass has no picture; None: nothing is."""

    def look_always(self) -> None:
        """Use the vision tower in every pass: blocks that are shared out wait for every rank."""
        side = self._bundle.images.factor_px
        self._blank = encoded(Picture.new("RGB", (side, side)))

    def _nothing(self, samples: Sequence[TrainingSample]) -> Tensor | float:
        """0, with which every loss meets the tower again on its way back."""
        if self._blank is None or any(sample.images for sample in samples):
            return 0.0
        (features,) = encode_pictures(self._bundle, [self._blank])
        return 0.0 * features.sum()


class Scoring(_Pass):
    """The policy's."""

    def forward(
        self, samples: Sequence[TrainingSample], temperature: float, with_entropy: bool
    ) -> tuple[Tensor, Tensor | None, Tensor, int]:
        """Log-probabilities, entropies, states before each reply token, and pictures encoded."""
        with self._multiplying():
            nothing = self._nothing(samples)
            scored = score_turns(
                self._bundle, samples, temperature=temperature, with_entropy=with_entropy, **self._how
            )
        entropy = None if scored.entropy is None else scored.entropy + nothing
        return scored.logprobs + nothing, entropy, scored.token_hidden, scored.pictures_encoded


class Valuing(_Pass):
    """That of a critic with a model of its own, and the head on it."""

    def __init__(self, bundle: ModelBundle, head: ValueHead, **how: Any) -> None:
        super().__init__(bundle, **how)
        self.head = head

    def forward(self, samples: Sequence[TrainingSample]) -> tuple[Tensor, int]:
        """V before each reply token, and pictures encoded."""
        with self._multiplying():
            nothing = self._nothing(samples)
            states, pictures = read_turns(self._bundle, samples, **self._how)
        return self.head(states).float() + nothing, pictures


def trunk_of(bundle: ModelBundle) -> ModelBundle:
    """A copy of all of a model that is trained, but for its output matrix; what is frozen is there once for
    both."""
    model: Any = bundle.model
    frozen = {id(p): p for p in model.parameters() if not p.requires_grad}
    trunk = bundle.around(copy.deepcopy(model, {**frozen, id(model.lm_head): nn.Identity()}))
    trunk.model.train(model.training)
    trunk.cache = bundle.cache
    return trunk
