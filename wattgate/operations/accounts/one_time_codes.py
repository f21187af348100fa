"""One-time codes in mails: they verify an e-mail address, or set a new password."""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import col

from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.login_backoff import NO_ACCOUNT
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Account, OneTimeCode, User
from wattgate.db.rows.pages import Condition
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import RESET, VERIFY
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, Forbidden, Problem
from wattgate.operations.core.operation import Call
from wattgate.operations.credentials.login import require_not_suspended
from wattgate.operations.messages.account_mails import enqueue_account_mail, withdraw_codes
from wattgate.operations.messages.message_context import mail_address
from wattgate.principal import AccessScope, Permission

# Activation of accounts: a registered account becomes active, and so does its user.

VERIFICATION = "verification"
"""The purpose of codes that verify a registered account."""


async def activate(rows: Rows, account: Account) -> None:
    """Activate an unverified account, which is open for changes, and its user. Its verification codes end.

    Raise Conflict if the user is suspended.
    """
    require_not_suspended(await rows.get(User, account.user_id))
    account.active, account.status = True, UserStatus.ACTIVE
    await rows.flush()
    is_unverified = col(User.user_id) == account.user_id, col(User.status) == UserStatus.UNVERIFIED
    await rows.update(User, *is_unverified, status=UserStatus.ACTIVE)
    codes = col(OneTimeCode.account_id) == account.account_id, col(OneTimeCode.purpose) == VERIFICATION
    await rows.delete(OneTimeCode, *codes)
    await withdraw_codes(rows, account.account_id, VERIFY)


async def change_status(call: Call, account: Account, status: UserStatus | None) -> None:
    """Change the status of an account, which is open for changes, for an application that vouches for its holder.

    Raise Forbidden for other callers, and BadInput for a change that is not an activation. The present status is no
    change, because clients send records back as they received them.
    """
    if status == account.status:
        return
    if call.principal.access_scope(Permission.ACCOUNT_MANAGE) is not AccessScope.APPLICATION:
        raise Forbidden(
            "Only administrators, and applications without the header userId, can change the status of an account."
        )
    if (account.status, status) != (UserStatus.UNVERIFIED, UserStatus.ACTIVE):
        problem = Problem(("input", "status"), f"is {account.status}, and can change only from unverified to active")
        raise BadInput(
            f"The status {account.status} cannot change to {status}. Only unverified accounts can become active. To "
            "close an account, delete it.",
            problems=[problem],
        )
    await activate(call.rows, account)


# One-time codes in mails: they verify an e-mail address, or set a new password.


CODE_LIFETIME = timedelta(hours=1)
MAX_OPEN_CODES = 5
"""Maximum valid codes of an account for one purpose. Further requests send nothing."""

MAX_CODE_ATTEMPTS = 5
"""Maximum attempts to enter a verification code."""

PASSWORD_RESET = "passwordReset"  # noqa: S105 (the purpose of a code)


@dataclass(frozen=True, slots=True)
class CodeKind:
    """A kind of one-time codes: its purpose, the short code of its mail, and how a code is generated.

    Another code is sent only `pause` after the last one. Codes of a kind that `replaces_earlier` are valid one at a
    time.
    """

    purpose: str
    short_code: str
    generate: Callable[[], str]
    pause: timedelta = timedelta(0)
    replaces_earlier: bool = False


def _six_digits() -> str:
    return f"{secrets.randbelow(1_000_000):06}"


VERIFICATION_CODES = CodeKind(VERIFICATION, VERIFY, _six_digits, pause=timedelta(minutes=1), replaces_earlier=True)
"""Codes that verify a registration. The pause keeps the code of the registration valid if a client requests another."""

RESET_CODES = CodeKind(PASSWORD_RESET, RESET, new_secret)
"""Tokens that reset a password."""


async def send_code(call: Call, account: models.Account | None, kind: CodeKind) -> None:
    """Store a code and enqueue its mail. Without an account, execute the same statements.

    Send and store nothing if the account has MAX_OPEN_CODES already, or if the newest code is too new.
    """
    rows = call.rows
    of_kind = code_conditions(account, kind.purpose)
    await rows.delete(models.OneTimeCode, *of_kind, col(models.OneTimeCode.expires_at) <= rows.now)
    open_codes = await rows.all(models.OneTimeCode, *of_kind)
    recipient = account if _may_send(open_codes, kind, rows.now) else None
    code_id, code, expires_at = new_id(), kind.generate(), rows.now + CODE_LIFETIME
    stored = models.OneTimeCode(
        code_id=code_id,
        user_id=recipient.user_id if recipient else NO_ACCOUNT,
        account_id=recipient.account_id if recipient else NO_ACCOUNT,
        purpose=kind.purpose,
        digest=hash_secret(f"{code_id}:{code}"),
        created_at=rows.now,
        expires_at=expires_at,
    )
    await rows.add_for(models.Account, stored)
    await withdraw_codes(rows, stored.account_id if kind.replaces_earlier else NO_ACCOUNT, kind.short_code)
    address = mail_address(recipient) if recipient else None
    await enqueue_account_mail(call, kind.short_code, recipient, address, code=code, expires_at=expires_at)


def _may_send(open_codes: list[models.OneTimeCode], kind: CodeKind, now: datetime) -> bool:
    """Return whether an account with these codes gets another one. Exhausted codes make nobody wait.

    Nor do codes that are ahead of the present by more than the pause: the clock was wrong.
    """
    usable = [code for code in open_codes if code.failures < MAX_CODE_ATTEMPTS]
    is_too_new = any(now - kind.pause < code.created_at <= now + kind.pause for code in usable)
    return len(open_codes) < MAX_OPEN_CODES and not is_too_new


async def verify_code(rows: Rows, account: models.Account | None, code: str) -> bool:
    """Return whether this is the account's newest code and has attempts left. Count the attempt.

    Without an account or a valid code, execute the same statements.
    """
    newest = await rows.first(
        models.OneTimeCode,
        *code_conditions(account, VERIFICATION),
        order_by=[col(models.OneTimeCode.created_at).desc()],
    )
    valid = newest if newest and newest.expires_at > rows.now else None
    counted = await rows.update(
        models.OneTimeCode,
        is_code(valid.code_id if valid else ""),
        col(models.OneTimeCode.failures) < MAX_CODE_ATTEMPTS,
        failures=col(models.OneTimeCode.failures) + 1,
    )
    return bool(counted) and valid is not None and matches_code(valid, code)


def matches_code(sent: models.OneTimeCode, code: str) -> bool:
    """Return whether a text is the code that was sent."""
    return hmac.compare_digest(sent.digest, hash_secret(f"{sent.code_id}:{code.strip()}"))


def code_conditions(account: models.Account | None, purpose: str) -> tuple[Condition, Condition]:
    """Return the conditions of the codes of an account for a purpose. Without an account, no code meets them."""
    account_id = account.account_id if account else NO_ACCOUNT
    return col(models.OneTimeCode.account_id) == account_id, col(models.OneTimeCode.purpose) == purpose


def is_code(code_id: str) -> Condition:
    """Return the condition of one code."""
    return col(models.OneTimeCode.code_id) == code_id
