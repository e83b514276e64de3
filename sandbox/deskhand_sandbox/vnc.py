"""VNC: a person watches a sandbox, or takes part, with any viewer (RFC 6143, "VNC authentication").

Which sandboxes serve it is asked with `isinstance(sandbox, ServesVnc)`.
"""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

PASSWORD_CHARACTERS = 8
"""As many as VNC authentication looks at: its key is DES's."""
_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True, kw_only=True, slots=True)
class VncAddress:
    """Where a viewer connects, and with what."""

    host: str
    """Always a loopback address: VNC itself encrypts nothing."""
    port: int
    """TCP; not a display number."""
    password: str = field(repr=False)
    """Asked of every viewer; PASSWORD_CHARACTERS letters and digits."""


@runtime_checkable
class ServesVnc(Protocol):
    """A sandbox whose screen can be had by VNC."""

    async def open_vnc(self) -> VncAddress:
        """Serve the screen, with pointer and keyboard, until the next `reset` or `close`.

        Called again before that, it returns the same address. A reset ends all connections and makes the
        password worthless: who leased the sandbox before sees nothing of the next task.

        Raises:
            BackendMissing: a needed program is not installed; the message says how to mend it.
            InfrastructureError: the computer failed.
        """
        ...


def new_password() -> str:
    """A random one."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(PASSWORD_CHARACTERS))
