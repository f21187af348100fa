"""Accounts: users' log-ins."""

from dataclasses import dataclass
from datetime import datetime

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.directory import DirectoryToken, directory_of
from wattgate.db.rows import Condition
from wattgate.delivery.channels.web_push import wrong_with
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import GROWING, HASHING, Size
from wattgate.graphql.core.inputs import change
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.services.login import Done, email_of, hash_of_new, log_out, open_account, own_account, proved
from wattgate.graphql.types import accounts as types
from wattgate.principal import Permission, Scheme

MAX_TOKENS = 20
"""How many push tokens of an account are kept."""


@operation(
    Kind.QUERY,
    returns=list[types.Account],
    needs=Permission.ACCOUNT_READ,
    rest=Rest("GET", "/account"),
    sizes=[Size(GROWING)],
)
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
    weight=HASHING,
)
async def add_account(call: Call, *, input: types.NewAccount) -> models.Account:
    """Add an account to a user that exists."""
    user = await call.rows.get(models.User, input.user_id or owner_of(call))
    return await open_account(
        call.rows,
        user,
        username=input.username,
        directory_id=input.directory_id,
        password=input.password,
        name=input.name,
        email=input.email,
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
    await log_out(call, call.rows, account_id)
    return closed


@dataclass(frozen=True, slots=True)
class DirectoryAnswer:
    data: DirectoryToken


@dataclass(frozen=True, slots=True)
class AccountStatus:
    status: str
    active: bool
    account_id: str
    application_id: str
    directory_id: str
    created_at: datetime
    updated_at: datetime
    directory: DirectoryAnswer


@operation(
    Kind.QUERY,
    returns=types.AccountStatus,
    needs=Permission.ACCOUNT_STATUS,
    rest=Rest("GET", "/account/{accountId}/status"),
)
async def account_status(call: Call, *, account_id: strawberry.ID) -> AccountStatus:
    """Whether an account can log in, and what its directory says of the newest token issued to it."""
    return await _status(call, await call.rows.get(models.Account, account_id))


@operation(Kind.QUERY, returns=types.AccountStatus, needs=Permission.TOKEN, rest=Rest("GET", "/account/status"))
async def own_account_status(call: Call) -> AccountStatus:
    """The status of the account that calls, and what its directory says of the token of this very call."""
    return await _status(call, await own_account(call), call.principal.token_id)


async def _status(call: Call, account: models.Account, token_id: str | None = None) -> AccountStatus:
    return AccountStatus(
        status=account.status,
        active=account.active,
        account_id=account.account_id,
        application_id=account.application_id,
        directory_id=account.directory_id,
        created_at=account.created_at,
        updated_at=account.updated_at,
        directory=DirectoryAnswer(await directory_of(call.rows, account).status(account, token_id)),
    )


@operation(Kind.MUTATION, returns=types.Done, needs=Permission.CREDENTIAL_WRITE, rest=Rest("POST", "/account/email"))
async def change_email(call: Call, *, email: str) -> Done:
    """Change the e-mail address of the account that calls. Codes that were sent to the old one end."""
    account = await own_account(call)
    address = email_of(email)
    await call.rows.delete(models.OneTimeCode, col(models.OneTimeCode.account_id) == account.account_id)
    (await call.rows.edit(models.Account, account.account_id)).email = address
    return Done()


@operation(Kind.MUTATION, returns=types.Done, needs=Permission.ACCOUNT_WRITE, rest=Rest("POST", "/account/name"))
async def change_name(call: Call, *, name: str) -> Done:
    """Change the person's name on the account that calls."""
    account = await own_account(call)
    (await call.rows.edit(models.Account, account.account_id)).name = name
    return Done()


@operation(
    Kind.MUTATION,
    returns=types.Done,
    needs=Permission.CREDENTIAL_WRITE,
    rest=Rest("POST", "/account/changepassword"),
    weight=2 * HASHING,
)
async def change_password(call: Call, *, old_password: str, new_password: str) -> Done:
    """Change the password of the account that calls. Every token but that of this call ends."""
    account = await own_account(call)
    if not await proved(call.rows, account, old_password):
        problem = Problem(("oldPassword",), "is wrong")
        raise BadInput("the old password is wrong", problems=[problem], kept=True)
    hashed = await hash_of_new(new_password, None)
    (await call.rows.edit(models.Account, account.account_id)).password_hash = hashed
    await log_out(call, call.rows, account.account_id, but=call.principal.token_id)
    return Done()


@operation(
    Kind.MUTATION,
    returns=types.Done,
    needs=Permission.ACCOUNT_WRITE,
    rest=Rest("POST", "/account/{accountId}/mobileapptoken"),
)
async def add_mobile_app_token(call: Call, *, account_id: strawberry.ID, new_token: str) -> Done:
    """Add the push token of an app in which the account is logged in. One that is there already stays.

    The subscription of a browser is given as JSON, as `PushManager.subscribe` answers it. Of very many tokens the
    oldest gives way.
    """
    account = await call.rows.get(models.Account, account_id)
    if wrong := wrong_with(new_token):
        raise BadInput("this is no push token", problems=[Problem(("newToken",), wrong)])
    if not await call.rows.count(models.MobileAppToken, *_is_of(account_id, new_token)):
        await _forget_oldest(call, account_id)
        await call.rows.add(
            models.MobileAppToken(
                user_id=account.user_id, account_id=account_id, token=new_token, created_at=call.rows.now
            )
        )
    return Done()


@operation(
    Kind.MUTATION,
    returns=types.Done,
    needs=Permission.ACCOUNT_WRITE,
    rest=Rest("PUT", "/account/{accountId}/mobileapptoken"),
)
async def remove_mobile_app_token(call: Call, *, account_id: strawberry.ID, remove_token: str) -> Done:
    """Remove a push token from an account; one that is not there is as good as removed."""
    await call.rows.get(models.Account, account_id)
    await call.rows.delete(models.MobileAppToken, *_is_of(account_id, remove_token))
    return Done()


async def _forget_oldest(call: Call, account_id: str) -> None:
    """Make room for one more push token of an account."""
    tokens = await call.rows.all(
        models.MobileAppToken,
        col(models.MobileAppToken.account_id) == account_id,
        order_by=[models.MobileAppToken.created_at],
    )
    if len(tokens) >= MAX_TOKENS:
        oldest = [one.mobile_app_token_id for one in tokens[: len(tokens) - MAX_TOKENS + 1]]
        await call.rows.delete(models.MobileAppToken, col(models.MobileAppToken.mobile_app_token_id).in_(oldest))


def _is_of(account_id: str, token: str) -> tuple[Condition, Condition]:
    return col(models.MobileAppToken.account_id) == account_id, col(models.MobileAppToken.token) == token
