"""`python -m deskhand_sandbox.host`: a sandbox host of its own.

By hand: `python -m deskhand_sandbox.host --state DIR --kind browser=8 --kind fake`; the first line of its
output is JSON with the address and the token. `--pool 'browser={"settings": {"isolation": "process"}}'` says
more of a pool than how many. `start_host` passes the settings through a pipe instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskhand_sandbox import logs
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.host.serve import serve
from deskhand_sandbox.host.settings import HostSettings, from_json
from deskhand_sandbox.manager import Lending, PoolSettings
from deskhand_sandbox.manager.manager import registered_backend
from deskhand_sandbox.manager.pool import MakeBackend


def main(arguments: Sequence[str] | None = None, *, make_backend: MakeBackend = registered_backend) -> int:
    """Run a host until it is told to stop; returns the exit code.

    Args:
        make_backend: where kinds come from; a program with backends of its own calls this with its own.
    """
    options = read_options(arguments)
    logs.configure(logs.asked_form(), process="sandbox host")
    try:
        if options.ready_fd is None:
            settings = settings_by_hand(options)
            asyncio.run(serve(settings, ready=sys.stdout, make_backend=make_backend))
        else:
            settings = from_json(sys.stdin.readline())
            ready = os.fdopen(options.ready_fd, "w")
            asyncio.run(
                serve(
                    settings,
                    ready=ready,
                    parent=options.parent,
                    lifeline=sys.stdin,
                    make_backend=make_backend,
                )
            )
    except (OSError, ValueError, InvalidPool) as error:
        print(f"the sandbox host cannot run: {error}", file=sys.stderr)
        return 1
    return 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskhand_sandbox.host", description=__doc__)
    parser.add_argument("--kind", action="append", default=[], metavar="KIND[=MAX]", help="lend this kind")
    parser.add_argument("--pool", action="append", default=[], metavar="NAME=JSON", help="lend such a pool")
    parser.add_argument("--state", type=Path, metavar="DIR", help="folder of the journal")
    parser.add_argument("--socket", type=Path, help="listen on this unix socket, not on a port")
    parser.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ready_fd is None and not ((options.kind or options.pool) and options.state):
        parser.error("give at least one --kind or --pool, and --state")
    return options


def settings_by_hand(options: argparse.Namespace) -> HostSettings:
    """
    Raises:
        ValueError: a --kind or --pool is malformed.
        InvalidPool: a pool is refused; says why.
    """
    kinds: dict[str, PoolSettings] = {}
    for text in options.kind:
        kind, _, most = str(text).partition("=")
        if most and not most.isdigit():
            raise ValueError(f"--kind {text}: give KIND or KIND=MAX with a whole number")
        kinds[kind] = PoolSettings(max_sandboxes=int(most)) if most else PoolSettings()
    given: dict[str, Any] = {}
    for text in options.pool:
        name, _, told = str(text).partition("=")
        try:
            given[name] = json.loads(told)
        except ValueError:
            raise ValueError(f"--pool {text}: give NAME=JSON, a mapping of settings") from None
    lending = Lending(pools=given)
    kinds |= lending.pools_of(lending.kinds, most=PoolSettings().max_sandboxes)
    return HostSettings(kinds=kinds, state_folder=options.state, socket_path=options.socket)


if __name__ == "__main__":
    sys.exit(main())
