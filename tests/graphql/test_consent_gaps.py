"""Readings of a time without consent: what each way of recording stores, and what uses them afterwards."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from sqlalchemy import text
from strawberry import ID

from tests.support.house import STORAGE, Tenant, operation
from tests.support.metering import HALF_HOUR, add_device, metered, readings, record, resource_at
from tests.support.residents import resident
from tests.support.timed import NOW, Timed
from wattgate.app.workers.alert_rules import AlertRuleWorker
from wattgate.clock import format_iso, to_ms
from wattgate.db.models import NetworkRegister, NetworkState, VirtualEntity
from wattgate.db.queries.display_inputs import StoredEnergy, learn_levels
from wattgate.db.queries.displays import load_homes
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.policies import ConsentPolicy
from wattgate.energy.buckets import BucketGrid, BucketRun
from wattgate.energy.display.meter import MeterKind
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage
from wattgate.energy.storage_fields import StorageDefinition, parse_fields
from wattgate.enums import Channel, Period, RuleKind
from wattgate.errors import ConsentRevoked, GatewayError
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices import catch_ups
from wattgate.operations.readings import bulk_recording, meter_messages, recording
from wattgate.operations.readings.files import reading_imports
from wattgate.operations.types.messages import alert_rules as rule_types
from wattgate.operations.types.meters import readings as types
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.bus.memory import MemoryBus

pytestmark = pytest.mark.both_databases("separation of households")

HOUR = timedelta(hours=1)
REVOKED, RENEWED = NOW + HOUR, NOW + 3 * HOUR
BEFORE, WITHIN, AFTER = (NOW + timedelta(hours=hours, minutes=20) for hours in (0, 1, 3))
"""Half hours: one of the first time with consent, one of the time without it, and one after the renewal."""


class Home:
    """A user with a resource at a meter point, whose consent the user revokes and renews by REST."""

    def __init__(self, timed: Timed, user: Tenant, mpxn: str, resource_id: str) -> None:
        self.timed, self.user, self.mpxn, self.resource_id = timed, user, mpxn, resource_id

    async def send(self, method: str, path: str, **more: Any) -> Any:
        return await self.timed.house.call(method, path, self.user.headers["acting"], **more)

    async def change(self, kind: str, at: datetime) -> None:
        """Revoke or renew the consent at an instant: `revocation` or `renewal`."""
        self.timed.clock.now = at
        answer = await self.send("POST", f"/user/verification/status/mpxn/{self.mpxn}/{kind}")
        assert answer.status_code == 200, answer.text

    async def interrupt(self) -> None:
        """Let the consent be revoked and renewed, and go to a later time."""
        await self.change("revocation", REVOKED)
        await self.change("renewal", RENEWED)
        self.timed.clock.now = AFTER + 2 * HOUR

    async def stored(self, field: str | None = None) -> list[datetime]:
        page = await self.user.run("raw_readings", resource_id=self.resource_id, field=field)
        return [datetime.fromisoformat(at) for at in page.at]

    async def store_anyway(self, *instants: datetime, value: str = "50") -> None:
        """Record readings as a gateway does that stores them without consent."""
        policy = ConsentPolicy(stores_without=True)
        runner = Runner(self.user.gateway.database, MemoryBus(), clock=self.timed.clock, consent_policy=policy)
        readings = [types.NewReading(at=at, value=Decimal(value)) for at in instants]
        series = [types.NewReadings(resource_id=ID(self.resource_id), readings=readings)]
        stored = await runner.run(recording.record_readings, self.user.system, {"series": series})
        assert stored.recorded == len(instants)

    async def alerts_by_rule(self) -> Counter[str]:
        """Return the number of alerts that the user has, by the name of the rule."""
        return Counter(alert.data["rule"] for alert in await self.user.run("user_alerts"))

    async def post(self, *instants: datetime) -> Any:
        body = {"readings": [{"at": format_iso(at), "value": 0.5} for at in instants]}
        answer = await self.send("POST", f"/resource/{self.resource_id}/readings", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def home(timed: Timed) -> Home:
    user = await resident(timed.house.one)
    point = await metered(user, [])
    return Home(timed, user, point.mpxn, point.resource_id)


ALL = (BEFORE, WITHIN, AFTER)


async def by_graphql(home: Home) -> None:
    """Decimals in variables take the slower way of validation, and literals too."""
    query = (
        "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded withoutConsent } } }"
    )
    values = [{"at": format_iso(at), "value": "0.5"} for at in ALL]
    series = [{"resourceId": home.resource_id, "readings": values}]
    answer = await home.timed.house.graphql(query, home.user.headers["acting"], s=series)
    assert answer["data"]["recordReadings"] == {"recorded": 2, "withoutConsent": 1}


async def by_operation(home: Home) -> None:
    decimals = [types.NewReading(at=at, value=Decimal("0.5")) for at in ALL]
    series = [types.NewReadings(resource_id=ID(home.resource_id), readings=decimals)]
    result = await home.user.gateway.runner.run(recording.record_readings, home.user.account, {"series": series})
    assert (result.recorded, result.without_consent) == (2, 1)


async def by_rest(home: Home) -> None:
    assert await home.post(*ALL) == {"status": "OK", "recorded": 2, "withoutConsent": 1}


async def by_columns(home: Home) -> None:
    series = {"resourceId": home.resource_id, "at": [format_iso(at) for at in ALL], "value": [0.5] * 3}
    answer = (await home.send("POST", "/readings", json={"series": [series]})).json()
    assert (answer["recorded"], [refused["index"] for refused in answer["refused"]]) == (2, [1])
    assert home.mpxn in answer["refused"][0]["reason"]


async def by_stream(home: Home) -> None:
    lines = [json.dumps({"resourceId": home.resource_id, "at": format_iso(at), "value": 0.5}) for at in ALL]
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await home.timed.house.call(
        "POST", "/readings", {**home.user.headers["acting"], **headers}, content="\n".join(lines)
    )
    assert (answer.json()["recorded"], answer.json()["refused"]) == (2, 1), answer.text
    assert "without a valid consent" in answer.json()["problems"][0]["message"]


async def by_import(home: Home) -> None:
    batch = bulk_recording.BulkReadingBatch(
        [(home.resource_id, None)],
        np.zeros(3, np.int64),
        np.array([to_ms(at) for at in ALL]),
        np.full(3, 0.5),
        np.zeros(3, np.int64),
    )
    run = home.user.gateway.runner.run
    checked = await run(reading_imports.check_reading_arrays, home.user.system, {"batch": batch})
    stored = await run(bulk_recording.record_reading_arrays, home.user.system, {"batch": batch})
    assert (checked.added, stored.recorded) == (2, 2)
    assert [position for position, _ in stored.refused] == [position for position, _ in checked.refused] == [1]


async def by_network(home: Home) -> None:
    await record(home.user, *readings(home.mpxn, ["0.5"] * 8, BEFORE))
    page = await home.user.gateway.runner.run(
        catch_ups.network_readings, home.user.system, {"resource_id": home.resource_id}
    )
    instants = [BEFORE + n * HALF_HOUR for n in range(8)]
    assert [one.at for one in page.readings] == [at for at in instants if not REVOKED <= at < RENEWED]
    await home.user.record(home.resource_id, (BEFORE, "0.5"), (AFTER, "0.5"))


WAYS = [by_graphql, by_operation, by_rest, by_columns, by_stream, by_import, by_network]


@pytest.mark.every_case("each is another way in")
@pytest.mark.parametrize("send", WAYS, ids=lambda way: way.__name__)
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_late_readings_are_stored_by_the_consent_at_their_instant(
    home: Home, send: Callable[[Home], Awaitable[None]]
) -> None:
    await home.interrupt()
    await send(home)
    assert await home.stored() == [BEFORE, AFTER]


async def test_a_display_goes_on_sending_and_nothing_is_stored_while_the_consent_is_revoked(home: Home) -> None:
    device_id = await add_device(home.user, home.resource_id)
    hardware_id = (await home.send("GET", f"/device/{device_id}")).json()["hardwareId"]
    system = Principal(Role.SYSTEM, application_id=home.user.application_id)

    async def report(*instants: datetime) -> Any:
        value = Measurement("electricity.consumption", "POWER", Decimal(230), "W")
        messages = [MeterMessage(hardware_id=hardware_id, at=at, values=(value,)) for at in instants]
        return await home.timed.house.gateway.runner.run(
            meter_messages.record_meter_messages, system, {"messages": messages}
        )

    await home.change("revocation", REVOKED)
    home.timed.clock.now = WITHIN
    assert await report(BEFORE, WITHIN) == meter_messages.MeterMessagesResult(1, 1, [])
    assert await home.post(WITHIN) == {"status": "OK", "recorded": 0, "withoutConsent": 1}
    await home.change("renewal", RENEWED)
    home.timed.clock.now = AFTER
    assert await report(BEFORE, WITHIN, AFTER) == meter_messages.MeterMessagesResult(2, 1, [])
    assert await home.stored("POWER") == [BEFORE, AFTER]


async def test_a_new_resource_has_the_same_time_without_consent(home: Home) -> None:
    await home.change("revocation", REVOKED)
    home.timed.clock.now = REVOKED + HOUR
    home.resource_id = await resource_at(home.user, home.mpxn)
    await home.change("renewal", RENEWED)
    home.timed.clock.now = AFTER + HOUR
    await home.post(*ALL)
    assert await home.stored() == [BEFORE, AFTER]


async def test_nothing_is_stored_after_the_consent_has_expired(home: Home) -> None:
    until = {"isValidUntil": format_iso(REVOKED)}
    path = f"/user/verification/status/mpxn/{home.mpxn}/renewal"
    assert (await home.send("POST", path, json=until)).status_code == 200
    home.timed.clock.now = AFTER
    assert (await home.post(*ALL))["withoutConsent"] == 2
    assert (await home.send("POST", path, json={"isValidUntil": format_iso(AFTER + HOUR)})).status_code == 200
    assert (await home.post(WITHIN, AFTER))["withoutConsent"] == 1
    assert await home.stored() == [BEFORE, AFTER]


async def test_settings_decide_whether_readings_without_a_consent_are_stored(home: Home) -> None:
    """A policy of its own belongs to each runner, so the test records through three of them."""
    async with home.timed.house.gateway.database.engine.begin() as connection:
        of_point = {"mpxn": home.mpxn}
        await connection.execute(text("DELETE FROM meter_point_consent WHERE mpxn = :mpxn"), of_point)
        await connection.execute(text("UPDATE resource SET consent_gaps = NULL WHERE mpxn = :mpxn"), of_point)
    stored = []
    for policy in (ConsentPolicy(), ConsentPolicy(is_required=False), ConsentPolicy(stores_without=True)):
        runner = Runner(home.timed.house.gateway.database, MemoryBus(), clock=home.timed.clock, consent_policy=policy)
        readings = [types.NewReading(at=NOW - HALF_HOUR * 4 - timedelta(minutes=10), value=Decimal("0.5"))]
        series = [types.NewReadings(resource_id=ID(home.resource_id), readings=readings)]
        stored.append((await runner.run(recording.record_readings, home.user.system, {"series": series})).recorded)
    assert stored == [0, 1, 1]
    await home.user.run("verify_meter_point", mpxn=home.mpxn)
    assert (await home.post(BEFORE - HOUR))["recorded"] == 1


async def test_the_next_household_does_not_inherit_the_revocation(home: Home) -> None:
    await home.change("revocation", REVOKED)
    bob = await resident(home.timed.house.one)
    moved = await home.user.run("move_resource", resource_id=home.resource_id, user_id=bob.user_id)
    home.timed.clock.now = AFTER
    next_home = Home(home.timed, bob, home.mpxn, moved.resource_id)
    assert await next_home.post(WITHIN, AFTER) == {"status": "OK", "recorded": 2, "withoutConsent": 0}


def new_rule(home: Home, kind: RuleKind, **more: Any) -> rule_types.NewAlertRule:
    values = {"threshold": Decimal(2), "window_minutes": 60, "time_zone": "UTC", **more}
    return rule_types.NewAlertRule(
        kind=kind,
        name=kind.name,
        alert_type_id=ID(home.user.ids["alert_type"]),
        channels=[Channel.INBOX],
        resource_id=ID(home.resource_id),
        **values,
    )


async def test_rules_use_no_reading_of_a_time_without_consent(home: Home) -> None:
    """The operator of this test has another legal basis, so the readings are stored."""
    rules = [
        await home.user.run("add_alert_rule", input=declared)
        for declared in (
            new_rule(home, RuleKind.THRESHOLD),
            new_rule(home, RuleKind.NO_DATA, threshold=None),
            new_rule(home, RuleKind.PACE, threshold=Decimal(20), period=Period.P1D),
        )
    ]
    worker = AlertRuleWorker(home.timed.house.gateway.runner, home.timed.house.gateway.hub)

    async def alerts(at: datetime) -> list[int]:
        """Evaluate the rules at an instant. Return how many alerts each has sent since the last time.

        The worker of the served gateway also looks for due rules, so it may have sent them first.
        """
        before = await home.alerts_by_rule()
        home.timed.clock.now = at
        for rule in rules:
            await worker.evaluate(home.user.application_id, {"rule_id": rule.rule_id})
        sent = await home.alerts_by_rule() - before
        return [sent[rule.name] for rule in rules]

    await home.change("revocation", REVOKED)
    assert await alerts(WITHIN) == [0, 0, 0]
    home.timed.clock.now = WITHIN + HOUR
    await home.store_anyway(WITHIN, *(WITHIN + n * HALF_HOUR for n in (1, 2)))
    await home.change("renewal", RENEWED)
    assert await alerts(RENEWED + timedelta(minutes=1)) == [0, 0, 0]
    assert await alerts(RENEWED + HALF_HOUR) == [0, 0, 0]
    tests = await home.timed.house.gateway.runner.load(
        find_edge(rule_types.AlertRule, "back_test"), home.user.system, rules, {"days": 1}
    )
    assert [test.count for test in tests] == [0, 0, 0]
    await home.store_anyway(AFTER, value="30")
    assert await alerts(AFTER + HALF_HOUR) == [1, 0, 1]
    assert await alerts(AFTER + HOUR) == [0, 1, 0]  # an hour after the reading: the time without consent is no silence


async def test_comparisons_use_no_reading_of_a_time_without_consent(home: Home) -> None:
    await home.interrupt()
    await home.store_anyway(*ALL)
    day = timedelta(days=1)
    home.timed.clock.now = AFTER + day + HALF_HOUR
    await home.store_anyway(AFTER + day)
    midnight = (NOW + day).replace(hour=0, minute=0)
    query = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
      readings(range: $range, period: P1D) { comparison(baseline: PREVIOUS_PERIOD) {
        current { value } previous { value completeness } series { buckets { value } } } } } }"""
    span = {"start": format_iso(midnight), "end": format_iso(midnight + day)}
    answer = await home.timed.house.graphql(query, home.user.headers["acting"], id=home.resource_id, range=span)
    comparison = answer["data"]["resource"]["readings"]["comparison"]
    assert (comparison["current"]["value"], comparison["previous"]["value"]) == (50, 100)
    assert comparison["series"]["buckets"] == [{"value": 100}]


