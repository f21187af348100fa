"""From a template and data to what is sent."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import css_inline

from wattgate.delivery.templates.diagnostics import (
    Finding,
    Part,
    Severity,
    TemplateFault,
    ValueRefused,
    VariablesMissing,
)
from wattgate.delivery.templates.engine import run
from wattgate.delivery.templates.escaping import Refused, check_header
from wattgate.delivery.templates.html_context import Reader
from wattgate.delivery.templates.output_writer import LIMITS, Limits
from wattgate.delivery.templates.plain_text import VOID, text_of

INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)
"""Puts styles where they hold, and keeps what holds for some screens only. It loads nothing."""

HIDDEN = "display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden"
"""Mail programs show the first words of a mail in their lists; this is how they come before all others unseen."""

_SPACES = re.compile(r" {2,}")
_BODY = re.compile(r"<body\b(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)


MAX_DEPTH = 300
"""Elements within each other. The library that inlines styles ends the process where there are some thousands."""

CLOSED_BY_OTHERS = VOID | {"p", "li", "dd", "dt", "td", "th", "tr", "tbody", "thead", "tfoot", "option"}
"""Elements that do not nest without one that does."""


class _Depth(Reader):
    """How many elements are open within each other, at most."""

    def __init__(self) -> None:
        super().__init__()
        self.open: Counter[str] = Counter()
        self.depth = self.deepest = 0

    def on_tag(self) -> None:
        if self.tag in CLOSED_BY_OTHERS or (self.ends and not self.open[self.tag]):
            return
        change = -1 if self.ends else 1
        self.open[self.tag] += change
        self.depth += change
        self.deepest = max(self.deepest, self.depth)


@dataclass(frozen=True, slots=True)
class Source:
    """The sources of a template. Without a text of its own, a message gets the one made from its HTML."""

    html: str
    subject: str = ""
    preheader: str = ""
    text: str | None = None

    def parts(self) -> Iterator[tuple[Part, str]]:
        """Each part that there is, with its source."""
        yield Part.SUBJECT, self.subject
        yield Part.PREHEADER, self.preheader
        yield Part.HTML, self.html
        if self.text is not None:
            yield Part.TEXT, self.text


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message as it is sent; `html` has its styles inlined and the preheader in it, hidden."""

    subject: str
    preheader: str
    html: str
    text: str

    def marked_as_test(self) -> "Rendered":
        """The same message for those who try it out."""
        return replace(self, subject=f"[TEST] {self.subject}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as far as it could be rendered, and what was wrong. A part that could not be is left out."""

    subject: str | None
    preheader: str | None
    html: str | None
    text: str | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        return [one for one in self.findings if one.severity is Severity.ERROR]

    @property
    def whole(self) -> Rendered:
        """The message of a draft without errors."""
        return Rendered(self.subject or "", self.preheader or "", self.html or "", self.text or "")


def render(source: Source, data: Mapping[str, Any], limits: Limits = LIMITS) -> Rendered:
    """The message that a template makes of some data. DoesNotParse, TooMuch, VariablesMissing or ValueRefused."""
    drafted = draft(source, data, limits, strict=True)
    errors = drafted.errors
    if any(one.code.startswith("variable-") for one in errors):
        raise VariablesMissing(errors)
    if errors:
        raise ValueRefused(errors)
    return drafted.whole


def draft(source: Source, data: Mapping[str, Any], limits: Limits = LIMITS, *, strict: bool = False) -> Draft:
    """The message as far as it can be rendered. With `strict`, DoesNotParse and TooMuch are raised."""
    made: dict[Part, str | None] = {}
    findings: list[Finding] = []
    for part, written in source.parts():
        try:
            sink = run(written, part, data, limits)
        except TemplateFault as fault:
            if strict:
                raise
            made[part] = None
            findings += fault.findings
            continue
        findings += sink.findings
        made[part] = sink.getvalue()
    subject, preheader = _line(made[Part.SUBJECT]), _line(made[Part.PREHEADER])
    document = made[Part.HTML]
    if subject is not None:
        findings += _header_findings(subject)
    text = made[Part.TEXT] if Part.TEXT in made else None if document is None else text_of(document)
    if document is not None:
        document, said = _finished(document, preheader or "", limits)
        findings += said
    return Draft(subject, preheader, document, text, tuple(findings))


def _line(text: str | None) -> str | None:
    """A text of one line; templates may be written over several."""
    return None if text is None else _SPACES.sub(" ", text).strip()


def _header_findings(subject: str) -> list[Finding]:
    try:
        check_header(subject)
    except Refused as error:
        return [Finding(Severity.ERROR, "value-refused", Part.SUBJECT, str(error))]
    return []


def _finished(document: str, preheader: str, limits: Limits) -> tuple[str | None, list[Finding]]:
    """A document with its preheader, and its styles inlined."""
    if preheader:
        hidden = f'<div style="{HIDDEN}">{html.escape(preheader)}</div>'
        body = _BODY.search(document)
        at = body.end() if body else 0
        document = document[:at] + hidden + document[at:]
    nesting = _Depth()
    nesting.read(document)
    if nesting.deepest > MAX_DEPTH:
        message = f"more than {MAX_DEPTH} elements stand within each other"
        return None, [Finding(Severity.ERROR, "too-much", Part.HTML, message)]
    try:
        inlined = INLINER.inline(document)
    except css_inline.InlineError as error:
        return None, [Finding(Severity.ERROR, "css-broken", Part.HTML, f"its styles cannot be inlined: {error}")]
    if len(inlined) > limits.characters:
        message = f"with its styles inlined it has more than {limits.characters:,} characters"
        return None, [Finding(Severity.ERROR, "too-much", Part.HTML, message)]
    return inlined, []
