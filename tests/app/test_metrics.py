"""Metrics: formats, labels and endpoints."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.app.test_serving import NO_DRAIN_DELAY, Home, home
from tests.support.house import House
from tests.support.processes import gateway
from tests.support.schema import bring_up
from tests.support.servers import serving
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import OUTCOME_LABELS
from wattgate.enums import DeliveryKind
from wattgate.errors import CostTooHigh
from wattgate.metrics import (
    APPLICATION_COST,
    APPLICATION_REFUSALS,
    DELIVERIES,
    HTTP_SECONDS,
    METRICS,
    REFUSED_CONNECTIONS,
)
from wattgate.principal import Principal, Role
from wattgate.rate_limit.application_usage import ApplicationUsage
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits

__all__ = ["home"]

REQUESTS = "wattgate_http_server_request_duration_seconds"


def request_count(method: str, route: str, status: int) -> float:
    """Return the number of measured requests with these labels."""
    labels = {"method": method, "route": route, "status": str(status)}
    (metric,) = HTTP_SECONDS.collect()
    return next(
        (sample.value for sample in metric.samples if sample.name.endswith("_count") and sample.labels == labels), 0
    )


@pytest.fixture
async def development_client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a development gateway, which serves /metrics on its main port."""
    url = f"sqlite:///{tmp_path / 'test.sqlite3'}"
    settings = Settings(_env_file=None, database_url=url, environment="development")
    gateway = build_gateway(settings)
    await bring_up(gateway.database)
    await gateway.database.close()
    async with serving(create_app(settings)) as base, httpx.AsyncClient(base_url=base) as client:
        yield client


async def test_metrics_have_prometheus_text_format(development_client: httpx.AsyncClient) -> None:
    response = await development_client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    names = set(re.findall(r"^# TYPE (\S+) ", response.text, re.MULTILINE))
    for metric in METRICS:
        assert {metric._name, f"{metric._name}_total"} & names, metric


async def test_metrics_have_openmetrics_format_if_accepted(development_client: httpx.AsyncClient) -> None:
    response = await development_client.get(
        "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}
    )
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.text.endswith("# EOF\n")


async def test_metrics_are_not_on_main_port_by_default(served: House) -> None:
    assert (await served.http.get("/metrics")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/healthz", "/healthz", 200),
        ("GET", "/api/v0-1/resource/unknown", "/api/v0-1/resource/{resourceId}", 404),
        ("GET", "/api/v0-1//resource/unknown/", "/api/v0-1/resource/{resourceId}", 404),
        ("GET", "/api/v0-1/nothing/of/the/kind", "/api/v0-1", 404),
        ("GET", "/static/display/nothing.js", "/static", 404),
        ("PATCH", "/graphql", "/graphql", 405),
        ("PROPFIND", "/graphql", "/graphql", 405),
        ("GET", "/phpmyadmin", "other", 404),
    ],
)
async def test_requests_are_measured_by_route_template(
    served: House, method: str, path: str, route: str, status: int
) -> None:
    label = "other" if method == "PROPFIND" else method
    before = request_count(label, route, status)
    response = await served.http.request(method, path, headers=served.one.headers["account"])
    assert response.status_code == status
    assert request_count(label, route, status) == before + 1


def test_metrics_have_only_known_labels() -> None:
    names = {name for metric in METRICS for name in metric._labelnames}
    reasons = {"code", "recovered", "limit", "policy", "type", "kind", "outcome"}
    assert names == reasons | {"method", "route", "status", "application"}


def test_deliveries_and_refused_connections_are_counted_from_zero() -> None:
    """Prometheus does not see the first increment of a series that begins with it."""
    counted = {tuple(sample.labels.values()) for metric in DELIVERIES.collect() for sample in metric.samples}
    assert counted == {(kind.value, outcome) for kind in DeliveryKind for outcome in OUTCOME_LABELS.values()}
    limits = {sample.labels["limit"] for metric in REFUSED_CONNECTIONS.collect() for sample in metric.samples}
    assert limits == {"total", "address", "message", "unread"}


async def test_metrics_are_served_on_own_port(home: Home, unused_tcp_port: int) -> None:
    async with (
        gateway(folder=home.folder, METRICS_PORT=str(unused_tcp_port), **NO_DRAIN_DELAY) as process,
        httpx.AsyncClient(base_url=process.url) as client,
        httpx.AsyncClient() as metrics_client,
    ):
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/metrics")).status_code == 404
        metrics_text = (await metrics_client.get(f"http://127.0.0.1:{unused_tcp_port}/metrics")).text
        assert f'{REQUESTS}_count{{method="GET",route="/healthz",status="200"}} 1.0' in metrics_text


@pytest.mark.long("starts a gateway process of its own; metrics on a port of their own stay in the short form")
async def test_metrics_are_served_on_main_port_if_configured(home: Home, unused_tcp_port: int) -> None:
    ports = dict.fromkeys(("PORT", "METRICS_PORT"), str(unused_tcp_port))
    async with (
        gateway(folder=home.folder, **ports, **NO_DRAIN_DELAY) as process,
        httpx.AsyncClient(base_url=process.url) as client,
    ):
        assert REQUESTS in (await client.get("/metrics")).text


def usage_of(application_id: str) -> tuple[float, float]:
    """Return the cost and the refusals of an application."""
    cost, refusals = APPLICATION_COST.labels(application_id), APPLICATION_REFUSALS.labels(application_id)
    return cost._value.get(), refusals._value.get()


async def test_cost_and_refusals_are_counted_for_each_application() -> None:
    budgets = Budgets(BudgetLimits(Allowance(100, 0.001), Allowance(100, 0.001)), LocalBucketStore())
    one, other = (Principal(Role.APPLICATION, application_id=uuid4().hex) for _ in range(2))
    await budgets.charge(one, 30)
    await budgets.charge_done(one, 10)
    await budgets.refund(one, 15)
    await budgets.charge(other, 7)
    await budgets.charge(Principal(Role.SYSTEM, application_id=other.application_id), 50)
    assert (await budgets.charge(other, 45)) is not None
    with pytest.raises(CostTooHigh):
        await budgets.charge(other, 200)
    assert usage_of(one.application_id or "") == (40, 0)
    assert usage_of(other.application_id or "") == (7, 2)
    await budgets.charge(one, 5)
    assert usage_of(one.application_id or "") == (40, 0), "15 units were returned"
    await budgets.charge(one, 12)
    assert usage_of(one.application_id or "") == (42, 0)


def test_applications_above_a_number_are_counted_together() -> None:
    usage, ids = ApplicationUsage(max_applications=2), [uuid4().hex for _ in range(4)]
    before = usage_of("other")
    for number, application_id in enumerate(ids):
        usage.add(Principal(Role.ANONYMOUS, application_id=application_id), number + 1)
        usage.refuse(Principal(Role.ANONYMOUS, application_id=application_id))
    assert [usage_of(application_id) for application_id in ids[:2]] == [(1, 1), (2, 1)]
    assert usage_of("other") == (before[0] + 7, before[1] + 2)