def test_usual_power_is_not_learned_from_a_time_without_consent() -> None:
    today, half_hour = to_ms(NOW.replace(hour=0, minute=0)), to_ms(NOW + HALF_HOUR) - to_ms(NOW)
    count = 48 * 28
    grid = BucketGrid((BucketRun(today - count * half_hour, half_hour, count),))
    energy = Aggregates.empty(count)
    energy.count, energy.sum = [1] * count, [250] * count
    field = parse_fields(msgspec.convert([msgspec.to_builtins(STORAGE[0])], tuple[StorageDefinition, ...]))[0]
    stored = StoredEnergy("id", MeterKind.ELECTRICITY, field, grid, energy, grid.start, 0)
    consented = learn_levels([stored], grid, today, ZoneInfo("UTC"))
    withheld = learn_levels([replace(stored, gaps=((grid.start, today),))], grid, today, ZoneInfo("UTC"))
    assert withheld == learn_levels([replace(stored, aggregates=Aggregates.empty(count))], grid, today, ZoneInfo("UTC"))
    assert withheld != consented


async def test_a_display_learns_no_usual_power_from_a_time_without_consent(home: Home) -> None:
    """It needs seven days. The days with consent are too long ago when the consent is renewed."""
    ve_id = await home.user.add_home(home.resource_id)
    midnights = [NOW.replace(hour=0, minute=0) + timedelta(days=day) for day in range(1, 31)]

    async def knows_a_level(rows: Rows) -> bool:
        (shown,) = await load_homes(rows, [await rows.get(VirtualEntity, ve_id)])
        assert not isinstance(shown, GatewayError)
        return any(shown.learned_power.levels)

    async def learns(at: datetime, *instants: datetime) -> bool:
        home.timed.clock.now = at
        await home.store_anyway(*instants)
        system = Principal(Role.SYSTEM, application_id=home.user.application_id)
        return bool(await home.user.gateway.runner.read(system, Permission.SYSTEM, knows_a_level))

    assert await learns(midnights[9], *midnights[:9])
    await home.change("revocation", midnights[9])
    await home.change("renewal", midnights[29])
    assert not await learns(midnights[29], *midnights[10:29])


