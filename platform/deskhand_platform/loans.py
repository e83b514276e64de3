"""Sandboxes that people and programs have leased for themselves, each held open by a task of this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from deskhand_agent.outputs import together
from deskhand_platform.accounts.quotas import Quotas
from deskhand_platform.errors import InvalidField, NoRoom, NotFound, SandboxFailed, WrongState
from deskhand_platform.live import LiveSandboxes
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import (
    HostUnreachable,
    InvalidAction,
    InvalidTask,
    LeaseExpired,
    LeaseUnavailable,
    SandboxDied,
    SandboxError,
    UnknownName,
    UnsupportedCapability,
)
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import DeviceAction, Observation, Start, Task

IDLE_S = 600.0
"""A sandbox that nobody asks anything of for so long is given back."""
LOOK_S = 0.5
"""Between two looks whether it is still alive and wanted."""
RETRY_S = 5.0
GIVE_BACK_S = 20.0
"""For the host to have a sandbox back."""


@dataclass(kw_only=True, slots=True)
class Loan:
    """A sandbox on loan to somebody."""

    id: str
    """Of the lease."""
    owner: str
    kind: str
    sandbox: Sandbox = field(repr=False)
    used_at_s: float
    """On this process's clock."""
    task_id: str | None = None
    """Of the task it was last reset to."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """What is asked of it is done one after the other."""
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Nobody wants it any more."""
    ended: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """The host has it back."""

    @property
    def left_s(self) -> float:
        """Time until it is given back, when nobody asks anything of it."""
        return max(0.0, self.used_at_s + IDLE_S - time.monotonic())


