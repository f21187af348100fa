"""Changes of an account's e-mail address: requested, confirmed at the new address, and reported to the old one."""

from datetime import timedelta

from msgspec.structs import replace
from sqlmodel import col

from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.models import Account, EmailChange, OneTimeCode
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mails import CONFIRM_EMAIL, EMAIL_CHANGE_REQUESTED, EMAIL_CHANGED, RESET, VERIFY
from wattgate.delivery.mail_addresses import NotMailable, parse_mailbox
from wattgate.errors import BadInput, Problem, RateLimited
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.account_mails import enqueue_account_mail, withdraw_codes
from wattgate.operations.messages.message_context import mail_address

CHANGE_LIFETIME = timedelta(hours=24)
MAX_EMAIL_CHANGES = 10
"""Maximum requested changes of an account in CHANGE_LIFETIME."""


async def request_email_change(call: Call, account: Account, email: str) -> None:
    """Store a new address until it is confirmed there, and inform both addresses. It replaces an earlier request.

    Raise RateLimited after too many requests.
    """
    try:
        new_address = parse_mailbox(email).address
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("email",), "is not an e-mail address")]) from None
    await call.rows.edit(Account, account.account_id)  # lock it, so that concurrent requests are counted
    await _check_request_count(call.rows, account)
    await cancel_email_changes(call.rows, account.account_id)
    code = new_secret()
    change = await call.rows.add(
        EmailChange(
            user_id=account.user_id,
            account_id=account.account_id,
            email=email,
            digest=hash_secret(code),
            created_at=call.rows.now,
            expires_at=call.rows.now + CHANGE_LIFETIME,
        )
    )
    await enqueue_account_mail(
        call, CONFIRM_EMAIL, account, new_address.lower(), code=code, expires_at=change.expires_at
    )
    if old_address := mail_address(account):
        await enqueue_account_mail(call, EMAIL_CHANGE_REQUESTED, account, old_address)


async def confirm_requested_change(call: Call, rows: Rows, code: str) -> Account:
    """Replace the address of the account that the code belongs to, and return the account.

    Raise BadInput if the code is not valid any more.
    """
    digest = hash_secret(code.strip())
    change = await rows.first(EmailChange, col(EmailChange.digest) == digest, col(EmailChange.expires_at) > rows.now)
    is_change = col(EmailChange.digest) == digest, col(EmailChange.active).is_(True)
    if change is None:
        raise _invalid_code()
    account = await rows.edit(Account, change.account_id)  # first, as in the acts that cancel changes
    if not account.active or not await rows.update(EmailChange, *is_change, active=False):
        raise _invalid_code()
    old_address = mail_address(account)
    account.email = change.email
    await end_codes_of_address(rows, account.account_id)
    await withdraw_codes(rows, account.account_id, CONFIRM_EMAIL)
    if old_address is not None and old_address != mail_address(account):
        await enqueue_account_mail(replace(call, rows=rows), EMAIL_CHANGED, account, old_address)
    return account


async def end_codes_of_address(rows: Rows, account_id: str) -> None:
    """Make the codes invalid that were sent to the address of an account, because it has another one now."""
    await rows.delete(OneTimeCode, col(OneTimeCode.account_id) == account_id)
    await withdraw_codes(rows, account_id, VERIFY, RESET)


async def cancel_email_changes(rows: Rows, account_id: str) -> None:
    """Make the codes of requested changes invalid."""
    await rows.update(
        EmailChange, col(EmailChange.account_id) == account_id, col(EmailChange.active).is_(True), active=False
    )
    await withdraw_codes(rows, account_id, CONFIRM_EMAIL)


async def _check_request_count(rows: Rows, account: Account) -> None:
    of_account = col(EmailChange.account_id) == account.account_id
    await rows.delete(EmailChange, of_account, col(EmailChange.created_at) <= rows.now - CHANGE_LIFETIME)
    earlier = await rows.all(EmailChange, of_account, order_by=[col(EmailChange.created_at)])
    if len(earlier) >= MAX_EMAIL_CHANGES:
        retry_after = int((earlier[0].created_at + CHANGE_LIFETIME - rows.now).total_seconds()) + 1
        raise RateLimited(
            f"An account can request at most {MAX_EMAIL_CHANGES} changes of its e-mail address in 24 hours.",
            retry_after=retry_after,
        )


def _invalid_code() -> BadInput:
    return BadInput("The code is wrong or has expired.", problems=[Problem(("token",), "is wrong")])
