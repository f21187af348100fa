"""Traces: what a collector of OpenTelemetry is told, by real requests to real gateways."""

import asyncio
import logging
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Told
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.app.test_serving import AT_ONCE, Home, home
from tests.app.test_trace_ids import TRACE, TRACEPARENT
from tests.support.house import PASSWORD
from tests.support.processes import Process, gateway, gateway_from_scratch
from tests.support.servers import serving
from tests.support.socket import socket
from wattgate.app.observability.telemetry import Ids, Telemetry
from wattgate.app.observability.tracing import NoTracing, tracing
from wattgate.app.server.factory import create_app
from wattgate.app.server.serving import address, listeners
from wattgate.app.settings import Settings
from wattgate.enums import TRACE_ID

__all__ = ["home"]

HOMES = "query Homes { virtualEntities { name resources { classifier } } }"
LIVE = "subscription Live($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"
QUICKLY = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


@dataclass
class Collector:
    """What an OTLP collector was sent."""

    url: str
    spans: list[Told] = field(default_factory=list)
    raw: bytes = b""
    resource: dict[str, str] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: Request) -> Response:
        body = await request.body()
        self.raw += body
        for told in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource |= {one.key: one.value.string_value for one in told.resource.attributes}
            self.spans += [span for scope in told.scope_spans for span in scope.spans]
        self.arrived.set()
        return Response(media_type="application/x-protobuf")

    async def span(self, name: str, trace_id: str = "", status: int = 0) -> Told:
        """The only span of a name in a trace, or in any, with this status or any; once it has come."""
        async with asyncio.timeout(20):
            while True:
                found = [
                    one
                    for one in self.spans
                    if one.name == name and one.trace_id.hex().endswith(trace_id) and status in (0, one.status.code)
                ]
                if found:
                    (only,) = found
                    return only
                self.arrived.clear()
                await self.arrived.wait()


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """A collector that the environment names."""
    bound = listeners("127.0.0.1", 0)
    made = Collector(address(bound))
    app = Starlette(routes=[Route("/v1/traces", made.take, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve(bound))
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": made.url, **QUICKLY}.items():
        monkeypatch.setenv(name, value)
    try:
        yield made
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def traced(home: Home) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that is the tenant's account."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}")
    async with (
        serving(create_app(settings)) as url,
        httpx.AsyncClient(base_url=url, headers=home.tenant.headers["account"]) as client,
    ):
        yield client


@asynccontextmanager
async def process(
    home: Home, started: Callable[..., AbstractAsyncContextManager[Process]] = gateway
) -> AsyncIterator[tuple[Process, httpx.AsyncClient]]:
    """The same, and the gateway, which is a process of its own."""
    async with (
        started(folder=home.folder, **AT_ONCE) as one,
        httpx.AsyncClient(base_url=one.url, headers=home.tenant.headers["account"]) as client,
    ):
        yield one, client


def attributes(span: Told) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


async def test_a_request_has_a_span_and_steps_down_to_the_statements(home: Home, collector: Collector) -> None:
    async with traced(home) as client:
        answer = await client.post("/graphql", json={"query": HOMES}, headers={"traceparent": TRACEPARENT})
        assert answer.headers["x-trace-id"] == TRACE
        request = await collector.span("POST /graphql", TRACE)
        query = await collector.span("query", TRACE)
        operation = await collector.span("virtualEntities", TRACE)
    assert (request.parent_span_id.hex(), request.kind) == ("00f067aa0ba902b7", Told.SPAN_KIND_SERVER)
    expected = {"http.request.method": "POST", "http.route": "/graphql", "http.response.status_code": 200}
    assert attributes(request) == expected
    assert (query.parent_span_id, query.kind) == (request.span_id, Told.SPAN_KIND_SERVER)
    assert attributes(query) == {"graphql.operation.type": "query", "graphql.operation.name": "Homes"}
    assert operation.parent_span_id == query.span_id
    statements = [one for one in collector.spans if one.parent_span_id == operation.span_id]
    assert [one.name for one in statements] == ["SELECT"]
    told = attributes(statements[0])
    assert told["db.system.name"] == "sqlite"
    assert "FROM virtual_entity" in told["db.query.text"]
    assert collector.resource["service.name"] == "wattgate"
    assert "service.version" in collector.resource


async def test_statements_that_go_to_the_driver_itself_are_steps_too(collector: Collector) -> None:
    telemetry = Telemetry()
    with telemetry.statement("postgresql", "SELECT 1"):
        pass  # nobody has asked for it
    with telemetry.served("query"), telemetry.statement("postgresql", "SELECT 2"):
        pass
    query, statement = await collector.span("query"), await collector.span("SELECT")
    assert statement.parent_span_id == query.span_id
    assert (attributes(statement)["db.system.name"], attributes(statement)["db.query.text"]) == (
        "postgresql",
        "SELECT 2",
    )
    await telemetry.close()


async def test_a_trace_that_begins_here_has_the_id_that_the_caller_is_told(home: Home, collector: Collector) -> None:
    async with traced(home) as client:
        answer = await client.get("/api/v0-1/resource/unknown")
        assert answer.status_code == 404
        request = await collector.span("GET /api/v0-1/resource/{resourceId}")
        operation = await collector.span("resource")
    assert request.trace_id.hex() == operation.trace_id.hex() == answer.headers["x-trace-id"]
    assert not request.parent_span_id
    assert attributes(operation) == {"error.type": "NOT_FOUND"}
    assert {request.status.code, operation.status.code} == {Status.STATUS_CODE_UNSET}


async def test_a_caller_that_does_not_sample_its_trace_is_left_alone(home: Home, collector: Collector) -> None:
    async with traced(home) as client:
        unsampled = {"traceparent": TRACEPARENT.removesuffix("1") + "0"}
        assert (await client.post("/graphql", json={"query": HOMES}, headers=unsampled)).status_code == 200
        await client.get("/healthz")
        await client.get("/api/v0-1/account")
        await collector.span("GET /api/v0-1/account")
    assert not [one for one in collector.spans if one.trace_id.hex() == TRACE]
    assert not [one for one in collector.spans if "/healthz" in one.name]


async def test_a_socket_has_a_span_for_its_handshake_and_one_for_each_operation(
    home: Home, collector: Collector
) -> None:
    async with (
        traced(home) as client,
        socket(str(client.base_url).rstrip("/"), headers={"traceparent": TRACEPARENT}) as opened,
    ):
        await opened.init(**home.tenant.headers["account"])
        handshake = await collector.span("GET /graphql", TRACE)
        await opened.subscribe(LIVE, ids=[home.resource_id])
        followed = await collector.span("subscription")
        theirs = TRACE.replace("4", "5")
        extensions = {"traceparent": TRACEPARENT.replace(TRACE, theirs)}
        await opened.say(id="2", type="subscribe", payload={"query": HOMES, "extensions": extensions})
        query = await collector.span("query", theirs)
        operation = await collector.span("virtualEntities", theirs)
    assert attributes(handshake)["http.response.status_code"] == 101
    assert attributes(followed) == {"graphql.operation.type": "subscription", "graphql.operation.name": "Live"}
    assert followed.trace_id.hex() != TRACE
    assert not followed.parent_span_id
    assert operation.parent_span_id == query.span_id


async def test_an_event_stream_has_a_span_until_it_begins(home: Home, collector: Collector) -> None:
    body = {"query": LIVE, "variables": {"ids": [home.resource_id]}}
    headers = {"traceparent": TRACEPARENT, "Accept": "text/event-stream"}
    async with traced(home) as client, client.stream("POST", "/graphql", json=body, headers=headers) as stream:
        assert stream.status_code == 200
        request = await collector.span("POST /graphql", TRACE)
        followed = await collector.span("subscription", TRACE)
    assert followed.parent_span_id == request.span_id


async def test_no_span_says_who_it_is_about_or_what_was_shown(home: Home, collector: Collector) -> None:
    log_in = """mutation ($u: String!, $p: String!, $a: ID!) {
      authenticate(username: $u, password: $p, applicationId: $a) { token }
    }"""
    tenant = home.tenant
    variables = {"u": tenant.username, "p": PASSWORD, "a": tenant.application_id}
    async with traced(home) as client:
        answer = await client.post("/graphql", json={"query": log_in, "variables": variables}, headers={"token": ""})
        token = answer.json()["data"]["authenticate"]["token"]
        await client.get("/api/v0-1/user", params={"username": tenant.username})
        await client.get(f"/api/v0-1/resource/{home.resource_id}")
        await collector.span("GET /api/v0-1/user")
        await collector.span("GET /api/v0-1/resource/{resourceId}")
    for secret in (tenant.username, PASSWORD, token, tenant.headers["account"]["token"], home.resource_id):
        assert secret.encode() not in collector.raw


def _lose_homes(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("ALTER TABLE virtual_entity RENAME TO gone")


async def test_what_fails_because_of_us_is_told_as_an_error_by_its_kind_alone(home: Home, collector: Collector) -> None:
    async with traced(home) as client:
        await asyncio.to_thread(_lose_homes, home.folder / "wattgate.sqlite3")  # a writer it waits for is on this loop
        assert (await client.get("/api/v0-1/virtualentity")).status_code == 503
        failed = [
            await collector.span("SELECT", status=Status.STATUS_CODE_ERROR),
            await collector.span("virtualEntities"),
            await collector.span("GET /api/v0-1/virtualentity"),
        ]
    assert [attributes(one)["error.type"] for one in failed] == ["OperationalError", "UNAVAILABLE", "503"]
    assert {one.status.code for one in failed} == {Status.STATUS_CODE_ERROR}
    assert b"no such table" not in collector.raw


async def test_the_last_spans_are_sent_before_the_end(
    home: Home, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    async with process(home) as (one, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0
    await collector.span("GET /api/v0-1/account")


async def test_a_collector_that_is_away_holds_nothing_up(
    home: Home, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{unused_tcp_port}")
    async with process(home) as (one, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0
        assert "drained" in one.log
        assert "cut short" not in one.log


async def test_where_opentelemetry_is_not_installed_that_is_said_and_all_is_served(
    home: Home, collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "none" / "opentelemetry").mkdir(parents=True)
    (tmp_path / "none" / "opentelemetry" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "none"))
    async with process(home, gateway_from_scratch) as (one, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        assert "no traces are sent, because what sends them is not installed: pip install wattgate[otel]" in one.log
    assert collector.spans == []


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "TRUE"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_a_word_nothing_is_traced(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.DEBUG):
        assert isinstance(tracing(), NoTracing)
    assert caplog.records == []


async def test_a_new_trace_is_random_where_nobody_has_an_id() -> None:
    TRACE_ID.set("")
    assert Ids().generate_trace_id() != Ids().generate_trace_id()
    TRACE_ID.set(TRACE)
    assert Ids().generate_trace_id() == int(TRACE, 16)
