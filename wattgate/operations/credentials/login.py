"""Login: accounts, passwords and tokens, shared by the operations of the user system."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity import passwords
from wattgate.db.identity.login_backoff import LoginAttempt, backoff_id
from wattgate.db.identity.password_rules import (
    MIN_PASSWORD_LENGTH,
    SERVICE_NAME,
    find_username_flaw,
    find_weakness,
    normalize_password,
)
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Token
from wattgate.db.rows.rows import Rows
from wattgate.delivery.mail_addresses import NotMailable, check_address
from wattgate.enums import UserStatus
from wattgate.errors import (
    BadInput,
    Conflict,
    Forbidden,
    Problem,
    ProblemPath,
    ReauthenticationRequired,
    Unauthenticated,
)
from wattgate.operations.core.operation import Call
from wattgate.operations.core.outside_work import OutsideWork
from wattgate.operations.credentials.credential_endings import end_surplus_tokens
from wattgate.operations.credentials.directory_log_ins import (
    add_external_account,
    external_username,
    find_directory,
    require_own_directory,
)
from wattgate.operations.credentials.second_factor_codes import check_code
from wattgate.principal import TOKEN_GRACE, Principal
from wattgate.requests.fair_share import NO_OWNER

TOKEN_LIFETIME = timedelta(days=7)


class WeakPassword(BadInput):
    """A new password that does not follow the rule for passwords."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A newly issued token. `token` is the only copy of the secret, because only its hash is stored."""

    token: str
    expires_at: datetime
    valid: bool = True


def normalize_username(text: str) -> str:
    """Return a username as it is stored and compared: trimmed and in lower case."""
    return text.strip().lower()


def rows_for_login(call: Call, application_id: str | None) -> Rows:
    """Return the rows of the application that a caller without credentials names. Raise BadInput if none is named."""
    return rows_of_application(call.rows, call.principal, application_id)


def rows_of_application(rows: Rows, principal: Principal, application_id: str | None) -> Rows:
    """Return the rows as `rows_for_login` does, before the operation has begun."""
    requested_id = application_id or principal.application_id
    if requested_id is None:
        problem = Problem(("applicationId",), "is missing", is_missing=True)
        raise BadInput("name the application in applicationId", problems=[problem])
    return rows.for_application(requested_id)


async def find_account(rows: Rows, username: str, directory_id: str | None = None) -> models.Account | None:
    """Return the active or closed account with a username, or None.

    The default of `directory_id` is the directory of the application. Raise BadInput if there is no such directory.
    """
    application = await rows.application()
    directory = await find_directory(rows, directory_id) if directory_id else None
    return await rows.first(
        models.Account,
        col(models.Account.username) == (external_username(username) if directory else normalize_username(username)),
        col(models.Account.directory_id) == (directory_id or (application and application.directory_id)),
    )


async def verify_password(
    call: Call, rows: Rows, account: models.Account | None, password: str, username: str, directory_id: str | None
) -> bool:
    """Return whether this is the password of the account with this name. Count a wrong one.

    If no account that may log in has the name, `account` is None, and the work is the same. Raise RateLimited after too
    many wrong passwords. A caller that raises an error must set `commits_changes`, so that the count is stored.
    """
    attempt, is_right = await try_password(call, rows, account, password, username, directory_id)
    if is_right:
        await record_right_password(rows, attempt)
    else:
        await attempt.record_failure(rows)
    return is_right


async def try_password(
    call: Call,
    rows: Rows,
    account: models.Account | None,
    password: str,
    username: str,
    directory_id: str | None,
    *,
    is_refunded: bool = True,
) -> tuple[LoginAttempt, bool]:
    """Return an attempt as `verify_password` makes one, and whether the password is right. Count nothing.

    `is_refunded` as for `LoginAttempt.verify`.
    """
    application = await rows.application()
    own_directory_id = application.directory_id if application else None
    key = backoff_id(rows, directory_id or own_directory_id, normalize_username(username))
    owner = application.application_id if application else NO_OWNER
    inputs = "password", key, account.password_hash if account else None, password
    attempt = await LoginAttempt.begin(rows, account, key, call.client, is_verified=call.outside.is_done(inputs))
    is_right = call.outside.result(
        inputs, lambda: attempt.verify(password, call.address_limits, owner, is_refunded=is_refunded)
    )
    return attempt, is_right


async def record_right_password(rows: Rows, attempt: LoginAttempt) -> None:
    """Record an attempt with the right password. Raise RateLimited if others failed too often in the meantime."""
    await attempt.recheck(rows)
    if attempt.must_record_success(rows.now):
        await attempt.record_success(rows)


