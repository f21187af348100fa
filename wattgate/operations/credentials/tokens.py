"""Log in and out; list and revoke tokens."""

from datetime import datetime, timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.rows.rows import Rows
from wattgate.delivery.openid.client import ProviderClient
from wattgate.delivery.openid.tokens import MAX_TOKEN_CHARACTERS
from wattgate.errors import BadInput, NotFound, Problem, ReauthenticationRequired, SecondFactorRequired
from wattgate.operations.core.operation import (
    OWN_ACCOUNT_ONLY,
    Audit,
    Call,
    OperationKind,
    Preparation,
    RestRoute,
    operation,
)
from wattgate.operations.credentials.credential_endings import end_token
from wattgate.operations.credentials.directory_log_ins import (
    VerifiedToken,
    find_directory,
    hold_directory,
    log_in_externally,
    provider_client,
    verify_directory_token,
)
from wattgate.operations.credentials.login import (
    issue_token,
    log_in,
    login_time,
    require_account,
    rows_for_login,
    rows_of_application,
)
from wattgate.operations.types.identity import accounts as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described, MaxCharacters

DirectoryToken = Annotated[
    str,
    MaxCharacters(4 * MAX_TOKEN_CHARACTERS),
    Described(
        "Token of the external directory `directoryId`: an ID token or access token in the form of a JSON Web Token."
    ),
]
AccessToken = Annotated[
    str,
    MaxCharacters(MAX_TOKEN_CHARACTERS),
    Described(
        "Access token that the directory issued together with `directoryToken`, for its userinfo or introspection "
        "endpoint. Default: `directoryToken`."
    ),
]


async def _verify_token(
    preparation: Preparation,
    *,
    directory_token: str | None = None,
    access_token: str | None = None,
    application_id: str | None = None,
    directory_id: str | None = None,
    **other: str | None,
) -> VerifiedToken | None:
    """Return the verified token of an external directory, or None if there is none."""
    if directory_token is None:
        return None
    if directory_id is None:
        problem = Problem(("directoryId",), "is missing", is_missing=True)
        raise BadInput("Name the directory of the token in directoryId.", problems=[problem])
    if any(value is not None for value in other.values()):
        problem = Problem(("directoryToken",), "is sent together with a username, a password or a code")
        raise BadInput("Log in with a token of a directory or with a password, not with both.", problems=[problem])

    async def load(rows: Rows) -> tuple[models.Directory, ProviderClient]:
        of_application = rows_of_application(rows, preparation.principal, application_id)
        directory = await find_directory(of_application, directory_id)
        if directory is None:
            problem = Problem(("directoryId",), "is the application's own directory, which issues no such tokens")
            raise BadInput("Name the external directory that issued the token.", problems=[problem])
        return directory, provider_client(of_application, directory)

    directory, client = await preparation.read(load)
    return await verify_directory_token(preparation, directory, client, directory_token, access_token)


def _require_password(username: str | None, password: str | None) -> tuple[str, str]:
    """Return both. Raise BadInput if one is missing."""
    given = {"username": username, "password": password}
    if missing := [Problem((name,), "is missing", is_missing=True) for name, value in given.items() if value is None]:
        raise BadInput("Send a username and a password, or directoryId and directoryToken.", problems=missing)
    return username or "", password or ""


@operation(
    OperationKind.MUTATION,
    returns=types.Login,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/auth", Tag.LOGIN),
    raises=(SecondFactorRequired, NotFound),
    weight=PASSWORD_HASH_WEIGHT,
    prepare=_verify_token,
)
async def authenticate(
    call: Call,
    *,
    username: Annotated[terms.Address, Described("Username of the account. Required without `directoryToken`.")]
    | None = None,
    password: Annotated[terms.Secret, Described("Password of the account. Required without `directoryToken`.")]
    | None = None,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
    code: terms.SecondFactorCode | None = None,
    directory_token: DirectoryToken | None = None,
    access_token: AccessToken | None = None,
) -> types.Login:
    """Log in and return a token: with a username and password, or with a token of an external directory.

    An account with a second factor also needs `code`; without it, the error is `SECOND_FACTOR_REQUIRED`. The
    application comes from `applicationId` or from the header `applicationId`.
    """
    rows = rows_for_login(call, application_id)
    verified: VerifiedToken | None = call.prepared
    if verified is not None:
        account = await log_in_externally(rows, verified)
        until = rows.now + timedelta(seconds=verified.directory.session_seconds)
        issued = await issue_token(call, rows, account, until=until)
    else:
        account = await log_in(call, rows, *_require_password(username, password), directory_id, code)
        issued = await issue_token(call, rows, account)
    return types.Login(
        valid=True,
        token=issued.token,
        expires_at=issued.expires_at,
        account_id=Id(account.account_id),
        application_id=Id(account.application_id),
        name=account.name,
        user_groups=[],
        functional_group_accounts=[],
        is_temp_auth=False,
    )


