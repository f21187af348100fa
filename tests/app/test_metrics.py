"""What Prometheus is told, and where."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.app.test_serving import AT_ONCE, Home, home
from tests.support.house import House
from tests.support.processes import gateway
from tests.support.schema import bring_up
from tests.support.servers import serving
from wattgate.app.server.factory import assemble, create_app
from wattgate.app.settings import Settings
from wattgate.metrics import HTTP_SECONDS, METRICS

__all__ = ["home"]

REQUESTS = "wattgate_http_server_request_duration_seconds"


def counted(method: str, route: str, status: int) -> float:
    """How many requests were measured under these labels."""
    labels = {"method": method, "route": route, "status": str(status)}
    (found,) = HTTP_SECONDS.collect()
    return next((one.value for one in found.samples if one.name.endswith("_count") and one.labels == labels), 0)


@pytest.fixture
async def developing(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client on a gateway in development, whose /metrics stands beside the interface."""
    url = f"sqlite:///{tmp_path / 'test.sqlite3'}"
    settings = Settings(_env_file=None, database_url=url, environment="development")
    gateway = assemble(settings)
    await bring_up(gateway.database)
    await gateway.database.close()
    async with serving(create_app(settings)) as base, httpx.AsyncClient(base_url=base) as client:
        yield client


async def test_metrics_are_told_in_the_format_of_prometheus(developing: httpx.AsyncClient) -> None:
    answer = await developing.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    told = set(re.findall(r"^# TYPE (\S+) ", answer.text, re.MULTILINE))
    for metric in METRICS:
        assert {metric._name, f"{metric._name}_total"} & told, metric


async def test_a_client_that_asks_for_openmetrics_gets_it(developing: httpx.AsyncClient) -> None:
    answer = await developing.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


async def test_without_a_word_no_metrics_are_told_to_the_public(served: House) -> None:
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
async def test_requests_are_measured_by_the_template_of_their_route(
    served: House, method: str, path: str, route: str, status: int
) -> None:
    label = "other" if method == "PROPFIND" else method
    before = counted(label, route, status)
    answer = await served.http.request(method, path, headers=served.one.headers["account"])
    assert answer.status_code == status
    assert counted(label, route, status) == before + 1


def test_labels_have_few_values() -> None:
    names = {name for metric in METRICS for name in metric._labelnames}
    assert names == {"code", "recovered", "limit", "policy", "type", "method", "route", "status", "kind", "outcome"}


async def test_metrics_have_a_port_of_their_own(home: Home, unused_tcp_port: int) -> None:
    async with (
        gateway(folder=home.folder, METRICS_PORT=str(unused_tcp_port), **AT_ONCE) as one,
        httpx.AsyncClient(base_url=one.url) as client,
        httpx.AsyncClient() as inside,
    ):
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/metrics")).status_code == 404
        told = (await inside.get(f"http://127.0.0.1:{unused_tcp_port}/metrics")).text
        assert f'{REQUESTS}_count{{method="GET",route="/healthz",status="200"}} 1.0' in told


async def test_the_gateways_own_port_tells_metrics_where_the_settings_say_so(home: Home, unused_tcp_port: int) -> None:
    ports = dict.fromkeys(("PORT", "METRICS_PORT"), str(unused_tcp_port))
    async with gateway(folder=home.folder, **ports, **AT_ONCE) as one, httpx.AsyncClient(base_url=one.url) as client:
        assert REQUESTS in (await client.get("/metrics")).text
