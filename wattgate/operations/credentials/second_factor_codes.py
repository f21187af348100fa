"""The second factor of accounts: codes of an app by time (TOTP, RFC 6238), and recovery codes.

A code is six digits for 30 s. The codes of one step before and after the present one are accepted as well, because
clocks differ. No code is accepted twice.
"""

import hmac
from datetime import datetime

import pyotp
from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.identity.login_backoff import (
    backoff_id,
    count_failure,
    enforce_login_backoff,
    forget_failures,
    load_failures,
)
from wattgate.db.identity.secrets import hash_secret, new_readable_secret
from wattgate.db.rows.rows import Rows
from wattgate.errors import SecondFactorRequired
from wattgate.operations.core.operation import Call
from wattgate.requests.client import AddressPolicy

CODE_DIGITS = 6
STEP_SECONDS = 30
STEPS_AROUND = 1
"""Steps before and after the present one whose codes are accepted."""

RECOVERY_CODES = 10
RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that people do not confuse."""

RECOVERY_GROUPS = 6
"""Groups of four characters of a recovery code: 118 random bits, so that its fast hash is safe."""

FAILURE_KIND = "second factor"


def new_factor_secret() -> str:
    """Return a new secret of 160 random bits (RFC 4226, section 4), in base32."""
    return pyotp.random_base32()


def otpauth_uri(secret: str, account: models.Account, issuer: str) -> str:
    """Return the address that apps read from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=account.username, issuer_name=issuer or None)


async def find_factor(rows: Rows, account_id: str) -> models.SecondFactor | None:
    """Return the second factor of an account, confirmed or not."""
    return await rows.first(models.SecondFactor, col(models.SecondFactor.account_id) == account_id)


async def check_code(call: Call, rows: Rows, account: models.Account, code: str | None) -> None:
    """Raise SecondFactorRequired unless this is a code of the account's app, or one of its recovery codes.

    Wrong codes are counted for the account, from wherever they come, and charged to the client's address. Raise
    RateLimited after too many. The lock of the record makes concurrent attempts wait for each other.
    """
    if code is None or not code.strip():
        raise SecondFactorRequired("The account has a second factor. Send a code of its app as `code`.")
    factor = await rows.edit(models.SecondFactor, account.account_id)
    key = backoff_id(rows, account.directory_id, account.account_id, FAILURE_KIND)
    enforce_login_backoff(*await load_failures(rows, key), rows.now, "wrong codes")
    call.charge_address(AddressPolicy.LOGIN)
    if not await _use_code(rows, factor, code):
        await count_failure(rows, key)
        raise SecondFactorRequired(
            "The code is wrong, has expired, or was used before. Send the present code of the app as `code`.",
            commits_changes=True,
        )
    call.refund_address(AddressPolicy.LOGIN)
    await forget_failures(rows, key)


async def replace_recovery_codes(rows: Rows, account: models.Account) -> list[str]:
    """Replace the recovery codes of an account and return the new ones, which are stored as digests only."""
    await rows.delete(models.RecoveryCode, col(models.RecoveryCode.account_id) == account.account_id)
    codes = [new_readable_secret(RECOVERY_ALPHABET, RECOVERY_GROUPS) for _ in range(RECOVERY_CODES)]
    for code in codes:
        code_id = new_id()
        digest = _recovery_digest(account.account_id, code)
        await rows.add(
            models.RecoveryCode(
                recovery_code_id=code_id, user_id=account.user_id, account_id=account.account_id, digest=digest
            )
        )
    return codes


async def remove_factor(rows: Rows, account_id: str) -> None:
    """Remove the second factor of an account, its recovery codes, and the count of wrong codes."""
    await lock_user(rows, (await rows.get(models.Account, account_id)).user_id)
    account = await rows.edit(models.Account, account_id)
    account.second_factor = False
    await rows.delete(models.RecoveryCode, col(models.RecoveryCode.account_id) == account_id)
    await rows.delete(models.SecondFactor, col(models.SecondFactor.account_id) == account_id)
    await forget_failures(rows, backoff_id(rows, account.directory_id, account.account_id, FAILURE_KIND))


def matching_step(secret: str, code: str, now: datetime, last_step: int) -> int | None:
    """Return the time step whose code this is, or None. Steps up to `last_step` are over.

    A last step ahead of all that are accepted now comes from a clock that was wrong. It is forgotten, because otherwise
    no code would be right until that time.
    """
    totp, step = pyotp.TOTP(secret, interval=STEP_SECONDS), int(now.timestamp()) // STEP_SECONDS
    if last_step > step + STEPS_AROUND:
        last_step = 0
    found = None
    for candidate in range(step - STEPS_AROUND, step + STEPS_AROUND + 1):
        is_equal = hmac.compare_digest(totp.generate_otp(candidate).encode(), code.encode())
        if is_equal and candidate > last_step:
            found = candidate
    return found


async def _use_code(rows: Rows, factor: models.SecondFactor, code: str) -> bool:
    """Return whether a code is right, and use it up."""
    text = "".join(code.split()).replace("-", "").lower()
    if len(text) == CODE_DIGITS and text.isdigit():
        secret = rows.decrypt(models.SecondFactor, factor, "secret")
        step = matching_step(secret, text, rows.now, factor.last_step)
        if step is not None:
            factor.last_step = step
        return step is not None
    if factor.confirmed_at is None:
        return False
    is_code = (
        col(models.RecoveryCode.account_id) == factor.account_id,
        col(models.RecoveryCode.digest) == _recovery_digest(factor.account_id, text),
    )
    return bool(await rows.delete(models.RecoveryCode, *is_code))


def _recovery_digest(account_id: str, code: str) -> bytes:
    return hash_secret(f"{account_id}:{code.replace('-', '')}")
