"""Users: the people behind the accounts."""

from dataclasses import dataclass
from datetime import datetime

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows import Rows
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.cost_weights import HASHING
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.services.login import (
    Done,
    free_username,
    log_out,
    named,
    open_account,
    own_directory,
    username_of,
)
from wattgate.graphql.types import accounts as identity
from wattgate.graphql.types import users as types
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """A user with their accounts."""

    user_id: str
    applications: list[models.Account]
    status: str
    active: bool
    created_at: datetime
    updated_at: datetime
    authentication_framework: str | None = None


async def record_of(rows: Rows, user: models.User, *, framework: str | None = None) -> UserRecord:
    """The record of a user as callers get it; `framework` says by what an OAuth token was checked."""
    accounts = await rows.all(
        models.Account, col(models.Account.user_id) == user.user_id, order_by=[models.Account.created_at]
    )
    return UserRecord(
        user_id=user.user_id,
        applications=accounts,
        status=user.status,
        active=user.active,
        created_at=user.created_at,
        updated_at=user.updated_at,
        authentication_framework=framework,
    )


@operation(Kind.QUERY, returns=types.User, needs=Permission.USER_READ, rest=Rest("GET", "/user"))
async def user_by_username(call: Call, *, username: str, directory_id: strawberry.ID | None = None) -> UserRecord:
    """The user with an account of this name, in the application's own directory unless another is named."""
    account = await named(call.rows, username, directory_id)
    if account is None:
        raise NotFound(f"no user with username {username_of(username)}")
    return await record_of(call.rows, await call.rows.get(models.User, account.user_id))


@operation(Kind.QUERY, returns=types.User, needs=Permission.USER_READ, rest=Rest("GET", "/user/{userId}"))
async def user(call: Call, *, user_id: strawberry.ID) -> UserRecord:
    """The user with this id."""
    return await record_of(call.rows, await call.rows.get(models.User, user_id))


@operation(Kind.MUTATION, returns=types.User, needs=Permission.USER_WRITE, rest=Rest("POST", "/user"), weight=HASHING)
async def add_user(call: Call, *, input: types.NewUser) -> UserRecord:
    """Add a user with an account; both are active at once."""
    added = await call.rows.add(models.User())
    await open_account(
        call.rows,
        added,
        username=input.username,
        directory_id=input.directory_id,
        password=input.password,
        name=input.name,
        email=input.email,
    )
    return await record_of(call.rows, added)


@operation(Kind.MUTATION, returns=types.User, needs=Permission.USER_DELETE, rest=Rest("DELETE", "/user/{userId}"))
async def delete_user(call: Call, *, user_id: strawberry.ID) -> UserRecord:
    """Close all of a user's accounts and end their tokens. Homes, meters and readings stay."""
    closed = await call.rows.edit(models.User, user_id)
    closed.active, closed.status = False, "inactive"
    await call.rows.flush()
    of_user = col(models.Account.user_id) == user_id
    await call.rows.update(models.Account, of_user, active=False, status="inactive")
    for account in await call.rows.all(models.Account, of_user):
        await log_out(call, call.rows, account.account_id)
    return await record_of(call.rows, closed)


@operation(
    Kind.MUTATION,
    returns=identity.Done,
    needs=Permission.CREDENTIAL_WRITE,
    rest=Rest("PUT", "/user/{userId}/username"),
)
async def rename_user(call: Call, *, user_id: strawberry.ID, username: str, status: str | None = None) -> Done:
    """Change the name by which a user logs in to the application's own directory.

    `status` may repeat the user's status; it is not changed here.
    """
    found = await call.rows.get(models.User, user_id)
    if status not in (None, found.status):
        problem = Problem(("status",), f"is {found.status}; it changes by verification and deletion")
        raise BadInput("a status is not changed by renaming", problems=[problem])
    directory_id = await own_directory(call.rows)
    account = await call.rows.first(
        models.Account, col(models.Account.user_id) == user_id, col(models.Account.directory_id) == directory_id
    )
    if account is None:
        raise NotFound(f"the user {user_id} has no account in the application's own directory")
    if username_of(username) != account.username:
        name = await free_username(call.rows, username, directory_id)
        (await call.rows.edit(models.Account, account.account_id)).username = name
    return Done()
