"""Which cultures' templates do for somebody: their own, its language, then the application's."""

import re

DEFAULT_CULTURE = "en-GB"
"""The culture of an application that names no other."""

_CULTURE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def is_culture(code: str) -> bool:
    """Whether a text is a language tag, such as fr-CA, by the form of RFC 5646."""
    return _CULTURE.fullmatch(code) is not None


def chain_of(culture: str | None, default: str = DEFAULT_CULTURE) -> tuple[str, ...]:
    """The cultures to try, best first: fr-CA, fr, en-GB, en. The look-up of RFC 4647, then the same for the default."""
    tried: dict[str, str] = {}
    for wanted in (culture, default):
        tags = wanted.split("-") if wanted else []
        for length in range(len(tags), 0, -1):
            tag = "-".join(tags[:length])
            tried.setdefault(tag.lower(), tag)
    return tuple(tried.values())
