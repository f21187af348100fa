"""Alert rules over recorded readings: added, evaluated by one and by several workers, and tried on the past."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import col
from strawberry import ID

from tests.support.house import House, Tenant
from tests.support.outbox import Post
from tests.support.timed import NOW, RECORD
from wattgate.app.workers.alert_rules import Rules
from wattgate.clock import to_ms
from wattgate.db.models import Alert, AlertRule, Resource
from wattgate.db.queries import alert_rules as judging
from wattgate.db.queries.alert_rules import BackTest
from wattgate.enums import Function, Period, RuleKind, ThresholdSide
from wattgate.errors import BadInput, ConsentRevoked
from wattgate.graphql.core.fields import edge_named
from wattgate.graphql.resolvers import alert_rules as operations
from wattgate.graphql.resolvers import recording
from wattgate.graphql.types import alert_rules as types
from wattgate.graphql.types import readings as reading_types
from wattgate.graphql.types.alerts import Channel
from wattgate.realtime import topics

MINUTE, HALF_HOUR, HOUR, DAY = (timedelta(minutes=minutes) for minutes in (1, 30, 60, 1440))


class Meter:
    """A new resource of the tenant, rules on it, and workers."""

    def __init__(self, post: Post, resource_id: str) -> None:
        self.post, self.resource_id = post, resource_id
        self.worker = Rules(post.runner, post.hub)
        post.hub.listen(self.worker.bell, [topics.watched_readings()])

    async def add(self, kind: RuleKind = RuleKind.THRESHOLD, **more: Any) -> Any:
        values: dict[str, Any] = {
            "name": "Rule",
            "window_minutes": 60,
            "alert_type_id": ID(self.post.tenant.ids["alert_type"]),
            "channels": [Channel.INBOX],
            "resource_id": ID(self.resource_id),
            "threshold": None if kind is RuleKind.NO_DATA else Decimal(2),
        }
        return await self.post.run(operations.add_alert_rule, input=types.NewAlertRule(kind=kind, **{**values, **more}))

    async def record(self, start: datetime, *values: str, every: timedelta = HALF_HOUR, field: str = "ENERGY") -> None:
        readings = [
            reading_types.NewReading(at=start + n * every, value=Decimal(value)) for n, value in enumerate(values)
        ]
        series = [reading_types.NewReadings(resource_id=ID(self.resource_id), field=field, readings=readings)]
        await self.post.run(recording.record_readings, series=series)

    async def told(self, rule: Any) -> list[dict[str, Any]]:
        """The data of a rule's alerts, oldest first."""
        found = await self.post.rows(Alert, order_by=[Alert.created_at])
        return [one.data for one in found if one.data and one.data.get("ruleId") == rule.rule_id]

    async def back_test(self, rule: Any, days: int = 30) -> Any:
        (found,) = await self.back_tests([rule], days)
        return found

    async def back_tests(self, some: list[Any], days: int = 30) -> list[Any]:
        tenant = self.post.tenant
        return await self.post.runner.load(
            edge_named(types.AlertRule, "back_test"), tenant.system, some, {"days": days}
        )


@pytest.fixture
async def meter(settled: Tenant) -> Meter:
    post = Post(settled)
    made = Meter(post, await settled.add_resource("a meter"))
    await post.hub.open([topics.watched_readings()])
    return made


async def test_a_threshold_is_told_once_until_it_has_come_back_by_the_hysteresis(meter: Meter) -> None:
    rule = await meter.add(hysteresis=Decimal("0.5"))
    start = NOW + 20 * MINUTE  # the next half hour
    for place, value in enumerate(["1.0", "1.2", "1.0", "0.7", "1.0", "0.4", "1.7"]):
        meter.post.clock.now = start + (place + 1) * HALF_HOUR
        await meter.record(start + place * HALF_HOUR, value)
        await meter.worker.work_once()
    told = await meter.told(rule)
    # hours of 1.0, 2.2 (told), 2.2, 1.7, 1.7, 1.4 (it is over), 2.1 (told)
    assert [one["value"] for one in told] == [2.2, 2.1]
    assert told[0] == {
        "ruleId": rule.rule_id, "rule": "Rule", "kind": "THRESHOLD", "resourceId": meter.resource_id, "field": "ENERGY",
        "value": 2.2, "unit": "kWh", "threshold": "2", "at": "2026-06-01T13:30:00.000Z",
    }  # fmt: skip


