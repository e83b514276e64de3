"""A VM as a sandbox: a clone of the saved state, brought back to it for each task."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import deskhand_sandbox.accessibility
from deskhand_sandbox.backends.calls import Calls
from deskhand_sandbox.backends.vm.actions import Hands
from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.eye import Eye, encode
from deskhand_sandbox.backends.vm.guest_program import GuestProgram
from deskhand_sandbox.backends.vm.guest_terminal import GuestTerminal
from deskhand_sandbox.backends.vm.machine import Machine
from deskhand_sandbox.backends.vm.settings import GuestSettings, VmSettings, guest_settings
from deskhand_sandbox.backends.vm.states import READY
from deskhand_sandbox.backends.vm.vnc_door import VncDoor
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidTask,
    UnknownName,
    UnsupportedCapability,
)
from deskhand_sandbox.terminal.verdict import ANSWERS_S, COMMAND_S
from deskhand_sandbox.tools.program import Program
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task
from deskhand_sandbox.vnc import VncAddress

SCREEN = frozenset({Capability.SNAPSHOT, Capability.FORK})
"""What takes no agent in the guest."""
AGENT = frozenset({Capability.RUN, Capability.EVALUATE, Capability.TEXT_TREE})
TREE = Path(deskhand_sandbox.accessibility.__file__).with_name("atspi_tree.py")
TREE_NODES = 1500
TREE_S, TREE_ANSWER_S = 10.0, 3.0
"""For all of a tree, and for one answer in it: an emulated guest is slow right after a reset."""
SNAPSHOTS = 32
"""Most that are kept at once: each takes as much of the disk as the guest uses memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A state of this sandbox."""

    token: str | None
    """What the guest's agent was claimed with then."""
    task: GuestSettings


Copy = Callable[[Machine], Awaitable[Machine]]
"""Makes a machine with a copy of another's disk, and of the states kept in it."""


