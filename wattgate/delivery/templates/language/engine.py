"""Parsing and rendering of template sources. Errors of the library become findings."""

import re
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
    closest_match,
    line_and_column,
    suggestion_hint,
)
from wattgate.delivery.templates.language.formatting import Formats
from wattgate.delivery.templates.language.language import TEMPLATE_ENVIRONMENT, LimitedRenderContext
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


# Check of a source's markers before the library parses it. Malformed ones would make its regular expressions slow.

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
