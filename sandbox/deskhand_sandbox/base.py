"""The one contract of every computer: browser, VM, desktop, device, fake, remote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol, runtime_checkable

from deskhand_sandbox.errors import SandboxDied, UnsupportedCapability
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Outcome, Start, StepReward, Task


class Capability(StrEnum):
    """What a kind of sandbox can do beyond reset, observe, act and close."""

    EVALUATE = "evaluate"
    """`evaluate`: set-up and verifiers may read the state behind the screen."""
    TEXT_TREE = "text_tree"
    """`observe(text_tree=True)`."""
    RUN = "run"
    """`act(Run(...))` and files."""
    SNAPSHOT = "snapshot"
    """`snapshot` and `restore`."""
    FORK = "fork"
    """`fork`."""


class Sandbox(ABC):
    """A computer an agent can work at. A sandbox never grades: verifiers do.

    Every call has a deadline of its own and ends in a result or one typed error; after `SandboxDied` or
    `SandboxTimeout` the sandbox is not to be used again. Calls on one sandbox do not overlap.
    """

    id: str
    kind: str
    capabilities: frozenset[Capability] = frozenset()

    @abstractmethod
    async def reset(self, task: Task) -> Start:
        """Bring up the task's start state; nothing of an earlier task survives.

        Raises:
            InvalidTask: the task is for another kind, or a setting is refused.
            InfrastructureError: the computer failed.
        """

    @abstractmethod
    async def observe(self, *, text_tree: bool = False) -> Observation:
        """The screen once it has settled, or at the settle deadline (`settled=False`).

        Raises:
            UnsupportedCapability: a text tree was asked of a kind without one.
            InfrastructureError: the computer failed.
        """

    @abstractmethod
    async def act(self, action: DeviceAction) -> Observation:
        """Carry out one action, wait until the screen has settled, and look.

        Raises:
            InvalidAction: off the screen, an unknown key, a command without a terminal; nothing was done.
            InfrastructureError: the computer failed.
        """

    async def evaluate(self, expression: str) -> JsonValue:
        """State behind the screen, for set-up and verifiers (JavaScript in a browser, a shell command
        on a desktop). Never for agents.

        Raises:
            UnsupportedCapability: this kind has no such window.
            VerifierError: the expression failed in the page.
            InfrastructureError: the computer failed.
        """
        raise UnsupportedCapability(f"a {self.kind} sandbox has no {Capability.EVALUATE}")

    async def snapshot(self) -> str:
        """Keep the whole state; returns the name `restore` takes."""
        raise UnsupportedCapability(f"a {self.kind} sandbox has no {Capability.SNAPSHOT}")

    async def restore(self, snapshot_id: str) -> Observation:
        """Go back to a kept state."""
        raise UnsupportedCapability(f"a {self.kind} sandbox has no {Capability.SNAPSHOT}")

    async def forget(self, snapshot_id: str) -> None:
        """Let go of a kept state and what it takes up; one that is not kept is none to let go of."""
        raise UnsupportedCapability(f"a {self.kind} sandbox has no {Capability.SNAPSHOT}")

    async def fork(self, n: int) -> list[Sandbox]:
        """`n` copies of this sandbox as it is now."""
        raise UnsupportedCapability(f"a {self.kind} sandbox has no {Capability.FORK}")

    def alive(self) -> bool:
        """False once the computer is known to be gone. Cheap, asks nothing of it: True promises nothing."""
        return True

    async def ping(self) -> None:
        """Ask the computer for a sign of life, whatever state it is in; changes nothing.

        Raises:
            InfrastructureError: it gives none.
        """
        if not self.alive():
            raise SandboxDied(f"{self.kind} sandbox {self.id} is gone")

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything the sandbox holds. Safe to call twice and on a dead sandbox."""

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Backend(ABC):
    """Makes sandboxes of one kind; holds what they share (a browser, a base image)."""

    kind: str

    @abstractmethod
    async def create(self) -> Sandbox:
        """A fresh sandbox, ready for `reset`.

        Raises:
            BackendMissing: a needed program is not installed; the message says how to mend it.
            InfrastructureError: it could not be made.
        """

    def alive(self) -> bool:
        """False once what is shared is known to be gone, so that a new backend is to be made. Cheap."""
        return True

    @abstractmethod
    async def close(self) -> None:
        """Close what is shared. Sandboxes made here are dead afterwards."""


class SandboxSource(Protocol):
    """Lends sandboxes: the manager in this process, or the client of a sandbox host."""

    def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Sandbox]:
        """A sandbox of `kind` for the length of the block; given back, and cleaned, at its end.

        Args:
            owner: who asks: who has fewest is served first.
            labels: of the pool it is to come from; None for any of that kind.

        Raises (on entering):
            UnknownName: no such kind, or none with these labels.
            LeaseUnavailable: none became free within `wait_s`.
            HostUnreachable: no sandbox host answers.
        """
        ...


class Verifier(Protocol):
    """Scores what was done in a sandbox, from the outside."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict on the state as it is now.

        Args:
            answer: what the agent last said with `Answer` or `Finish`; None when it said nothing.

        Raises:
            VerifierError: no verdict could be reached.
            InfrastructureError: the computer failed.
        """
        ...


@runtime_checkable
class GivenUpVerifier(Verifier, Protocol):
    """A verifier of tasks some of which cannot be done (OSWorld's): there, saying so is right."""

    async def score_given_up(self, sandbox: Sandbox) -> Outcome:
        """The verdict in place of `score` on an episode that the agent ended with `Fail`.

        Raises:
            VerifierError: no verdict could be reached.
            InfrastructureError: the computer failed.
        """
        ...


@runtime_checkable
class PatientVerifier(Verifier, Protocol):
    """A verifier that does things of its own before it looks (OSWorld's `postconfig`)."""

    @property
    def asked_s(self) -> float:
        """Seconds they may take by their own limits, on top of what any verdict may."""
        ...


def verdict_s(verifier: Verifier) -> float:
    """Seconds a verdict may take on top of what any may."""
    return verifier.asked_s if isinstance(verifier, PatientVerifier) else 0.0


@runtime_checkable
class RewardingVerifier(Verifier, Protocol):
    """A verifier of an environment that has rewards and an end of its own (MiniWoB++, games)."""

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """Reward of the last action; the episode loop calls it after every action."""
        ...
