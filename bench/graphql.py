"""GraphQL over HTTP: the server's processor time for each request, and the requests per second.

Each server has one core; the load generator and PostgreSQL use the others. The first table compares the gateway's
executor and endpoint, plain Strawberry and Mercurius on the same rows in memory. Each of them looks up a token. The
second table compares the complete gateway, with login, permissions and tenancy, and PostGraphile, which has none of
these, on the same PostgreSQL tables. Its floor is the same work by hand, with no checks (`bench/bare_postgresql.py`).
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
from bench.gateway import BENCH_SETTINGS
from bench.goals import Judgement, at_least, at_most, print_goals
from bench.homes import START, seeded_homes
from bench.load import BenchQuery, open_load
from bench.pinned import PinnedProcess, cores, pinned_process
from bench.table import console, print_table
from tests.support.node import Node, NoNode, node
from tests.support.servers import database_on, postgresql
from wattgate.app.settings import Settings

ROUNDS = 3
"""The number of rounds. Each round measures all servers in turn; the tables show medians."""

MIN_BUSY_SHARE = 0.9
"""If a server is busy for a smaller share of the time, its rate is limited by something else."""

OURS, PLAIN, JIT, POSTGRAPHILE = "wattgate", "plain Strawberry", "Mercurius, JIT", "PostGraphile"
FLOOR = "by hand"
"""The floor of the cost: the same work by plain code, without GraphQL, permissions, limits and metrics."""

PRODUCTION = {"NODE_ENV": "production"}

MEMORY_GOALS = {
    "hello": at_most(1.5, "hello in memory: processor, x Mercurius with JIT"),
    "home": at_most(2, "home in memory: processor, x Mercurius with JIT"),
    "readings": at_most(0.8, "384 readings in memory: processor, x Mercurius with JIT"),
    "tree": at_most(0.95, "tree in memory: processor, x Mercurius with JIT"),
}
DATABASE_GOALS = {
    "home": at_least(2, "home from PostgreSQL: requests/s, x PostGraphile"),
    "month, objects": at_least(1.6, "month as objects from PostgreSQL: requests/s, x PostGraphile"),
    "month, columns": at_least(4, "month as columns from PostgreSQL: requests/s, x PostGraphile"),
}

HOME = """query ($id: ID!) {
  home(homeId: $id) {
    homeId name city timeZone
    resources {
      resourceId name classifier baseUnit type { name label } current { at value }
      tariff { name rate { amount } }
    }
  }
}"""
MONTH = """query ($id: ID!, $range: TimeRange!) {
  resource(resourceId: $id) { readings(range: $range, period: PT30M) { %s { start value } } }
}"""
POSTGRAPHILE_HOME = """query ($id: String!) {
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
POSTGRAPHILE_MONTH = """query ($id: String!) {
  resourceByResourceId(resourceId: $id) {
    readingsByResourceNumber(condition: {field: 0}, orderBy: AT_ASC) { nodes { at value } }
  }
}"""


@dataclass(frozen=True)
class RunSize:
    """The seconds of warm-up and measurement, the homes in the database, and the readings of each resource."""

    warm: float = 1.0
    seconds: float = 2.0
    homes: int = 20
    samples: int = 31 * 48


@dataclass(frozen=True)
class HttpContender:
    """A server to measure: its command and environment, the queries, and the tokens of requests if it checks them."""

    name: str
    command: tuple[str | Path, ...]
    queries: Sequence[BenchQuery]
    tokens: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> AbstractAsyncContextManager[PinnedProcess]:
        """Start the server on its core."""
        return pinned_process(*self.command, **self.environment)


@dataclass(frozen=True)
class HttpFigures:
    """The results of a run.

    `cpu` is the server's processor time for a request in µs, `rate` the requests per second, and `busy` the share of
    the time in which the server used its core.
    """

    cpu: float
    rate: float
    busy: float


FiguresByServer = Mapping[str, Mapping[str, HttpFigures]]
"""Figures by server and query."""


async def bench_graphql() -> list[Judgement]:
    """Measure all servers in turn, first in memory, then on PostgreSQL. Return the figures that have goals."""
    _, others = cores()
    os.sched_setaffinity(0, others)
    size = RunSize()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wattgate-bench-")))
        node_runtime = _enter_node(stack)
        judgements = _print_memory_table(await measure_in_turns(memory_contenders(folder, node_runtime), size))
        (folder / "postgresql").mkdir()
        server = stack.enter_context(postgresql(folder / "postgresql"))
        url = await stack.enter_async_context(database_on(server))
        contenders = await stack.enter_async_context(database_contenders(url, node_runtime, size))
        return judgements + _print_database_table(await measure_in_turns(contenders, size))


def _enter_node(stack: AsyncExitStack) -> Node | None:
    try:
        return stack.enter_context(node(Path(__file__).parent / "node"))
    except NoNode as missing:
        console.print(f"Node servers are skipped: {missing}")
        return None


def memory_contenders(folder: Path, node_runtime: Node | None) -> list[HttpContender]:
    """Return the servers that keep the sample in memory. Write the sample to a file in the folder."""
    path, built_sample, queries = folder / "sample.json", sample.build_sample(), sample.queries()
    path.write_bytes(orjson.dumps(built_sample))
    tokens = list(built_sample["tokens"])

    def contender(name: str, *command: str | Path, **environment: str) -> HttpContender:
        return HttpContender(name, command, queries, tokens, {sample.PATH: str(path), **environment})

    ours = contender(OURS, sys.executable, "-m", "bench.engine_server", **BENCH_SETTINGS)
    plain = contender(PLAIN, sys.executable, "-m", "bench.plain_graphql")
    floor = contender(FLOOR, sys.executable, "-m", "bench.bare_memory")
    if node_runtime is None:
        return [ours, plain, floor]
    mercurius = _node_command(node_runtime, "memory.mjs")
    return [
        ours,
        plain,
        floor,
        *(contender(name, *mercurius, JIT=jit, **PRODUCTION) for name, jit in (("Mercurius", "0"), (JIT, "1"))),
    ]


def _node_command(node_runtime: Node, script: str) -> tuple[str | Path, ...]:
    return node_runtime.executable, node_runtime.folder / script


@asynccontextmanager
async def database_contenders(url: str, node_runtime: Node | None, size: RunSize) -> AsyncIterator[list[HttpContender]]:
    """Fill an empty PostgreSQL database and yield the servers that use it."""
    async with seeded_homes(
        Settings(_env_file=None, database_url=url), count=size.homes, samples=size.samples
    ) as seeded:
        range_ = {"start": START.isoformat(), "end": START.replace(month=2).isoformat()}
        months = [{"id": resource_id, "range": range_} for resource_id in seeded.owner.resource_ids]
        queries = _queries((HOME, MONTH % "buckets", MONTH % "columns"), seeded.ids, months)
        command: tuple[str | Path, ...] = (sys.executable, "-m", "wattgate", "serve")
        environment = {"WATTGATE_DATABASE_URL": url, **BENCH_SETTINGS}
        contenders = [HttpContender(OURS, command, queries, seeded.tokens, environment)]
        floor, environment = (sys.executable, "-m", "bench.bare_postgresql"), {"DATABASE_URL": _plain_url(url)}
        contenders.append(HttpContender(FLOOR, floor, queries, environment=environment))
        if node_runtime is not None:
            queries = _queries((POSTGRAPHILE_HOME, POSTGRAPHILE_MONTH, POSTGRAPHILE_MONTH), seeded.ids, months)
            command, environment = (
                _node_command(node_runtime, "postgraphile.mjs"),
                {"DATABASE_URL": _plain_url(url), **PRODUCTION},
            )
            contenders.append(HttpContender(POSTGRAPHILE, command, queries, environment=environment))
        yield contenders


def _queries(
    documents: tuple[str, str, str], home_ids: Sequence[str], months: Sequence[Mapping[str, Any]]
) -> list[BenchQuery]:
    home, objects, columns = documents
    return [
        BenchQuery("home", home, [{"id": home_id} for home_id in home_ids], 16),
        BenchQuery("month, objects", objects, months, 8),
        BenchQuery("month, columns", columns, months, 8),
    ]


def _plain_url(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


async def measure_in_turns(contenders: Sequence[HttpContender], size: RunSize) -> FiguresByServer:
    """Return the median figures of each server. Each round measures the servers in turn."""
    runs: dict[str, dict[str, list[HttpFigures]]] = {contender.name: defaultdict(list) for contender in contenders}
    for _ in range(ROUNDS):
        for contender in contenders:
            async with contender.start() as server:
                for name, figures in (await measure(server, contender, size)).items():
                    runs[contender.name][name].append(figures)
    return {name: {query: _median(figures) for query, figures in by_query.items()} for name, by_query in runs.items()}


async def measure(server: PinnedProcess, contender: HttpContender, size: RunSize) -> dict[str, HttpFigures]:
    """Measure a running server and return its figures for each query."""
    return {query.name: await _measure_query(server, query, contender.tokens, size) for query in contender.queries}


async def _measure_query(server: PinnedProcess, query: BenchQuery, tokens: Sequence[str], size: RunSize) -> HttpFigures:
    async with open_load(server.port, query.requests(tokens), connections=query.connections) as clients:
        await clients.run(size.warm)
        cpu_before = server.cpu_seconds
        result = await clients.run(size.seconds)
        cpu_seconds = server.cpu_seconds - cpu_before
    return HttpFigures(cpu_seconds / result.count * 1e6, result.count / result.seconds, cpu_seconds / result.seconds)


def _median(runs: Sequence[HttpFigures]) -> HttpFigures:
    return HttpFigures(*map(statistics.median, zip(*map(astuple, runs), strict=True)))


def _print_memory_table(figures_by_server: FiguresByServer) -> list[Judgement]:
    """Print the table of the servers in memory. Return the ratios of processor time that have goals."""
    ours, judgements = figures_by_server[OURS], list[Judgement]()
    rows = [
        (name, *(cell for query in ours for cell in _cells(figures[query], ours[query])))
        for name, figures in figures_by_server.items()
    ]
    if theirs := figures_by_server.get(JIT):
        judgements = [(goal, ours[query].cpu / theirs[query].cpu) for query, goal in MEMORY_GOALS.items()]
    columns = ("server", *(column for query in ours for column in (f"{query}: µs", "x", "req/s")))
    print_table("GraphQL in memory, with a token: the server's processor for each request", columns, rows)
    _print_memory_goals(figures_by_server, judgements)
    _print_footnote(figures_by_server)
    return judgements


def _print_memory_goals(figures_by_server: FiguresByServer, judgements: Sequence[Judgement]) -> None:
    """Print each goal beside the floor: what the same work costs by hand, and the gateway as a multiple of that."""
    ours, floor, theirs = (figures_by_server.get(name) for name in (OURS, FLOOR, JIT))
    if ours is None or floor is None or theirs is None:
        return
    rows = [
        (
            query,
            f"{ratio:.2f}",
            goal.verdict(ratio),
            f"{floor[query].cpu / theirs[query].cpu:.2f}",
            f"{ours[query].cpu / floor[query].cpu:.2f}",
        )
        for query, (goal, ratio) in zip(MEMORY_GOALS, judgements, strict=True)
    ]
    columns = ("query", f"{OURS}: x {JIT}", "goal", f"{FLOOR}: x {JIT}", f"{OURS}: x {FLOOR}")
    print_table(
        f"GraphQL in memory: goals, and the same work {FLOOR}, without GraphQL, permissions, limits and metrics",
        columns,
        rows,
    )


def _print_database_table(figures_by_server: FiguresByServer) -> list[Judgement]:
    """Print the table of the servers on PostgreSQL. Return the ratios of rates that have goals."""
    floor, theirs = figures_by_server[FLOOR], figures_by_server.get(POSTGRAPHILE, {})
    judgements = list[Judgement]()
    rows = []
    for query, ours in figures_by_server[OURS].items():
        row = [query, f"{ours.cpu:,.0f}", _format_rate(ours), f"{floor[query].cpu:,.0f}", _format_rate(floor[query])]
        if other := theirs.get(query):
            goal, ratio = DATABASE_GOALS[query], ours.rate / other.rate
            judgements.append((goal, ratio))
            row += [f"{other.cpu:,.0f}", _format_rate(other), f"{floor[query].rate / other.rate:.2f}"]
            row += [f"{ratio:.2f}", goal.verdict(ratio)]
        rows.append(tuple(row))
    columns: tuple[str, ...] = ("query", f"{OURS}: µs", "req/s", f"{FLOOR}: µs", "req/s")
    columns += (f"{POSTGRAPHILE}: µs", "req/s", f"x {FLOOR}", "x", "goal")
    print_table("GraphQL from PostgreSQL", columns[: len(rows[0])], rows)
    console.print(f"{OURS} checks tokens, permissions and tenants; {POSTGRAPHILE} does not authenticate requests.")
    console.print(f"{FLOOR}: the same statements, driver and answers in the least Python code, without any check.")
    _print_footnote(figures_by_server)
    return judgements


def _cells(figures: HttpFigures, ours: HttpFigures) -> tuple[str, str, str]:
    return f"{figures.cpu:,.0f}", f"{figures.cpu / ours.cpu:.2f}", _format_rate(figures)


def _format_rate(figures: HttpFigures) -> str:
    return f"{figures.rate:,.0f}" + ("" if figures.busy >= MIN_BUSY_SHARE else "*")


def _print_footnote(figures_by_server: FiguresByServer) -> None:
    if any(
        figures.busy < MIN_BUSY_SHARE
        for server_figures in figures_by_server.values()
        for figures in server_figures.values()
    ):
        console.print(
            f"* The server was busy for less than {MIN_BUSY_SHARE:.0%} of the time: the load, the database or"
            " other work limited its rate."
        )
    console.print()


if __name__ == "__main__":
    print_goals(uvloop.run(bench_graphql()))
