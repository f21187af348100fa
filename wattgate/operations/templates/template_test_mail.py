"""Send previews of templates as test mails, to addresses that the settings allow."""

from dataclasses import dataclass
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows.lookups import not_found
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, parse_mailbox
from wattgate.delivery.templates.rendering import RenderedTemplate
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.errors import BadInput, Problem, Unavailable
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.messages import outbox
from wattgate.operations.templates.template_previews import run_preview
from wattgate.operations.types.messages import mail as types
from wattgate.operations.types.messages.alerts import Channel
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT, RENDER_WEIGHT
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

MAX_WAITING_MAILS = 20
"""Maximum test mails of an application that wait for delivery."""

MAX_KEPT_TEST_MAILS = 200
"""Maximum stored test mails of an application. Above it, the oldest are deleted."""

FINAL_STATES = (DeliveryState.SENT, DeliveryState.FAILED)


@dataclass(frozen=True, slots=True)
class SentTestMailResult:
    """A test mail and its delivery state."""

    test_mail: models.TestMail
    state: DeliveryState
    reason: str | None


@operation(
    OperationKind.MUTATION,
    returns=types.SentTestMail,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    weight=MUTATION_WEIGHT + RENDER_WEIGHT,
)
async def send_test_mail(
    call: Call,
    *,
    address: Annotated[
        terms.Text500, Described("E-mail address of the recipient. WATTGATE_TEST_ADDRESSES must allow it.")
    ],
    input: Annotated[TemplateToPreview, Described("Template to render and the data to render it with.")],
) -> SentTestMailResult:
    """Send the preview of a template as a mail. The subject starts with [TEST]."""
    mailbox = _check_address(call, address)
    mail = (await _render_mail(call, input)).marked_as_test()
    await _check_capacity(call)
    test_mail = await call.rows.add(
        models.TestMail(
            address=mailbox.address,
            subject=mail.subject,
            html=mail.html,
            text=mail.text,
            created_by=call.principal.account_id,
            created_at=call.rows.now,
        )
    )
    await call.rows.keep_newest(models.TestMail, MAX_KEPT_TEST_MAILS)
    delivery = await outbox.enqueue(call, DeliveryKind.TEST_MAIL, test_mail.test_mail_id, address=mailbox.address)
    return SentTestMailResult(test_mail, delivery.state, None)


@operation(OperationKind.QUERY, returns=types.SentTestMail, needs=Permission.TEMPLATE_WRITE)
async def test_mail(call: Call, *, test_mail_id: ids.TestMailId) -> SentTestMailResult:
    """Return a test mail and the state of its delivery. A template editor sees only those of the own account."""
    mail = await call.rows.get(models.TestMail, test_mail_id)
    if call.principal.sees_own_records_only and mail.created_by != call.principal.account_id:
        raise not_found(models.TestMail, test_mail_id)
    (delivery,) = await call.rows.all(models.Delivery, col(models.Delivery.target_id) == test_mail_id)
    return SentTestMailResult(mail, delivery.state, delivery.reason)


def _check_address(call: Call, address: str) -> Mailbox:
    try:
        mailbox = parse_mailbox(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None
    if not call.outbound_policy.test_mail_addresses.allows(mailbox):
        problem = Problem(("address",), "is not allowed by WATTGATE_TEST_ADDRESSES")
        raise BadInput(
            f"{mailbox.address} may not receive test mails. Add it to WATTGATE_TEST_ADDRESSES.", problems=[problem]
        )
    return mailbox


async def _render_mail(call: Call, input: TemplateToPreview) -> RenderedTemplate:
    """Render the mail. Raise BadInput if the template is for another channel or has errors."""
    run = await run_preview(call, input)
    channel = input.channel_type.value if run.template is None else run.template.channel_type
    if channel != Channel.EMAIL.value:
        problem = Problem(("input", "channelType"), "is not EMAIL")
        raise BadInput("Only templates of the channel EMAIL can be sent as a test mail.", problems=[problem])
    errors = run.preview.rendering.errors
    if errors:
        problems = [Problem(("input",), str(error)) for error in errors]
        raise BadInput(f"The template has errors and would not be sent: {errors[0].message}", problems=problems)
    return run.preview.rendering.complete


async def _check_capacity(call: Call) -> None:
    waiting = await call.rows.count(
        models.Delivery,
        col(models.Delivery.kind) == DeliveryKind.TEST_MAIL,
        col(models.Delivery.state).not_in(FINAL_STATES),
    )
    if waiting >= MAX_WAITING_MAILS:
        raise Unavailable(f"{waiting} test mails are already waiting for delivery. Try again later.", retry_after=60)
