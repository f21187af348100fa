"""Readings in and out, beside what the database's own driver takes for the same."""

import asyncio
import io
import logging
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import aiomqtt
import asyncpg
import orjson
import pyarrow as pa
from sqlalchemy import event, insert
from sqlalchemy.engine import make_url
from strawberry import ID

from bench.gateway import Bench, bench
from bench.table import show
from tests.support.house import operation
from tests.support.servers import broker, database_on, postgresql
from wattgate.app.cli.imports.readings import import_csv
from wattgate.app.workers.mqtt_intake import MqttIntake
from wattgate.clock import TimeRange, from_ms, iso_ms, to_ms
from wattgate.db.models import Reading
from wattgate.db.readings import partitions
from wattgate.energy.buckets import DAY
from wattgate.enums import Period
from wattgate.graphql.resolvers import readings
from wattgate.graphql.types import devices as device_types
from wattgate.realtime.server_address import Address

HALF_HOUR = 30 * 60 * 1000
START = to_ms(datetime(2025, 1, 1, tzinfo=UTC))
HOMES, SAMPLES = 40, 5_000
"""What is written at each way in: 200,000 readings."""

MESSAGES, MAC = 2_000, "70B3D5000001"

ROUNDS = 60
"""How often each question is asked; the median counts."""

Rows = list[tuple[int, int, int]]
"""Place of the home, instant in ms, scaled value."""


def _rows(count: int = SAMPLES, *, homes: int = HOMES, add: int = 0) -> Rows:
    return [
        (home, START + n * HALF_HOUR, (n * 7919 + home) % 2500 + add) for home in range(homes) for n in range(count)
    ]


async def bench_readings() -> None:
    """Ways in and ways out, on PostgreSQL and on SQLite."""
    logging.getLogger("amqtt").setLevel(logging.CRITICAL)  # the broker complains of what the protocol allows
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder, postgresql(Path(folder)) as server:
        async with database_on(server) as url:
            await _on("PostgreSQL", url)
        await _on("SQLite", f"sqlite:///{folder}/bench.sqlite3")


async def _on(name: str, url: str) -> None:
    ways_in = 6
    async with bench(url, count=HOMES * ways_in) as gateway, _driver(url) as driver:
        await _ways_in(name, gateway, driver)
        await _ways_out(name, gateway, driver)


