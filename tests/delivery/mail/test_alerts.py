"""Alerts by mail: from the alert to a mail server, with what stops them on the way."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlmodel import col
from starlette.applications import Starlette

from tests.delivery.mail.conftest import address_of
from tests.support.outbox import Post
from tests.support.smtp import MailServer
from wattgate.app.server.unsubscribe_page import unsubscribing
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import Deliveries
from wattgate.app.workers.delivery_handlers import carriers, links
from wattgate.db.models import KeptMail, MailSuppression
from wattgate.delivery.channels.mail import read
from wattgate.enums import DeliveryKind, DeliveryState, NotificationState, SuppressionCause
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.resolvers import mail
from wattgate.graphql.types.alerts import Channel, NewTemplateText

KEY = "k" * 40
REFUSED = "550 5.1.1 no such user here"


def settings(there: MailServer | None = None, **more: Any) -> Settings:
    url = None if there is None else f"smtp://127.0.0.1:{there.port}"
    given = {
        "mail_from": "Energy <alerts@energy.example>",
        "public_url": "https://energy.example",
        "link_key": KEY,
        **more,
    }
    return Settings(_env_file=None, smtp_url=url, **given)


async def write_template(post: Post, html: str) -> None:
    """Put a template to use for the alerts of the tests."""
    kinds = await post.tenant.run("alert_types")
    (kind,) = [one.alert_type_id for one in kinds if one.system_alert_type_id == "CM01"]
    given = NewTemplateText(name="Budget", html_template=html)
    await post.tenant.run(
        "add_template_for", alert_type_id=kind, channel_type=Channel.EMAIL, culture_code="en-GB", input=given
    )


def visitor(post: Post, given: Settings) -> httpx.AsyncClient:
    """Somebody who follows the links in mails."""
    known = links(given)
    assert known is not None
    served = Starlette(routes=[unsubscribing(post.runner, known)])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=served))


async def work(post: Post, given: Settings) -> int:
    """Deliver what is due; how much it was."""
    known = carriers(given, post.runner)
    by_mail = {kind: known[kind] for kind in (DeliveryKind.EMAIL, DeliveryKind.TEST_MAIL)}
    worker: Deliveries = post.worker_with(by_mail)
    count = await worker.work_once()
    for carrier in by_mail.values():
        if carrier.close is not None:
            await carrier.close()
    return count


async def test_an_alert_arrives_as_a_mail_with_a_text_and_html(post: Post, there: MailServer) -> None:
    await write_template(post, "<h1>Dear {{ name }}</h1><p>{{ used }} % of your budget is used.</p>")
    alert_id = await post.send(Channel.EMAIL, data={"name": "Zoë <b>", "used": 80})
    assert await work(post, settings(there)) == 1
    (delivery,) = await post.deliveries(alert_id)
    (taken,) = there.taken
    message = taken.message
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    assert "Dear Zoë <b>" in text.get_content()
    assert "Dear Zoë &lt;b&gt;" in html.get_content()
    assert (message["To"], message["Subject"]) == ("user@example.org", "High")
    assert message["Message-ID"] == f"<{delivery.delivery_id}@energy.example>"
    assert (delivery.state, delivery.address) == (DeliveryState.SENT, "user@example.org")
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_a_mail_that_was_sent_before_its_worker_died_arrives_again_with_the_same_id(
    post: Post, there: MailServer
) -> None:
    async def drop(server: MailServer) -> str:
        server.hang_up()
        return "250 OK"

    there.say("DATA", drop)
    alert_id = await post.send(Channel.EMAIL)
    await work(post, settings(there))
    post.pass_time(timedelta(minutes=12))
    await work(post, settings(there))
    assert len({one.message["Message-ID"] for one in there.taken}) == 1
    assert len(there.taken) == 2
    assert [stage for _, stage, _, _ in await post.log(alert_id)][1:] == ["Attempt Failed", "Sent"]


async def test_a_greylisted_mail_arrives_a_little_later(post: Post, there: MailServer) -> None:
    there.say("RCPT", "451 4.7.1 greylisted", "451 4.7.1 greylisted")
    alert_id = await post.send(Channel.EMAIL)
    for minutes in (12, 45, 0):
        await work(post, settings(there))
        post.pass_time(timedelta(minutes=minutes))
    assert len(there.taken) == 1
    assert (await post.notification(alert_id)).state is NotificationState.SENT


async def test_an_address_that_nobody_has_gets_no_mail_until_it_is_taken_from_the_list(
    post: Post, there: MailServer
) -> None:
    there.say("RCPT", REFUSED)
    first = await post.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    await work(post, settings(there))
    (told,) = await post.events(first)
    assert told["errorCode"] == "error.alert.notification.email.address.refused"
    (entry,) = await post.rows(MailSuppression)
    assert (entry.address, entry.cause, entry.reason) == ("user@example.org", SuppressionCause.REFUSED, REFUSED)

    second = await post.send(Channel.EMAIL)
    await work(post, settings(there))
    assert (await post.log(second))[1:] == [(2, "Given Up", "ERROR", f"the address gets no mail: {REFUSED}")]
    assert there.taken == []

    removed = await post.run(mail.remove_mail_suppression, address="User@Example.org")
    assert removed.suppression_id == entry.suppression_id
    await post.send(Channel.EMAIL)
    await work(post, settings(there))
    assert len(there.taken) == 1


async def test_a_refused_mail_does_not_put_its_address_on_the_list(post: Post, there: MailServer) -> None:
    there.say("DATA", "554 5.7.1 this looks like spam")
    alert_id = await post.send(Channel.EMAIL)
    await work(post, settings(there))
    assert (await post.notification(alert_id)).state is NotificationState.FAILED
    assert await post.rows(MailSuppression) == []


async def test_what_is_not_on_the_list_cannot_be_taken_from_it(post: Post) -> None:
    with pytest.raises(NotFound):
        await post.run(mail.remove_mail_suppression, address="other@example.org")
    with pytest.raises(BadInput):
        await post.run(mail.remove_mail_suppression, address="no address")


async def test_a_user_without_an_address_gets_no_mail_and_the_callback_is_told(post: Post) -> None:
    await post.run(address_of, email="not an address")
    alert_id = await post.send(Channel.EMAIL, callback_url="https://hooks.example.org/x")
    assert await post.deliveries(alert_id) == []
    assert (await post.log(alert_id))[1:] == [(2, "User Has No E-mail Address", "ERROR", None)]
    assert (await post.notification(alert_id)).state is NotificationState.FAILED
    (told,) = await post.events(alert_id)
    assert told["errorCode"] == "error.alert.notification.email.user.address.not_found"


async def test_a_mail_that_waited_for_days_is_not_sent(post: Post, there: MailServer) -> None:
    alert_id = await post.send(Channel.EMAIL)
    post.pass_time(timedelta(days=6))
    await work(post, settings(there))
    assert there.taken == []
    assert (await post.notification(alert_id)).state is NotificationState.FAILED


async def test_without_a_template_that_does_a_mail_says_what_kind_of_alert_it_is(post: Post, there: MailServer) -> None:
    await write_template(post, "<p>{{ missing }}</p>")
    await post.send(Channel.EMAIL, data={})
    await work(post, settings(there))
    message = there.taken[0].message
    assert (message.get_content_type(), message["Subject"]) == ("text/plain", "High")


async def test_without_a_server_mail_is_kept_in_development_and_waits_otherwise(post: Post) -> None:
    assert DeliveryKind.EMAIL not in carriers(settings(), post.runner)
    given = settings(environment="development")
    alert_id = await post.send(Channel.EMAIL)
    assert await work(post, given) == 1
    assert (await post.notification(alert_id)).state is NotificationState.SENT
    (kept,) = await post.rows(KeptMail)
    assert (kept.recipient, read(kept.content)["To"]) == ("user@example.org", "user@example.org")


async def test_of_very_many_kept_mails_the_oldest_go(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "KEPT", 2)
    ids = []
    for _ in range(4):
        ids.append(await post.send(Channel.EMAIL))
        await work(post, settings(environment="development"))
        post.pass_time(timedelta(minutes=1))
    kept = [one.delivery_id for one in await post.rows(KeptMail, order_by=[col(KeptMail.created_at)])]
    assert kept == [(await post.deliveries(one))[0].delivery_id for one in ids[2:]]


async def test_the_link_in_a_mail_unsubscribes_by_a_click_and_not_by_a_look(post: Post, there: MailServer) -> None:
    await post.send(Channel.EMAIL)
    await work(post, settings(there))
    link = there.taken[0].message["List-Unsubscribe"].strip("<>")
    assert link.startswith("https://energy.example/unsubscribe/")
    async with visitor(post, settings(there)) as client:
        assert (await client.get(link)).status_code == 200
        assert await post.rows(MailSuppression) == []
        for _ in range(2):
            done = await client.post(link, data={"List-Unsubscribe": "One-Click"})
            assert (done.status_code, "You are unsubscribed" in done.text) == (200, True)
        (entry,) = await post.rows(MailSuppression)
        assert (entry.address, entry.cause) == ("user@example.org", SuppressionCause.UNSUBSCRIBED)
        for forged in (link[:-1], f"{link}x", link.replace(post.tenant.application_id, "other"), f"{link[:-4]}AAAA"):
            assert (await client.post(forged)).status_code == 404
            assert (await client.get(forged)).status_code == 404
