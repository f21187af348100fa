"""Mail: what workers do to deliver it, and the addresses that get none."""

from datetime import timedelta

from sqlmodel import col

from wattgate.db.models import Alert, AlertType, Delivery, KeptMail, MailSuppression, Notification, TestMail
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Refused
from wattgate.delivery.channels.smtp import SUPPRESS
from wattgate.delivery.mail_addresses import NotMailable, mailbox
from wattgate.enums import SuppressionCause
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.services import notifications, outbox
from wattgate.graphql.types import mail as types
from wattgate.principal import Permission

LONGEST_WAIT = timedelta(days=5)
"""After this time a mail that could not leave is of no use any more, whatever it waited for."""

SUPPRESSED = "address.suppressed"
"""The code of a mail to an address that is on the list of those that get none."""

KEPT = 500
"""How many mails of an application are kept where there is no mail server."""

SHOWN = 100
"""How many of them a list shows."""


@operation(Kind.MUTATION, returns=types.MailSuppression, needs=Permission.NOTIFICATION_SEND)
async def remove_mail_suppression(call: Call, *, address: str) -> MailSuppression:
    """Send mail to an address again that had refused it, or whose owner had unsubscribed."""
    try:
        wanted = suppressed_as(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None
    found = await call.rows.first(MailSuppression, col(MailSuppression.address) == wanted)
    if found is None:
        raise NotFound(f"{wanted} is not suppressed")
    await call.rows.delete(MailSuppression, col(MailSuppression.suppression_id) == found.suppression_id)
    return found


# What workers do: `app/workers/deliveries.py` runs these.


@operation(Kind.QUERY, returns=Outgoing, needs=Permission.SYSTEM)
async def prepare_mail(call: Call, *, delivery_id: str) -> Outgoing | Refused:
    """What is written to one address; Refused where nothing is to be."""
    delivery = await call.rows.get(Delivery, delivery_id)
    refusal = await _refusal(call, delivery)
    if refusal is not None:
        return refusal
    sent = await call.rows.get(Notification, delivery.target_id)
    alert = await call.rows.get(Alert, sent.alert_id)
    return outbox.outgoing(delivery, delivery.address or "", await _content(call, alert, sent))


@operation(Kind.QUERY, returns=Outgoing, needs=Permission.SYSTEM)
async def prepare_test_mail(call: Call, *, delivery_id: str) -> Outgoing | Refused:
    """What is written to somebody who tries a template out; Refused where nothing is to be."""
    delivery = await call.rows.get(Delivery, delivery_id)
    refusal = await _refusal(call, delivery)
    if refusal is not None:
        return refusal
    test = await call.rows.get(TestMail, delivery.target_id)
    return outbox.outgoing(delivery, test.address, Content(test.subject, test.text, test.html))


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_mail(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Keep what became of a mail; an address that nobody has gets no more. False where somebody else has it."""
    delivery = await _settle(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    await notifications.step(call, delivery, outcome)
    return True


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_test_mail(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """The same of a mail that tries a template out."""
    return await _settle(call, delivery_id, worker, attempt, outcome) is not None


@operation(Kind.MUTATION, returns=str, needs=Permission.SYSTEM)
async def unsubscribe(call: Call, *, delivery_id: str) -> str:
    """Send no more mail to whoever got a delivery; the address."""
    delivery = await call.rows.get(Delivery, delivery_id)
    await _suppress(call, delivery, SuppressionCause.UNSUBSCRIBED)
    return delivery.address or ""


@operation(Kind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def keep_mail(call: Call, *, delivery_id: str, recipient: str, subject: str, content: bytes) -> None:
    """Keep a mail that was not sent, once for a delivery; of very many the oldest go."""
    if await call.rows.first(KeptMail, col(KeptMail.delivery_id) == delivery_id) is None:
        await call.rows.add(
            KeptMail(
                delivery_id=delivery_id,
                recipient=recipient,
                subject=subject,
                content=content,
                created_at=call.rows.now,
            )
        )
    await call.rows.keep_newest(KeptMail, KEPT)


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_with_mail(call: Call) -> list[str]:
    """The applications of which mails are kept."""
    return await call.rows.applications_with(KeptMail)


@operation(Kind.QUERY, returns=list[KeptMail], needs=Permission.SYSTEM)
async def kept_mails(call: Call) -> list[KeptMail]:
    """The mails of the application that were kept last, newest first."""
    return await call.rows.all(KeptMail, order_by=[col(KeptMail.created_at).desc()], limit=SHOWN)


@operation(Kind.QUERY, returns=KeptMail, needs=Permission.SYSTEM)
async def kept_mail(call: Call, *, delivery_id: str) -> KeptMail:
    """A mail that was kept."""
    return await call.rows.get(KeptMail, delivery_id)


def suppressed_as(address: str) -> str:
    """An address as the list has it, however it is written. NotMailable where it is none."""
    return mailbox(address).address.lower()


async def _refusal(call: Call, delivery: Delivery) -> Refused | None:
    """Why nothing is to be written to the address of a delivery, where that is so."""
    if call.rows.now - delivery.created_at > LONGEST_WAIT:
        return Refused(outbox.GIVEN_UP, f"it waited for more than {LONGEST_WAIT.days} days")
    try:
        suppression = await _suppression(call, suppressed_as(delivery.address or ""))
    except NotMailable as error:
        return Refused("message.not_mailable", str(error))
    if suppression is not None:
        return Refused(SUPPRESSED, f"the address gets no mail: {suppression.reason or suppression.cause.value.lower()}")
    return None


async def _settle(call: Call, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> Delivery | None:
    delivery = await outbox.settle(call, delivery_id, worker, attempt, outcome)
    if delivery is not None and isinstance(outcome, Refused) and outcome.facts.get(SUPPRESS):
        await _suppress(call, delivery, SuppressionCause.REFUSED, outcome.reason)
    return delivery


async def _suppression(call: Call, address: str) -> MailSuppression | None:
    return await call.rows.first(MailSuppression, col(MailSuppression.address) == address)


async def _suppress(call: Call, delivery: Delivery, cause: SuppressionCause, reason: str | None = None) -> None:
    address = suppressed_as(delivery.address or "")
    if await _suppression(call, address) is None:
        await call.rows.add(
            MailSuppression(
                address=address,
                cause=cause,
                reason=reason,
                delivery_id=delivery.delivery_id,
                created_at=call.rows.now,
            )
        )


async def _content(call: Call, alert: Alert, sent: Notification) -> Content:
    """What a mail says, by its template; without one, the name of the kind of alert, and what it is."""
    kind = await call.rows.get(AlertType, alert.alert_type_id)
    return Content(sent.subject or kind.name, sent.text or kind.description or kind.name, sent.html)
