"""Log in and out; list and revoke tokens."""

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.core.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.credential_endings import end_token
from wattgate.graphql.services.login import (
    issue_token,
    log_in,
    require_account,
    rows_for_login,
)
from wattgate.graphql.types import accounts as types
from wattgate.principal import Permission


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
) -> types.Login:
    """Log in with the username and password of an account and return a token.

    The application comes from `applicationId` or from the header `applicationId`.
    """
    rows = rows_for_login(call, application_id)
    account = await log_in(rows, username, password, directory_id)
    issued = await issue_token(rows, account)
    return types.Login(
        valid=True,
        token=issued.token,
        exp=issued.exp,
        account_id=strawberry.ID(account.account_id),
        application_id=strawberry.ID(account.application_id),
        name=account.name,
        user_groups=[],
        functional_group_accounts=[],
        is_temp_auth=False,
    )


@operation(OperationKind.QUERY, returns=types.TokenStatus, needs=Permission.TOKEN, rest=RestRoute("GET", "/auth"))
async def token_status(call: Call) -> types.TokenStatus:
    """Return the account and the expiry time of the credentials of this request.

    Invalid credentials return an error.
    """
    account = await require_account(call)
    expires = call.principal.expires_at
    exp = None if expires is None else to_ms(expires) // 1000
    return types.TokenStatus(
        valid=True,
        exp=exp,
        account_id=strawberry.ID(account.account_id),
        application_id=strawberry.ID(account.application_id),
    )


@operation(
    OperationKind.MUTATION,
    returns=types.NewToken,
    needs=Permission.CREDENTIAL_WRITE,
    rest=RestRoute("GET", "/auth/newToken"),
)
async def new_token(call: Call) -> types.NewToken:
    """Issue an additional token for the calling account. The present token stays valid until it expires."""
    issued = await issue_token(call.rows, await require_account(call))
    return types.NewToken(valid=True, exp=issued.exp, token=issued.token)


@operation(
    OperationKind.MUTATION, returns=types.Done, needs=Permission.TOKEN, rest=RestRoute("DELETE", "/auth/deleteToken")
)
async def delete_token(call: Call) -> types.Done:
    """Log out: revoke the token of this request."""
    if call.principal.token_id is None:
        raise BadInput("The call carries no token to delete.")
    await _invalidate_own_token(call, call.principal.token_id)
    return types.Done(valid=True)


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
async def revoke_token(call: Call, *, token_id: strawberry.ID) -> list[types.Done]:
    """Revoke one of the acting user's tokens and log its holder out.

    For a token of an OAuth client, all tokens from the same login are revoked.
    """
    await require_account(call)
    await _invalidate_own_token(call, token_id)
    return [types.Done(valid=True)]


async def _invalidate_own_token(call: Call, token_id: str) -> None:
    token = await call.rows.first(
        models.Token,
        col(models.Token.token_id) == token_id,
        col(models.Token.user_id) == call.principal.user_id,
    )
    if token is None:
        raise NotFound(f"No token with id {token_id}.")
    await end_token(call, call.rows, token)
