"""Mail to a real server: it arrives, or what becomes of it is known."""

import asyncio
import ssl
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
import trustme

from tests.support.smtp import PASSWORD, USERNAME, MailServer, mail_server
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.channels.mail import Letterhead
from wattgate.delivery.channels.smtp import MAILS_OF_A_CONNECTION, SUPPRESS, Security, SmtpChannel, SmtpServer, refusal
from wattgate.delivery.links import Links
from wattgate.delivery.mail_addresses import mailbox

LINKS = Links("https://energy.example/", b"k" * 32)
SENDER = Letterhead(mailbox("Energy <alerts@energy.example>"), LINKS)
CONTENT = Content("Your budget", "80 % of it is used.\n.\n..end\n", "<p>80 % of it is used.</p>\n")


def outgoing(number: int = 1, **more: Any) -> Outgoing:
    given: dict[str, Any] = {
        "delivery_id": f"delivery-{number}",
        "application_id": "a",
        "attempt": 1,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC),
        "addresses": ("user@example.org",),
        "content": CONTENT,
    }
    return Outgoing(**{**given, **more})


def channel(there: MailServer, **more: Any) -> SmtpChannel:
    return SmtpChannel(SmtpServer("127.0.0.1", there.port), SENDER, **{"time_limit": 20.0, **more})


async def send(by: SmtpChannel, *mails: Outgoing) -> list[Outcome]:
    """Send them one after the other, and close the channel."""
    found = [await by.send(one) for one in mails or (outgoing(),)]
    await by.close()
    return found


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def of_server(authority: trustme.CA, name: str = "localhost") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_mail_arrives_with_a_text_and_html() -> None:
    async with mail_server() as there:
        assert await send(channel(there), outgoing()) == [Sent("2.0.0 queued as 1")]
        (taken,) = there.taken
        assert (taken.sender, taken.recipients) == ("alerts@energy.example", ["user@example.org"])
        assert (taken.session.host_name, taken.session.extended_smtp) == ("energy.example", True)
        message = taken.message
        assert message.get_content_type() == "multipart/alternative"
        text, html = message.get_body(("plain",)), message.get_body(("html",))
        assert text is not None
        assert html is not None
        assert (text.get_content(), html.get_content()) == (CONTENT.text, CONTENT.html)
        assert (message["From"], message["To"]) == ("Energy <alerts@energy.example>", "user@example.org")
        assert message["Message-ID"] == "<delivery-1@energy.example>"
        link = message["List-Unsubscribe"].strip("<>")
        assert link.startswith("https://energy.example/unsubscribe/")
        assert LINKS.unsubscribed(link.rpartition("/")[2]) == ("a", "delivery-1")
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_mails_go_over_one_connection_and_each_has_one_recipient() -> None:
    async with mail_server() as there:
        mails = [outgoing(n, addresses=(f"user{n}@example.org",)) for n in range(5)]
        assert all(isinstance(one, Sent) for one in await send(channel(there), *mails))
        assert there.connections == 1
        assert [one.recipients for one in there.taken] == [[f"user{n}@example.org"] for n in range(5)]


async def test_mails_at_the_same_time_share_a_few_connections() -> None:
    async with mail_server() as there:
        by = channel(there, connections=2)
        found = await asyncio.gather(*[by.send(outgoing(n)) for n in range(12)])
        await by.close()
        assert [type(one) for one in found] == [Sent] * 12
        assert len(there.taken) == 12
        assert there.connections <= 2


async def test_a_connection_takes_only_so_many_mails() -> None:
    async with mail_server() as there:
        found = await send(channel(there), *[outgoing(n) for n in range(MAILS_OF_A_CONNECTION + 1)])
        assert all(isinstance(one, Sent) for one in found)
        assert there.connections == 2


async def test_a_connection_that_the_server_has_ended_is_opened_again() -> None:
    async with mail_server() as there:
        by = channel(there)
        assert isinstance(await by.send(outgoing(1)), Sent)
        there.say("MAIL", "421 closing, I have been idle for too long")
        assert isinstance(await by.send(outgoing(2)), Sent)
        there.hang_up()
        assert isinstance(await by.send(outgoing(3)), Sent)
        await by.close()
        assert (there.connections, len(there.taken)) == (3, 3)


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_over_tls_the_gateway_logs_in(authority: trustme.CA, security: Security) -> None:
    context = of_server(authority)
    tls = {"tls": context} if security is Security.TLS else {"starttls": context}
    async with mail_server(**tls, auth=True) as there:
        url = f"{security.value}://{USERNAME}:{quote(PASSWORD, safe='')}@localhost:{there.port}"
        by = SmtpChannel(SmtpServer.at(url), SENDER, trust=trusting(authority))
        await by.check()
        assert isinstance((await send(by))[0], Sent)
        assert there.taken[0].tls
        assert there.taken[0].session.authenticated


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_a_server_that_cannot_prove_its_name_gets_nothing(authority: trustme.CA, security: Security) -> None:
    context = of_server(authority, "other.test")
    at_once = security is Security.TLS
    async with mail_server(tls=context if at_once else None, starttls=None if at_once else context) as there:
        server = SmtpServer("localhost", there.port, security)
        for trust in (trusting(authority), ssl.create_default_context()):
            (found,) = await send(SmtpChannel(server, SENDER, trust=trust))
            assert isinstance(found, Retry)
            assert "certificate" in found.reason.lower()
        assert there.taken == []


async def test_a_server_that_offers_no_tls_gets_nothing_where_tls_is_asked_for() -> None:
    async with mail_server() as there:
        server = SmtpServer("localhost", there.port, Security.STARTTLS, USERNAME, PASSWORD)
        (found,) = await send(SmtpChannel(server, SENDER))
        assert isinstance(found, Retry)
        assert there.taken == []