async def log_in(
    call: Call, rows: Rows, username: str, password: str, directory_id: str | None, code: str | None = None
) -> models.Account:
    """Return the active account with this name and password, and this code if it has a second factor.

    Raise Unauthenticated without stating whether the name or the password is wrong. Raise SecondFactorRequired only
    after the right password.
    """
    await require_own_directory(rows, directory_id)
    account = await find_account(rows, username, directory_id)
    active_account = account if account and account.active else None
    is_right = await verify_password(call, rows, active_account, password, username, directory_id)
    if not is_right or active_account is None:
        raise Unauthenticated("the username or the password is wrong", commits_changes=True)
    current = await rows.edit(models.Account, active_account.account_id)  # it may have changed during the check
    if not current.active or current.password_hash != active_account.password_hash:
        raise Unauthenticated("the username or the password is wrong", commits_changes=True)
    if current.second_factor:
        await check_code(call, rows, current, code)
    return current


async def require_account(call: Call) -> models.Account:
    """Return the account of the caller. Raise Forbidden if it has none, as an application credential."""
    if call.principal.account_id is None:
        raise Forbidden("this needs the credentials of an account")
    return await call.rows.get(models.Account, call.principal.account_id)


async def issue_token(
    call: Call,
    rows: Rows,
    account: models.Account,
    *,
    until: datetime | None = None,
    authenticated_at: datetime | None = None,
    **columns: Any,
) -> IssuedToken:
    """Issue a token that is valid for TOKEN_LIFETIME, and not after `until` or the end of the session.

    `authenticated_at` is the time of the log-in, by default the present one. `columns` contains other columns, such as
    those of an OAuth client's token. Above the maximum of an account, its oldest tokens end. Raise
    ReauthenticationRequired if the session has ended.
    """
    token, login_at = new_secret(), authenticated_at or rows.now
    session_end = login_at + call.account_policy.session_lifetime
    expires_at = min(rows.now + TOKEN_LIFETIME, session_end, until or datetime.max.replace(tzinfo=UTC))
    if expires_at <= rows.now:
        raise ReauthenticationRequired("The session of this token has ended, so it cannot be renewed. Log in again.")
    await rows.delete(
        models.Token,
        col(models.Token.account_id) == account.account_id,
        col(models.Token.expires_at) <= rows.now - TOKEN_GRACE,  # one that has just expired may still renew itself
    )
    await end_surplus_tokens(call, rows, account.account_id, of_oauth="scope" in columns)
    await rows.add(
        models.Token(
            user_id=account.user_id,
            account_id=account.account_id,
            digest=hash_secret(token),
            created_at=rows.now,
            authenticated_at=login_at,
            expires_at=expires_at,
            **columns,
        )
    )
    return IssuedToken(token, expires_at)


async def validate_new_username(rows: Rows, username: str, directory_id: str) -> str:
    """Return the username as it is stored.

    Raise BadInput if it is empty or breaks a rule, Conflict if an account of the directory has it.
    """
    name = normalize_username(username)
    if not name:
        raise BadInput("an account has a username", problems=[Problem(("username",), "is empty")])
    if flaw := find_username_flaw(name):
        raise BadInput(f"The username {name!r} {flaw}. Choose another one.", problems=[Problem(("username",), flaw)])
    await _require_free_username(rows, name, directory_id)
    return name


async def _require_free_username(rows: Rows, name: str, directory_id: str) -> None:
    if await rows.for_application(rows.application_id).count(
        models.Account,
        col(models.Account.username) == name,
        col(models.Account.directory_id) == directory_id,
    ):
        raise Conflict(f"the username {name} is already in use")


async def create_account(
    outside: OutsideWork,
    rows: Rows,
    user: models.User,
    *,
    username: str,
    directory_id: str | None = None,
    password: str | None = None,
    **columns: Any,
) -> models.Account:
    """Add an account to a user, in a directory (by default that of the application).

    Raise Conflict if the user is suspended.
    """
    require_not_suspended(user)
    own_directory_id = await application_directory(rows)
    directory = await find_directory(rows, directory_id or own_directory_id)
    if directory is not None:
        return await _create_external_account(rows, user, directory, username, password, **columns)
    name = await validate_new_username(rows, username, own_directory_id)
    hashed = None
    if password is not None:
        context = await password_context(rows, name, str(columns.get("email", "")))
        hashed = hash_new_password(outside, rows, password, context=context)
    return await rows.add(
        models.Account(
            user_id=user.user_id,
            directory_id=own_directory_id,
            username=name,
            password_hash=hashed,
            **columns,
        )
    )


