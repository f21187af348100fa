"""Parsing and rendering of template sources. Errors of the library become findings."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import liquid
from liquid import RenderContext
from liquid.exceptions import LiquidError, ResourceLimitError

from wattgate.delivery.templates.language.diagnostics import (
    Finding,
    Severity,
    TemplateLimitExceeded,
    TemplatePart,
    TemplateSyntaxError,
    line_and_column,
)
from wattgate.delivery.templates.language.formatting import Formats
from wattgate.delivery.templates.language.language import TEMPLATE_ENVIRONMENT, LimitedRenderContext
from wattgate.delivery.templates.language.marker_check import InvalidMarker, check_markers
from wattgate.delivery.templates.language.misspellings import closest_match, suggestion_hint
from wattgate.delivery.templates.language.output_writer import (
    DEFAULT_FORMATS,
    DEFAULT_RENDER_LIMITS,
    SURROGATE,
    OutputWriter,
    RenderLimitExceeded,
    RenderLimits,
)

MAX_SOURCE_LENGTH = 200_000
"""Maximum characters of a source. Mail programs cut mails that are longer than 100 KB."""

LIBRARY_ERRORS = (LiquidError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""Exceptions of the library for data that does not fit the template."""

UNNEEDED_FILTERS = frozenset(("escape", "escape_once", "h", "raw", "safe", "url_encode", "url_decode", "escapejs"))
"""Escaping filters of other engines. Here, every value is escaped, so they are unnecessary or harmful."""


@lru_cache(maxsize=128)
def parse_template(source: str, part: TemplatePart) -> liquid.BoundTemplate:
    """Parse a source. Raise TemplateSyntaxError, or TemplateLimitExceeded if the source is too long."""
    if len(source) > MAX_SOURCE_LENGTH:
        raise TemplateLimitExceeded(
            [_error_finding("too-much", part, f"the source is longer than {MAX_SOURCE_LENGTH:,} characters")]
        )
    if SURROGATE.search(source) or "\0" in source:
        raise TemplateSyntaxError(
            [_error_finding("does-not-parse", part, "the source contains a NUL or half of a surrogate pair")]
        )
    try:
        check_markers(source)
        template = TEMPLATE_ENVIRONMENT.from_string(source)
    except InvalidMarker as error:
        position = line_and_column(source, error.index)
        raise TemplateSyntaxError([_error_finding("does-not-parse", part, str(error), *position)]) from None
    except LIBRARY_ERRORS as error:
        if isinstance(error.__cause__, MemoryError):  # the library reports every error as one of parsing
            raise error.__cause__ from None
        raise TemplateSyntaxError([_finding_from_error(error, "does-not-parse", source, part)]) from None
    for name, token in used_filters(template):
        if name not in TEMPLATE_ENVIRONMENT.filters:
            line, column = line_and_column(source, token.start_index)
            hint = _filter_hint(name)
            raise TemplateSyntaxError(
                [_error_finding("does-not-parse", part, f"unknown filter {name}", line, column, hint)]
            )
    return template


def render_source(
    source: str,
    part: TemplatePart,
    data: Mapping[str, object],
    limits: RenderLimits = DEFAULT_RENDER_LIMITS,
    formats: Formats = DEFAULT_FORMATS,
) -> OutputWriter:
    """Render a source. Return the writer, which has the text and the findings.

    Raise TemplateSyntaxError or TemplateLimitExceeded.
    """
    template, writer = parse_template(source, part), OutputWriter(part, source, limits, formats)
    try:
        template.render_with_context(LimitedRenderContext(template, writer, data), writer)
    except (RenderLimitExceeded, ResourceLimitError) as error:
        message = str(error) if isinstance(error, RenderLimitExceeded) else str(error.message)
        raise TemplateLimitExceeded([_error_finding("too-much", part, message)]) from None
    except LIBRARY_ERRORS as error:
        writer.findings.append(_finding_from_error(error, "value-refused", source, part))
    return writer


def used_filters(template: liquid.BoundTemplate) -> Iterable[tuple[str, Any]]:
    """Yield each filter in a template, with its token."""
    context = RenderContext(template)
    nodes = list(template.nodes)
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children(context))
        for expression in node.expressions():
            for used_filter in getattr(expression, "filters", None) or ():
                yield used_filter.name, used_filter.token


def _filter_hint(name: str) -> str | None:
    if name in UNNEEDED_FILTERS:
        return "every value is escaped for its position; remove the filter"
    similar = closest_match(name, TEMPLATE_ENVIRONMENT.filters)
    return suggestion_hint(similar) if similar else None


def _finding_from_error(error: Exception, code: str, source: str, part: TemplatePart) -> Finding:
    """Return the finding for an error of the library, with its position if known."""
    if isinstance(error, LiquidError) and error.token is not None:
        line, column = line_and_column(source, error.token.start_index)
        return _error_finding(code, part, str(error.message), line, column)
    message = str(error.message) if isinstance(error, LiquidError) else str(error)
    return _error_finding(code, part, message or "the template is nested too deeply")


def _error_finding(code: str, part: TemplatePart, message: str, *position: Any) -> Finding:
    return Finding(Severity.ERROR, code, part, message, *position)
