"""Accounts, tokens, quotas and the audit log over HTTP."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from deskhand_platform.accounts.access import Role
from deskhand_platform.api.models import Incoming

Password = Annotated[str, Field(max_length=256, description="10 to 256 characters")]
Limit = Annotated[int, Field(ge=0, le=2**53)] | None


class UserModel(BaseModel):
    """One account."""

    name: str
    role: Role
    has_password: bool
    """False: comes in by token only."""
    disabled: bool
    created_at_s: float


class NewUser(Incoming):
    name: str
    """1 to 32 of a-z, 0-9, _, . and -."""
    role: Role
    password: Password | None = None
    """None: one is made up, and shown in the answer."""
    token_only: bool = False
    """No password at all: an account for a program."""


class NewPassword(Incoming):
    password: Password | None = None
    """None: one is made up, and shown in the answer."""


class OwnPassword(Incoming):
    current: Password = ""
    """The one so far; empty when there is none."""
    password: Password


class UserChange(Incoming):
    """What is to change; what is left out stays."""

    role: Role | None = None
    disabled: bool | None = None


class UserMade(BaseModel):
    """An account, with its password where that was made up: it is shown this once."""

    user: UserModel
    password: str | None = None


class TokenModel(BaseModel):
    """What is known of an API token."""

    id: str
    owner: str
    label: str
    scopes: list[str] | None
    """None: all that its owner may."""
    created_at_s: float
    expires_at_s: float | None
    revoked_at_s: float | None
    used_at_s: float | None
    """To within five minutes; None: never."""


class NewToken(Incoming):
    label: Annotated[str, Field(max_length=64)]
    """What it is for."""
    scopes: list[str] | None = None
    """None: all that its owner may, now and later."""
    lasts_s: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Seconds until it opens nothing any more; None: until it is revoked."""
    owner: str | None = None
    """Whose it is to be; somebody else's only by an administrator."""


class TokenMade(BaseModel):
    """A token, which is shown this once."""

    token: str
    about: TokenModel


class QuotaBody(Incoming):
    """An owner's limits; None: what the settings say."""

    tasks: Limit = None
    """Queued and running."""
    sandboxes: Limit = None
    bytes: Limit = None
    """Of the pictures of their episodes."""


class QuotaModel(BaseModel):
    """None: any number."""

    tasks: int | None
    sandboxes: int | None
    bytes: int | None


class UsageModel(BaseModel):
    """What somebody has, and may have."""

    owner: str
    tasks: int
    sandboxes: int
    bytes: int
    limits: QuotaModel
    set_here: QuotaModel
    """What their account says; None: what the settings say."""


class AuditEntry(BaseModel):
    """One thing that somebody did, or tried."""

    id: int
    at_s: float
    who: str
    """Empty: nobody that is known."""
    action: str
    """A route or a command."""
    target: str
    source: str
    """A network address, or "command line"."""
    status: int
    """As HTTP has it: 400 and above was refused."""
    detail: str


class SettingModel(BaseModel):
    """A setting in force."""

    name: str
    """As in `config.yaml`, with dots."""
    value: JsonValue
    """Passwords within addresses are hidden."""
    changed: bool
    """Not the default."""
