"""Check of a source's markers before the library parses it. Malformed ones would make its regular expressions slow."""

import re

MAX_MARKERS = 5_000
"""Maximum number of markers in a source."""

MAX_MARKER_LENGTH = 1_000
"""Maximum characters of a marker."""

MAX_PARENTHESES = 20
"""Maximum opening parentheses of a marker. The library parses nested ones in quadratic time."""

_MARKER_START = re.compile(r"\{\{|\{%")
_RAW = re.compile(r"\{%-?\s{0,99}raw\s{0,99}-?%\}")
_END_RAW = re.compile(r"\{%-?\s{0,99}endraw\s{0,99}-?%\}")
_MARKER_ENDS = {"{{": "}}", "{%": "%}"}


class InvalidMarker(ValueError):
    """A marker is invalid; `index` is its position."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def check_markers(source: str) -> None:
    """Raise InvalidMarker for a marker that does not end or is too long, or if there are too many markers."""
    position, count = 0, 0
    while start := _MARKER_START.search(source, position):
        count += 1
        if count > MAX_MARKERS:
            raise InvalidMarker(f"there are more than {MAX_MARKERS:,} markers", start.start())
        position = _find_marker_end(source, start)


def _find_marker_end(source: str, start: re.Match[str]) -> int:
    """Return the position after a marker. For `raw`, this is the position after its `endraw`."""
    index, opening = start.start(), start[0]
    end = source.find(_MARKER_ENDS[opening], index + 2, index + MAX_MARKER_LENGTH)
    if end < 0:
        raise InvalidMarker(
            f"{opening} is not followed by {_MARKER_ENDS[opening]} within {MAX_MARKER_LENGTH:,} characters", index
        )
    if source[index + 2 : end].strip("- \t\r\n") == "doc":
        raise InvalidMarker("there is no tag doc; use {% comment %} for notes", index)
    if source.count("(", index, end) > MAX_PARENTHESES:
        raise InvalidMarker(f"a marker has more than {MAX_PARENTHESES} opening parentheses", index)
    raw = _RAW.match(source, index)
    if raw is None:
        return end + 2
    end_raw = _END_RAW.search(source, raw.end())
    if end_raw is None:
        raise InvalidMarker("raw is not followed by endraw", index)
    return end_raw.end()
