"""Signing a browser in by name and password or by token, and how often that may go wrong."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass

from deskhand_platform.accounts.audit import Audit, Entry
from deskhand_platform.accounts.sessions import Sessions
from deskhand_platform.accounts.tokens import Tokens
from deskhand_platform.accounts.users import Users
from deskhand_platform.errors import TooManyTries, Unauthorized
from deskhand_platform.settings import AuthSettings

ACTION = "POST /login"
BY_TOKEN = "by token"
"""What stands for a name in the log where there was none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """What somebody shows: a token, or a name and a password."""

    token: str | None = None
    name: str = ""
    password: str = ""


class SignIn:
    """The door of browsers. The audit log is its memory of tries: it outlives this process."""

    def __init__(
        self, *, users: Users, tokens: Tokens, sessions: Sessions, audit: Audit, limits: AuthSettings
    ) -> None:
        self._users = users
        self._tokens = tokens
        self._sessions = sessions
        self._audit = audit
        self._limits = limits
        self._one_by_one = asyncio.Lock()

    async def __call__(self, shown: Credentials, source: str) -> str:
        """The cookie's value for whoever shows the right thing; every try is in the audit log.

        Raises:
            Unauthorized: it is not right; says no more than that.
            TooManyTries: it went wrong too often of late, from there or by that name.
        """
        target = BY_TOKEN if shown.token is not None else shown.name
        # one after the other: tries sent at once count each other
        async with self._one_by_one:
            await self._hold_back(source, target, by_target=shown.token is None)
            came = await self._who(shown)
            who = "" if came is None else came[0]
            status = 401 if came is None else 204
            await self._audit.write(
                Entry(who=who, action=ACTION, target=target, source=source, status=status)
            )
        if came is None:
            what = "not this platform's token" if shown.token is not None else "not a name with its password"
            raise Unauthorized(f"that is {what}")
        return await self._sessions.begin(*came)

    async def check_password(self, name: str, password: str, source: str) -> bool:
        """Whether it is the password of somebody who is signed in; a wrong one counts as a try to sign in.

        Raises:
            TooManyTries: it went wrong too often of late, from there or by that name.
        """
        async with self._one_by_one:
            await self._hold_back(source, name)
            right = await self._users.knows_password(name, password)
            if not right:
                entry = Entry(who=name, action=ACTION, target=name, source=source, status=401)
                await self._audit.write(entry)
        return right

    async def _hold_back(self, source: str, target: str, *, by_target: bool = True) -> None:
        """
        Args:
            by_target: tries about it count from wherever they come. Not of tokens: none is ever guessed, and
                who tries would only keep out everybody who has one.
        """
        window_s, now = self._limits.tries_window_s, time.time()

        async def refused(status: int) -> tuple[int, int]:
            since_s = now - window_s
            return await self._audit.refusals(ACTION, status, since_s=since_s, source=source, target=target)

        there, about = await refused(401)
        # a name is tried from many addresses before its owner is kept out with them
        many_there = there >= self._limits.tries
        many_of_it = by_target and about >= 3 * self._limits.tries
        if many_there or many_of_it:
            told_there, told_of_it = await refused(429)
            # once in the window, and not to count as a try: nobody fills the log, or locks a name for good
            if not (told_there if many_there else told_of_it):
                entry = Entry(who="", action=ACTION, target=target, source=source, status=429)
                await self._audit.write(entry)
            raise TooManyTries(
                f"{max(there, about)} tries to sign in went wrong within {window_s:.0f} s; "
                f"wait {math.ceil(window_s)} s",
                retry_s=window_s,
            )

    async def _who(self, shown: Credentials) -> tuple[str, str | None] | None:
        """Whose it is, and the token's id."""
        if shown.token is not None:
            came = await self._tokens.holder(shown.token)
            return None if came is None else (came.name, came.token_id)
        right = await self._users.knows_password(shown.name, shown.password)
        return (shown.name, None) if right else None