def require_not_suspended(user: models.User) -> None:
    """Raise Conflict if a user is suspended, so that no account of the user becomes active."""
    if user.status == UserStatus.SUSPENDED:
        raise Conflict(f"User {user.user_id} is suspended. Reopen the user first.")


async def _create_external_account(
    rows: Rows, user: models.User, directory: models.Directory, subject: str, password: str | None, **columns: Any
) -> models.Account:
    if password is not None:
        problem = Problem(("password",), "is given for an account of an external directory")
        raise BadInput("Accounts of external directories have no password. Leave it out.", problems=[problem])
    await _require_free_username(rows, external_username(subject), directory.directory_id)
    return await add_external_account(rows, user, directory, subject, **columns)


async def application_directory(rows: Rows) -> str:
    """Return the directory of the application. Raise BadInput if there is no such application."""
    application = await rows.application()
    if application is None:
        raise BadInput(
            "No application has this ID. Check applicationId.", problems=[Problem(("applicationId",), "is not known")]
        )
    return application.directory_id


def hash_new_password(
    outside: OutsideWork, rows: Rows, password: str, path: ProblemPath = ("password",), *, context: Iterable[str]
) -> str:
    """Return the hash to store for a new password. Raise WeakPassword as `check_new_password` does.

    The hash is outside work: see `OutsideWork.result`.
    """
    check_new_password(password, path, context=context)
    return outside.result(("hash", password), lambda: passwords.hash_password(password, rows.application_id))


def check_new_password(password: str, path: ProblemPath = ("password",), *, context: Iterable[str]) -> None:
    """Raise WeakPassword with a problem at `path` if a new password is too weak; `context` as for `find_weakness`."""
    if weakness := find_weakness(password, (SERVICE_NAME, *context)):
        is_short = len(normalize_password(password)) < MIN_PASSWORD_LENGTH
        advice = f"Use at least {MIN_PASSWORD_LENGTH} characters" if is_short else f"It {weakness}. Choose another one"
        raise WeakPassword(f"The new password is too weak. {advice}.", problems=[Problem(path, weakness)])


async def password_context(rows: Rows, *names: str) -> list[str]:
    """Return these names of an account, and the name of the application."""
    application = await rows.application()
    return [*names, application.name if application else ""]


def parse_email(text: str, path: ProblemPath = ("email",)) -> str:
    """Return an e-mail address without surrounding white space. Raise BadInput if it cannot be an address."""
    try:
        return check_address(text)
    except NotMailable as error:
        raise BadInput(
            "an e-mail address has a name, an @ and a domain, in at most 254 octets",
            problems=[Problem(path, str(error))],
        ) from None


def parse_optional_email(text: str, path: ProblemPath) -> str:
    """Return an e-mail address, or an empty text if it is empty. Raise BadInput as `parse_email` does."""
    return parse_email(text, path) if text.strip() else ""


# Changes of a username or an e-mail address, for which a stolen token is not enough.


async def require_recent_login(call: Call, password: str | None, code: str | None) -> None:
    """Raise ReauthenticationRequired unless the caller has just shown its credentials.

    A token needs a log-in within `AccountPolicy.recent_login`, or the `password` of its account and, for a second
    factor, the `code`. A token that `newToken` issued has the log-in of the former one. Other callers send their
    password or secret with each request. Raise BadInput for a wrong password, SecondFactorRequired for a wrong code.
    """
    if call.principal.token_id is None:
        return
    if password is not None:
        await _check_credentials(call, password, code)
        return
    token = await call.rows.first(Token, col(Token.token_id) == call.principal.token_id)
    recent = call.account_policy.recent_login
    if token is None or call.rows.now - login_time(token) > recent:
        minutes = int(recent.total_seconds() // 60)
        raise ReauthenticationRequired(
            f"The log-in of this token is more than {minutes} minutes old. Log in again and use the new token, or send "
            "the password of the account as password, with a second factor also its code.",
            reason="insufficient_user_authentication",
        )


def login_time(token: Token) -> datetime:
    """Return when the holder of a token logged in. Without that time, it is the creation of the token."""
    return token.authenticated_at or token.created_at


async def _check_credentials(call: Call, password: str, code: str | None) -> None:
    account = await require_account(call)
    if not await verify_password(call, call.rows, account, password, account.username, account.directory_id):
        problem = Problem(("password",), "is wrong")
        raise BadInput("The password is wrong.", problems=[problem], commits_changes=True)
    if account.second_factor:
        await check_code(call, call.rows, account, code)
