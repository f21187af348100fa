"""The composition root: create all components of the gateway and connect them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Lifespan

from wattgate.access_log import AccessLog
from wattgate.app.observability.http_metrics import HttpMetricsMiddleware, metrics_endpoint, serves_metrics_on_main_port
from wattgate.app.observability.stalls import LoopWatchdog
from wattgate.app.observability.tracing import TracingBackend, create_tracing_backend
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.server.auth import Authenticator
from wattgate.app.server.background_workers import BackgroundTask, background_workers
from wattgate.app.server.client_middleware import ClientMiddleware
from wattgate.app.server.cluster_state import create_address_allowances, create_budget_limits, create_cluster_state
from wattgate.app.server.drain import Readiness
from wattgate.app.server.graphql_page import BrowserEndpoint, graphql_page
from wattgate.app.server.health import check_health, check_readiness, log_row_security
from wattgate.app.server.identity import create_identity, forget_changed_tokens
from wattgate.app.server.landing_page import Demonstration
from wattgate.app.server.login_application import log_unknown_default
from wattgate.app.server.mail_outbox import outbox_routes
from wattgate.app.server.middleware import BodyLimitMiddleware, PathNormalizationMiddleware, TraceIdMiddleware
from wattgate.app.server.page_routes import page_routes
from wattgate.app.server.security_headers import API, HSTS, HeaderPolicies, SecurityHeadersMiddleware
from wattgate.app.server.shared_preview_page import shared_preview_routes
from wattgate.app.server.unsubscribe_page import unsubscribe_route
from wattgate.app.settings import Settings
from wattgate.app.workers.access_log import store_last_accesses
from wattgate.app.workers.delivery_handlers import (
    create_links,
    create_vapid,
    is_mail_outbox_enabled,
)
from wattgate.clock import Clock, utc_now
from wattgate.db.encryption.rotation import verify_keys
from wattgate.db.engine import Database
from wattgate.db.meter_network import MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.migrate import is_current
from wattgate.db.quotas import QuotaChecker
from wattgate.delivery.mail_addresses import AllowList
from wattgate.delivery.outbound_policy import OutboundPolicy
from wattgate.errors import Internal
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
from wattgate.realtime.rate_limit.address_limits import AddressLimits
from wattgate.realtime.rate_limit.budgets import Budgets
from wattgate.rest_compat.bulk_intake import BODY_READERS
from wattgate.rest_compat.error_responses import error_response, http_error_handler
from wattgate.rest_compat.openapi.document import build_openapi_document
from wattgate.rest_compat.routes import OPERATION_HEADER, build_routes
from wattgate.tracer import NOOP_TRACER, Tracer

log = logging.getLogger(__name__)

ANY_HEADER = "*"
"""The header names that a browser may send: each. The gateway ignores unknown ones, and uses no cookies for callers.

