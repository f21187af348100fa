"""Bounds of the mails to one address and to one user, so that nobody can flood a mailbox through the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.db.column_types import new_id
from wattgate.db.models import Delivery
from wattgate.delivery.mail_addresses import mailbox_key
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.outbox import enqueue
from wattgate.requests.client import MailboxBound

BOUND_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class MailBound:
    """Maximum mails of a kind in BOUND_WINDOW.

    They are to one address of an application, to all addresses of a user, and to one mailbox from all applications.
    A mailbox is the same in each spelling of its address (`mailbox_key`).
    """

    for_address: int
    for_user: int
    for_mailbox: int


MAIL_BOUNDS: Mapping[DeliveryKind, MailBound] = MappingProxyType(
    {DeliveryKind.EMAIL: MailBound(20, 40, 40), DeliveryKind.ACCOUNT_MAIL: MailBound(5, 10, 10)}
)


async def enqueue_mail(call: Call, kind: DeliveryKind, target_id: str, *, user_id: str, address: str) -> Delivery:
    """Enqueue a mail. Above a bound, store it as SUPPRESSED with the reason: it is visible and never sent."""
    reason = await exceeded_bound(call, kind, user_id, address)
    return await enqueue(call, kind, target_id, user_id=user_id, address=address, suppressed_reason=reason)


async def exceeded_bound(
    call: Call, kind: DeliveryKind, user_id: str, address: str, group: str = "", *conditions: ColumnElement[bool]
) -> str | None:
    """Return which bound another mail would exceed, or None. Otherwise count it for the mailbox.

    Mails of a `group` have counts of their own: `conditions` select their deliveries. The statements are the same in
    each case. The count of the mailbox is outside work, see `OutsideWork.result`.
    """
    bound = MAIL_BOUNDS[kind]
    counted = (
        *conditions,
        col(Delivery.kind) == kind,
        col(Delivery.state) != DeliveryState.SUPPRESSED,
        col(Delivery.created_at) > call.rows.now - BOUND_WINDOW,
    )
    checks = (
        (col(Delivery.address) == address, bound.for_address, "address"),
        (col(Delivery.user_id) == user_id, bound.for_user, "user"),
    )
    exceeded = [
        f"more than {maximum} mails to this {what} in {int(BOUND_WINDOW.total_seconds() // 60)} minutes"
        for condition, maximum, what in checks
        # an address may belong to several users
        if await call.rows.count_in_application(Delivery, condition, *counted, limit=maximum) >= maximum
    ]
    seconds = int(BOUND_WINDOW.total_seconds())
    of_mailbox = MailboxBound(f"{kind.value}{group}", bound.for_address, bound.for_mailbox, seconds)
    if exceeded:
        return exceeded[0]
    mailbox, application_id = mailbox_key(address), call.rows.application_id
    # the mail is counted once, however often the resolver runs
    inputs = "mailbox", kind, group, mailbox, call.outside.same_value(new_id)
    if call.outside.result(inputs, lambda: call.address_limits.take_mail(of_mailbox, mailbox, application_id)):
        return None
    return "too many mails to this mailbox, in all spellings of its address and from all applications"
