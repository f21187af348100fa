"""The benchmark of GraphQL over HTTP in its smallest form: what is measured is answered. No time is judged."""

import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.graphql import Contender, Size, in_database, in_memory, measured
from bench.load import load
from bench.pinned import cores, pinned
from tests.support.node import Node, node
from tests.support.servers import database_on

SHORT = Size(warm=0, seconds=0.05, homes=1, samples=48)
NODE = Path("bench/node")
HTTP = f"exec {sys.executable} -m http.server --bind 127.0.0.1 $PORT"


async def answers(contender: Contender) -> dict[str, Any]:
    """What a server answers to each question, once it has been measured. One that looks at tokens refuses others."""
    async with contender.started() as server:
        assert all(one.rate > 0 for one in (await measured(server, contender, SHORT)).values())
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as http:
            told = {}
            for question in contender.questions:
                asked = {"query": question.document, "variables": question.variables[0]}
                good = {"token": contender.tokens[0]} if contender.tokens else {}
                told[question.name] = (await http.post("/graphql", json=asked, headers=good)).json()["data"]
                if good:
                    assert (await http.post("/graphql", json=asked, headers={"token": "another"})).is_error
    return told


def fields(answer: Any) -> int:
    """How many fields an answer has, at every depth."""
    if isinstance(answer, dict):
        return len(answer) + sum(map(fields, answer.values()))
    return sum(map(fields, answer)) if isinstance(answer, list) else 0


async def test_the_executor_and_plain_strawberry_answer_alike(tmp_path: Path) -> None:
    ours, plain = [await answers(one) for one in in_memory(tmp_path, None)]
    assert ours == plain
    assert fields(ours["home"]) == 58
    assert len(ours["readings"]["readings"]) == 384
    homes = ours["tree"]["homes"]
    assert [len(homes), len(homes[0]["resources"]), len(homes[0]["resources"][0]["readings"])] == [20, 4, 5]


async def test_mercurius_answers_alike(tmp_path: Path, node_scripts: Node) -> None:
    with node(NODE) as found:
        ours, _, *others = in_memory(tmp_path, found)
        expected = await answers(ours)
        for contender in others:
            assert await answers(contender) == expected


async def test_the_gateway_answers_from_its_database(postgresql_url: str) -> None:
    async with database_on(postgresql_url) as url, in_database(url, None, SHORT) as (ours,):
        told = await answers(ours)
    assert fields(told["home"]) == 58
    for name, of in (("month, objects", "buckets"), ("month, columns", "columns")):
        readings = told[name]["readings"][of]
        assert len(readings if of == "buckets" else readings["value"]) == 31 * 48


async def test_postgraphile_answers_from_the_same_tables(postgresql_url: str, node_scripts: Node) -> None:
    with node(NODE) as found:
        async with database_on(postgresql_url) as url, in_database(url, found, SHORT) as (_, theirs):
            told = await answers(theirs)
    resources = told["home"]["virtualEntityByVeId"]["virtualEntityResourcesByVeId"]["nodes"]
    assert [len(one["resourceByResourceId"]["tariffsByResourceId"]["nodes"]) for one in resources] == [1, 1, 1, 1]
    readings = told["month, columns"]["resourceByResourceId"]["readingsByResourceNumber"]["nodes"]
    assert len(readings) == SHORT.samples


async def test_a_load_that_is_refused_gives_no_figures(tmp_path: Path) -> None:
    ours = in_memory(tmp_path, None)[0]
    async with ours.started() as server:
        for question, token in ((ours.questions[0], "another"), (ours.questions[1], ours.tokens[0])):
            wrong = [one.replace(b"home-", b"room-") for one in question.requests([token])]
            async with load(server.port, wrong, connections=2) as clients:
                with pytest.raises(RuntimeError, match=r"refused|errors"):
                    await clients.run(0.05)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
async def test_what_is_measured_has_a_core_of_its_own() -> None:
    before = os.sched_getaffinity(0)
    own, others = cores()
    os.sched_setaffinity(0, others)
    try:
        async with pinned("sh", "-c", HTTP) as server:
            assert os.sched_getaffinity(server.process.pid) == own
            assert not own & os.sched_getaffinity(0)
    finally:
        os.sched_setaffinity(0, before)
