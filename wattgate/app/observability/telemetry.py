"""OpenTelemetry tracing over OTLP/HTTP, configured by the OTEL_* variables of the OpenTelemetry specification.

Each request has a span, and so has each operation on a WebSocket connection. Their child spans are operations of the
catalogue, edges and database statements. All have the trace ID of the response and the log. Background work has no
spans.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from threading import Thread
from types import TracebackType
from typing import Any

from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.semconv.attributes import db_attributes, error_attributes, http_attributes
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    format_trace_id,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sqlalchemy import Engine, event
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wattgate.app.observability.http_metrics import KNOWN_METHODS, OTHER_LABEL, route_template
from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError
from wattgate.tracer import NO_ATTRIBUTES, SpanAttributes

FLUSH_SECONDS = 1.0
"""Maximum seconds that the shutdown waits for the export of the last spans."""

UNTRACED_PATHS = {"/healthz", "/readyz", "/metrics"}
"""Paths without spans: monitoring systems request them every few seconds."""

MAX_STATEMENT_LENGTH = 2_000
"""Maximum characters of a statement in a span. A span never contains the values of the statement."""

FIRST_SERVER_ERROR_STATUS = 500
"""HTTP statuses from here on are errors of the server. Errors of the caller do not mark a span as failed."""

_SPAN_KEY = "wattgate_span"
_PROPAGATOR = TraceContextTextMapPropagator()


class TraceIdGenerator(RandomIdGenerator):
    """Generator that uses the trace ID of the current request for a new trace."""

    def generate_trace_id(self) -> int:
        return int(TRACE_ID.get() or "0", 16) or super().generate_trace_id()


class CurrentSpan(AbstractContextManager["CurrentSpan"]):
    """A context in which a span is the current one. The span ends with the context, or earlier by `end`."""

    def __init__(self, span: Span) -> None:
        self.span = span

    def __enter__(self) -> "CurrentSpan":
        self._token = context.attach(set_span_in_context(self.span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context.detach(self._token)
        if isinstance(error, Exception):
            record_error(self.span, error)
        self.end()

    def end(self) -> None:
        if self.span.is_recording():
            self.span.end()


class OpenTelemetryBackend:
    """The implementation of `TracingBackend` with OpenTelemetry."""

    is_enabled = True

    def __init__(self) -> None:
        self._provider = TracerProvider(
            resource=_build_resource(), id_generator=TraceIdGenerator(), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("wattgate", version("wattgate"))

    @property
    def middleware(self) -> Sequence[Middleware]:
        return (Middleware(TracingMiddleware, tracer=self._tracer),)

    def request_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        parent = _context_of_request(context.get_current())
        return CurrentSpan(self._tracer.start_span(name, parent, SpanKind.SERVER, attributes))

    def step_span(self, name: str, attributes: SpanAttributes = NO_ATTRIBUTES) -> AbstractContextManager[Any]:
        if not get_current_span().is_recording():
            return nullcontext()
        return CurrentSpan(self._tracer.start_span(name, attributes=attributes))

    def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
        return (
            CurrentSpan(self._start_statement_span(system, sql)) if get_current_span().is_recording() else nullcontext()
        )

    def instrument_engine(self, engine: Engine) -> None:
        event.listen(engine, "before_cursor_execute", self._before_statement)
        event.listen(engine, "after_cursor_execute", _after_statement)
        event.listen(engine, "handle_error", _on_statement_error)

    def _before_statement(
        self, connection: Any, cursor: Any, statement: str, values: Any, execution: Any, many: bool
    ) -> None:
        if get_current_span().is_recording():
            connection.info[_SPAN_KEY] = self._start_statement_span(connection.dialect.name, statement)

    def _start_statement_span(self, system: str, sql: str) -> Span:
        """Start the span of a database statement."""
        command = sql.split(None, 1)[0].upper()
        attributes = {
            db_attributes.DB_SYSTEM_NAME: system,
            db_attributes.DB_OPERATION_NAME: command,
            db_attributes.DB_QUERY_TEXT: sql[:MAX_STATEMENT_LENGTH],
        }
        return self._tracer.start_span(command, kind=SpanKind.CLIENT, attributes=attributes)

    async def close(self) -> None:
        shutdown = Thread(target=self._provider.shutdown, daemon=True)
        shutdown.start()
        await asyncio.to_thread(shutdown.join, FLUSH_SECONDS)


class TracingMiddleware:
    """Middleware that gives each request a span.

    The span of an event stream ends when the stream starts, and that of a WebSocket when the connection is accepted.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in UNTRACED_PATHS:
            await self._app(scope, receive, send)
            return
        method = scope.get("method", "GET")
        method = method if method in KNOWN_METHODS else OTHER_LABEL
        caller_context = _PROPAGATOR.extract(dict(Headers(scope=scope)), Context())
        span = self._tracer.start_span(
            method, _context_of_request(caller_context), SpanKind.SERVER, {http_attributes.HTTP_REQUEST_METHOD: method}
        )
        current_span, has_response = CurrentSpan(span), False

        async def note_response(message: Message) -> None:
            nonlocal has_response
            if not has_response:
                has_response = True
                if record_response(span, f"{method} {route_template(scope)}", route_template(scope), message):
                    current_span.end()
            await send(message)

        with current_span:
            await self._app(scope, receive, note_response)


