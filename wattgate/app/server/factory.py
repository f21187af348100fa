"""The composition root: create all components of the gateway and connect them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import Lifespan

from wattgate.app.observability.http_metrics import HttpMetricsMiddleware, metrics_endpoint, serves_metrics_on_main_port
from wattgate.app.observability.tracing import TracingBackend, create_tracing_backend
from wattgate.app.server.auth import Authenticator
from wattgate.app.server.cluster_state import create_budget_limits, create_cluster_state
from wattgate.app.server.drain import Readiness
from wattgate.app.server.mail_outbox import outbox_routes
from wattgate.app.server.middleware import BodyLimitMiddleware, PathNormalizationMiddleware, TraceIdMiddleware
from wattgate.app.server.pages import page_routes
from wattgate.app.server.unsubscribe_page import unsubscribe_route
from wattgate.app.settings import Settings
from wattgate.app.workers.alert_rules import AlertRuleWorker
from wattgate.app.workers.catch_ups import run_catch_ups
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import (
    create_delivery_handlers,
    create_links,
    create_vapid,
    is_mail_outbox_enabled,
)
from wattgate.app.workers.maintenance import run_maintenance
from wattgate.clock import Clock, utc_now
from wattgate.db.engine import Database
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.meter_network import MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.migrate import is_current
from wattgate.delivery.mail_addresses import AllowList
from wattgate.delivery.outbound_policy import OutboundPolicy
from wattgate.errors import Internal, Unavailable
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.execution.persisted_documents import PersistedDocuments
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import Schema, build_schema
from wattgate.graphql.execution.trusted_documents import TrustedDocumentStore
from wattgate.graphql.transport.http import GraphQLEndpoint
from wattgate.graphql.transport.sse import EventStreamEndpoint
from wattgate.graphql.transport.subscriptions import SubscriptionService
from wattgate.graphql.transport.websocket import WebSocketEndpoint
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_registry import ConnectionRegistry
from wattgate.realtime.connections.event_stream_registry import EventStreamRegistry
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.hub import Hub
from wattgate.realtime.rate_limit.budgets import Budgets
from wattgate.rest_compat.bulk_intake import BODY_READERS
from wattgate.rest_compat.error_responses import error_response, http_error_response
from wattgate.rest_compat.openapi import build_openapi_document
from wattgate.rest_compat.routes import OPERATION_HEADER, build_routes
from wattgate.tracer import NOOP_TRACER, Tracer

log = logging.getLogger(__name__)

BackgroundTask = Callable[[Runner], Awaitable[None]]
"""Background work that runs until the gateway shuts down."""

CORS_HEADERS = (
    "Authorization",
    "Content-Type",
    "token",
    "applicationId",
    "userId",
    "X-Requested-With",
    "x-glow-version",
    "X-GraphQL-Event-Stream-Token",
    "Last-Event-ID",
    "traceparent",
    "tracestate",
)

READINGS_PATH = "/readings"
"""Path of the bulk intake under the base path. Its request bodies are streamed and have no size limit."""

NOTIFICATION_BASE_PATH = "/ns"
NOTIFICATION_PATHS = ("/alert", "/template", "/notification")
"""Published clients use these paths under an additional base path."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """The components that several interfaces of a gateway share."""

    database: Database
    bus: Bus
    hub: Hub
    runner: Runner
    schema: Schema
    pipeline: GraphQLPipeline
    authenticator: Authenticator
    subscription_service: SubscriptionService
    realtime: RealtimeRuntime
    budgets: Budgets
    trusted_documents: TrustedDocumentStore
    readiness: Readiness = field(default_factory=Readiness)

    @property
    def connections(self) -> ConnectionRegistry:
        """The open WebSocket connections and event streams."""
        return self.realtime.connections


def build_gateway(
    settings: Settings,
    *,
    network: MeterNetworkFactory = RegistryMeterNetwork,
    clock: Clock = utc_now,
    limits: ConnectionLimits | None = None,
    tracer: Tracer = NOOP_TRACER,
) -> Gateway:
    """Create the components for the settings, without opening a connection.

    `limits` replaces the connection limits of the settings.
    """
    database = Database(settings.database_url, pool_size=settings.database_pool_size, tracer=tracer)
    bus, state = create_cluster_state(settings, clock)
    budgets = Budgets(create_budget_limits(settings), state.rate_buckets)
    runner = Runner(
        database, bus, network=network, clock=clock, tracer=tracer, outbound_policy=_outbound_policy(settings)
    )
    schema = build_schema(OPERATIONS, hides_introspection=settings.environment == "production")
    documents = TrustedDocumentStore(runner)
    pipeline = GraphQLPipeline(
        schema,
        runner,
        persisted_documents=PersistedDocuments(documents, state.apq_store),
        budgets=budgets,
        time_limit_seconds=settings.operation_seconds,
        clock=clock,
    )
    identity = CredentialLookup(database)
    authenticator = Authenticator(identity, clock)
    hub = Hub(bus)
    service = SubscriptionService(
        pipeline, schema, runner, OPERATIONS, authenticator.authenticate, identity.find_revoked, clock
    )
    return Gateway(
        database=database,
        bus=bus,
        hub=hub,
        runner=runner,
        schema=schema,
        pipeline=pipeline,
        authenticator=authenticator,
        subscription_service=service,
        realtime=RealtimeRuntime(hub, bus, state.connection_slots, service, limits or _connection_limits(settings)),
        budgets=budgets,
        trusted_documents=documents,
    )


def _outbound_policy(settings: Settings) -> OutboundPolicy:
    vapid = create_vapid(settings)
    return OutboundPolicy(
        settings.egress_policy, vapid.public_key if vapid else None, AllowList.from_texts(settings.test_addresses)
    )


def _connection_limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        max_account_connections=settings.max_account_connections,
        max_application_connections=settings.max_application_connections,
    )


def create_app(
    settings: Settings,
    *,
    background: Sequence[BackgroundTask] = (),
    network: MeterNetworkFactory = RegistryMeterNetwork,
    clock: Clock = utc_now,
    limits: ConnectionLimits | None = None,
) -> Starlette:
    """Create the gateway as an ASGI application."""
    tracing = create_tracing_backend()
    gateway = build_gateway(settings, network=network, clock=clock, limits=limits, tracer=tracing)
    tracing.instrument_engine(gateway.database.autocommit_engine.sync_engine)
    authenticate = gateway.authenticator.authenticate
    http = GraphQLEndpoint(gateway.pipeline, authenticate, ide=settings.environment == "development")
    streams = EventStreamRegistry(gateway.realtime, gateway.hub, gateway.bus)
    graphql = EventStreamEndpoint(gateway.realtime, streams, gateway.subscription_service, authenticate, http)
    rest_routes = _rest_routes(gateway, clock)
    reference = build_openapi_document(OPERATIONS, gateway.schema, settings.base_path)

    async def serve_reference(request: Request) -> Response:
        return JSONResponse(reference)

    async def serve_readiness(request: Request) -> Response:
        return await _check_readiness(gateway)

    application = Starlette(
        routes=[
            Route("/healthz", _check_health),
            Route("/readyz", serve_readiness),
            *([Route("/metrics", metrics_endpoint)] if serves_metrics_on_main_port(settings) else []),
            Route("/graphql", graphql, methods=["GET", "POST", "PUT", "DELETE"]),
            WebSocketRoute("/graphql", WebSocketEndpoint(gateway.realtime, settings.allowed_origins)),
            *page_routes(settings.base_path),
            *_mail_routes(settings, gateway.runner),
            Route(f"{settings.base_path}/openapi.json", serve_reference),
            Mount(
                f"{settings.base_path}{NOTIFICATION_BASE_PATH}",
                routes=[route for route in rest_routes if _is_notification_route(route)],
            ),
            Mount(settings.base_path, routes=rest_routes),
        ],
        middleware=_middleware(settings, tracing),
        exception_handlers={HTTPException: http_error_response, Exception: unexpected_error_response},
        lifespan=_lifespan(
            gateway,
            tracing,
            [run_maintenance, *_mqtt_intakes(settings), *_background_workers(settings, gateway, clock), *background],
        ),
    )
    application.state.gateway = gateway
    return application


def _rest_routes(gateway: Gateway, clock: Clock) -> list[BaseRoute]:
    return build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        budgets=gateway.budgets,
        clock=clock,
    )


def _background_workers(settings: Settings, gateway: Gateway, clock: Clock) -> list[BackgroundTask]:
    """Return the workers that events of the bus wake: catch-ups, alert rules, and deliveries if enabled."""
    return [
        lambda runner: run_catch_ups(runner, gateway.hub),
        lambda runner: AlertRuleWorker(runner, gateway.hub).run(),
        *_delivery_workers(settings, gateway, clock),
    ]


def _lifespan(gateway: Gateway, tracing: TracingBackend, background: Sequence[BackgroundTask]) -> Lifespan[Starlette]:
    """Return a lifespan that runs the background work and closes all components at shutdown.

    The start fails if the database does not have the schema of this version.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not await is_current(gateway.database):
            raise RuntimeError("The database does not have the schema of this version: run `wattgate db upgrade`.")
        await _log_row_security(gateway)
        try:
            async with gateway.bus, gateway.realtime, _run_in_background(gateway.runner, background):
                yield
        finally:
            await gateway.database.close()
            await tracing.close()

    return lifespan