A fixed list would stop all requests of a page whose monitoring adds a header of its own.
"""

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
    event_streams: EventStreamRegistry
    budgets: Budgets
    trusted_documents: TrustedDocumentStore
    access_log: AccessLog
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
    """Create the components without opening a connection. `limits` replaces the connection limits of the settings."""
    database = _create_database(settings, tracer)
    bus, state = create_cluster_state(settings, clock)
    budgets = Budgets(create_budget_limits(settings), state.rate_buckets)
    address_limits = AddressLimits(create_address_allowances(settings), state.rate_buckets)
    access_log = AccessLog()
    runner = _create_runner(settings, database, bus, network, clock, tracer, address_limits, access_log, budgets)
    schema = build_schema(OPERATIONS, hides_introspection=settings.environment == "production")
    documents = TrustedDocumentStore(runner)
    pipeline = GraphQLPipeline(
        schema,
        runner,
        persisted_documents=PersistedDocuments(documents, state.apq_store),
        budgets=budgets,
        time_limit_seconds=settings.operation_seconds,
        clock=clock,
        address_limits=address_limits,
    )
    identity = create_identity(settings, database, address_limits)
    authenticator = Authenticator(identity, clock)
    hub = Hub(bus)
    service = SubscriptionService(
        pipeline, schema, runner, OPERATIONS, authenticator.authenticate, identity.find_revoked, clock
    )
    realtime = RealtimeRuntime(hub, bus, state.connection_slots, service, limits or _connection_limits(settings))
    forget_changed_tokens(identity.remembered, database, realtime.connections)
    return Gateway(
        database=database,
        bus=bus,
        hub=hub,
        runner=runner,
        schema=schema,
        pipeline=pipeline,
        authenticator=authenticator,
        subscription_service=service,
        realtime=realtime,
        event_streams=EventStreamRegistry(realtime, hub, bus, state.stream_reservations),
        budgets=budgets,
        trusted_documents=documents,
        access_log=access_log,
    )


def _create_database(settings: Settings, tracer: Tracer) -> Database:
    key_ring = load_key_ring(settings)
    return Database(settings.database_url, pool_size=settings.database_pool_size, tracer=tracer, key_ring=key_ring)


def _create_runner(
    settings: Settings,
    database: Database,
    bus: Bus,
    network: MeterNetworkFactory,
    clock: Clock,
    tracer: Tracer,
    address_limits: AddressLimits,
    access_log: AccessLog,
    budgets: Budgets,
) -> Runner:
    return Runner(
        database,
        bus,
        network=network,
        clock=clock,
        tracer=tracer,
        outbound_policy=_outbound_policy(settings),
        quotas=QuotaChecker(settings.application_records),
        address_limits=address_limits,
        consent_required=settings.consent_required,
        access_log=access_log,
        budgets=budgets,
    )


def _outbound_policy(settings: Settings) -> OutboundPolicy:
    vapid = create_vapid(settings)
    return OutboundPolicy(
        settings.egress_policy,
        vapid.public_key if vapid else None,
        AllowList.from_texts(settings.test_addresses),
        settings.public_url,
        create_links(settings),
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
    demonstration: Demonstration | None = None,
) -> Starlette:
    """Create the gateway as an ASGI application.

    `demonstration` is what its pages say about its data. They show it in development only, because it has passwords.
    """
    if settings.environment != "development":
        demonstration = None
    tracing = create_tracing_backend()
    gateway = build_gateway(settings, network=network, clock=clock, limits=limits, tracer=tracing)
    tracing.instrument_engine(gateway.database.autocommit_engine.sync_engine)
    graphql = BrowserEndpoint(_graphql_endpoint(gateway), graphql_page(settings, gateway.runner, demonstration))
    rest_routes = _rest_routes(gateway, clock)
    workers = [*background_workers(settings, gateway.hub, clock, gateway.access_log), *background]

    async def serve_readiness(request: Request) -> Response:
        return await check_readiness(gateway.readiness, gateway.database, gateway.bus)

    application = Starlette(
        routes=[
            Route("/healthz", check_health),
            Route("/readyz", serve_readiness),
            *([Route("/metrics", metrics_endpoint)] if serves_metrics_on_main_port(settings) else []),
            Route("/graphql", graphql, methods=["GET", "POST", "PUT", "DELETE"]),
            WebSocketRoute("/graphql", WebSocketEndpoint(gateway.realtime, settings.allowed_origins)),
            *page_routes(settings, gateway.runner, demonstration),
            *_mail_routes(settings, gateway.runner),
            _openapi_route(settings, gateway),
            Mount(
                f"{settings.base_path}{NOTIFICATION_BASE_PATH}",
                routes=[route for route in rest_routes if _is_notification_route(route)],
            ),
            Mount(settings.base_path, routes=rest_routes),
        ],
        middleware=_middleware(settings, tracing),
        exception_handlers={
            HTTPException: http_error_handler(settings.base_path),
            Exception: unexpected_error_response,
        },
        lifespan=_lifespan(settings, gateway, tracing, workers),
    )
    application.state.gateway = gateway
    return application


def _openapi_route(settings: Settings, gateway: Gateway) -> Route:
    """Return the route of the OpenAPI document, which is built once."""
    document = build_openapi_document(OPERATIONS, gateway.schema, settings.base_path)

    async def serve(request: Request) -> Response:
        return JSONResponse(document)

    return Route(f"{settings.base_path}/openapi.json", serve)


def _graphql_endpoint(gateway: Gateway) -> ASGIApp:
    """Return the endpoint for event streams, which passes other requests to the endpoint for queries and mutations."""
    authenticate = gateway.authenticator.authenticate
    http = GraphQLEndpoint(gateway.pipeline, authenticate)
    return EventStreamEndpoint(
        gateway.realtime, gateway.event_streams, gateway.subscription_service, authenticate, gateway.budgets, http
    )


def _rest_routes(gateway: Gateway, clock: Clock) -> list[BaseRoute]:
    return build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        find_revoked=gateway.subscription_service.find_revoked,
        budgets=gateway.budgets,
        clock=clock,
    )


def _lifespan(
    settings: Settings, gateway: Gateway, tracing: TracingBackend, background: Sequence[BackgroundTask]
) -> Lifespan[Starlette]:
    """Return a lifespan that runs the background work and closes all components at shutdown.

    The start fails if the database does not have the schema of this version, or needs a key that is missing.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not await is_current(gateway.database):
            raise RuntimeError("The database does not have the schema of this version: run `wattgate db upgrade`.")
        await verify_keys(gateway.database)
        await log_row_security(gateway.database)
        await log_unknown_default(gateway.runner, settings.display_application_id)
        try:
            async with gateway.bus, gateway.realtime, _run_in_background(gateway.runner, background):
                with LoopWatchdog(logs_stacks=settings.environment == "development").running():
                    yield
        finally:
            await store_last_accesses(gateway.runner, gateway.access_log)
            await gateway.runner.templates.close()
            await gateway.database.close()
            await tracing.close()

    return lifespan


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


