"""GraphQL over HTTP: what a request costs the server, and how many it answers in a second.

Each server has one core; its load, and PostgreSQL, have another. Side by side: the gateway's executor and endpoint,
plain Strawberry and Mercurius, on the same rows in memory, each with a look at a table of tokens; then the gateway as
it is served, with log-in, permissions and tenancy, and PostGraphile, which has none of these, on the same tables.
"""

import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvloop
from sqlalchemy.engine import make_url

from bench import sample
from bench.gateway import SERVED
from bench.homes import START, homes
from bench.load import Question, load
from bench.pinned import Pinned, cores, pinned
from bench.table import console, show
from tests.support.node import Node, NoNode, node
from tests.support.servers import database_on, postgresql
from wattgate.app.settings import Settings

ROUNDS = 3
"""How often each server is measured, one after another in each round; the median counts."""

FULL = 0.9
"""A server that works for less than this share of the time is not what bounds its rate."""

OURS, PLAIN, JIT, POSTGRAPHILE = "wattgate", "plain Strawberry", "Mercurius, JIT", "PostGraphile"

PRODUCTION = {"NODE_ENV": "production"}

GOALS = {"home": 1.5, "month, columns": 4}
"""How many times as many requests a second as PostGraphile."""

HOME = """query ($id: ID!) {
  virtualEntity(veId: $id) {
    veId name city timeZone
    resources {
      resourceId name classifier baseUnit type { name label } current { at value } tariff { name rate }
    }
  }
}"""
MONTH = """query ($id: ID!, $range: TimeRange!) {
  readings(resourceId: $id, range: $range, period: PT30M) { %s { start value } }
}"""
THEIR_HOME = """query ($id: String!) {
  virtualEntityByVeId(veId: $id) {
    veId name city timeZone
    virtualEntityResourcesByVeId {
      nodes {
        resourceByResourceId {
          resourceId name classifier baseUnit
          resourceTypeByResourceTypeId { name label }
          readingsByResourceNumber(first: 1, orderBy: AT_DESC, condition: {field: 0}) { nodes { at value } }
          tariffsByResourceId(first: 1, orderBy: VERSION_DESC) { nodes { name rate } }
        }
      }
    }
  }
}"""
THEIR_MONTH = """query ($id: String!) {
  resourceByResourceId(resourceId: $id) {
    readingsByResourceNumber(condition: {field: 0}, orderBy: AT_ASC) { nodes { at value } }
  }
}"""


@dataclass(frozen=True)
class Size:
    """Seconds of warming up and of measuring; homes in the database, and the readings of each of their resources."""

    warm: float = 1.0
    seconds: float = 2.0
    homes: int = 20
    samples: int = 31 * 48


@dataclass(frozen=True)
class Contender:
    """A server to measure: how it is started, what it is asked, and the tokens that are shown, if it looks at any."""

    name: str
    command: tuple[str | Path, ...]
    questions: Sequence[Question]
    tokens: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def started(self) -> AbstractAsyncContextManager[Pinned]:
        """The server, on its core."""
        return pinned(*self.command, **self.environment)


@dataclass(frozen=True)
class Figures:
    """What one run has told: microseconds of the server's processor for a request, requests a second, and the share
    of the time in which the server has worked."""

    cpu: float
    rate: float
    busy: float


Told = Mapping[str, Mapping[str, Figures]]
"""By server and question."""


async def bench_graphql() -> None:
    """In memory, then from PostgreSQL: all servers, in turns."""
    _, others = cores()
    os.sched_setaffinity(0, others)
    size = Size()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wattgate-bench-")))
        found = _node(stack)
        _show_memory(await in_turns(in_memory(folder, found), size))
        (folder / "postgresql").mkdir()
        server = stack.enter_context(postgresql(folder / "postgresql"))
        url = await stack.enter_async_context(database_on(server))
        contenders = await stack.enter_async_context(in_database(url, found, size))
        _show_database(await in_turns(contenders, size))


def _node(stack: AsyncExitStack) -> Node | None:
    try:
        return stack.enter_context(node(Path(__file__).parent / "node"))
    except NoNode as missing:
        console.print(f"The servers of Node are left out: {missing}")
        return None


def in_memory(folder: Path, found: Node | None) -> list[Contender]:
    """Those that have the sample in memory, which stands in a file of the folder."""
    path, made, questions = folder / "sample.json", sample.sample(), sample.questions()
    path.write_bytes(orjson.dumps(made))
    tokens = list(made["tokens"])

    def one(name: str, *command: str | Path, **environment: str) -> Contender:
        return Contender(name, command, questions, tokens, {sample.PATH: str(path), **environment})

    ours = one(OURS, sys.executable, "-m", "bench.engine_server")
    plain = one(PLAIN, sys.executable, "-m", "bench.plain_graphql")
    if found is None:
        return [ours, plain]
    mercurius = _of_node(found, "memory.mjs")
    return [
        ours,
        plain,
        *(one(name, *mercurius, JIT=jit, **PRODUCTION) for name, jit in (("Mercurius", "0"), (JIT, "1"))),
    ]


def _of_node(found: Node, script: str) -> tuple[str | Path, ...]:
    return found.executable, found.folder / script


