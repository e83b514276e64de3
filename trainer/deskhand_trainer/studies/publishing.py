"""What a study writes and says: its figures, and by name those that cannot be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskhand_trainer.results import Figure, write_figures, write_results_page

DIVERGED = "training diverged"
"""In the note of every figure that stands on such a training."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unknown:
    """A figure without a value: results hold numbers alone, so it is told and not written."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name:52} {'unknown':>10} {self.why}"


def made_by(parts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Day, commit and machine of a figure: the latest day and every commit and machine of what it stands on,
    whoever reports it.

    Args:
        parts: "date", "commit" and "machine" of each, made by several or by one; what it does not say is told
            as unknown.
    """
    told = [*parts] or [{}]

    def of(name: str, apart: str) -> list[str]:
        return sorted({each for part in told for each in str(part.get(name, "unknown")).split(apart)})

    return {
        "date": of("date", ", ")[-1],
        "commit": ", ".join(of("commit", ", ")),
        "machine": "; ".join(of("machine", "; ")),
    }


def counted_at_start(lost: Mapping[str, Mapping[str, Any]]) -> str:
    """For the end of a note: trainings that diverged, of which the policy they started from was measured.

    Args:
        lost: by what they are called, their results' "diverged".
    """
    told = [
        f"{name} after {how['iterations']} iterations ({str(how['reason']).rstrip('.')})"
        for name, how in lost.items()
    ]
    return f"; {DIVERGED}, counted as its start is: {', '.join(told)}" if told else ""


def publish(results: Path, found: Sequence[Figure | Unknown]) -> None:
    """Write and print them; an earlier value of what is unknown now does not stay beside them.

    Raises:
        ResultsError: the file that is there is not in the form of results.
    """
    figures = [each for each in found if isinstance(each, Figure)]
    if found:
        gone = [each.name for each in found if isinstance(each, Unknown)]
        write_figures(results, figures, gone=gone)
        write_results_page(results.parent)
    print(*found, sep="\n", flush=True)
