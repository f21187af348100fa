"""E-mail addresses for the headers and the envelope of a mail."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.headerregistry import Address

import idna

MAX_ADDRESS_OCTETS, MAX_LOCAL_PART_OCTETS = 254, 64
"""Maximum octets of an address, and of the part before its @ (RFC 5321, 4.5.3.1)."""

MAX_MAILBOX_LENGTH = 500
"""Maximum characters of an address with a name. The check comes first, so that all further work is bounded."""

_ATOM = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\U0010ffff-]+")
_ENCODED_WORD_START = "=?"
_GMAIL_DOMAINS = ("gmail.com", "googlemail.com")

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
"""Unicode categories of characters that an address does not show, such as a zero-width space."""


class NotMailable(ValueError):
    """An address, header or text is not valid in a mail; the message says why."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A sender or recipient. `domain` is in the ASCII form of the DNS, so that all servers understand it."""

    local: str
    domain: str
    name: str = ""

    @property
    def address(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def is_international(self) -> bool:
        """Whether the part before the @ is not ASCII."""
        return not self.local.isascii()

    @property
    def header_address(self) -> Address:
        return Address(self.name, self.local, self.domain)

    def __str__(self) -> str:
        return str(self.header_address)


def check_address(text: str) -> str:
    """Return an address of an account without surrounding white space. Raise NotMailable unless it is one address.

    The rule is that of `parse_mailbox`, without a name before the address.
    """
    address = text.strip()
    if len(address) > MAX_ADDRESS_OCTETS or len(address.encode(errors="replace")) > MAX_ADDRESS_OCTETS:
        raise NotMailable(f"has more than {MAX_ADDRESS_OCTETS} octets")
    check_line(address, "an address")
    _parse_address(address, "")
    return address


def parse_mailbox(text: str) -> Mailbox:
    """Parse `user@example.org` or `Name <user@example.org>`. Raise NotMailable unless it is exactly one address.

    Quoted local parts, comments and IP addresses as domain are rejected, because no user's address has them.
    """
    if len(text) > MAX_MAILBOX_LENGTH:
        raise NotMailable(f"{quote_for_log(text)} is too long for an e-mail address")
    check_line(text, "an address")
    name, address = _split_name(text.strip())
    return _parse_address(address, name)


def _parse_address(address: str, name: str) -> Mailbox:
    """Return the mailbox of a text that is one address and nothing else. Raise NotMailable if it is not."""
    local, separator, domain = address.rpartition("@")
    if not (local and separator and domain):
        raise NotMailable(f"{quote_for_log(address)} has no name, @ and domain")
    if _ENCODED_WORD_START in local or not all(map(_ATOM.fullmatch, local.split("."))):
        raise NotMailable(f"{quote_for_log(address)} is not an e-mail address")
    if any(unicodedata.category(character) in _INVISIBLE for character in address):
        raise NotMailable(f"{quote_for_log(address)} has white space or an invisible character")
    local = unicodedata.normalize("NFC", local)
    if len(local.encode()) > MAX_LOCAL_PART_OCTETS:
        raise NotMailable(f"{quote_for_log(address)} has more than {MAX_LOCAL_PART_OCTETS} octets before the @")
    mailbox = Mailbox(local, _encode_domain(domain, address), name)
    if len(mailbox.address.encode()) > MAX_ADDRESS_OCTETS:
        raise NotMailable(f"{quote_for_log(address)} is too long for an e-mail address")
    return mailbox


def mailbox_key(text: str) -> str:
    """Return a text that is equal for all spellings of the address of one mailbox, to count the mails to it.

    Case does not count, nor does a part of the name behind `+`. For Gmail, dots do not count either. Some servers
    deliver such spellings to different mailboxes, which then share a count. An invalid address is its own key.
    """
    try:
        box = parse_mailbox(text)
    except NotMailable:
        return text.strip().casefold()
    local, domain = unicodedata.normalize("NFKC", box.local).casefold(), box.domain
    local = local.partition("+")[0] or local
    if domain in _GMAIL_DOMAINS:
        local, domain = local.replace(".", ""), _GMAIL_DOMAINS[0]
    return f"{local}@{domain}"


@dataclass(frozen=True, slots=True)
class AllowList:
    """Permitted recipients, in lower case. `@energy.example` permits all addresses of a domain."""

    entries: frozenset[str] = frozenset()

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> "AllowList":
        """Build the list. Raise NotMailable if a text is neither an address nor an @ and a domain."""
        return cls(frozenset(map(_parse_entry, texts)))

    def allows(self, box: Mailbox) -> bool:
        """Return whether mail to a mailbox is permitted."""
        return not self.entries.isdisjoint({box.address.lower(), f"@{box.domain}".lower()})


EMPTY_ALLOW_LIST = AllowList()


def _parse_entry(text: str) -> str:
    if text.startswith("@"):
        return f"@{parse_mailbox(f'anybody{text}').domain}".lower()
    return parse_mailbox(text).address.lower()


def extract_addresses(texts: Iterable[str]) -> list[str]:
    """Return the valid addresses in the texts, in order, without duplicates. Upper and lower case count as equal."""
    addresses: dict[str, str] = {}
    for text in texts:
        with suppress(NotMailable):
            address = parse_mailbox(text).address
            addresses.setdefault(address.lower(), address)
    return list(addresses.values())


def check_line(text: str, what: str) -> str:
    """Return the text, or raise NotMailable if it is not safe in a header. `what` names it in the message.

    Control characters would end the header. Encoded words (RFC 2047) would be decoded into another text, and some
    versions of Python write line breaks that are hidden in them into the header (CVE-2024-6923).
    """
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise NotMailable(f"{what} must not contain line breaks or control characters")
    if has_encoded_word(text):
        raise NotMailable(f"{what} must not contain an encoded word (=?...?=)")
    return text


def has_encoded_word(text: str) -> bool:
    """Return whether a text has `=?` and a later `?=`, between which mail programs decode it (RFC 2047)."""
    start = text.find("=?")
    return start >= 0 and text.find("?=", start + 2) >= 0


def _split_name(text: str) -> tuple[str, str]:
    """Return the name and the address of `Name <user@example.org>`, or an empty name and the text."""
    name, opening, rest = text.partition("<")
    address, closing, after = rest.partition(">")
    if not opening or not closing or after or "<" in address or ">" in name:
        return "", text
    return name.strip().strip('"'), address


def quote_for_log(text: str) -> str:
    """Return a text quoted for messages and logs: in ASCII, and at most 80 characters of it."""
    return ascii(text if len(text) <= 80 else f"{text[:77]}...")


def _encode_domain(domain: str, text: str) -> str:
    try:
        encoded = idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        raise NotMailable(f"{quote_for_log(text)} has no valid domain") from None
    *_, top = encoded.split(".")
    is_name = "." in encoded and top != "" and not top.isdigit()  # neither a root dot nor an IP address
    if not is_name and encoded != "localhost":
        raise NotMailable(f"{quote_for_log(text)} has no valid domain, such as example.org")
    return encoded.lower()
