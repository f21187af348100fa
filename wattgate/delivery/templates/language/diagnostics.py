"""Findings about templates, and the errors that prevent rendering."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice


class TemplatePart(StrEnum):
    """The parts of a template. Each part has its own source."""

    SUBJECT = "subject"
    PREHEADER = "preheader"
    HTML = "html"
    TEXT = "text"


class Severity(StrEnum):
    """The severity of a finding. A template with errors must not be sent."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a template.

    `line` and `column` count from 1 in the source of the part. They are None if the finding concerns the whole part.
    """

    severity: Severity
    code: str
    part: TemplatePart
    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        position = f"{self.part}" if self.line is None else f"{self.part}, line {self.line}, column {self.column}"
        return f"{position}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class TemplateError(Exception):
    """Base class of errors that prevent rendering; raise a subclass. `findings` has the positions and reasons."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(map(str, findings)))
        self.findings = tuple(findings)


class TemplateSyntaxError(TemplateError):
    """The source cannot be parsed: for example an open marker, or an unknown tag or filter."""


class TemplateLimitExceeded(TemplateError):
    """Rendering exceeds a limit of time, iterations or size."""


class MissingVariables(TemplateError):
    """The data lacks variables that the template needs."""


class UnsafeTemplateValues(TemplateError):
    """A value is unsafe at its position in the template, such as a script in a link or a line break in a subject."""


class LineIndex:
    """The starts of the lines of a source, for the positions of many findings. Lines and columns count from 1."""

    def __init__(self, source: str) -> None:
        self._length = len(source)
        self._line_starts = [0, *(index + 1 for index, character in enumerate(source) if character == "\n")]

    def position(self, index: int) -> tuple[int, int]:
        """Return the line and column of an index in the source."""
        index = min(max(index, 0), self._length)
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1


def line_and_column(source: str, index: int) -> tuple[int, int]:
    """Return the line and column of an index in a source. For many of them, use a LineIndex: it reads them once."""
    before = source[: max(index, 0)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


# Misspelt names in templates: the known name that a template probably means.
#
# A name is misspelt if it is unknown, and similar to a known name.

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
