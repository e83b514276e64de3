"""What a judge is told to go by."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from deskhand_flywheel.errors import InvalidRubric

FORM = """
Reply with one JSON object and nothing else:

{"rationale": "one to three sentences on what you saw that decides it", "score": 0.5}"""
"""What stands below every rubric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """How to score, in words."""

    text: str
    """Without the form of the reply."""

    @property
    def system(self) -> str:
        """The system message."""
        return f"{self.text.strip()}\n{FORM}"


def packaged_rubric(of: Literal["process", "outcome"]) -> Rubric:
    """The one that comes with the package."""
    return Rubric(text=files("deskhand_flywheel.judges").joinpath(f"{of}.md").read_text(encoding="utf-8"))


def read_rubric(path: Path) -> Rubric:
    """One's own.

    Raises:
        InvalidRubric: the file cannot be read, or says nothing.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRubric(f"the rubric {path} cannot be read: {error}") from error
    return rubric_of(text, str(path))


def rubric_of(text: str, name: str) -> Rubric:
    """One's own, of which the text is here.

    Raises:
        InvalidRubric: it says nothing; names it.
    """
    if not text.strip():
        raise InvalidRubric(f"the rubric {name} is empty: write how to score, in words")
    return Rubric(text=text)
