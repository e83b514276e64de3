"""Work on a platform's store that takes its time: asked for, looked at, waited for, cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from deskhand_platform.api.job_models import JobLog, JobModel
from deskhand_platform.api.models import Page
from deskhand_platform.client.calls import get, page, part, reading
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call, until_over


class Jobs(Connection):
    """Jobs of the store, for programs that block."""

    def start_job(self, order: BaseModel | Mapping[str, Any]) -> JobModel:
        """Queue a job.

        Args:
            order: of `deskhand_platform.api.job_models`, or as JSON: {"kind": "gc", "apply": true}.
        """
        return self._do(_start(order))

    def jobs(self, kind: str | None = None, state: str | None = None) -> Iterator[JobModel]:
        """Jobs, newest first."""
        return self._every(_list(kind, state))

    def job(self, id: str) -> JobModel:
        """A job as it is now, with what came of it once it is done."""
        return self._do(_get(id))

    def cancel_job(self, id: str) -> JobModel:
        """Take a job out of the queue, or stop it; what it has done stays done."""
        return self._do(_cancel(id))

    def job_log(self, id: str, offset: int | None = None, *, tail: int | None = None) -> JobLog:
        """What a job wrote from an offset on, in bytes; None: its last `tail` bytes."""
        return self._do(_log(id, offset, tail))

    def wait_job(self, id: str, timeout_s: float | None = None) -> JobModel:
        """The job when it is over.

        Raises:
            NotOver: the time has passed before; the job goes on.
        """
        return self._follow(until_over(_get(id), timeout_s, self._patience))


class AsyncJobs(AsyncConnection):
    """Jobs of the store, for programs that await."""

    async def start_job(self, order: BaseModel | Mapping[str, Any]) -> JobModel:
        """Queue a job.

        Args:
            order: as for `Deskhand.start_job`.
        """
        return await self._do(_start(order))

    def jobs(self, kind: str | None = None, state: str | None = None) -> AsyncIterator[JobModel]:
        """Jobs, newest first."""
        return self._every(_list(kind, state))

    async def job(self, id: str) -> JobModel:
        """A job as it is now, with what came of it once it is done."""
        return await self._do(_get(id))

    async def cancel_job(self, id: str) -> JobModel:
        """Take a job out of the queue, or stop it; what it has done stays done."""
        return await self._do(_cancel(id))

    async def job_log(self, id: str, offset: int | None = None, *, tail: int | None = None) -> JobLog:
        """What a job wrote from an offset on, in bytes; None: its last `tail` bytes."""
        return await self._do(_log(id, offset, tail))

    async def wait_job(self, id: str, timeout_s: float | None = None) -> JobModel:
        """The job when it is over.

        Raises:
            NotOver: the time has passed before; the job goes on.
        """
        return await self._follow(until_over(_get(id), timeout_s, self._patience))


def _start(order: BaseModel | Mapping[str, Any]) -> Call[JobModel]:
    body = order.model_dump(mode="json") if isinstance(order, BaseModel) else dict(order)
    return Call(method="POST", path="/v1/jobs", read=reading(JobModel), body=body, safe=False)


def _list(kind: str | None, state: str | None) -> Callable[[str | None], Call[Page[JobModel]]]:
    return page("/v1/jobs", JobModel, kind=kind, state=state)


def _get(id: str) -> Call[JobModel]:
    return get(f"/v1/jobs/{part(id)}", reading(JobModel))


def _cancel(id: str) -> Call[JobModel]:
    return Call(method="POST", path=f"/v1/jobs/{part(id)}/cancel", read=reading(JobModel), safe=False)


def _log(id: str, offset: int | None, tail: int | None) -> Call[JobLog]:
    return get(f"/v1/jobs/{part(id)}/log", reading(JobLog), offset=offset, tail=tail)
