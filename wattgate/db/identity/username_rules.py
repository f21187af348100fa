"""The rules for new usernames: nobody can have a name that looks like the name of another user, or like an ID.

Existing usernames are not checked, so that their users can still log in.
"""

import re
import unicodedata

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