async def _log_row_security(gateway: Gateway) -> None:
    """Log whether PostgreSQL restricts statements to the rows of their scope. SQLite has no such policies."""
    if await gateway.database.lacks_row_security():
        log.warning("Row-level security is not active; run `wattgate db upgrade`, which says what is missing")
    elif not gateway.database.is_sqlite:
        log.info("Row-level security is active")


@asynccontextmanager
async def _run_in_background(runner: Runner, background: Sequence[BackgroundTask]) -> AsyncIterator[None]:
    """Run the background work until the context exits, then cancel it."""
    tasks = [asyncio.ensure_future(work(runner)) for work in background]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _mqtt_intakes(settings: Settings) -> list[BackgroundTask]:
    """Return the MQTT intake if a broker is configured. Import it only then, because it needs the extra `mqtt`."""
    if settings.mqtt_url is None:
        return []
    return [import_module("wattgate.app.workers.mqtt_intake").create_intake(settings).run]


def _delivery_workers(settings: Settings, gateway: Gateway, clock: Clock) -> list[BackgroundTask]:
    """Return the delivery worker, unless WATTGATE_DELIVER is false."""
    if not settings.deliver:
        return []

    async def deliver(runner: Runner) -> None:
        handlers = create_delivery_handlers(settings, runner, clock)
        worker = DeliveryWorker(runner, gateway.hub, handlers, clock=clock, lease=settings.delivery_lease)
        await worker.run()

    return [deliver]


