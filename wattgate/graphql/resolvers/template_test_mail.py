"""Templates tried out in a real mail program: sent as they are written, to those who may get test mails."""

from dataclasses import dataclass

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, mailbox
from wattgate.delivery.templates.rendering import Rendered
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.errors import BadInput, Problem, Unavailable
from wattgate.graphql.core.cost_weights import MUTATION
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers.template_previews import try_out
from wattgate.graphql.services import outbox
from wattgate.graphql.types import mail as types
from wattgate.graphql.types.alerts import Channel
from wattgate.graphql.types.template_previews import TemplateToPreview
from wattgate.principal import Permission

MAX_WAITING = 20
"""How many test mails of an application wait for a mail server at most."""

KEPT = 200
"""How many test mails of an application are kept; of more the oldest go."""

AT_ITS_END = (DeliveryState.SENT, DeliveryState.FAILED)


@dataclass(frozen=True, slots=True)
class OnItsWay:
    """A test mail, and how far it is."""

    test_mail: models.TestMail
    state: DeliveryState
    reason: str | None


@operation(Kind.MUTATION, returns=types.SentTestMail, needs=Permission.TEMPLATE_WRITE, weight=MUTATION + 20)
async def send_test_mail(call: Call, *, address: str, input: TemplateToPreview) -> OnItsWay:
    """Send what a preview of the same input shows as a mail. Its subject begins with [TEST]."""
    box = _allowed(call, address)
    said = (await _mail(call, input)).marked_as_test()
    await _check_room(call)
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
    await call.rows.keep_newest(models.TestMail, KEPT)
    delivery = await outbox.enqueue(call, DeliveryKind.TEST_MAIL, made.test_mail_id, address=box.address)
    return OnItsWay(made, delivery.state, None)


@operation(Kind.QUERY, returns=types.SentTestMail, needs=Permission.TEMPLATE_WRITE)
async def test_mail(call: Call, *, test_mail_id: strawberry.ID) -> OnItsWay:
    """A test mail, and whether a mail server has taken it."""
    made = await call.rows.get(models.TestMail, test_mail_id)
    (delivery,) = await call.rows.all(models.Delivery, col(models.Delivery.target_id) == test_mail_id)
    return OnItsWay(made, delivery.state, delivery.reason)


def _allowed(call: Call, address: str) -> Mailbox:
    try:
        box = mailbox(address)
    except NotMailable as error:
        raise BadInput(str(error), problems=[Problem(("address",), "is not an e-mail address")]) from None
    if not call.outside.test_addresses.allows(box):
        problem = Problem(("address",), "is none that WATTGATE_TEST_ADDRESSES allows")
        raise BadInput(f"{box.address} may not get test mails", problems=[problem])
    return box


async def _mail(call: Call, input: TemplateToPreview) -> Rendered:
    """What is written. BadInput where it is no mail, or would not be sent as it is."""
    tried = await try_out(call, input)
    channel = input.channel_type.value if tried.template is None else tried.template.channel_type
    if channel != Channel.EMAIL.value:
        problem = Problem(("input", "channelType"), "is not EMAIL")
        raise BadInput("what is sent to other channels cannot be tried out by mail", problems=[problem])
    errors = tried.made.draft.errors
    if errors:
        problems = [Problem(("input",), str(one)) for one in errors]
        raise BadInput(f"it would not be sent as it is: {errors[0].message}", problems=problems)
    return tried.made.draft.whole


async def _check_room(call: Call) -> None:
    waiting = await call.rows.count(
        models.Delivery,
        col(models.Delivery.kind) == DeliveryKind.TEST_MAIL,
        col(models.Delivery.state).not_in(AT_ITS_END),
    )
    if waiting >= MAX_WAITING:
        raise Unavailable(f"{waiting} test mails wait already for a mail server", retry_after=60)
