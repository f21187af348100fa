"""Activation of accounts: a registered account becomes active, and so does its user."""

from sqlmodel import col

from wattgate.db.models import Account, OneTimeCode, User
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import VERIFY
from wattgate.errors import BadInput, Forbidden, Problem
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.account_mails import withdraw_codes
from wattgate.principal import AccessScope, Permission

ACTIVE, UNVERIFIED = "active", "unverified"
VERIFICATION = "verification"
"""The purpose of codes that verify a registered account."""


async def activate(rows: Rows, account: Account) -> None:
    """Activate an unverified account, which is open for changes, and its user. Its verification codes end."""
    account.active, account.status = True, ACTIVE
    await rows.flush()
    is_unverified = col(User.user_id) == account.user_id, col(User.status) == UNVERIFIED
    await rows.update(User, *is_unverified, status=ACTIVE)
    codes = col(OneTimeCode.account_id) == account.account_id, col(OneTimeCode.purpose) == VERIFICATION
    await rows.delete(OneTimeCode, *codes)
    await withdraw_codes(rows, account.account_id, VERIFY)


async def change_status(call: Call, account: Account, status: str | None) -> None:
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
    if (account.status, status) != (UNVERIFIED, ACTIVE):
        problem = Problem(("input", "status"), f"is {account.status}, and can change only from unverified to active")
        raise BadInput(
            f"The status {account.status} cannot change to {status}. Only unverified accounts can become active. To "
            "close an account, delete it.",
            problems=[problem],
        )
    await activate(call.rows, account)
