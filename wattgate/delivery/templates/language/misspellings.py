"""Misspelt names in templates: the known name that a template probably means.

A name is misspelt if it is unknown, and similar to a known name.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MISSPELT = "variable-misspelt"
"""The code of a finding about a variable whose name is similar to a name in the data."""

MIN_SIMILARITY = 0.66
"""Minimum similarity (difflib's ratio) of a name that is suggested for an unknown name."""


MAX_NAME_LENGTH = 100
"""Maximum characters of a name that is compared. The time of a comparison grows with the square of the length."""

MAX_CANDIDATES = 200
"""Maximum known names that an unknown name is compared with."""

MAX_SUGGESTIONS = 50
"""Maximum unknown names of a template that get a suggestion. Names after them are reported without one."""


def closest_match(name: str, known: Iterable[object]) -> str | None:
    """Return the known name that is most similar to another one; None if none is similar enough."""
    if len(name) > MAX_NAME_LENGTH:
        return None
    candidates = (candidate for candidate in known if isinstance(candidate, str) and len(candidate) <= MAX_NAME_LENGTH)
    matches = get_close_matches(name, islice(candidates, MAX_CANDIDATES), 1, MIN_SIMILARITY)
    return matches[0] if matches else None


def suggestion_hint(suggestion: str) -> str:
    """Return the hint of a finding about a misspelt name."""
    return f"did you mean {suggestion}?"


def format_path(path: Iterable[object]) -> str:
    """Return a path in the syntax of templates."""
    first, *rest = path
    return str(first) + "".join(f"[{segment}]" if isinstance(segment, int) else f".{segment}" for segment in rest)
