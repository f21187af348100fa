"""What is traced, as those see it who do it: what somebody asked for, and its steps.

Who is told: `app/observability/tracing.py`."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, Protocol

SpanAttributes = Mapping[str, str]

NO_ATTRIBUTES: SpanAttributes = MappingProxyType({})


class Tracer(Protocol):
    """A span begins and ends with the context. Names and attributes are of our making: no id, nothing of a person."""

    def request_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        """Something that a caller asks for, in the trace of TRACE_ID."""

    def step_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        """A part of what is being served; outside of that nothing is told."""

    def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
        """A statement that a database executes, as a part of what is being served."""


class NoopTracer:
    """Nobody is told."""

    def request_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        return _NULL_CONTEXT

    def step_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        return _NULL_CONTEXT

    def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
        return _NULL_CONTEXT


_NULL_CONTEXT: AbstractContextManager[Any] = nullcontext()
NOOP_TRACER = NoopTracer()