def record_response(span: Span, name: str, route: str, message: Message) -> bool:
    """Record the status and route of a response from its first message. Return whether the span ends there."""
    statuses = {"websocket.accept": 101, "websocket.close": 403}
    status = message.get("status") or statuses.get(message["type"], FIRST_SERVER_ERROR_STATUS)
    span.update_name(name)
    span.set_attributes({http_attributes.HTTP_ROUTE: route, http_attributes.HTTP_RESPONSE_STATUS_CODE: status})
    if status >= FIRST_SERVER_ERROR_STATUS:
        span.set_attribute(error_attributes.ERROR_TYPE, str(status))
        span.set_status(StatusCode.ERROR)
    is_stream = Headers(raw=message.get("headers", [])).get("content-type", "").startswith("text/event-stream")
    return is_stream or message["type"] in statuses


def record_error(span: Span, error: Exception) -> None:
    """Record the type of an error on a span, but not its message, which may contain personal data."""
    error_type, is_server_error = type(error).__qualname__, True
    if isinstance(error, GatewayError):
        error_type, is_server_error = error.code, error.status >= FIRST_SERVER_ERROR_STATUS
    span.set_attribute(error_attributes.ERROR_TYPE, error_type)
    if is_server_error:
        span.set_status(StatusCode.ERROR)


def _after_statement(connection: Any, cursor: Any, statement: str, values: Any, execution: Any, many: bool) -> None:
    span = connection.info.pop(_SPAN_KEY, None)
    if span is not None:
        span.end()


def _on_statement_error(exception_context: Any) -> None:
    connection = exception_context.connection
    span = None if connection is None else connection.info.pop(_SPAN_KEY, None)
    if span is not None:
        record_error(span, exception_context.original_exception)
        span.end()


def _context_of_request(parent: Context) -> Context:
    """Return `parent` if its span belongs to the current trace, else an empty context."""
    span_context = get_current_span(parent).get_span_context()
    return parent if format_trace_id(span_context.trace_id) == TRACE_ID.get() else Context()


def _build_resource() -> Resource:
    """Return the resource of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, by default our name and version."""
    detected = Resource.create()
    resource = Resource({SERVICE_VERSION: version("wattgate")}).merge(detected)
    is_unnamed = str(detected.attributes[SERVICE_NAME]).startswith("unknown_service")
    return resource.merge(Resource({SERVICE_NAME: "wattgate"})) if is_unnamed else resource
