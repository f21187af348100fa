"""Fallback of cultures for templates: the user's culture, its language, then those of the application."""

import re

DEFAULT_CULTURE = "en-GB"
"""The culture of an application that has not set one."""

_CULTURE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def is_culture(code: str) -> bool:
    """Return whether a text has the form of a language tag (RFC 5646), such as fr-CA."""
    return _CULTURE.fullmatch(code) is not None


def culture_fallbacks(culture: str | None, default: str = DEFAULT_CULTURE) -> tuple[str, ...]:
    """Return the cultures to try, best first, such as fr-CA, fr, en-GB, en: RFC 4647 lookup, then the default's."""
    tried: dict[str, str] = {}
    for wanted in (culture, default):
        tags = wanted.split("-") if wanted else []
        for length in range(len(tags), 0, -1):
            tag = "-".join(tags[:length])
            tried.setdefault(tag.lower(), tag)
    return tuple(tried.values())
