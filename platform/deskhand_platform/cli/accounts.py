"""`deskhand users` and `deskhand tokens`: accounts of this home, whether it is served or not.

Whoever may read the home's database administers it: this is also the way back in for an administrator who
has lost the password. From elsewhere the API does the same (`/v1/users`, `/v1/tokens`).
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from getpass import getpass
from typing import Annotated, TypeVar

import typer

from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.access import SCOPES, Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.auth import OWNER
from deskhand_platform.cli.console import out, say, table, when
from deskhand_platform.cli.opening import opened_accounts
from deskhand_platform.errors import InvalidField

people = typer.Typer(help="Accounts: who may come in, and as what.", no_args_is_help=True)
tokens = typer.Typer(help="API tokens: what programs come in with.", no_args_is_help=True)

T = TypeVar("T")
Name = Annotated[str, typer.Argument(help="of the user")]
Json = Annotated[bool, typer.Option("--json", help="as JSON")]
Ask = Annotated[
    bool, typer.Option("--ask", help="ask for the password, or read it from a pipe; without, one is made up")
]
UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


@people.command(
    epilog="Examples:  deskhand users add ada --role researcher   ·   deskhand users add ci --token-only"
)
def add(
    name: Annotated[str, typer.Argument(help="a-z, 0-9, _, . and -")],
    role: Annotated[Role, typer.Option(help="what they are here for")] = Role.SUBMITTER,
    ask: Ask = False,
    token_only: Annotated[bool, typer.Option("--token-only", help="no password: for a program")] = False,
) -> None:
    """Open an account; prints the password that was made up, which is shown this once."""
    password = None if token_only else _password(ask)

    async def work(accounts: Accounts) -> None:
        await accounts.users.add(name, role, password)

    _run(work, "deskhand users add", f"{name}, {role}")
    _tell(password, ask=ask)


@people.command("list", epilog="Example:  deskhand users list --json")
def list_people(as_json: Json = False) -> None:
    """Everybody with an account."""
    found = _run(lambda accounts: accounts.users.list())
    if as_json:
        out.print(json.dumps([asdict(one) for one in found]), markup=False, soft_wrap=True)
        return
    lines = table("user", "role", "comes in by", "since")
    for one in found:
        way = "not at all: disabled" if one.disabled else "password" if one.has_password else "token"
        lines.add_row(one.name, one.role, way, when(one.created_at_s))
    out.print(lines)


@people.command(epilog="Examples:  deskhand users password ada   ·   deskhand users password owner --ask")
def password(name: Name, ask: Ask = False) -> None:
    """Give another password, and sign the user out everywhere; prints the one that was made up."""
    new = _password(ask)
    _run(lambda accounts: accounts.users.set_password(name, new), "deskhand users password", name)
    _tell(new, ask=ask)


@people.command(epilog="Examples:  deskhand users disable ada   ·   deskhand users disable ada --undo")
def disable(
    name: Name, undo: Annotated[bool, typer.Option("--undo", help="let them in again")] = False
) -> None:
    """Let somebody in no more, by whatever; what they did stays."""
    command = "deskhand users disable" + (" --undo" if undo else "")
    _run(lambda accounts: accounts.users.change(name, disabled=not undo), command, name)


@people.command("role", epilog="Example:  deskhand users role ada operator")
def set_role(name: Name, role: Annotated[Role, typer.Argument(help="the new one")]) -> None:
    """Give somebody another role; it holds at once."""
    _run(lambda accounts: accounts.users.change(name, role=role), "deskhand users role", f"{name}, {role}")


@tokens.command(
    epilog="Examples:  deskhand tokens create nightly   ·   "
    "deskhand tokens create nightly --user ci --scope tasks:write --scope tasks:read --lasts 90d"
)
def create(
    label: Annotated[str, typer.Argument(help="what it is for")],
    user: Annotated[str, typer.Option(help="whose it is")] = OWNER,
    scope: Annotated[
        list[str] | None,
        typer.Option(help=f"repeatable; all that the user may without. There are: {', '.join(SCOPES)}"),
    ] = None,
    lasts: Annotated[str | None, typer.Option(help="30m, 12h, 90d; until revoked without")] = None,
) -> None:
    """Make a token; prints it, which happens this once."""
    lasts_s = None if lasts is None else _seconds(lasts)
    _, token = _run(
        lambda accounts: accounts.tokens.create(user, label, scopes=scope, lasts_s=lasts_s),
        "deskhand tokens create",
        f"{label}, for {user}",
    )
    out.print(token, markup=False, soft_wrap=True)


@tokens.command("list", epilog="Example:  deskhand tokens list --user ci")
def list_tokens(
    user: Annotated[str | None, typer.Option(help="only of this user")] = None, as_json: Json = False
) -> None:
    """Tokens, newest first; also those that open nothing any more."""
    found = _run(lambda accounts: accounts.tokens.list(user))
    if as_json:
        out.print(json.dumps([asdict(one) for one in found]), markup=False, soft_wrap=True)
        return
    lines = table("id", "user", "for", "scopes", "made", "until", "last used")
    for one in found:
        until = f"revoked {when(one.revoked_at_s)}" if one.revoked_at_s else when(one.expires_at_s)
        scopes = "all" if one.scopes is None else " ".join(one.scopes)
        lines.add_row(
            one.id, one.owner, one.label, scopes, when(one.created_at_s), until, when(one.used_at_s)
        )
    out.print(lines)


@tokens.command(epilog="Example:  deskhand tokens revoke 3f9a0c11d2e4")
def revoke(
    id: Annotated[str, typer.Argument(help="of the token, as `deskhand tokens list` shows it")],
) -> None:
    """Let a token open nothing any more, nor what was signed in with it."""
    _run(lambda accounts: accounts.tokens.revoke(id), "deskhand tokens revoke", id)


def _run(work: Callable[[Accounts], Awaitable[T]], command: str | None = None, target: str = "") -> T:
    async def opened() -> T:
        async with opened_accounts(command, target) as accounts:
            return await work(accounts)

    return asyncio.run(opened())


def _password(ask: bool) -> str:
    if not ask:
        return passwords.generated()
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass("New password: ")
    if first != getpass("The same again: "):
        raise InvalidField("password", "they are not the same")
    return first


def _tell(password: str | None, *, ask: bool) -> None:
    if password is not None and not ask:
        say("The password, shown this once:")
        out.print(password, markup=False, soft_wrap=True)


def _seconds(lasts: str) -> float:
    found = re.fullmatch(r"(\d+)([mhd])", lasts.strip())
    if found is None:
        raise InvalidField("--lasts", f"{lasts!r} is no time such as 30m, 12h or 90d")
    return int(found[1]) * UNITS[found[2]]