async def test_several_workers_tell_it_once(meter: Meter) -> None:
    rule = await meter.add()
    workers = [Rules(meter.post.runner, meter.post.hub) for _ in range(4)]
    for worker in workers:
        meter.post.hub.listen(worker.bell, [topics.watched_readings()])
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    await asyncio.gather(*(worker.work_once() for worker in workers))
    assert len(await meter.told(rule)) == 1


async def test_what_was_recorded_before_a_worker_came_is_told_when_the_rule_is_due(meter: Meter) -> None:
    rule = await meter.add()
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    late = Rules(meter.post.runner, meter.post.hub)
    assert await late.work_once() >= 1
    assert await late.work_once() == 0
    assert len(await meter.told(rule)) == 1


async def test_old_readings_fill_windows_and_fire_nothing(meter: Meter) -> None:
    rule = await meter.add()
    start = NOW.replace(minute=0)
    await meter.record(start - 20 * DAY, *["9"] * 100)
    await meter.worker.work_once()
    meter.post.pass_time(10 * DAY)
    await meter.record(start + DAY, *["9"] * 100)  # the history of an outage
    await meter.worker.work_once()
    assert await meter.told(rule) == []
    await meter.record(start + 10 * DAY - HALF_HOUR, "9")
    await meter.worker.work_once()
    assert len(await meter.told(rule)) == 1


async def test_quiet_hours_put_off_what_still_holds_after_them(meter: Meter) -> None:
    rule = await meter.add(quiet_from="22:00", quiet_to="07:00", time_zone="Europe/London")
    for hour in (21, 22, 23):  # UTC; London is an hour ahead
        meter.post.clock.now = NOW.replace(hour=hour, minute=30)
        await meter.record(NOW.replace(hour=hour, minute=0), "5")
        await meter.worker.work_once()
    assert await meter.told(rule) == []
    morning = NOW.replace(hour=6, minute=0) + DAY
    meter.post.clock.now = morning + HALF_HOUR
    await meter.record(morning, "5")
    await meter.worker.work_once()
    assert len(await meter.told(rule)) == 1


async def test_silence_is_told_once_as_time_passes_and_again_after_readings_have_come(meter: Meter) -> None:
    rule = await meter.add(RuleKind.NO_DATA, window_minutes=90)
    await meter.worker.work_once()
    meter.post.pass_time(2 * HOUR)
    await meter.worker.work_once()
    meter.post.pass_time(HOUR)
    await meter.worker.work_once()
    (told,) = await meter.told(rule)
    assert (told["value"], told["unit"], told["threshold"]) == (7200, "s", None)
    await meter.record(NOW.replace(minute=0) + 3 * HOUR, "1")
    meter.post.pass_time(2 * MINUTE)
    await meter.worker.work_once()
    meter.post.pass_time(3 * HOUR)
    await meter.worker.work_once()
    assert len(await meter.told(rule)) == 2


async def test_a_budget_is_told_when_the_day_will_exceed_it(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(20), period=Period.P1D, time_zone="UTC")
    midnight = NOW.replace(hour=0, minute=0) + DAY
    await meter.record(NOW.replace(minute=0), "9.5")  # of the day before
    for hour in range(1, 9):
        meter.post.clock.now = midnight + hour * HOUR
        await meter.record(midnight + (hour - 1) * HOUR, "0.4" if hour < 6 else "2")
        await meter.worker.work_once()
    (told,) = await meter.told(rule)
    assert (told["at"], told["value"]) == ("2026-06-02T07:00:00.000Z", pytest.approx(6 * 24 / 7))


async def test_a_budget_is_told_with_the_reading_that_exceeds_it(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(20), period=Period.P1D, time_zone="UTC", window_minutes=60)
    midnight = NOW.replace(hour=0, minute=0) + DAY
    meter.post.clock.now = midnight + 2 * HOUR
    await meter.worker.work_once()
    meter.post.pass_time(10 * MINUTE)
    await meter.record(midnight + HOUR, "21")
    await meter.worker.work_once()
    assert [one["at"] for one in await meter.told(rule)] == ["2026-06-02T02:10:00.000Z"]


async def test_silence_of_quiet_hours_is_told_at_their_end(meter: Meter) -> None:
    rule = await meter.add(RuleKind.NO_DATA, window_minutes=60, quiet_from="12:00", quiet_to="15:10", time_zone="UTC")
    meter.post.pass_time(2 * HOUR)
    await meter.worker.work_once()
    assert await meter.told(rule) == []
    meter.post.clock.now = NOW.replace(hour=15, minute=9)
    await meter.worker.work_once()
    assert await meter.told(rule) == []
    meter.post.clock.now = NOW.replace(hour=15, minute=10)
    await meter.worker.work_once()
    assert [one["at"] for one in await meter.told(rule)] == ["2026-06-01T15:10:00.000Z"]


