"""Templates tried out in a real mail program: who may get them, what arrives, and what becomes of it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.delivery.mail.test_alerts import REFUSED, settings, work
from tests.support.house import House
from tests.support.outbox import Post
from tests.support.smtp import MailServer
from wattgate.app.workers.delivery_handlers import carriers
from wattgate.db.models import KeptMail, MailSuppression
from wattgate.delivery.channels.mail import read
from wattgate.delivery.mail_addresses import AllowList, NotMailable, mailbox
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.errors import BadInput, Unavailable
from wattgate.graphql.resolvers import template_test_mail
from wattgate.graphql.types.alerts import Channel
from wattgate.graphql.types.template_previews import TemplateToPreview

HTML = "<style>p { color: #0a5 }</style><p>Dear {{ name }}, {{ used }} % is used.</p>"
TESTER = "tester@energy.example"


async def try_out(post: Post, address: str = TESTER, **input: Any) -> Any:
    given = TemplateToPreview(**{"html": HTML, "subject": "Budget of {{ name }}", **input})
    return await post.run(template_test_mail.send_test_mail, address=address, input=given)


async def now(post: Post, sent: Any) -> Any:
    """How far a test mail is."""
    return await post.run(template_test_mail.test_mail, test_mail_id=sent.test_mail.test_mail_id)


async def test_what_is_written_arrives_marked_as_a_test(post: Post, there: MailServer) -> None:
    sent = await try_out(post, data={"name": "Zoë <b>", "used": 80})
    assert sent.state is DeliveryState.WAITING
    assert await work(post, settings(there)) == 1
    (taken,) = there.taken
    assert taken.recipients == [TESTER]
    assert taken.message["Subject"] == "[TEST] Budget of Zoë <b>"
    html, text = taken.message.get_body(("html",)), taken.message.get_body(("plain",))
    assert html is not None
    assert text is not None
    assert '<p style="color: #0a5;">Dear Zoë &lt;b&gt;, 80 % is used.</p>' in html.get_content()
    assert "Dear Zoë <b>, 80 % is used." in text.get_content()
    assert taken.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = await now(post, sent)
    assert (found.state, found.reason, found.test_mail.address) == (DeliveryState.SENT, None, TESTER)


async def test_without_data_some_is_made_from_the_variables(post: Post, there: MailServer) -> None:
    await try_out(post, "Any Body <any@testers.example>")
    await work(post, settings(there))
    assert there.taken[0].recipients == ["any@testers.example"]
    assert there.taken[0].message["Subject"] == "[TEST] Budget of Ada Lovelace"


async def test_without_a_mail_server_a_test_mail_is_kept_as_it_would_have_been_sent(post: Post) -> None:
    await try_out(post)
    assert await work(post, settings(environment="development")) == 1
    (kept,) = await post.rows(KeptMail)
    assert (kept.recipient, read(kept.content)["Subject"]) == (TESTER, "[TEST] Budget of Ada Lovelace")


async def test_a_server_that_is_away_is_asked_again_for_some_minutes_and_its_answer_is_told(
    post: Post, there: MailServer
) -> None:
    there.say("RCPT", *["451 4.7.1 greylisted"] * 3)
    sent = await try_out(post)
    for _ in range(3):
        await work(post, settings(there))
        found = await now(post, sent)
        assert found.state is DeliveryState.WAITING
        assert "greylisted" in found.reason
        post.pass_time(timedelta(minutes=10))
    await work(post, settings(there))
    assert (await now(post, sent)).state is DeliveryState.SENT


async def test_a_tester_whom_nobody_knows_is_told_of_and_gets_no_more(post: Post, there: MailServer) -> None:
    there.say("RCPT", REFUSED)
    sent = await try_out(post)
    await work(post, settings(there))
    found = await now(post, sent)
    assert found.state is DeliveryState.FAILED
    assert "no such user here" in found.reason
    assert [one.address for one in await post.rows(MailSuppression)] == [TESTER]
    again = await try_out(post)
    await work(post, settings(there))
    assert (await now(post, again)).state is DeliveryState.FAILED
    assert there.taken == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("somebody@energy.example", "may not get test mails"),
        ("tester@energy.example.org", "may not get test mails"),
        ("tester@sub.testers.example", "may not get test mails"),
        ("a@testers.example@elsewhere.example", "is not an e-mail address"),
        ("a@testers.example\r\nBcc: b@elsewhere.example", "an address"),
        ("", "is not an e-mail address"),
    ],
)
async def test_nobody_else_gets_one(post: Post, address: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as refused:
        await try_out(post, address)
    assert [one.path for one in refused.value.problems] == [("address",)]


@pytest.mark.parametrize(
    "input",
    [
        {"html": "<p>{{ name"},
        {"html": "{% for a in (1..100000000) %}x{% endfor %}"},
        {"data": {"name": "Ada"}},
        {"channel_type": Channel.PUSH},
        {"html": None},
    ],
    ids=["does not parse", "never ends", "lacks a variable", "is a push", "is nothing"],
)
async def test_what_would_not_be_sent_is_not_tried_out(post: Post, input: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        await try_out(post, **input)


async def test_not_very_many_wait(post: Post) -> None:
    for _ in range(template_test_mail.MAX_WAITING):
        await try_out(post)
    with pytest.raises(Unavailable, match="20 test mails wait already"):
        await try_out(post)


async def test_they_wait_where_there_is_neither_a_mail_server_nor_an_outbox_to_look_at(post: Post) -> None:
    others = {DeliveryKind.PUSH, DeliveryKind.WEBHOOK}
    assert set(carriers(settings(environment="production"), post.runner)) == others
    assert set(carriers(settings(environment="development"), post.runner)) == set(DeliveryKind)


@pytest.mark.parametrize("text", ["", "@", "energy.example", "a@b@c", "@energy example"])
def test_an_allow_list_holds_addresses_and_domains_alone(text: str) -> None:
    with pytest.raises(NotMailable):
        AllowList.of([text])


def test_an_allow_list_knows_an_address_however_it_is_written() -> None:
    known = AllowList.of(["Zoë@Energy.example", "@BÜCHER.example"])
    for text in ("zoë@energy.EXAMPLE", "Zoë <Zoë@energy.example>", "any@bücher.example", "any@xn--bcher-kva.example"):
        assert known.allows(mailbox(text)), text


async def test_who_may_not_write_templates_sends_none(served: House) -> None:
    query = 'mutation { sendTestMail(address: "a@testers.example", input: {html: "x"}) { state } }'
    told = await served.graphql(query, served.one.headers["account"])
    assert told["errors"][0]["extensions"]["code"] == "FORBIDDEN"
