"""What can be said of a template, and what stops it from being rendered."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """The parts of a template, each a source of its own."""

    SUBJECT = "subject"
    PREHEADER = "preheader"
    HTML = "html"
    TEXT = "text"


class Severity(StrEnum):
    """What is to be done about a finding: an error must go away before anything is sent."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing said of a template. `line` and `column` count from 1, in the source of the part; None is the whole."""

    severity: Severity
    code: str
    part: Part
    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.part}" if self.line is None else f"{self.part}, line {self.line}, column {self.column}"
        return f"{where}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class TemplateFault(Exception):
    """The base of what stops a template from being rendered; never raised itself. `findings` says where and why."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(map(str, findings)))
        self.findings = tuple(findings)


class DoesNotParse(TemplateFault):
    """The source is not a template: a marker that does not end, an unknown tag or filter."""


class TooMuch(TemplateFault):
    """Rendering takes more time, loops or room than a template gets."""


class VariablesMissing(TemplateFault):
    """The template needs variables that the data does not have."""


class ValueRefused(TemplateFault):
    """A value must not stand where the template puts it: a script in a link, a line break in a subject."""


def place_of(source: str, index: int) -> tuple[int, int]:
    """The line and column of a position in a source, both counted from 1."""
    before = source[: max(index, 0)]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
