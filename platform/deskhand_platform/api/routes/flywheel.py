"""/v1/routing, /v1/scorers, /v1/calibrations, /v1/storage: how the flywheel turns, and what it takes."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from fastapi import APIRouter, Request
from pydantic import ValidationError

from deskhand_flywheel.holdings import routing, scorers, storage
from deskhand_platform.api.deps import Have
from deskhand_platform.api.flywheel_models import CalibrationModel, RoutingModel, ScorerModel, StorageModel

router = APIRouter(tags=["flywheel"])
MEASURED_EVERY_S = 60.0
_measuring = asyncio.Lock()


@router.get("/routing")
async def get_routing(have: Have) -> RoutingModel:
    """How whole training episodes are shared out among datasets."""
    found = await routing(have.store)
    return RoutingModel(episodes=found.episodes, by_kind=dict(found.by_kind), unrouted=found.unrouted)


@router.get("/scorers")
async def list_scorers(have: Have) -> list[ScorerModel]:
    """Who scored steps: people, judges, process reward models."""
    return [ScorerModel.model_validate(asdict(one)) for one in await scorers(have.store)]


@router.get("/calibrations")
async def list_calibrations(have: Have) -> list[CalibrationModel]:
    """Process reward models that were calibrated, newest first: reliability, AUC and calibration error."""
    found: list[CalibrationModel] = []
    for record in await have.store.policies():
        kept = record.metadata.get("calibration")
        if not isinstance(kept, Mapping):
            continue
        said = cast("Mapping[str, Any]", kept)
        try:
            found.append(
                CalibrationModel.model_validate(
                    {**said, "policy_id": record.id, "created_at_s": record.created_at_s}
                )
            )
        except ValidationError:
            continue  # kept by another version
    return found


@router.get("/storage")
async def get_storage(have: Have, request: Request) -> StorageModel:
    """Rows and bytes; measured at most once a minute, for it lists every blob."""
    async with _measuring:
        known: StorageModel | None = getattr(request.app.state, "storage", None)
        if known is not None and time.time() - known.measured_at_s < MEASURED_EVERY_S:
            return known
        found = await storage(have.store)
        measured = StorageModel.model_validate(
            {
                **asdict(found),
                "free_bytes": shutil.disk_usage(have.settings.home).free,
                "measured_at_s": time.time(),
            }
        )
        request.app.state.storage = measured
        return measured
