"""Mails as they are written: what a mail program reads is what was meant, and nothing can be smuggled in."""

from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import Parser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.delivery.channels.mail import Letter, compose, read
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, check_line, mailbox

LINK = "https://energy.example/unsubscribe/" + "a" * 120

SMUGGLED = [
    "Hello\r\nBcc: evil@example.net",
    "Hello\nBcc: evil@example.net",
    "Hello\rBcc: evil@example.net",
    "Hello\x00",
    "Hello\x85Bcc: evil@example.net",
    "Hello\u2028Bcc: evil@example.net",
    "=?utf-8?q?hi=0ABcc=3A_x=40evil=2Etest?=",
    "hi =?utf-8?b?SGVsbG8KQmNjOiB4QGV2aWwudGVzdA==?= there",
    "half a \ud83d character",
]


def letter(**more: Any) -> Letter:
    given = {
        "reference": "0f0e6a3e-5f5b-4a6e-8a55-8f3c2f0f2a10",
        "sender": mailbox("Energy <alerts@energy.example>"),
        "recipient": mailbox("user@example.org"),
        "subject": "Your budget",
        "text": "You have used 80 % of your budget.\n",
        "html": "<p>You have used <b>80 %</b> of your budget.</p>\n",
        "written_at": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    }
    return Letter(**{**given, **more})


def test_a_mail_has_a_text_and_html_and_says_what_it_is() -> None:
    found = read(compose(letter(unsubscribe=LINK)))
    assert dict(found.items()) == {
        "From": "Energy <alerts@energy.example>",
        "To": "user@example.org",
        "Subject": "Your budget",
        "Date": "Sun, 01 Mar 2026 12:30:00 +0000",
        "Message-ID": "<0f0e6a3e-5f5b-4a6e-8a55-8f3c2f0f2a10@energy.example>",
        "Auto-Submitted": "auto-generated",
        "List-Unsubscribe": f"<{LINK}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "MIME-Version": "1.0",
        "Content-Type": found["Content-Type"],
    }
    assert found.get_content_type() == "multipart/alternative"
    parts = [part for part in found.iter_parts() if isinstance(part, EmailMessage)]
    assert [(part.get_content_type(), part.get_content()) for part in parts] == [
        ("text/plain", letter().text),
        ("text/html", letter().html),
    ]


def test_a_mail_without_html_is_a_plain_text() -> None:
    assert read(compose(letter(html=None))).get_content_type() == "text/plain"


def test_what_goes_over_the_wire_is_ascii_in_lines_that_every_server_takes() -> None:
    written = compose(
        letter(subject="Grüße — ⚡ " * 20, text="ü" * 3000 + "\n.\nend", html="<p>" + "x" * 5000 + "</p>")
    )
    assert written.isascii()
    assert b"\n" not in written.replace(b"\r\n", b"")
    assert max(len(line) for line in written.split(b"\r\n")) <= 100


def test_a_letter_has_the_same_message_id_each_time_it_is_written() -> None:
    assert read(compose(letter()))["Message-ID"] == read(compose(letter()))["Message-ID"]


@pytest.mark.parametrize("subject", SMUGGLED)
def test_a_subject_that_would_become_another_header_is_refused(subject: str) -> None:
    with pytest.raises(NotMailable):
        compose(letter(subject=subject))


@pytest.mark.parametrize("smuggled", SMUGGLED)
def test_so_is_an_address_a_name_or_a_link_that_would(smuggled: str) -> None:
    for text in (f"{smuggled}@example.org", f"user@{smuggled}", f"{smuggled} <user@example.org>"):
        with pytest.raises(NotMailable):
            mailbox(text)
    for recipient in (
        Mailbox(smuggled, "example.org"),
        Mailbox("user", smuggled),
        Mailbox("u", "example.org", smuggled),
    ):
        with pytest.raises((NotMailable, ValueError)):
            compose(letter(recipient=recipient))
    with pytest.raises(NotMailable):
        compose(letter(unsubscribe=f"{LINK}{smuggled}"))
    with pytest.raises(NotMailable):
        compose(letter(reference=smuggled))


def test_half_a_character_in_the_body_is_refused() -> None:
    with pytest.raises(NotMailable):
        compose(letter(text="\ud83d"))


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "mailto:a@b.example", "https://a.example/ b", f"{LINK}>", LINK * 9]
)
def test_a_link_that_is_none_of_the_web_is_refused(link: str) -> None:
    with pytest.raises(NotMailable):
        compose(letter(unsubscribe=link))


@given(st.text(max_size=400))
def test_any_subject_is_read_as_it_was_written_or_refused(subject: str) -> None:
    try:
        check_line(subject, "a subject")
    except NotMailable:
        with pytest.raises(NotMailable):
            compose(letter(subject=subject))
    else:
        assert read(compose(letter(subject=subject)))["Subject"] == " ".join(subject.split())


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_and_address_is_read_as_it_was_written_or_refused(name: str, address: str) -> None:
    for text in (f"{name} <user@example.org>", address, f"{address}@example.org", f"{name} <{address}>"):
        try:
            found = mailbox(text)
            written = compose(letter(recipient=found))
        except NotMailable:
            continue
        told = Parser(_class=EmailMessage, policy=policy.default).parsestr(written.decode())["To"].addresses
        assert [(one.username, one.domain) for one in told] == [(found.local, found.domain)]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("user@example.org", "user@example.org"),
        ("  user@example.org ", "user@example.org"),
        ("User.Name+tag@Example.ORG", "User.Name+tag@example.org"),
        ("user@bücher.example", "user@xn--bcher-kva.example"),
        ("user@faß.example", "user@xn--fa-hia.example"),
        ("user@例え.テスト", "user@xn--r8jz45g.xn--zckzah"),
        ("user@example。org", "user@example.org"),
        ("jürgen@example.org", "jürgen@example.org"),
        ("ju\u0308rgen@example.org", "jürgen@example.org"),
        ("root@localhost", "root@localhost"),
        ("Dr. Who <who@example.org>", "who@example.org"),
        ('"Who, Dr." <who@example.org>', "who@example.org"),
    ],
)
def test_an_address_is_known_however_it_is_written(written: str, address: str) -> None:
    assert mailbox(written).address == address


@pytest.mark.parametrize(
    "written",
    [
        "",
        "user",
        "@example.org",
        "user@",
        "user@host",
        "user@[127.0.0.1]",
        "user@example.org, other@example.org",
        "user@example.org; other@example.org",
        "<user@example.org> <other@example.org>",
        "a b@example.org",
        '"a b"@example.org',
        "a..b@example.org",
        ".a@example.org",
        "user@-example.org",
        "user@exa mple.org",
        "user@example.org>",
        "user(comment)@example.org",
        "x" * 65 + "@example.org",
        "ü" * 33 + "@example.org",
        "user@" + "x" * 64 + ".example",
        "user@" + ".".join(["x" * 60] * 5),
    ],
)
def test_what_is_not_one_address_is_refused(written: str) -> None:
    with pytest.raises(NotMailable):
        mailbox(written)


def test_an_address_that_is_not_ascii_is_written_as_it_is_and_the_rest_in_ascii() -> None:
    written = compose(letter(recipient=mailbox("jürgen@bücher.example"), subject="Grüße"))
    assert "To: jürgen@xn--bcher-kva.example\r\n".encode() in written
    assert written.replace("jürgen".encode(), b"").isascii()
    assert read(written)["Subject"] == "Grüße"