class Loans:
    """Leases on somebody's behalf, works in them and gives them back. They end with this process."""

    def __init__(self, live: LiveSandboxes, quotas: Quotas) -> None:
        self._live, self._quotas = live, quotas
        self._loans: dict[str, Loan] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: dict[str, int] = {}

    def held(self, owner: str) -> int:
        """Sandboxes somebody has, and is waiting for."""
        return sum(loan.owner == owner for loan in self._loans.values()) + self._asking.get(owner, 0)

    async def lease(self, owner: str, kind: str, *, wait_s: float, labels: Mapping[str, str]) -> Loan:
        """A sandbox of a kind, until it is given back, not asked for `IDLE_S`, or its lease ends.

        Raises:
            QuotaExceeded: they have as many as they may.
            UnknownName: none of the kind is lent here.
            NoRoom: none became free within `wait_s`.
            SandboxFailed: one could not be made.
            HostUnreachable: no sandbox host is up.
        """
        held = self.held(owner)
        # before the check waits for the database: of several who ask at once each counts those before it
        self._asking[owner] = self._asking.get(owner, 0) + 1
        try:
            await self._quotas.check_sandboxes(owner, held)
            return await self._granted(owner, kind, wait_s, labels)
        except LeaseUnavailable as error:
            raise NoRoom(f"no {kind} sandbox became free: {error}", retry_after_s=RETRY_S) from error
        except (UnknownName, HostUnreachable):
            raise
        except SandboxError as error:
            raise SandboxFailed(f"no {kind} sandbox could be made: {error}") from error
        finally:
            self._asking[owner] -= 1

    def of(self, loan_id: str, owner: str | None) -> Loan:
        """A loan.

        Args:
            owner: who asks; None: somebody who may end everybody's.

        Raises:
            NotFound: it is over, or not theirs.
        """
        loan = self._loans.get(loan_id)
        if loan is None or owner not in (None, loan.owner):
            raise NotFound("lease of yours", loan_id)
        return loan

    async def reset(self, loan: Loan, task: Task) -> Start:
        """Set a task up in it.

        Raises:
            InvalidField: the task is none for it.
            WrongState: the sandbox has ended; lease another.
            SandboxFailed: the computer failed.
        """
        if task.environment.kind != loan.kind:
            raise InvalidField(
                "task", f"takes a {task.environment.kind} sandbox, and this is a {loan.kind} one"
            )
        async with _turn(loan):
            start = await set_up(loan.sandbox, task)
            loan.task_id = task.id
            return start

    async def act(self, loan: Loan, actions: Sequence[DeviceAction]) -> Observation:
        """Do one or several things in it, and see what came of the last, and what all returned.

        Raises:
            InvalidField: one cannot be done there; those before it are done.
            WrongState: no task is set up in it, or the sandbox has ended.
            SandboxFailed: the computer failed.
        """
        async with _turn(loan):
            _must_be_set_up(loan)
            outputs: list[str] = []
            for action in actions[:-1]:
                output = (await loan.sandbox.act(action)).output
                outputs += [] if output is None else [output]
            seen = await loan.sandbox.act(actions[-1])
            if not outputs:
                return seen
            return replace(seen, output=together([*outputs, seen.output or ""]))

    async def observe(self, loan: Loan, *, text_tree: bool) -> Observation:
        """What is to be seen in it now.

        Raises:
            InvalidField: it has no text tree.
            WrongState: no task is set up in it, or the sandbox has ended.
            SandboxFailed: the computer failed.
        """
        async with _turn(loan):
            _must_be_set_up(loan)
            return await loan.sandbox.observe(text_tree=text_tree)

    async def give_back(self, loan: Loan) -> None:
        """End it, whatever goes on in it; the host has it back afterwards, unless that takes very long."""
        loan.over.set()
        self._loans.pop(loan.id, None)
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_BACK_S):
                await loan.ended.wait()

    async def close(self) -> None:
        """Give everything back."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _granted(self, owner: str, kind: str, wait_s: float, labels: Mapping[str, str]) -> Loan:
        granted: asyncio.Future[Loan] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._hold(owner, kind, wait_s, labels, granted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(granted)
        except asyncio.CancelledError:  # whoever asked has gone
            task.cancel()
            raise

    async def _hold(
        self, owner: str, kind: str, wait_s: float, labels: Mapping[str, str], granted: asyncio.Future[Loan]
    ) -> None:
        """Keep a lease open for as long as it is wanted."""
        loan: Loan | None = None
        try:
            async with self._live.host().lease(kind, owner=owner, wait_s=wait_s, labels=labels) as sandbox:
                loan = Loan(
                    id=await self._lease_of(sandbox),
                    owner=owner,
                    kind=sandbox.kind,
                    sandbox=sandbox,
                    used_at_s=time.monotonic(),
                )
                self._loans[loan.id] = loan
                granted.set_result(loan)
                try:
                    await _wanted(loan)
                finally:
                    self._loans.pop(loan.id, None)
        except SandboxError as error:
            if not granted.done():
                granted.set_exception(error)
        finally:
            if loan is not None:
                loan.ended.set()

    async def _lease_of(self, sandbox: Sandbox) -> str:
        found = next((one for one in await self._live.leases() if one.sandbox_id == sandbox.id), None)
        if found is None:
            raise LeaseExpired(f"the lease of sandbox {sandbox.id} ended as it began")
        return found.id


async def _wanted(loan: Loan) -> None:
    """Until the loan is given back, idle, or dead."""
    while loan.sandbox.alive() and (loan.left_s > 0 or loan.turn.locked()):
        try:
            async with asyncio.timeout(LOOK_S):
                await loan.over.wait()
                return
        except TimeoutError:
            continue


@asynccontextmanager
async def _turn(loan: Loan) -> AsyncGenerator[None]:
    """One call to it; what it says went wrong, in the words of whoever asked."""
    async with loan.turn:
        try:
            yield
        except InvalidTask as error:
            raise InvalidField("task", str(error)) from error
        except (InvalidAction, UnsupportedCapability) as error:
            raise InvalidField("reply", str(error)) from error
        except (SandboxDied, LeaseExpired) as error:
            raise WrongState(f"the sandbox has ended ({error}); lease another") from error
        except SandboxError as error:
            raise SandboxFailed(f"the {loan.kind} sandbox failed: {error}") from error
        finally:
            loan.used_at_s = time.monotonic()


def _must_be_set_up(loan: Loan) -> None:
    if loan.task_id is None:
        raise WrongState(f"no task is set up in it yet; POST one to /v1/sandboxes/{loan.id}/reset")
