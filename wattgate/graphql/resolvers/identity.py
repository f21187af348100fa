"""Logging in and out: tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models, passwords
from wattgate.db.identity import digest, new_secret
from wattgate.db.rows import Rows
from wattgate.errors import BadInput, NotFound, Problem, Unauthenticated
from wattgate.graphql.operation import Call, Kind, Rest, operation
from wattgate.graphql.types import identity as types
from wattgate.principal import Permission

TOKEN_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Issued:
    """A token that was made just now; the only moment at which it can be told."""

    token: str
    exp: int
    valid: bool = True


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


@dataclass(frozen=True, slots=True)
class Done:
    valid: bool = True


@operation(Kind.MUTATION, returns=types.Login, needs=Permission.ANYONE, rest=Rest("POST", "/auth"))
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
    wanted = application_id or call.principal.application_id
    if wanted is None:
        problem = Problem(("applicationId",), "is missing", missing=True)
        raise BadInput("name the application in applicationId", problems=[problem])
    rows = call.rows.within(wanted)
    application = await rows.application()
    account = await rows.first(
        models.Account,
        col(models.Account.username) == username_of(username),
        col(models.Account.directory_id) == (directory_id or (application and application.directory_id)),
        col(models.Account.active).is_(True),
    )
    if not await passwords.matches(account.password_hash if account else None, password) or account is None:
        raise Unauthenticated("the username or the password is wrong")
    issued = await _issue(rows, account)
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
    account = await _own_account(call)
    expires = call.principal.expires_at
    exp = None if expires is None else to_ms(expires) // 1000
    return Status(exp, account.account_id, account.application_id)


@operation(Kind.MUTATION, returns=types.NewToken, needs=Permission.TOKEN, rest=Rest("GET", "/auth/newToken"))
async def new_token(call: Call) -> Issued:
    """Make a further token for the account; the one in use stays good until it expires."""
    return await _issue(call.rows, await _own_account(call))


@operation(Kind.MUTATION, returns=types.Done, needs=Permission.TOKEN, rest=Rest("DELETE", "/auth/deleteToken"))
async def delete_token(call: Call) -> Done:
    """Log out: the token with which this call is made is good no longer."""
    if call.principal.token_id is None:
        raise BadInput("this call was not made with a token")
    await call.rows.delete(models.Token, col(models.Token.token_id) == call.principal.token_id)
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
    needs=Permission.TOKEN,
    rest=Rest("DELETE", "/auth/token/{tokenId}"),
)
async def revoke_token(call: Call, *, token_id: strawberry.ID) -> list[Done]:
    """Delete one of the user's tokens; whoever holds it is logged out."""
    if not await call.rows.delete(models.Token, col(models.Token.token_id) == token_id):
        raise NotFound(f"no token with id {token_id}")
    return [Done()]


def username_of(text: str) -> str:
    """A username as it is stored and compared: trimmed, in lower case."""
    return text.strip().lower()


async def _own_account(call: Call) -> models.Account:
    assert call.principal.account_id is not None  # whoever is granted Permission.TOKEN is an account
    return await call.rows.get(models.Account, call.principal.account_id)


async def _issue(rows: Rows, account: models.Account) -> Issued:
    token = new_secret()
    expires_at = rows.now + TOKEN_LIFETIME
    await rows.delete(
        models.Token,
        col(models.Token.account_id) == account.account_id,
        col(models.Token.expires_at) <= rows.now,
    )
    await rows.add(
        models.Token(
            user_id=account.user_id,
            account_id=account.account_id,
            digest=digest(token),
            expires_at=expires_at,
        )
    )
    return Issued(token, to_ms(expires_at) // 1000)
