"""/v1/export, /v1/import: episodes as archives of files that others read; policies come and go likewise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathPart
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from deskhand_flywheel.types import TrajectoryFilter
from deskhand_platform import transfers
from deskhand_platform.accounts.access import Principal
from deskhand_platform.api.chosen import Chosen
from deskhand_platform.api.deps import Have, Noted, Who
from deskhand_platform.api.exchange_models import ExportFormat, ImportedModel, ImportFormat
from deskhand_platform.api.models import ErrorAnswer, PolicyModel
from deskhand_platform.api.routes.policies import shown
from deskhand_platform.errors import Forbidden, InvalidField, NotFound
from deskhand_platform.naming import named_in
from deskhand_platform.services import Services

log = logging.getLogger(__name__)
router = APIRouter(tags=["exchange"])
STREAMED = ("/policies", "/import")
"""Where the archives are sent that are taken piece by piece."""
TAR = "application/x-tar"
MORE: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": why}
    for status, why in {
        413: "more than one archive may hold; says how much that is",
        501: "the platform has no package for this format",
        503: "others are under way; `Retry-After` says when to try again",
        507: "no space is left",
    }.items()
}
SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "a tar archive, which may be compressed by gzip, bzip2 or xz",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class _Archive(StreamingResponse):
    """A stream whose first piece is there; it is put away with the connection."""

    def __init__(
        self, name: str, first: bytes, rest: AsyncGenerator[bytes], headers: Mapping[str, str] | None = None
    ) -> None:
        told = {
            "Content-Disposition": f'attachment; filename="{name}.tar"',
            "Cache-Control": "no-store",
            **(headers or {}),
        }
        super().__init__(_after(first, rest), media_type=TAR, headers=told)
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stalled = False

        async def send_in_time(message: Message) -> None:
            nonlocal stalled
            try:
                async with asyncio.timeout(transfers.STALLED_S):
                    await send(message)
            except TimeoutError:
                stalled = True
                raise

        try:
            await super().__call__(scope, receive, send_in_time)
        except (TimeoutError, ClientDisconnect):
            if not stalled:
                raise
            log.warning("an archive was given up: nothing of it was read for %g s", transfers.STALLED_S)
        finally:
            await self._rest.aclose()


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"description": "a tar archive", "content": {TAR: {}}}, **MORE},
)
async def export_trajectories(
    have: Have,
    who: Who,
    chosen: Chosen,
    format: Annotated[ExportFormat, Query(description="of the files")] = "parquet",
    dataset: Annotated[
        str | None, Query(description="those of a dataset, NAME or NAME@VERSION", max_length=200)
    ] = None,
    id: Annotated[list[str] | None, Query(description="these", max_length=1000)] = None,
) -> StreamingResponse:
    """Trajectories with their pictures and what was said of them, as a tar archive of files that others read.

    Chosen as `GET /v1/trajectories` lists them, or by `id`, or by `dataset`; only whole episodes where the
    filters choose. The archive comes as it is put together. Where it breaks off, its last member is
    `FAILED.json` and says why, and the connection ends before the answer does.
    """
    from deskhand_flywheel.exchange import format_named

    ids = await _ids(have, who, chosen, dataset, id or [])
    await have.transfers.check(have.store, ids)
    pieces = have.transfers.export(have.store, ids, format_named(format))
    # what is wrong at the beginning is told as an error, not as half an archive
    first = await anext(pieces)
    return _Archive(f"trajectories-{format}", first, pieces, {"X-Trajectories": str(len(ids))})


@router.get(
    "/policies/{id}/files",
    response_class=StreamingResponse,
    responses={200: {"description": "a tar archive", "content": {TAR: {}}}, **MORE},
)
async def get_policy_files(
    have: Have, id: Annotated[str, PathPart(description="of a policy, or deskhand-tiny")]
) -> StreamingResponse:
    """A policy as it is kept: a folder that transformers load, with checksums, as a tar archive.

    Where it breaks off, its last member is `FAILED.json`, as of an export.
    """
    record = await have.store.policy_named(id)
    pieces = have.transfers.policy(have.store, record)
    first = await anext(pieces)
    return _Archive(record.id, first, pieces)


@router.post("/policies", openapi_extra=SENT, responses=MORE, status_code=201)
async def add_policy(
    request: Request,
    have: Have,
    noted: Noted,
    name: Annotated[
        str, Query(description="what it is called in its metadata", min_length=1, max_length=200)
    ] = "imported",
) -> PolicyModel:
    """Keep a model that an archive of its folder holds: a Qwen3-VL or Qwen2.5-VL, made elsewhere.

    Rounds, runs and tasks can begin from it then. Weights are taken as safetensors alone. The same folder
    sent again under the same name is the same policy.
    """
    record = await have.transfers.take_policy(have.store, request.stream(), size=_told(request), name=name)
    noted(record.id)
    return shown(record, await have.book.promoted_policy())


@router.post("/import", openapi_extra=SENT, responses=MORE)
async def import_trajectories(
    request: Request,
    have: Have,
    noted: Noted,
    format: Annotated[ImportFormat | None, Query(description="seen from the files without")] = None,
    policy: Annotated[
        str, Query(description="who played, where the files do not say", min_length=1, max_length=64)
    ] = "imported",
    dialect: Annotated[
        str, Query(description="conversations of others are in: ui_tars, ui_tars_1_0, ui_tars_mobile, …")
    ] = "ui_tars",
    succeeded: Annotated[
        bool, Query(description="take episodes of others without a verdict for successes")
    ] = False,
) -> ImportedModel:
    """Bring in what an archive of files holds: what was exported, or others' own.

    All of it is read before anything is written: what is damaged is named, and nothing comes in. An episode
    that is here already stays as it is, so that sending an archive twice is sending it once. A folder
    `evaluation_examples` in it is taken for OSWorld's, where the instructions are.
    """
    from deskhand_flywheel.exchange import Guidance
    from deskhand_sandbox.dialects import usual_frame

    with named_in("dialect"):
        usual_frame(dialect, (1, 1))
    done = await have.transfers.take(
        have.store,
        request.stream(),
        size=_told(request),
        format=format,
        guidance=Guidance(policy_id=policy, dialect=dialect, succeeded=succeeded),
    )
    noted(f"{done.format}: {len(done.added)} new, {len(done.present)} here already")
    return ImportedModel.model_validate(asdict(done))


def _told(request: Request) -> int | None:
    """Bytes that are sent; None where nobody says."""
    told = request.headers.get("content-length", "")
    return int(told) if told.isdecimal() else None


async def _after(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for piece in rest:
        yield piece


async def _ids(
    have: Services, who: Principal, chosen: TrajectoryFilter, dataset: str | None, ids: list[str]
) -> list[str]:
    """Of the trajectories that are meant, oldest first where the filters choose.

    Raises:
        InvalidField: they are chosen in several ways, or none is.
        Forbidden: who asks may not see datasets.
        NotFound: one of the ids is nobody's, or another's who asks may not see.
    """
    own = TrajectoryFilter(labels={} if who.only is None else {"owner": who.only})
    if sum((dataset is not None, bool(ids), replace(chosen, ended=None) != own)) > 1:
        raise InvalidField("dataset", "choose by dataset, by id or by filters, not by several")
    if dataset is not None:
        if who.only is not None or "datasets:read" not in who.scopes:
            raise Forbidden(f"{who.name} may not see datasets: choose by id or by filters")
        found = [*(await have.store.dataset(*versioned(dataset))).trajectory_ids]
    elif ids:
        for one in ids:
            owner = (await have.store.summary(one)).labels.get("owner")
            if who.only is not None and owner != who.only:
                raise NotFound("trajectory", one)
        found = [*dict.fromkeys(ids)]
    elif chosen.ended is False:
        raise InvalidField("ended", "only whole episodes are exported, e.g. true")
    else:
        found = [*await have.store.trajectory_ids(replace(chosen, ended=True))]
    if not found:
        raise InvalidField("id", "nothing to export: no trajectory is chosen")
    return found


def versioned(dataset: str) -> tuple[str, int | None]:
    """A dataset's name and version; None: the newest.

    Raises:
        InvalidField: it is not of the form NAME or NAME@VERSION.
    """
    name, at, version = dataset.rpartition("@")
    if not at:
        return dataset, None
    if not name or not version.isdecimal() or int(version[:12]) >= 2**31:
        raise InvalidField("dataset", f"{dataset!r} is not of the form NAME or NAME@VERSION")
    return name, int(version)
