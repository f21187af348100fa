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

from wattgate.app.observability.http_metrics import METHODS, OTHER, route_of
from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError
from wattgate.tracer import NONE, Attributes

LAST_SECONDS = 1.0
"""How long the end waits for the collector to take the last spans."""

UNTRACED = {"/healthz", "/readyz", "/metrics"}
"""Paths that are asked for every few seconds, by nobody who would look for it."""

LONGEST_STATEMENT = 2_000
"""Characters of a statement that are told. Its values never are."""

SERVERS_FAULT = 500
"""The first HTTP status, and that of the first of our errors, which is not the caller's fault."""

_SPAN = "wattgate_span"
_PROPAGATOR = TraceContextTextMapPropagator()


class Ids(RandomIdGenerator):
    """A trace that begins here has the id that its request has."""

    def generate_trace_id(self) -> int:
        return int(TRACE_ID.get() or "0", 16) or super().generate_trace_id()


class Running(AbstractContextManager["Running"]):
    """A span that is the current one until the context ends, and ends with it unless it has ended before."""

    def __init__(self, span: Span) -> None:
        self.span = span

    def __enter__(self) -> "Running":
        self._token = context.attach(set_span_in_context(self.span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context.detach(self._token)
        if isinstance(error, Exception):
            failed(self.span, error)
        self.end()

    def end(self) -> None:
        if self.span.is_recording():
            self.span.end()


class Telemetry:
    """What `app.tracing.Tracing` says, by OpenTelemetry."""

    def __init__(self) -> None:
        self._provider = TracerProvider(resource=_resource(), id_generator=Ids(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("wattgate", version("wattgate"))

    @property
    def middleware(self) -> Sequence[Middleware]:
        return (Middleware(Traced, tracer=self._tracer),)

    def served(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        within = _in_this_trace(context.get_current())
        return Running(self._tracer.start_span(name, within, SpanKind.SERVER, attributes))

    def step(self, name: str, attributes: Attributes = NONE) -> AbstractContextManager[Any]:
        if not get_current_span().is_recording():
            return nullcontext()
        return Running(self._tracer.start_span(name, attributes=attributes))

    def statement(self, system: str, sql: str) -> AbstractContextManager[Any]:
        return Running(self._sent(system, sql)) if get_current_span().is_recording() else nullcontext()

    def watch(self, engine: Engine) -> None:
        event.listen(engine, "before_cursor_execute", self._statement)
        event.listen(engine, "after_cursor_execute", _executed)
        event.listen(engine, "handle_error", _refused)

    def _statement(self, connection: Any, cursor: Any, statement: str, values: Any, execution: Any, many: bool) -> None:
        if get_current_span().is_recording():
            execution.__dict__[_SPAN] = self._sent(connection.dialect.name, statement)

    def _sent(self, system: str, sql: str) -> Span:
        """The span of a statement that is sent."""
        word = sql.split(None, 1)[0].upper()
        attributes = {
            db_attributes.DB_SYSTEM_NAME: system,
            db_attributes.DB_OPERATION_NAME: word,
            db_attributes.DB_QUERY_TEXT: sql[:LONGEST_STATEMENT],
        }
        return self._tracer.start_span(word, kind=SpanKind.CLIENT, attributes=attributes)

    async def close(self) -> None:
        ending = Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, LAST_SECONDS)


class Traced:
    """Gives each request a span: an event stream until it begins, a socket until it is accepted."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in UNTRACED:
            await self._app(scope, receive, send)
            return
        method = scope.get("method", "GET")
        method = method if method in METHODS else OTHER
        caller = _PROPAGATOR.extract(dict(Headers(scope=scope)), Context())
        span = self._tracer.start_span(
            method, _in_this_trace(caller), SpanKind.SERVER, {http_attributes.HTTP_REQUEST_METHOD: method}
        )
        running, answered = Running(span), False

        async def watched(message: Message) -> None:
            nonlocal answered
            if not answered:
                answered = True
                if answer(span, f"{method} {route_of(scope)}", route_of(scope), message):
                    running.end()
            await send(message)

        with running:
            await self._app(scope, receive, watched)


def answer(span: Span, name: str, route: str, message: Message) -> bool:
    """Tell how a request is answered, by the first message of the answer. Whether that is all of it."""
    statuses = {"websocket.accept": 101, "websocket.close": 403}
    status = message.get("status") or statuses.get(message["type"], SERVERS_FAULT)
    span.update_name(name)
    span.set_attributes({http_attributes.HTTP_ROUTE: route, http_attributes.HTTP_RESPONSE_STATUS_CODE: status})
    if status >= SERVERS_FAULT:
        span.set_attribute(error_attributes.ERROR_TYPE, str(status))
        span.set_status(StatusCode.ERROR)
    streams = Headers(raw=message.get("headers", [])).get("content-type", "").startswith("text/event-stream")
    return streams or message["type"] in statuses


def failed(span: Span, error: Exception) -> None:
    """Tell by which kind of error a span ends. Its words are not told: they may be about a person."""
    kind, fault = type(error).__qualname__, True
    if isinstance(error, GatewayError):
        kind, fault = error.code, error.status >= SERVERS_FAULT
    span.set_attribute(error_attributes.ERROR_TYPE, kind)
    if fault:
        span.set_status(StatusCode.ERROR)


def _executed(connection: Any, cursor: Any, statement: str, values: Any, execution: Any, many: bool) -> None:
    span = execution.__dict__.pop(_SPAN, None)
    if span is not None:
        span.end()


def _refused(told: Any) -> None:
    span = getattr(told.execution_context, "__dict__", {}).pop(_SPAN, None)
    if span is not None:
        failed(span, told.original_exception)
        span.end()


def _in_this_trace(within: Context) -> Context:
    """A context for a span of this trace: the one at hand, unless its span belongs to another or to none."""
    here = get_current_span(within).get_span_context()
    return within if format_trace_id(here.trace_id) == TRACE_ID.get() else Context()


def _resource() -> Resource:
    """Who tells it, as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, or else by our name and version."""
    told = Resource.create()
    ours = Resource({SERVICE_VERSION: version("wattgate")}).merge(told)
    nameless = str(told.attributes[SERVICE_NAME]).startswith("unknown_service")
    return ours.merge(Resource({SERVICE_NAME: "wattgate"})) if nameless else ours
