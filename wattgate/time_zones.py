"""IANA time zones: check a name, and suggest the nearest one for an unknown name."""

from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files

MAX_SUGGESTION_LENGTH = 40
"""Maximum characters of an unknown name for which a zone is suggested. The longest zone has 32."""

MIN_SIMILARITY = 0.6
"""Similarity, from 0 to 1, from which a zone is suggested."""

_NO_PLACES = "Etc/"
"""Prefix of names that are not those of a place."""

_UNSET = "Factory"
"""A name of the database that stands for a zone that nobody has set."""


def is_time_zone(name: str) -> bool:
    """Return whether a name is that of a time zone, with the same meaning on every machine.

    A system has more files with rules, such as `localtime`, `posixrules`, and the folder `right`.
    """
    return name in _zones()


def time_zone_problem(name: str) -> str | None:
    """Return why a name is not a time zone, with the nearest zone if one is similar. Return None for a zone.

    The search takes some milliseconds. Do not call it for each of many values of a request.
    """
    if is_time_zone(name):
        return None
    nearest = nearest_time_zone(name)
    return f"{name!r} is not an IANA time zone" + (f". Did you mean {nearest}?" if nearest else "")


@lru_cache(maxsize=1_000)
def nearest_time_zone(name: str) -> str | None:
    """Return the zone whose name, or whose city, is most similar to an unknown name, or None if none is similar."""
    if len(name) > MAX_SUGGESTION_LENGTH:
        return None
    requested = name.strip().lower().replace(" ", "_")
    for candidates in _zones_by_spelling():
        matches = get_close_matches(requested, candidates, n=1, cutoff=MIN_SIMILARITY)
        if matches:
            return candidates[matches[0]]
    return None


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    """Return the names in the time zone database of the package tzdata, which a system may lack or extend."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()) - {_UNSET}


@lru_cache(maxsize=1)
def _zones_by_spelling() -> tuple[dict[str, str], dict[str, str]]:
    """Return the zones by their names, and by their cities alone, in lower case."""
    zones = sorted(name for name in _zones() if "/" in name and not name.startswith(_NO_PLACES))
    return {zone.lower(): zone for zone in zones}, {zone.rpartition("/")[2].lower(): zone for zone in reversed(zones)}
