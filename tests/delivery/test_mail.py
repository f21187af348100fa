"""Encoding and parsing of mails, and rejection of injected headers."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email import policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.parser import BytesParser, Parser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.delivery.channels.mail import MAX_SUBJECT_CHARACTERS, MailMessage, encode_mail, parse_mail
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, check_line, parse_mailbox

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


def build_mail(**more: Any) -> MailMessage:
    values = {
        "reference": "0f0e6a3e-5f5b-4a6e-8a55-8f3c2f0f2a10",
        "sender": parse_mailbox("Energy <alerts@energy.example>"),
        "recipient": parse_mailbox("user@example.org"),
        "subject": "Your budget",
        "text": "You have used 80 % of your budget.\n",
        "html": "<p>You have used <b>80 %</b> of your budget.</p>\n",
        "written_at": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    }
    return MailMessage(**{**values, **more})


def test_mail_has_text_html_and_its_headers() -> None:
    message = parse_mail(encode_mail(build_mail(unsubscribe_url=LINK)))
    assert dict(message.items()) == {
        "From": "Energy <alerts@energy.example>",
        "To": "user@example.org",
        "Subject": "Your budget",
        "Date": "Sun, 01 Mar 2026 12:30:00 +0000",
        "Message-ID": "<0f0e6a3e-5f5b-4a6e-8a55-8f3c2f0f2a10@energy.example>",
        "Auto-Submitted": "auto-generated",
        "List-Unsubscribe": f"<{LINK}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "MIME-Version": "1.0",
        "Content-Type": message["Content-Type"],
    }
    assert message.get_content_type() == "multipart/alternative"
    parts = [part for part in message.iter_parts() if isinstance(part, EmailMessage)]
    assert [(part.get_content_type(), part.get_content()) for part in parts] == [
        ("text/plain", build_mail().text),
        ("text/html", build_mail().html),
    ]


def test_mail_without_html_is_plain_text() -> None:
    assert parse_mail(encode_mail(build_mail(html=None))).get_content_type() == "text/plain"


def test_encoded_mail_is_ascii_in_short_lines() -> None:
    encoded = encode_mail(
        build_mail(subject="Grüße — ⚡ " * 20, text="ü" * 3000 + "\n.\nend", html="<p>" + "x" * 5000 + "</p>")
    )
    assert encoded.isascii()
    assert b"\n" not in encoded.replace(b"\r\n", b"")
    assert max(len(line) for line in encoded.split(b"\r\n")) <= 100


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("Your electricity use " * 8, "Energy"),  # ASCII alone, 167 characters
        ("Grüße aus dem Stromzähler " * 6, "Energy"),
        ("電力の使用量が予算を超えました " * 12, "Energy"),
        ("⚡" * 200, "Stadtwerke Köln, Zähler"),
        ("x" * 300, "The department of meters and of the people who read them " * 4),
        ("a " * 60 + "é", "é" * 20),
        ("Use", "Österreichische Elektrizitätswirtschafts-Aktiengesellschaft für Größe und Wärme"),
        ("Use", "Энергоснабжающая организация города и области, «Свет»"),
        ("Use", "電力エナジーパートナー再生可能エネルギー推進部門お客様サービスセンター"),
        ("Use", "⚡" * 60),
    ],
)
def test_headers_are_folded_as_rfc_2047_and_5322_say(subject: str, name: str) -> None:
    """Lines with encoded words have at most 76 characters, and each word has at most 75. ASCII is not encoded."""
    encoded = encode_mail(build_mail(subject=subject, sender=Mailbox("a", "energy.example", name.strip())))
    head = encoded.partition(b"\r\n\r\n")[0].decode("ascii")
    assert [*folding_faults(head)] == []
    assert ("=?" in head) is not (subject + name).isascii()
    assert parse_mail(encoded)["Subject"] == " ".join(subject.split())
    shown = str(make_header(decode_header(BytesParser().parsebytes(encoded)["From"])))
    assert " ".join(shown.replace('"', "").split()).partition(" <")[0] == name.strip()


def folding_faults(head: str) -> Iterator[str]:
    """Yield what is wrong in the lines of the headers of a mail."""
    for line in head.split("\r\n"):
        words = re.findall(r"=\?utf-8\?[bq]\?\S*?\?=", line)
        yield from (f"{len(word)} characters in {word}" for word in words if len(word) > 75)
        longest = max(map(len, line.split()), default=0)
        if len(line) > (76 if words else 78) and longest <= 60:
            yield f"{len(line)} characters in {line}"
        if not line.strip():
            yield "an empty line"


@given(st.text(st.sampled_from("aé ⚡日=?ü_"), max_size=300).filter(lambda text: bool(text.strip())))
def test_any_subject_is_folded_as_the_rules_say(subject: str) -> None:
    with suppress(NotMailable):
        assert [*folding_faults(encode_mail(build_mail(subject=subject)).partition(b"\r\n\r\n")[0].decode())] == []


def test_long_subject_is_cut() -> None:
    message = parse_mail(encode_mail(build_mail(subject="=?x" * 100_000)))
    assert len(str(message["Subject"])) == MAX_SUBJECT_CHARACTERS
    assert str(message["Subject"]).endswith("…")


def test_message_id_is_the_same_for_each_encoding() -> None:
    assert parse_mail(encode_mail(build_mail()))["Message-ID"] == parse_mail(encode_mail(build_mail()))["Message-ID"]


@pytest.mark.parametrize("subject", SMUGGLED)
def test_subject_that_injects_a_header_is_rejected(subject: str) -> None:
    with pytest.raises(NotMailable):
        encode_mail(build_mail(subject=subject))


@pytest.mark.parametrize("smuggled", SMUGGLED)
def test_address_name_or_link_that_injects_a_header_is_rejected(smuggled: str) -> None:
    for text in (f"{smuggled}@example.org", f"user@{smuggled}", f"{smuggled} <user@example.org>"):
        with pytest.raises(NotMailable):
            parse_mailbox(text)
    for recipient in (
        Mailbox(smuggled, "example.org"),
        Mailbox("user", smuggled),
        Mailbox("u", "example.org", smuggled),
    ):
        with pytest.raises((NotMailable, ValueError)):
            encode_mail(build_mail(recipient=recipient))
    with pytest.raises(NotMailable):
        encode_mail(build_mail(unsubscribe_url=f"{LINK}{smuggled}"))
    with pytest.raises(NotMailable):
        encode_mail(build_mail(reference=smuggled))


def test_half_of_a_surrogate_pair_in_the_body_is_rejected() -> None:
    with pytest.raises(NotMailable):
        encode_mail(build_mail(text="\ud83d"))


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "mailto:a@b.example", "https://a.example/ b", f"{LINK}>", LINK * 9]
)
def test_unsubscribe_link_that_is_not_a_web_url_is_rejected(link: str) -> None:
    with pytest.raises(NotMailable):
        encode_mail(build_mail(unsubscribe_url=link))


@given(st.text(max_size=400))
def test_any_subject_round_trips_or_is_rejected(subject: str) -> None:
    try:
        check_line(subject, "a subject")
    except NotMailable:
        with pytest.raises(NotMailable):
            encode_mail(build_mail(subject=subject))
    else:
        assert parse_mail(encode_mail(build_mail(subject=subject)))["Subject"] == " ".join(subject.split())


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_and_address_round_trips_or_is_rejected(name: str, address: str) -> None:
    for text in (f"{name} <user@example.org>", address, f"{address}@example.org", f"{name} <{address}>"):
        try:
            mailbox = parse_mailbox(text)
            encoded = encode_mail(build_mail(recipient=mailbox))
        except NotMailable:
            continue
        addresses = Parser(_class=EmailMessage, policy=policy.default).parsestr(encoded.decode())["To"].addresses
        assert [(parsed.username, parsed.domain) for parsed in addresses] == [(mailbox.local, mailbox.domain)]


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
def test_address_is_normalized(written: str, address: str) -> None:
    assert parse_mailbox(written).address == address


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
def test_text_that_is_not_exactly_one_address_is_rejected(written: str) -> None:
    with pytest.raises(NotMailable):
        parse_mailbox(written)


def test_only_an_international_address_is_not_ascii() -> None:
    encoded = encode_mail(build_mail(recipient=parse_mailbox("jürgen@bücher.example"), subject="Grüße"))
    assert "To: jürgen@xn--bcher-kva.example\r\n".encode() in encoded
    assert encoded.replace("jürgen".encode(), b"").isascii()
    assert parse_mail(encoded)["Subject"] == "Grüße"
