"""Output of a template: literal text is written unchanged, and values are escaped for their position."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from typing import Any

from liquid import Undefined
from liquid.stringify import to_liquid_string

from wattgate.delivery.templates.html.escaping import (
    URL_ATTRIBUTES,
    UnsafeValue,
    check_for_subject,
    clean_for_text,
    escape_for_html,
)
from wattgate.delivery.templates.html.html_context import HtmlState, HtmlTokenizer
from wattgate.delivery.templates.language.contract_values import DeclaredFloat, DeclaredInteger, DeclaredText
from wattgate.delivery.templates.language.diagnostics import (
    MISSPELT,
    Finding,
    LineIndex,
    Severity,
    TemplatePart,
    suggestion_hint,
)
from wattgate.delivery.templates.language.format_filters import format_declared
from wattgate.delivery.templates.language.formatting import MAX_NUMBER, Formats, plain_number

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is not valid in text."""

PLAIN_ATTRIBUTES = frozenset(("style", "width", "height"))
"""Attributes other than addresses whose numbers programs read."""

DEFAULT_FORMATS = Formats()

_WHITESPACE = re.compile(r"[\r\n\t]+")


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """Limits of a rendering: seconds of processor time, iterations of all loops together, and characters of output."""

    max_seconds: float = 1.0
    max_iterations: int = 10_000
    max_characters: int = 400_000


DEFAULT_RENDER_LIMITS = RenderLimits()


class RenderLimitExceeded(Exception):
    """A rendering exceeded a limit; the message says which."""


class MissingVariable(Undefined):
    """A variable that the data lacks. `suggestion` is a similar name that may have been intended."""

    __slots__ = ("suggestion",)

    def __init__(self, name: str, token: Any, suggestion: str | None) -> None:
        super().__init__(name, token=token)
        self.suggestion = suggestion


class OutputWriter(StringIO):
    """Collects the output of a template, and findings about its values."""

    def __init__(
        self, part: TemplatePart, source: str, limits: RenderLimits, formats: Formats = DEFAULT_FORMATS
    ) -> None:
        super().__init__()
        self.part, self.source, self.limits, self.formats = part, source, limits, formats
        self.tokenizer = HtmlTokenizer()
        self.findings: list[Finding] = []
        self._lines = LineIndex(source)
        self._known_findings: set[Finding] = set()
        self.remaining_characters = limits.max_characters

    def write(self, text: str, /) -> int:
        """Write literal text."""
        if self.part is TemplatePart.HTML:
            self.tokenizer.feed(text)
        elif self.part is not TemplatePart.TEXT:
            text = _WHITESPACE.sub(" ", text)
        self.remaining_characters -= len(text)
        if self.remaining_characters < 0:
            raise RenderLimitExceeded(f"the output has more than {self.limits.max_characters:,} characters")
        return super().write(text)

    def write_value(self, value: object, token: Any) -> int:
        """Write a value. Omit a value that is unsafe at this position, and add a finding."""
        if contains_object(value):
            return self.reject_value("a value must be a text or a number; this one is an object", token)
        text = SURROGATE.sub("\ufffd", self.text_of(value))
        try:
            escaped = self._escape(text)
        except UnsafeValue as error:
            return self.reject_value(str(error), token)
        plain_link = (
            self.tokenizer.state is HtmlState.QUOTED_VALUE
            and self.tokenizer.attribute_name in ("href", "src")
            and not self.tokenizer.attribute_value
        )
        if self.part is TemplatePart.HTML and plain_link and text.strip().lower().startswith("http:"):
            self.add_finding(Severity.WARNING, "link-not-https", f"{text.strip()} is not https", token)
        return self.write(escaped)

    def text_of(self, value: object) -> str:
        """Return a value without a filter as text: of a declared variable by its type, otherwise as programs write it.

        Addresses and styles get values as programs write them, because a comma would change their meaning.
        """
        is_for_programs = self.part is TemplatePart.HTML and (
            self.tokenizer.state is HtmlState.RAW_TEXT
            or (
                self.tokenizer.state is HtmlState.QUOTED_VALUE
                and (
                    self.tokenizer.attribute_name in URL_ATTRIBUTES or self.tokenizer.attribute_name in PLAIN_ATTRIBUTES
                )
            )
        )
        if isinstance(value, DeclaredText | DeclaredInteger | DeclaredFloat) and not is_for_programs:
            return format_declared(value, self.formats)
        if isinstance(value, float) and math.isfinite(value) and abs(value) <= MAX_NUMBER:
            return plain_number(value)
        if isinstance(value, Decimal) and value.is_finite() and abs(value) <= MAX_NUMBER:
            return plain_number(value)
        if isinstance(value, list):
            return "".join(map(self.text_of, value))
        return to_liquid_string(value, False)

    def _escape(self, text: str) -> str:
        if self.part is TemplatePart.HTML:
            return escape_for_html(text, self.tokenizer)
        return check_for_subject(text) if self.part is TemplatePart.SUBJECT else clean_for_text(text)

    def reject_value(self, message: str, token: Any) -> int:
        self.add_finding(Severity.ERROR, "value-refused", message, token)
        return 0

    def report_missing(self, missing: MissingVariable) -> None:
        """Add a finding about a missing variable, once for each position."""
        code = MISSPELT if missing.suggestion else "variable-missing"
        hint = suggestion_hint(missing.suggestion) if missing.suggestion else None
        self.add_finding(Severity.ERROR, code, f"{missing.name} is not in the data", missing.token, hint)

    def add_finding(self, severity: Severity, code: str, message: str, token: Any, hint: str | None = None) -> None:
        line, column = self._lines.position(token.start_index)
        finding = Finding(severity, code, self.part, message, line, column, hint)
        if finding not in self._known_findings:
            self._known_findings.add(finding)
            self.findings.append(finding)


def contains_object(value: object) -> bool:
    """Return whether a value is an object, or a list with an object."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            return True
        if isinstance(item, list):
            pending += item
    return False
