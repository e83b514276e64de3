"""The platform's own hands and keys reach only where its settings say, whoever asks over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.config import RUN_FIELDS
from deskhand_trainer.playing_config import addresses

ADDRESSES = (("engine",), ("user",), ("outcome", "judge"))
"""Where among the settings of a round's phase an address may stand."""


def check_listed(field: str, url: str, setting: str, allowed: Sequence[str]) -> None:
    """Refuse an address that the setting `jobs.` does not have.

    Raises:
        InvalidField: names the field, and what the setting has.
    """
    if url not in allowed:
        known = ", ".join(map(without_secret, allowed)) or "none"
        raise InvalidField(
            field,
            f"{url} is none of the setting jobs.{setting}, which has {known}; "
            "who runs the platform adds it there",
        )


def without_secret(address: str) -> str:
    """An address without its password, and without a query: keys stand there too; other texts as they are."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}:***@{host}" if at else host
    return f"{parts.scheme}://{shown}{parts.path}{'?***' if parts.query else ''}" if parts.scheme else address


def check_overrides(overrides: Mapping[str, Any], endpoints: Sequence[str]) -> None:
    """Refuse a round that would ask at an address which the setting `jobs.endpoints` does not have.

    Raises:
        InvalidField: names the phase and the field.
    """
    for phase in RUN_FIELDS:
        for path in ADDRESSES:
            url: object = overrides.get(phase)
            for name in path:
                url = cast("Mapping[str, object]", url).get(name) if isinstance(url, Mapping) else None
            # `engine` may name several servers
            for each in addresses(str(url or "")):
                check_listed(".".join((phase, *path)), each, "endpoints", endpoints)
