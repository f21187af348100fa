"""Whether a tracing system is told how long things take. Who tells it is loaded only then (`telemetry.py`)."""

import logging
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from sqlalchemy import Engine
from starlette.middleware import Middleware

from wattgate.app.settings import traces_are_wanted
from wattgate.tracer import NoSpans, Spans

log = logging.getLogger(__name__)


class Tracing(Spans, Protocol):
    """Spans, and where those come from that nobody writes down: requests and statements."""

    @property
    def middleware(self) -> Sequence[Middleware]:
        """What requests pass so that they have spans."""

    def watch(self, engine: Engine) -> None:
        """Make steps of a database's statements."""

    async def close(self) -> None:
        """Send what is not sent yet, so far as that is quick."""


class NoTracing(NoSpans):
    """Nobody is told."""

    middleware: Sequence[Middleware] = ()

    def watch(self, engine: Engine) -> None:
        return

    async def close(self) -> None:
        return


def tracing() -> Tracing:
    """OpenTelemetry where its own variables name a collector and it is installed."""
    if not traces_are_wanted():
        return NoTracing()
    if not _installed():
        log.warning("no traces are sent, because what sends them is not installed: pip install wattgate[otel]")
        return NoTracing()
    made: Tracing = import_module("wattgate.app.observability.telemetry").Telemetry()
    return made


def _installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
