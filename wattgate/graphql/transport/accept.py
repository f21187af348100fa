"""Which media type an answer has, by what a client says that it takes (RFC 9110, section 12.5.1)."""

from functools import lru_cache

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"
EVENT_STREAM = "text/event-stream"

OFFERED = (GRAPHQL_RESPONSE, JSON)
"""What can be had; of two that are equally welcome the first."""


@lru_cache(256)
def media_type(accept: str) -> str | None:
    """The type of the answer; None where the client takes none that can be had.

    Who names no type, or takes any, gets `application/json`: such clients were written before there was another one.
    """
    ranges = _ranges(accept or "*/*")
    if not any(name in ranges for name in OFFERED):
        return JSON if max(ranges.get(one, 0.0) for one in ("*/*", "application/*")) > 0 else None
    found = max(OFFERED, key=lambda name: ranges.get(name, 0.0))
    return found if ranges.get(found, 0.0) > 0 else None


@lru_cache(256)
def wants_events(accept: str) -> bool:
    """Whether a client takes an event stream rather than an answer.

    Some name all types that they can read, whatever they ask for, so that of two that are equally welcome it is the
    answer.
    """
    ranges = _ranges(accept)
    return ranges.get(EVENT_STREAM, 0.0) > max(ranges.get(name, 0.0) for name in OFFERED)


def wants_html(accept: str) -> bool:
    """Whether a browser asks for a page."""
    return "text/html" in accept


def _ranges(accept: str) -> dict[str, float]:
    """The media ranges of the header with their weights; those of another charset than UTF-8 are left out."""
    found: dict[str, float] = {}
    for one in accept.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        given = dict(part.partition("=")[::2] for part in parameters)
        if given.get("charset", "utf-8").strip('"') not in ("utf-8", "utf8"):
            continue
        found[name] = _weight(given.get("q", "1"))
    return found


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
