"""The processor time of edges and operations, from which `operations.vocabulary.cost_weights` derives its weights.

All work is done in this process, including that of SQLite. A measurement is the minimum of several rounds. The time of
the same document without the measured part is subtracted.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from graphql import get_introspection_query
from strawberry import ID

from bench.gateway import PASSWORD, USERNAME, SeededGateway, seeded_gateway
from bench.table import print_table
from tests.support.house import operation
from wattgate.app.settings import Settings
from wattgate.clock import to_ms, utc_now
from wattgate.enums import Channel, RuleKind, TariffKind, ThresholdSide
from wattgate.graphql.execution.compiled.engine import ExecutionEngine
from wattgate.graphql.execution.documents.document_limits import DocumentLimits
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, record_reading_arrays
from wattgate.operations.types.messages import alert_rules as rule_types
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.meters import devices as device_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.vocabulary.cost_weights import UNIT_MICROSECONDS
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.operations.vocabulary.scalars import Currency

RESOURCES, DAYS, ROUNDS = 40, 366, 7
BULK_READINGS = 50_000
NOW = utc_now().replace(minute=0, second=0, microsecond=0)
HALF_HOUR = 30 * 60_000


def range_argument(days: int) -> str:
    """Return the argument for a range of days until now."""
    return f'range: {{start: "{(NOW - timedelta(days=days)).isoformat()}", end: "{NOW.isoformat()}"}}'


def readings_field(days: int, period: str, inside: str = "", *, field: str = "ENERGY") -> str:
    """Return a field with the readings of some days until now."""
    arguments = f'{range_argument(days)}, period: {period}, field: "{field}", timeZone: "Europe/London"'
    return f"readings({arguments}) {{ total {inside} }}"


MONTH = readings_field(31, "PT30M")
COLUMNS = "columns { start end value count completeness estimated revision }"
COMPARED = "comparison(baseline: PREVIOUS_PERIOD) { change }"
BASELINE = "comparison(baseline: PREVIOUS_PERIOD) { change series { total } }"

EDGES: dict[str, tuple[str, str]] = {
    "type": ("", "type { name }"),
    "current": ("", "current { value }"),
    "freshness": ("", "freshness { state }"),
    "firstTime": ("", "firstTime"),
    "tariff": ("", "tariff { name }"),
    "currentRates": ("", "currentRates { band }"),
    "tariffs, of which there are two": ("", "tariffs { name }"),
    "device": ("", "device { hardwareId }"),
    "status, of a device": ("device { hardwareId }", "device { hardwareId status { status } }"),
    "freshness, of a device": ("device { hardwareId }", "device { hardwareId freshness { state } }"),
    "protocol, of a device": ("device { hardwareId }", "device { hardwareId protocol { protocol } }"),
    "resources, of a device": ("device { hardwareId }", "device { hardwareId resources { resourceId } }"),
    "catchUps, of which there is none": ("", "catchUps { catchUpId }"),
    "readings, one bucket": ("", readings_field(1, "P1D")),
    "comparison": (MONTH, readings_field(31, "PT30M", COMPARED)),
    "series, of a comparison over 31 days": (
        readings_field(31, "PT30M", COMPARED),
        readings_field(31, "PT30M", BASELINE),
    ),
    "completeTo": (MONTH, readings_field(31, "PT30M", "completeTo")),
    "cost, a day": ("", f"cost({range_argument(1)}) {{ estimated }}"),
    "cost, 31 days": ("", f"cost({range_argument(31)}) {{ estimated }}"),
    "cost, 366 days": ("", f"cost({range_argument(366)}) {{ estimated }}"),
    "costs, 31 days by the day": ("", f"costs({range_argument(31)}, period: P1D) {{ currency }}"),
    "costs, 31 days by the half hour": ("", f"costs({range_argument(31)}, period: PT30M) {{ currency }}"),
}
"""By name, pairs of selections inside a resource: without and with the measured part."""

PERIODS = {"PT30M": (1, 31, 366), "PT1H": (31, 366), "P1D": (31, 366), "P1W": (366,), "P1M": (366,), "P1Y": (366,)}
BUCKETS = {"PT30M": 48.0, "PT1H": 24.0, "P1D": 1.0, "P1W": 1 / 7, "P1M": 12 / 365, "P1Y": 1 / 365}


class BenchHome:
    """A home with data of every kind. It executes documents as the endpoint does."""

    def __init__(self, owner: SeededGateway, ids: Mapping[str, str]) -> None:
        self.owner, self.ids = owner, ids
        self._documents = DocumentCache(owner.gateway.schema, DocumentLimits())
        self._engine = ExecutionEngine(owner.gateway.schema, compile_at=1)

    async def min_cpu_microseconds(self, text: str, **variables: Any) -> float:
        """Return the processor time of a document in µs, the minimum of several rounds."""
        document = self._documents.get(text)
        durations = []
        for _ in range(ROUNDS):
            call = GraphQLContext(self.owner.gateway.runner, self.owner.system)
            started_at = time.process_time()
            result = await self._engine.execute(
                call, document, self._engine.coerce_variables(document, variables), variables
            )
            durations.append(time.process_time() - started_at)
            if result.errors:
                raise RuntimeError(result.errors)
        return min(durations) * 1e6

    async def measure_all(self, inside: str) -> float:
        """Return the time of a selection inside all resources, in µs."""
        return await self.min_cpu_microseconds(
            f'{{ node(id: "{encode_global_id("ResourceType", self.ids["type"])}") {{ ... on ResourceType {{ '
            f"resources(first: {RESOURCES}) {{ edges {{ node {{ resourceId {inside} }} }} }} }} }} }}"
        )

    async def measure_one(self, inside: str) -> float:
        """Return the time of a selection inside one resource, in µs."""
        return await self.min_cpu_microseconds(
            f'{{ resource(resourceId: "{self.owner.resource_ids[0]}") {{ resourceId {inside} }} }}'
        )


async def bench_prices() -> None:
    """Print the times of objects, edges, series and operations, in µs of processor time and in units of cost."""
    async with _bench_home() as home:
        object_cost, column_cost = [
            (await home.measure_one(readings_field(31, "PT30M", inside)) - await home.measure_one(MONTH)) / (31 * 48)
            for inside in ("buckets { start end value quality }", COLUMNS)
        ]
        all_resources, all_records = (
            await home.measure_all(""),
            await home.measure_all("name description label classifier baseUnit createdAt"),
        )
        one_resource = await home.measure_one("")
        rows = [("an object of four values, in a list", object_cost), ("a value in a column", column_cost / 7)]
        rows += [
            ("a resource read, of seven values", (all_records - one_resource) / (RESOURCES - 1)),
            ("one resource", one_resource),
        ]
        _print_table("values in responses", [(name, cost, 0.0) for name, cost in rows])
        edges = []
        for name, (without, inside) in EDGES.items():
            per_resource = (
                await home.measure_all(inside) - (await home.measure_all(without) if without else all_resources)
            ) / RESOURCES
            fixed = (
                await home.measure_one(inside)
                - (await home.measure_one(without) if without else one_resource)
                - per_resource
            )
            edges.append((name, per_resource, fixed))
        _print_table("edges, for each resource, and once for all of them", edges)
        spans = [(period, days) for period, day_counts in PERIODS.items() for days in day_counts]
        cost_by_span = {
            span: (await home.measure_one(readings_field(span[1], span[0])) - one_resource)
            / (BUCKETS[span[0]] * span[1])
            for span in spans
        }
        rows = [(f"{days} days of {period}", cost) for (period, days), cost in cost_by_span.items()]
        for period, count in (("PT1M", 1_440), ("PT30M", 48)):
            power = readings_field(1, period, field="POWER")
            query = f'{{ resource(resourceId: "{home.ids["live"]}") {{ resourceId {power} }} }}'
            rows.append(
                (f"a day of power in {period}", (await home.min_cpu_microseconds(query) - one_resource) / count)
            )
        _print_table("readings, for each bucket", [(name, cost, 0.0) for name, cost in rows])
        _print_table("operations", [(name, cost, 0.0) for name, cost in await _operations(home)])
        _print_table("bulk intake, for each reading", [(name, cost, 0.0) for name, cost in await _bulk_intake(home)])


def _print_table(title: str, rows: list[tuple[str, float, float]]) -> None:
    print_table(
        f"SQLite: {title}",
        ("measured", "µs", "units", "µs once", "units once"),
        [
            (
                name,
                *(
                    f"{value:,.{3 if abs(value) < 1 else 1}f}"
                    for cost in costs
                    for value in (cost, cost / UNIT_MICROSECONDS)
                ),
            )
            for name, *costs in rows
        ],
    )


async def _operations(home: BenchHome) -> list[tuple[str, float]]:
    ids, user, resource = home.ids, home.owner.user_id, home.owner.resource_ids[0]
    rule = f'node(id: "{encode_global_id("AlertRule", ids["rule"])}")'
    alert = f'userId: "{user}", alertTypeId: "CM01", channels: [INBOX]'
    account = f'applicationId: "{home.owner.application_id}", username: "{USERNAME}", password: "{PASSWORD}"'
    texts = {
        "backTest of a rule, 30 days": f"{{ {rule} {{ ... on AlertRule {{ backTest {{ count }} }} }} }}",
        "backTest of a rule, 366 days": f"{{ {rule} {{ ... on AlertRule {{ backTest(days: 366) {{ count }} }} }} }}",
        "display of a home": f'{{ home(homeId: "{ids["home"]}") {{ display {{ at }} }} }}',
        "rawReadings, 10,000": f'{{ resource(resourceId: "{resource}") {{ rawReadings {{ unit }} }} }}',
        "previewTemplate": '{ previewTemplate(input: {html: "<p>{{name}}</p>"}) { subject } }',
        "resourceCounts": "{ resourceCounts { count } }",
        "applicationStatistics": "{ applicationStatistics { totalHomes } }",
        "unreadAlerts": "{ viewer { unreadAlerts } }",
        "__schema, as tools ask": get_introspection_query(),
        "__type": '{ __type(name: "Resource") { fields { name type { name kind ofType { name } } } } }',
        "authenticate": f"mutation {{ authenticate({account}) {{ ... on Login {{ expiresAt }} }} }}",
        "sendAlert": f"mutation {{ sendAlert(input: {{{alert}}}) {{ ... on Alert {{ alertId }} }} }}",
        "markAlertsRead": "mutation { markAlertsRead { ... on MarkedAlerts { marked } } }",
        "createContent": (
            'mutation { createContent(input: {reference: "a", name: "b"}) { ... on Content { contentId } } }'
        ),
        "updateAlertRule": (
            f'mutation {{ updateAlertRule({rule}, input: {{name: "c"}}) {{ ... on AlertRule {{ ruleId }} }} }}'
        ),
    }
    costs = [(name, await home.min_cpu_microseconds(text)) for name, text in texts.items()]
    document = (
        "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
    )
    for count in (1, 100, 10_000):
        instants = [_iso(to_ms(NOW) - steps_back * HALF_HOUR) for steps_back in range(count, 0, -1)]
        values = [{"at": at, "value": position % 7} for position, at in enumerate(instants)]
        readings = [{"resourceId": home.owner.resource_ids[1], "readings": values}]
        costs.append((f"recordReadings, {count:,}", await home.min_cpu_microseconds(document, series=readings)))
    document = (
        "mutation ($series: [NewReadingColumns!]!) { recordReadingColumns(series: $series) {"
        " ... on RecordedColumns { recorded } } }"
    )
    columns = [{"resourceId": home.owner.resource_ids[1], "at": instants, "value": [1] * count}]
    costs.append((f"recordReadingColumns, {count:,}", await home.min_cpu_microseconds(document, series=columns)))
    document = f"""mutation ($prices: [NewTariffPrice!]!) {{
        setTariffPrices(tariffId: "{ids["dynamic"]}", currency: "GBP", prices: $prices) {{ __typename }} }}"""
    prices = [{"at": at, "rate": "0.2"} for at in instants]
    costs.append((f"setTariffPrices, {count:,}", await home.min_cpu_microseconds(document, prices=prices)))
    tariff = f'{{ resource(resourceId: "{ids["live"]}") {{ tariff {{ prices({range_argument(31)}) {{ rate }} }} }} }}'
    costs.append(("prices of 31 days", await home.min_cpu_microseconds(tariff)))
    return costs


INTAKES: dict[str, int] = {"1 ms apart": 1, "10 s apart": 10_000, "half hours": HALF_HOUR, "hours": 2 * HALF_HOUR}
"""Intervals of the readings of a bulk upload in ms, by name."""


async def _bulk_intake(home: BenchHome) -> list[tuple[str, float]]:
    """Return the time of bulk intake for each reading: new ones, and the same ones again with other values."""
    costs = []
    for resource_id, (name, interval_ms) in zip(home.owner.resource_ids[2:], INTAKES.items(), strict=False):
        at = np.arange(to_ms(NOW) - BULK_READINGS * interval_ms, to_ms(NOW), interval_ms)
        zeros = np.zeros(len(at), dtype=np.int64)
        for round_name, value in (("new", 1.0), ("revised", 2.0)):
            batch = BulkReadingBatch([(resource_id, "POWER")], zeros, at, np.full(len(at), value), zeros)
            started_at = time.process_time()
            await home.owner.gateway.runner.run(record_reading_arrays, home.owner.system, {"batch": batch})
            costs.append((f"{name}, {round_name}", (time.process_time() - started_at) * 1e6 / len(at)))
    return costs


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


@asynccontextmanager
async def _bench_home() -> AsyncIterator[BenchHome]:
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder:
        url = f"sqlite:///{Path(folder)}/bench.sqlite3"
        async with seeded_gateway(
            Settings(_env_file=None, environment="development", database_url=url), count=RESOURCES
        ) as seeded:
            yield BenchHome(seeded, await _seed_home(seeded))


async def _seed_home(seeded: SeededGateway) -> dict[str, str]:
    async def run(name: str, **arguments: Any) -> Any:
        return await seeded.gateway.runner.run(operation(name), seeded.system, arguments)

    protocol = device_types.NewTypeProtocol(protocol="MQTT", sensors=[])
    kind = await run("add_device_type", input=device_types.NewDeviceType(description="display", protocol=protocol))
    for number, resource_id in enumerate(seeded.resource_ids):
        await _fill(seeded, resource_id)
        for valid_from in (datetime(2020, 1, 1, tzinfo=UTC), NOW - timedelta(days=90)):
            await run("set_tariff", input=_tariff(resource_id, valid_from))
        mac = f"70B3D500{number:04X}"
        sensor = device_types.NewDeviceSensor(protocol_id="ELEC", resource_id=ID(resource_id))
        device = device_types.NewDevice(
            device_type_id=ID(kind.device_type_id),
            hardware_id=mac,
            hardware_ids=device_types.NewHardwareIds(mac=mac),
            protocol=device_types.NewDeviceProtocol(sensors=[sensor]),
        )
        await run("add_device", input=device)
    alert_type = await run("add_alert_type", input=NewAlertType(name="High", system_alert_type_id="CM01"))
    rule = rule_types.NewAlertRule(
        name="High",
        kind=RuleKind.THRESHOLD,
        resource_id=ID(seeded.resource_ids[0]),
        threshold=Decimal(2),
        side=ThresholdSide.ABOVE,
        window_minutes=30,
        alert_type_id=ID(alert_type.alert_type_id),
        channels=[Channel.INBOX],
    )
    (home,) = await seeded.add_homes(seeded.resource_ids[:1])
    live = seeded.resource_ids[-1]
    await _fill(seeded, live, "POWER", interval_ms=10_000, days=1)
    dynamic = await run("set_tariff", input=_tariff(live, NOW - timedelta(days=DAYS), TariffKind.DYNAMIC, None))
    type_id = (await run("resource", resource_id=live)).resource_type_id
    ids = {"home": home, "live": live, "dynamic": dynamic.tariff_id, "type": type_id}
    return {"rule": (await run("add_alert_rule", input=rule)).rule_id, **ids}


async def _fill(
    seeded: SeededGateway, resource_id: str, field: str = "ENERGY", *, interval_ms: int = HALF_HOUR, days: int = DAYS
) -> None:
    """Record readings of some days until now, `interval_ms` apart."""
    at = np.arange(to_ms(NOW) - days * 48 * HALF_HOUR, to_ms(NOW), interval_ms)
    value, zeros = np.arange(len(at)) * 7919 % 2500 / 1.0, np.zeros(len(at), dtype=np.int64)
    batch = BulkReadingBatch([(resource_id, field)], zeros, at, value, zeros)
    await seeded.gateway.runner.run(record_reading_arrays, seeded.system, {"batch": batch})


def _tariff(
    resource_id: str, valid_from: datetime, kind: TariffKind = TariffKind.FLAT, rate: Decimal | None = Decimal("0.245")
) -> tariff_types.NewTariff:
    return tariff_types.NewTariff(
        resource_id=ID(resource_id),
        name="Tariff",
        kind=kind,
        valid_from=valid_from,
        currency=Currency("GBP"),
        time_zone="Europe/London",
        rate=rate,
        standing_charge=Decimal("0.5"),
        vat_percent=Decimal(5),
    )


if __name__ == "__main__":
    asyncio.run(bench_prices())
