"""Which media type an answer has, by what a client says that it takes (RFC 9110, section 12.5.1)."""

from functools import lru_cache

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"
EVENT_STREAM = "text/event-stream"

OFFERED_MEDIA_TYPES = (GRAPHQL_RESPONSE, JSON)
"""What can be had; of two that are equally welcome the first."""


@lru_cache(256)
def negotiate_media_type(accept: str) -> str | None:
    """The type of the answer; None where the client takes none that can be had.

    Who names no type, or takes any, gets `application/json`: such clients were written before there was another one.
    """
    ranges = _parse_media_ranges(accept or "*/*")
    if not any(name in ranges for name in OFFERED_MEDIA_TYPES):
        return JSON if max(ranges.get(name, 0.0) for name in ("*/*", "application/*")) > 0 else None
    best = max(OFFERED_MEDIA_TYPES, key=lambda name: ranges.get(name, 0.0))
    return best if ranges.get(best, 0.0) > 0 else None


@lru_cache(256)
def prefers_event_stream(accept: str) -> bool:
    """Whether a client takes an event stream rather than an answer.

    Some name all types that they can read, whatever they ask for, so that of two that are equally welcome it is the
    answer.
    """
    ranges = _parse_media_ranges(accept)
    return ranges.get(EVENT_STREAM, 0.0) > max(ranges.get(name, 0.0) for name in OFFERED_MEDIA_TYPES)


def accepts_html(accept: str) -> bool:
    """Whether a browser asks for a page."""
    return "text/html" in accept


def _parse_media_ranges(accept: str) -> dict[str, float]:
    """The media ranges of the header with their weights; those of another charset than UTF-8 are left out."""
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
