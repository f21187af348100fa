"""SMTP channel with a real server: delivered mails, and outcomes of failures."""

import asyncio
import ssl
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
import trustme

from tests.support.smtp import PASSWORD, USERNAME, MailServer, mail_server
from tests.support.tls import trusting
from wattgate.delivery.channels.channel import (
    MessageContent,
    OutboundMessage,
    Outcome,
    PermanentFailure,
    Sent,
    TemporaryFailure,
)
from wattgate.delivery.channels.mail import SenderProfile
from wattgate.delivery.channels.smtp import (
    MAX_MAILS_PER_CONNECTION,
    SUPPRESS_ADDRESS,
    Security,
    SmtpChannel,
    SmtpServer,
    rejection_outcome,
)
from wattgate.delivery.mail_addresses import parse_mailbox
from wattgate.delivery.signed_links import SignedLinks

LINKS = SignedLinks("https://energy.example/", b"k" * 32)
SENDER = SenderProfile(parse_mailbox("Energy <alerts@energy.example>"), LINKS)
CONTENT = MessageContent("Your budget", "80 % of it is used.\n.\n..end\n", "<p>80 % of it is used.</p>\n")


def outbound_message(number: int = 1, **more: Any) -> OutboundMessage:
    values: dict[str, Any] = {
        "delivery_id": f"delivery-{number}",
        "application_id": "a",
        "attempt": 1,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
        "addresses": ("user@example.org",),
        "content": CONTENT,
    }
    return OutboundMessage(**{**values, **more})


def channel(smtp: MailServer, **more: Any) -> SmtpChannel:
    return SmtpChannel(SmtpServer("127.0.0.1", smtp.port), SENDER, **{"timeout_seconds": 20.0, **more})


async def send(smtp_channel: SmtpChannel, *mails: OutboundMessage) -> list[Outcome]:
    """Send messages one after the other, close the channel, and return the outcomes."""
    outcomes = [await smtp_channel.send(message) for message in mails or (outbound_message(),)]
    await smtp_channel.close()
    return outcomes


