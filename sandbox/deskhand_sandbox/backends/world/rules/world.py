"""What every world is: text on a terminal, a picture, keys that do something, rewards, an end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from PIL import Image as Picture

from deskhand_sandbox.types import JsonValue


class World(ABC):
    """One world in one state. It is copied whole (`copy.deepcopy`), its chances included."""

    instruction: str
    """What is to be done in it."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Nothing more can happen."""

    @property
    @abstractmethod
    def won(self) -> bool:
        """What is to be done is done."""

    @abstractmethod
    def text(self) -> str:
        """What the terminal shows."""

    @abstractmethod
    def draw(self) -> Picture.Image:
        """The same as a picture; alike for the same state."""

    @abstractmethod
    def press(self, key: str) -> float:
        """One key by its W3C name, or one character typed; keys without a meaning do nothing.

        Returns:
            The reward.
        """

    @abstractmethod
    def state(self) -> Mapping[str, JsonValue]:
        """What is behind the screen, for oracles."""

    def score(self) -> float:
        """How much of what is to be done is done, 0 to 1."""
        return float(self.won)
