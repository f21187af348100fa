"""Misspelt names in templates: the known name that a template probably means.

A name is misspelt if it is unknown, and similar to a known name.
"""

from collections.abc import Iterable
from difflib import get_close_matches

MISSPELT = "variable-misspelt"
"""The code of a finding about a variable whose name is similar to a name in the data."""

MIN_SIMILARITY = 0.66
"""Minimum similarity (difflib's ratio) of a name that is suggested for an unknown name."""


def closest_match(name: str, known: Iterable[object]) -> str | None:
    """Return the known name that is most similar to another one; None if none is similar enough."""
    matches = get_close_matches(
        name, [candidate for candidate in known if isinstance(candidate, str)], 1, MIN_SIMILARITY
    )
    return matches[0] if matches else None


def suggestion_hint(suggestion: str) -> str:
    """Return the hint of a finding about a misspelt name."""
    return f"did you mean {suggestion}?"


def format_path(path: Iterable[object]) -> str:
    """Return a path in the syntax of templates."""
    first, *rest = path
    return str(first) + "".join(f"[{segment}]" if isinstance(segment, int) else f".{segment}" for segment in rest)
