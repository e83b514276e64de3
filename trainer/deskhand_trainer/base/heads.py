"""Linear heads that vision learns to see by: they read characters and words off it, and are thrown away."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from deskhand_agent.model_files import writing
from deskhand_trainer.base import HEADS_FILE
from deskhand_trainer.base.labels import CHARACTER_CLASSES, LOOKS, WORD_LETTERS, WORD_PLACES, DenseBatch
from deskhand_trainer.errors import RunRefused


class PerceptionHeads(nn.Module):
    """Thrown away once the model acts."""

    def __init__(self, vision_width: int, text_width: int) -> None:
        super().__init__()
        self.character = nn.Linear(vision_width, LOOKS * CHARACTER_CLASSES)
        self.letter = nn.Linear(vision_width, LOOKS * (WORD_PLACES + 1))
        self.spelling = nn.Linear(text_width, WORD_LETTERS * CHARACTER_CLASSES)
        self.shown = nn.Linear(text_width, WORD_PLACES * CHARACTER_CLASSES)
        self.place = nn.Linear(text_width, 1)

    def read(self, batch: DenseBatch, patches: Tensor, tokens: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """Logits, and the classes that are true, of all there is to read."""
        return {
            name: (head(states).unflatten(-1, (truth.shape[-1], -1)), truth)
            for name, head, states, truth in (
                ("character", self.character, patches, batch.characters),
                ("letter", self.letter, patches, batch.places),
                ("spelling", self.spelling, tokens, batch.spelling),
                ("shown", self.shown, tokens, batch.shown),
            )
        }

    def save(self, folder: Path) -> None:
        """Write them beside the model's weights."""
        with writing(folder / HEADS_FILE):
            save_file(self.state_dict(), folder / HEADS_FILE)

    def load(self, folder: Path) -> bool:
        """Take those that lie in a model's folder; whether there are any. What is missing there stays; heads
        that ask about fewer places of a patch say of each what they said of the one around it.

        Raises:
            RunRefused: they are damaged or another model's.
        """
        if not (folder / HEADS_FILE).is_file():
            return False
        try:
            kept = load_file(folder / HEADS_FILE)
            for name, classes in (("character", CHARACTER_CLASSES), ("letter", WORD_PLACES + 1)):
                for part in (f"{name}.weight", f"{name}.bias"):
                    if part in kept:
                        kept[part] = _spread(kept[part], classes)
            self.load_state_dict({**self.state_dict(), **kept})
        except (SafetensorError, RuntimeError) as error:
            raise RunRefused(
                f"{folder / HEADS_FILE} does not fit the model beside it ({error}): copy the model's folder "
                "again, or go on without that file"
            ) from error
        return True


def _spread(kept: Tensor, classes: int) -> Tensor:
    """Rows of a head for every look, of rows for fewer of them; others as they are."""
    looks, left = divmod(len(kept), classes)
    if left or not looks or LOOKS % looks:
        return kept
    return kept.unflatten(0, (looks, classes)).repeat_interleave(LOOKS // looks, dim=0).flatten(0, 1)
