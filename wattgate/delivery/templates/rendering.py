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
    MissingVariables,
    Severity,
    TemplateError,
    TemplatePart,
    UnsafeTemplateValues,
)
from wattgate.delivery.templates.engine import render_source
from wattgate.delivery.templates.escaping import UnsafeValue, check_header
from wattgate.delivery.templates.html_context import HtmlTokenizer
from wattgate.delivery.templates.output_writer import DEFAULT_RENDER_LIMITS, RenderLimits
from wattgate.delivery.templates.plain_text import VOID_TAGS, html_to_text

CSS_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)
"""Puts styles where they hold, and keeps what holds for some screens only. It loads nothing."""

HIDDEN_STYLE = "display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden"
"""Mail programs show the first words of a mail in their lists; this is how they come before all others unseen."""

_SPACES = re.compile(r" {2,}")
_BODY_TAG = re.compile(r"<body\b(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)


MAX_DEPTH = 300
"""Elements within each other. The library that inlines styles ends the process where there are some thousands."""

IMPLICITLY_CLOSED_TAGS = VOID_TAGS | {"p", "li", "dd", "dt", "td", "th", "tr", "tbody", "thead", "tfoot", "option"}
"""Elements that do not nest without one that does."""


class _DepthCounter(HtmlTokenizer):
    """How many elements are open within each other, at most."""

    def __init__(self) -> None:
        super().__init__()
        self.open_elements: Counter[str] = Counter()
        self.depth = self.max_depth = 0

    def on_tag(self) -> None:
        if self.tag_name in IMPLICITLY_CLOSED_TAGS or (self.is_end_tag and not self.open_elements[self.tag_name]):
            return
        change = -1 if self.is_end_tag else 1
        self.open_elements[self.tag_name] += change
        self.depth += change
        self.max_depth = max(self.max_depth, self.depth)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The sources of a template. Without a text of its own, a message gets the one made from its HTML."""

    html: str
    subject: str = ""
    preheader: str = ""
    text: str | None = None

    def parts(self) -> Iterator[tuple[TemplatePart, str]]:
        """Each part that there is, with its source."""
        yield TemplatePart.SUBJECT, self.subject
        yield TemplatePart.PREHEADER, self.preheader
        yield TemplatePart.HTML, self.html
        if self.text is not None:
            yield TemplatePart.TEXT, self.text


@dataclass(frozen=True, slots=True)
class RenderedTemplate:
    """A message as it is sent; `html` has its styles inlined and the preheader in it, hidden."""

    subject: str
    preheader: str
    html: str
    text: str

    def marked_as_test(self) -> "RenderedTemplate":
        """The same message for those who try it out."""
        return replace(self, subject=f"[TEST] {self.subject}")


@dataclass(frozen=True, slots=True)
class PartialRendering:
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
    def complete(self) -> RenderedTemplate:
        """The message of a draft without errors."""
        return RenderedTemplate(self.subject or "", self.preheader or "", self.html or "", self.text or "")


def render(
    source: TemplateSource, data: Mapping[str, Any], limits: RenderLimits = DEFAULT_RENDER_LIMITS
) -> RenderedTemplate:
    """The message that a template makes of some data. DoesNotParse, TooMuch, VariablesMissing or ValueRefused."""
    drafted = render_partially(source, data, limits, strict=True)
    errors = drafted.errors
    if any(one.code.startswith("variable-") for one in errors):
        raise MissingVariables(errors)
    if errors:
        raise UnsafeTemplateValues(errors)
    return drafted.complete


def render_partially(
    source: TemplateSource,
    data: Mapping[str, Any],
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    *,
    strict: bool = False,
) -> PartialRendering:
    """The message as far as it can be rendered. With `strict`, DoesNotParse and TooMuch are raised."""
    made: dict[TemplatePart, str | None] = {}
    findings: list[Finding] = []
    for part, written in source.parts():
        try:
            sink = render_source(written, part, data, limits)
        except TemplateError as fault:
            if strict:
                raise
            made[part] = None
            findings += fault.findings
            continue
        findings += sink.findings
        made[part] = sink.getvalue()
    subject, preheader = _join_lines(made[TemplatePart.SUBJECT]), _join_lines(made[TemplatePart.PREHEADER])
    document = made[TemplatePart.HTML]
    if subject is not None:
        findings += _header_findings(subject)
    text = (
        made[TemplatePart.TEXT] if TemplatePart.TEXT in made else None if document is None else html_to_text(document)
    )
    if document is not None:
        document, said = _inline_styles(document, preheader or "", limits)
        findings += said
    return PartialRendering(subject, preheader, document, text, tuple(findings))


def _join_lines(text: str | None) -> str | None:
    """A text of one line; templates may be written over several."""
    return None if text is None else _SPACES.sub(" ", text).strip()


def _header_findings(subject: str) -> list[Finding]:
    try:
        check_header(subject)
    except UnsafeValue as error:
        return [Finding(Severity.ERROR, "value-refused", TemplatePart.SUBJECT, str(error))]
    return []


def _inline_styles(document: str, preheader: str, limits: RenderLimits) -> tuple[str | None, list[Finding]]:
    """A document with its preheader, and its styles inlined."""
    if preheader:
        hidden = f'<div style="{HIDDEN_STYLE}">{html.escape(preheader)}</div>'
        body = _BODY_TAG.search(document)
        at = body.end() if body else 0
        document = document[:at] + hidden + document[at:]
    nesting = _DepthCounter()
    nesting.feed(document)
    if nesting.max_depth > MAX_DEPTH:
        message = f"more than {MAX_DEPTH} elements stand within each other"
        return None, [Finding(Severity.ERROR, "too-much", TemplatePart.HTML, message)]
    try:
        inlined = CSS_INLINER.inline(document)
    except css_inline.InlineError as error:
        return None, [
            Finding(Severity.ERROR, "css-broken", TemplatePart.HTML, f"its styles cannot be inlined: {error}")
        ]
    if len(inlined) > limits.max_characters:
        message = f"with its styles inlined it has more than {limits.max_characters:,} characters"
        return None, [Finding(Severity.ERROR, "too-much", TemplatePart.HTML, message)]
    return inlined, []