async def test_the_register_of_a_time_without_consent_is_not_read(home: Home) -> None:
    await home.interrupt()
    path, found = f"/resource/{home.resource_id}/meterread", list[int]()
    for at in ALL:
        register = NetworkRegister(
            mpxn=home.mpxn, classifier="electricity.consumption", at=at, value=Decimal(5000), unit="kWh"
        )
        await record(home.user, register)
        found.append((await home.send("GET", path)).status_code)
    assert found == [200, 404, 200]


TIMES = """query ($id: ID!, $device: ID!) {
  resource(resourceId: $id) { firstTime lastTime catchUps { state } current { value } }
  device(deviceId: $device) { status { lastPacketAt } freshness { asOf } networkState { at } }
}"""


async def test_times_of_readings_devices_and_catch_ups_are_withheld_as_readings_are(home: Home) -> None:
    other = await home.user.add_resource("without a meter point")
    device_id, shared = (
        await add_device(home.user, home.resource_id),
        await add_device(home.user, home.resource_id, other),
    )
    hardware_id = (await home.send("GET", f"/device/{device_id}")).json()["hardwareId"]
    state = MeterMessage(hardware_id=hardware_id, at=NOW, network_state=NetworkState(at=NOW, rssi=-40))
    system = Principal(Role.SYSTEM, application_id=home.user.application_id)
    run = home.timed.house.gateway.runner.run
    await run(meter_messages.record_meter_messages, system, {"messages": [state]})
    await home.post(BEFORE - HOUR)
    await home.user.record(other, (BEFORE - 2 * HOUR, "500"), field="POWER")
    await run(catch_ups.catch_up, home.user.account, {"resource_id": home.resource_id})

    async def ask(caller: str, device: str) -> tuple[set[str], list[str]]:
        """Return the fields that have a value, and the codes of the errors."""
        headers = home.user.headers[caller]
        answer = await home.timed.house.graphql(TIMES, headers, id=home.resource_id, device=device)
        known = {name for record in answer["data"].values() for name, value in record.items() if value is not None}
        return known, sorted({error["extensions"]["code"] for error in answer.get("errors", [])})

    all_fields = {"firstTime", "lastTime", "catchUps", "current", "status", "freshness", "networkState"}
    assert await ask("acting", device_id) == (all_fields, [])
    await home.change("revocation", NOW + timedelta(minutes=1))
    for caller in ("acting", "application", "administrator"):
        assert await ask(caller, device_id) == (set(), ["CONSENT_REVOKED"])
    for path in (f"/resource/{home.resource_id}/first-time", f"/device/{device_id}/status"):
        answer = await home.send("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (403, "CONSENT_REVOKED"), path
    status = (await home.send("GET", f"/device/{shared}/status")).json()
    assert status["value"] == to_ms(BEFORE - 2 * HOUR) // 1000  # the other resource needs no consent
    for watch in ("device_states", "catch_up_state"):
        argument = {"device_ids": [device_id]} if watch == "device_states" else {"resource_ids": [home.resource_id]}
        with pytest.raises(ConsentRevoked):
            await subscribed(home, watch, argument)
    await home.change("renewal", NOW + timedelta(minutes=2))
    assert await ask("acting", device_id) == (all_fields, [])


async def test_costs_need_the_consent_for_the_energy(home: Home) -> None:
    """The resource of the costs names no meter point of its own."""
    await home.post(BEFORE - HOUR)
    await home.user.set_tariff(home.resource_id)
    costs = await home.user.add_resource("costs", cost_of=ID(home.resource_id))
    span = {"from": "2026-06-01T00:00:00", "to": "2026-06-01T23:59:59", "period": "P1D", "function": "sum"}
    for change, expected in (("revocation", 403), ("renewal", 200)):
        await home.change(change, home.timed.clock.now + timedelta(minutes=1))
        assert (await home.send("GET", f"/resource/{costs}/readings", params=span)).status_code == expected
    stored = await home.user.run("resource", resource_id=costs)
    assert [gap.stop is None for gap in stored.consent_gaps] == [False, True]
    again = await home.user.add_resource("costs", cost_of=ID(home.resource_id))
    assert (await home.user.run("resource", resource_id=again)).consent_gaps == stored.consent_gaps


async def subscribed(home: Home, name: str, arguments: dict[str, Any]) -> None:
    """Start a subscription and load its first state."""
    source = await home.timed.house.gateway.runner.run(operation(name), home.user.account, arguments)
    if source.reducer is not None:
        await home.timed.house.gateway.runner.read(home.user.account, Permission.DEVICE_READ, source.reducer.load)
