"""The composition root: every part of the gateway is made here and handed to those that need it."""

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

from wattgate.app.observability.http_metrics import Measured, metrics, on_the_gateways_port
from wattgate.app.observability.tracing import Tracing, tracing
from wattgate.app.server.auth import Authenticator
from wattgate.app.server.cluster_state import shared_by, terms
from wattgate.app.server.drain import Readiness
from wattgate.app.server.mail_outbox import outbox_pages
from wattgate.app.server.middleware import BodyLimit, PlainPaths, Trace
from wattgate.app.server.pages import pages
from wattgate.app.server.unsubscribe_page import unsubscribing
from wattgate.app.settings import Settings
from wattgate.app.workers.alert_rules import Rules
from wattgate.app.workers.catch_ups import run_catch_ups
from wattgate.app.workers.deliveries import Deliveries
from wattgate.app.workers.delivery_handlers import carriers, keeps_mail, links, sender
from wattgate.app.workers.maintenance import run_upkeep
from wattgate.clock import Clock, utc_now
from wattgate.db.engine import Database
from wattgate.db.identity.credentials import Identity
from wattgate.db.meter_network import Networks, RegistryNetwork
from wattgate.db.migrate import is_current
from wattgate.delivery.mail_addresses import AllowList
from wattgate.delivery.outbound_policy import Outside
from wattgate.errors import Internal, Unavailable
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.execution.persisted_documents import Persisted
from wattgate.graphql.execution.pipeline import Gate
from wattgate.graphql.execution.schema import Schema, build
from wattgate.graphql.execution.trusted_documents import StoredDocuments
from wattgate.graphql.transport.http import Endpoint
from wattgate.graphql.transport.sse import StreamEndpoint
from wattgate.graphql.transport.subscriptions import LiveService
from wattgate.graphql.transport.websocket import SocketEndpoint
from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_registry import Sockets
from wattgate.realtime.connections.event_streams import EventStreams
from wattgate.realtime.connections.limits import Limits
from wattgate.realtime.connections.live import Live
from wattgate.realtime.hub import Hub
from wattgate.realtime.rate_limit.budgets import Budgets
from wattgate.rest_compat.bulk_intake import TAKES
from wattgate.rest_compat.error_responses import refusal, tell_http
from wattgate.rest_compat.openapi import document
from wattgate.rest_compat.routes import OPERATION_HEADER, routes
from wattgate.tracer import NO_SPANS, Spans

log = logging.getLogger(__name__)

Background = Callable[[Runner], Awaitable[None]]
"""Work that runs beside the requests for as long as the gateway does."""

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
"""Where bulk intake has its place; its streams have no bound."""

NOTIFICATION_BASE = "/ns"
NOTIFICATION_PATHS = ("/alert", "/template", "/notification")
"""The notification system also stands under a base of its own, where published clients look for it."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of a gateway that more than one face uses."""

    database: Database
    bus: Bus
    hub: Hub
    runner: Runner
    schema: Schema
    gate: Gate
    authenticator: Authenticator
    service: LiveService
    live: Live
    budgets: Budgets
    documents: StoredDocuments
    readiness: Readiness = field(default_factory=Readiness)

    @property
    def sockets(self) -> Sockets:
        """The connections that stay."""
        return self.live.sockets


def assemble(
    settings: Settings,
    *,
    network: Networks = RegistryNetwork,
    clock: Clock = utc_now,
    limits: Limits | None = None,
    spans: Spans = NO_SPANS,
) -> Gateway:
    """Make the parts that the settings ask for. Nothing is connected yet.

    The limits of connections are those of the settings, unless others are given.
    """
    database = Database(settings.database_url, pool_size=settings.database_pool_size, spans=spans)
    bus, shared = shared_by(settings, clock)
    budgets = Budgets(terms(settings), shared.buckets)
    runner = Runner(
        database,
        bus,
        network=network,
        clock=clock,
        spans=spans,
        outside=_outside(settings),
    )
    schema = build(OPERATIONS, hides=settings.environment == "production")
    documents = StoredDocuments(runner)
    gate = Gate(
        schema,
        runner,
        persisted=Persisted(documents, shared.texts),
        budgets=budgets,
        time_limit=settings.operation_seconds,
        clock=clock,
    )
    identity = Identity(database)
    authenticator = Authenticator(identity, clock)
    hub = Hub(bus)
    service = LiveService(gate, schema, runner, OPERATIONS, authenticator.principal, identity.ended, clock)
    return Gateway(
        database=database,
        bus=bus,
        hub=hub,
        runner=runner,
        schema=schema,
        gate=gate,
        authenticator=authenticator,
        service=service,
        live=Live(hub, bus, shared.seats, service, limits or _limits(settings)),
        budgets=budgets,
        documents=documents,
    )


def _outside(settings: Settings) -> Outside:
    vapid = sender(settings)
    return Outside(settings.reach, vapid.public_key if vapid else None, AllowList.of(settings.test_addresses))


def _limits(settings: Settings) -> Limits:
    return Limits(
        account_connections=settings.max_account_connections,
        application_connections=settings.max_application_connections,
    )