class VmSandbox(Sandbox):
    """See `Sandbox`. After SandboxDied or SandboxTimeout it is not to be used again."""

    kind = "vm"

    def __init__(
        self,
        settings: VmSettings,
        machine: Machine,
        channel: Channel | None,
        *,
        size_px: tuple[int, int],
        copy: Copy,
        task: GuestSettings | None = None,
    ) -> None:
        """
        Args:
            machine: running.
            channel: to the agent in it, claimed; None where there is none.
            task: of the sandbox it is a fork of; None for a fresh one.
        """
        self.id = uuid.uuid4().hex
        self.capabilities = SCREEN | AGENT if channel is not None else SCREEN
        self._settings = settings
        self._machine = machine
        self._channel = channel
        self._size_px = size_px
        self._copy = copy
        self._task = task
        self._used = task is not None
        self._kept: dict[str, Kept] = {}
        self._eye = Eye(machine)
        self._terminal = None if channel is None else GuestTerminal(channel)
        self._hands = Hands(machine, self._eye, self._terminal)
        self._door: VncDoor | None = None
        self._calls = Calls()

    # ---- the contract

    async def reset(self, task: Task) -> Start:
        settings = guest_settings(task, agent=self._channel is not None)
        if not task.instruction:
            raise InvalidTask(f"task {task.id} has no instruction")
        async with self._calls.call("reset", self._settings.reset_deadline_s + 2 * settings.ready_deadline_s):
            await self._shut_door()
            if self._used:  # a fresh clone is in the saved state
                await self._go_back()
            self._task, self._used = settings, True
            await self._machine.plug(connected=settings.network)
            if self._terminal is not None:
                await self._set_up(self._terminal, settings, task.seed)
            await self._hands.rest()
            return Start(instruction=task.instruction, observation=await self._look())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        if text_tree and Capability.TEXT_TREE not in self.capabilities:
            raise UnsupportedCapability(f"this VM has no agent inside, and no {Capability.TEXT_TREE}")
        async with self._calls.call("observe", self._settings.call_deadline_s):
            seen = await self._look()
            return replace(seen, text_tree=await self._tree()) if text_tree else seen

    async def act(self, action: DeviceAction) -> Observation:
        async with self._calls.call(type(action).__name__, self._settings.call_deadline_s + asked_s(action)):
            output = await self._hands.perform(action, self._size_px)
            return replace(await self._look(), output=output)

    async def evaluate(self, expression: str) -> JsonValue:
        """A shell command's verdict, run beside the agent's programs and apart from its terminal.

        Returns:
            False at exit status 1, as `test` and `grep` mean it; else the output, as JSON where it is JSON,
            as text otherwise, and true where there is none.
        """
        if self._terminal is None:
            raise UnsupportedCapability(f"this VM has no agent inside, and no {Capability.EVALUATE}")
        limit_s = min(self._settings.call_deadline_s, COMMAND_S)
        async with self._calls.call("evaluate", limit_s + 2 * ANSWERS_S):
            return await self._terminal.evaluate(expression, timeout_s=limit_s)

    async def snapshot(self) -> str:
        """Keep the whole machine, as it is between two of its instructions."""
        async with self._calls.call("snapshot", self._settings.reset_deadline_s):
            if len(self._kept) >= SNAPSHOTS:
                raise InfrastructureError(f"a VM keeps up to {SNAPSHOTS} states: reset it, or use a fork")
            tag = f"s{secrets.token_hex(4)}"
            await self._machine.save(tag)
            self._kept[tag] = self._now()
            return tag

    async def restore(self, snapshot_id: str) -> Observation:
        """Go back to a kept state, exactly; the clock goes on from now.

        Raises:
            UnknownName: no such state since the last reset.
        """
        kept = self._kept.get(snapshot_id)
        if kept is None:
            raise UnknownName("snapshot", snapshot_id, self._kept)
        async with self._calls.call("restore", self._settings.reset_deadline_s):
            await self._machine.load(snapshot_id)
            self._task = kept.task
            await self._wake(kept.token, machine_id=None)
            return await self._look()

    async def forget(self, snapshot_id: str) -> None:
        """Give the disk back that a kept state takes."""
        async with self._calls.call("forget", self._settings.reset_deadline_s):
            if snapshot_id in self._kept:
                await self._machine.forget(snapshot_id)
                del self._kept[snapshot_id]

    async def fork(self, n: int) -> list[Sandbox]:
        """`n` exact copies of the machine as it is now; terminals start anew."""
        async with self._calls.call("fork", self._settings.reset_deadline_s * max(1, n)):
            tag = f"f{secrets.token_hex(4)}"
            now, made = self._now(), list[VmSandbox]()
            try:
                await self._machine.pause()
                try:
                    await self._machine.save(tag)
                    made = await _all_or_none([self._fork_one(tag, now) for _ in range(n)])
                finally:
                    with contextlib.suppress(InfrastructureError):  # it was not kept, or the machine is gone
                        await self._machine.forget(tag)
                    if self._machine.ended is None:
                        await self._machine.resume()
            except BaseException:
                for each in made:
                    await each.close()
                raise
            return list(made)

    async def rewind(self) -> None:
        """Go back to the saved state, whatever happened since, and claim the guest anew: what a reset
        begins with, before it sets the task up.

        Raises:
            InfrastructureError: the VM failed.
        """
        async with self._calls.call("rewind", self._settings.reset_deadline_s):
            await self._shut_door()
            await self._go_back()

    async def open_vnc(self) -> VncAddress:
        """See `ServesVnc`. It takes no agent in the guest; a restored state is shown at the same address."""
        async with self._calls.call("open_vnc", self._settings.call_deadline_s):
            if self._door is None:
                self._door = await VncDoor.open(self._machine)
            return self._door.address

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> Program:
        """See `RunsPrograms`."""
        if self._channel is None:
            raise UnsupportedCapability("this VM has no agent inside, so no program there can be talked to")
        async with self._calls.call("start_program", self._settings.call_deadline_s):
            return await GuestProgram.start(self._channel, program, environment)

    def alive(self) -> bool:
        return self._calls.usable and self._machine.ended is None

    async def close(self) -> None:
        await self._calls.close()
        try:
            await self._shut_door()
            if self._channel is not None and self._terminal is not None:
                self._terminal.forget()
                await self._channel.close()
        finally:
            await self._machine.close()

    # ---- how

    @property
    def machine(self) -> Machine:
        """The machine underneath."""
        return self._machine

    async def _go_back(self) -> None:
        await self._machine.load(READY)
        for tag in list(self._kept):
            await self._machine.forget(tag)
            del self._kept[tag]
        await self._wake(None, machine_id=secrets.token_hex(16))

    async def _shut_door(self) -> None:
        door, self._door = self._door, None
        if door is not None:
            await door.close()

    async def _wake(self, token: str | None, *, machine_id: str | None) -> None:
        """Claim the guest anew after it went to another state."""
        if self._channel is None or self._terminal is None:
            return
        self._terminal.forget()
        self._channel.trust(token)
        await self._channel.ready(self._settings.call_deadline_s)
        await self._channel.claim(machine_id=machine_id)
        await self._channel.ask("end_all")

    async def _set_up(self, terminal: GuestTerminal, settings: GuestSettings, seed: int) -> None:
        if settings.size_px is not None:
            width, height = settings.size_px
            await terminal.channel.ask("resize", width=width, height=height)
        if settings.network:
            await terminal.channel.ask("network", up=True)
        if settings.prepare is not None:
            await terminal.prepare(settings.prepare, seed=seed, timeout_s=settings.ready_deadline_s)
        if settings.applications:
            await terminal.channel.ask(
                "open",
                commands=[list(command) for command in settings.applications],
                deadline_s=settings.ready_deadline_s,
                takes_s=settings.ready_deadline_s,
            )

    async def _fork_one(self, tag: str, now: Kept) -> VmSandbox:
        machine = await self._copy(self._machine)
        channel = None
        try:
            if self._channel is not None:
                channel = await Channel.connect(machine.channel)
            await machine.load(tag)
            await machine.forget(tag)
            await machine.resume()
            fork = VmSandbox(
                self._settings, machine, channel, size_px=self._size_px, copy=self._copy, task=now.task
            )
            await fork._wake(now.token, machine_id=None)
        except BaseException:
            if channel is not None:
                await channel.close()
            await machine.close()
            raise
        return fork

    def _now(self) -> Kept:
        if self._task is None:
            raise InfrastructureError("the VM has not been reset to a task yet")
        return Kept(token=None if self._channel is None else self._channel.token, task=self._task)

    async def _tree(self) -> str:
        assert self._terminal is not None
        program = ("python3", "-", str(TREE_NODES), str(TREE_S), str(TREE_ANSWER_S))
        code, out, err = await self._terminal.run(program, given=TREE.read_bytes(), timeout_s=2 * TREE_S)
        if code:
            said = err.decode(errors="replace").strip().splitlines()[-1:]
            raise InfrastructureError(f"the guest gave no accessibility tree: {''.join(said)}")
        if code is None and not out:
            raise InfrastructureError(
                f"the guest gave no accessibility tree: nobody answered in {2 * TREE_S:g} s"
            )
        note = "\n[it took too long]" if code is None else ""
        return out.decode(errors="replace").rstrip("\n") + note

    async def _look(self) -> Observation:
        task = self._task
        if task is None:
            raise InfrastructureError("the VM has not been reset to a task yet")
        sight = await self._eye.still(still_s=task.still_ms / 1000, deadline_s=task.settle_deadline_ms / 1000)
        image = await asyncio.to_thread(encode, sight.frame, task.image_format, task.image_quality)
        self._size_px = sight.frame.width, sight.frame.height
        return Observation(
            screenshot=image,
            captured_at_s=sight.captured_at_s,
            settled_ms=sight.settled_ms,
            settled=sight.settled,
            terminal=None if self._terminal is None else self._terminal.screen(),
        )


async def _all_or_none(making: Sequence[Coroutine[None, None, VmSandbox]]) -> list[VmSandbox]:
    """What all make; where one fails or this is cancelled, nothing is left of the others."""
    jobs = [asyncio.create_task(each) for each in making]
    try:
        return list(await asyncio.gather(*jobs))
    except BaseException:
        for job in jobs:
            job.cancel()
        for done in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(done, VmSandbox):
                await done.close()
        raise
