"""Mail: operations for the workers that deliver it, suppressed addresses, and mail kept without an SMTP server."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.db.models import (
    AccountMail,
    Alert,
    AlertType,
    Delivery,
    KeptMail,
    MailSuppression,
    Notification,
    TestMail,
)
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.delivery.channels.channel import MessageContent, OutboundMessage, Outcome, PermanentFailure
from wattgate.delivery.channels.smtp import SUPPRESS_ADDRESS
from wattgate.delivery.mail_addresses import NotMailable, parse_mailbox
from wattgate.enums import DeliveryKind, SuppressionCause
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.operations.core.operation import Audit, Call, OperationKind, Unaudited, operation
from wattgate.operations.messages import account_mails, notifications, outbox
from wattgate.operations.types.messages import mail as types
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

MAX_WAIT = timedelta(days=5)
"""Maximum time that a mail waits. After it, delivery fails permanently, because the content is outdated."""

ADDRESS_SUPPRESSED = "address.suppressed"
"""Failure code of a mail to a suppressed address."""

MAX_KEPT_MAILS = 500
"""Maximum mails of an application that are kept if no SMTP server is configured. Above it, the oldest are deleted."""

MAX_LISTED_MAILS = 100
"""Maximum kept mails in a list."""


@operation(
    OperationKind.MUTATION, returns=types.MailSuppression, needs=Permission.NOTIFICATION_SEND, audit=Audit.EVERY_CALL
)
async def remove_mail_suppression(
    call: Call, *, address: Annotated[terms.Text500, Described("E-mail address to remove from the list, in any case.")]
) -> MailSuppression:
    """Remove an e-mail address from the suppression list, so that it receives mail again."""
    key = _parse_key(address)
    suppression = await call.rows.first(MailSuppression, col(MailSuppression.address) == key)
    if suppression is None:
        raise NotFound(f"The address {key} is not suppressed.")
    await call.rows.delete(MailSuppression, col(MailSuppression.suppression_id) == suppression.suppression_id)
    return suppression


@operation(
    OperationKind.MUTATION, returns=types.MailSuppression, needs=Permission.NOTIFICATION_SEND, audit=Audit.EVERY_CALL
)
async def report_mail_bounce(
    call: Call,
    *,
    address: Annotated[terms.Text500, Described("E-mail address that a mail came back from, in any case.")],
    reason: Annotated[terms.Text500, Described("Reason in the report, such as `550 5.1.1 user unknown`.")],
) -> MailSuppression:
    """Report that a mail came back after a mail server had accepted it. The address receives no more mail.

    Mails that wait are not sent, also those about the security of an account. A further report replaces the reason.
    """
    key = _parse_key(address)
    found = await _find_suppression(call, key)
    if found is None:
        return await call.rows.add(
            MailSuppression(address=key, cause=SuppressionCause.BOUNCED, reason=reason, created_at=call.rows.now)
        )
    suppression = await call.rows.edit(MailSuppression, found.suppression_id)
    suppression.cause, suppression.reason = SuppressionCause.BOUNCED, reason
    return suppression


def _parse_key(address: str) -> str:
    """Return an address as `suppression_key` does. Raise BadInput if it is malformed."""
    try:
        return suppression_key(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None


# Operations for the worker `app/workers/deliveries.py`.


@operation(OperationKind.QUERY, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_mail(call: Call, *, delivery_id: str) -> OutboundMessage | PermanentFailure:
    """Return the mail of a notification to one address, or PermanentFailure if it must not be sent.

    The address must still be one of an active account of the user, and the readings of the alert need a consent:
    accounts and consents end, and addresses change meanwhile.
    """
    delivery = await call.rows.get(Delivery, delivery_id)
    refusal = await _reason_not_to_send(call, delivery)
    if refusal is not None:
        return refusal
    notification = await call.rows.get(Notification, delivery.target_id)
    alert = await call.rows.get(Alert, notification.alert_id)
    ended = await notifications.reason_not_to_send(call, alert, notification)
    if ended is not None:
        return ended
    if delivery.address not in await notifications.current_addresses(call, alert.user_id):
        return PermanentFailure(account_mails.ADDRESS_ENDED, "no active account of the user has the address any more")
    return outbox.build_outgoing(delivery, delivery.address or "", await _mail_content(call, alert, notification))


@operation(OperationKind.QUERY, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_test_mail(call: Call, *, delivery_id: str) -> OutboundMessage | PermanentFailure:
    """Return a test mail of a template, or PermanentFailure if it must not be sent."""
    delivery = await call.rows.get(Delivery, delivery_id)
    refusal = await _reason_not_to_send(call, delivery)
    if refusal is not None:
        return refusal
    test = await call.rows.get(TestMail, delivery.target_id)
    return outbox.build_outgoing(delivery, test.address, MessageContent(test.subject, test.text, test.html))


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_mail_outcome(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Record the outcome of a mail. Suppress an address that does not exist. Return False if another worker has it."""
    delivery = await _record_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    await notifications.record_notification_step(call, delivery, outcome)
    return True


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_test_mail_outcome(
    call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome
) -> bool:
    """Record the outcome of a test mail, as `record_mail_outcome` does."""
    return await _record_outcome(call, delivery_id, worker, attempt, outcome) is not None


