"""Rendering of a template with data into a message."""

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import css_inline

from wattgate.delivery.templates.html.escaping import UnsafeValue, check_header
from wattgate.delivery.templates.html.html_context import HtmlTokenizer
from wattgate.delivery.templates.html.plain_text import VOID_TAGS, html_to_text
from wattgate.delivery.templates.html.style_sheets import add_styles, separate_styles
from wattgate.delivery.templates.language.contract_values import bind_values
from wattgate.delivery.templates.language.diagnostics import (
    Finding,
    MissingVariables,
    Severity,
    TemplateError,
    TemplatePart,
    UnsafeTemplateValues,
)
from wattgate.delivery.templates.language.engine import render_source
from wattgate.delivery.templates.language.output_writer import DEFAULT_RENDER_LIMITS, RenderLimits
from wattgate.delivery.templates.scope import DEFAULT_SCOPE, RenderScope

CSS_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)
"""Moves styles into the elements, except at-rules such as media queries. It loads no remote style sheets."""

HIDDEN_STYLE = "display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden"
"""Style of the preheader. It is hidden in the mail, but mail programs show it in lists as the first words."""

MAX_DEPTH = 300
"""Maximum nesting of elements. The library that inlines styles crashes the process at some thousands."""

IMPLICITLY_CLOSED_TAGS = VOID_TAGS | {"p", "li", "dd", "dt", "td", "th", "tr", "tbody", "thead", "tfoot", "option"}
"""Elements that nest only inside other elements, which are counted."""


class _DocumentScan(HtmlTokenizer):
    """Computes the maximum nesting of elements, and the position after the first <body>, or 0 without one."""

    def __init__(self) -> None:
        super().__init__()
        self.open_elements: Counter[str] = Counter()
        self.depth = self.max_depth = 0
        self.body_start = 0

    def on_tag(self) -> None:
        if self.tag_name == "body" and not self.is_end_tag and not self.body_start:
            self.body_start = self.position + 1
        if self.tag_name in IMPLICITLY_CLOSED_TAGS or (self.is_end_tag and not self.open_elements[self.tag_name]):
            return
        change = -1 if self.is_end_tag else 1
        self.open_elements[self.tag_name] += change
        self.depth += change
        self.max_depth = max(self.max_depth, self.depth)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The sources of a template. Without `text`, the text of a message is converted from its HTML."""

    html: str
    subject: str = ""
    preheader: str = ""
    text: str | None = None

    def parts(self) -> Iterator[tuple[TemplatePart, str]]:
        """Yield each existing part with its source."""
        yield TemplatePart.SUBJECT, self.subject
        yield TemplatePart.PREHEADER, self.preheader
        yield TemplatePart.HTML, self.html
        if self.text is not None:
            yield TemplatePart.TEXT, self.text


@dataclass(frozen=True, slots=True)
class RenderedTemplate:
    """A message to send. `html` has inlined styles and the hidden preheader."""

    subject: str
    preheader: str
    html: str
    text: str

    def marked_as_test(self) -> "RenderedTemplate":
        """Return the message with [TEST] in the subject."""
        return replace(self, subject=f"[TEST] {self.subject}")


@dataclass(frozen=True, slots=True)
class PartialRendering:
    """A message as far as it could be rendered, with findings. A part that failed is None."""

    subject: str | None
    preheader: str | None
    html: str | None
    text: str | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]

    @property
    def complete(self) -> RenderedTemplate:
        """The message. Use it only if there are no errors."""
        return RenderedTemplate(self.subject or "", self.preheader or "", self.html or "", self.text or "")


def render(
    source: TemplateSource,
    data: Mapping[str, Any],
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    scope: RenderScope = DEFAULT_SCOPE,
) -> RenderedTemplate:
    """Render a template with data.

    Raise TemplateSyntaxError, TemplateLimitExceeded, MissingVariables or UnsafeTemplateValues.
    """
    rendering = render_partially(source, data, limits, scope, strict=True)
    errors = rendering.errors
    if any(finding.code.startswith("variable-") for finding in errors):
        raise MissingVariables(errors)
    if errors:
        raise UnsafeTemplateValues(errors)
    return rendering.complete


def render_partially(
    source: TemplateSource,
    data: Mapping[str, Any],
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    scope: RenderScope = DEFAULT_SCOPE,
    *,
    strict: bool = False,
) -> PartialRendering:
    """Render as many parts as possible. With `strict`, raise TemplateSyntaxError and TemplateLimitExceeded."""
    parts: dict[TemplatePart, str | None] = {}
    findings: list[Finding] = []
    values = data if scope.contract is None else bind_values(scope.contract, data)
    for part, part_source in source.parts():
        try:
            writer = render_source(part_source, part, values, limits, scope.formats)
        except TemplateError as error:
            if strict:
                raise
            parts[part] = None
            findings += error.findings
            continue
        findings += writer.findings
        parts[part] = writer.getvalue()
    subject, preheader = _join_lines(parts[TemplatePart.SUBJECT]), _join_lines(parts[TemplatePart.PREHEADER])
    document = parts[TemplatePart.HTML]
    if subject is not None:
        findings += _header_findings(subject)
    text = (
        parts[TemplatePart.TEXT] if TemplatePart.TEXT in parts else None if document is None else html_to_text(document)
    )
    if document is not None:
        document, style_findings = _inline_styles(document, preheader or "", limits)
        findings += style_findings
    return PartialRendering(subject, preheader, document, text, tuple(findings))


def _join_lines(text: str | None) -> str | None:
    """Return a text on one line, with plain spaces, as it is sent. The source may have several lines."""
    return None if text is None else " ".join(text.split())


def _header_findings(subject: str) -> list[Finding]:
    try:
        check_header(subject)
    except UnsafeValue as error:
        return [Finding(Severity.ERROR, "value-refused", TemplatePart.SUBJECT, str(error))]
    return []


def _inline_styles(document: str, preheader: str, limits: RenderLimits) -> tuple[str | None, list[Finding]]:
    """Insert the preheader and inline the styles. Return None and findings if that fails."""
    scan = _DocumentScan()
    scan.feed(document)
    if scan.max_depth > MAX_DEPTH:
        message = f"more than {MAX_DEPTH} elements are nested"
        return None, [Finding(Severity.ERROR, "too-much", TemplatePart.HTML, message)]
    if preheader:
        hidden = f'<div style="{HIDDEN_STYLE}">{html.escape(preheader)}</div>'
        document = document[: scan.body_start] + hidden + document[scan.body_start :]
    separated = separate_styles(document)
    try:
        inlined = add_styles(
            CSS_INLINER.inline(separated.document), "\n".join(filter(None, (separated.imports, separated.kept)))
        )
    except css_inline.InlineError as error:
        return None, [
            Finding(Severity.ERROR, "css-broken", TemplatePart.HTML, f"the styles cannot be inlined: {error}")
        ]
    if len(inlined) > limits.max_characters:
        message = f"with inlined styles, the HTML has more than {limits.max_characters:,} characters"
        return None, [Finding(Severity.ERROR, "too-much", TemplatePart.HTML, message)]
    return inlined, []
