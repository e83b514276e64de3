"""The accounts of one home, and its first administrator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deskhand_flywheel.database import Database
from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import Audit
from deskhand_platform.accounts.quotas import Quotas
from deskhand_platform.accounts.sessions import Sessions
from deskhand_platform.accounts.signing_in import SignIn
from deskhand_platform.accounts.tokens import Tokens
from deskhand_platform.accounts.users import Users
from deskhand_platform.auth import HASH_FILE, OWNER, TOKEN_FILE, hash_token, write_private
from deskhand_platform.errors import NotFound
from deskhand_platform.settings import Settings

MACHINE = "machine"
"""Id of the token of this machine's command line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accounts:
    """Everything that knows about people."""

    users: Users
    tokens: Tokens
    sessions: Sessions
    audit: Audit
    quotas: Quotas
    sign_in: SignIn
    cookie: str
    """Name of the session cookie: cookies ignore ports, so two platforms on one host need two names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstAdmin:
    """How the first administrator comes in: told once, kept hashed."""

    name: str
    password: str
    token: str | None
    """None: they have it already."""


async def open_accounts(database: Database, settings: Settings) -> tuple[Accounts, FirstAdmin | None]:
    """The accounts of a home; at its first start with an administrator, whose password is to be printed once.

    The first administrator is called `owner`: marks and tasks from before there were accounts are theirs.
    `HOME/token` holds their token for the command line of this machine, as it always did; removing the file
    leaves the platform to those who know a password or have a token of their own.
    """
    users, tokens = Users(database), Tokens(database)
    first = None
    if not await users.list(Role.ADMIN):
        password = passwords.generated()
        await users.add(OWNER, Role.ADMIN, password)
        token_hash = _known_hash(settings.home)
        _, token = await tokens.create(
            OWNER, "this machine's command line", id=MACHINE, token_hash=token_hash
        )
        if token_hash is None:
            write_private(settings.home / TOKEN_FILE, token)
        first = FirstAdmin(name=OWNER, password=password, token=None if token_hash else token)
    return await accounts_of(database, settings), first


async def accounts_of(database: Database, settings: Settings) -> Accounts:
    """The accounts of a home, as they are."""
    users, tokens, audit = Users(database), Tokens(database), Audit(database)
    sessions = Sessions(database, lasts_s=settings.auth.session_s)
    return Accounts(
        users=users,
        tokens=tokens,
        sessions=sessions,
        audit=audit,
        quotas=Quotas(database, settings.quotas),
        sign_in=SignIn(users=users, tokens=tokens, sessions=sessions, audit=audit, limits=settings.auth),
        cookie=await _cookie(tokens, settings.home),
    )


async def _cookie(tokens: Tokens, home: Path) -> str:
    try:
        made = (await tokens.get(MACHINE)).created_at_s
    except NotFound:
        made = 0.0
    return f"deskhand_{hash_token(f'{home} {made}')[:8]}"


def _known_hash(home: Path) -> str | None:
    """Of the token of a platform from before there were accounts, or of one whose database is gone."""
    for name, what in ((HASH_FILE, str), (TOKEN_FILE, hash_token)):
        try:
            if text := (home / name).read_text().strip():
                return what(text)
        except FileNotFoundError:
            continue
    return None