def server_tls(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


async def test_mail_arrives_with_text_and_html() -> None:
    async with mail_server() as smtp:
        assert await send(channel(smtp), outbound_message()) == [Sent("2.0.0 queued as 1")]
        (received,) = smtp.taken
        assert (received.sender, received.recipients) == ("alerts@energy.example", ["user@example.org"])
        assert (received.session.host_name, received.session.extended_smtp) == ("energy.example", True)
        message = received.message
        assert message.get_content_type() == "multipart/alternative"
        text, html = message.get_body(("plain",)), message.get_body(("html",))
        assert text is not None
        assert html is not None
        assert (text.get_content(), html.get_content()) == (CONTENT.text, CONTENT.html)
        assert (message["From"], message["To"]) == ("Energy <alerts@energy.example>", "user@example.org")
        assert message["Message-ID"] == "<delivery-1@energy.example>"
        link = message["List-Unsubscribe"].strip("<>")
        assert link.startswith("https://energy.example/unsubscribe/")
        assert LINKS.parse_unsubscribe_token(link.rpartition("/")[2]) == ("a", "delivery-1")
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_mails_share_one_connection_and_each_has_one_recipient() -> None:
    async with mail_server() as smtp:
        messages = [outbound_message(n, addresses=(f"user{n}@example.org",)) for n in range(5)]
        assert all(isinstance(item, Sent) for item in await send(channel(smtp), *messages))
        assert smtp.connections == 1
        assert [item.recipients for item in smtp.taken] == [[f"user{n}@example.org"] for n in range(5)]


async def test_concurrent_mails_share_the_maximum_number_of_connections() -> None:
    async with mail_server() as smtp:
        smtp_channel = channel(smtp, max_connections=2)
        outcomes = await asyncio.gather(*[smtp_channel.send(outbound_message(n)) for n in range(12)])
        await smtp_channel.close()
        assert [type(outcome) for outcome in outcomes] == [Sent] * 12
        assert len(smtp.taken) == 12
        assert smtp.connections <= 2


async def test_connection_is_replaced_after_its_maximum_number_of_mails() -> None:
    async with mail_server() as smtp:
        outcomes = await send(channel(smtp), *[outbound_message(n) for n in range(MAX_MAILS_PER_CONNECTION + 1)])
        assert all(isinstance(outcome, Sent) for outcome in outcomes)
        assert smtp.connections == 2


async def test_connection_closed_by_the_server_is_opened_again() -> None:
    async with mail_server() as smtp:
        smtp_channel = channel(smtp)
        assert isinstance(await smtp_channel.send(outbound_message(1)), Sent)
        smtp.say("MAIL", "421 closing, I have been idle for too long")
        assert isinstance(await smtp_channel.send(outbound_message(2)), Sent)
        smtp.hang_up()
        assert isinstance(await smtp_channel.send(outbound_message(3)), Sent)
        await smtp_channel.close()
        assert (smtp.connections, len(smtp.taken)) == (3, 3)


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_gateway_logs_in_over_tls(authority: trustme.CA, security: Security) -> None:
    context = server_tls(authority)
    tls = {"tls": context} if security is Security.TLS else {"starttls": context}
    async with mail_server(**tls, auth=True) as smtp:
        url = f"{security.value}://{USERNAME}:{quote(PASSWORD, safe='')}@localhost:{smtp.port}"
        smtp_channel = SmtpChannel(SmtpServer.from_url(url), SENDER, tls_context=trusting(authority))
        await smtp_channel.check()
        assert isinstance((await send(smtp_channel))[0], Sent)
        assert smtp.taken[0].tls
        assert smtp.taken[0].session.authenticated


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_server_with_an_invalid_certificate_gets_no_mail(authority: trustme.CA, security: Security) -> None:
    context = server_tls(authority, "other.test")
    at_once = security is Security.TLS
    async with mail_server(tls=context if at_once else None, starttls=None if at_once else context) as smtp:
        server = SmtpServer("localhost", smtp.port, security)
        for trust in (trusting(authority), ssl.create_default_context()):
            (outcome,) = await send(SmtpChannel(server, SENDER, tls_context=trust))
            assert isinstance(outcome, TemporaryFailure)
            assert "certificate" in outcome.reason.lower()
        assert smtp.taken == []


async def test_server_without_starttls_gets_no_mail_if_starttls_is_required() -> None:
    async with mail_server() as smtp:
        server = SmtpServer("localhost", smtp.port, Security.STARTTLS, USERNAME, PASSWORD)
        (outcome,) = await send(SmtpChannel(server, SENDER))
        assert isinstance(outcome, TemporaryFailure)
        assert smtp.taken == []


async def test_wrong_password_is_a_temporary_failure(authority: trustme.CA) -> None:
    async with mail_server(starttls=server_tls(authority), auth=True) as smtp:
        server = SmtpServer("localhost", smtp.port, Security.STARTTLS, USERNAME, "wrong")
        (outcome,) = await send(SmtpChannel(server, SENDER, tls_context=trusting(authority)))
        assert isinstance(outcome, TemporaryFailure)
        assert outcome.reason.startswith("535 ")


async def test_rejected_sender_is_a_temporary_failure() -> None:
    async with mail_server() as smtp:
        smtp.say("MAIL", "550 5.7.1 you may not send from here")
        assert await send(channel(smtp)) == [TemporaryFailure("550 5.7.1 you may not send from here")]


async def test_unknown_address_is_a_permanent_failure_and_the_connection_is_reused() -> None:
    async with mail_server() as smtp:
        smtp.say("RCPT", "550 5.1.1 no such user here")
        assert await send(channel(smtp), outbound_message(1), outbound_message(2)) == [
            PermanentFailure("address.refused", "550 5.1.1 no such user here", {SUPPRESS_ADDRESS: True}),
            Sent("2.0.0 queued as 1"),
        ]
        assert smtp.connections == 1


async def test_greylisting_is_a_temporary_failure() -> None:
    async with mail_server() as smtp:
        smtp.say("RCPT", "451 4.7.1 greylisted, come back later")
        assert await send(channel(smtp), outbound_message(), outbound_message()) == [
            TemporaryFailure("451 4.7.1 greylisted, come back later"),
            Sent("2.0.0 queued as 1"),
        ]


async def test_rejected_mail_does_not_mark_its_address_as_invalid() -> None:
    async with mail_server() as smtp:
        smtp.say("DATA", "554 5.7.1 this looks like spam", "452 4.3.1 no room")
        assert await send(channel(smtp), outbound_message(), outbound_message()) == [
            PermanentFailure("message.refused", "554 5.7.1 this looks like spam"),
            TemporaryFailure("452 4.3.1 no room"),
        ]


@pytest.mark.parametrize(
    ("code", "message", "of_address", "is_unknown"),
    [
        (550, "no such user", True, True),
        (550, "no such user", False, False),
        (550, "5.1.1 no such user", False, True),
        (550, "5.2.1 mailbox disabled", True, True),
        (552, "5.2.2 mailbox full", True, False),
        (552, "mailbox full", True, False),
        (553, "5.1.3 bad address", True, True),
        (554, "policy", True, False),
        (550, "5.7.1 you are on a block list", True, False),
        (550, "5.1.8 bad sender", True, False),
    ],
)
def test_only_an_unknown_address_is_marked_as_invalid(
    code: int, message: str, of_address: bool, is_unknown: bool
) -> None:
    outcome = rejection_outcome(code, message, is_address_rejection=of_address)
    assert isinstance(outcome, PermanentFailure)
    assert (outcome.code, dict(outcome.details)) == (
        ("address.refused", {SUPPRESS_ADDRESS: True}) if is_unknown else ("message.refused", {})
    )


async def hang(smtp: MailServer) -> str:
    await asyncio.Event().wait()
    return ""


async def drop(smtp: MailServer) -> str:
    smtp.hang_up()
    return "250 OK"


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
async def test_hanging_server_times_out(command: str) -> None:
    async with mail_server() as smtp:
        smtp.say(command, hang)
        smtp_channel = channel(smtp, max_connections=1, timeout_seconds=0.5)
        assert await send(smtp_channel) == [
            TemporaryFailure("the mail server did not accept the mail within 0.5 seconds")
        ]
        smtp_channel._timeout_seconds = 60  # the server of a busy machine may need more than half a second
        assert isinstance((await send(smtp_channel))[0], Sent)


async def test_waiting_for_a_connection_counts_towards_the_timeout() -> None:
    async with mail_server() as smtp:
        smtp.say("DATA", hang, hang)
        smtp_channel = channel(smtp, max_connections=1, timeout_seconds=0.5)
        outcomes = await asyncio.gather(*[smtp_channel.send(outbound_message(n)) for n in range(2)])
        assert [type(outcome) for outcome in outcomes] == [TemporaryFailure, TemporaryFailure]


async def test_server_that_hangs_before_its_greeting_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        address = SmtpServer("127.0.0.1", server.sockets[0].getsockname()[1])
        assert isinstance((await send(SmtpChannel(address, SENDER, timeout_seconds=0.3)))[0], TemporaryFailure)


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
async def test_dropped_connection_is_a_temporary_failure(command: str) -> None:
    async with mail_server() as smtp:
        smtp.say(command, drop)
        first, second = await send(channel(smtp), outbound_message(), outbound_message())
        assert isinstance(first, TemporaryFailure)
        assert isinstance(second, Sent)


async def test_duplicate_mails_have_the_same_message_id() -> None:
    async with mail_server() as smtp:
        smtp.say("DATA", drop)
        first, second = await send(channel(smtp), outbound_message(), outbound_message(attempt=2))
        assert (type(first), type(second)) == (TemporaryFailure, Sent)
        assert [received.message["Message-ID"] for received in smtp.taken] == ["<delivery-1@energy.example>"] * 2


async def test_unreachable_server_is_a_temporary_failure() -> None:
    async with mail_server() as smtp:
        smtp_channel = channel(smtp)
    (outcome,) = await send(smtp_channel)
    assert isinstance(outcome, TemporaryFailure)


async def test_international_address_needs_a_server_with_smtputf8() -> None:
    message = outbound_message(addresses=("jürgen@bücher.example",))
    async with mail_server() as smtp:
        assert await send(channel(smtp), message) == [Sent("2.0.0 queued as 1")]
        assert smtp.taken[0].recipients == ["jürgen@xn--bcher-kva.example"]
        assert smtp.taken[0].message["To"] == "jürgen@xn--bcher-kva.example"
    async with mail_server(smtputf8=False) as smtp:
        first, second = await send(channel(smtp), message, outbound_message())
        assert isinstance(first, PermanentFailure)
        assert (first.code, type(second), smtp.connections) == ("address.not_supported", Sent, 1)


@pytest.mark.parametrize("address", ["no address", "a@b.example\r\nRCPT TO:<x@y.example>", "a@b.example, c@d.example"])
async def test_invalid_address_fails_without_a_connection(address: str) -> None:
    async with mail_server() as smtp:
        (outcome,) = await send(channel(smtp), outbound_message(addresses=(address,)))
        assert isinstance(outcome, PermanentFailure)
        assert (outcome.code, smtp.connections) == ("message.not_mailable", 0)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", SmtpServer("mail.example.org", 25)),
        ("smtp+starttls://mail.example.org/", SmtpServer("mail.example.org", 587, Security.STARTTLS)),
        ("smtps://a%40b:c%2Fd@mail.example.org", SmtpServer("mail.example.org", 465, Security.TLS, "a@b", "c/d")),
        ("smtps://mail.example.org:2465", SmtpServer("mail.example.org", 2465, Security.TLS)),
        ("smtp://me:secret@127.0.0.1:2525", SmtpServer("127.0.0.1", 2525, Security.NONE, "me", "secret")),
    ],
)
def test_server_is_parsed_from_a_url(url: str, server: SmtpServer) -> None:
    assert SmtpServer.from_url(url) == server
    assert "secret" not in repr(SmtpServer.from_url(url))


@pytest.mark.parametrize(
    "url",
    [
        "http://mail.example.org",
        "smtp://",
        "mail.example.org",
        "smtps://h/x",
        "smtps://h?a=b",
        "smtps://h:x",
        "smtp://me:secret@mail.example.org",
    ],
)
def test_invalid_server_url_is_rejected(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the messages differ)
        SmtpServer.from_url(url)