def _mail_routes(settings: Settings, runner: Runner) -> list[BaseRoute]:
    """Return the routes of the links in mails, and of the development outbox."""
    links = create_links(settings)
    return [
        *([unsubscribe_route(runner, links)] if links else []),
        *(outbox_routes(runner) if is_mail_outbox_enabled(settings) else []),
    ]


def _is_notification_route(route: BaseRoute) -> bool:
    return isinstance(route, Route) and route.path.startswith(NOTIFICATION_PATHS)


def _middleware(settings: Settings, tracing: TracingBackend) -> list[Middleware]:
    """Return the middleware of all requests, outermost first."""
    return [
        Middleware(TraceIdMiddleware),
        Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=CORS_HEADERS,
            expose_headers=["X-Trace-Id", OPERATION_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After"],
            max_age=600,
        ),
        Middleware(PathNormalizationMiddleware),
        *tracing.middleware,
        Middleware(HttpMetricsMiddleware),
        Middleware(
            BodyLimitMiddleware,
            limit=settings.max_body_bytes,
            streamed={f"{settings.base_path}{READINGS_PATH}": frozenset(BODY_READERS)},
        ),
    ]


async def _check_health(request: Request) -> Response:
    return JSONResponse({"status": "OK"})


async def _check_readiness(gateway: Gateway) -> Response:
    """Return 200 while the database responds and the gateway is not draining, else 503.

    If Redis does not respond, the gateway is still ready: queries are correct and only live events are missing.
    """
    if gateway.readiness.draining:
        return JSONResponse({"status": "draining"}, 503)
    try:
        async with gateway.database.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError) as error:
        log.warning("Not ready: the database does not respond: %s", error)
        return JSONResponse({"status": "unavailable", "database": "does not answer"}, 503)
    try:
        await gateway.bus.check()
    except Unavailable as error:
        log.warning("Ready, but without live events: %s", error.message)
        return JSONResponse({"status": "OK", "live": "unavailable"})
    return JSONResponse({"status": "OK"})


async def unexpected_error_response(request: Request, error: Exception) -> Response:
    """Return a masked error with the trace ID, under which the log contains the exception."""
    return error_response(Internal("An error has occurred"))
