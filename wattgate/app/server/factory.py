"""The composition root: create all components of the gateway and connect them."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router, WebSocketRoute
from starlette.types import Lifespan

from wattgate.access_log import AccessLog
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.observability.http_metrics import metrics_endpoint, serves_metrics_on_main_port
from wattgate.app.observability.stalls import LoopWatchdog
from wattgate.app.observability.tracing import NO_TRACING, TracingBackend, create_tracing_backend
from wattgate.app.server.background_workers import BackgroundTask, background_workers
from wattgate.app.server.components import Components, build_components
from wattgate.app.server.edge.direct_graphql import DirectGraphQL
from wattgate.app.server.edge.drain import Readiness
from wattgate.app.server.edge.socket_upgrade import SocketUpgrade
from wattgate.app.server.gate.application import build_application
from wattgate.app.server.gate.auth import Authenticator
from wattgate.app.server.gate.client_addresses import AddressLimited, limit_by_address
from wattgate.app.server.gate.gate import GateRules
from wattgate.app.server.gate.identity import create_identity, forget_changed_callers
from wattgate.app.server.health import check_health, check_readiness, log_row_security
from wattgate.app.server.pages.graphql_page import BrowserEndpoint, graphql_page
from wattgate.app.server.pages.landing_page import Demonstration
from wattgate.app.server.pages.login_application import log_unknown_default
from wattgate.app.server.pages.mail_outbox import outbox_routes
from wattgate.app.server.pages.page_routes import file_routes, page_routes
from wattgate.app.server.pages.pages import ConstantAnswer, constant_route
from wattgate.app.server.pages.shared_preview_page import shared_preview_routes, unsubscribe_route
from wattgate.app.server.schema import gateway_schema, schema_routes
from wattgate.app.settings import Settings
from wattgate.app.workers.access_log import store_last_accesses
from wattgate.app.workers.background import run_server_checks
from wattgate.app.workers.outbound import create_links, is_mail_outbox_enabled
from wattgate.clock import Clock, utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.key_rotation import verify_keys
from wattgate.db.meter_network import MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.migrate import is_current
from wattgate.db.personal_data.erasure_check import verify_erasures
from wattgate.graphql.execution.documents.persisted_documents import PersistedDocuments, TrustedDocumentStore
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import Schema
from wattgate.graphql.transport.http import GraphQLEndpoint
from wattgate.graphql.transport.sse import EventStreamEndpoint
from wattgate.graphql.transport.subscriptions import SubscriptionService
from wattgate.graphql.transport.websocket import WebSocketEndpoint
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.runner import Runner
from wattgate.rate_limit.budgets import Budgets
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_registry import ConnectionRegistry
from wattgate.realtime.connections.event_streams.event_stream_registry import EventStreamRegistry
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.hub import Hub
from wattgate.realtime.shared_events import SharedEvents
from wattgate.requests.bodies import BodyMemory, BodyReader
from wattgate.requests.client import AddressLimiter, AddressPolicy
from wattgate.rest_compat.openapi.document import build_openapi_document
from wattgate.rest_compat.routes import RestRouter, build_routes
from wattgate.tracer import NOOP_TRACER, Tracer

log = logging.getLogger(__name__)

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
    address_limits: AddressLimiter
    bodies: BodyReader
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
    components = build_components(settings, network=network, clock=clock, tracer=tracer)
    database, bus, runner = components.database, components.bus, components.runner
    state, budgets, address_limits = components.cluster_state, components.budgets, components.address_limits
    schema = gateway_schema(settings)
    documents = TrustedDocumentStore(runner)
    identity = create_identity(settings, database, address_limits, budgets)
    authenticator = Authenticator(identity, clock)
    pipeline = _build_pipeline(settings, components, schema, documents, authenticator, clock)
    hub = Hub(bus)
    service = SubscriptionService(
        pipeline, schema, runner, OPERATIONS, authenticator.authenticate, identity.find_revoked, clock
    )
    limits = limits or _connection_limits(settings)
    realtime = RealtimeRuntime(hub, bus, state.connection_slots, service, limits, SharedEvents(database).read_new)
    forget_changed_callers(identity, database, realtime.connections)
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
        access_log=components.access_log,
        address_limits=address_limits,
        bodies=BodyReader(service.find_revoked, service.now, BodyMemory(settings.body_memory)),
    )


def _build_pipeline(
    settings: Settings,
    components: Components,
    schema: Schema,
    documents: TrustedDocumentStore,
    authenticator: Authenticator,
    clock: Clock,
) -> GraphQLPipeline:
    return GraphQLPipeline(
        schema,
        components.runner,
        persisted_documents=PersistedDocuments(documents, components.cluster_state.apq_store),
        budgets=components.budgets,
        time_limit_seconds=settings.operation_seconds,
        clock=clock,
        address_limits=components.address_limits,
        find_payer=authenticator.find_payer,
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
    for engine in gateway.database.sync_engines:
        tracing.instrument_engine(engine)
    rest_routes = _rest_routes(gateway, clock)
    workers: list[BackgroundTask] = [
        lambda runner: run_server_checks(gateway.database, gateway.bus),
        *background_workers(settings, gateway.hub, clock, gateway.access_log),
        *background,
    ]

    async def serve_readiness(request: Request) -> Response:
        return await check_readiness(gateway.readiness, gateway.database, gateway.bus)

    routes = [
        Route("/healthz", check_health),
        Route("/readyz", serve_readiness),
        *([Route("/metrics", metrics_endpoint)] if serves_metrics_on_main_port(settings) else []),
        *limit_by_address(file_routes(), gateway.address_limits, AddressPolicy.FILE),
        *limit_by_address(
            [
                *page_routes(settings, gateway.runner, demonstration),
                *_mail_routes(settings, gateway.runner, gateway.address_limits),
                _openapi_route(settings, gateway),
                *schema_routes(gateway.schema),
            ],
            gateway.address_limits,
        ),
        Mount(
            f"{settings.base_path}{NOTIFICATION_BASE_PATH}",
            RestRouter([route for route in rest_routes if _is_notification_route(route)]),
        ),
        Mount(settings.base_path, RestRouter(rest_routes)),
    ]
    lifespan = _lifespan(settings, gateway, tracing, workers, is_demonstration=demonstration is not None)
    return serve_gateway(settings, gateway, routes, tracing=tracing, lifespan=lifespan, demonstration=demonstration)


def serve_gateway(
    settings: Settings,
    gateway: Gateway,
    routes: Sequence[BaseRoute] = (),
    *,
    tracing: TracingBackend = NO_TRACING,
    lifespan: Lifespan[Starlette] | None = None,
    demonstration: Demonstration | None = None,
) -> Starlette:
    """Return an application with /graphql and other routes, behind the gate of every request.

    Without tracing, the protocol answers plain requests for GraphQL and plain WebSocket handshakes directly.
    """
    endpoint = GraphQLEndpoint(gateway.pipeline, gateway.authenticator.authenticate, gateway.bodies)
    graphql = _graphql_routes(settings, gateway, endpoint, demonstration)
    rules = GateRules.from_settings(settings)
    application = build_application(settings, [*graphql, *routes], rules, tracing, lifespan)
    application.state.gateway = gateway
    if not tracing.middleware:  # it creates the spans of requests
        application.state.direct_graphql = DirectGraphQL(endpoint, rules)
        application.state.socket_upgrade = SocketUpgrade(gateway.realtime, settings.allowed_origins, rules)
    return application


def _openapi_route(settings: Settings, gateway: Gateway) -> Route:
    """Return the route of the OpenAPI document."""
    return constant_route(f"{settings.base_path}/openapi.json", _openapi_answer(gateway.schema, settings.base_path))


@lru_cache(maxsize=4)
def _openapi_answer(schema: Schema, base_path: str) -> ConstantAnswer:
    """Return the OpenAPI document as JSON. To build, render and compress it takes some tenths of a second."""
    document = build_openapi_document(OPERATIONS, schema, base_path)
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return ConstantAnswer(body, "application/json")


def _graphql_routes(
    settings: Settings,
    gateway: Gateway,
    http: GraphQLEndpoint,
    demonstration: Demonstration | None,
) -> list[BaseRoute]:
    """Return the routes of /graphql: the page of browsers, event streams, requests, and WebSockets."""
    authenticate = gateway.authenticator.authenticate
    service, budgets = gateway.subscription_service, gateway.budgets
    streams = EventStreamEndpoint(
        gateway.realtime, gateway.event_streams, service, authenticate, budgets, http, gateway.bodies
    )
    page = Route("/graphql", graphql_page(settings, gateway.runner, demonstration))
    graphql = BrowserEndpoint(streams, AddressLimited(Router([page]), gateway.address_limits))
    return [
        Route("/graphql", graphql, methods=["GET", "POST", "PUT", "DELETE"]),
        WebSocketRoute("/graphql", WebSocketEndpoint(gateway.realtime, settings.allowed_origins)),
    ]


def _rest_routes(gateway: Gateway, clock: Clock) -> list[BaseRoute]:
    return build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        bodies=gateway.bodies,
        budgets=gateway.budgets,
        clock=clock,
        address_limits=gateway.address_limits,
        find_payer=gateway.authenticator.find_payer,
        is_draining=lambda: gateway.readiness.draining,
    )


def _lifespan(
    settings: Settings,
    gateway: Gateway,
    tracing: TracingBackend,
    background: Sequence[BackgroundTask],
    *,
    is_demonstration: bool,
) -> Lifespan[Starlette]:
    """Return a lifespan that runs the background work and closes all components at shutdown.

    In development, the log has the code that blocks the event loop. The console of a demonstration does not: it is for
    people who have not written that code.

    The start fails if the database does not have the schema of this version, needs a key that is missing, or is a
    backup that is older than the list of erasures.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not await is_current(gateway.database):
            raise RuntimeError("The database does not have the schema of this version: run `wattgate db upgrade`.")
        await verify_keys(gateway.database)
        await verify_erasures(gateway.database, open_erasure_list(settings))
        await log_row_security(gateway.database)
        await log_unknown_default(gateway.runner, settings.display_application_id)
        logs_stalls = settings.environment == "development" and not is_demonstration
        try:
            async with gateway.bus, gateway.realtime, _run_in_background(gateway.runner, background):
                with LoopWatchdog(logs_stacks=logs_stalls).running():
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


def _mail_routes(settings: Settings, runner: Runner, limits: AddressLimiter) -> list[BaseRoute]:
    """Return the routes of signed links, and of the development outbox."""
    links = create_links(settings)
    return [
        *([unsubscribe_route(runner, links), *shared_preview_routes(runner, links, limits)] if links else []),
        *(outbox_routes(runner) if is_mail_outbox_enabled(settings) else []),
    ]


def _is_notification_route(route: BaseRoute) -> bool:
    return isinstance(route, Route) and route.path.startswith(NOTIFICATION_PATHS)
