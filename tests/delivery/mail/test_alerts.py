"""Alerts by mail: delivery to a mail server, suppressed addresses and unsubscribing."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from sqlmodel import col
from starlette.applications import Starlette
from strawberry import ID

from tests.delivery.mail.conftest import set_accounts_active, set_address
from tests.support import people
from tests.support.outbox import LINK_KEY, PUBLIC_URL, Post
from tests.support.residents import resident
from tests.support.smtp import MailServer
from tests.support.user_jobs import erased
from wattgate.app.server.pages.shared_preview_page import unsubscribe_route
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.app.workers.outbound import create_links
from wattgate.db.models import Account, KeptMail, MailSuppression
from wattgate.delivery.channels.mail import parse_mail
from wattgate.delivery.signed_links import MAIL_TOKEN
from wattgate.enums import Channel, DeliveryKind, DeliveryState, NotificationState, SuppressionCause
from wattgate.errors import BadInput, NotFound
from wattgate.operations.accounts import accounts, provisioning
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.core.outside_work import MAX_ROUNDS
from wattgate.operations.messages import mail
from wattgate.operations.types.messages.alerts import NewTemplateText
from wattgate.principal import Permission

pytestmark = pytest.mark.both_databases("a main path of its area")

REFUSED = "550 5.1.1 no such user here"


def settings(smtp: MailServer | None = None, **more: Any) -> Settings:
    url = None if smtp is None else f"smtp://127.0.0.1:{smtp.port}"
    values = {
        "mail_from": "Energy <alerts@energy.example>",
        "public_url": PUBLIC_URL,
        "link_key": LINK_KEY,
        **more,
    }
    return Settings(_env_file=None, smtp_url=url, **values)


async def write_template(outbox: Post, html: str) -> None:
    """Activate a template for the alerts of the tests."""
    alert_types = await outbox.tenant.run("alert_types")
    (alert_type_id,) = [
        alert_type.alert_type_id for alert_type in alert_types if alert_type.system_alert_type_id == "CM01"
    ]
    template = NewTemplateText(name="Budget", html_template=html, active=True)
    await outbox.tenant.run(
        "add_template_for",
        alert_type_id=alert_type_id,
        channel_type=Channel.EMAIL,
        culture_code="en-GB",
        input=template,
    )


def unsubscribe_client(outbox: Post, config: Settings) -> httpx.AsyncClient:
    """Return a client that follows the links in mails."""
    links = create_links(config)
    assert links is not None
    app = Starlette(routes=[unsubscribe_route(outbox.runner, links)])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app))


async def deliver_due(outbox: Post, config: Settings) -> int:
    """Deliver due mails, and return their number."""
    handlers = create_delivery_handlers(config, outbox.runner)
    mail_handlers = {kind: handlers[kind] for kind in (DeliveryKind.EMAIL, DeliveryKind.TEST_MAIL)}
    worker: DeliveryWorker = outbox.worker_with(mail_handlers)
    count = await worker.deliver_due()
    for handler in mail_handlers.values():
        if handler.close is not None:
            await handler.close()
    return count


async def test_alert_arrives_as_mail_with_text_and_html(outbox: Post, smtp: MailServer) -> None:
    await write_template(outbox, "<h1>Dear {{ name }}</h1><p>{{ used }} % of your budget is used.</p>")
    alert_id = await outbox.send(Channel.EMAIL, data={"name": "Zoë <b>", "used": 80})
    assert await deliver_due(outbox, settings(smtp)) == 1
    (delivery,) = await outbox.deliveries(alert_id)
    (received,) = smtp.taken
    message = received.message
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    assert "Dear Zoë <b>" in text.get_content()
    assert "Dear Zoë &lt;b&gt;" in html.get_content()
    assert (message["To"], message["Subject"]) == ("user@example.org", "High")
    assert message["Message-ID"] == f"<{delivery.delivery_id}@energy.example>"
    assert (delivery.state, delivery.address) == (DeliveryState.SENT, "user@example.org")
    assert (await outbox.notification(alert_id)).state is NotificationState.SENT


async def test_mail_of_a_crashed_worker_arrives_again_with_the_same_id(outbox: Post, smtp: MailServer) -> None:
    async def drop(server: MailServer) -> str:
        server.hang_up()
        return "250 OK"

    smtp.say("DATA", drop)
    alert_id = await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    outbox.pass_time(timedelta(minutes=12))
    await deliver_due(outbox, settings(smtp))
    assert len({received.message["Message-ID"] for received in smtp.taken}) == 1
    assert len(smtp.taken) == 2
    assert [stage for _, stage, _, _ in await outbox.log(alert_id)][1:] == ["Attempt Failed", "Sent"]


async def test_greylisted_mail_is_retried_and_arrives(outbox: Post, smtp: MailServer) -> None:
    smtp.say("RCPT", "451 4.7.1 greylisted", "451 4.7.1 greylisted")
    alert_id = await outbox.send(Channel.EMAIL)
    for minutes in (12, 45, 0):
        await deliver_due(outbox, settings(smtp))
        outbox.pass_time(timedelta(minutes=minutes))
    assert len(smtp.taken) == 1
    assert (await outbox.notification(alert_id)).state is NotificationState.SENT


async def test_unknown_address_is_suppressed_until_it_is_removed_from_the_list(outbox: Post, smtp: MailServer) -> None:
    smtp.say("RCPT", REFUSED)
    first = await outbox.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    await deliver_due(outbox, settings(smtp))
    (event,) = await outbox.events(first)
    assert event["errorCode"] == "error.alert.notification.email.address.refused"
    (entry,) = await outbox.rows(MailSuppression)
    assert (entry.address, entry.cause, entry.reason) == ("user@example.org", SuppressionCause.REFUSED, REFUSED)

    second = await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert (await outbox.log(second))[1:] == [(2, "Given Up", "ERROR", f"the address is suppressed: {REFUSED}")]
    assert smtp.taken == []

    removed = await outbox.run(mail.remove_mail_suppression, address="User@Example.org")
    assert removed.suppression_id == entry.suppression_id
    await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert len(smtp.taken) == 1


async def test_a_reported_bounce_suppresses_the_address_with_its_reason(outbox: Post, smtp: MailServer) -> None:
    """A mail server accepts a mail, and sends it back hours later."""
    await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert len(smtp.taken) == 1
    waiting = await outbox.send(Channel.EMAIL)
    for reason in ("mailbox full", "550 5.1.1 user unknown"):
        reported = await outbox.run(mail.report_mail_bounce, address="User@Example.org", reason=reason)
    (entry,) = await outbox.rows(MailSuppression)
    assert (entry.address, entry.cause) == ("user@example.org", SuppressionCause.BOUNCED)
    assert entry.reason == reported.reason == "550 5.1.1 user unknown"
    await deliver_due(outbox, settings(smtp))
    assert len(smtp.taken) == 1
    problem = "the address is suppressed: 550 5.1.1 user unknown"
    assert (await outbox.log(waiting))[1:] == [(2, "Given Up", "ERROR", problem)]
    with pytest.raises(BadInput):
        await outbox.run(mail.report_mail_bounce, address="no address", reason="user unknown")

    await outbox.run(mail.remove_mail_suppression, address="user@example.org")
    await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert len(smtp.taken) == 2


async def test_rejected_mail_does_not_suppress_its_address(outbox: Post, smtp: MailServer) -> None:
    smtp.say("DATA", "554 5.7.1 this looks like spam")
    alert_id = await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert (await outbox.notification(alert_id)).state is NotificationState.FAILED
    assert await outbox.rows(MailSuppression) == []


async def test_only_suppressed_addresses_can_be_removed_from_the_list(outbox: Post) -> None:
    with pytest.raises(NotFound):
        await outbox.run(mail.remove_mail_suppression, address="other@example.org")
    with pytest.raises(BadInput):
        await outbox.run(mail.remove_mail_suppression, address="no address")


async def test_user_without_an_address_gets_no_mail_and_the_callback_receives_an_event(outbox: Post) -> None:
    await outbox.run(set_address, email="not an address")
    alert_id = await outbox.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    assert await outbox.deliveries(alert_id) == []
    assert (await outbox.log(alert_id))[1:] == [(2, "User Has No E-mail Address", "ERROR", None)]
    assert (await outbox.notification(alert_id)).state is NotificationState.FAILED
    (event,) = await outbox.events(alert_id)
    assert event["errorCode"] == "error.alert.notification.email.user.address.not_found"


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def add_accounts(call: Call, *, user_id: str, count: int) -> None:
    """Add accounts to a user, each with an address of its own."""
    application = await call.rows.application()
    assert application is not None
    for number in range(count):
        name = f"more{number}@example.org"
        account = Account(user_id=user_id, directory_id=application.directory_id, username=name, email=name)
        await call.rows.add(account)


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def remove_accounts(call: Call) -> None:
    """Remove the accounts of `add_accounts`."""
    await call.rows.delete(Account, col(Account.username).like("more%@example.org"))


async def test_alert_goes_to_each_of_many_addresses(outbox: Post) -> None:
    """More addresses than an operation may run rounds: one round asks the bounds of all mailboxes."""
    await outbox.run(add_accounts, user_id=outbox.tenant.user_id, count=MAX_ROUNDS)
    try:
        alert_id = await outbox.send(Channel.EMAIL)
        assert len(await outbox.deliveries(alert_id)) == 1 + MAX_ROUNDS
    finally:
        await outbox.run(remove_accounts)


async def test_mail_that_waited_for_days_is_not_sent(outbox: Post, smtp: MailServer) -> None:
    alert_id = await outbox.send(Channel.EMAIL)
    outbox.pass_time(timedelta(days=6))
    await deliver_due(outbox, settings(smtp))
    assert smtp.taken == []
    assert (await outbox.notification(alert_id)).state is NotificationState.FAILED


@pytest.mark.parametrize("way", ["address changed", "account closed"])
async def test_mail_that_waits_is_not_sent_to_an_address_that_ended(outbox: Post, smtp: MailServer, way: str) -> None:
    alert_id = await outbox.send(Channel.EMAIL)
    if way == "address changed":
        await outbox.run(set_address, email="new@example.org")
    else:
        await outbox.run(set_accounts_active, active=False)
    await deliver_due(outbox, settings(smtp))
    await outbox.run(set_accounts_active, active=True)
    assert smtp.taken == []
    reason = "no active account of the user has the address any more"
    assert (await outbox.log(alert_id))[1:] == [(2, "Given Up", "ERROR", reason)]


async def test_mail_that_waits_goes_only_to_the_accounts_that_are_left(outbox: Post, smtp: MailServer) -> None:
    """Three people share a household: the account of one is closed, and one confirms another address."""
    ada, names = await resident(outbox.tenant), [f"{uuid4().hex}@example.org" for _ in range(3)]
    closed_id, changed_id = [await ada.add_account(name) for name in names[:2]]
    alert_id = await outbox.send(Channel.EMAIL, user_id=ada.user_id)
    assert {one.address for one in await outbox.deliveries(alert_id)} == {ada.username, *names[:2]}
    await ada.run("delete_account", account_id=ID(closed_id))
    who = {"username": names[1], "userId": ada.user_id, "accountId": changed_id}
    token = await people.email_change_token(ada, who, names[2])
    await people.anonymously(ada, accounts.confirm_email_change, token=token)
    await deliver_due(outbox, settings(smtp))
    assert [taken.message["To"] for taken in smtp.taken] == [ada.username]


async def add_user_with_the_address(outbox: Post) -> str:
    """Add another user with the address of the user of the tests, and return the ID."""
    other = {"username": "user@example.org", "password": "correct horse battery"}
    return str((await outbox.runner.run(provisioning.create_user, outbox.tenant.system, other)).user_id)


@pytest.mark.parametrize("cause", [SuppressionCause.REFUSED, SuppressionCause.UNSUBSCRIBED])
@pytest.mark.parametrize("has_delivery", [True, False])
async def test_erasure_leaves_the_suppression_of_an_address_that_another_user_has(
    outbox: Post, smtp: MailServer, has_delivery: bool, cause: SuppressionCause
) -> None:
    """The mail that was refused or unsubscribed was one to the erased user, or one to the other."""
    user_id = await add_user_with_the_address(outbox)
    if cause is SuppressionCause.REFUSED:
        smtp.say("RCPT", REFUSED)
    alert_id = await outbox.send(Channel.EMAIL, **({"user_id": user_id} if has_delivery else {}))
    await deliver_due(outbox, settings(smtp))
    if cause is SuppressionCause.UNSUBSCRIBED:
        (delivery,) = await outbox.deliveries(alert_id)
        await outbox.run(mail.unsubscribe, delivery_id=delivery.delivery_id)
    taken = len(smtp.taken)
    await erased(outbox.tenant, user_id)
    assert [(one.address, one.cause) for one in await outbox.rows(MailSuppression)] == [("user@example.org", cause)]
    await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    assert len(smtp.taken) == taken


async def test_erasure_leaves_the_kept_mails_of_another_user_with_the_address(outbox: Post) -> None:
    user_id, own_id = await add_user_with_the_address(outbox), outbox.tenant.user_id
    for receiver in (user_id, own_id):
        await outbox.send(Channel.EMAIL, user_id=receiver)
    await deliver_due(outbox, settings(environment="development"))
    kept = await outbox.rows(KeptMail)
    assert sorted((one.user_id, one.recipient) for one in kept) == sorted(
        (receiver, "user@example.org") for receiver in (user_id, own_id)
    )
    await erased(outbox.tenant, user_id)
    assert [one.user_id for one in await outbox.rows(KeptMail)] == [own_id]


async def test_mail_without_a_usable_template_names_the_alert_type(outbox: Post, smtp: MailServer) -> None:
    await write_template(outbox, "<p>{{ missing }}</p>")
    await outbox.send(Channel.EMAIL, data={})
    await deliver_due(outbox, settings(smtp))
    message = smtp.taken[0].message
    assert (message.get_content_type(), message["Subject"]) == ("text/plain", "High")


async def test_without_a_server_mail_is_stored_in_development_and_waits_otherwise(outbox: Post) -> None:
    assert DeliveryKind.EMAIL not in create_delivery_handlers(settings(), outbox.runner)
    config = settings(environment="development")
    alert_id = await outbox.send(Channel.EMAIL)
    assert await deliver_due(outbox, config) == 1
    assert (await outbox.notification(alert_id)).state is NotificationState.SENT
    (kept,) = await outbox.rows(KeptMail)
    assert (kept.recipient, parse_mail(kept.content)["To"]) == ("user@example.org", "user@example.org")


async def test_oldest_kept_mails_are_deleted_above_the_limit(outbox: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "MAX_KEPT_MAILS", 2)
    ids = []
    for _ in range(4):
        ids.append(await outbox.send(Channel.EMAIL))
        await deliver_due(outbox, settings(environment="development"))
        outbox.pass_time(timedelta(minutes=1))
    kept = [row.delivery_id for row in await outbox.rows(KeptMail, order_by=[col(KeptMail.created_at)])]
    assert kept == [(await outbox.deliveries(row))[0].delivery_id for row in ids[2:]]


async def test_unsubscribe_link_needs_a_post_request(outbox: Post, smtp: MailServer) -> None:
    await outbox.send(Channel.EMAIL)
    await deliver_due(outbox, settings(smtp))
    link = smtp.taken[0].message["List-Unsubscribe"].strip("<>")
    assert link.startswith("https://energy.example/unsubscribe/")
    async with unsubscribe_client(outbox, settings(smtp)) as client:
        assert (await client.get(link)).status_code == 200
        assert await outbox.rows(MailSuppression) == []
        for _ in range(2):
            done = await client.post(link, data={"List-Unsubscribe": "One-Click"})
            assert (done.status_code, "You are unsubscribed" in done.text) == (200, True)
        (entry,) = await outbox.rows(MailSuppression)
        assert (entry.address, entry.cause) == ("user@example.org", SuppressionCause.UNSUBSCRIBED)
        for forged in (link[:-1], f"{link}x", link.replace(outbox.tenant.application_id, "other"), f"{link[:-4]}AAAA"):
            assert (await client.post(forged)).status_code == 404
            assert (await client.get(forged)).status_code == 404


FOOTER = (
    '<p>{{ alert.reason }}</p><a href="{{ recipient.unsubscribeUrl }}">stop</a> '
    '<a href="https://t.example/?to={{ recipient.unsubscribeUrl }}">x</a> {{ recipient.preferencesUrl }}'
)


async def test_link_in_the_body_unsubscribes_the_recipient_of_each_mail(outbox: Post, smtp: MailServer) -> None:
    await write_template(outbox, FOOTER)
    alert_ids = [await outbox.send(Channel.EMAIL, data={}) for _ in range(2)]
    await deliver_due(outbox, settings(smtp))
    links = [received.message["List-Unsubscribe"].strip("<>") for received in smtp.taken]
    assert len(set(links)) == len(alert_ids)
    for received, link in zip(smtp.taken, links, strict=True):
        bodies = [received.message.get_body((kind,)) for kind in ("html", "plain")]
        html, text = (str(body.get_content()) for body in bodies if body is not None)
        assert html.count(f'href="{link}"') == 1
        assert f"https://t.example/?to={quote(link, safe='')}" in html
        assert link in text
        assert f"{PUBLIC_URL}/display" in text
        assert MAIL_TOKEN not in html + text
    async with unsubscribe_client(outbox, settings(smtp)) as client:
        assert "You are unsubscribed" in (await client.post(links[0])).text


async def test_other_channels_have_no_link_that_stops_mails(outbox: Post) -> None:
    await write_template(outbox, FOOTER)
    alert_types = await outbox.tenant.run("alert_types")
    (alert_type,) = [each for each in alert_types if each.system_alert_type_id == "CM01"]
    await outbox.tenant.run(
        "add_template_for",
        alert_type_id=alert_type.alert_type_id,
        channel_type=Channel.INBOX,
        culture_code="en-GB",
        input=NewTemplateText(name="Inbox", html_template=FOOTER, active=True),
    )
    notification = await outbox.notification(await outbox.send(Channel.INBOX, data={}))
    assert (
        notification.text
        == f"{alert_type.description or alert_type.name}\n\nstop x (https://t.example/?to=) {PUBLIC_URL}/display"
    )
