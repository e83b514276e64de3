"""What of the network a task may reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from deskhand_sandbox.errors import InvalidTask

Network: TypeAlias = 'Literal["allow", "deny"] | tuple[str, ...]'
"""Everything, nothing, or hosts: "example.com", "example.com:8080", "*.example.com"."""

Neighbours: TypeAlias = Literal["allow", "named", "deny"]
"""Whether this machine and the networks it stands in are reached: like any other place, only the hosts that a
rule lists in no pattern or that a task begins at, or not at all."""

DEBUGGING_PORTS = range(62000, 62500)
"""Where browsers of ours listen on this machine's loopback to who drives them, without asking for a token: no
policy allows them, at any host."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What may be reached."""

    rules: tuple[Network, ...]
    """Of the backend and of the task: all of them must allow it."""
    sites: Mapping[str, int] = field(default_factory=dict[str, int])
    """Hosts that are served by this backend for its tasks, which are always allowed, and their ports."""
    neighbours: Neighbours = "named"
    trusted: tuple[str, ...] = ()
    """Hosts, or as in rules, of which it is said besides that they may stand there."""

    @property
    def restricts(self) -> bool:
        """Some rule forbids something."""
        return any(rule != "allow" for rule in self.rules)

    @property
    def holds(self) -> bool:
        """Something is forbidden at all."""
        return self.restricts or self.neighbours != "allow"

    def allows(self, host: str, port: int) -> bool:
        """Whether a host may be reached at a port."""
        if host in self.sites:
            return True
        return port not in DEBUGGING_PORTS and all(_within(rule, host, port) for rule in self.rules)

    def lists(self, host: str, port: int) -> bool:
        """Whether a host may stand near by: a rule has it, in no pattern, or it is trusted."""
        if self.neighbours != "named":
            return self.neighbours == "allow"
        lists = (self.trusted, *(rule for rule in self.rules if not isinstance(rule, str)))
        return host in (*self.sites, *self.trusted) or any(
            _matches(each, host, port, pattern=False) for rule in lists for each in rule
        )

    def place(self, host: str, port: int) -> tuple[str, int]:
        """Where a host is served."""
        own = self.sites.get(host)
        return (host, port) if own is None else ("127.0.0.1", own)


def check_network(value: object) -> None:
    """Refuse what is no policy.

    Raises:
        InvalidTask: says what one is.
    """
    if value in ("allow", "deny"):
        return
    hosts = value if isinstance(value, tuple) else ()
    if not hosts or not all(isinstance(each, str) and _is_host(each) for each in hosts):
        raise InvalidTask(
            f'network must be "allow", "deny" or a list of hosts such as "example.com" and'
            f' "*.example.com:8080", not {value!r}'
        )


def _within(rule: Network, host: str, port: int) -> bool:
    if isinstance(rule, str):
        return rule == "allow"
    return any(_matches(each, host, port, pattern=True) for each in rule)


def _matches(listed: str, host: str, port: int, *, pattern: bool) -> bool:
    name, _, wanted = listed.lower().partition(":")
    if wanted and int(wanted) != port:
        return False
    return name == host or (pattern and name.startswith("*.") and host.endswith(name[1:]))


def _is_host(text: str) -> bool:
    name, colon, port = text.partition(":")
    plain = name.removeprefix("*.")
    fits = bool(plain) and all(each.isalnum() or each in "-._" for each in plain)
    return fits and (not colon or (port.isdigit() and 0 < int(port) < 65536))
