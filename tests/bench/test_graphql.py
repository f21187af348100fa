"""The benchmark of GraphQL over HTTP at its smallest size. Tests check the responses, never the times."""

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.graphql import HttpContender, RunSize, database_contenders, measure, memory_contenders
from bench.load import open_load
from bench.pinned import PinnedProcess, cores, pinned_process
from tests.support.node import Node, node
from tests.support.schema import bring_up
from tests.support.servers import database_on, serving
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings

SHORT = RunSize(warm=0, seconds=0.05, homes=1, samples=48)
NODE = Path("bench/node")
HTTP = f"exec {sys.executable} -m http.server --bind 127.0.0.1 $PORT"


async def measure_and_query(contender: HttpContender) -> dict[str, Any]:
    """Start and measure a server. Return its data for each query."""
    async with contender.start() as server:
        return await measure_running(server, contender)


async def measure_running(server: PinnedProcess, contender: HttpContender) -> dict[str, Any]:
    """Measure a server and return its data for each query. A server with tokens must refuse an unknown token."""
    assert all(figures.rate > 0 for figures in (await measure(server, contender, SHORT)).values())
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as http:
        data_by_query = {}
        for query in contender.queries:
            body = {"query": query.document, "variables": query.variables[0]}
            headers = {"token": contender.tokens[0]} if contender.tokens else {}
            data_by_query[query.name] = (await http.post("/graphql", json=body, headers=headers)).json()["data"]
            if headers:
                assert (await http.post("/graphql", json=body, headers={"token": "another"})).is_error
    return data_by_query


@dataclass(frozen=True)
class InMemory:
    """The running executor of the gateway in memory, and its data for each query."""

    contender: HttpContender
    server: PinnedProcess
    data: dict[str, Any]


@pytest.fixture(scope="module")
async def ours(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InMemory]:
    """The executor of the gateway, which takes seconds to start."""
    contender = memory_contenders(tmp_path_factory.mktemp("memory"), None)[0]
    async with contender.start() as server:
        yield InMemory(contender, server, await measure_running(server, contender))


def fields(response: Any) -> int:
    """Return the number of fields in a response, at every depth."""
    if isinstance(response, dict):
        return len(response) + sum(map(fields, response.values()))
    return sum(map(fields, response)) if isinstance(response, list) else 0


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_gateway_executor_plain_strawberry_and_the_floor_return_equal_data(
    ours: InMemory, tmp_path: Path
) -> None:
    _, *others = memory_contenders(tmp_path, None)
    plain, floor = [await measure_and_query(contender) for contender in others]
    assert ours.data == plain == floor
    assert fields(ours.data["home"]) == 58
    assert len(ours.data["readings"]["readings"]) == 384
    homes = ours.data["tree"]["homes"]
    assert [len(homes), len(homes[0]["resources"]), len(homes[0]["resources"][0]["readings"])] == [20, 4, 5]


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_server_in_memory_answers_with_the_headers_of_the_gateway(ours: InMemory, tmp_path: Path) -> None:
    app = create_app(Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/served.sqlite3"))
    await bring_up(app.state.gateway.database)
    async with serving(app) as served_url:
        for headers in ({}, {"authorization": "Own x"}):
            in_memory, served = [
                await response_of(url, headers) for url in (f"http://127.0.0.1:{ours.server.port}", served_url)
            ]
            assert in_memory == served


async def response_of(url: str, headers: dict[str, str]) -> tuple[int, list[str]]:
    """Return the status and the names of the headers of a response."""
    async with httpx.AsyncClient(base_url=url, headers=headers) as http:
        response = await http.post("/graphql", json={"query": "{ __typename }"})
    return response.status_code, list(response.headers)


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_mercurius_returns_the_same_data_as_the_gateway_executor(
    ours: InMemory, tmp_path: Path, node_scripts: Node
) -> None:
    with node(NODE) as node_runtime:
        _, _, _, *others = memory_contenders(tmp_path, node_runtime)
        assert len(others) == 2
        for contender in others:
            assert await measure_and_query(contender) == ours.data


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_gateway_and_the_floor_return_the_home_and_month_from_postgresql(postgresql_url: str) -> None:
    async with database_on(postgresql_url) as url, database_contenders(url, None, SHORT) as (ours, floor):
        data = await measure_and_query(ours)
        by_hand = await measure_and_query(floor)
    assert by_hand["home"] == data["home"]
    buckets, columns = (data[name]["resource"]["readings"] for name in ("month, objects", "month, columns"))
    stored = slice(SHORT.samples)
    assert by_hand["month, objects"]["readings"]["buckets"] == buckets["buckets"][stored]
    stored_columns = {name: values[stored] for name, values in columns["columns"].items()}
    assert by_hand["month, columns"]["readings"]["columns"] == stored_columns
    assert fields(data["home"]) == 62
    for name, shape in (("month, objects", "buckets"), ("month, columns", "columns")):
        readings = data[name]["resource"]["readings"][shape]
        assert len(readings if shape == "buckets" else readings["value"]) == 31 * 48


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_postgraphile_returns_data_from_the_same_tables(postgresql_url: str, node_scripts: Node) -> None:
    with node(NODE) as node_runtime:
        async with (
            database_on(postgresql_url) as url,
            database_contenders(url, node_runtime, SHORT) as (_, _, postgraphile),
        ):
            data = await measure_and_query(postgraphile)
    resources = data["home"]["virtualEntityByVeId"]["virtualEntityResourcesByVeId"]["nodes"]
    assert [len(resource["resourceByResourceId"]["tariffsByResourceId"]["nodes"]) for resource in resources] == [
        1,
        1,
        1,
        1,
    ]
    readings = data["month, columns"]["resourceByResourceId"]["readingsByResourceNumber"]["nodes"]
    assert len(readings) == SHORT.samples


@pytest.mark.long("measures real servers, which is a test of the benchmark and not of the gateway")
async def test_load_run_fails_if_the_server_returns_errors(ours: InMemory) -> None:
    queries, tokens = ours.contender.queries, ours.contender.tokens
    for query, token in ((queries[0], "another"), (queries[1], tokens[0])):
        bad_requests = [request.replace(b"home-", b"room-") for request in query.requests([token])]
        async with open_load(ours.server.port, bad_requests, connections=2) as clients:
            with pytest.raises(RuntimeError, match=r"refused|errors"):
                await clients.run(0.05)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
async def test_pinned_process_runs_on_its_own_core() -> None:
    before = os.sched_getaffinity(0)
    own_cores, others = cores()
    os.sched_setaffinity(0, others)
    try:
        async with pinned_process("sh", "-c", HTTP) as server:
            assert os.sched_getaffinity(server.process.pid) == own_cores
            assert not own_cores & os.sched_getaffinity(0)
    finally:
        os.sched_setaffinity(0, before)
