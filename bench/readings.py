"""Writes and reads of readings, compared with the database's own driver."""

import asyncio
import io
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pyarrow as pa
from sqlalchemy import event, insert

from bench import bare_bulk, mqtt
from bench.database_driver import Driver, open_driver
from bench.gateway import SeededGateway, ServedGateway, served_gateway
from bench.goals import Judgement, at_least
from bench.table import print_table
from tests.support.servers import database_on, postgresql
from wattgate.clock import TimeRange, format_iso_ms, from_ms, to_ms
from wattgate.db.models import Reading
from wattgate.db.readings import partitions
from wattgate.energy.buckets import DAY_MS
from wattgate.enums import Period, Times
from wattgate.operations.readings import readings
from wattgate.operations.readings.files.file_import import import_csv
from wattgate.reading_files.profiles import ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

HALF_HOUR = 30 * 60 * 1000
START = to_ms(datetime(2025, 1, 1, tzinfo=UTC))
RESOURCES_PER_PATH, SAMPLES_PER_RESOURCE = 40, 5_000
"""The size of each write: 200,000 readings."""

MESSAGES = 20_000
"""The messages that each run over MQTT receives."""

NDJSON_FLOOR = "bulk, NDJSON, parser and plain {kind} only"
MQTT_FLOOR = "MQTT, client library and plain {kind} only"

ROUNDS = 60
"""The number of runs of each query; the table shows medians."""

PLAIN = "plain {kind}, one call"
"""The name of the database's own bulk load in the table. `kind` is COPY or executemany."""

PROFILE_IMPORT = "import with a file profile"

WRITE_GOALS = {
    PROFILE_IMPORT: at_least(1_000_000 / 60, "import with a file profile into PostgreSQL: lines/s"),
    "bulk, NDJSON": at_least(0.5, "bulk NDJSON into PostgreSQL: rows/s, x plain COPY"),
    "recordReadings, 10,000 a call": at_least(100_000, "recordReadings into PostgreSQL: rows/s"),
    "MQTT, one reading a message": at_least(20_000, "MQTT into PostgreSQL: messages/s"),
}
"""The goals of writes to PostgreSQL, by interface."""

RELATIVE_WRITE_GOALS = {"bulk, NDJSON"}
"""The interfaces whose goal is a multiple of the plain load."""

Rows = list[tuple[int, int, int]]
"""The position of the home, the instant in ms, and the scaled value."""


def _build_rows(count: int = SAMPLES_PER_RESOURCE, *, homes: int = RESOURCES_PER_PATH, add: int = 0) -> Rows:
    return [
        (home, START + n * HALF_HOUR, (n * 7919 + home) % 2500 + add) for home in range(homes) for n in range(count)
    ]


async def bench_readings() -> list[Judgement]:
    """Measure writes and reads on PostgreSQL and on SQLite. Return the figures that have goals."""
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder, postgresql(Path(folder)) as server:
        async with database_on(server) as url:
            rates = await _bench_on("PostgreSQL", url)
        await _bench_on("SQLite", f"sqlite:///{folder}/bench.sqlite3")
    plain = rates[PLAIN]
    return [
        (goal, rates[path] / plain if path in RELATIVE_WRITE_GOALS else rates[path])
        for path, goal in WRITE_GOALS.items()
    ]


async def _bench_on(name: str, url: str) -> Mapping[str, float]:
    """Measure writes and reads on a database. Return the rows per second of each way to write."""
    ways_in = 7
    async with served_gateway(url, count=RESOURCES_PER_PATH * ways_in) as gateway, open_driver(url) as driver:
        rates = await _bench_writes(name, gateway, driver)
        await _bench_reads(name, gateway, driver)
    return rates


async def _bench_writes(name: str, gateway: ServedGateway, driver: Driver) -> Mapping[str, float]:
    await _create_partitions(gateway)
    rows = _build_rows()
    unknown_rows = [(10_000_000 + home, 0, at, value, 0, 0, START) for home, at, value in rows]
    plain = await _rate_of(len(rows), driver.insert(unknown_rows))
    kind = "COPY" if name == "PostgreSQL" else "executemany"
    rates = {PLAIN: plain, **dict(await _write_rates(gateway, driver, rows))}
    table = [(path.format(kind=kind), f"{rate:,.0f}", f"{rate / plain:.2f}") for path, rate in rates.items()]
    print_table(f"{name}: writes of up to {len(rows):,} readings", ("interface", "rows/s", f"x plain {kind}"), table)
    return rates


