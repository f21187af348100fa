"""Interface through which modules report spans of requests and of their steps.

`app/observability/tracing.py` implements it. `NOOP_TRACER` is the default.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, Protocol

SpanAttributes = Mapping[str, str]

NO_ATTRIBUTES: SpanAttributes = MappingProxyType({})


class Tracer(Protocol):
    """Creates spans. A span begins and ends with its context manager.

    Names and attributes come from the code. They never contain ids or personal data. While `is_enabled` is false, all
    spans are without effect, and callers may leave them out.
    """

    @property
    def is_enabled(self) -> bool:
        """Whether spans are recorded."""

    def request_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        """Open the span of a caller's request, in the trace of TRACE_ID."""

    def step_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        """Open the span of a step of the current request. Outside a request, no span is recorded."""

    def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
        """Open the span of a database statement of the current request."""


NO_SPAN: AbstractContextManager[Any] = nullcontext()
"""A span without effect."""


class NoopTracer:
    """A tracer that records nothing."""

    is_enabled = False

    def request_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        return NO_SPAN

    def step_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        return NO_SPAN

    def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
        return NO_SPAN


NOOP_TRACER = NoopTracer()
