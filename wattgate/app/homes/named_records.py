"""Find a stored record by its name or ID, alike for every command."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeVar

from wattgate.errors import BadInput, NotFound, Problem

T = TypeVar("T")

MAX_COMPARED = 1_000
"""Maximum names that an unknown one is compared with."""

MAX_SUGGESTIONS = 3
MIN_SIMILARITY = 0.6
"""Similarity, from 0 to 1, from which a name is suggested for an unknown one."""


def find_named(
    records: Iterable[T], text: str, *, kind: str, id_of: Callable[[T], str], names_of: Callable[[T], Iterable[str]]
) -> T | None:
    """Return the record with this ID or name, or None. An ID comes before a name.

    Raise BadInput with the IDs if several records have the name.
    """
    known = list(records)
    found = [record for record in known if text.lower() == id_of(record).lower()]
    found = found or [record for record in known if text in names_of(record)]
    if len(found) > 1:
        ids = ", ".join(map(id_of, found))
        raise BadInput(
            f"Several {kind}s have the name {text!r}. Give the ID of one.",
            problems=[Problem((), f"{text!r} is the name of {ids}")],
        )
    return found[0] if found else None


def unknown_name(kind: str, text: str, names: Iterable[str], list_command: str) -> NotFound:
    """Return the error about an unknown name or ID, with the nearest names and the command that lists all."""
    nearest = get_close_matches(text, sorted(set(names)), n=MAX_SUGGESTIONS, cutoff=MIN_SIMILARITY)
    question = f" Did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
    return NotFound(f"No {kind} has the name or ID {text!r}.{question} List them with `{list_command}`.")