def _mail_routes(settings: Settings, runner: Runner) -> list[BaseRoute]:
    """Return the routes of signed links, and of the development outbox."""
    links = create_links(settings)
    return [
        *([unsubscribe_route(runner, links), *shared_preview_routes(runner, links)] if links else []),
        *(outbox_routes(runner) if is_mail_outbox_enabled(settings) else []),
    ]


def _is_notification_route(route: BaseRoute) -> bool:
    return isinstance(route, Route) and route.path.startswith(NOTIFICATION_PATHS)


def _middleware(settings: Settings, tracing: TracingBackend) -> list[Middleware]:
    """Return the middleware of all requests, outermost first."""
    return [
        Middleware(TraceIdMiddleware),
        Middleware(ClientMiddleware, trusted_proxies=settings.trusted_proxies),
        Middleware(PathNormalizationMiddleware),
        Middleware(
            SecurityHeadersMiddleware,
            policies=HeaderPolicies(settings.base_path),
            https_only=(settings.public_url or "").startswith("https:"),
        ),
        Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=[ANY_HEADER],
            expose_headers=["X-Trace-Id", OPERATION_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After"],
            max_age=600,
        ),
        *tracing.middleware,
        Middleware(HttpMetricsMiddleware),
        Middleware(
            BodyLimitMiddleware,
            limit=settings.max_body_bytes,
            streamed={f"{settings.base_path}{READINGS_PATH}": frozenset(BODY_READERS)},
        ),
    ]


async def unexpected_error_response(request: Request, error: Exception) -> Response:
    """Return a masked error with the trace ID, under which the log contains the exception.

    Starlette sends it outside the middleware, so it gets the security headers here.
    """
    response = error_response(Internal("An error has occurred"))
    response.raw_headers += [*API.headers, *([HSTS] if request.url.scheme == "https" else [])]
    return response
