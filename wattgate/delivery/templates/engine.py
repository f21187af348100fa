"""Sources are parsed and rendered here, and what the library says is told as findings."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import liquid
from liquid import RenderContext
from liquid.exceptions import LiquidError, ResourceLimitError

from wattgate.delivery.templates.diagnostics import DoesNotParse, Finding, Part, Severity, TooMuch, place_of
from wattgate.delivery.templates.language import LANGUAGE, Context
from wattgate.delivery.templates.markers import BadMarker, check_markers
from wattgate.delivery.templates.output_writer import LIMITS, SURROGATE, Beyond, Limits, Sink, nearest

MAX_SOURCE = 200_000
"""Characters of a source. A mail that is longer than 100 KB is cut by mail programs."""

FAULTS = (LiquidError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What the library raises for templates and data that do not go together."""

UNNEEDED = frozenset(("escape", "escape_once", "h", "raw", "safe", "url_encode", "url_decode", "escapejs"))
"""Filters of other engines whose work is done for every value, or that would undo it."""


@lru_cache(maxsize=128)
def parse(source: str, part: Part) -> liquid.BoundTemplate:
    """A source as a template. DoesNotParse says where and why it is none."""
    if len(source) > MAX_SOURCE:
        raise TooMuch([_fault("too-much", part, f"it is longer than {MAX_SOURCE:,} characters")])
    if SURROGATE.search(source) or "\0" in source:
        raise DoesNotParse([_fault("does-not-parse", part, "it holds what is no character")])
    try:
        check_markers(source)
        template = LANGUAGE.from_string(source)
    except BadMarker as error:
        place = place_of(source, error.index)
        raise DoesNotParse([_fault("does-not-parse", part, str(error), *place)]) from None
    except FAULTS as error:
        raise DoesNotParse([_fault_of(error, "does-not-parse", source, part)]) from None
    for name, token in used_filters(template):
        if name not in LANGUAGE.filters:
            line, column = place_of(source, token.start_index)
            hint = _instead_of(name)
            raise DoesNotParse([_fault("does-not-parse", part, f"there is no filter {name}", line, column, hint)])
    return template


def run(source: str, part: Part, data: Mapping[str, object], limits: Limits = LIMITS) -> Sink:
    """Render a source; the sink has the text and what was wrong with it. DoesNotParse, TooMuch."""
    template, sink = parse(source, part), Sink(part, source, limits)
    try:
        template.render_with_context(Context(template, sink, data), sink)
    except (Beyond, ResourceLimitError) as error:
        message = str(error) if isinstance(error, Beyond) else str(error.message)
        raise TooMuch([_fault("too-much", part, message)]) from None
    except FAULTS as error:
        sink.findings.append(_fault_of(error, "value-refused", source, part))
    return sink


def used_filters(template: liquid.BoundTemplate) -> Iterable[tuple[str, Any]]:
    """Every filter that a template names, and where."""
    context = RenderContext(template)
    nodes = list(template.nodes)
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children(context))
        for expression in node.expressions():
            for one in getattr(expression, "filters", None) or ():
                yield one.name, one.token


def _instead_of(name: str) -> str | None:
    if name in UNNEEDED:
        return "every value is escaped by where it stands; leave the filter out"
    near = nearest(name, LANGUAGE.filters)
    return f"did you mean {near}?" if near else None


def _fault_of(error: Exception, code: str, source: str, part: Part) -> Finding:
    """An error of the library as a finding with its place."""
    if isinstance(error, LiquidError) and error.token is not None:
        line, column = place_of(source, error.token.start_index)
        return _fault(code, part, str(error.message), line, column)
    said = str(error.message) if isinstance(error, LiquidError) else str(error)
    return _fault(code, part, said or "it is nested too deeply")


def _fault(code: str, part: Part, message: str, *place: Any) -> Finding:
    return Finding(Severity.ERROR, code, part, message, *place)
