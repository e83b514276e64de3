"""Everything that can go wrong in this package.

SandboxError
├── InvalidAction            the agent's action cannot be carried out (off screen, unknown key): agent's fault
├── UnsupportedCapability    this kind of sandbox cannot do that (fork, run, …)
├── UnknownName              no such kind, task or verifier; carries suggestions
├── InvalidTask              a task whose settings this backend refuses
├── InvalidPool              settings of a pool of sandboxes that are refused
└── InfrastructureError      the computer failed, not the agent: excluded from reward, retried, counted
    ├── SandboxDied          browser, guest or host process is gone
    ├── SandboxTimeout       a call passed its deadline
    ├── CommandHung          a command behind the screen did not end, while the computer runs others
    ├── BackendMissing       a program or extra is not installed; says the command that mends it
    ├── VerifierError        the verifier could not reach a verdict
    │   └── NoVerifier       the task has none: nobody could tell by rule
    └── LeaseError           something about the loan of a sandbox
        ├── LeaseExpired     deadline or heartbeat passed, or the token is not that of a live lease
        ├── LeaseUnavailable no sandbox became free within the wait
        └── HostUnreachable  no sandbox host answers at the address
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 20
"""Names that a sentence lists at most."""


def near_ones(name: str, known: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The end of a sentence that says which names there are, and those that look like this one."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near or not names:
        return f"; did you mean {' or '.join(near)}?" if near else "", tuple(near)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"; there are: {', '.join(names[:SHOWN])}{more}", ()


class SandboxError(Exception):
    """Root of this package's errors."""


class InvalidAction(SandboxError):
    """The agent's action cannot be carried out as given."""


class UnsupportedCapability(SandboxError):
    """The kind of sandbox does not offer what was asked."""


class UnknownName(SandboxError):
    """A name that no registry knows, with the nearest ones that exist."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        hint, self.suggestions = near_ones(name, known)
        super().__init__(f"unknown {what} {name!r}{hint}")
        self.what, self.name = what, name

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.what, self.name, self.suggestions))


class InvalidTask(SandboxError):
    """A task whose settings the backend refuses; says which and why."""


class InvalidPool(SandboxError):
    """Settings of a pool of sandboxes, or of leases, that are refused; says which and why."""


class InfrastructureError(SandboxError):
    """The computer failed, not the agent."""


class SandboxDied(InfrastructureError):
    """The browser, guest or host process behind the sandbox is gone."""


class SandboxTimeout(InfrastructureError):
    """A call to the sandbox passed its deadline."""


class CommandHung(InfrastructureError):
    """A command behind the screen did not end in time, and the computer runs others. After the agent's work
    that is the agent's doing: it may leave a pipe where a file should be."""


class BackendMissing(InfrastructureError):
    """A program or an extra is not installed; the message says the command that mends it."""


class VerifierError(InfrastructureError):
    """The verifier could not reach a verdict."""


class NoVerifier(VerifierError):
    """The task has no verifier: its episodes end without a verdict."""


class LeaseError(InfrastructureError):
    """Something about a loan of a sandbox."""


class LeaseExpired(LeaseError):
    """The lease's deadline or heartbeat passed, or the token is not that of a live lease."""


class LeaseUnavailable(LeaseError):
    """No sandbox became free within the wait."""


class HostUnreachable(LeaseError):
    """No sandbox host answers at the address."""