def create_app(
    settings: Settings,
    *,
    background: Sequence[Background] = (),
    network: Networks = RegistryNetwork,
    clock: Clock = utc_now,
    limits: Limits | None = None,
) -> Starlette:
    """The gateway as an ASGI application."""
    traces = tracing()
    gateway = assemble(settings, network=network, clock=clock, limits=limits, spans=traces)
    traces.watch(gateway.database.pooled.sync_engine)
    authenticate = gateway.authenticator.principal
    http = Endpoint(gateway.gate, authenticate, ide=settings.environment == "development")
    streams = EventStreams(gateway.live, gateway.hub, gateway.bus)
    graphql = StreamEndpoint(gateway.live, streams, gateway.service, authenticate, http)
    rest = _rest(gateway, clock)

    reference = document(OPERATIONS, gateway.schema, settings.base_path)

    async def described(request: Request) -> Response:
        return JSONResponse(reference)

    async def ready(request: Request) -> Response:
        return await _ready(gateway)

    application = Starlette(
        routes=[
            Route("/healthz", _healthy),
            Route("/readyz", ready),
            *([Route("/metrics", metrics)] if on_the_gateways_port(settings) else []),
            Route("/graphql", graphql, methods=["GET", "POST", "PUT", "DELETE"]),
            WebSocketRoute("/graphql", SocketEndpoint(gateway.live, settings.allowed_origins)),
            *pages(settings.base_path),
            *_mail_pages(settings, gateway.runner),
            Route(f"{settings.base_path}/openapi.json", described),
            Mount(f"{settings.base_path}{NOTIFICATION_BASE}", routes=[one for one in rest if _notifies(one)]),
            Mount(settings.base_path, routes=rest),
        ],
        middleware=_middleware(settings, traces),
        exception_handlers={HTTPException: tell_http, Exception: tell_unexpected},
        lifespan=_lifespan(
            gateway,
            traces,
            [run_upkeep, *_intakes(settings), *_workers(settings, gateway, clock), *background],
        ),
    )
    application.state.gateway = gateway
    return application


def _rest(gateway: Gateway, clock: Clock) -> list[BaseRoute]:
    return routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.principal,
        budgets=gateway.budgets,
        clock=clock,
    )


def _workers(settings: Settings, gateway: Gateway, clock: Clock) -> list[Background]:
    """What is woken by the bus: catch-ups and rules, and the deliveries unless others do these."""
    return [
        lambda runner: run_catch_ups(runner, gateway.hub),
        lambda runner: Rules(runner, gateway.hub).run(),
        *_deliveries(settings, gateway, clock),
    ]


def _lifespan(gateway: Gateway, traces: Tracing, background: Sequence[Background]) -> Lifespan[Starlette]:
    """Starts only on a database that is current, with the background work beside; closes what was opened."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if not await is_current(gateway.database):
            raise RuntimeError("the database is not at this version's schema: run `wattgate db upgrade`")
        try:
            async with gateway.bus, gateway.live, _beside(gateway.runner, background):
                yield
        finally:
            await gateway.database.close()
            await traces.close()

    return lifespan


@asynccontextmanager
async def _beside(runner: Runner, background: Sequence[Background]) -> AsyncIterator[None]:
    """The background work, for as long as the context lasts."""
    tasks = [asyncio.ensure_future(work(runner)) for work in background]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _intakes(settings: Settings) -> list[Background]:
    """The MQTT intake where a broker is set. It is loaded only then, because it needs what may not be installed."""
    if settings.mqtt_url is None:
        return []
    return [import_module("wattgate.app.workers.mqtt_intake").intake(settings).run]


def _deliveries(settings: Settings, gateway: Gateway, clock: Clock) -> list[Background]:
    """The worker of the outbox, unless others do its work."""
    if not settings.deliver:
        return []

    async def deliver(runner: Runner) -> None:
        parts = carriers(settings, runner, clock)
        made = Deliveries(runner, gateway.hub, parts, clock=clock, lease=settings.delivery_lease)
        await made.run()

    return [deliver]


def _mail_pages(settings: Settings, runner: Runner) -> list[BaseRoute]:
    """Where links in mails lead, and where mails are that are kept."""
    known = links(settings)
    return [
        *([unsubscribing(runner, known)] if known else []),
        *(outbox_pages(runner) if keeps_mail(settings) else []),
    ]


def _notifies(route: BaseRoute) -> bool:
    return isinstance(route, Route) and route.path.startswith(NOTIFICATION_PATHS)


def _middleware(settings: Settings, traces: Tracing) -> list[Middleware]:
    """What every request passes, outermost first."""
    return [
        Middleware(Trace),
        Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=CORS_HEADERS,
            expose_headers=["X-Trace-Id", OPERATION_HEADER, "RateLimit", "RateLimit-Policy", "Retry-After"],
            max_age=600,
        ),
        Middleware(PlainPaths),
        *traces.middleware,
        Middleware(Measured),
        Middleware(
            BodyLimit,
            limit=settings.max_body_bytes,
            streamed={f"{settings.base_path}{READINGS_PATH}": frozenset(TAKES)},
        ),
    ]


async def _healthy(request: Request) -> Response:
    return JSONResponse({"status": "OK"})


async def _ready(gateway: Gateway) -> Response:
    """Ready while the database answers, until the gateway is to end. Without Redis every answer is right, and only
    live events are missing."""
    if gateway.readiness.draining:
        return JSONResponse({"status": "draining"}, 503)
    try:
        async with gateway.database.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError) as error:
        log.warning("not ready: the database does not answer: %s", error)
        return JSONResponse({"status": "unavailable", "database": "does not answer"}, 503)
    try:
        await gateway.bus.check()
    except Unavailable as error:
        log.warning("ready without live events: %s", error.message)
        return JSONResponse({"status": "OK", "live": "unavailable"})
    return JSONResponse({"status": "OK"})


async def tell_unexpected(request: Request, error: Exception) -> Response:
    """A fault of ours: nothing of it is told but the trace id, under which the server's log has it."""
    return refusal(Internal("An error has occurred"))
