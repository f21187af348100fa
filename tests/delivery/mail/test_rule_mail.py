"""The mail of a rule that fires: it equals the preview with its alert, in the recipient's culture."""

from datetime import timedelta
from decimal import Decimal
from email.message import EmailMessage
from typing import Any
from uuid import uuid4

import pytest
from sqlmodel import col
from strawberry import ID

from tests.delivery.mail.conftest import set_accounts_active, set_address
from tests.delivery.mail.test_alerts import deliver_due, settings
from tests.support.house import Tenant, operation
from tests.support.outbox import Post
from tests.support.residents import resident
from tests.support.sinks import sink
from tests.support.smtp import MailServer
from tests.support.timed import NOW
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.db.models import Account, Alert, AlertRule, Notification, User
from wattgate.enums import Channel, Function, NotificationState, RuleKind
from wattgate.operations.alerts import alert_rules
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.homes.meter_points import ResourceChange
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.messages.alerts import NewTemplateText
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.principal import Permission

HTML = (
    '<html lang="fr"><body><h1>{{ home.name }}</h1><p>Bonjour {{ recipient.name }}, le {{ at | at }} : '
    '<b title="{{ value }}">{{ value | quantity: unit }}</b> de {{ resource }}, limite {{ threshold | quantity: unit }}'
    '</p><a href="https://energy.example/?use={{ value }}">{{ account.email }}</a></body></html>'
)
SUBJECT = "{{ recipient.name }}: {{ value | quantity: unit }} ({{ home.name }})"


