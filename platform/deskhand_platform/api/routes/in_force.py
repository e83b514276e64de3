"""GET /v1/settings: the settings in force, with no secret in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from fastapi import APIRouter

from deskhand_platform.api.account_models import SettingModel
from deskhand_platform.api.deps import Have
from deskhand_platform.api.endpoints import without_secret
from deskhand_platform.settings import Settings

router = APIRouter(tags=["accounts"])


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
            value=_shown(value),
            changed=value != defaults.get(name),
        )
        for name, value in sorted(found.items())
    ]


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in cast("list[Any]", value)]
    return without_secret(value) if isinstance(value, str) else value


def _flat(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