async def test_a_wrong_password_is_a_matter_of_the_gateway_and_no_mail_is_lost(authority: trustme.CA) -> None:
    async with mail_server(starttls=of_server(authority), auth=True) as there:
        server = SmtpServer("localhost", there.port, Security.STARTTLS, USERNAME, "wrong")
        (found,) = await send(SmtpChannel(server, SENDER, trust=trusting(authority)))
        assert isinstance(found, Retry)
        assert found.reason.startswith("535 ")


async def test_so_is_a_sender_whom_the_server_does_not_know() -> None:
    async with mail_server() as there:
        there.say("MAIL", "550 5.7.1 you may not send from here")
        assert await send(channel(there)) == [Retry("550 5.7.1 you may not send from here")]


async def test_an_address_that_nobody_has_is_refused_and_the_connection_goes_on() -> None:
    async with mail_server() as there:
        there.say("RCPT", "550 5.1.1 no such user here")
        assert await send(channel(there), outgoing(1), outgoing(2)) == [
            Refused("address.refused", "550 5.1.1 no such user here", {SUPPRESS: True}),
            Sent("2.0.0 queued as 1"),
        ]
        assert there.connections == 1


async def test_a_greylisting_server_is_tried_again() -> None:
    async with mail_server() as there:
        there.say("RCPT", "451 4.7.1 greylisted, come back later")
        assert await send(channel(there), outgoing(), outgoing()) == [
            Retry("451 4.7.1 greylisted, come back later"),
            Sent("2.0.0 queued as 1"),
        ]


async def test_a_mail_that_is_refused_says_nothing_of_its_address() -> None:
    async with mail_server() as there:
        there.say("DATA", "554 5.7.1 this looks like spam", "452 4.3.1 no room")
        assert await send(channel(there), outgoing(), outgoing()) == [
            Refused("message.refused", "554 5.7.1 this looks like spam"),
            Retry("452 4.3.1 no room"),
        ]


@pytest.mark.parametrize(
    ("code", "message", "of_address", "gone"),
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
def test_only_an_address_that_nobody_has_is_at_fault(code: int, message: str, of_address: bool, gone: bool) -> None:
    found = refusal(code, message, of_address=of_address)
    assert isinstance(found, Refused)
    assert (found.code, dict(found.facts)) == (
        ("address.refused", {SUPPRESS: True}) if gone else ("message.refused", {})
    )


async def hang(there: MailServer) -> str:
    await asyncio.Event().wait()
    return ""


async def drop(there: MailServer) -> str:
    there.hang_up()
    return "250 OK"


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
async def test_a_server_that_hangs_is_left_after_a_while(command: str) -> None:
    async with mail_server() as there:
        there.say(command, hang)
        by = channel(there, connections=1, time_limit=0.5)
        assert await send(by) == [Retry("the mail server did not take it within 0.5 seconds")]
        assert isinstance((await send(by))[0], Sent)


async def test_those_who_wait_for_a_connection_do_so_within_the_limit_too() -> None:
    async with mail_server() as there:
        there.say("DATA", hang, hang)
        by = channel(there, connections=1, time_limit=0.5)
        found = await asyncio.gather(*[by.send(outgoing(n)) for n in range(2)])
        assert [type(one) for one in found] == [Retry, Retry]


async def test_a_server_that_hangs_before_its_greeting_is_left_too() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        there = SmtpServer("127.0.0.1", server.sockets[0].getsockname()[1])
        assert isinstance((await send(SmtpChannel(there, SENDER, time_limit=0.3)))[0], Retry)


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
async def test_a_server_that_drops_the_connection_is_tried_again(command: str) -> None:
    async with mail_server() as there:
        there.say(command, drop)
        first, second = await send(channel(there), outgoing(), outgoing())
        assert isinstance(first, Retry)
        assert isinstance(second, Sent)


async def test_a_mail_that_arrives_twice_has_one_message_id() -> None:
    async with mail_server() as there:
        there.say("DATA", drop)
        first, second = await send(channel(there), outgoing(), outgoing(attempt=2))
        assert (type(first), type(second)) == (Retry, Sent)
        assert [one.message["Message-ID"] for one in there.taken] == ["<delivery-1@energy.example>"] * 2


async def test_no_server_is_no_loss() -> None:
    async with mail_server() as there:
        by = channel(there)
    (found,) = await send(by)
    assert isinstance(found, Retry)


async def test_an_address_that_is_not_ascii_goes_to_servers_that_take_it() -> None:
    mail = outgoing(addresses=("jürgen@bücher.example",))
    async with mail_server() as there:
        assert await send(channel(there), mail) == [Sent("2.0.0 queued as 1")]
        assert there.taken[0].recipients == ["jürgen@xn--bcher-kva.example"]
        assert there.taken[0].message["To"] == "jürgen@xn--bcher-kva.example"
    async with mail_server(smtputf8=False) as there:
        found, after = await send(channel(there), mail, outgoing())
        assert isinstance(found, Refused)
        assert (found.code, type(after), there.connections) == ("address.not_supported", Sent, 1)


@pytest.mark.parametrize("address", ["no address", "a@b.example\r\nRCPT TO:<x@y.example>", "a@b.example, c@d.example"])
async def test_what_is_no_address_goes_to_no_server(address: str) -> None:
    async with mail_server() as there:
        (found,) = await send(channel(there), outgoing(addresses=(address,)))
        assert isinstance(found, Refused)
        assert (found.code, there.connections) == ("message.not_mailable", 0)


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
def test_a_server_is_named_by_a_url(url: str, server: SmtpServer) -> None:
    assert SmtpServer.at(url) == server
    assert "secret" not in repr(SmtpServer.at(url))


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
def test_what_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (several sentences)
        SmtpServer.at(url)
