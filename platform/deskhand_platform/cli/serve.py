"""`deskhand serve` and `deskhand url`."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from deskhand_platform.auth import read_token
from deskhand_platform.cli.console import out, say
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.errors import NotServing, Unauthorized
from deskhand_platform.lock import serving
from deskhand_platform.settings import Settings, load_settings
from deskhand_sandbox import logs

if TYPE_CHECKING:
    from deskhand_platform.accounts.opening import FirstAdmin

Port = Annotated[int | None, typer.Option(help="port to listen on; 0 for any free one", min=0, max=65535)]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="have a platform that works the same database stop")
]
Host = Annotated[str | None, typer.Option(help="address to listen on")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example:  deskhand serve --port 9000")(serve)
    app.command(epilog="Example:  deskhand url")(url)


def serve(port: Port = None, host: Host = None, take_over: TakeOver = False) -> None:
    """Run the platform: API, page, task queue, rounds and sandbox host. Ctrl-C stops all of it."""
    settings = load_settings(port=port, host=host)
    # at a terminal only what is amiss is of interest; the sandbox host has no settings but the variable
    quiet = logging.WARNING if settings.logs == "text" else logging.INFO
    logs.configure(settings.logs, process="platform", level=quiet)
    os.environ[logs.VARIABLE] = settings.logs
    raise typer.Exit(run_until_signal(_serve(settings, take_over), run=uvloop.run))


async def _serve(settings: Settings, take_over: bool) -> int:
    from deskhand_platform.serving import platform

    async with platform(settings, take_over=take_over) as up:
        introduce(up.url, up.first_admin)
        await asyncio.Event().wait()
    return 0


def introduce(url: str, first: FirstAdmin | None) -> None:
    """Say where the page is; how to sign in only when the first administrator was made just now."""
    if first is None:
        say(f"Deskhand is up at {url}  (`deskhand url` prints an address that signs in)")
        return
    say("Deskhand is up.")
    welcome(first)
    if first.token is not None:
        address = sign_in_address(url, first.token)
        say(f"Open this address; it signs you in, and is printed only this once:\n  {address}")


def welcome(first: FirstAdmin) -> None:
    """How the first administrator comes in."""
    say(
        "There is an administrator now; the password is printed only this once:\n"
        f"  name      {first.name}\n  password  {first.password}"
    )


def sign_in_address(url: str, token: str) -> str:
    """An address that signs a browser in; what stands after `#` never leaves the browser."""
    return f"{url}/#token={token}"


def url() -> None:
    """Print an address that opens the page signed in."""
    settings = load_settings()
    found, token = serving(settings.home), read_token(settings.home)
    if found is None or found.url is None:
        raise NotServing(f"no platform serves {settings.home}; start one with `deskhand serve`")
    if token is None:
        raise Unauthorized(f"there is no token in {settings.home}; use the one printed at the first start")
    out.print(sign_in_address(found.url, token), soft_wrap=True)
