"""Accounts, limits and tokens, for both clients."""

from __future__ import annotations

from collections.abc import Sequence

from deskhand_platform.accounts.access import Role
from deskhand_platform.api.account_models import TokenMade, TokenModel, UsageModel, UserMade, UserModel
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncAccounts(AsyncConnection):
    """Accounts, limits and tokens, for programs that await."""

    async def users(self) -> list[UserModel]:
        """Everybody with an account, by name."""
        return await self._do(_users())

    async def add_user(
        self, name: str, role: Role, *, password: str | None = None, token_only: bool = False
    ) -> UserMade:
        """Open an account; without a password one is made up, which is told this once."""
        return await self._do(_add_user(name, role, password, token_only))

    async def change_user(
        self, name: str, *, role: Role | None = None, disabled: bool | None = None
    ) -> UserModel:
        """Give somebody another role, shut them out, or let them in again."""
        return await self._do(_change_user(name, role, disabled))

    async def set_password(self, name: str, password: str | None = None) -> UserMade:
        """Give somebody another password, or one that is made up, and sign them out everywhere."""
        return await self._do(_set_password(name, password))

    async def set_own_password(self, password: str, current: str = "") -> None:
        """Change one's own password, which signs one out everywhere; tokens stay.

        Args:
            current: the one so far; empty where there is none.
        """
        await self._do(_set_own_password(password, current))

    async def quotas(self) -> list[UsageModel]:
        """What one has and may have; everybody's, for administrators."""
        return await self._do(_quotas())

    async def set_quota(
        self,
        name: str,
        *,
        tasks: int | None = None,
        sandboxes: int | None = None,
        bytes: int | None = None,
    ) -> UsageModel:
        """Give somebody limits of their own in the place of those they had; None: what the settings say.

        Args:
            tasks: queued and running.
            bytes: of their episodes' pictures, accessibility trees and outputs.
        """
        return await self._do(_set_quota(name, tasks, sandboxes, bytes))

    async def tokens(self, owner: str | None = None) -> list[TokenModel]:
        """Tokens of one owner, newest first; one's own without, everybody's with "*"."""
        return await self._do(_tokens(owner))

    async def create_token(
        self,
        label: str,
        *,
        scopes: Sequence[str] | None = None,
        lasts_s: float | None = None,
        owner: str | None = None,
    ) -> TokenMade:
        """Make a token, which is told this once; one's own, unless an owner is named."""
        return await self._do(_create_token(label, scopes, lasts_s, owner))

    async def revoke_token(self, id: str) -> TokenModel:
        """Let a token open nothing any more."""
        return await self._do(_revoke_token(id))


class Accounts(Connection):
    """Accounts, limits and tokens, for programs that block."""

    def users(self) -> list[UserModel]:
        """Everybody with an account, by name."""
        return self._do(_users())

    def add_user(
        self, name: str, role: Role, *, password: str | None = None, token_only: bool = False
    ) -> UserMade:
        """Open an account; without a password one is made up, which is told this once."""
        return self._do(_add_user(name, role, password, token_only))

    def change_user(self, name: str, *, role: Role | None = None, disabled: bool | None = None) -> UserModel:
        """Give somebody another role, shut them out, or let them in again."""
        return self._do(_change_user(name, role, disabled))

    def set_password(self, name: str, password: str | None = None) -> UserMade:
        """Give somebody another password, or one that is made up, and sign them out everywhere."""
        return self._do(_set_password(name, password))

    def set_own_password(self, password: str, current: str = "") -> None:
        """Change one's own password, which signs one out everywhere; tokens stay.

        Args:
            current: the one so far; empty where there is none.
        """
        self._do(_set_own_password(password, current))

    def quotas(self) -> list[UsageModel]:
        """What one has and may have; everybody's, for administrators."""
        return self._do(_quotas())

    def set_quota(
        self,
        name: str,
        *,
        tasks: int | None = None,
        sandboxes: int | None = None,
        bytes: int | None = None,
    ) -> UsageModel:
        """Give somebody limits of their own in the place of those they had; None: what the settings say.

        Args:
            tasks: queued and running.
            bytes: of their episodes' pictures, accessibility trees and outputs.
        """
        return self._do(_set_quota(name, tasks, sandboxes, bytes))

    def tokens(self, owner: str | None = None) -> list[TokenModel]:
        """Tokens of one owner, newest first; one's own without, everybody's with "*"."""
        return self._do(_tokens(owner))

    def create_token(
        self,
        label: str,
        *,
        scopes: Sequence[str] | None = None,
        lasts_s: float | None = None,
        owner: str | None = None,
    ) -> TokenMade:
        """Make a token, which is told this once; one's own, unless an owner is named."""
        return self._do(_create_token(label, scopes, lasts_s, owner))

    def revoke_token(self, id: str) -> TokenModel:
        """Let a token open nothing any more."""
        return self._do(_revoke_token(id))


def _users() -> Call[list[UserModel]]:
    return calls.get("/v1/users", calls.reading_list(UserModel))


def _add_user(name: str, role: Role, password: str | None, token_only: bool) -> Call[UserMade]:
    body = {"name": name, "role": role, "password": password, "token_only": token_only}
    return Call(method="POST", path="/v1/users", read=calls.reading(UserMade), body=body, safe=False)


def _change_user(name: str, role: Role | None, disabled: bool | None) -> Call[UserModel]:
    body = calls.given({"role": role, "disabled": disabled})
    return Call(
        method="PATCH", path=f"/v1/users/{calls.part(name)}", read=calls.reading(UserModel), body=body
    )


def _set_password(name: str, password: str | None) -> Call[UserMade]:
    path, body = f"/v1/users/{calls.part(name)}/password", calls.given({"password": password})
    return Call(method="PUT", path=path, read=calls.reading(UserMade), body=body)


def _set_own_password(password: str, current: str) -> Call[None]:
    body = {"current": current, "password": password}
    # sent twice, the one so far would be wrong
    return Call(method="PUT", path="/v1/password", read=calls.nothing, body=body, safe=False)


def _quotas() -> Call[list[UsageModel]]:
    return calls.get("/v1/quotas", calls.reading_list(UsageModel))


def _set_quota(name: str, tasks: int | None, sandboxes: int | None, bytes: int | None) -> Call[UsageModel]:
    body = {"tasks": tasks, "sandboxes": sandboxes, "bytes": bytes}
    path = f"/v1/quotas/{calls.part(name)}"
    return Call(method="PUT", path=path, read=calls.reading(UsageModel), body=body)


def _tokens(owner: str | None) -> Call[list[TokenModel]]:
    return calls.get("/v1/tokens", calls.reading_list(TokenModel), owner=owner)


def _create_token(
    label: str, scopes: Sequence[str] | None, lasts_s: float | None, owner: str | None
) -> Call[TokenMade]:
    whose = {"label": label, "scopes": None if scopes is None else [*scopes]}
    body = calls.given({**whose, "lasts_s": lasts_s, "owner": owner})
    return Call(method="POST", path="/v1/tokens", read=calls.reading(TokenMade), body=body, safe=False)


def _revoke_token(id: str) -> Call[TokenModel]:
    return Call(method="DELETE", path=f"/v1/tokens/{calls.part(id)}", read=calls.reading(TokenModel))
