"""Spans for OpenTelemetry, sent by OTLP over HTTP, as the variables of OpenTelemetry's own specification say.

A request has a span, and an operation on a connection; their steps are the operations of the catalogue, edges and
statements. All have the trace id that the caller is told and the log has. What nobody asked for has no spans.
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
"""How long the end waits for the collector to take the last spans."""

UNTRACED_PATHS = {"/healthz", "/readyz", "/metrics"}
"""Paths that are asked for every few seconds, by nobody who would look for it."""

MAX_STATEMENT_LENGTH = 2_000
"""Characters of a statement that are told. Its values never are."""

FIRST_SERVER_ERROR_STATUS = 500
"""The first HTTP status, and that of the first of our errors, which is not the caller's fault."""

_SPAN_ATTRIBUTE = "wattgate_span"
_PROPAGATOR = TraceContextTextMapPropagator()


class TraceIdGenerator(RandomIdGenerator):
    """A trace that begins here has the id that its request has."""

    def generate_trace_id(self) -> int:
        return int(TRACE_ID.get() or "0", 16) or super().generate_trace_id()


class CurrentSpan(AbstractContextManager["CurrentSpan"]):
    """A span that is the current one until the context ends, and ends with it unless it has ended before."""

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
    """What `app.tracing.Tracing` says, by OpenTelemetry."""

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
            execution.__dict__[_SPAN_ATTRIBUTE] = self._start_statement_span(connection.dialect.name, statement)

    def _start_statement_span(self, system: str, sql: str) -> Span:
        """The span of a statement that is sent."""
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
    """Gives each request a span: an event stream until it begins, a socket until it is accepted."""

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
    """Tell how a request is answered, by the first message of the answer. Whether that is all of it."""
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
    """Tell by which kind of error a span ends. Its words are not told: they may be about a person."""
    error_type, is_server_error = type(error).__qualname__, True
    if isinstance(error, GatewayError):
        error_type, is_server_error = error.code, error.status >= FIRST_SERVER_ERROR_STATUS
    span.set_attribute(error_attributes.ERROR_TYPE, error_type)
    if is_server_error:
        span.set_status(StatusCode.ERROR)


def _after_statement(connection: Any, cursor: Any, statement: str, values: Any, execution: Any, many: bool) -> None:
    span = execution.__dict__.pop(_SPAN_ATTRIBUTE, None)
    if span is not None:
        span.end()


def _on_statement_error(exception_context: Any) -> None:
    span = getattr(exception_context.execution_context, "__dict__", {}).pop(_SPAN_ATTRIBUTE, None)
    if span is not None:
        record_error(span, exception_context.original_exception)
        span.end()


def _context_of_request(parent: Context) -> Context:
    """A context for a span of this trace: the one at hand, unless its span belongs to another or to none."""
    span_context = get_current_span(parent).get_span_context()
    return parent if format_trace_id(span_context.trace_id) == TRACE_ID.get() else Context()


def _build_resource() -> Resource:
    """Who tells it, as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, or else by our name and version."""
    detected = Resource.create()
    resource = Resource({SERVICE_VERSION: version("wattgate")}).merge(detected)
    is_unnamed = str(detected.attributes[SERVICE_NAME]).startswith("unknown_service")
    return resource.merge(Resource({SERVICE_NAME: "wattgate"})) if is_unnamed else resource
