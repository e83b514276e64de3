"""/v1/users and /v1/password: accounts, for administrators; one's own password."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request

from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.users import User
from deskhand_platform.api.account_models import (
    NewPassword,
    NewUser,
    OwnPassword,
    UserChange,
    UserMade,
    UserModel,
)
from deskhand_platform.api.deps import Have, Noted, Who, source_of
from deskhand_platform.errors import InvalidField

router = APIRouter(tags=["accounts"])


@router.get("/users")
async def list_users(have: Have) -> list[UserModel]:
    """Everybody with an account, by name."""
    return [shown(one) for one in await have.accounts.users.list()]


@router.post("/users", status_code=201)
async def add_user(have: Have, noted: Noted, body: NewUser) -> UserMade:
    """Open an account."""
    if body.token_only and body.password is not None:
        raise InvalidField("token_only", "is for accounts without a password: leave one of the two out")
    password = body.password
    if password is None and not body.token_only:
        password = passwords.generated()
    noted(f"{body.name}, {body.role}")
    user = await have.accounts.users.add(body.name, body.role, password)
    return UserMade(user=shown(user), password=password if body.password is None else None)


@router.patch("/users/{name}")
async def change_user(have: Have, noted: Noted, name: str, body: UserChange) -> UserModel:
    """Give somebody another role, shut them out, or let them in again."""
    noted(", ".join(f"{key} {value}" for key, value in body.model_dump(exclude_none=True).items()))
    return shown(await have.accounts.users.change(name, role=body.role, disabled=body.disabled))


@router.put("/users/{name}/password")
async def set_password(have: Have, name: str, body: NewPassword) -> UserMade:
    """Give somebody another password; signs them out everywhere. Their tokens stay."""
    password = passwords.generated() if body.password is None else body.password
    await have.accounts.users.set_password(name, password)
    user = await have.accounts.users.get(name)
    return UserMade(user=shown(user), password=password if body.password is None else None)


@router.put("/password", status_code=204)
async def set_own_password(have: Have, who: Who, request: Request, body: OwnPassword) -> None:
    """Change one's own password; signs one out everywhere."""
    users = have.accounts.users
    known = (await users.get(who.name)).has_password
    if known and not await have.accounts.sign_in.check_password(who.name, body.current, source_of(request)):
        raise InvalidField("current", "is not your password")
    await users.set_password(who.name, body.password)


def shown(user: User) -> UserModel:
    """An account for the wire."""
    return UserModel.model_validate(asdict(user))
