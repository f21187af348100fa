"""Accounts: users' log-ins."""

import strawberry
from sqlmodel import col

from wattgate.db import models, passwords
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.graphql.inputs import change
from wattgate.graphql.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.identity import username_of
from wattgate.graphql.resolvers.owner import owner_of
from wattgate.graphql.types import identity as types
from wattgate.principal import Permission, Scheme


@operation(Kind.QUERY, returns=list[types.Account], needs=Permission.ACCOUNT_READ, rest=Rest("GET", "/account"))
async def accounts(call: Call) -> list[models.Account]:
    """The accounts of the application, or the user's own."""
    return await call.rows.all(models.Account, order_by=[models.Account.created_at])


@operation(
    Kind.QUERY,
    returns=types.Account,
    needs=Permission.ACCOUNT_READ,
    rest=Rest("GET", "/account/{accountId}"),
)
async def account(call: Call, *, account_id: strawberry.ID) -> models.Account:
    """The account with this id."""
    return await call.rows.get(models.Account, account_id)


@operation(
    Kind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_MANAGE,
    rest=Rest("POST", "/account", acknowledges=("accountId", "applicationId", "userId")),
)
async def add_account(call: Call, *, input: types.NewAccount) -> models.Account:
    """Add an account to a user that exists."""
    user = await call.rows.get(models.User, input.user_id or owner_of(call))
    application = await call.rows.application()
    assert application is not None  # the principal belongs to it
    directory_id = input.directory_id or application.directory_id
    username = username_of(input.username)
    if not username:
        raise BadInput("an account has a username", problems=[Problem(("username",), "is empty")])
    if await call.rows.count(
        models.Account,
        col(models.Account.username) == username,
        col(models.Account.directory_id) == directory_id,
    ):
        raise Conflict(f"the username {username} is taken")
    return await call.rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=directory_id,
            username=username,
            name=input.name,
            email=input.email,
            password_hash=await new_password(input.password) if input.password is not None else None,
        )
    )


@operation(
    Kind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_WRITE,
    rest=Rest("PUT", "/account/{accountId}", scheme=Scheme.BASIC),
)
async def update_account(call: Call, *, account_id: strawberry.ID, input: types.AccountChange) -> models.Account:
    """Change an account's metadata; what is left out stays as it is."""
    return change(await call.rows.edit(models.Account, account_id), input)


@operation(
    Kind.MUTATION,
    returns=types.Account,
    needs=Permission.ACCOUNT_MANAGE,
    rest=Rest("DELETE", "/account/{accountId}"),
)
async def delete_account(call: Call, *, account_id: strawberry.ID) -> models.Account:
    """Close an account: it becomes inactive and its tokens are good no longer. The record stays."""
    closed = await call.rows.edit(models.Account, account_id)
    closed.active, closed.status = False, "inactive"
    await call.rows.delete(models.Token, col(models.Token.account_id) == account_id)
    return closed


async def new_password(password: str) -> str:
    """The hash to store for a new password. BadInput where it is too short."""
    if len(password) < passwords.MIN_LENGTH:
        problem = Problem(("password",), f"has fewer than {passwords.MIN_LENGTH} characters")
        raise BadInput("weak new password", problems=[problem])
    return await passwords.hashed(password)
