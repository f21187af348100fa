"""What people do who cannot log in yet, or no longer: register, verify themselves, reset a password."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credentials import digest, new_secret
from wattgate.db.rows import Condition, Rows
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import HASHING
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.users import UserRecord, record_of
from wattgate.graphql.services.login import (
    Done,
    email_of,
    entered,
    hash_of_new,
    log_out,
    named,
    open_account,
    own_directory,
    proved,
)
from wattgate.graphql.types import accounts
from wattgate.graphql.types import users as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, OneTimeCodeMade

CODE_LIFETIME = timedelta(hours=1)
CODES_AT_ONCE = 5
"""How many codes for one purpose an account has at a time; further requests send nothing."""

TRIES = 5
"""How often a verification code may be guessed at."""

UNVERIFIED, VERIFICATION, PASSWORD_RESET = "unverified", "verification", "passwordReset"


@dataclass(frozen=True, slots=True)
class Verified:
    user_id: str
    status: str
    valid: bool = True


@operation(Kind.MUTATION, returns=types.User, needs=Permission.ANYONE, rest=Rest("POST", "/register"), weight=HASHING)
async def register(
    call: Call,
    *,
    name: str,
    username: str,
    email: str,
    password: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> UserRecord:
    """Register oneself as a user. The account can log in once it is verified.

    The application is named here or in the header applicationId; the directory can only be the application's own.
    """
    rows = entered(call, application_id)
    if await own_directory(rows) != (directory_id or await own_directory(rows)):
        raise BadInput("users register in the application's own directory", problems=[_wrong("directoryId")])
    user = await rows.add(models.User(status=UNVERIFIED))
    await open_account(
        rows,
        user,
        username=username,
        password=password,
        name=name,
        email=email_of(email),
        status=UNVERIFIED,
        active=False,
    )
    return await record_of(rows, user)


@operation(Kind.MUTATION, returns=accounts.Done, needs=Permission.ANYONE, rest=Rest("POST", "/user/verify"))
async def request_verification(
    call: Call,
    *,
    username: str,
    password: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> Done:
    """Have a code of four digits sent to the e-mail address of an account that is not verified yet.

    It is good for an hour and ends the one before. The answer is the same for accounts that there are not.
    """
    rows = entered(call, application_id)
    account = await _unverified(rows, username, directory_id)
    if await proved(rows, account, password) and account is not None:
        await _send(call, rows, account, VERIFICATION, f"{secrets.randbelow(10_000):04}")
    return Done()


@operation(Kind.MUTATION, returns=types.Verified, needs=Permission.ANYONE, rest=Rest("PUT", "/user/verify"))
async def verify_user(
    call: Call,
    *,
    username: str,
    password: str,
    token: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> Verified:
    """Verify an account by the code that was sent to its e-mail address; the account and its user become active."""
    rows = entered(call, application_id)
    account = await _unverified(rows, username, directory_id)
    if not await proved(rows, account, password) or account is None or not await _guessed(rows, account, token):
        raise BadInput("the code is wrong or too old", problems=[_wrong("token")], kept=True)
    opened = await rows.edit(models.Account, account.account_id)
    user = await rows.edit(models.User, account.user_id)
    opened.active, opened.status, user.status = True, "active", "active"
    await rows.delete(models.OneTimeCode, *_codes(account, VERIFICATION))
    return Verified(user.user_id, user.status)


@operation(Kind.MUTATION, returns=accounts.Done, needs=Permission.ANYONE, rest=Rest("POST", "/user/resetpassword"))
async def request_password_reset(
    call: Call,
    *,
    username: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> Done:
    """Have a token sent to an account's e-mail address, by which its password can be set anew within an hour.

    The answer is the same for accounts that there are not.
    """
    rows = entered(call, application_id)
    account = await _open(rows, username, directory_id)
    if account is not None:
        await _send(call, rows, account, PASSWORD_RESET, new_secret())
    return Done()


@operation(
    Kind.MUTATION,
    returns=accounts.Done,
    needs=Permission.ANYONE,
    rest=Rest("PUT", "/user/resetpassword"),
    weight=HASHING,
)
async def reset_password(
    call: Call,
    *,
    username: str,
    token: str,
    new_password: str,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> Done:
    """Set a new password by the token that was sent to the account's e-mail address. Every log-in of it ends."""
    rows = entered(call, application_id)
    hashed = await hash_of_new(new_password, None)
    account = await _open(rows, username, directory_id)
    sent = await rows.all(models.OneTimeCode, *_codes(account, PASSWORD_RESET)) if account else []
    if account is None or not any(_is(code, token) and code.expires_at > rows.now for code in sent):
        raise BadInput("the token is wrong or too old", problems=[_wrong("token")])
    record = await rows.edit(models.Account, account.account_id)
    record.password_hash, record.failures, record.failed_at = hashed, 0, None
    await log_out(call, rows, account.account_id)
    return Done()


async def _unverified(rows: Rows, username: str, directory_id: str | None) -> models.Account | None:
    account = await named(rows, username, directory_id)
    return account if account and account.status == UNVERIFIED else None


async def _open(rows: Rows, username: str, directory_id: str | None) -> models.Account | None:
    account = await named(rows, username, directory_id)
    return account if account and account.status != "inactive" else None


async def _send(call: Call, rows: Rows, account: models.Account, purpose: str, code: str) -> None:
    """Make a code and tell it to whatever sends mail; where the account has many already, do neither."""
    await rows.delete(models.OneTimeCode, *_codes(account, purpose), col(models.OneTimeCode.expires_at) <= rows.now)
    if await rows.count(models.OneTimeCode, *_codes(account, purpose)) >= CODES_AT_ONCE:
        return
    code_id, expires_at = new_id(), rows.now + CODE_LIFETIME
    await rows.add(
        models.OneTimeCode(
            code_id=code_id,
            user_id=account.user_id,
            account_id=account.account_id,
            purpose=purpose,
            digest=digest(f"{code_id}:{code}"),
            expires_at=expires_at,
        )
    )
    made = OneTimeCodeMade(purpose, account.account_id, account.username, account.email, code, expires_at)
    call.emit(Event(topics.codes(account.user_id), code_id, made))


async def _guessed(rows: Rows, account: models.Account, code: str) -> bool:
    """Whether this is the newest code of the account, which has a try left; the try is counted."""
    newest = await rows.first(
        models.OneTimeCode,
        *_codes(account, VERIFICATION),
        order_by=[col(models.OneTimeCode.created_at).desc()],
    )
    if newest is None or newest.expires_at <= rows.now:
        return False
    tried = await rows.update(
        models.OneTimeCode,
        col(models.OneTimeCode.code_id) == newest.code_id,
        col(models.OneTimeCode.failures) < TRIES,
        failures=col(models.OneTimeCode.failures) + 1,
    )
    return bool(tried) and _is(newest, code)


def _is(sent: models.OneTimeCode, code: str) -> bool:
    return hmac.compare_digest(sent.digest, digest(f"{sent.code_id}:{code.strip()}"))


def _codes(account: models.Account, purpose: str) -> tuple[Condition, Condition]:
    return col(models.OneTimeCode.account_id) == account.account_id, col(models.OneTimeCode.purpose) == purpose


def _wrong(name: str) -> Problem:
    return Problem((name,), "is wrong")