@operation(OperationKind.QUERY, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_account_mail(call: Call, *, delivery_id: str) -> OutboundMessage | PermanentFailure:
    """Return a mail of the gateway itself to the holder of an account, or PermanentFailure if it must not be sent.

    If the security of an account depends on it, it is sent to addresses that have unsubscribed, because without it
    nobody could reset a password there.
    """
    delivery = await call.rows.get(Delivery, delivery_id)
    stored = await call.rows.get(AccountMail, delivery.target_id)
    ignored = SuppressionCause.UNSUBSCRIBED if ACCOUNT_MAIL_TYPES[stored.name].for_security else None
    refusal = await _reason_not_to_send(call, delivery, ignored_cause=ignored)
    refusal = refusal or await account_mails.reason_not_to_send(call.rows, stored, delivery.address or "")
    if refusal is not None:
        return refusal
    content = await account_mails.render_account_mail(call, stored)
    return outbox.build_outgoing(delivery, delivery.address or "", content, unsubscribable=False)


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_account_mail_outcome(
    call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome
) -> bool:
    """Record the outcome of a mail of the gateway itself. Its code is deleted at the end."""
    delivery = await _record_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is not None and delivery.ended_at is not None:
        mail = await call.rows.edit(AccountMail, delivery.target_id)
        mail.secret = None
    return delivery is not None


@operation(
    OperationKind.MUTATION,
    returns=str,
    needs=Permission.SYSTEM,
    audit=Unaudited("The recipient of a mail follows the link in it."),
)
async def unsubscribe(call: Call, *, delivery_id: str) -> str:
    """Suppress the address of a delivery, so that it receives no more mail. Return the address."""
    delivery = await call.rows.get(Delivery, delivery_id)
    await _suppress(call, delivery, SuppressionCause.UNSUBSCRIBED)
    return delivery.address or ""


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def store_kept_mail(
    call: Call, *, delivery_id: str, recipient: str, subject: terms.Text2000, content: bytes
) -> None:
    """Store a mail that was not sent, once for each delivery. Delete the oldest above MAX_KEPT_MAILS.

    Store nothing if the delivery is gone: the data of its user was erased in the meantime.
    """
    delivery = await call.rows.first(Delivery, col(Delivery.delivery_id) == delivery_id)
    if delivery is None:
        return
    if await call.rows.first(KeptMail, col(KeptMail.delivery_id) == delivery_id) is None:
        await call.rows.add(
            KeptMail(
                delivery_id=delivery_id,
                user_id=delivery.user_id,
                recipient=recipient,
                subject=subject,
                content=content,
                created_at=call.rows.now,
            )
        )
    await call.rows.keep_newest(KeptMail, MAX_KEPT_MAILS)


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_mail(call: Call) -> list[str]:
    """Return the applications with kept mails."""
    return await call.rows.application_ids_with(KeptMail)


@dataclass(frozen=True, slots=True)
class ListedMail:
    """A kept mail, and the kind of its delivery: None if the delivery was deleted."""

    mail: KeptMail
    kind: DeliveryKind | None


@operation(OperationKind.QUERY, returns=list[ListedMail], needs=Permission.SYSTEM)
async def kept_mails(call: Call) -> list[ListedMail]:
    """Return the newest MAX_LISTED_MAILS kept mails of the application, newest first."""
    mails = await call.rows.all(KeptMail, order_by=[col(KeptMail.created_at).desc()], limit=MAX_LISTED_MAILS)
    deliveries = await call.rows.get_many(Delivery, [mail.delivery_id for mail in mails])
    kinds = {delivery_id: delivery.kind for delivery_id, delivery in deliveries.items()}
    return [ListedMail(mail, kinds.get(mail.delivery_id)) for mail in mails]


@operation(OperationKind.QUERY, returns=KeptMail, needs=Permission.SYSTEM)
async def kept_mail(call: Call, *, delivery_id: str) -> KeptMail:
    """Return the kept mail of a delivery."""
    return await call.rows.get(KeptMail, delivery_id)


@operation(
    OperationKind.MUTATION,
    returns=int,
    needs=Permission.SYSTEM,
    audit=Unaudited("It empties the outbox of mails that were not sent, which production does not have."),
)
async def purge_kept_mails(call: Call) -> int:
    """Delete the kept mails of the application. Return their number."""
    return await call.rows.delete(KeptMail)


def suppression_key(address: str) -> str:
    """Return the form of an address that suppressions are stored under. Raise NotMailable if it is malformed."""
    return parse_mailbox(address).address.lower()


async def _reason_not_to_send(
    call: Call, delivery: Delivery, *, ignored_cause: SuppressionCause | None = None
) -> PermanentFailure | None:
    """Return why a mail must not be sent: it is too old, or its address is malformed or suppressed. None otherwise.

    A suppression with the ignored cause does not count.
    """
    if call.rows.now - delivery.created_at > MAX_WAIT:
        return PermanentFailure(outbox.RETRIES_EXHAUSTED, f"the mail waited for more than {MAX_WAIT.days} days")
    try:
        suppression = await _find_suppression(call, suppression_key(delivery.address or ""))
    except NotMailable as error:
        return PermanentFailure("message.not_mailable", str(error))
    if suppression is not None and suppression.cause is not ignored_cause:
        return PermanentFailure(
            ADDRESS_SUPPRESSED, f"the address is suppressed: {suppression.reason or suppression.cause.value.lower()}"
        )
    return None


async def _record_outcome(call: Call, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> Delivery | None:
    delivery = await outbox.record_delivery_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is not None and isinstance(outcome, PermanentFailure) and outcome.details.get(SUPPRESS_ADDRESS):
        await _suppress(call, delivery, SuppressionCause.REFUSED, outcome.reason)
    return delivery


async def _find_suppression(call: Call, address: str) -> MailSuppression | None:
    return await call.rows.first(MailSuppression, col(MailSuppression.address) == address)


async def _suppress(call: Call, delivery: Delivery, cause: SuppressionCause, reason: str | None = None) -> None:
    address = suppression_key(delivery.address or "")
    if await _find_suppression(call, address) is None:
        await call.rows.add(
            MailSuppression(
                address=address,
                cause=cause,
                reason=reason,
                delivery_id=delivery.delivery_id,
                created_at=call.rows.now,
            )
        )


async def _mail_content(call: Call, alert: Alert, notification: Notification) -> MessageContent:
    """Return the content of a mail: rendered from its template, or else name and description of the alert type."""
    alert_type = await call.rows.get(AlertType, alert.alert_type_id)
    return MessageContent(
        notification.subject or alert_type.name,
        notification.text or alert_type.description or alert_type.name,
        notification.html,
    )
