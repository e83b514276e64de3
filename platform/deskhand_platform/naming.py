"""Names in what was sent: one that stands for nothing makes the request wrong, not its address."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from deskhand_flywheel.errors import NotFound as NotStored
from deskhand_platform.errors import InvalidField, NotFound
from deskhand_sandbox.errors import UnknownName


@contextmanager
def named_in(field: str) -> Generator[None]:
    """What the block looks for was named by this field.

    Raises:
        InvalidField: there is none of that name; carries the suggestions.
    """
    try:
        yield
    except (NotFound, NotStored, UnknownName) as error:
        raise InvalidField(field, str(error), suggestions=getattr(error, "suggestions", ())) from error
