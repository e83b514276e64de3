"""The model that comes with the package, for everybody who has none of his own."""

from __future__ import annotations

from pathlib import Path

from deskhand_agent.checksums import SUMS_FILE, check_files
from deskhand_agent.errors import ModelFilesError

DESKHAND_TINY = "deskhand-tiny"
"""A Qwen3-VL of 5.6 million parameters that sees, reads and points; its README.md is its model card."""
FOLDER = Path(__file__).parent / "weights" / DESKHAND_TINY


def shipped_model() -> Path:
    """The folder of `DESKHAND_TINY`, every file as it was shipped.

    Raises:
        ModelFilesError: a file is missing or damaged; says the mend.
    """
    if not (FOLDER / SUMS_FILE).is_file():
        raise ModelFilesError(f"{DESKHAND_TINY} is not in {FOLDER}: install the package again")
    check_files(FOLDER)
    return FOLDER