@asynccontextmanager
async def in_database(url: str, found: Node | None, size: Size) -> AsyncIterator[list[Contender]]:
    """Those that have the same tables, in an empty PostgreSQL database."""
    async with homes(Settings(_env_file=None, database_url=url), count=size.homes, samples=size.samples) as made:
        span = {"start": START.isoformat(), "end": START.replace(month=2).isoformat()}
        months = [{"id": one, "range": span} for one in made.owner.resource_ids]
        questions = _questions((HOME, MONTH % "buckets", MONTH % "columns"), made.ids, months)
        command: tuple[str | Path, ...] = (sys.executable, "-m", "wattgate", "serve")
        environment = {"WATTGATE_DATABASE_URL": url, **SERVED}
        contenders = [Contender(OURS, command, questions, made.tokens, environment)]
        if found is not None:
            questions = _questions((THEIR_HOME, THEIR_MONTH, THEIR_MONTH), made.ids, months)
            command, environment = _of_node(found, "postgraphile.mjs"), {"DATABASE_URL": _plain_url(url), **PRODUCTION}
            contenders.append(Contender(POSTGRAPHILE, command, questions, environment=environment))
        yield contenders


def _questions(
    documents: tuple[str, str, str], home_ids: Sequence[str], months: Sequence[Mapping[str, Any]]
) -> list[Question]:
    home, objects, columns = documents
    return [
        Question("home", home, [{"id": one} for one in home_ids], 16),
        Question("month, objects", objects, months, 8),
        Question("month, columns", columns, months, 8),
    ]


def _plain_url(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


async def in_turns(contenders: Sequence[Contender], size: Size) -> Told:
    """The median figures of each server, measured one after another in each round."""
    told: dict[str, dict[str, list[Figures]]] = {one.name: defaultdict(list) for one in contenders}
    for _ in range(ROUNDS):
        for contender in contenders:
            async with contender.started() as server:
                for name, figures in (await measured(server, contender, size)).items():
                    told[contender.name][name].append(figures)
    return {
        name: {question: _median(some) for question, some in by_question.items()} for name, by_question in told.items()
    }


async def measured(server: Pinned, contender: Contender, size: Size) -> dict[str, Figures]:
    """One run of a server: its figures for each question."""
    return {one.name: await _figures(server, one, contender.tokens, size) for one in contender.questions}


async def _figures(server: Pinned, question: Question, tokens: Sequence[str], size: Size) -> Figures:
    async with load(server.port, question.requests(tokens), connections=question.connections) as clients:
        await clients.run(size.warm)
        begun = server.cpu
        served = await clients.run(size.seconds)
        used = server.cpu - begun
    return Figures(used / served.count * 1e6, served.count / served.seconds, used / served.seconds)


def _median(some: Sequence[Figures]) -> Figures:
    return Figures(*map(statistics.median, zip(*map(astuple, some), strict=True)))


def _show_memory(told: Told) -> None:
    ours = told[OURS]
    rows = [
        (name, *(cell for one in ours for cell in _beside(figures[one], ours[one]))) for name, figures in told.items()
    ]
    for other, share, of in ((JIT, 1, JIT), (PLAIN, 15, f"{PLAIN} / 15")):
        if other in told:
            judged = [one for one in ours if share == 1 or one != "hello"]
            met = {one: _verdict(ours[one].cpu * share <= told[other][one].cpu) for one in judged}
            rows.append((f"goal: <= {of}", *(cell for one in ours for cell in (met.get(one, ""), "", ""))))
    columns = ("server", *(column for one in ours for column in (f"{one}: µs", "x", "req/s")))
    show("GraphQL in memory, with a token: the server's processor for each request", columns, rows)
    _explain(told)


def _show_database(told: Told) -> None:
    theirs = told.get(POSTGRAPHILE, {})
    rows = []
    for question, ours in told[OURS].items():
        row = [question, f"{ours.cpu:,.0f}", _rate(ours)]
        if other := theirs.get(question):
            ratio, goal = ours.rate / other.rate, GOALS.get(question)
            row += [f"{other.cpu:,.0f}", _rate(other), f"{ratio:.2f}"]
            row.append(f">= {goal}: {_verdict(ratio >= goal)}" if goal else "")
        rows.append(tuple(row))
    columns = ("question", f"{OURS}: µs", "req/s", f"{POSTGRAPHILE}: µs", "req/s", "x", "goal")
    show("GraphQL from PostgreSQL", columns[: len(rows[0])], rows)
    console.print(f"{OURS} logs in, checks and keeps tenants apart; {POSTGRAPHILE} asks nobody who he is.")
    _explain(told)


def _beside(one: Figures, ours: Figures) -> tuple[str, str, str]:
    return f"{one.cpu:,.0f}", f"{one.cpu / ours.cpu:.2f}", _rate(one)


def _rate(one: Figures) -> str:
    return f"{one.rate:,.0f}" + ("" if one.busy >= FULL else "*")


def _verdict(met: bool) -> str:
    return "met" if met else "not met"


def _explain(told: Told) -> None:
    if any(one.busy < FULL for figures in told.values() for one in figures.values()):
        console.print(f"* It worked for less than {FULL:.0%} of the time: load, database or other work set the rate.")
    console.print()


if __name__ == "__main__":
    uvloop.run(bench_graphql())
