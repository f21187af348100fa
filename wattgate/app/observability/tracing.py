"""The selection of the tracing backend. `telemetry.py` is imported only if tracing is configured."""

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from sqlalchemy import Engine
from starlette.middleware import Middleware

from wattgate.app.setting_sources import is_tracing_configured
from wattgate.tracer import NoopTracer, Tracer

log = logging.getLogger(__name__)

OTEL_REQUIREMENTS = ("opentelemetry-exporter-otlp-proto-http>=1.45", "opentelemetry-sdk>=1.45")
"""The packages of the extra `otel`."""


class TracingBackend(Tracer, Protocol):
    """A tracer that also creates spans for HTTP requests and database statements."""

    @property
    def middleware(self) -> Sequence[Middleware]:
        """Middleware that creates the spans of requests."""

    def instrument_engine(self, engine: Engine) -> None:
        """Create a span for each statement of a database engine."""

    async def close(self) -> None:
        """Export the remaining spans, within a short time limit."""


class NoopTracingBackend(NoopTracer):
    """A backend without spans."""

    middleware: Sequence[Middleware] = ()

    def instrument_engine(self, engine: Engine) -> None:
        return

    async def close(self) -> None:
        return


NO_TRACING = NoopTracingBackend()


def create_tracing_backend() -> TracingBackend:
    """Return the OpenTelemetry backend if the OTEL_* variables name a collector and the extra `otel` is installed."""
    if not is_tracing_configured():
        return NO_TRACING
    if not _is_exporter_installed():
        log.warning(
            "Traces are not exported: OpenTelemetry is not installed. Run: %s -m pip install %s",
            sys.executable,
            " ".join(f"'{requirement}'" for requirement in OTEL_REQUIREMENTS),
        )
        return NO_TRACING
    backend: TracingBackend = import_module("wattgate.app.observability.telemetry").OpenTelemetryBackend()
    return backend


def _is_exporter_installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
