"""Logging in and out: tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.core.cost_weights import HASHING
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.services.login import Done, Issued, end_token, entered, issue, logged_in, own_account
from wattgate.graphql.types import accounts as types
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class LoggedIn(Issued):
    account_id: str = ""
    application_id: str = ""
    name: str = ""
    user_groups: Sequence[str] = ()
    functional_group_accounts: Sequence[str] = ()
    is_temp_auth: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    exp: int | None
    account_id: str
    application_id: str
    valid: bool = True


@operation(Kind.MUTATION, returns=types.Login, needs=Permission.ANYONE, rest=Rest("POST", "/auth"), weight=HASHING)
async def authenticate(
    call: Call,
    *,
    username: str,
    password: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> LoggedIn:
    """Log in with an account's username and password, and get a token.

    The application is named here or in the header applicationId; the directory is the application's own unless
    another is named.
    """
    rows = entered(call, application_id)
    account = await logged_in(rows, username, password, directory_id)
    issued = await issue(rows, account)
    return LoggedIn(
        issued.token,
        issued.exp,
        account_id=account.account_id,
        application_id=account.application_id,
        name=account.name,
    )


@operation(Kind.QUERY, returns=types.TokenStatus, needs=Permission.TOKEN, rest=Rest("GET", "/auth"))
async def token_status(call: Call) -> Status:
    """Whether the credentials of this very call are good. Bad ones are refused before they get here."""
    account = await own_account(call)
    expires = call.principal.expires_at
    exp = None if expires is None else to_ms(expires) // 1000
    return Status(exp, account.account_id, account.application_id)


@operation(Kind.MUTATION, returns=types.NewToken, needs=Permission.CREDENTIAL_WRITE, rest=Rest("GET", "/auth/newToken"))
async def new_token(call: Call) -> Issued:
    """Make a further token for the account; the one in use stays good until it expires."""
    return await issue(call.rows, await own_account(call))


@operation(Kind.MUTATION, returns=types.Done, needs=Permission.TOKEN, rest=Rest("DELETE", "/auth/deleteToken"))
async def delete_token(call: Call) -> Done:
    """Log out: the token with which this call is made is good no longer."""
    if call.principal.token_id is None:
        raise BadInput("this call was not made with a token")
    await _end(call, call.principal.token_id)
    return Done()


@operation(Kind.QUERY, returns=list[types.Token], needs=Permission.TOKEN, rest=Rest("GET", "/auth/token"))
async def tokens(call: Call) -> list[models.Token]:
    """The user's tokens that have not expired, oldest first."""
    return await call.rows.all(
        models.Token, col(models.Token.expires_at) > call.rows.now, order_by=[models.Token.created_at]
    )


@operation(
    Kind.MUTATION,
    returns=list[types.Done],
    needs=Permission.CREDENTIAL_WRITE,
    rest=Rest("DELETE", "/auth/token/{tokenId}"),
)
async def revoke_token(call: Call, *, token_id: strawberry.ID) -> list[Done]:
    """Delete one of the user's tokens; whoever holds it is logged out.

    An OAuth client loses every token that goes back to the same log-in.
    """
    await own_account(call)
    await _end(call, token_id)
    return [Done()]


async def _end(call: Call, token_id: str) -> None:
    token = await call.rows.first(
        models.Token,
        col(models.Token.token_id) == token_id,
        col(models.Token.user_id) == call.principal.user_id,
    )
    if token is None:
        raise NotFound(f"no token with id {token_id}")
    await end_token(call, call.rows, token)
