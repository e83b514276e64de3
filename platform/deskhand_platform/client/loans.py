"""Sandboxes of a platform, leased to work in them oneself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from deskhand_platform.api.loan_models import LoanModel, LoanStart, SeenModel
from deskhand_platform.client.calls import get, long, nothing, part, reading
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.errors import Missing
from deskhand_platform.client.flows import Call

ANSWER_S = 30.0
"""For an answer, once a sandbox is free."""


class Loans(Connection):
    """Leases, for programs that block."""

    @contextmanager
    def sandbox(
        self, kind: str = "browser", *, wait_s: float = 20.0, labels: Mapping[str, str] | None = None
    ) -> Generator[LoanModel]:
        """A sandbox of a kind for the length of the block, to be named by its `id`.

        Args:
            wait_s: longest wait until one is free, 60 at most.
            labels: which of several pools of the kind.
        """
        loan = self._do(_lease(kind, wait_s, labels))
        try:
            yield loan
        finally:
            with suppress(Missing):
                self._do(_give_back(loan.id))

    def reset_sandbox(self, id: str, task: str | Mapping[str, Any], seed: int = 0) -> LoanStart:
        """Set a task up in it: one of the catalog, by its id, or a whole one."""
        return self._do(_reset(id, task, seed))

    def act_in_sandbox(self, id: str, reply: str) -> SeenModel:
        """Do something in it, in the agent's grammar, and see what came of it."""
        return self._do(_act(id, reply))

    def observe_sandbox(self, id: str, *, text_tree: bool = False) -> SeenModel:
        """Look at it."""
        return self._do(_observe(id, text_tree))


class AsyncLoans(AsyncConnection):
    """Leases, for programs that await."""

    @asynccontextmanager
    async def sandbox(
        self, kind: str = "browser", *, wait_s: float = 20.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[LoanModel]:
        """A sandbox of a kind for the length of the block; as `Deskhand.sandbox`."""
        loan = await self._do(_lease(kind, wait_s, labels))
        try:
            yield loan
        finally:
            with suppress(Missing):
                await self._do(_give_back(loan.id))

    async def reset_sandbox(self, id: str, task: str | Mapping[str, Any], seed: int = 0) -> LoanStart:
        """Set a task up in it: one of the catalog, by its id, or a whole one."""
        return await self._do(_reset(id, task, seed))

    async def act_in_sandbox(self, id: str, reply: str) -> SeenModel:
        """Do something in it, in the agent's grammar, and see what came of it."""
        return await self._do(_act(id, reply))

    async def observe_sandbox(self, id: str, *, text_tree: bool = False) -> SeenModel:
        """Look at it."""
        return await self._do(_observe(id, text_tree))


def _lease(kind: str, wait_s: float, labels: Mapping[str, str] | None) -> Call[LoanModel]:
    body = {"kind": kind, "wait_s": wait_s, "labels": dict(labels or {})}
    return Call(
        method="POST",
        path="/v1/sandboxes",
        read=reading(LoanModel),
        body=body,
        safe=False,
        timeout_s=wait_s + ANSWER_S,
    )


def _reset(id: str, task: str | Mapping[str, Any], seed: int) -> Call[LoanStart]:
    body = {"task_id" if isinstance(task, str) else "task": task, "seed": seed}
    path, read = f"/v1/sandboxes/{part(id)}/reset", reading(LoanStart)
    return long(Call(method="POST", path=path, read=read, body=body, safe=False))


def _act(id: str, reply: str) -> Call[SeenModel]:
    path = f"/v1/sandboxes/{part(id)}/actions"
    return Call(method="POST", path=path, read=reading(SeenModel), body={"reply": reply}, safe=False)


def _observe(id: str, text_tree: bool) -> Call[SeenModel]:
    return get(f"/v1/sandboxes/{part(id)}/observation", reading(SeenModel), text_tree=text_tree or None)


def _give_back(id: str) -> Call[None]:
    return Call(method="DELETE", path=f"/v1/sandboxes/{part(id)}", read=nothing)
