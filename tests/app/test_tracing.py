"""Tracing: the spans that an OpenTelemetry collector receives for requests to real gateways."""

import asyncio
import logging
import signal
import sqlite3
import sys
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ExportedSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.app.test_serving import NO_DRAIN_DELAY, Home, home
from tests.app.test_trace_ids import TRACE, TRACEPARENT
from tests.support.house import PASSWORD
from tests.support.processes import Process, gateway, gateway_from_scratch
from tests.support.servers import serving
from tests.support.socket import socket
from wattgate.app.observability.telemetry import OpenTelemetryBackend, TraceIdGenerator
from wattgate.app.observability.tracing import NoopTracingBackend, create_tracing_backend
from wattgate.app.server.edge.serving import bind_sockets, bound_url
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.enums import TRACE_ID
from wattgate.operations.vocabulary.node import encode_global_id

__all__ = ["home"]

ROOT = Path(__file__).parents[2]

TYPES_QUERY = "query Types { resourceCounts { count resourceTypeId } }"
LIVE_SUBSCRIPTION = "subscription Live($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"
SHORT_EXPORT_DELAY = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


@dataclass
class Collector:
    """An OTLP collector that stores the spans that it receives."""

    url: str
    spans: list[ExportedSpan] = field(default_factory=list)
    raw: bytes = b""
    resource: dict[str, str] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, request: Request) -> Response:
        body = await request.body()
        self.raw += body
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource |= {
                attribute.key: attribute.value.string_value for attribute in resource_spans.resource.attributes
            }
            self.spans += [span for scope in resource_spans.scope_spans for span in scope.spans]
        self.arrived.set()
        return Response(media_type="application/x-protobuf")

    async def span(self, name: str, trace_id: str = "", status: int = 0) -> ExportedSpan:
        """Wait for the span with this name and return it. There must be only one.

        An empty `trace_id` matches all traces, and a `status` of 0 matches all statuses.
        """
        async with asyncio.timeout(60):
            while True:
                spans = [
                    span
                    for span in self.spans
                    if span.name == name and span.trace_id.hex().endswith(trace_id) and status in (0, span.status.code)
                ]
                if spans:
                    (only,) = spans
                    return only
                self.arrived.clear()
                await self.arrived.wait()


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """A collector that the OTEL_* variables of the environment name."""
    bound = bind_sockets("127.0.0.1", 0)
    collector = Collector(bound_url(bound))
    app = Starlette(routes=[Route("/v1/traces", collector.receive, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve(bound))
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **SHORT_EXPORT_DELAY}.items():
        monkeypatch.setenv(name, value)
    try:
        yield collector
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def traced_client(home: Home) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of a gateway in this process, logged in as the tenant's account."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}")
    async with (
        serving(create_app(settings)) as url,
        httpx.AsyncClient(base_url=url, headers=home.tenant.headers["account"]) as client,
    ):
        yield client


@asynccontextmanager
async def running_gateway(
    home: Home, started: Callable[..., AbstractAsyncContextManager[Process]] = gateway
) -> AsyncIterator[tuple[Process, httpx.AsyncClient]]:
    """Run a gateway in a process of its own. Yield the process and a client, logged in as the tenant's account."""
    async with (
        started(folder=home.folder, **NO_DRAIN_DELAY) as gateway_process,
        httpx.AsyncClient(base_url=gateway_process.url, headers=home.tenant.headers["account"]) as client,
    ):
        yield gateway_process, client


def attributes(span: ExportedSpan) -> dict[str, Any]:
    return {attribute.key: attribute.value.string_value or attribute.value.int_value for attribute in span.attributes}


async def test_request_span_has_child_spans_down_to_statements(home: Home, collector: Collector) -> None:
    async with traced_client(home) as client:
        answer = await client.post("/graphql", json={"query": TYPES_QUERY}, headers={"traceparent": TRACEPARENT})
        assert answer.headers["x-trace-id"] == TRACE
        request = await collector.span("POST /graphql", TRACE)
        query = await collector.span("query", TRACE)
        operation = await collector.span("resourceCounts", TRACE)
    assert (request.parent_span_id.hex(), request.kind) == ("00f067aa0ba902b7", ExportedSpan.SPAN_KIND_SERVER)
    expected = {"http.request.method": "POST", "http.route": "/graphql", "http.response.status_code": 200}
    assert attributes(request) == expected
    assert (query.parent_span_id, query.kind) == (request.span_id, ExportedSpan.SPAN_KIND_SERVER)
    assert attributes(query) == {"graphql.operation.type": "query", "graphql.operation.name": "Types"}
    assert operation.parent_span_id == query.span_id
    statements = [span for span in collector.spans if span.parent_span_id == operation.span_id]
    assert [span.name for span in statements] == ["SELECT"]
    statement = attributes(statements[0])
    assert statement["db.system.name"] == "sqlite"
    assert "FROM resource" in statement["db.query.text"]
    assert collector.resource["service.name"] == "wattgate"
    assert "service.version" in collector.resource


async def test_each_record_of_nodes_has_a_span(home: Home, collector: Collector) -> None:
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    variables = {"ids": [encode_global_id("Resource", home.resource_id)]}
    async with traced_client(home) as client:
        await client.post("/graphql", json={"query": document, "variables": variables})
        nodes, record = await collector.span("nodes"), await collector.span("resource")
    assert record.parent_span_id == nodes.span_id


async def test_statement_sent_to_driver_has_span(collector: Collector) -> None:
    telemetry = OpenTelemetryBackend()
    with telemetry.statement_span("postgresql", "SELECT 1"):
        pass  # without a request span, a statement has no span
    with telemetry.request_span("query"), telemetry.statement_span("postgresql", "SELECT 2"):
        pass
    query, statement = await collector.span("query"), await collector.span("SELECT")
    assert statement.parent_span_id == query.span_id
    assert (attributes(statement)["db.system.name"], attributes(statement)["db.query.text"]) == (
        "postgresql",
        "SELECT 2",
    )
    await telemetry.close()


async def test_new_trace_has_id_of_response_header(home: Home, collector: Collector) -> None:
    async with traced_client(home) as client:
        answer = await client.get("/api/v0-1/resource/unknown")
        assert answer.status_code == 404
        request = await collector.span("GET /api/v0-1/resource/{resourceId}")
        operation = await collector.span("resource")
    assert request.trace_id.hex() == operation.trace_id.hex() == answer.headers["x-trace-id"]
    assert not request.parent_span_id
    assert attributes(operation) == {"error.type": "NOT_FOUND"}
    assert {request.status.code, operation.status.code} == {Status.STATUS_CODE_UNSET}


@pytest.mark.long("starts a gateway process of its own; spans and their export stay in the short form")
async def test_unsampled_trace_and_health_check_have_no_spans(home: Home, collector: Collector) -> None:
    async with traced_client(home) as client:
        unsampled = {"traceparent": TRACEPARENT.removesuffix("1") + "0"}
        assert (await client.post("/graphql", json={"query": TYPES_QUERY}, headers=unsampled)).status_code == 200
        await client.get("/healthz")
        await client.get("/api/v0-1/account")
        await collector.span("GET /api/v0-1/account")
    assert not [span for span in collector.spans if span.trace_id.hex() == TRACE]
    assert not [span for span in collector.spans if "/healthz" in span.name]


async def test_websocket_handshake_and_each_operation_have_spans(home: Home, collector: Collector) -> None:
    async with (
        traced_client(home) as client,
        socket(str(client.base_url).rstrip("/"), headers={"traceparent": TRACEPARENT}) as client_socket,
    ):
        await client_socket.init(**home.tenant.headers["account"])
        handshake = await collector.span("GET /graphql", TRACE)
        await client_socket.subscribe(LIVE_SUBSCRIPTION, ids=[home.resource_id])
        subscription = await collector.span("subscription")
        client_trace = TRACE.replace("4", "5")
        extensions = {"traceparent": TRACEPARENT.replace(TRACE, client_trace)}
        await client_socket.say(id="2", type="subscribe", payload={"query": TYPES_QUERY, "extensions": extensions})
        query = await collector.span("query", client_trace)
        operation = await collector.span("resourceCounts", client_trace)
    assert attributes(handshake)["http.response.status_code"] == 101
    assert attributes(subscription) == {"graphql.operation.type": "subscription", "graphql.operation.name": "Live"}
    assert subscription.trace_id.hex() != TRACE
    assert not subscription.parent_span_id
    assert operation.parent_span_id == query.span_id


async def test_event_stream_span_ends_when_stream_starts(home: Home, collector: Collector) -> None:
    body = {"query": LIVE_SUBSCRIPTION, "variables": {"ids": [home.resource_id]}}
    headers = {"traceparent": TRACEPARENT, "Accept": "text/event-stream"}
    async with traced_client(home) as client, client.stream("POST", "/graphql", json=body, headers=headers) as stream:
        assert stream.status_code == 200
        request = await collector.span("POST /graphql", TRACE)
        subscription = await collector.span("subscription", TRACE)
    assert subscription.parent_span_id == request.span_id


async def test_spans_contain_no_identity_or_credentials(home: Home, collector: Collector) -> None:
    log_in = """mutation ($u: String!, $p: String!, $a: ID!) {
      authenticate(username: $u, password: $p, applicationId: $a) { ... on Login { token } }
    }"""
    tenant = home.tenant
    variables = {"u": tenant.username, "p": PASSWORD, "a": tenant.application_id}
    async with traced_client(home) as client:
        answer = await client.post("/graphql", json={"query": log_in, "variables": variables}, headers={"token": ""})
        token = answer.json()["data"]["authenticate"]["token"]
        await client.get("/api/v0-1/user", params={"username": tenant.username})
        await client.get(f"/api/v0-1/resource/{home.resource_id}")
        await collector.span("GET /api/v0-1/user")
        await collector.span("GET /api/v0-1/resource/{resourceId}")
    for secret in (tenant.username, PASSWORD, token, tenant.headers["account"]["token"], home.resource_id):
        assert secret.encode() not in collector.raw


def _rename_home_table(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("ALTER TABLE virtual_entity RENAME TO gone")


@pytest.mark.long("starts a gateway process of its own; spans and their export stay in the short form")
async def test_server_error_span_has_error_type_and_no_message(home: Home, collector: Collector) -> None:
    async with traced_client(home) as client:
        # in a thread: a writer that it waits for runs on this loop
        await asyncio.to_thread(_rename_home_table, home.folder / "wattgate.sqlite3")
        assert (await client.get("/api/v0-1/virtualentity")).status_code == 503
        failed = [
            await collector.span("SELECT", status=Status.STATUS_CODE_ERROR),
            await collector.span("homes"),
            await collector.span("GET /api/v0-1/virtualentity"),
        ]
    assert [attributes(span)["error.type"] for span in failed] == ["OperationalError", "UNAVAILABLE", "503"]
    assert {span.status.code for span in failed} == {Status.STATUS_CODE_ERROR}
    assert b"no such table" not in collector.raw


@pytest.mark.long("starts a gateway process of its own; spans and their export stay in the short form")
async def test_last_spans_are_sent_at_shutdown(
    home: Home, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    async with running_gateway(home) as (gateway_process, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        gateway_process.signal(signal.SIGTERM)
        assert await gateway_process.ends() == 0
    await collector.span("GET /api/v0-1/account")


@pytest.mark.long("starts a gateway process of its own; spans and their export stay in the short form")
async def test_unavailable_collector_does_not_delay_shutdown(
    home: Home, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{unused_tcp_port}")
    async with running_gateway(home) as (gateway_process, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        gateway_process.signal(signal.SIGTERM)
        assert await gateway_process.ends() == 0
        assert "Drain finished" in gateway_process.log
        assert "exceeded its time limit" not in gateway_process.log


@pytest.mark.long("starts a gateway process of its own; spans and their export stay in the short form")
async def test_missing_opentelemetry_is_logged_and_requests_are_served(
    home: Home, collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "none" / "opentelemetry").mkdir(parents=True)
    (tmp_path / "none" / "opentelemetry" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "none"))
    async with running_gateway(home, gateway_from_scratch) as (gateway_process, client):
        assert (await client.get("/api/v0-1/account")).status_code == 200
        extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["otel"]
        packages = " ".join(f"'{requirement}'" for requirement in extra)
        message = (
            f"Traces are not exported: OpenTelemetry is not installed. Run: {sys.executable} -m pip install {packages}"
        )
        assert message in gateway_process.log
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
def test_tracing_is_off_without_collector_settings(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.DEBUG):
        assert isinstance(create_tracing_backend(), NoopTracingBackend)
    assert [record for record in caplog.records if record.name != "wattgate.app.observability.stalls"] == []


async def test_trace_id_is_random_without_current_trace() -> None:
    TRACE_ID.set("")
    assert TraceIdGenerator().generate_trace_id() != TraceIdGenerator().generate_trace_id()
    TRACE_ID.set(TRACE)
    assert TraceIdGenerator().generate_trace_id() == int(TRACE, 16)
