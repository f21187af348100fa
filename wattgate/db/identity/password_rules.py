"""The rules for new passwords, by NIST SP 800-63B-4: a minimum length, and no password that others guess first.

There are no rules about kinds of characters. `common_passwords.txt` has the passwords of at least six characters among
the 30,000 most common ones of the package zxcvbn 4.5.0 (https://pypi.org/project/zxcvbn), in lower case and sorted.
`common_passwords.LICENSE` has its licence.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

MIN_PASSWORD_LENGTH = 8

MAX_ADDED_CHARACTERS = 4
"""A common password stays common with up to this many digits or signs at its end, such as a year."""

MIN_CONTEXT_WORD = 3
"""Minimum characters of a username or a name that counts as known."""

MIN_CONTEXT_PART = 4
"""Minimum characters of a part of an address or a name that counts as known. Shorter ones are in many words."""

SERVICE_NAME = "wattgate"

_LIST = Path(__file__).parent / "common_passwords.txt"


def normalize_password(password: str) -> str:
    """Return the form of a password that is hashed: NFKC, so that each keyboard gives the same characters."""
    return unicodedata.normalize("NFKC", password)


def find_weakness(password: str, context: Iterable[str]) -> str | None:
    """Return why a new password is too weak, as the end of a sentence about it; None if it is good.

    `context` has what others know about the account: its username, its e-mail address, the name of the application.
    """
    password = normalize_password(password)
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"has {len(password)} characters and must have at least {MIN_PASSWORD_LENGTH} characters"
    if not password.strip():
        return "has only spaces"
    folded = password.casefold()
    plain = "".join(filter(str.isalnum, folded))
    if _is_pattern(folded) or (len(plain) >= MIN_PASSWORD_LENGTH and _is_row(plain)):
        return "repeats a few characters, or is a row of consecutive ones"
    if any(_is_common(form) for form in (*_without_additions(folded), plain, _repeated_part(plain))):
        return "is among the most common passwords, or is one of them with a few characters at its end"
    words = _context_words(context)
    is_spaced = not any(word in folded for word in words)
    if _has_little_beside(folded, words) or (is_spaced and _has_little_beside(plain, words)):
        return f"has fewer than {MIN_PASSWORD_LENGTH} characters beside the username, the e-mail address or a name"
    return None


@cache
def _common_passwords() -> bytes:
    return b"\n" + _LIST.read_bytes()


def _is_common(text: str) -> bool:
    return "\n" not in text and f"\n{text}\n".encode(errors="replace") in _common_passwords()


def _without_additions(text: str) -> list[str]:
    """Return the text without surrounding spaces, and without up to MAX_ADDED_CHARACTERS that are no letters."""
    forms = [text.strip()]
    while len(forms) <= MAX_ADDED_CHARACTERS and forms[-1] and not forms[-1][-1].isalpha():
        forms.append(forms[-1][:-1])
    return forms


def _is_pattern(text: str) -> bool:
    """Return whether a text repeats fewer than MIN_PASSWORD_LENGTH characters, or has consecutive characters."""
    return len(_repeated_part(text)) < MIN_PASSWORD_LENGTH or _is_row(text)


def _repeated_part(text: str) -> str:
    """Return the shortest part whose repetition is the text, with its last one complete or not; else the text."""
    sizes = range(1, len(text) // 2 + 1)
    return next((text[:size] for size in sizes if text.startswith(text[size:])), text)


def _is_row(text: str) -> bool:
    """Return whether a text has consecutive characters, up or down. After the digit 9 comes 0."""
    modulus = 10 if text.isdecimal() else sys.maxunicode
    steps = {(ord(after) - ord(before)) % modulus for before, after in pairwise(text)}
    return steps in ({1}, {modulus - 1})


def _context_words(context: Iterable[str]) -> list[str]:
    """Return the texts, and their parts between signs, in the form that is compared, the longest first."""
    words = set[str]()
    for text in context:
        folded = normalize_password(text).strip().casefold()
        local = folded.partition("@")[0]
        parts = "".join(character if character.isalnum() else " " for character in folded).split()
        words |= {word for word in (folded, local) if len(word) >= MIN_CONTEXT_WORD}
        words |= {part for part in parts if len(part) >= MIN_CONTEXT_PART}
    words |= {word[::-1] for word in words}
    return sorted(words, key=lambda word: (-len(word), word))


def _has_little_beside(text: str, words: Iterable[str]) -> bool:
    rest = text
    for word in words:
        rest = rest.replace(word, "")
    return rest != text and len(rest) < MIN_PASSWORD_LENGTH


# The rules for new usernames: nobody can have a name that looks like the name of another user, or like an ID.
#
# Existing usernames are not checked, so that their users can still log in.

_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that are not seen: control, format, unassigned, private, surrogates, separators of lines."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The form of IDs. Commands take a username or an ID."""

_WORD = re.compile(r"\w+")

_SIMILAR_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts with letters that look like those of another one, by the first word of the names of their letters."""


def find_username_flaw(name: str) -> str | None:
    """Return why a normalized username is not allowed, as the end of a sentence about it; None if it is allowed."""
    for character in name:
        if unicodedata.category(character) in _INVISIBLE:
            return f"has the invisible character U+{ord(character):04X}"
    normal = unicodedata.normalize("NFKC", name)
    if normal != name:
        return f"has characters with a simpler form. Write {normal!r}"
    for word in _WORD.findall(name):
        scripts = sorted({script for character in word if (script := _similar_script(character)) is not None})
        if len(scripts) > 1:
            return f"mixes letters that look alike: {' and '.join(script.capitalize() for script in scripts)}"
    if _ID.fullmatch(name):
        return "has the form of an ID"
    return None


def _similar_script(character: str) -> str | None:
    first_word = unicodedata.name(character, "").partition(" ")[0]
    return first_word if first_word in _SIMILAR_SCRIPTS else None
