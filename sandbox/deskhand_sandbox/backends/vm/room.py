"""Files that a VM or an image takes: a disk that is full, or refuses, is said in words."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from deskhand_sandbox.errors import InfrastructureError


@contextmanager
def writing(place: Path) -> Generator[None]:
    """What the block writes goes to this place.

    Raises:
        InfrastructureError: the system refused; says what is to be mended.
    """
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InfrastructureError(
            f"{place} cannot be written: {why}; make room, or choose another"
        ) from error


def check_room(place: Path, least_mb: int, what: str) -> None:
    """Refuse early what would not fit.

    Raises:
        InfrastructureError: less is free there.
    """
    free_mb = shutil.disk_usage(place).free // 2**20
    if free_mb < least_mb:
        raise InfrastructureError(
            f"{what} takes {least_mb} MiB in {place}, and {free_mb} are free: make room, or choose another"
        )