async def _write_rates(gateway: ServedGateway, driver: Driver, rows: Rows) -> list[tuple[str, float]]:
    """Return the readings per second of each interface. Each writes to its own resources."""
    first_resources = iter(range(0, len(gateway.resource_ids), RESOURCES_PER_PATH))
    fewer_rows = rows[: len(rows) // 5]
    first = next(first_resources)
    lines, revised_lines = _ndjson(gateway, rows, first), _ndjson(gateway, _build_rows(add=1), first)
    arrow, csv = _arrow_stream(gateway, rows, next(first_resources)), _csv_file(gateway, rows, next(first_resources))
    tables = _tables(gateway, next(first_resources))
    graphql_calls, rest_calls = (
        _graphql_calls(gateway, fewer_rows, next(first_resources)),
        _rest_calls(gateway, fewer_rows, next(first_resources)),
    )
    resource_id = gateway.resource_ids[next(first_resources)]
    return [
        ("bulk, NDJSON", _rest_rate(gateway, len(rows), [("/readings", lines, "application/x-ndjson")])),
        (
            "bulk, NDJSON, each revised",
            _rest_rate(gateway, len(rows), [("/readings", revised_lines, "application/x-ndjson")]),
        ),
        (NDJSON_FLOOR, await _rate_of(len(rows), bare_bulk.load_lines(driver, lines))),
        ("bulk, Arrow", _rest_rate(gateway, len(rows), [("/readings", arrow, "application/vnd.apache.arrow.stream")])),
        ("CSV import", await _rate_of(len(rows), _import_csv(gateway, csv))),
        (PROFILE_IMPORT, await _rate_of(len(rows), _import_tables(gateway, tables))),
        ("recordReadings, 10,000 a call", _graphql_rate(gateway, len(fewer_rows), graphql_calls)),
        ("POST /resource/.../readings", _rest_rate(gateway, len(fewer_rows), rest_calls)),
        ("MQTT, one reading a message", await mqtt.intake_rate(gateway, resource_id, MESSAGES)),
        (MQTT_FLOOR, await mqtt.floor_rate(driver, MESSAGES)),
    ]


async def _create_partitions(gateway: ServedGateway) -> None:
    """Create the partitions of all months, so that no measured write does it.

    Each gets a reading of an unknown resource, because the gateway's maintenance drops empty partitions.
    """
    if not gateway.gateway.database.is_sqlite:
        instants = range(START, START + 400 * DAY_MS, 28 * DAY_MS)
        async with gateway.gateway.database.engine.begin() as connection:
            await partitions.ensure_partitions(connection, instants)
            row = {"resource_number": 9_999_999, "field": 0, "value": 0, "quality": 0, "revision": 0}
            await connection.execute(insert(Reading), [{**row, "at": at, "received_at": at} for at in instants])


async def _rate_of(count: int, work: Awaitable[Any]) -> float:
    started_at = time.perf_counter()
    await work
    return count / (time.perf_counter() - started_at)


def _rest_rate(gateway: ServedGateway, count: int, calls: list[tuple[str, bytes, str]]) -> float:
    started_at = time.perf_counter()
    recorded = sum(gateway.post(f"/api/v0-1{path}", body, media)["recorded"] for path, body, media in calls)
    assert recorded == count
    return count / (time.perf_counter() - started_at)


def _graphql_rate(gateway: ServedGateway, count: int, calls: list[list[dict[str, Any]]]) -> float:
    document = (
        "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
    )
    started_at = time.perf_counter()
    recorded = sum(gateway.graphql(document, series=series)["recordReadings"]["recorded"] for series in calls)
    assert recorded == count
    return count / (time.perf_counter() - started_at)


def _readings_by_resource(gateway: ServedGateway, rows: Rows, first: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the id and the readings of each resource, as objects of the API."""
    for home in range(RESOURCES_PER_PATH):
        readings = [
            {"at": format_iso_ms(at), "value": value / 1000}
            for home_position, at, value in rows
            if home_position == home
        ]
        if readings:
            yield gateway.resource_ids[first + home], readings


def _graphql_calls(gateway: ServedGateway, rows: Rows, first: int) -> list[list[dict[str, Any]]]:
    """Return calls with two resources each, which are 10,000 readings."""
    series = [
        {"resourceId": resource_id, "readings": readings}
        for resource_id, readings in _readings_by_resource(gateway, rows, first)
    ]
    return [series[n : n + 2] for n in range(0, len(series), 2)]


def _rest_calls(gateway: ServedGateway, rows: Rows, first: int) -> list[tuple[str, bytes, str]]:
    return [
        (f"/resource/{resource_id}/readings", orjson.dumps({"readings": readings}), "application/json")
        for resource_id, readings in _readings_by_resource(gateway, rows, first)
    ]


def _ndjson(gateway: ServedGateway, rows: Rows, first: int) -> bytes:
    ids = gateway.resource_ids[first:]
    return b"\n".join(
        orjson.dumps({"resourceId": ids[home], "at": format_iso_ms(at), "value": value / 1000})
        for home, at, value in rows
    )


def _arrow_stream(gateway: ServedGateway, rows: Rows, first: int) -> bytes:
    ids = gateway.resource_ids[first:]
    columns = {
        "resourceId": pa.array([ids[home] for home, _, _ in rows]).dictionary_encode(),
        "timestamp": pa.array([at for _, at, _ in rows], pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
        "value": pa.array([value / 1000 for _, _, value in rows], pa.float64()),
    }
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=50_000)
    return bytes(sink.getvalue())


def _csv_file(gateway: ServedGateway, rows: Rows, first: int) -> bytes:
    ids = gateway.resource_ids[first:]
    lines = (f"{ids[home]},{format_iso_ms(at)},{value / 1000}\n" for home, at, value in rows)
    return ("resourceId,at,value\n" + "".join(lines)).encode()


def _tables(gateway: ServedGateway, first: int) -> Mapping[str, bytes]:
    """Return a file of each resource as a German spreadsheet writes it, with as many lines in all as the other ways."""
    times = [from_ms(START + n * HALF_HOUR).strftime("%d.%m.%Y %H:%M") for n in range(SAMPLES_PER_RESOURCE)]
    table = "Datum;Verbrauch (kWh)\r\n" + "".join(f"{time};0,{n * 7919 % 1000:03}\r\n" for n, time in enumerate(times))
    return dict.fromkeys(gateway.resource_ids[first : first + RESOURCES_PER_PATH], table.encode())


async def _import_tables(gateway: ServedGateway, tables: Mapping[str, bytes]) -> None:
    profile = with_options(packaged_profile("german-spreadsheet"), ProfileOptions(times=Times.START))
    for resource_id, table in tables.items():
        report = await import_csv(
            io.BytesIO(table),
            run=gateway.gateway.runner.run_as(gateway.system),
            resource_id=resource_id,
            zone=UTC,
            refuse=lambda line, reason: None,
            progress=lambda done: None,
            source=ReadingFile(io.BytesIO(table), profile, UTC),
        )
        assert report.recorded == SAMPLES_PER_RESOURCE


async def _import_csv(gateway: ServedGateway, csv: bytes) -> None:
    report = await import_csv(
        io.BytesIO(csv),
        run=gateway.gateway.runner.run_as(gateway.system),
        resource_id=None,
        zone=UTC,
        refuse=lambda line, reason: None,
        progress=lambda done: None,
    )
    assert report.recorded == report.lines


@dataclass(frozen=True)
class SeriesQuery:
    """A query of a series. `piece` is the longest range that the limits of REST allow."""

    name: str
    start: datetime
    end: datetime
    period: Period
    piece: timedelta


LONDON = ZoneInfo("Europe/London")
YEAR_START = datetime(2025, 1, 1, tzinfo=LONDON)
YEAR_END = datetime(2026, 1, 1, tzinfo=LONDON)
QUERIES = (
    SeriesQuery(
        "a month of half hours",
        datetime(2025, 3, 1, tzinfo=LONDON),
        datetime(2025, 4, 1, tzinfo=LONDON),
        Period.PT30M,
        timedelta(days=10),
    ),
    SeriesQuery("a year by day", YEAR_START, YEAR_END, Period.P1D, timedelta(days=31)),
    SeriesQuery("a year by month", YEAR_START, YEAR_END, Period.P1M, timedelta(days=366)),
)
COLUMNS = """query ($id: ID!, $range: TimeRange!, $period: Period!) { resource(resourceId: $id) {
    readings(range: $range, period: $period, timeZone: "Europe/London") { unit columns { start value quality } } } }"""
OBJECTS = COLUMNS.replace("columns { start value quality }", "buckets { start end value quality }")


async def _bench_reads(name: str, gateway: ServedGateway, driver: Driver) -> None:
    resource_id = gateway.resource_ids[0]
    rows = [row for row in _build_rows(365 * 48, homes=RESOURCES_PER_PATH) if row[0] < 10]
    gateway.post("/api/v0-1/readings", _ndjson(gateway, rows, 0), "application/x-ndjson")
    table = []
    for query in QUERIES:
        statements = await capture_statements(gateway, query)
        await driver.set_scope(gateway.application_id)
        paths: dict[str, Callable[[], Any]] = {
            "columns": partial(_query_graphql, gateway, COLUMNS, query, resource_id),
            "objects": partial(_query_graphql, gateway, OBJECTS, query, resource_id),
            "REST": partial(_query_rest, gateway, query, resource_id),
        }
        durations: dict[str, list[float]] = defaultdict(list)
        for _ in range(ROUNDS):  # all interfaces in each round, so that changes of the machine affect all of them
            started_at = time.perf_counter()
            for statement, parameters in statements:
                await driver.fetch(statement, parameters)
            durations["driver"].append(time.perf_counter() - started_at)
            for path, send in paths.items():
                started_at = time.perf_counter()
                send()
                durations[path].append(time.perf_counter() - started_at)
        plain = statistics.median(durations["driver"])
        ratios = [f"{statistics.median(durations[path]) / plain:.2f}" for path in paths]
        table.append((query.name, f"{plain * 1000:.2f} ms", *ratios))
    print_table(
        f"{name}: authenticated reads over HTTP, compared with the same SQL in the plain driver",
        ("query", "driver", "x GraphQL columns", "x GraphQL objects", "x REST, in pieces"),
        table,
    )


def _query_graphql(gateway: ServedGateway, document: str, query: SeriesQuery, resource_id: str) -> None:
    range_ = {"start": query.start.isoformat(), "end": query.end.isoformat()}
    gateway.graphql(document, id=resource_id, range=range_, period=query.period.value)


def _query_rest(gateway: ServedGateway, query_definition: SeriesQuery, resource_id: str) -> None:
    start, end = (edge.replace(tzinfo=None) for edge in (query_definition.start, query_definition.end))
    while start < end:
        last = min(start + query_definition.piece, end) - timedelta(seconds=1)
        query = f"from={start.isoformat()}&to={last.isoformat()}&period={query_definition.period.value}&function=sum"
        gateway.get(f"/api/v0-1/resource/{resource_id}/readings?{query}")
        start = last + timedelta(seconds=1)


async def capture_statements(gateway: SeededGateway, query: SeriesQuery) -> list[tuple[str, Any]]:
    """Return the statements on readings that the gateway sends for a query. SQLite reports them with their values.

    New connections report what they execute. Raise RuntimeError if they report no statement on readings.
    """
    statements: list[tuple[str, Any]] = []
    database = gateway.gateway.database

    def record(statement: str, parameters: Any = ()) -> None:
        if "reading" in statement:
            statements.append((statement, parameters))

    def log_query(logged: Any) -> None:
        record(logged.query, logged.args)

    def listen(connection: Any, entry: Any) -> None:
        if database.is_sqlite:
            connection.run_async(lambda driver: driver.set_trace_callback(record))
        else:
            connection.driver_connection.add_query_logger(log_query)

    engine = database.autocommit_engine
    await engine.dispose()
    event.listen(engine.sync_engine, "connect", listen)
    arguments = {
        "resource_id": gateway.resource_ids[0],
        "range": TimeRange(query.start, query.end),
        "period": query.period,
        "time_zone": LONDON,
    }
    await gateway.gateway.runner.run(readings.readings, gateway.system, arguments)
    await asyncio.sleep(0)  # the driver logs a query one iteration of the event loop later
    event.remove(engine.sync_engine, "connect", listen)
    await engine.dispose()
    if not statements:
        raise RuntimeError(f"The gateway sent no statement on readings for {query.name}")
    return statements
