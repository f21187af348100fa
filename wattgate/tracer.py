"""What is traced, as those see it who do it: what somebody asked for, and its steps.

Who is told: `app/observability/tracing.py`."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, Protocol

Attributes = Mapping[str, str]

NONE: Attributes = MappingProxyType({})


class Spans(Protocol):
    """A span begins and ends with the context. Names and attributes are of our making: no id, nothing of a person."""

    def served(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        """Something that a caller asks for, in the trace of TRACE_ID."""

    def step(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        """A part of what is being served; outside of that nothing is told."""

    def statement(self, system: str, sql: str) -> AbstractContextManager[Any]:
        """A statement that a database executes, as a part of what is being served."""


class NoSpans:
    """Nobody is told."""

    def served(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        return _NOTHING

    def step(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        return _NOTHING

    def statement(self, system: str, sql: str) -> AbstractContextManager[Any]:
        return _NOTHING


_NOTHING: AbstractContextManager[Any] = nullcontext()
NO_SPANS = NoSpans()
