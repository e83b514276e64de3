"""Everything that can go wrong in this package.

PlatformError
├── NotFound                 no such task, round, trajectory, policy, preset; carries suggestions
├── WrongState               the thing exists but cannot do that now
├── InvalidField             a value from outside is refused; names the field
├── Unauthorized             no token, or a wrong one
├── Forbidden                the token is for annotating, or the thing is another person's
├── SettingsError            the settings or the configuration file are refused
├── HomeInUse                another platform serves this home folder
├── PortInUse                somebody listens on the address already
├── NotServing               no platform answers at the address
├── PreviewFailed            a task cannot be shown before it is submitted
├── ChildFailed              a process the platform needs does not start
└── RoundFailed              a phase of a round came to nothing; says which and why
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PlatformError(Exception):
    """Root of this package's errors."""


class NotFound(PlatformError):
    """No such thing, with the nearest ones that exist."""

    def __init__(self, what: str, name: object, known: Iterable[str] = ()) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        if names and not near:
            hint = f"; there are: {', '.join(names[:20])}"
        super().__init__(f"no {what} {str(name)!r}{hint}")
        self.what = what
        self.suggestions = tuple(near)


class WrongState(PlatformError):
    """The thing exists but cannot do that now."""


class InvalidField(PlatformError):
    """A value from outside is refused."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.reason = message


class Unauthorized(PlatformError):
    """No token, or a wrong one."""


class Forbidden(PlatformError):
    """The token is for annotating only, or the thing is another person's."""


class SettingsError(PlatformError):
    """The settings or the configuration file are refused."""


class HomeInUse(PlatformError):
    """Another platform serves this home folder."""


class PortInUse(PlatformError):
    """Somebody listens on the address already."""


class NotServing(PlatformError):
    """No platform answers at the address."""


class PreviewFailed(PlatformError):
    """A task cannot be shown before it is submitted: no sandbox, or it cannot be set up."""


class ChildFailed(PlatformError):
    """A process the platform needs does not start."""


class RoundFailed(PlatformError):
    """A phase of a round came to nothing."""
