"""What a template writes to: literal text as it is, values as they must be written where they stand."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from typing import Any

from liquid.stringify import to_liquid_string
from liquid.undefined import Undefined

from wattgate.delivery.templates.diagnostics import Finding, Severity, TemplatePart, line_and_column
from wattgate.delivery.templates.escaping import UnsafeValue, check_for_subject, clean_for_text, escape_for_html
from wattgate.delivery.templates.html_context import HtmlState, HtmlTokenizer

MIN_SIMILARITY = 0.66
"""How alike two names are, by difflib's ratio, where one is told as what the other may have meant."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character, which no text may hold."""

_WHITESPACE = re.compile(r"[\r\n\t]+")


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """What a rendering may take: seconds, turns of all loops together, characters of output."""

    max_seconds: float = 1.0
    max_iterations: int = 10_000
    max_characters: int = 400_000


DEFAULT_RENDER_LIMITS = RenderLimits()


class RenderLimitExceeded(Exception):
    """A rendering took more than it may; the text says what of."""


class MissingVariable(Undefined):
    """A variable that the data does not have; `near` is a name that may have been meant."""

    __slots__ = ("suggestion",)

    def __init__(self, name: str, token: Any, suggestion: str | None) -> None:
        super().__init__(name, token=token)
        self.suggestion = suggestion


class OutputWriter(StringIO):
    """Takes what a template writes: literal text as it is, values as they must be written where they stand."""

    def __init__(self, part: TemplatePart, source: str, limits: RenderLimits) -> None:
        super().__init__()
        self.part, self.source, self.limits = part, source, limits
        self.tokenizer = HtmlTokenizer()
        self.findings: list[Finding] = []
        self.remaining_characters = limits.max_characters

    def write(self, text: str, /) -> int:
        """Write literal text."""
        if self.part is TemplatePart.HTML:
            self.tokenizer.feed(text)
        elif self.part is not TemplatePart.TEXT:
            text = _WHITESPACE.sub(" ", text)
        self.remaining_characters -= len(text)
        if self.remaining_characters < 0:
            raise RenderLimitExceeded(f"it makes more than {self.limits.max_characters:,} characters")
        return super().write(text)

    def write_value(self, value: object, token: Any) -> int:
        """Write a value; what must not stand there is left out and told."""
        if isinstance(value, Mapping):
            return self.reject_value("a value must be a text or a number; this one has members", token)
        text = SURROGATE.sub("\ufffd", to_liquid_string(value, False))
        try:
            written = self._escape(text)
        except UnsafeValue as error:
            return self.reject_value(str(error), token)
        plain_link = (
            self.tokenizer.state is HtmlState.QUOTED_VALUE
            and self.tokenizer.attribute_name in ("href", "src")
            and not self.tokenizer.attribute_value
        )
        if self.part is TemplatePart.HTML and plain_link and text.strip().lower().startswith("http:"):
            self.add_finding(Severity.WARNING, "link-not-https", f"{text.strip()} is not https", token)
        return self.write(written)

    def _escape(self, text: str) -> str:
        if self.part is TemplatePart.HTML:
            return escape_for_html(text, self.tokenizer)
        return check_for_subject(text) if self.part is TemplatePart.SUBJECT else clean_for_text(text)

    def reject_value(self, message: str, token: Any) -> int:
        self.add_finding(Severity.ERROR, "value-refused", message, token)
        return 0

    def report_missing(self, missing: MissingVariable) -> None:
        """Tell a variable that was needed and not there, once for each place."""
        hint = f"did you mean {missing.suggestion}?" if missing.suggestion else None
        code = "variable-misspelt" if missing.suggestion else "variable-missing"
        self.add_finding(Severity.ERROR, code, f"{missing.name} is not in the data", missing.token, hint)

    def add_finding(self, severity: Severity, code: str, message: str, token: Any, hint: str | None = None) -> None:
        line, column = line_and_column(self.source, token.start_index)
        finding = Finding(severity, code, self.part, message, line, column, hint)
        if finding not in self.findings:
            self.findings.append(finding)


def closest_match(name: str, known: Iterable[object]) -> str | None:
    """The known name that is most like another one, if one is."""
    close = get_close_matches(name, [one for one in known if isinstance(one, str)], 1, MIN_SIMILARITY)
    return close[0] if close else None


def format_path(path: Iterable[object]) -> str:
    """A path as a template spells it."""
    first, *rest = path
    return str(first) + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in rest)
