"""What a task says of its tools and of its network, checked, and taken out of what its sandbox is told.

    "mcp_servers": {
      "notes": {"command": "python3", "args": ["notes.py"], "env": {"LANG": "C"}, "files": {"notes.py": "…"}},
      "search": {"url": "http://127.0.0.1:8931/mcp", "headers": {"Authorization": "Bearer …"}, "timeout_s": 5}
    }

A server with a command is started inside the sandbox; one with an address runs already. Names and form are
those of the configuration files of other programs that use MCP servers; `files` and `timeout_s` are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast
from urllib.parse import urlsplit

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tools.addresses import on_loopback
from deskhand_sandbox.tools.policy import Policy, check_network
from deskhand_sandbox.types import JsonValue, Task

SERVERS = "mcp_servers"
NETWORK = "network"
WHOLE: Mapping[str, tuple[JsonValue, JsonValue]] = {"desktop": ("deny", "allow"), "vm": (False, True)}
"""Kinds whose programs have a network or none, and how they are told."""
MOST_SERVERS = 16
LONGEST_S = 40.0
"""A call may take no longer: an action has a deadline of its own."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_STDIO = ("command", "args", "env", "files")
_HTTP = ("url", "headers")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolServer:
    """One MCP server of a task."""

    name: str
    """Its tools are called NAME.tool."""
    program: tuple[str, ...] = ()
    """Command line, run in the home of the sandbox; empty where there is a `url`."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables it finds besides the sandbox's own."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text files that are written in the sandbox before it is started: path -> content."""
    url: str = ""
    """Where it answers (streamable HTTP): on this machine's loopback, or where the network policy allows it;
    elsewhere near by it has to list the host."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float = 20.0
    """Longest one call may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSettings:
    """What a task has for its agent beside the screen."""

    servers: tuple[ToolServer, ...]
    policy: Policy
    """What `Fetch` and the servers' addresses may reach."""


def tool_settings(task: Task) -> tuple[ToolSettings, Task]:
    """The settings of a task, and the task with those that its sandbox knows.

    A browser has a network policy of its own. The programs of a desktop and of a VM have all of the network,
    or none (with a list of hosts too), and those of other kinds never have one: there the list is about
    `Fetch` and the addresses of tools alone.

    Raises:
        InvalidTask: says which setting, and why.
    """
    kind, settings = task.environment.kind, dict(task.environment.settings)
    try:
        servers = _servers(settings.pop(SERVERS, {}))
        network = settings.get(NETWORK, "allow" if kind == "browser" else "deny")
        if kind == "vm" and isinstance(network, bool):
            network = "allow" if network else "deny"
        rule = tuple(cast("list[object]", network)) if isinstance(network, list | tuple) else network
        check_network(rule)
        policy = Policy(rules=(cast("str", rule),))  # pyright: ignore[reportArgumentType]  checked above
        for server in servers:
            _check_reachable(server, policy)
    except InvalidTask as error:
        raise InvalidTask(f"task {task.id}: {error}") from None
    if kind != "browser" and settings.pop(NETWORK, None) is not None and kind in WHOLE:
        settings[NETWORK] = WHOLE[kind][network == "allow"]
    bare = replace(task, environment=replace(task.environment, settings=settings))
    return ToolSettings(servers=servers, policy=policy), bare


def _servers(value: JsonValue) -> tuple[ToolServer, ...]:
    if not isinstance(value, Mapping) or len(value) > MOST_SERVERS:
        raise InvalidTask(f"{SERVERS} must be up to {MOST_SERVERS} servers by name, not {value!r:.200}")
    return tuple(_server(name, each) for name, each in value.items())


def _server(name: str, value: JsonValue) -> ToolServer:
    what = f"{SERVERS}: {name!r}"
    if not _NAME.fullmatch(name):
        raise InvalidTask(f"{what} is no name of a server: up to 40 letters, digits, _ and -")
    if not isinstance(value, Mapping):
        raise InvalidTask(f"{what} must be a server's settings, not {value!r:.200}")
    known = ("timeout_s", *(_HTTP if "url" in value else _STDIO))
    for each in value:
        if each not in known:
            raise InvalidTask(f"{what}: {UnknownName('setting', each, known)}")
    timeout_s = _seconds(value.get("timeout_s", 20.0), f"{what}: timeout_s")
    if "url" in value:
        url = _text(value["url"], f"{what}: url")
        headers = _texts(value.get("headers", {}), f"{what}: headers")
        return ToolServer(name=name, url=url, headers=headers, timeout_s=timeout_s)
    command = _text(value.get("command"), f"{what}: command, or else url,")
    arguments = value.get("args", [])
    if not isinstance(arguments, list | tuple):
        raise InvalidTask(f"{what}: args must be a list of texts, not {arguments!r:.200}")
    words = [_text(each, f"{what}: each of args", empty=True) for each in arguments]
    return ToolServer(
        name=name,
        program=(command, *words),
        environment=_texts(value.get("env", {}), f"{what}: env"),
        files=_texts(value.get("files", {}), f"{what}: files"),
        timeout_s=timeout_s,
    )


def _seconds(value: JsonValue, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_S:
        raise InvalidTask(f"{what} must be a positive number up to {LONGEST_S:g}, not {value!r}")
    return float(value)


def _text(value: JsonValue, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or "\0" in value or not (value or empty):
        raise InvalidTask(f"{what} must be text, not {value!r:.200}")
    return value


def _texts(value: JsonValue, what: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidTask(f"{what} must be texts by name, not {value!r:.200}")
    return {_text(name, what): _text(each, what, empty=True) for name, each in value.items()}


def _check_reachable(server: ToolServer, policy: Policy) -> None:
    if not server.url:
        return
    what = f"{SERVERS}: {server.name!r}"
    try:
        parts = urlsplit(server.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise InvalidTask(f"{what}: {server.url!r} is no address: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidTask(f"{what}: url must start with http:// or https://, not {server.url!r}")
    if not on_loopback(host) and not policy.allows(host, port):
        raise InvalidTask(f"{what}: the network policy of the task does not allow {host}:{port}")