@operation(
    OperationKind.QUERY,
    returns=types.TokenStatus,
    needs=Permission.TOKEN,
    rest=RestRoute("GET", "/auth", Tag.LOGIN),
    raises=(NotFound,),
)
async def token_status(call: Call) -> types.TokenStatus:
    """Return the account and the expiry time of the credentials of this request.

    Invalid credentials return an error.
    """
    account = await require_account(call)
    return types.TokenStatus(
        valid=True,
        expires_at=call.principal.expires_at,
        account_id=Id(account.account_id),
        application_id=Id(account.application_id),
    )


@operation(
    OperationKind.MUTATION,
    returns=types.NewToken,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("GET", "/auth/newToken", Tag.LOGIN),
    raises=(ReauthenticationRequired, NotFound),
    renews_token=True,
)
async def new_token(call: Call) -> types.NewToken:
    """Issue an additional token for the calling account. The present token stays valid until it expires.

    A WebSocket can also call this in the 25 seconds after the end of its token.

    For an account of an external directory, the new token expires with the present one. For changes that need a recent
    log-in, the new token has the log-in of the present one. It expires when that log-in is too old for a renewal.
    """
    account = await require_account(call)
    application = await call.rows.application()
    is_external = application is None or account.directory_id != application.directory_id
    if is_external:
        await hold_directory(call.rows, account.directory_id)
    until = call.principal.expires_at if is_external else None
    issued = await issue_token(call, call.rows, account, until=until, authenticated_at=await _login_of_caller(call))
    return types.NewToken(valid=True, expires_at=issued.expires_at, token=issued.token)


async def _login_of_caller(call: Call) -> datetime | None:
    """Return the time of the log-in of the caller's token. None for a password, which is one itself."""
    if call.principal.token_id is None:
        return None
    return login_time(await call.rows.get(models.Token, call.principal.token_id))


@operation(
    OperationKind.MUTATION,
    returns=types.Token,
    needs=Permission.TOKEN,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/auth/deleteToken", Tag.LOGIN),
    raises=(BadInput, NotFound),
    rest_result=types.DONE,
)
async def delete_token(call: Call) -> models.Token:
    """Log out: revoke the token of this request."""
    if call.principal.token_id is None:
        raise BadInput("The call carries no token to delete.")
    return await _end_own_token(call, call.principal.token_id)


@operation(
    OperationKind.QUERY,
    returns=list[types.Token],
    needs=Permission.TOKEN,
    rest=RestRoute("GET", "/auth/token", Tag.LOGIN),
)
async def tokens(call: Call) -> list[models.Token]:
    """List the acting user's valid tokens, oldest first."""
    return await call.rows.all(
        models.Token, col(models.Token.expires_at) > call.rows.now, order_by=[models.Token.created_at]
    )


@operation(
    OperationKind.MUTATION,
    returns=types.Token,
    needs=Permission.CREDENTIAL_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/auth/token/{tokenId}", Tag.LOGIN),
    rest_result=[types.DONE],
)
async def revoke_token(call: Call, *, token_id: ids.TokenId) -> models.Token:
    """Revoke one of the acting user's tokens and log its holder out.

    For a token of an OAuth client, all tokens from the same login are revoked.
    """
    await require_account(call)
    return await _end_own_token(call, token_id)


async def _end_own_token(call: Call, token_id: str) -> models.Token:
    """Revoke a token of the acting user, and return its record."""
    token = await call.rows.first(
        models.Token,
        col(models.Token.token_id) == token_id,
        col(models.Token.user_id) == call.principal.user_id,
    )
    if token is None:
        raise NotFound(f"No token with ID {token_id}.")
    await lock_user(call.rows, token.user_id)
    await end_token(call, call.rows, token)
    return token
