"""`deskhand users` and `deskhand tokens`: of this home, served or not, or of a platform elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from getpass import getpass
from typing import Annotated, TypeVar

import typer

from deskhand_platform.accounts.access import SCOPES, Role
from deskhand_platform.api.account_models import TokenModel
from deskhand_platform.cli.client import Client, HomeUrl, Url, asked, looked_up
from deskhand_platform.cli.console import Json, out, print_json, say, table, when
from deskhand_platform.errors import InvalidField

people = typer.Typer(help="Accounts: who may come in, and as what.", no_args_is_help=True)
tokens = typer.Typer(help="API tokens: what programs come in with.", no_args_is_help=True)

T = TypeVar("T")
Name = Annotated[str, typer.Argument(help="of the user")]
Ask = Annotated[
    bool, typer.Option("--ask", help="ask for the password, or read it from a pipe; without, one is made up")
]
UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


@people.command(
    epilog="Examples:  deskhand users add ada --role researcher   ·   deskhand users add ci --token-only"
    "   ·   deskhand users add ada --url https://deskhand.example.com"
)
def add(
    name: Annotated[str, typer.Argument(help="a-z, 0-9, _, . and -")],
    role: Annotated[Role, typer.Option(help="what they are here for")] = Role.SUBMITTER,
    ask: Ask = False,
    token_only: Annotated[bool, typer.Option("--token-only", help="no password: for a program")] = False,
    url: HomeUrl = None,
) -> None:
    """Open an account; prints the password that was made up, which is shown this once."""
    chosen = None if token_only else _password(ask)
    made = _run(lambda client: client.add_user(name, role, password=chosen, token_only=token_only), url)
    _tell(made.password)


@people.command(
    "list",
    epilog="Examples:  deskhand users list --json   ·   deskhand users list --url https://deskhand.example.com",
)
def list_people(as_json: Json = False, url: HomeUrl = None) -> None:
    """Everybody with an account."""
    found = _run(lambda client: client.users(), url)
    if as_json:
        print_json(found)
        return
    lines = table("user", "role", "comes in by", "since")
    for one in found:
        way = "not at all: disabled" if one.disabled else "password" if one.has_password else "token"
        lines.add_row(one.name, one.role, way, when(one.created_at_s))
    out.print(lines)


@people.command(
    epilog="Examples:  deskhand users password ada   ·   deskhand users password owner --ask   ·   "
    "deskhand users password ada --url https://deskhand.example.com"
)
def password(name: Name, ask: Ask = False, url: HomeUrl = None) -> None:
    """Give another password, and sign the user out everywhere; prints the one that was made up."""
    chosen = _password(ask)
    _tell(_run(lambda client: client.set_password(name, chosen), url).password)


@people.command(
    epilog="Examples:  deskhand users disable ada   ·   deskhand users disable ada --undo   ·   "
    "deskhand users disable ada --url https://deskhand.example.com"
)
def disable(
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="let them in again")] = False,
    url: HomeUrl = None,
) -> None:
    """Let somebody in no more, by whatever; what they did stays."""
    _run(lambda client: client.change_user(name, disabled=not undo), url)


@people.command(
    "role",
    epilog="Examples:  deskhand users role ada operator   ·   "
    "deskhand users role ada operator --url https://deskhand.example.com",
)
def set_role(
    name: Name, role: Annotated[Role, typer.Argument(help="the new one")], url: HomeUrl = None
) -> None:
    """Give somebody another role; it holds at once."""
    _run(lambda client: client.change_user(name, role=role), url)


@people.command("own-password", epilog="Example:  deskhand users own-password")
def own_password(url: Url = None) -> None:
    """Change your own password; asks for the one so far (empty: none) and the new one, or reads two lines."""
    current = getpass("The one so far: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    chosen = _password(True) or ""
    asked(lambda client: client.set_own_password(chosen, current), url)


@people.command(
    epilog="Examples:  deskhand users quotas   ·   deskhand users quotas --url https://deskhand.example.com"
)
def quotas(as_json: Json = False, url: HomeUrl = None) -> None:
    """What everybody has and may have, or you alone where you administer nothing."""
    found = _run(lambda client: client.quotas(), url)
    if as_json:
        print_json(found)
        return
    lines = table("user", "tasks", "sandboxes", "bytes")
    for one in found:
        limits = (one.limits.tasks, one.limits.sandboxes, one.limits.bytes)
        used = zip((one.tasks, one.sandboxes, one.bytes), limits, strict=True)
        lines.add_row(one.owner, *(f"{has} of {'any' if may is None else may}" for has, may in used))
    out.print(lines)


@people.command(
    "limit",
    epilog="Examples:  deskhand users limit ada --tasks 500 --bytes 10000000000   ·   "
    "deskhand users limit ada",
)
def set_limit(
    name: Name,
    max_tasks: Annotated[int | None, typer.Option("--tasks", min=0, help="queued and running")] = None,
    max_sandboxes: Annotated[int | None, typer.Option("--sandboxes", min=0)] = None,
    max_bytes: Annotated[
        int | None, typer.Option("--bytes", min=0, help="of their episodes' pictures, trees and outputs")
    ] = None,
    url: HomeUrl = None,
) -> None:
    """Give somebody limits of their own; what is left out is as the settings say."""
    limits = {"tasks": max_tasks, "sandboxes": max_sandboxes, "bytes": max_bytes}
    _run(lambda client: client.set_quota(name, **limits), url)


@tokens.command(
    epilog="Examples:  deskhand tokens create nightly   ·   "
    "deskhand tokens create nightly --user ci --scope tasks:write --scope tasks:read --lasts 90d   ·   "
    "deskhand tokens create laptop --url https://deskhand.example.com"
)
def create(
    label: Annotated[str, typer.Argument(help="what it is for")],
    user: Annotated[
        str | None, typer.Option(help="whose it is; your own without, and the owner's of this home")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help=f"repeatable; all that the user may without. There are: {', '.join(SCOPES)}"),
    ] = None,
    lasts: Annotated[str | None, typer.Option(help="30m, 12h, 90d; until revoked without")] = None,
    url: HomeUrl = None,
) -> None:
    """Make a token; prints it, which happens this once."""
    lasts_s = None if lasts is None else _seconds(lasts)
    made = _run(lambda client: client.create_token(label, scopes=scope, lasts_s=lasts_s, owner=user), url)
    out.print(made.token, soft_wrap=True)


@tokens.command(
    "list",
    epilog="Examples:  deskhand tokens list --user ci   ·   deskhand tokens list --url "
    "https://deskhand.example.com",
)
def list_tokens(
    user: Annotated[str | None, typer.Option(help="only of this user; without, all that you may see")] = None,
    as_json: Json = False,
    url: HomeUrl = None,
) -> None:
    """Tokens, newest first; also those that open nothing any more."""
    found = _run(lambda client: _tokens(client, user), url)
    if as_json:
        print_json(found)
        return
    lines = table("id", "user", "for", "scopes", "made", "until", "last used")
    for one in found:
        until = f"revoked {when(one.revoked_at_s)}" if one.revoked_at_s else when(one.expires_at_s)
        scopes = "all" if one.scopes is None else " ".join(one.scopes)
        lines.add_row(
            one.id, one.owner, one.label, scopes, when(one.created_at_s), until, when(one.used_at_s)
        )
    out.print(lines)


@tokens.command(
    epilog="Examples:  deskhand tokens revoke 3f9a0c11d2e4   ·   "
    "deskhand tokens revoke 3f9a0c11d2e4 --url https://deskhand.example.com"
)
def revoke(
    id: Annotated[str, typer.Argument(help="of the token, as `deskhand tokens list` shows it")],
    url: HomeUrl = None,
) -> None:
    """Let a token open nothing any more, nor what was signed in with it."""
    _run(lambda client: client.revoke_token(id), url)


async def _tokens(client: Client, user: str | None) -> list[TokenModel]:
    if user is None and "admin" in (await client.info()).scopes:
        return await client.tokens("*")
    return await client.tokens(user)


def _run(work: Callable[[Client], Awaitable[T]], url: str | None) -> T:
    return looked_up(work, url, first_admin=True)


def _password(ask: bool) -> str | None:
    """None: the platform makes one up."""
    if not ask:
        return None
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass("New password: ")
    if first != getpass("The same again: "):
        raise InvalidField("password", "they are not the same")
    return first


def _tell(password: str | None) -> None:
    if password is not None:
        say("The password, shown this once:")
        out.print(password, soft_wrap=True)


def _seconds(lasts: str) -> float:
    found = re.fullmatch(r"(\d+)([mhd])", lasts.strip())
    if found is None:
        raise InvalidField("--lasts", f"{lasts!r} is no time such as 30m, 12h or 90d")
    return int(found[1]) * UNITS[found[2]]