async def test_readings_wake_the_rules_on_their_own_field(meter: Meter) -> None:
    energy, power = await meter.add(), await meter.add(field="POWER", function=Function.AVG, threshold=Decimal(3000))
    meter.post.pass_time(HOUR)
    await meter.worker.work_once()
    since = meter.post.clock.now
    meter.post.pass_time(MINUTE)
    await meter.record(since, "100", field="POWER")
    await meter.worker.work_once()
    judged = {one.rule_id: one.judged_to for one in await meter.post.rows(AlertRule)}
    assert judged[power.rule_id] == to_ms(since)
    due = {one.rule_id: one.due_at for one in await meter.post.rows(AlertRule)}
    assert due[energy.rule_id] == since + 30 * MINUTE
    assert due[power.rule_id] == since + 31 * MINUTE


async def test_more_readings_than_can_be_judged_are_passed_over_and_logged(
    meter: Meter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rule = await meter.add()
    monkeypatch.setattr(judging, "MAX_SAMPLES", 10)
    meter.post.pass_time(10 * HOUR)
    await meter.record(NOW + 20 * MINUTE, *["5"] * 11)
    await meter.worker.work_once()
    assert await meter.told(rule) == []
    assert f"alert rule {rule.rule_id}; it passes them over" in caplog.text
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE + 10 * HOUR, "5")
    await meter.worker.work_once()
    assert len(await meter.told(rule)) == 1


async def test_nothing_is_told_of_resources_without_rules(meter: Meter) -> None:
    async def watched() -> bool:
        (found,) = await meter.post.rows(Resource, col(Resource.resource_id) == meter.resource_id)
        return bool(found.watched)

    assert not await watched()
    rule = await meter.add()
    assert await watched()
    await meter.post.run(operations.update_alert_rule, rule_id=rule.rule_id, input=types.AlertRuleChange(enabled=False))
    assert not await watched()
    await meter.post.run(operations.update_alert_rule, rule_id=rule.rule_id, input=types.AlertRuleChange(enabled=True))
    assert await watched()
    await meter.post.run(operations.remove_alert_rule, rule_id=rule.rule_id)
    assert not await watched()
    assert await meter.post.rows(AlertRule, col(AlertRule.rule_id) == rule.rule_id) == []


async def test_rules_are_tried_on_the_past_many_at_once(meter: Meter) -> None:
    day = ["0.2"] * 36 + ["1.5"] * 4 + ["0.2"] * 8  # much from 18:00 on
    start = (NOW - 12 * DAY).replace(hour=0, minute=0)
    await meter.record(start, *day * 10)
    high = await meter.add()
    silent = await meter.add(RuleKind.NO_DATA, window_minutes=600)
    budget = await meter.add(RuleKind.PACE, threshold=Decimal(12), period=Period.P1D, time_zone="UTC")
    low = await meter.add(function=Function.MIN, side=ThresholdSide.BELOW, threshold=Decimal("0.1"))
    told = await meter.back_tests([high, silent, budget, low])
    assert [one.count for one in told] == [10, 1, 10, 0]
    assert [one.at for one in told[0].firings][:2] == [start + n * DAY + 19 * HOUR for n in range(2)]
    assert told[0].firings[0].value == 3.0
    assert told[1].firings[0].at == start + 10 * DAY - HALF_HOUR + 600 * MINUTE
    assert (await meter.back_test(high, days=5)).count == 3


async def test_a_rule_fires_as_its_back_test_says(meter: Meter) -> None:
    rule = await meter.add(hysteresis=Decimal("0.3"), quiet_from="13:00", quiet_to="15:30", time_zone="UTC")
    start = NOW + 20 * MINUTE
    for place in range(40):
        meter.post.clock.now = start + (place + 1) * HALF_HOUR
        await meter.record(start + place * HALF_HOUR, str(Decimal(place * 7 % 11) / 4))
        await meter.worker.work_once()
    told = await meter.back_test(rule, days=2)
    assert told.count > 2
    assert [one.value for one in told.firings] == [one["value"] for one in await meter.told(rule)]


