"""E-mail addresses, as they are written on a letter and on its envelope."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.headerregistry import Address

import idna

LONGEST, LONGEST_LOCAL = 254, 64
"""How long an address and the part before its @ may be, in octets (RFC 5321, 4.5.3.1)."""

_NAMED = re.compile(r"(?P<name>[^<>]*?)\s*<(?P<address>[^<>]*)>")
_ATOM = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\U0010ffff-]+")
_ENCODED_WORD = re.compile(r"=\?.*\?=", re.DOTALL)


class NotMailable(ValueError):
    """Why something cannot stand in a mail."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Where mail goes, or comes from. `domain` is the form of the DNS, so that every server understands it."""

    local: str
    domain: str
    name: str = ""

    @property
    def address(self) -> str:
        return f"{self.local}@{self.domain}"

    @property
    def international(self) -> bool:
        """Whether it is not ASCII even in the form of the DNS."""
        return not self.local.isascii()

    @property
    def header(self) -> Address:
        return Address(self.name, self.local, self.domain)

    def __str__(self) -> str:
        return str(self.header)


def mailbox(text: str) -> Mailbox:
    """The mailbox of `user@example.org` or `Name <user@example.org>`; NotMailable where it is not exactly one.

    Names in quotes before the @, comments and numbers for a domain are refused: no user's address has them.
    """
    check_line(text, "an address")
    text = text.strip()
    named = _NAMED.fullmatch(text)
    name, address = (named["name"].strip().strip('"'), named["address"]) if named else ("", text)
    local, at, domain = address.rpartition("@")
    if not at or not all(map(_ATOM.fullmatch, local.split("."))):
        raise NotMailable(f"{shown(text)} is not an e-mail address")
    local = unicodedata.normalize("NFC", local)
    found = Mailbox(local, _domain(domain, text), name)
    if len(local.encode()) > LONGEST_LOCAL or len(found.address.encode()) > LONGEST:
        raise NotMailable(f"{shown(text)} is too long for an e-mail address")
    return found


@dataclass(frozen=True, slots=True)
class AllowList:
    """The addresses that may be written to, in lower case; @energy.example stands for all of a domain."""

    entries: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "AllowList":
        """The list of some texts. NotMailable where one is neither an address nor a domain."""
        return cls(frozenset(map(_entry, texts)))

    def allows(self, box: Mailbox) -> bool:
        """Whether a mailbox may be written to."""
        return not self.entries.isdisjoint({box.address.lower(), f"@{box.domain}".lower()})


NOBODY = AllowList()


def _entry(text: str) -> str:
    if text.startswith("@"):
        return f"@{mailbox(f'anybody{text}').domain}".lower()
    return mailbox(text).address.lower()


def addresses_among(texts: Iterable[str]) -> list[str]:
    """The addresses among some texts, in their order, each of them once however it is written."""
    found: dict[str, str] = {}
    for text in texts:
        with suppress(NotMailable):
            address = mailbox(text).address
            found.setdefault(address.lower(), address)
    return list(found.values())


def check_line(text: str, what: str) -> str:
    """The text; NotMailable where it cannot stand in a header.

    Control characters would end the header, and encoded words (RFC 2047) would be read as another text: versions of
    Python write the line breaks hidden in one out (CVE-2024-6923).
    """
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in text):
        raise NotMailable(f"{what} must not hold line breaks or control characters")
    if _ENCODED_WORD.search(text):
        raise NotMailable(f"{what} must not hold an encoded word (=?...?=)")
    return text


def shown(text: str) -> str:
    """A text as a sentence quotes it: not for ever, and without what would disturb a log."""
    return ascii(text if len(text) <= 80 else f"{text[:77]}...")


def _domain(domain: str, text: str) -> str:
    try:
        found = idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        raise NotMailable(f"{shown(text)} has no domain that can be looked up") from None
    if "." not in found and found != "localhost":
        raise NotMailable(f"{shown(text)} has no domain that can be looked up")
    return found.lower()
