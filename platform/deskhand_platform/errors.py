"""Everything that can go wrong in this package.

PlatformError
├── NotFound                 no such task, round, trajectory, policy, preset; carries suggestions
├── WrongState               the thing exists but cannot do that now
├── NoLongerKept             it was there, and is too old now
├── InvalidField             a value from outside is refused; names the field
├── TooLarge                 what was sent, or is asked for, is beyond a limit; says both
├── NoRoom                   everything is taken now; says when to try again
├── Unauthorized             no token, or a wrong one
├── Forbidden                the role or the token is not for that, or the thing is another person's
├── TooMuch                  not now; says when to try again
│   ├── TooManyTries         signing in went wrong too often
│   └── QuotaExceeded        the owner has as many or as much as they may
├── SettingsError            the settings or the configuration file are refused
├── HomeInUse                another platform serves this home folder
├── DatabaseInUse            another platform works this database; says which and since when
├── PortInUse                somebody listens on the address already
├── NotServing               no platform answers at the address
├── PreviewFailed            a task cannot be shown before it is submitted
├── ScreenUnavailable        a sandbox's screen is not to be had by VNC
├── SandboxFailed            a sandbox somebody leased failed, or could not be made
├── ChildFailed              a process the platform needs does not start
└── RoundFailed              a phase of a round came to nothing; says which and why
"""

from __future__ import annotations

from collections.abc import Iterable

from deskhand_sandbox.errors import near_ones


class PlatformError(Exception):
    """Root of this package's errors."""


class NotFound(PlatformError):
    """No such thing, with the nearest ones that exist."""

    def __init__(self, what: str, name: object, known: Iterable[str] = ()) -> None:
        hint, self.suggestions = near_ones(str(name), known)
        super().__init__(f"no {what} {str(name)!r}{hint}")
        self.what = what


class WrongState(PlatformError):
    """The thing exists but cannot do that now."""

    def __init__(self, message: str, *, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        """In which it is, by its name; None: the message alone says it."""


class NoLongerKept(PlatformError):
    """It was there, and is too old now."""


class InvalidField(PlatformError):
    """A value from outside is refused."""

    def __init__(self, field: str, message: str, *, suggestions: Iterable[str] = ()) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.reason = message
        self.suggestions = tuple(suggestions)


class TooLarge(PlatformError):
    """What was sent, or is asked for, is beyond a limit."""


class NoRoom(PlatformError):
    """Everything is taken now."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(f"{message}; try again in {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class Unauthorized(PlatformError):
    """No token, or a wrong one."""


class Forbidden(PlatformError):
    """The role or the token is not for that, or the thing is another person's."""


class TooMuch(PlatformError):
    """Not now."""

    def __init__(self, message: str, *, retry_s: float) -> None:
        super().__init__(message)
        self.retry_s = retry_s
        """Seconds after which another try makes sense."""


class TooManyTries(TooMuch):
    """Signing in went wrong too often."""


class QuotaExceeded(TooMuch):
    """The owner has as many or as much as they may."""

    def __init__(self, message: str, *, used: int, limit: int, asked: int, retry_s: float) -> None:
        super().__init__(message, retry_s=retry_s)
        self.used = used
        self.limit = limit
        self.asked = asked


class SettingsError(PlatformError):
    """The settings or the configuration file are refused."""


class DatabaseInUse(PlatformError):
    """Another platform works this database, or has taken it over."""


class HomeInUse(PlatformError):
    """Another platform serves this home folder."""


class PortInUse(PlatformError):
    """Somebody listens on the address already."""


class NotServing(PlatformError):
    """No platform answers at the address."""


class PreviewFailed(PlatformError):
    """A task cannot be shown before it is submitted: no sandbox, or it cannot be set up."""


class ScreenUnavailable(PlatformError):
    """A sandbox's screen is not to be had by VNC; pictures of it may be."""


class SandboxFailed(PlatformError):
    """A sandbox somebody leased failed, or could not be made."""


class ChildFailed(PlatformError):
    """A process the platform needs does not start."""


class RoundFailed(PlatformError):
    """A phase of a round came to nothing."""
