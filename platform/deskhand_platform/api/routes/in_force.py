"""GET /v1/settings: the settings in force, with no secret in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter

from deskhand_platform.api.account_models import SettingModel
from deskhand_platform.api.deps import Have
from deskhand_platform.settings import Settings

router = APIRouter(tags=["accounts"])
ADDRESSES = ("database", "blobs", "url")
"""Settings whose value may have a password in it."""


@router.get("/settings")
async def list_settings(have: Have) -> list[SettingModel]:
    """Every setting by name."""
    return in_force(have.settings)


def in_force(settings: Settings) -> list[SettingModel]:
    """The settings with what differs from the defaults marked, and passwords hidden."""
    defaults = dict(_flat(Settings.model_construct().model_dump(mode="json")))
    found = dict(_flat(settings.model_dump(mode="json")))
    return [
        SettingModel(
            name=name,
            value=without_secret(value) if _may_be_address(name) and isinstance(value, str) else value,
            changed=value != defaults.get(name),
        )
        for name, value in sorted(found.items())
    ]


def without_secret(address: str) -> str:
    """An address without its password, and without a query: keys stand there too."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}:***@{host}" if at else host
    return f"{parts.scheme}://{shown}{parts.path}{'?***' if parts.query else ''}" if parts.scheme else address


def _may_be_address(name: str) -> bool:
    return name in ADDRESSES or name.startswith("sandbox.pools.")


def _flat(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
