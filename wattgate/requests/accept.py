"""Read headers about what a client accepts and has: media types (RFC 9110, section 12.5.1), and entity tags."""

import hashlib
from functools import lru_cache

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"
EVENT_STREAM = "text/event-stream"

OFFERED_MEDIA_TYPES = (GRAPHQL_RESPONSE, JSON)
"""The offered media types. If the client accepts two equally, the first is used."""


@lru_cache(256)
def negotiate_media_type(accept: str) -> str | None:
    """Return the media type of the response, or None if the client accepts none of the offered types.

    A client that names no type, or accepts any, gets `application/json`: such clients may predate the newer type.
    """
    ranges = _parse_media_ranges(accept or "*/*")
    if not any(name in ranges for name in OFFERED_MEDIA_TYPES):
        return JSON if max(ranges.get(name, 0.0) for name in ("*/*", "application/*")) > 0 else None
    best = max(OFFERED_MEDIA_TYPES, key=lambda name: ranges.get(name, 0.0))
    return best if ranges.get(best, 0.0) > 0 else None


@lru_cache(256)
def prefers_event_stream(accept: str) -> bool:
    """Return whether a client prefers an event stream to a single response.

    On equal preference the result is False, because some clients list all types that they can read in every request.
    """
    ranges = _parse_media_ranges(accept)
    return ranges.get(EVENT_STREAM, 0.0) > max(ranges.get(name, 0.0) for name in OFFERED_MEDIA_TYPES)


def accepts_html(accept: str) -> bool:
    """Return whether a browser requests a page."""
    return "text/html" in accept


def _parse_media_ranges(accept: str) -> dict[str, float]:
    """Return the media ranges of the header with their weights. Leave out ranges with a charset other than UTF-8."""
    weights: dict[str, float] = {}
    for media_range in accept.lower().split(","):
        name, *parameters = (part.strip() for part in media_range.split(";"))
        values = dict(part.partition("=")[::2] for part in parameters)
        if values.get("charset", "utf-8").strip('"') not in ("utf-8", "utf8"):
            continue
        weights[name] = _parse_weight(values.get("q", "1"))
    return weights


def _parse_weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


# Entity tags (RFC 9110, section 8.8.3), with which a client asks whether its copy has changed.

TAG_CHARACTERS = 32
"""Characters of a tag. 128 bits make it impossible to find a second content with the tag of a first one."""


def entity_tag(content: bytes) -> str:
    """Return the strong entity tag of a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:TAG_CHARACTERS]}"'


def has_tag(if_none_match: str, tag: str) -> bool:
    """Return whether a header If-None-Match names an entity tag. The comparison is weak (RFC 9110, section 13.1.2)."""
    tags = {named.strip().removeprefix("W/") for named in if_none_match.split(",")}
    return "*" in tags or tag.removeprefix("W/") in tags
