"""A mail as it goes over the wire: RFC 5322 and MIME."""

from dataclasses import dataclass, replace
from datetime import datetime
from email import policy
from email.header import Header
from email.headerregistry import BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage, Message
from email.parser import Parser
from email.policy import Policy
from urllib.parse import urlsplit

from wattgate.delivery.channels.channel import Outgoing, Refused
from wattgate.delivery.links import Links
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, check_line, mailbox

LONGEST_LINK = 900
"""Characters of the link that unsubscribes: it stands on one line, and no line may have more than 998."""

LONGEST_LINE = 76
"""Characters of a line that is folded, without its end (RFC 5322, 2.1.1)."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written to one recipient. `unsubscribe` is the link by which one click ends such letters (RFC 8058)."""

    reference: str
    sender: Mailbox
    recipient: Mailbox
    subject: str
    text: str
    html: str | None
    written_at: datetime
    unsubscribe: str | None = None

    @property
    def international(self) -> bool:
        """Whether only servers with SMTPUTF8 (RFC 6531) can take it."""
        return self.sender.international or self.recipient.international

    @property
    def message_id(self) -> str:
        """The same for every attempt to deliver a letter, so that programs show once what arrives twice."""
        return f"<{self.reference}@{self.sender.domain}>"


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who writes, and by which links; without any, mails have none to unsubscribe."""

    sender: Mailbox
    links: Links | None = None


def letter_of(outgoing: Outgoing, head: Letterhead) -> Letter:
    """The letter to the one address of something that goes out. NotMailable where the address is none."""
    (address,) = outgoing.addresses
    links = head.links
    return Letter(
        reference=outgoing.delivery_id,
        sender=head.sender,
        recipient=mailbox(address),
        subject=outgoing.content.subject,
        text=outgoing.content.text,
        html=outgoing.content.html,
        written_at=outgoing.created_at,
        unsubscribe=links.unsubscribe(outgoing.application_id, outgoing.delivery_id) if links else None,
    )


def write(outgoing: Outgoing, head: Letterhead) -> tuple[Letter, bytes] | Refused:
    """The letter to the one address of something that goes out, and its bytes; Refused where it can be none."""
    try:
        letter = letter_of(outgoing, head)
        return letter, compose(letter)
    except NotMailable as error:
        return Refused("message.not_mailable", str(error))


class _OnOneLine(UnstructuredHeader, BaseHeader):
    """A header that is never folded: links may be long, and folding would write them as encoded words."""

    def fold(self, *, policy: "Policy[Message]") -> str:
        return f"{self.name}: {self}{policy.linesep}"


class _Encoded(UnstructuredHeader, BaseHeader):
    """A header that is all in encoded words where it is long or not ASCII; those that `email` makes lose spaces."""

    def fold(self, *, policy: "Policy[Message]") -> str:
        name, text = self.name, str(self)
        if not text.isascii() or len(text) > LONGEST_LINE - len(name):
            text = Header(text, "utf-8", header_name=name).encode(linesep=policy.linesep)
        return f"{name}: {text}{policy.linesep}"


_HEADERS = HeaderRegistry()
_HEADERS.map_to_type("subject", _Encoded)
_HEADERS.map_to_type("list-unsubscribe", _OnOneLine)
_HEADERS.map_to_type("message-id", _OnOneLine)

WRITING = policy.SMTP.clone(header_factory=_HEADERS)
"""CRLF, and everything in ASCII."""

WRITING_INTERNATIONAL = policy.SMTPUTF8.clone(header_factory=_HEADERS)
"""The same for addresses that are not ASCII themselves (RFC 6532)."""


def compose(letter: Letter) -> bytes:
    """The letter as bytes; NotMailable where it would not be read as it is meant. Its subject is one line."""
    letter = replace(letter, subject=" ".join(check_line(letter.subject, "a subject").split()))
    for box in (letter.sender, letter.recipient):
        check_line(f"{box.name} {box.address}", "an address")
    message = EmailMessage(policy=WRITING_INTERNATIONAL if letter.international else WRITING)
    for name, value in _headers(letter).items():
        message[name] = value
    try:
        message.set_content(letter.text, charset="utf-8", cte="quoted-printable")
        if letter.html is not None:
            message.add_alternative(letter.html, subtype="html", charset="utf-8", cte="quoted-printable")
    except UnicodeEncodeError:
        raise NotMailable("a mail must not hold half a character") from None
    written = message.as_bytes()
    _check(letter, written)
    return written


def read(written: bytes) -> EmailMessage:
    """A mail that was written here, for those who want to look at it. Nothing but addresses in it is not ASCII."""
    return Parser(_class=EmailMessage, policy=policy.default).parsestr(written.decode().replace("\r\n", "\n"))


def _headers(letter: Letter) -> dict[str, object]:
    headers: dict[str, object] = {
        "From": letter.sender.header,
        "To": letter.recipient.header,
        "Subject": letter.subject,
        "Date": letter.written_at,
        "Message-ID": check_line(letter.message_id, "a Message-ID"),
        "Auto-Submitted": "auto-generated",
    }
    if letter.unsubscribe is not None:
        headers["List-Unsubscribe"] = f"<{_link(letter.unsubscribe)}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return headers


def _link(url: str) -> str:
    check_line(url, "a link")
    if len(url) > LONGEST_LINK or not url.isascii() or any(sign in url for sign in " <>"):
        raise NotMailable("the link to unsubscribe is not a link")
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotMailable("the link to unsubscribe is not one of the web")
    return url


_BODY = ("content-type", "mime-version", "content-transfer-encoding")


def _check(letter: Letter, written: bytes) -> None:
    """Read the mail as a stranger would: its headers are those that it was given, and no others."""
    found = read(written)
    expected = sorted(name.lower() for name in _headers(letter))
    names = sorted(name.lower() for name in found.keys() if name.lower() not in _BODY)  # noqa: SIM118 (a name may be there twice)
    if names != expected or found.defects:
        raise NotMailable("its headers would not be read as they are meant")
    told = (found["Subject"], found["From"].addresses, found["To"].addresses, found["Message-ID"])
    if told != (letter.subject, (letter.sender.header,), (letter.recipient.header,), letter.message_id):
        raise NotMailable("its headers would not be read as they are meant")
