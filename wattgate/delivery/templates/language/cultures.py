"""Fallback of cultures for templates: the user's culture, its language, then those of the application."""

import re

DEFAULT_CULTURE = "en-GB"
"""The culture of an application that has not set one."""

_CULTURE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def is_culture(code: str) -> bool:
    """Return whether a text has the form of a language tag (RFC 5646), such as fr-CA."""
    return _CULTURE.fullmatch(code) is not None


def canonical_culture(code: str) -> str:
    """Return a language tag in the usual case (RFC 5646, section 2.1.1): fr-CA, zh-Hant-TW."""
    language, *subtags = code.lower().split("-")
    by_length = {2: str.upper, 4: str.title}
    return "-".join([language, *(by_length.get(len(subtag), str.lower)(subtag) for subtag in subtags)])


def culture_fallbacks(culture: str | None, default: str = DEFAULT_CULTURE) -> tuple[str, ...]:
    """Return the cultures to try, best first, such as fr-CA, fr, en-GB, en: RFC 4647 lookup, then the default's."""
    tags_by_key: dict[str, str] = {}
    for code in (culture, default):
        subtags = code.split("-") if code else []
        for length in range(len(subtags), 0, -1):
            tag = "-".join(subtags[:length])
            tags_by_key.setdefault(tag.lower(), tag)
    return tuple(tags_by_key.values())


def message_culture(recipient: str, template: str | None) -> str:
    """Return the culture that formats a message: the recipient's if the template has the same language, else its own.

    An English text has no French dates. A recipient in the United States gets the dates of an en-GB template in the
    form of en-US.
    """
    if template is None or _language(recipient) == _language(template):
        return recipient
    return template


def _language(culture: str) -> str:
    return culture.partition("-")[0].lower()
