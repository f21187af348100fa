"""Test mails of templates: permitted recipients, content and outcomes."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.delivery.mail.test_alerts import REFUSED, deliver_due, settings
from tests.support.endings import set_account_columns
from tests.support.house import House
from tests.support.outbox import Post
from tests.support.refusals import refusal_of
from tests.support.smtp import MailServer
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.db.models import KeptMail, MailSuppression
from wattgate.delivery.channels.mail import parse_mail
from wattgate.delivery.mail_addresses import AllowList, NotMailable, parse_mailbox
from wattgate.enums import Channel, DeliveryKind, DeliveryState
from wattgate.errors import BadInput, NotFound, Unavailable
from wattgate.operations.templates import template_previews
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.principal import Principal, Role

HTML = "<style>p { color: #0a5 }</style><p>Dear {{ name }}, {{ used }} % is used.</p>"
TESTER = "tester@energy.example"


async def send_test_mail(outbox: Post, address: str = TESTER, **input: Any) -> Any:
    template = TemplateToPreview(**{"html": HTML, "subject": "Budget of {{ name }}", **input})
    return await outbox.run(template_previews.send_test_mail, address=address, input=template)


async def fetch_test_mail(outbox: Post, sent: Any) -> Any:
    """Return the state of a test mail."""
    return await outbox.run(template_previews.test_mail, test_mail_id=sent.test_mail.test_mail_id)


async def test_test_mail_arrives_marked_as_a_test(outbox: Post, smtp: MailServer) -> None:
    sent = await send_test_mail(outbox, data={"name": "Zoë <b>", "used": 80})
    assert sent.state is DeliveryState.WAITING
    assert await deliver_due(outbox, settings(smtp)) == 1
    (received,) = smtp.taken
    assert received.recipients == [TESTER]
    assert received.message["Subject"] == "[TEST] Budget of Zoë <b>"
    html, text = received.message.get_body(("html",)), received.message.get_body(("plain",))
    assert html is not None
    assert text is not None
    assert '<p style="color: #0a5;">Dear Zoë &lt;b&gt;, 80 % is used.</p>' in html.get_content()
    assert "Dear Zoë <b>, 80 % is used." in text.get_content()
    assert received.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    status = await fetch_test_mail(outbox, sent)
    assert (status.state, status.reason, status.test_mail.address) == (DeliveryState.SENT, None, TESTER)


async def test_test_mail_without_data_uses_sample_data(outbox: Post, smtp: MailServer) -> None:
    await send_test_mail(outbox, "Any Body <any@testers.example>")
    await deliver_due(outbox, settings(smtp))
    assert smtp.taken[0].recipients == ["any@testers.example"]
    assert smtp.taken[0].message["Subject"] == "[TEST] Budget of Ada Lovelace"


async def test_test_mail_without_a_server_is_stored_in_development(outbox: Post) -> None:
    await send_test_mail(outbox)
    assert await deliver_due(outbox, settings(environment="development")) == 1
    (kept,) = await outbox.rows(KeptMail)
    assert (kept.recipient, parse_mail(kept.content)["Subject"]) == (TESTER, "[TEST] Budget of Ada Lovelace")


async def test_test_mail_is_retried_and_reports_the_reason(outbox: Post, smtp: MailServer) -> None:
    smtp.say("RCPT", *["451 4.7.1 greylisted"] * 3)
    sent = await send_test_mail(outbox)
    for _ in range(3):
        await deliver_due(outbox, settings(smtp))
        status = await fetch_test_mail(outbox, sent)
        assert status.state is DeliveryState.WAITING
        assert "greylisted" in status.reason
        outbox.pass_time(timedelta(minutes=10))
    await deliver_due(outbox, settings(smtp))
    assert (await fetch_test_mail(outbox, sent)).state is DeliveryState.SENT


async def test_template_editor_reads_only_test_mails_of_the_account(outbox: Post) -> None:
    tenant, runner = outbox.tenant, outbox.runner
    await set_account_columns(tenant, tenant.account_id, template_editor=True)
    editor = replace(tenant.account, role=Role.TEMPLATE_EDITOR)
    template = TemplateToPreview(html=HTML, subject="Budget")

    async def read(reader: Principal, sent: Any) -> str:
        arguments = {"test_mail_id": sent.test_mail.test_mail_id}
        return str((await runner.run(template_previews.test_mail, reader, arguments)).test_mail.address)

    arguments = {"address": TESTER, "input": template}
    own = await runner.run(template_previews.send_test_mail, editor, arguments)
    assert await read(editor, own) == TESTER
    other = replace(editor, account_id="another")
    for mail in (own, await send_test_mail(outbox)):
        with pytest.raises(NotFound, match=f"No test mail with ID {mail.test_mail.test_mail_id}"):
            await read(other, mail)
        assert await read(replace(other, role=Role.ADMINISTRATOR), mail) == TESTER


async def test_test_mail_to_an_unknown_address_fails_and_suppresses_the_address(outbox: Post, smtp: MailServer) -> None:
    smtp.say("RCPT", REFUSED)
    sent = await send_test_mail(outbox)
    await deliver_due(outbox, settings(smtp))
    status = await fetch_test_mail(outbox, sent)
    assert status.state is DeliveryState.FAILED
    assert "no such user here" in status.reason
    assert [row.address for row in await outbox.rows(MailSuppression)] == [TESTER]
    second = await send_test_mail(outbox)
    await deliver_due(outbox, settings(smtp))
    assert (await fetch_test_mail(outbox, second)).state is DeliveryState.FAILED
    assert smtp.taken == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("somebody@energy.example", "may not receive test mails"),
        ("tester@energy.example.org", "may not receive test mails"),
        ("tester@sub.testers.example", "may not receive test mails"),
        ("a@testers.example@elsewhere.example", "is not an e-mail address"),
        ("a@testers.example\r\nBcc: b@elsewhere.example", "an address"),
        ("", "has no name, @ and domain"),
    ],
)
async def test_test_mail_to_an_address_outside_the_allow_list_is_rejected(
    outbox: Post, address: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as error:
        await send_test_mail(outbox, address)
    assert [problem.path for problem in error.value.problems] == [("address",)]


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
async def test_invalid_template_is_not_sent_as_a_test_mail(outbox: Post, input: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        await send_test_mail(outbox, **input)


async def test_number_of_waiting_test_mails_is_limited(outbox: Post) -> None:
    for _ in range(template_previews.MAX_WAITING_MAILS):
        await send_test_mail(outbox)
    with pytest.raises(Unavailable, match="20 test mails are already waiting"):
        await send_test_mail(outbox)


async def test_mail_has_no_handler_in_production_without_a_server(outbox: Post) -> None:
    others = {DeliveryKind.PUSH, DeliveryKind.WEBHOOK}
    assert set(create_delivery_handlers(settings(environment="production"), outbox.runner)) == others
    assert set(create_delivery_handlers(settings(environment="development"), outbox.runner)) == set(DeliveryKind)


@pytest.mark.parametrize("text", ["", "@", "energy.example", "a@b@c", "@energy example"])
def test_allow_list_accepts_only_addresses_and_domains(text: str) -> None:
    with pytest.raises(NotMailable):
        AllowList.from_texts([text])


def test_allow_list_matches_all_spellings_of_an_address() -> None:
    allow_list = AllowList.from_texts(["Zoë@Energy.example", "@BÜCHER.example"])
    for text in ("zoë@energy.EXAMPLE", "Zoë <Zoë@energy.example>", "any@bücher.example", "any@xn--bcher-kva.example"):
        assert allow_list.allows(parse_mailbox(text)), text


async def test_sending_a_test_mail_needs_the_permission_to_write_templates(served: House) -> None:
    query = (
        'mutation { sendTestMail(address: "a@testers.example", input: {html: "x"}) {'
        " ... on SentTestMail { state } ...Refused } }"
    )
    response = await served.graphql(query, served.one.headers["account"])
    assert refusal_of(response)["code"] == "FORBIDDEN"
