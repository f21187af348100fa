"""Logging in: what the operations of the user system share."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity import passwords
from wattgate.db.identity.credentials import digest, new_secret
from wattgate.db.identity.login_backoff import failed, refuse_in_haste, succeeded
from wattgate.db.rows import Rows, columns_of
from wattgate.errors import BadInput, Conflict, Forbidden, Path, Problem, Unauthenticated
from wattgate.graphql.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import CredentialsRevoked, Event

TOKEN_LIFETIME = timedelta(days=7)

CREDENTIALS = (models.Token, models.RefreshToken, models.AuthorizationCode, models.OneTimeCode)
"""Everything by which somebody is, or could come to be, logged in to an account without its password."""


@dataclass(frozen=True, slots=True)
class Done:
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Issued:
    """A token that was made just now; the only moment at which it can be told."""

    token: str
    exp: int
    valid: bool = True


def username_of(text: str) -> str:
    """A username as it is stored and compared: trimmed, in lower case."""
    return text.strip().lower()


def entered(call: Call, application_id: str | None) -> Rows:
    """The rows of the application that a caller without credentials names. BadInput where none is named."""
    wanted = application_id or call.principal.application_id
    if wanted is None:
        problem = Problem(("applicationId",), "is missing", missing=True)
        raise BadInput("name the application in applicationId", problems=[problem])
    return call.rows.within(wanted)


async def named(rows: Rows, username: str, directory_id: str | None = None) -> models.Account | None:
    """The account of this name, in the application's own directory unless another is named; closed ones too."""
    application = await rows.application()
    return await rows.first(
        models.Account,
        col(models.Account.username) == username_of(username),
        col(models.Account.directory_id) == (directory_id or (application and application.directory_id)),
    )


async def proved(rows: Rows, account: models.Account | None, password: str) -> bool:
    """Whether this is the account's password; takes as long for none. Wrong ones are counted.

    RateLimited where too many were given. A caller that goes on to refuse keeps the count (`kept`).
    """
    if account is None:
        return await passwords.matches(None, password)
    refuse_in_haste(account.failures, account.failed_at, rows.now)
    this = rows.key_of(models.Account) == account.account_id
    if not await passwords.matches(account.password_hash, password):
        await rows.update(models.Account, this, **failed(rows.now))
        return False
    again = await rows.get(models.Account, account.account_id)  # others may have guessed in the meantime
    refuse_in_haste(again.failures, again.failed_at, rows.now)
    if again.failures:
        await rows.update(models.Account, this, **succeeded())
    return True


async def logged_in(rows: Rows, username: str, password: str, directory_id: str | None) -> models.Account:
    """The active account of this name and password. Unauthenticated, without saying what is wrong."""
    account = await named(rows, username, directory_id)
    able = account if account and account.active else None
    if not await proved(rows, able, password) or able is None:
        raise Unauthenticated("the username or the password is wrong", kept=True)
    return able


async def own_account(call: Call) -> models.Account:
    """The account that calls. Forbidden where none does: an application's credential has none."""
    if call.principal.account_id is None:
        raise Forbidden("this needs the credentials of an account")
    return await call.rows.get(models.Account, call.principal.account_id)


async def issue(rows: Rows, account: models.Account, **oauth: Any) -> Issued:
    """A new token of the account, good for TOKEN_LIFETIME; `oauth` are the columns of an OAuth client's token."""
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
            **oauth,
        )
    )
    return Issued(token, to_ms(expires_at) // 1000)


async def log_out(call: Call, rows: Rows, account_id: str, *, but: str | None = None) -> None:
    """End everything that logs in to an account without its password; the token with the id `but` stays.

    Whoever is connected as the account is told to go, also by its password: it was changed, or is of no use.
    """
    for model in CREDENTIALS:
        columns = columns_of(model)
        await rows.delete(model, columns["account_id"] == account_id, columns[model.key] != but if but else True)
    _tell_revoked(call, CredentialsRevoked(account_id, but=but))


async def end_token(call: Call, rows: Rows, token: models.Token) -> None:
    """End a token; of an OAuth client's every one that goes back to the same authorization code."""
    if token.family is not None:
        return await end_family(call, rows, token.family)
    await rows.delete(models.Token, col(models.Token.token_id) == token.token_id)
    return _tell_revoked(call, CredentialsRevoked(token.account_id, (token.token_id,)))


async def end_family(call: Call, rows: Rows, family: str) -> None:
    """End every OAuth token that goes back to one authorization code."""
    of_family = col(models.Token.family) == family
    tokens = await rows.all(models.Token, of_family)
    await rows.delete(models.Token, of_family)
    await rows.delete(models.RefreshToken, col(models.RefreshToken.family) == family)
    for account_id in {token.account_id for token in tokens}:
        _tell_revoked(call, CredentialsRevoked(account_id, tuple(token.token_id for token in tokens)))


def _tell_revoked(call: Call, revoked: CredentialsRevoked) -> None:
    call.emit(Event(topics.revocations(), new_id(), revoked))


async def free_username(rows: Rows, username: str, directory_id: str) -> str:
    """The username as it is stored. BadInput where it is empty, Conflict where an account of the directory has it."""
    name = username_of(username)
    if not name:
        raise BadInput("an account has a username", problems=[Problem(("username",), "is empty")])
    if await rows.within(rows.application_id).count(
        models.Account,
        col(models.Account.username) == name,
        col(models.Account.directory_id) == directory_id,
    ):
        raise Conflict(f"the username {name} is taken")
    return name


async def open_account(
    rows: Rows,
    user: models.User,
    *,
    username: str,
    directory_id: str | None = None,
    password: str | None = None,
    **columns: Any,
) -> models.Account:
    """Add an account to a user, in the application's own directory unless another is named."""
    if directory_id is None:
        directory_id = await own_directory(rows)
    name = await free_username(rows, username, directory_id)
    hashed = await hash_of_new(password) if password is not None else None
    return await rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=directory_id,
            username=name,
            password_hash=hashed,
            **columns,
        )
    )


async def own_directory(rows: Rows) -> str:
    """The directory of the application. BadInput where there is no such application."""
    application = await rows.application()
    if application is None:
        raise BadInput("there is no such application", problems=[Problem(("applicationId",), "is not known")])
    return application.directory_id


async def hash_of_new(password: str, place: Path | None = ("password",)) -> str:
    """The hash to store for a new password. BadInput where it is too short, told at `place` where there is one."""
    if len(password) < passwords.MIN_LENGTH:
        problem = Problem(place or (), f"has fewer than {passwords.MIN_LENGTH} characters")
        raise BadInput("weak new password", problems=[problem] if place else [])
    return await passwords.hashed(password)


def email_of(text: str) -> str:
    """An e-mail address, trimmed. BadInput where it cannot be one."""
    address = text.strip()
    before, at, after = address.rpartition("@")
    if not (before and at and after) or any(character.isspace() for character in address):
        raise BadInput("an e-mail address has a name, an @ and a domain", problems=[Problem(("email",), "is not one")])
    return address
