"""The start of an erasure, and the check that a user still exists.

Some effects are immediate: the user cannot log in, the username is free, no message is sent, and nothing more is
recorded. A worker erases the rest in batches (`app/workers/user_jobs.py`).
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import func, or_
from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.login_backoff import forget_username
from wattgate.db.models import Tenanted
from wattgate.db.personal_data.selection import condition, erase_rows, replace_values
from wattgate.db.personal_data.steps import ADDRESS_STEPS, run_batch
from wattgate.db.personal_data.tables import USER_RULES
from wattgate.db.rows.rows import Rows
from wattgate.delivery.mail_addresses import NotMailable, parse_mailbox
from wattgate.enums import DeliveryState
from wattgate.operations.core.operation import Call
from wattgate.operations.credentials.credential_endings import end_user
from wattgate.operations.tenancies.tenancies import end_all_tenancies
from wattgate.realtime import topics
from wattgate.realtime.events import Event, UserJobQueued

MAX_ROWS_AT_ONCE = 10_000
"""Maximum rows of one kind that the start of an erasure changes. The worker continues with the others."""

REPLACED_AT_ONCE = (models.Account, models.Resource, models.User)
"""The models whose personal values are replaced at once: this frees the username, and closes the resources."""


async def begin_erasure(call: Call, user: models.User, erased_at: datetime | None = None) -> None:
    """Begin the erasure of a user, or do nothing if it has begun before. The user record is locked.

    `erased_at` is the time of an erasure that a restored backup has undone. The default is now.
    """
    if user.erased_at is not None:
        return
    rows, user_id = call.rows, user.user_id
    erasure = await rows.add(models.Erasure(user_id=user_id, due_at=rows.now, created_at=erased_at or rows.now))
    accounts = await rows.all(models.Account, col(models.Account.user_id) == user_id)
    await _withdraw_deliveries(rows, user_id)
    await _erase_by_address(rows, erasure, accounts)
    await end_user(call, rows, user_id)
    await end_all_tenancies(rows, user_id)
    own_export = col(models.DataExport.user_id) == user_id
    await rows.update(models.DataExport, own_export, attempt=col(models.DataExport.attempt) + 1)  # stops its worker
    for rule in USER_RULES:
        if rule.model in REPLACED_AT_ONCE:
            model = cast(type[Tenanted], rule.model)
            for selection in rule.selections:
                where = condition(rows, model, selection, user_id)
                await replace_values(rows, model, where, rule.replaced, MAX_ROWS_AT_ONCE)
    call.emit(Event(topics.user_jobs(), user_id, UserJobQueued(user_id)))


async def _withdraw_deliveries(rows: Rows, user_id: str) -> None:
    """Delete deliveries that wait or are being sent. Workers that hold one can record nothing about it any more."""
    is_open = col(models.Delivery.state).in_((DeliveryState.WAITING, DeliveryState.LEASED))
    for rule in USER_RULES:
        if rule.model is models.Delivery:
            for selection in rule.selections:
                where = condition(rows, models.Delivery, selection, user_id) & is_open
                while await erase_rows(rows, models.Delivery, where, MAX_ROWS_AT_ONCE):
                    pass


async def _erase_by_address(rows: Rows, erasure: models.Erasure, accounts: Sequence[models.Account]) -> None:
    """Erase the rows of the names and addresses of the accounts, before these are replaced.

    Rows of an address that an account of another user has as well stay with that user.
    """
    own = {address for account in accounts for address in _addresses_of(account)}
    shared = await _addresses_of_others(rows, erasure.user_id, own)
    if shared:  # a suppression may name a delivery to the erased user, with which it would be erased
        await rows.update(models.MailSuppression, col(models.MailSuppression.address).in_(shared), delivery_id=None)
    addresses = sorted(own - shared)
    for step in ADDRESS_STEPS:
        while (await run_batch(rows, erasure, step, addresses)).has_more:
            pass
    for account in accounts:
        await forget_username(rows, account.directory_id, account.username)


async def _addresses_of_others(rows: Rows, user_id: str, addresses: Collection[str]) -> set[str]:
    """Return those of some addresses that accounts of other users have."""
    others = await rows.all(
        models.Account,
        col(models.Account.user_id) != user_id,
        or_(*(func.lower(column).in_(addresses) for column in (models.Account.email, models.Account.username))),
    )
    return {address for account in others for address in _addresses_of(account)}


def _addresses_of(account: models.Account) -> set[str]:
    """Return the addresses of an account in lower case, as entered and in the form of suppressions."""
    addresses = set()
    for text in filter(None, (account.email, account.username)):
        addresses.add(text.lower())
        try:
            addresses.add(parse_mailbox(text).address.lower())
        except NotMailable:
            continue
    return addresses
