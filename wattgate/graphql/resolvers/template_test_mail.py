"""Templates tried out in a real mail program: sent as they are written, to those who may get test mails."""

from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, parse_mailbox
from wattgate.delivery.templates.rendering import RenderedTemplate
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.errors import BadInput, Problem, Unavailable
from wattgate.graphql.core.cost_weights import MUTATION_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.resolvers.template_previews import run_preview
from wattgate.graphql.services import outbox
from wattgate.graphql.types import mail as types
from wattgate.graphql.types.alerts import Channel
from wattgate.graphql.types.template_previews import TemplateToPreview
from wattgate.principal import Permission

MAX_WAITING_MAILS = 20
"""How many test mails of an application wait for a mail server at most."""

MAX_KEPT_TEST_MAILS = 200
"""How many test mails of an application are kept; of more the oldest go."""

FINAL_STATES = (DeliveryState.SENT, DeliveryState.FAILED)


@dataclass(frozen=True, slots=True)
class SentMailStatus:
    """A test mail, and how far it is."""

    test_mail: models.TestMail
    state: DeliveryState
    reason: str | None


@operation(
    OperationKind.MUTATION, returns=types.SentTestMail, needs=Permission.TEMPLATE_WRITE, weight=MUTATION_WEIGHT + 20
)
async def send_test_mail(call: Call, *, address: str, input: TemplateToPreview) -> SentMailStatus:
    """Send the preview of a template as a mail. The subject starts with [TEST]."""
    box = _check_address(call, address)
    said = (await _render_mail(call, input)).marked_as_test()
    await _check_capacity(call)
    made = await call.rows.add(
        models.TestMail(
            address=box.address,
            subject=said.subject,
            html=said.html,
            text=said.text,
            created_by=call.principal.account_id,
            created_at=call.rows.now,
        )
    )
    await call.rows.keep_newest(models.TestMail, MAX_KEPT_TEST_MAILS)
    delivery = await outbox.enqueue(call, DeliveryKind.TEST_MAIL, made.test_mail_id, address=box.address)
    return SentMailStatus(made, delivery.state, None)


@operation(OperationKind.QUERY, returns=types.SentTestMail, needs=Permission.TEMPLATE_WRITE)
async def test_mail(call: Call, *, test_mail_id: strawberry.ID) -> SentMailStatus:
    """Return a test mail and the state of its delivery."""
    made = await call.rows.get(models.TestMail, test_mail_id)
    (delivery,) = await call.rows.all(models.Delivery, col(models.Delivery.target_id) == test_mail_id)
    return SentMailStatus(made, delivery.state, delivery.reason)


def _check_address(call: Call, address: str) -> Mailbox:
    try:
        box = parse_mailbox(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None
    if not call.outbound_policy.test_mail_addresses.allows(box):
        problem = Problem(("address",), "is none that WATTGATE_TEST_ADDRESSES allows")
        raise BadInput(f"{box.address} may not get test mails", problems=[problem])
    return box


async def _render_mail(call: Call, input: TemplateToPreview) -> RenderedTemplate:
    """What is written. BadInput where it is no mail, or would not be sent as it is."""
    tried = await run_preview(call, input)
    channel = input.channel_type.value if tried.template is None else tried.template.channel_type
    if channel != Channel.EMAIL.value:
        problem = Problem(("input", "channelType"), "is not EMAIL")
        raise BadInput("what is sent to other channels cannot be tried out by mail", problems=[problem])
    errors = tried.preview.rendering.errors
    if errors:
        problems = [Problem(("input",), str(one)) for one in errors]
        raise BadInput(f"it would not be sent as it is: {errors[0].message}", problems=problems)
    return tried.preview.rendering.complete


async def _check_capacity(call: Call) -> None:
    waiting = await call.rows.count(
        models.Delivery,
        col(models.Delivery.kind) == DeliveryKind.TEST_MAIL,
        col(models.Delivery.state).not_in(FINAL_STATES),
    )
    if waiting >= MAX_WAITING_MAILS:
        raise Unavailable(f"{waiting} test mails wait already for a mail server", retry_after=60)