class Driver:
    """The database's own driver, without anything of ours."""

    def __init__(self, postgresql: asyncpg.Connection | None, sqlite: sqlite3.Connection | None) -> None:
        self._postgresql, self._sqlite = postgresql, sqlite

    async def insert(self, rows: Sequence[tuple[int, ...]]) -> None:
        """Put rows into the table of readings: one COPY, or one executemany in a transaction."""
        if self._postgresql:
            await self._postgresql.copy_records_to_table("reading", records=rows)
        elif self._sqlite:
            with self._sqlite:
                self._sqlite.executemany("INSERT INTO reading VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    async def fetch(self, statement: str, parameters: Any) -> int:
        """Run a statement that the gateway ran, with the same parameters; how many rows came."""
        if self._postgresql:
            return len(await self._postgresql.fetch(statement, *parameters))
        assert self._sqlite
        return len(self._sqlite.execute(statement, parameters).fetchall())


@asynccontextmanager
async def _driver(url: str) -> AsyncIterator[Driver]:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        connection = sqlite3.connect(parsed.database or "")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-65536")
        yield Driver(None, connection)
        connection.close()
        return
    plain = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
    driver = await asyncpg.connect(plain)
    yield Driver(driver, None)
    await driver.close()


async def _ways_in(name: str, gateway: Bench, driver: Driver) -> None:
    await _room(gateway)
    rows = _rows()
    nobodys = [(10_000_000 + home, 0, at, value, 0, 0, START) for home, at, value in rows]
    plain = await _rate(len(rows), driver.insert(nobodys))
    kind = "COPY" if name == "PostgreSQL" else "executemany"
    told = [(f"plain {kind}, one call", f"{plain:,.0f}", "1.00")]
    for way, rate in await _rates(gateway, rows):
        told.append((way, f"{rate:,.0f}", f"{rate / plain:.2f}"))
    show(f"{name}: readings in ({len(rows):,} at most)", ("way", "rows/s", f"x plain {kind}"), told)


async def _rates(gateway: Bench, rows: Rows) -> list[tuple[str, float]]:
    """Readings a second on each way in, each with resources of its own."""
    homes = iter(range(0, len(gateway.resource_ids), HOMES))
    some = rows[: len(rows) // 5]
    first = next(homes)
    lines, again = _lines(gateway, rows, first), _lines(gateway, _rows(add=1), first)
    arrow, csv = _arrow(gateway, rows, next(homes)), _csv(gateway, rows, next(homes))
    calls, pairs = _calls(gateway, some, next(homes)), _pairs(gateway, some, next(homes))
    return [
        ("bulk, NDJSON", _posted(gateway, len(rows), [("/readings", lines, "application/x-ndjson")])),
        ("bulk, NDJSON, each revised", _posted(gateway, len(rows), [("/readings", again, "application/x-ndjson")])),
        ("bulk, Arrow", _posted(gateway, len(rows), [("/readings", arrow, "application/vnd.apache.arrow.stream")])),
        ("CSV import", await _rate(len(rows), _import(gateway, csv))),
        ("recordReadings, 10,000 a call", _asked(gateway, len(some), calls)),
        ("POST /resource/.../readings", _posted(gateway, len(some), pairs)),
        ("MQTT, one reading a message", await _mqtt(gateway, next(homes))),
    ]


async def _room(gateway: Bench) -> None:
    """Make the partitions of all months, so that no way in has to. Each has a reading of nobody's: the gateway's upkeep
    would drop it if it were empty.
    """
    if not gateway.gateway.database.sqlite:
        instants = range(START, START + 400 * DAY, 28 * DAY)
        async with gateway.gateway.database.engine.begin() as connection:
            await partitions.ensure(connection, instants)
            held = {"resource_number": 9_999_999, "field": 0, "value": 0, "quality": 0, "revision": 0}
            await connection.execute(insert(Reading), [{**held, "at": at, "received_at": at} for at in instants])


async def _rate(count: int, work: Awaitable[Any]) -> float:
    begun = time.perf_counter()
    await work
    return count / (time.perf_counter() - begun)


def _posted(gateway: Bench, count: int, calls: list[tuple[str, bytes, str]]) -> float:
    begun = time.perf_counter()
    recorded = sum(gateway.post(f"/api/v0-1{path}", body, media)["recorded"] for path, body, media in calls)
    assert recorded == count
    return count / (time.perf_counter() - begun)


def _asked(gateway: Bench, count: int, calls: list[list[dict[str, Any]]]) -> float:
    document = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
    begun = time.perf_counter()
    recorded = sum(gateway.graphql(document, series=series)["recordReadings"]["recorded"] for series in calls)
    assert recorded == count
    return count / (time.perf_counter() - begun)


def _objects(gateway: Bench, rows: Rows, first: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Readings as objects, by resource."""
    for home in range(HOMES):
        readings = [{"at": iso_ms(at), "value": value / 1000} for place, at, value in rows if place == home]
        if readings:
            yield gateway.resource_ids[first + home], readings


def _calls(gateway: Bench, rows: Rows, first: int) -> list[list[dict[str, Any]]]:
    """Two resources in each call: 10,000 readings."""
    series = [{"resourceId": one, "readings": readings} for one, readings in _objects(gateway, rows, first)]
    return [series[n : n + 2] for n in range(0, len(series), 2)]


def _pairs(gateway: Bench, rows: Rows, first: int) -> list[tuple[str, bytes, str]]:
    return [
        (f"/resource/{one}/readings", orjson.dumps({"readings": readings}), "application/json")
        for one, readings in _objects(gateway, rows, first)
    ]


def _lines(gateway: Bench, rows: Rows, first: int) -> bytes:
    ids = gateway.resource_ids[first:]
    return b"\n".join(
        orjson.dumps({"resourceId": ids[home], "at": iso_ms(at), "value": value / 1000}) for home, at, value in rows
    )


def _arrow(gateway: Bench, rows: Rows, first: int) -> bytes:
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


def _csv(gateway: Bench, rows: Rows, first: int) -> bytes:
    ids = gateway.resource_ids[first:]
    lines = (f"{ids[home]},{iso_ms(at)},{value / 1000}\n" for home, at, value in rows)
    return ("resourceId,at,value\n" + "".join(lines)).encode()


async def _import(gateway: Bench, csv: bytes) -> None:
    report = await import_csv(
        io.BytesIO(csv),
        runner=gateway.gateway.runner,
        principal=gateway.system,
        resource_id=None,
        zone=UTC,
        refuse=lambda line, reason: None,
        progress=lambda done: None,
    )
    assert report.recorded == report.lines


async def _mqtt(gateway: Bench, first: int) -> float:
    """Readings a second from messages that wait at a real broker until the last one is stored."""
    run, system = gateway.gateway.runner.run, gateway.system
    kind = device_types.NewDeviceType(
        description="display", protocol=device_types.NewTypeProtocol(protocol="MQTT", sensors=[])
    )
    type_id = (await run(operation("add_device_type"), system, {"input": kind})).device_type_id
    sensor = device_types.NewDeviceSensor(protocol_id="ELEC", resource_id=ID(gateway.resource_ids[first]))
    given = device_types.NewDevice(
        device_type_id=type_id,
        hardware_id=MAC,
        hardware_ids=device_types.NewHardwareIds(mac=MAC),
        protocol=device_types.NewDeviceProtocol(sensors=[sensor]),
    )
    await run(operation("add_device"), system, {"input": given})
    async with broker() as served:
        intake = MqttIntake(
            Address.of_broker(served.url),
            application_id=gateway.application_id,
            topics=["glow/+/SENSOR/+"],
            client_id="bench",
        )
        working = asyncio.ensure_future(intake.run(gateway.gateway.runner))
        while "bench" not in served.subscribed:
            await asyncio.sleep(0.01)
        begun = time.perf_counter()
        async with aiomqtt.Client("127.0.0.1", served.port, username="display") as display:
            for n in range(MESSAGES):
                await display.publish(f"glow/{MAC}/SENSOR/electricitymeter", _power(n), qos=1)
        span = TimeRange(from_ms(START), from_ms(START + DAY))
        asked = {"resource_id": gateway.resource_ids[first], "range": span, "period": Period.P1D, "field": "POWER"}
        while (await run(readings.readings, system, asked)).count < MESSAGES:
            await asyncio.sleep(0.02)
        rate = MESSAGES / (time.perf_counter() - begun)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return rate


def _power(n: int) -> bytes:
    at = iso_ms(START + n * 1000)
    return orjson.dumps({"electricitymeter": {"timestamp": at, "power": {"value": n % 3000 / 1000, "units": "kW"}}})


@dataclass(frozen=True)
class Question:
    """A question about a series: as GraphQL asks it, and in the pieces that the limits of REST allow."""

    name: str
    start: datetime
    end: datetime
    period: Period
    piece: timedelta


LONDON = ZoneInfo("Europe/London")
YEAR_START = datetime(2025, 1, 1, tzinfo=LONDON)
YEAR_END = datetime(2026, 1, 1, tzinfo=LONDON)
QUESTIONS = (
    Question(
        "a month of half hours",
        datetime(2025, 3, 1, tzinfo=LONDON),
        datetime(2025, 4, 1, tzinfo=LONDON),
        Period.PT30M,
        timedelta(days=10),
    ),
    Question("a year by day", YEAR_START, YEAR_END, Period.P1D, timedelta(days=31)),
    Question("a year by month", YEAR_START, YEAR_END, Period.P1M, timedelta(days=366)),
)
COLUMNS = """query ($id: ID!, $range: TimeRange!, $period: Period!) { resource(resourceId: $id) {
    readings(range: $range, period: $period, timeZone: "Europe/London") { unit columns { start value quality } } } }"""
OBJECTS = COLUMNS.replace("columns { start value quality }", "buckets { start end value quality }")


async def _ways_out(name: str, gateway: Bench, driver: Driver) -> None:
    resource_id = gateway.resource_ids[0]
    rows = [row for row in _rows(365 * 48, homes=HOMES) if row[0] < 10]
    gateway.post("/api/v0-1/readings", _lines(gateway, rows, 0), "application/x-ndjson")
    told = []
    for question in QUESTIONS:
        statements = await _statements(gateway, question)
        ways: dict[str, Callable[[], Any]] = {
            "columns": partial(_graphql, gateway, COLUMNS, question, resource_id),
            "objects": partial(_graphql, gateway, OBJECTS, question, resource_id),
            "REST": partial(_rest, gateway, question, resource_id),
        }
        took: dict[str, list[float]] = defaultdict(list)
        for _ in range(ROUNDS):  # one after another in each round, so that all see the same machine
            begun = time.perf_counter()
            for statement, parameters in statements:
                await driver.fetch(statement, parameters)
            took["driver"].append(time.perf_counter() - begun)
            for way, ask in ways.items():
                begun = time.perf_counter()
                ask()
                took[way].append(time.perf_counter() - begun)
        plain = statistics.median(took["driver"])
        ratios = [f"{statistics.median(took[way]) / plain:.2f}" for way in ways]
        told.append((question.name, f"{plain * 1000:.2f} ms", *ratios))
    show(
        f"{name}: readings out, authenticated, over HTTP, beside the same SQL through the raw driver",
        ("question", "driver", "x GraphQL columns", "x GraphQL objects", "x REST, in its pieces"),
        told,
    )


def _graphql(gateway: Bench, document: str, question: Question, resource_id: str) -> None:
    span = {"start": question.start.isoformat(), "end": question.end.isoformat()}
    gateway.graphql(document, id=resource_id, range=span, period=question.period.value)


def _rest(gateway: Bench, question: Question, resource_id: str) -> None:
    start, end = (one.replace(tzinfo=None) for one in (question.start, question.end))
    while start < end:
        last = min(start + question.piece, end) - timedelta(seconds=1)
        query = f"from={start.isoformat()}&to={last.isoformat()}&period={question.period.value}&function=sum"
        gateway.get(f"/api/v0-1/resource/{resource_id}/readings?{query}")
        start = last + timedelta(seconds=1)


async def _statements(gateway: Bench, question: Question) -> list[tuple[str, Any]]:
    """The statements on readings that answer a question, as the gateway sends them; SQLite tells them with values."""
    seen: list[tuple[str, Any]] = []
    database, heard = gateway.gateway.database, list[Any]()

    def see(statement: str, parameters: Any = ()) -> None:
        if "reading" in statement:
            seen.append((statement, parameters))

    def told(sent: Any) -> None:
        see(sent.query, sent.args)

    def hear(connection: Any, record: Any, proxy: Any) -> None:
        heard.append(record.driver_connection)
        if database.sqlite:
            connection.run_async(lambda driver: driver.set_trace_callback(see))
        else:
            record.driver_connection.add_query_logger(told)

    event.listen(database.pooled.sync_engine, "checkout", hear)
    asked = {
        "resource_id": gateway.resource_ids[0],
        "range": TimeRange(question.start, question.end),
        "period": question.period,
        "time_zone": LONDON,
    }
    await gateway.gateway.runner.run(readings.readings, gateway.system, asked)
    await asyncio.sleep(0)  # the driver tells what it has sent a turn later
    event.remove(database.pooled.sync_engine, "checkout", hear)
    for connection in heard:
        if database.sqlite:
            await connection.set_trace_callback(None)
        else:
            connection.remove_query_logger(told)
    return seen