@declare(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def describe_person(call: Call, *, user_id: str, culture: str, name: str, email: str) -> None:
    await call.rows.update(User, col(User.user_id) == user_id, culture_code=culture)
    await call.rows.update(Account, col(Account.user_id) == user_id, name=name, email=email)


def part(message: EmailMessage, kind: str) -> bytes:
    """Return the bytes of a part as the mail program decodes them, with the line ends of texts."""
    body = message.get_body((kind,))
    assert body is not None
    content = body.get_payload(decode=True)
    assert isinstance(content, bytes)
    return content.replace(b"\r\n", b"\n").removesuffix(b"\n")


async def add_rule(
    post: Post,
    person: Tenant,
    *channels: Channel,
    mpxn: str | None = None,
    code: str = "RULE",
    rule_kind: RuleKind | None = RuleKind.THRESHOLD,
    has_template: bool = True,
) -> str:
    """Add a home in Paris, a French template for the alerts of rules, and a rule that a third of 1 kWh breaks.

    Return the resource of the rule.
    """
    alert_type = NewAlertType(name="Forte consommation", system_alert_type_id=code, rule_kind=rule_kind)
    alert_type_id = (await post.tenant.run("add_alert_type", input=alert_type)).alert_type_id
    template = NewTemplateText(name="Forte", html_template=HTML, subject=SUBJECT, active=True)
    kind = {"alert_type_id": alert_type_id, "channel_type": Channel.EMAIL, "culture_code": "fr"}
    if has_template:
        await post.tenant.run("add_template_for", **kind, input=template)
    resource_id = await person.add_resource("électricité", mpxn=mpxn)
    home = home_types.NewVirtualEntity(
        ve_type_id=ID(person.ids["virtual_entity_type"]),
        name="Chez Zoë",
        time_zone="Europe/Paris",
        resources=[home_types.OwnedResource(resource_id=ID(resource_id))],
    )
    await person.run("add_virtual_entity", input=home)
    rule = NewAlertRule(
        name="Trop",
        kind=RuleKind.THRESHOLD,
        function=Function.AVG,
        window_minutes=90,
        threshold=Decimal("0.25"),
        alert_type_id=ID(alert_type_id),
        channels=list(channels or [Channel.EMAIL]),
        resource_id=ID(resource_id),
    )
    await post.runner.run(operation("add_alert_rule"), person.system, {"input": rule})
    start = NOW.replace(minute=0, second=0) + timedelta(hours=1)
    await person.record(resource_id, *((start + n * timedelta(minutes=30), value) for n, value in enumerate("001")))
    post.clock.now = start + timedelta(hours=2)
    return resource_id


async def fire(post: Post) -> None:
    for rule_id in await post.run(alert_rules.due_rules, limit=100):
        await post.run(alert_rules.evaluate_rule, rule_id=rule_id)


@pytest.fixture
async def person(outbox: Post) -> Tenant:
    person = await resident(outbox.tenant)
    values = {"user_id": person.user_id, "culture": "fr-CA", "name": "Zoë", "email": "zoe@example.org"}
    await outbox.run(describe_person, **values)
    return person


async def test_mail_of_a_rule_equals_its_preview(outbox: Post, smtp: MailServer, person: Tenant) -> None:
    await add_rule(outbox, person)
    await fire(outbox)
    (alert,) = await outbox.rows(Alert, col(Alert.user_id) == person.user_id)
    assert await deliver_due(outbox, settings(smtp)) == 1
    (received,) = smtp.taken
    preview: Any = await outbox.run(
        operation("preview_template"), input=TemplateToPreview(alert_type_id=ID("RULE"), channel_type=Channel.EMAIL)
    )
    assert preview.alert.alert_id == alert.alert_id
    assert [str(finding) for finding in preview.report.findings if finding.severity == "error"] == []
    assert received.message["Subject"] == preview.subject == "Zoë: 0,33 kWh (Chez Zoë)"
    assert part(received.message, "html") == preview.html.encode().removesuffix(b"\n")
    assert part(received.message, "plain") == preview.text.encode().removesuffix(b"\n")
    text = " ".join(part(received.message, "plain").decode().split())
    assert "Bonjour Zoë, le 1 juin 2026, 17 h 00" in text
    assert "0,33 kWh de électricité, limite 0,25 kWh" in text
    assert "zoe@example.org" in text
    assert 'href="https://energy.example/?use=0.333333"' in preview.html
    assert alert.data["value"] == 0.333333
    assert (await outbox.log(alert.alert_id))[1][1] == "Sent"


@pytest.mark.every_case("each takes the kind of the rule from another place")
@pytest.mark.parametrize("is_declared", [True, False])
async def test_mail_of_a_rule_without_a_template_has_the_built_in_text(
    outbox: Post, smtp: MailServer, person: Tenant, is_declared: bool
) -> None:
    code = f"BARE{is_declared}"
    await add_rule(outbox, person, code=code, has_template=False, rule_kind=RuleKind.THRESHOLD if is_declared else None)
    await fire(outbox)
    assert await deliver_due(outbox, settings(smtp)) == 1
    (received,) = smtp.taken
    assert received.message["Subject"] == "Chez Zoë : 0,33 kWh, limite 0,25 kWh"
    text = " ".join(part(received.message, "plain").decode().split())
    for words in ("Bonjour Zoë,", "électricité en 1 heure 30 minutes", "1 juin 2026, 17 h 00", "votre règle « Trop »"):
        assert words in text


async def test_rule_that_fires_often_sends_all_alerts_in_three_rounds(
    outbox: Post, smtp: MailServer, person: Tenant
) -> None:
    """One round renders all alerts, and one counts all mails: see `OutsideWork.collect`."""
    firings, runs = 5, list[str]()

    @declare(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
    async def evaluate(call: Call, *, rule_id: str) -> int:
        runs.append(rule_id)
        return int(await alert_rules.evaluate_rule.resolver(call, rule_id=rule_id))

    resource_id = await add_rule(outbox, person, code="OFTEN")
    start, values = outbox.clock.now, "001000" * (firings - 1)
    await person.record(resource_id, *((start + n * timedelta(minutes=30), value) for n, value in enumerate(values)))
    outbox.clock.now = start + len(values) * timedelta(minutes=30)
    (rule,) = await outbox.rows(AlertRule, col(AlertRule.user_id) == person.user_id)
    rule_id = rule.rule_id
    assert await outbox.run(evaluate, rule_id=rule_id) == firings
    assert runs == [rule_id] * 3
    alerts = await outbox.rows(Alert, col(Alert.user_id) == person.user_id)
    assert [len(await outbox.deliveries(alert.alert_id)) for alert in alerts] == [1] * firings
    assert await deliver_due(outbox, settings(smtp)) == firings


@pytest.mark.every_case("each ends another right")
@pytest.mark.parametrize(
    "way",
    ["none", "revoked", "renewed", "moved", "resource closed", "account closed", "address changed", "erased"],
)
async def test_mail_and_push_that_wait_need_the_consent_and_the_account_of_the_moment(
    outbox: Post, smtp: MailServer, person: Tenant, way: str
) -> None:
    mpxn = str(uuid4().int)[:13]
    resource_id = await add_rule(outbox, person, Channel.EMAIL, Channel.PUSH, mpxn=mpxn, code=f"R{mpxn}")
    push = {"account_id": person.account_id, "new_token": f"fcm:{mpxn}"}
    await outbox.runner.run(operation("add_mobile_app_token"), person.system, push)
    await fire(outbox)
    if way in ("revoked", "renewed"):
        outbox.pass_time(timedelta(seconds=1))
        await outbox.runner.run(operation("revoke_consents"), person.system, {"mpxns": [mpxn]})
    if way == "renewed":
        outbox.pass_time(timedelta(seconds=1))
        await outbox.runner.run(operation("renew_consents"), person.system, {"mpxns": [mpxn]})
    if way == "moved":
        other = await resident(outbox.tenant)
        moved = {"resource_id": resource_id, "user_id": other.user_id}
        await outbox.runner.run(operation("move_resource"), person.system, moved)
    elif way == "resource closed":
        change = {"resource_id": resource_id, "input": ResourceChange(active=False)}
        await outbox.runner.run(operation("update_resource"), person.system, change)
    elif way == "account closed":
        await outbox.run(set_accounts_active, active=False)
    elif way == "address changed":
        await outbox.run(set_address, email="new@example.org")
    elif way == "erased":
        await outbox.run(operation("delete_user"), user_id=person.user_id)
    async with sink() as provider:
        handlers = create_delivery_handlers(settings(smtp, push_url=provider.url), outbox.runner, outbox.clock)
        await outbox.worker_with(handlers).deliver_due()
        for handler in handlers.values():
            if handler.close is not None:
                await handler.close()
    await outbox.run(set_accounts_active, active=True)
    mails = {"none": 1, "moved": 1}.get(way, 0)  # a household that moved gets the notice of its end
    pushes = int(way in ("none", "address changed"))
    assert (len(smtp.taken), len(provider.received)) == (mails, pushes)
    assert all(mpxn.encode() in part(mail.message, "plain") for mail in smtp.taken if way == "moved")
    (alert,) = await outbox.rows(Alert, col(Alert.user_id) == person.user_id)
    sent = {Channel.EMAIL.value: way == "none", Channel.PUSH.value: bool(pushes)}
    for notification in await outbox.rows(Notification, col(Notification.alert_id) == alert.alert_id):
        is_sent = sent[notification.channel]
        if way != "erased":  # its deliveries are deleted, and its notifications follow
            assert notification.state is (NotificationState.SENT if is_sent else NotificationState.FAILED)
