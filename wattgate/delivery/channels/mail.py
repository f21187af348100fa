"""Mails in the format of RFC 5322 and MIME."""

from dataclasses import dataclass, replace
from datetime import datetime
from email import policy
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UniqueSingleAddressHeader, UnstructuredHeader
from email.message import EmailMessage, Message
from email.parser import Parser
from email.policy import Policy
from urllib.parse import urlsplit

from wattgate.delivery.channels.channel import OutboundMessage, PermanentFailure
from wattgate.delivery.mail_addresses import Mailbox, NotMailable, check_line, parse_mailbox
from wattgate.delivery.signed_links import SignedLinks

MAX_LINK_LENGTH = 900
"""Maximum characters of the unsubscribe link. It must fit on one line, which may have at most 998."""

MAX_SUBJECT_CHARACTERS = 500
"""Maximum characters of a subject. A longer one is cut: to encode a header takes quadratic time."""

MAX_LINE_LENGTH = 76
"""Maximum characters of a folded line, without its line end: that of RFC 2047 for lines with encoded words."""


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail to one recipient. `unsubscribe_url` is the link that unsubscribes with one click (RFC 8058)."""

    reference: str
    sender: Mailbox
    recipient: Mailbox
    subject: str
    text: str
    html: str | None
    written_at: datetime
    unsubscribe_url: str | None = None

    @property
    def is_international(self) -> bool:
        """Whether the mail needs a server with SMTPUTF8 (RFC 6531)."""
        return self.sender.is_international or self.recipient.is_international

    @property
    def message_id(self) -> str:
        """The Message-ID. It is the same for all attempts, so that mail programs show a duplicate once."""
        return f"<{self.reference}@{self.sender.domain}>"


@dataclass(frozen=True, slots=True)
class SenderProfile:
    """The sender of mails, and its signed links. Without links, mails have no unsubscribe link."""

    sender: Mailbox
    links: SignedLinks | None = None


def build_mail(outbound: OutboundMessage, profile: SenderProfile) -> MailMessage:
    """Return the mail of an outbound message with one address. Raise NotMailable if the address is invalid."""
    (address,) = outbound.addresses
    links = profile.links if outbound.unsubscribable else None

    def filled(text: str) -> str:
        return links.fill_tokens(text, outbound.application_id, outbound.delivery_id) if links else text

    content = outbound.content
    return MailMessage(
        reference=outbound.delivery_id,
        sender=profile.sender,
        recipient=parse_mailbox(address),
        subject=content.subject,
        text=filled(content.text),
        html=None if content.html is None else filled(content.html),
        written_at=outbound.created_at,
        unsubscribe_url=links.unsubscribe_url(outbound.application_id, outbound.delivery_id) if links else None,
    )


def build_and_encode_mail(
    outbound: OutboundMessage, profile: SenderProfile
) -> tuple[MailMessage, bytes] | PermanentFailure:
    """Return the mail of an outbound message and its bytes, or PermanentFailure if it is not mailable."""
    try:
        mail = build_mail(outbound, profile)
        return mail, encode_mail(mail)
    except NotMailable as error:
        return PermanentFailure("message.not_mailable", str(error))


class _UnfoldedHeader(UnstructuredHeader, BaseHeader):
    """A header that is never folded, because folding would turn long links into encoded words."""

    def fold(self, *, policy: "Policy[Message]") -> str:
        return f"{self.name}: {self}{policy.linesep}"


class _SubjectHeader(UnstructuredHeader, BaseHeader):
    """A header that is folded at its spaces, or written entirely as encoded words if it is not ASCII.

    The encoded words of the `email` package lose spaces, and are longer than RFC 2047 permits.
    """

    def fold(self, *, policy: "Policy[Message]") -> str:
        name, text = self.name, str(self)
        lines = _fold_ascii(text, len(name)) if text.isascii() else _encode_words(text, name)
        return f"{name}: {f'{policy.linesep} '.join(lines)}{policy.linesep}"


class _MailboxHeader(UniqueSingleAddressHeader, BaseHeader):  # type: ignore[misc]  # both declare max_count
    """The header of one address. A name that is not ASCII is written entirely as encoded words.

    The `email` package writes spaces between the encoded words of a long name, which mail programs show.
    """

    def fold(self, *, policy: "Policy[Message]") -> str:
        box = self.address
        if box.display_name.isascii():
            return super().fold(policy=policy)
        lines = [*_encode_words(box.display_name, self.name), f"<{box.addr_spec}>"]
        return f"{self.name}: {f'{policy.linesep} '.join(lines)}{policy.linesep}"


def _fold_ascii(text: str, name_length: int) -> list[str]:
    """Return the lines of a text, broken at its spaces. The name of its header is in the first line."""
    lines, room = [""], MAX_LINE_LENGTH - name_length - len(": ")
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
            room = MAX_LINE_LENGTH - 1
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def _encode_words(text: str, header_name: str) -> list[str]:
    """Return a text as encoded words of at most 75 characters, one for each line (RFC 2047, section 2).

    `Header` counts neither the space before a word nor, for quoted-printable text, one character of the word.
    """
    header = Header(text, "utf-8", header_name=header_name, maxlinelen=MAX_LINE_LENGTH - 2)
    return header.encode(linesep="\n").split("\n ")


_HEADERS = HeaderRegistry()
_HEADERS.map_to_type("subject", _SubjectHeader)
_HEADERS.map_to_type("from", _MailboxHeader)
_HEADERS.map_to_type("to", _MailboxHeader)
_HEADERS.map_to_type("list-unsubscribe", _UnfoldedHeader)
_HEADERS.map_to_type("message-id", _UnfoldedHeader)

MAIL_POLICY = policy.SMTP.clone(header_factory=_HEADERS, max_line_length=MAX_LINE_LENGTH)
"""Line ends are CRLF, and all content is ASCII."""

INTERNATIONAL_MAIL_POLICY = policy.SMTPUTF8.clone(header_factory=_HEADERS, max_line_length=MAX_LINE_LENGTH)
"""The same, but for addresses that are not ASCII (RFC 6532)."""


def encode_mail(mail: MailMessage) -> bytes:
    """Return the mail as bytes. Runs of spaces in the subject become one.

    Raise NotMailable if a program would parse the bytes into different headers.
    """
    mail = replace(mail, subject=_cut_subject(" ".join(check_line(mail.subject, "a subject").split())))
    for box in (mail.sender, mail.recipient):
        check_line(f"{box.name} {box.address}", "an address")
    message = EmailMessage(policy=INTERNATIONAL_MAIL_POLICY if mail.is_international else MAIL_POLICY)
    for name, value in _headers(mail).items():
        message[name] = value
    try:
        message.set_content(mail.text, charset="utf-8", cte="quoted-printable")
        if mail.html is not None:
            message.add_alternative(mail.html, subtype="html", charset="utf-8", cte="quoted-printable")
    except UnicodeEncodeError:
        raise NotMailable("a mail must not contain half of a surrogate pair") from None
    encoded = message.as_bytes()
    _check_round_trip(mail, encoded)
    return encoded


def _cut_subject(subject: str) -> str:
    return subject if len(subject) <= MAX_SUBJECT_CHARACTERS else f"{subject[: MAX_SUBJECT_CHARACTERS - 1].rstrip()}…"


def parse_mail(encoded: bytes) -> EmailMessage:
    """Parse a mail of `encode_mail`, in which only addresses may be not ASCII."""
    return Parser(_class=EmailMessage, policy=policy.default).parsestr(encoded.decode().replace("\r\n", "\n"))


def _headers(mail: MailMessage) -> dict[str, object]:
    headers: dict[str, object] = {
        "From": mail.sender.header_address,
        "To": mail.recipient.header_address,
        "Subject": mail.subject,
        "Date": mail.written_at,
        "Message-ID": check_line(mail.message_id, "a Message-ID"),
        "Auto-Submitted": "auto-generated",
    }
    if mail.unsubscribe_url is not None:
        headers["List-Unsubscribe"] = f"<{_check_link(mail.unsubscribe_url)}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return headers


def _check_link(url: str) -> str:
    check_line(url, "a link")
    if len(url) > MAX_LINK_LENGTH or not url.isascii() or any(character in url for character in " <>"):
        raise NotMailable(f"the unsubscribe link is not a URL in ASCII of at most {MAX_LINK_LENGTH} characters")
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotMailable("the unsubscribe link does not begin with http: or https:")
    return url


_BODY_HEADERS = ("content-type", "mime-version", "content-transfer-encoding")


def _check_round_trip(mail: MailMessage, encoded: bytes) -> None:
    """Parse the bytes, and raise NotMailable unless they have exactly the headers of the mail."""
    parsed = parse_mail(encoded)
    expected = sorted(name.lower() for name in _headers(mail))
    names = sorted(name.lower() for name in parsed.keys() if name.lower() not in _BODY_HEADERS)  # noqa: SIM118 (a name may be there twice)
    if names != expected or parsed.defects:
        raise NotMailable("mail programs would not parse the headers as intended")
    boxes = [_identity(box) for name in ("From", "To") for box in parsed[name].addresses]
    identity = (parsed["Subject"], boxes, parsed["Message-ID"])
    intended = [_identity(box.header_address) for box in (mail.sender, mail.recipient)]
    if identity != (mail.subject, intended, mail.message_id):
        raise NotMailable("mail programs would not parse the headers as intended")


def _identity(box: Address) -> tuple[str, str]:
    """Return the name and the address. A name that is not ASCII has no spaces.

    The parser keeps the space between two encoded words, which is no part of the name (RFC 2047, section 6.2).
    """
    name = box.display_name
    return name if name.isascii() else "".join(name.split()), box.addr_spec
