"""Logging in: what the operations of the user system share."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity import passwords
from wattgate.db.identity.credentials import hash_secret, new_secret
from wattgate.db.identity.login_backoff import enforce_login_backoff, failed_login_values, successful_login_values
from wattgate.db.rows import Rows, model_columns
from wattgate.errors import BadInput, Conflict, Forbidden, Problem, ProblemPath, Unauthenticated
from wattgate.graphql.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import CredentialsRevoked, Event

TOKEN_LIFETIME = timedelta(days=7)

CREDENTIAL_MODELS = (models.Token, models.RefreshToken, models.AuthorizationCode, models.OneTimeCode)
"""Everything by which somebody is, or could come to be, logged in to an account without its password."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token that was made just now; the only moment at which it can be told."""

    token: str
    exp: int
    valid: bool = True


def normalize_username(text: str) -> str:
    """A username as it is stored and compared: trimmed, in lower case."""
    return text.strip().lower()


def rows_for_login(call: Call, application_id: str | None) -> Rows:
    """The rows of the application that a caller without credentials names. BadInput where none is named."""
    wanted = application_id or call.principal.application_id
    if wanted is None:
        problem = Problem(("applicationId",), "is missing", is_missing=True)
        raise BadInput("name the application in applicationId", problems=[problem])
    return call.rows.for_application(wanted)


async def find_account(rows: Rows, username: str, directory_id: str | None = None) -> models.Account | None:
    """The account of this name, in the application's own directory unless another is named; closed ones too."""
    application = await rows.application()
    return await rows.first(
        models.Account,
        col(models.Account.username) == normalize_username(username),
        col(models.Account.directory_id) == (directory_id or (application and application.directory_id)),
    )


async def verify_password(rows: Rows, account: models.Account | None, password: str) -> bool:
    """Whether this is the account's password; takes as long for none. Wrong ones are counted.

    RateLimited where too many were given. A caller that goes on to refuse keeps the count (`kept`).
    """
    if account is None:
        return await passwords.password_matches(None, password)
    enforce_login_backoff(account.failures, account.failed_at, rows.now)
    this = rows.key_column(models.Account) == account.account_id
    if not await passwords.password_matches(account.password_hash, password):
        await rows.update(models.Account, this, **failed_login_values(rows.now))
        return False
    again = await rows.get(models.Account, account.account_id)  # others may have guessed in the meantime
    enforce_login_backoff(again.failures, again.failed_at, rows.now)
    if again.failures:
        await rows.update(models.Account, this, **successful_login_values())
    return True


async def log_in(rows: Rows, username: str, password: str, directory_id: str | None) -> models.Account:
    """The active account of this name and password. Unauthenticated, without saying what is wrong."""
    account = await find_account(rows, username, directory_id)
    able = account if account and account.active else None
    if not await verify_password(rows, able, password) or able is None:
        raise Unauthenticated("the username or the password is wrong", commits_changes=True)
    return able


async def require_account(call: Call) -> models.Account:
    """The account that calls. Forbidden where none does: an application's credential has none."""
    if call.principal.account_id is None:
        raise Forbidden("this needs the credentials of an account")
    return await call.rows.get(models.Account, call.principal.account_id)


async def issue_token(rows: Rows, account: models.Account, **oauth: Any) -> IssuedToken:
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
            digest=hash_secret(token),
            expires_at=expires_at,
            **oauth,
        )
    )
    return IssuedToken(token, to_ms(expires_at) // 1000)


async def log_out(call: Call, rows: Rows, account_id: str, *, except_token_id: str | None = None) -> None:
    """End everything that logs in to an account without its password; the token with the id `but` stays.

    Whoever is connected as the account is told to go, also by its password: it was changed, or is of no use.
    """
    for model in CREDENTIAL_MODELS:
        columns = model_columns(model)
        await rows.delete(
            model,
            columns["account_id"] == account_id,
            columns[model.key] != except_token_id if except_token_id else True,
        )
    _emit_revoked(call, CredentialsRevoked(account_id, except_token_id=except_token_id))


async def invalidate_token(call: Call, rows: Rows, token: models.Token) -> None:
    """End a token; of an OAuth client's every one that goes back to the same authorization code."""
    if token.family is not None:
        return await invalidate_token_family(call, rows, token.family)
    await rows.delete(models.Token, col(models.Token.token_id) == token.token_id)
    return _emit_revoked(call, CredentialsRevoked(token.account_id, (token.token_id,)))


async def invalidate_token_family(call: Call, rows: Rows, family: str) -> None:
    """End every OAuth token that goes back to one authorization code."""
    of_family = col(models.Token.family) == family
    tokens = await rows.all(models.Token, of_family)
    await rows.delete(models.Token, of_family)
    await rows.delete(models.RefreshToken, col(models.RefreshToken.family) == family)
    for account_id in {token.account_id for token in tokens}:
        _emit_revoked(call, CredentialsRevoked(account_id, tuple(token.token_id for token in tokens)))


def _emit_revoked(call: Call, revoked: CredentialsRevoked) -> None:
    call.emit(Event(topics.revocations(), new_id(), revoked))


async def validate_new_username(rows: Rows, username: str, directory_id: str) -> str:
    """The username as it is stored. BadInput where it is empty, Conflict where an account of the directory has it."""
    name = normalize_username(username)
    if not name:
        raise BadInput("an account has a username", problems=[Problem(("username",), "is empty")])
    if await rows.for_application(rows.application_id).count(
        models.Account,
        col(models.Account.username) == name,
        col(models.Account.directory_id) == directory_id,
    ):
        raise Conflict(f"the username {name} is taken")
    return name


async def create_account(
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
        directory_id = await application_directory(rows)
    name = await validate_new_username(rows, username, directory_id)
    hashed = await hash_new_password(password) if password is not None else None
    return await rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=directory_id,
            username=name,
            password_hash=hashed,
            **columns,
        )
    )


async def application_directory(rows: Rows) -> str:
    """The directory of the application. BadInput where there is no such application."""
    application = await rows.application()
    if application is None:
        raise BadInput("there is no such application", problems=[Problem(("applicationId",), "is not known")])
    return application.directory_id


async def hash_new_password(password: str, path: ProblemPath | None = ("password",)) -> str:
    """The hash to store for a new password. BadInput where it is too short, told at `place` where there is one."""
    if len(password) < passwords.MIN_PASSWORD_LENGTH:
        problem = Problem(path or (), f"has fewer than {passwords.MIN_PASSWORD_LENGTH} characters")
        raise BadInput("weak new password", problems=[problem] if path else [])
    return await passwords.hash_password(password)


def parse_email(text: str) -> str:
    """An e-mail address, trimmed. BadInput where it cannot be one."""
    address = text.strip()
    before, at, after = address.rpartition("@")
    if not (before and at and after) or any(character.isspace() for character in address):
        raise BadInput("an e-mail address has a name, an @ and a domain", problems=[Problem(("email",), "is not one")])
    return address
