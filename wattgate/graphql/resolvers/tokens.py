"""Logging in and out: tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.core.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.login import (
    Acknowledgement,
    IssuedToken,
    invalidate_token,
    issue_token,
    log_in,
    require_account,
    rows_for_login,
)
from wattgate.graphql.types import accounts as types
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class LoginResult(IssuedToken):
    account_id: str = ""
    application_id: str = ""
    name: str = ""
    user_groups: Sequence[str] = ()
    functional_group_accounts: Sequence[str] = ()
    is_temp_auth: bool = False


@dataclass(frozen=True, slots=True)
class TokenStatusResult:
    exp: int | None
    account_id: str
    application_id: str
    valid: bool = True


@operation(
    OperationKind.MUTATION,
    returns=types.Login,
    needs=Permission.ANYONE,
    rest=RestRoute("POST", "/auth"),
    weight=PASSWORD_HASH_WEIGHT,
)
async def authenticate(
    call: Call,
    *,
    username: str,
    password: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> LoginResult:
    """Log in with the username and password of an account and return a token.

    The application comes from `applicationId` or from the header `applicationId`.
    """
    rows = rows_for_login(call, application_id)
    account = await log_in(rows, username, password, directory_id)
    issued = await issue_token(rows, account)
    return LoginResult(
        issued.token,
        issued.exp,
        account_id=account.account_id,
        application_id=account.application_id,
        name=account.name,
    )


@operation(OperationKind.QUERY, returns=types.TokenStatus, needs=Permission.TOKEN, rest=RestRoute("GET", "/auth"))
async def token_status(call: Call) -> TokenStatusResult:
    """Return the account and the expiry time of the credentials of this request.

    Invalid credentials return an error.
    """
    account = await require_account(call)
    expires = call.principal.expires_at
    exp = None if expires is None else to_ms(expires) // 1000
    return TokenStatusResult(exp, account.account_id, account.application_id)


@operation(
    OperationKind.MUTATION,
    returns=types.NewToken,
    needs=Permission.CREDENTIAL_WRITE,
    rest=RestRoute("GET", "/auth/newToken"),
)
async def new_token(call: Call) -> IssuedToken:
    """Issue an additional token for the calling account. The present token stays valid until it expires."""
    return await issue_token(call.rows, await require_account(call))


@operation(
    OperationKind.MUTATION, returns=types.Done, needs=Permission.TOKEN, rest=RestRoute("DELETE", "/auth/deleteToken")
)
async def delete_token(call: Call) -> Acknowledgement:
    """Log out: revoke the token of this request."""
    if call.principal.token_id is None:
        raise BadInput("this call was not made with a token")
    await _invalidate_own_token(call, call.principal.token_id)
    return Acknowledgement()


@operation(OperationKind.QUERY, returns=list[types.Token], needs=Permission.TOKEN, rest=RestRoute("GET", "/auth/token"))
async def tokens(call: Call) -> list[models.Token]:
    """List the acting user's valid tokens, oldest first."""
    return await call.rows.all(
        models.Token, col(models.Token.expires_at) > call.rows.now, order_by=[models.Token.created_at]
    )


@operation(
    OperationKind.MUTATION,
    returns=list[types.Done],
    needs=Permission.CREDENTIAL_WRITE,
    rest=RestRoute("DELETE", "/auth/token/{tokenId}"),
)
async def revoke_token(call: Call, *, token_id: strawberry.ID) -> list[Acknowledgement]:
    """Revoke one of the acting user's tokens and log its holder out.

    For a token of an OAuth client, all tokens from the same login are revoked.
    """
    await require_account(call)
    await _invalidate_own_token(call, token_id)
    return [Acknowledgement()]


async def _invalidate_own_token(call: Call, token_id: str) -> None:
    token = await call.rows.first(
        models.Token,
        col(models.Token.token_id) == token_id,
        col(models.Token.user_id) == call.principal.user_id,
    )
    if token is None:
        raise NotFound(f"no token with id {token_id}")
    await invalidate_token(call, call.rows, token)
