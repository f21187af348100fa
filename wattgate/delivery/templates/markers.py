"""A look at the markers of a source before the library reads it, whose regular expressions need well-formed ones."""

import re

MAX_MARKERS = 5_000
"""Markers of a source."""

MAX_MARKER = 1_000
"""Characters of a marker."""

_BEGINS = re.compile(r"\{\{|\{%")
_RAW = re.compile(r"\{%-?\s{0,99}raw\s{0,99}-?%\}")
_END_RAW = re.compile(r"\{%-?\s{0,99}endraw\s{0,99}-?%\}")
_ENDS = {"{{": "}}", "{%": "%}"}


class BadMarker(ValueError):
    """What is wrong with a marker; `index` is where it stands."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def check_markers(source: str) -> None:
    """BadMarker for one that does not end, or is too long, and for too many."""
    at, count = 0, 0
    while begins := _BEGINS.search(source, at):
        count += 1
        if count > MAX_MARKERS:
            raise BadMarker(f"there are more than {MAX_MARKERS:,} markers", begins.start())
        at = _end_of(source, begins)


def _end_of(source: str, begins: re.Match[str]) -> int:
    """The position after a marker, or after all that a raw one holds."""
    index, mark = begins.start(), begins[0]
    end = source.find(_ENDS[mark], index + 2, index + MAX_MARKER)
    if end < 0:
        raise BadMarker(f"{mark} is not followed by {_ENDS[mark]} within {MAX_MARKER:,} characters", index)
    if source[index + 2 : end].strip("- \t\r\n") == "doc":
        raise BadMarker("there is no tag doc; {% comment %} is for notes", index)
    raw = _RAW.match(source, index)
    if raw is None:
        return end + 2
    ends = _END_RAW.search(source, raw.end())
    if ends is None:
        raise BadMarker("raw is not followed by endraw", index)
    return ends.end()