async def test_a_rule_whose_consent_is_withdrawn_is_silent(settled: Tenant) -> None:
    post = Post(settled)
    await settled.run("verify_meter_point", mpxn="2000012345678")
    meter = Meter(post, await settled.add_resource("under consent", mpxn="2000012345678"))
    rule = await meter.add()
    await settled.run("revoke_consents", mpxns=["2000012345678"])
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    await meter.worker.work_once()
    assert await meter.told(rule) == []
    assert isinstance(await meter.back_test(rule), ConsentRevoked)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"resourceId": "none"}, "resourceId"),
    ({"resourceId": None}, "resourceId"),
    ({"resourceId": None, "veId": "none"}, "veId"),
    ({"field": "HEAT"}, "field"),
    ({"alertTypeId": "none"}, "alertTypeId"),
    ({"channels": []}, "channels"),
    ({"windowMinutes": 0}, "windowMinutes"),
    ({"windowMinutes": 44641}, "windowMinutes"),
    ({"windowMinutes": 1441, "field": "POWER"}, "windowMinutes"),
    ({"hysteresis": "2.1"}, "hysteresis"),
    ({"hysteresis": "-1"}, "hysteresis"),
    ({"threshold": None}, "threshold"),
    ({"threshold": "NaN"}, "threshold"),
    ({"threshold": "1.2345"}, "threshold"),
    ({"kind": "NO_DATA"}, "threshold"),
    ({"kind": "PACE", "threshold": "-1"}, "threshold"),
    ({"kind": "PACE", "period": "P1Y"}, "period"),
    ({"function": "LAST"}, "function"),
    ({"timeZone": "Mars/Olympus"}, "timeZone"),
    ({"quietFrom": "25:00", "quietTo": "07:00"}, "quietFrom"),
    ({"quietFrom": "22:00"}, "quietTo"),
    ({"quietFrom": "22:00", "quietTo": "22:00"}, "quietTo"),
]
ADD = "mutation ($input: NewAlertRule!) { addAlertRule(input: $input) { ruleId unit resourceId timeZone } }"


def good(served: House) -> dict[str, Any]:
    return {
        "name": "Much",
        "kind": "THRESHOLD",
        "windowMinutes": 60,
        "threshold": "2",
        "resourceId": served.one.ids["resource"],
        "alertTypeId": served.one.ids["alert_type"],
        "channels": ["INBOX"],
    }


@pytest.mark.parametrize(("change", "place"), WRONG)
async def test_a_rule_that_cannot_be_is_refused_with_the_place(
    served: House, change: dict[str, Any], place: str
) -> None:
    told = await served.graphql(ADD, served.one.headers["account"], input=good(served) | change)
    (error,) = told["errors"]
    assert error["extensions"]["code"] == "BAD_INPUT"
    assert [one["path"] for one in error["extensions"]["problems"]] == [["input", place]]


async def test_a_rule_may_be_made_for_a_home(served: House) -> None:
    home = {"resourceId": None, "veId": served.one.ids["virtual_entity"]}
    told = await served.graphql(ADD, served.one.headers["account"], input=good(served) | home)
    assert told["data"]["addAlertRule"]["resourceId"] == served.one.ids["resource"]
    other = await served.graphql(ADD, served.other.headers["account"], input=good(served))
    assert {one["path"][1] for one in other["errors"][0]["extensions"]["problems"]} == {"resourceId", "alertTypeId"}


async def test_a_served_gateway_alerts_when_readings_come(served: House) -> None:
    resource_id = await served.one.add_resource("a live meter")
    made = await served.graphql(
        ADD,
        served.one.headers["account"],
        input=good(served) | {"resourceId": resource_id, "field": "POWER", "function": "AVG", "threshold": "3000"},
    )
    rule_id = made["data"]["addAlertRule"]["ruleId"]
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
    series = [{"resourceId": resource_id, "field": "POWER", "readings": [{"at": at.isoformat(), "value": 4000}]}]
    recorded = await served.graphql(RECORD, served.one.headers["account"], series=series)
    assert "errors" not in recorded
    async with asyncio.timeout(30):
        while True:
            told = await served.graphql(
                "{ alertRules { ruleId active backTest { count } } }", served.one.headers["account"]
            )
            (rule,) = [one for one in told["data"]["alertRules"] if one["ruleId"] == rule_id]
            if rule["active"]:
                break
            await asyncio.sleep(0.1)
    listed = (await served.call("GET", "/alert/user", served.one.headers["acting"])).json()
    assert rule_id in [one["dataToFill"]["ruleId"] for one in listed if one["dataToFill"]]


async def test_a_back_test_goes_over_some_days(meter: Meter) -> None:
    rule = await meter.add()
    with pytest.raises(BadInput):
        await meter.back_test(rule, days=0)
    assert isinstance(await meter.back_test(rule, days=366), BackTest)
