"""What edges and operations take of a processor: `wattgate.graphql.core.cost_weights` has its weights from here.

All work is done in this process, SQLite's too, and its processor time counts: the least of some rounds, less that of
the same document without what is measured.
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

from bench.gateway import PASSWORD, USERNAME, Owner, owner
from bench.table import show
from tests.support.house import operation
from wattgate.app.settings import Settings
from wattgate.clock import to_ms, utc_now
from wattgate.enums import RuleKind, TariffKind, ThresholdSide
from wattgate.graphql.core.context import Context
from wattgate.graphql.core.cost_weights import UNIT
from wattgate.graphql.execution.compiled.engine import Engine
from wattgate.graphql.execution.document_limits import DocumentLimits
from wattgate.graphql.execution.documents import Documents
from wattgate.graphql.resolvers.bulk_recording import ReadingArrays, record_reading_arrays
from wattgate.graphql.types import alert_rules as rule_types
from wattgate.graphql.types import alerts as alert_types
from wattgate.graphql.types import devices as device_types
from wattgate.graphql.types import tariffs as tariff_types

RESOURCES, DAYS, ROUNDS = 40, 366, 7
NOW = utc_now().replace(minute=0, second=0, microsecond=0)
HALF_HOUR = 30 * 60_000


def last(days: int) -> str:
    """The argument of a range of days until now."""
    return f'range: {{start: "{(NOW - timedelta(days=days)).isoformat()}", end: "{NOW.isoformat()}"}}'


def series(days: int, period: str, inside: str = "", *, field: str = "ENERGY") -> str:
    """The readings of some days until now."""
    arguments = f'{last(days)}, period: {period}, field: "{field}", timeZone: "Europe/London"'
    return f"readings({arguments}) {{ total {inside} }}"


MONTH = series(31, "PT30M")
COLUMNS = "columns { start end value count completeness estimated revision }"
COMPARED = "comparison(baseline: PREVIOUS_PERIOD) { change }"
BASELINE = "comparison(baseline: PREVIOUS_PERIOD) { change series { total } }"

EDGES: dict[str, tuple[str, str]] = {
    "type": ("", "type { name }"),
    "current": ("", "current { value }"),
    "freshness": ("", "freshness { state }"),
    "firstTime": ("", "firstTime"),
    "tariff": ("", "tariff { name }"),
    "currentRates": ("", "currentRates { rate }"),
    "tariffs, of which there are two": ("", "tariffs { name }"),
    "device": ("", "device { hardwareId }"),
    "status, of a device": ("device { hardwareId }", "device { hardwareId status { status } }"),
    "freshness, of a device": ("device { hardwareId }", "device { hardwareId freshness { state } }"),
    "protocol, of a device": ("device { hardwareId }", "device { hardwareId protocol { protocol } }"),
    "resources, of a device": ("device { hardwareId }", "device { hardwareId resources { resourceId } }"),
    "catchUps, of which there is none": ("", "catchUps { catchUpId }"),
    "readings, one bucket": ("", series(1, "P1D")),
    "comparison": (MONTH, series(31, "PT30M", COMPARED)),
    "series, of a comparison over 31 days": (series(31, "PT30M", COMPARED), series(31, "PT30M", BASELINE)),
    "completeTo": (MONTH, series(31, "PT30M", "completeTo")),
    "cost, a day": ("", f"cost({last(1)}) {{ total }}"),
    "cost, 31 days": ("", f"cost({last(31)}) {{ total }}"),
    "cost, 366 days": ("", f"cost({last(366)}) {{ total }}"),
    "costs, 31 days by the day": ("", f"costs({last(31)}, period: P1D) {{ currency }}"),
    "costs, 31 days by the half hour": ("", f"costs({last(31)}, period: PT30M) {{ currency }}"),
}
"""Documents inside a resource, each with the one that lacks what is measured."""

PERIODS = {"PT30M": (1, 31, 366), "PT1H": (31, 366), "P1D": (31, 366), "P1W": (366,), "P1M": (366,), "P1Y": (366,)}
BUCKETS = {"PT30M": 48.0, "PT1H": 24.0, "P1D": 1.0, "P1W": 1 / 7, "P1M": 12 / 365, "P1Y": 1 / 365}


class Home:
    """Resources with everything there is, and documents that are executed as the endpoint does."""

    def __init__(self, owner: Owner, ids: Mapping[str, str]) -> None:
        self.owner, self.ids = owner, ids
        self._documents = Documents(owner.gateway.schema, DocumentLimits())
        self._engine = Engine(owner.gateway.schema, compile_at=1)

    async def least(self, text: str, **given: Any) -> float:
        """The processor time of a document in µs, the least of some rounds."""
        document = self._documents.find(text)
        taken = []
        for _ in range(ROUNDS):
            call = Context(self.owner.gateway.runner, self.owner.system)
            begun = time.process_time()
            executed = await self._engine.execute(call, document, self._engine.variables(document, given), given)
            taken.append(time.process_time() - begun)
            if executed.errors:
                raise RuntimeError(executed.errors)
        return min(taken) * 1e6

    async def all(self, inside: str) -> float:
        """What something of every resource takes."""
        return await self.least(f"{{ resources {{ resourceId {inside} }} }}")

    async def one(self, inside: str) -> float:
        """What the same of one resource takes."""
        return await self.least(f'{{ resource(resourceId: "{self.owner.resource_ids[0]}") {{ resourceId {inside} }} }}')


async def bench_prices() -> None:
    """Objects, edges, series and operations, in µs of processor time and in units of cost."""
    async with _home() as home:
        told, columns = [
            (await home.one(series(31, "PT30M", inside)) - await home.one(MONTH)) / (31 * 48)
            for inside in ("buckets { start end value quality }", COLUMNS)
        ]
        plain, record = await home.all(""), await home.all("name description label classifier baseUnit createdAt")
        few = await home.one("")
        rows = [("an object of four values, in a list", told), ("a value in a column", columns / 7)]
        rows += [("a resource read, of seven values", (record - few) / (RESOURCES - 1)), ("one resource", few)]
        _show("what is told", [(name, took, 0.0) for name, took in rows])
        edges = []
        for name, (without, inside) in EDGES.items():
            each = (await home.all(inside) - (await home.all(without) if without else plain)) / RESOURCES
            once = await home.one(inside) - (await home.one(without) if without else few) - each
            edges.append((name, each, once))
        _show("edges, of each resource, and besides for all of them", edges)
        spans = [(period, days) for period, some in PERIODS.items() for days in some]
        taken = {
            span: (await home.one(series(span[1], span[0])) - few) / (BUCKETS[span[0]] * span[1]) for span in spans
        }
        rows = [(f"{days} days of {period}", took) for (period, days), took in taken.items()]
        for period, count in (("PT1M", 1_440), ("PT30M", 48)):
            asked = (
                f'{{ resource(resourceId: "{home.ids["live"]}") {{ resourceId {series(1, period, field="POWER")} }} }}'
            )
            rows.append((f"a day of power in {period}", (await home.least(asked) - few) / count))
        _show("readings, of a bucket", [(name, took, 0.0) for name, took in rows])
        _show("operations", [(name, took, 0.0) for name, took in await _operations(home)])


def _show(title: str, rows: list[tuple[str, float, float]]) -> None:
    show(
        f"SQLite: {title}",
        ("what", "µs", "units", "µs once", "units once"),
        [
            (name, *(f"{one:,.{3 if abs(one) < 1 else 1}f}" for took in tooks for one in (took, took / UNIT)))
            for name, *tooks in rows
        ],
    )


async def _operations(home: Home) -> list[tuple[str, float]]:
    ids, user, resource = home.ids, home.owner.user_id, home.owner.resource_ids[0]
    rule = f'ruleId: "{ids["rule"]}"'
    alert = f'userId: "{user}", alertTypeId: "CM01", channels: [INBOX]'
    account = f'applicationId: "{home.owner.application_id}", username: "{USERNAME}", password: "{PASSWORD}"'
    texts = {
        "backTest of a rule, 30 days": f"{{ alertRule({rule}) {{ backTest {{ count }} }} }}",
        "backTest of a rule, 366 days": f"{{ alertRule({rule}) {{ backTest(days: 366) {{ count }} }} }}",
        "display of a home": f'{{ virtualEntity(veId: "{ids["home"]}") {{ display {{ at }} }} }}',
        "rawReadings, 10,000": f'{{ rawReadings(resourceId: "{resource}") {{ unit }} }}',
        "previewTemplate": '{ previewTemplate(input: {html: "<p>{{name}}</p>"}) { subject } }',
        "resourceCounts": "{ resourceCounts { count } }",
        "applicationStatistics": "{ applicationStatistics { totalVirtualEntities } }",
        "unreadAlerts": "{ unreadAlerts }",
        "__schema, as tools ask": get_introspection_query(),
        "__type": '{ __type(name: "Resource") { fields { name type { name kind ofType { name } } } } }',
        "authenticate": f"mutation {{ authenticate({account}) {{ exp }} }}",
        "sendAlert": f"mutation {{ sendAlert(input: {{{alert}}}) {{ alertId }} }}",
        "markAlertsRead": "mutation { markAlertsRead { marked } }",
        "addContent": 'mutation { addContent(input: {reference: "a", name: "b"}) { contentId } }',
        "updateAlertRule": f'mutation {{ updateAlertRule({rule}, input: {{name: "c"}}) {{ ruleId }} }}',
    }
    found = [(name, await home.least(text)) for name, text in texts.items()]
    document = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
    for count in (1, 100, 10_000):
        instants = [_iso(to_ms(NOW) - one * HALF_HOUR) for one in range(count, 0, -1)]
        values = [{"at": at, "value": place % 7} for place, at in enumerate(instants)]
        given = [{"resourceId": home.owner.resource_ids[1], "readings": values}]
        found.append((f"recordReadings, {count:,}", await home.least(document, series=given)))
    document = "mutation ($series: [NewReadingColumns!]!) { recordReadingColumns(series: $series) { recorded } }"
    columns = [{"resourceId": home.owner.resource_ids[1], "at": instants, "value": [1] * count}]
    found.append((f"recordReadingColumns, {count:,}", await home.least(document, series=columns)))
    document = f"""mutation ($prices: [NewTariffPrice!]!) {{
        setTariffPrices(tariffId: "{ids["dynamic"]}", prices: $prices) {{ __typename }} }}"""
    known = [{"at": at, "rate": 20} for at in instants]
    found.append((f"setTariffPrices, {count:,}", await home.least(document, prices=known)))
    tariff = f'{{ resource(resourceId: "{ids["live"]}") {{ tariff {{ prices({last(31)}) {{ rate }} }} }} }}'
    found.append(("prices of 31 days", await home.least(tariff)))
    return found


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


@asynccontextmanager
async def _home() -> AsyncIterator[Home]:
    with tempfile.TemporaryDirectory(prefix="wattgate-bench-") as folder:
        url = f"sqlite:///{Path(folder)}/bench.sqlite3"
        async with owner(
            Settings(_env_file=None, environment="development", database_url=url), count=RESOURCES
        ) as made:
            yield Home(made, await _furnished(made))


async def _furnished(made: Owner) -> dict[str, str]:
    async def ask(name: str, **arguments: Any) -> Any:
        return await made.gateway.runner.run(operation(name), made.system, arguments)

    protocol = device_types.NewTypeProtocol(protocol="MQTT", sensors=[])
    kind = await ask("add_device_type", input=device_types.NewDeviceType(description="display", protocol=protocol))
    for number, resource_id in enumerate(made.resource_ids):
        await _fill(made, resource_id)
        for valid_from in (datetime(2020, 1, 1, tzinfo=UTC), NOW - timedelta(days=90)):
            await ask("set_tariff", input=_tariff(resource_id, valid_from))
        mac = f"70B3D500{number:04X}"
        sensor = device_types.NewDeviceSensor(protocol_id="ELEC", resource_id=ID(resource_id))
        device = device_types.NewDevice(
            device_type_id=ID(kind.device_type_id),
            hardware_id=mac,
            hardware_ids=device_types.NewHardwareIds(mac=mac),
            protocol=device_types.NewDeviceProtocol(sensors=[sensor]),
        )
        await ask("add_device", input=device)
    alert_type = await ask("add_alert_type", input=alert_types.NewAlertType(name="High", system_alert_type_id="CM01"))
    rule = rule_types.NewAlertRule(
        name="High",
        kind=RuleKind.THRESHOLD,
        resource_id=ID(made.resource_ids[0]),
        threshold=Decimal(2),
        side=ThresholdSide.ABOVE,
        window_minutes=30,
        alert_type_id=ID(alert_type.alert_type_id),
        channels=[alert_types.Channel.INBOX],
    )
    (home,) = await made.add_homes(made.resource_ids[:1])
    live = made.resource_ids[-1]
    await _fill(made, live, "POWER", every=10_000, days=1)
    dynamic = await ask("set_tariff", input=_tariff(live, NOW - timedelta(days=DAYS), TariffKind.DYNAMIC, None))
    ids = {"home": home, "live": live, "dynamic": dynamic.tariff_id}
    return {"rule": (await ask("add_alert_rule", input=rule)).rule_id, **ids}


async def _fill(
    made: Owner, resource_id: str, field: str = "ENERGY", *, every: int = HALF_HOUR, days: int = DAYS
) -> None:
    """Readings of some days until now, so many ms apart."""
    at = np.arange(to_ms(NOW) - days * 48 * HALF_HOUR, to_ms(NOW), every)
    value, nothing = np.arange(len(at)) * 7919 % 2500 / 1.0, np.zeros(len(at), dtype=np.int64)
    batch = ReadingArrays([(resource_id, field)], nothing, at, value, nothing)
    await made.gateway.runner.run(record_reading_arrays, made.system, {"batch": batch})


def _tariff(
    resource_id: str, valid_from: datetime, kind: TariffKind = TariffKind.FLAT, rate: Decimal | None = Decimal("24.5")
) -> tariff_types.NewTariff:
    return tariff_types.NewTariff(
        resource_id=ID(resource_id),
        name="Tariff",
        kind=kind,
        valid_from=valid_from,
        rate=rate,
        standing_charge=Decimal(50),
        vat_rate=Decimal(5),
    )


if __name__ == "__main__":
    asyncio.run(bench_prices())
