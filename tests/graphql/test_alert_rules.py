"""Alert rules: adding them, evaluation of recorded readings by one and by several workers, back-tests."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlmodel import col
from strawberry import ID

from tests.support.house import House, Tenant
from tests.support.outbox import Post
from tests.support.refusals import refusal_of, refusals
from tests.support.shares import all_taken, until_waiting
from tests.support.timed import NOW, RECORD
from wattgate.app.workers import alert_rules as worker_module
from wattgate.app.workers.alert_rules import AlertRuleWorker
from wattgate.clock import to_ms
from wattgate.db.connections.engine import Database
from wattgate.db.models import Alert, AlertRule, Resource
from wattgate.db.queries import alert_rules as queries
from wattgate.db.queries.alert_rules import BackTest
from wattgate.enums import Channel, Function, Period, RuleKind, ThresholdSide
from wattgate.errors import BadInput, ConsentRevoked, Unavailable
from wattgate.operations.alerts import alert_rules as operations
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.core.runner import Runner
from wattgate.operations.moves import resource_changes
from wattgate.operations.readings import recording
from wattgate.operations.templates import templates
from wattgate.operations.types.homes import meter_points as inputs
from wattgate.operations.types.messages import alert_rules as types
from wattgate.operations.types.messages import alerts as alert_types
from wattgate.operations.types.meters import readings as reading_types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, RuleReadingRecorded

pytestmark = pytest.mark.either_database("some tests of the module run on both")

MINUTE, HALF_HOUR, HOUR, DAY = (timedelta(minutes=minutes) for minutes in (1, 30, 60, 1440))


class Meter:
    """A new resource of the tenant, its rules, and a worker that evaluates them."""

    def __init__(self, post: Post, resource_id: str) -> None:
        self.post, self.resource_id = post, resource_id
        self.worker = AlertRuleWorker(post.runner, post.hub)
        post.hub.add_listener(self.worker.wake_signal, [topics.rule_readings()])

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

    async def alerts(self, rule: Any) -> list[dict[str, Any]]:
        """Return the data of a rule's alerts, oldest first."""
        alerts = await self.post.rows(Alert, order_by=[Alert.created_at])
        return [alert.data for alert in alerts if alert.data and alert.data.get("ruleId") == rule.rule_id]

    async def back_test(self, rule: Any, days: int = 30) -> Any:
        (result,) = await self.back_tests([rule], days)
        return result

    async def back_tests(self, rules: list[Any], days: int = 30) -> list[Any]:
        tenant = self.post.tenant
        return await self.post.runner.load(
            find_edge(types.AlertRule, "back_test"), tenant.system, rules, {"days": days}
        )


@pytest.fixture
async def meter(settled: Tenant) -> Meter:
    post = Post(settled)
    meter = Meter(post, await settled.add_resource("a meter"))
    await post.hub.open_topics([topics.rule_readings()])
    return meter


@pytest.mark.both_databases("a main path of its area")
async def test_threshold_fires_once_until_value_recovers_by_the_hysteresis(meter: Meter) -> None:
    rule = await meter.add(hysteresis=Decimal("0.5"))
    start = NOW + 20 * MINUTE  # the next half hour
    for index, value in enumerate(["1.0", "1.2", "0.5", "1.6", "0.1", "1.3", "0.8"]):
        meter.post.clock.now = start + (index + 1) * HALF_HOUR
        await meter.record(start + index * HALF_HOUR, value)
        await meter.worker.evaluate_pending()
    alerts = await meter.alerts(rule)
    # sums of the hours: 1.0, 2.2 (fires), 1.7, 2.1 (still active), 1.7, 1.4 (recovered), 2.1 (fires)
    assert [alert["value"] for alert in alerts] == [2.2, 2.1]
    assert alerts[0] == {
        "ruleId": rule.rule_id, "rule": "Rule", "kind": "THRESHOLD", "resourceId": meter.resource_id, "field": "ENERGY",
        "value": 2.2, "unit": "kWh", "threshold": "2", "at": "2026-06-01T13:30:00.000Z", "windowMinutes": 60,
        "resource": "a meter",
    }  # fmt: skip


async def test_rules_of_a_closed_resource_pause_and_start_again_when_it_is_opened(meter: Meter) -> None:
    silence = await meter.add(RuleKind.NO_DATA, window_minutes=90)

    async def set_active(active: bool) -> None:
        change = inputs.ResourceChange(active=active)
        await meter.post.run(resource_changes.update_resource, resource_id=meter.resource_id, input=change)

    await set_active(False)
    for _ in range(8):
        meter.post.pass_time(HALF_HOUR)
        await meter.worker.evaluate_pending()
    assert await meter.alerts(silence) == []
    await set_active(True)
    await meter.worker.evaluate_pending()
    meter.post.pass_time(HOUR)
    await meter.worker.evaluate_pending()
    assert await meter.alerts(silence) == []  # the time in which it was closed does not count
    meter.post.pass_time(HOUR)
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(silence)) == 1


async def test_rule_on_a_closed_resource_is_rejected(meter: Meter) -> None:
    change = inputs.ResourceChange(active=False)
    await meter.post.run(resource_changes.update_resource, resource_id=meter.resource_id, input=change)
    with pytest.raises(BadInput):
        await meter.add()


@pytest.mark.both_databases("a main path of its area")
async def test_several_workers_send_one_alert(meter: Meter) -> None:
    rule = await meter.add()
    workers = [AlertRuleWorker(meter.post.runner, meter.post.hub) for _ in range(4)]
    for worker in workers:
        meter.post.hub.add_listener(worker.wake_signal, [topics.rule_readings()])
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    await asyncio.gather(*(worker.evaluate_pending() for worker in workers))
    assert len(await meter.alerts(rule)) == 1


async def test_worker_started_late_evaluates_earlier_readings_when_the_rule_is_due(meter: Meter) -> None:
    rule = await meter.add()
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    late = AlertRuleWorker(meter.post.runner, meter.post.hub)
    assert await late.evaluate_pending() >= 1
    assert await late.evaluate_pending() == 0
    assert len(await meter.alerts(rule)) == 1


async def test_old_readings_fill_windows_but_do_not_fire(meter: Meter) -> None:
    rule = await meter.add()
    start = NOW.replace(minute=0)
    await meter.record(start - 20 * DAY, *["9"] * 100)
    await meter.worker.evaluate_pending()
    meter.post.pass_time(10 * DAY)
    await meter.record(start + DAY, *["9"] * 100)  # readings that arrive late, after an outage
    await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    await meter.record(start + 10 * DAY - HALF_HOUR, "9")
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(rule)) == 1


async def test_quiet_hours_delay_an_alert_that_still_applies_afterwards(meter: Meter) -> None:
    rule = await meter.add(quiet_from="22:00", quiet_to="07:00", time_zone="Europe/London")
    for hour in (21, 22, 23):  # UTC; London is an hour ahead
        meter.post.clock.now = NOW.replace(hour=hour, minute=30)
        await meter.record(NOW.replace(hour=hour, minute=0), "5")
        await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    morning = NOW.replace(hour=6, minute=0) + DAY
    meter.post.clock.now = morning + HALF_HOUR
    await meter.record(morning, "5")
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(rule)) == 1


async def judged_at(meter: Meter, now: datetime, *recorded: tuple[datetime, str]) -> None:
    """Record readings at an instant, each by a call of its own, and evaluate the rules after each."""
    meter.post.clock.now = now
    for at, value in recorded:
        await meter.record(at, value)
        await meter.worker.evaluate_pending()
    await meter.worker.evaluate_pending()


FOUR = NOW.replace(hour=16, minute=0)


@pytest.mark.both_databases("the statement that notes late readings")
async def test_late_readings_cause_the_alert_that_they_would_have_caused_in_time(meter: Meter) -> None:
    rule = await meter.add(threshold=Decimal(5))
    seven, evening = FOUR + 3 * HOUR, FOUR + 4 * HOUR
    await judged_at(meter, evening, (seven, "0.1"), (FOUR, "4"), (FOUR + HALF_HOUR, "4"))
    assert [alert["value"] for alert in await meter.alerts(rule)] == [8]
    await judged_at(meter, evening + HALF_HOUR, (FOUR + HOUR, "4"), (FOUR - HALF_HOUR, "4"))  # the same time is longer
    assert len(await meter.alerts(rule)) == 1
    assert (await meter.back_test(rule, days=1)).count == 1


async def test_a_correction_of_the_newest_reading_is_judged_at_once_and_sent_once(meter: Meter) -> None:
    rule = await meter.add(threshold=Decimal(5))
    await judged_at(meter, FOUR + HALF_HOUR, (FOUR, "4"))
    await judged_at(meter, FOUR + HALF_HOUR + MINUTE, (FOUR, "6"))
    assert [alert["value"] for alert in await meter.alerts(rule)] == [6]
    await judged_at(meter, FOUR + HALF_HOUR + 2 * MINUTE, (FOUR, "7"))
    assert len(await meter.alerts(rule)) == 1
    await judged_at(meter, FOUR + HALF_HOUR + 3 * MINUTE, (FOUR, "1"))
    assert not (await meter.post.rows(AlertRule))[0].active


async def test_late_readings_are_judged_although_their_event_was_lost(meter: Meter) -> None:
    rule = await meter.add(threshold=Decimal(5))
    await judged_at(meter, FOUR + 4 * HOUR, (FOUR + 3 * HOUR, "0.1"))
    await meter.record(FOUR, "4", "4")
    await judged_at(meter, FOUR + 5 * HOUR)
    without_events = AlertRuleWorker(meter.post.runner, meter.post.hub)
    await without_events.evaluate_pending()
    assert len(await meter.alerts(rule)) == 1


async def test_readings_of_before_the_rule_send_nothing_however_late_they_come(meter: Meter) -> None:
    rule = await meter.add(threshold=Decimal(5))
    await judged_at(meter, NOW + HOUR, (NOW.replace(minute=0) - 3 * HOUR, "9"), (NOW.replace(minute=0) - DAY, "9"))
    assert await meter.alerts(rule) == []


async def test_readings_that_come_once_a_day_fire_at_the_end_of_the_quiet_hours(meter: Meter) -> None:
    quiet: dict[str, Any] = {"quiet_from": "20:00", "quiet_to": "07:00", "time_zone": "UTC"}
    night, ended, afternoon = [await meter.add(threshold=Decimal(limit), **quiet) for limit in (5, 12, 20)]
    day = [(FOUR, "30"), (FOUR + HOUR, "0"), (FOUR + 5 * HOUR, "13"), (FOUR + 6 * HOUR, "6")]
    await judged_at(meter, FOUR + 7 * HOUR, *day)
    assert [await meter.alerts(rule) for rule in (night, ended, afternoon)] == [[], [], []]  # it is 23:00
    await judged_at(meter, (FOUR + 15 * HOUR) - MINUTE)
    assert await meter.alerts(night) == []
    await judged_at(meter, FOUR + 15 * HOUR)
    # of the times above 5, the afternoon's and the night's; above 12 the afternoon's: that of the night has ended
    assert [alert["value"] for alert in await meter.alerts(night)] == [30, 6]
    assert [alert["value"] for alert in await meter.alerts(ended)] == [30]
    assert [alert["value"] for alert in await meter.alerts(afternoon)] == [30]
    for rule, count in ((night, 2), (ended, 1), (afternoon, 1)):
        assert (await meter.back_test(rule, days=2)).count == count


@pytest.mark.parametrize("late", [timedelta(hours=1), timedelta(hours=40)])
async def test_a_budget_is_judged_when_the_last_readings_of_its_period_come_after_its_end(
    meter: Meter, late: timedelta
) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(10), period=Period.P1D, time_zone="UTC")
    today = NOW.replace(hour=0, minute=0) + DAY
    meter.post.clock.now = today + DAY + late
    await meter.record(today, *["1"] * 48)
    await meter.worker.evaluate_pending()
    assert [alert["value"] for alert in await meter.alerts(rule)] == [48]
    await judged_at(meter, meter.post.clock.now + HOUR)
    assert len(await meter.alerts(rule)) == 1


async def test_a_correction_of_a_period_that_is_over_sends_its_alert_once(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(10), period=Period.P1D, time_zone="UTC")
    first = NOW.replace(hour=0, minute=0) + DAY
    await judged_at(meter, first + DAY, (first + 23 * HOUR, "20"))
    assert len(await meter.alerts(rule)) == 1
    await judged_at(meter, first + DAY + 12 * HOUR, (first + DAY, "0.1"))
    await judged_at(meter, first + DAY + 13 * HOUR, (first + HALF_HOUR, "1"))
    assert len(await meter.alerts(rule)) == 1


async def test_a_period_that_ends_in_quiet_hours_sends_its_alert_after_them(meter: Meter) -> None:
    quiet: dict[str, Any] = {"quiet_from": "22:00", "quiet_to": "07:30", "time_zone": "UTC"}
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(10), period=Period.P1D, **quiet)
    first = NOW.replace(hour=0, minute=0) + DAY
    await judged_at(meter, first + DAY + HOUR, (first + 23 * HOUR, "20"))
    await judged_at(meter, first + DAY + 6 * HOUR, (first + DAY + 5 * HOUR, "0.1"))
    assert await meter.alerts(rule) == []
    await judged_at(meter, first + DAY + 7 * HOUR + HALF_HOUR)
    assert [alert["value"] for alert in await meter.alerts(rule)] == [20]
    assert (await meter.back_test(rule, days=2)).count == 1


async def test_steady_use_below_the_budget_sends_nothing_between_two_readings(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal("48.5"), period=Period.P1D, time_zone="UTC")
    today = NOW.replace(hour=0, minute=0) + DAY
    for half_hour in range(48):
        await judged_at(meter, today + (half_hour + 1) * HALF_HOUR, (today + half_hour * HALF_HOUR, "1"))
        await judged_at(meter, today + (half_hour + 1) * HALF_HOUR + MINUTE)
    assert await meter.alerts(rule) == []


@pytest.mark.both_databases("the numbers that the databases refuse")
async def test_rules_that_fail_wait_for_longer_each_time_and_hold_up_no_other(
    meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "MAX_RULES_PER_BATCH", 2)
    failing = [await meter.add(name=f"Failing {number}") for number in range(3)]

    # rules whose field is gone, as after a change of the storage by hand
    @operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
    async def rename_field(call: Call) -> int:
        """Rename the field of all rules."""
        return await call.rows.update(AlertRule, field="GONE")

    await meter.post.run(rename_field)
    good = await meter.add()
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(good)) == 1
    meter.post.pass_time(MINUTE // 2)
    await meter.record(NOW + 50 * MINUTE, "5")  # a new reading does not end the pause
    await meter.worker.evaluate_pending()
    (rule,) = await meter.post.rows(AlertRule, col(AlertRule.rule_id) == failing[0].rule_id)
    assert rule.failures == 1
    meter.post.pass_time(-MINUTE // 2)
    pauses = []
    for _ in range(3):
        (rule,) = await meter.post.rows(AlertRule, col(AlertRule.rule_id) == failing[0].rule_id)
        assert rule.problem
        pauses.append(rule.due_at - meter.post.clock.now)
        meter.post.clock.now = rule.due_at
        await meter.worker.evaluate_pending()
    assert pauses == [MINUTE, 2 * MINUTE, 4 * MINUTE]
    failed = {"rule_id": failing[0].rule_id, "problem": "It failed."}
    await meter.post.run(operations.remove_alert_rule, rule_id=failing[0].rule_id)  # between its failure and the pause
    assert await meter.post.run(operations.postpone_failed_rule, **failed) == 0


@pytest.mark.parametrize("conflicts", [1, worker_module.MAX_CONFLICTS])
async def test_a_conflict_of_two_workers_is_no_failure_of_the_rule(meter: Meter, conflicts: int) -> None:
    rule, left = await meter.add(), conflicts

    def refuse(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        nonlocal left
        if left and statement.startswith("INSERT INTO alert "):
            left -= 1
            raise IntegrityError(statement, {}, ValueError("another transaction was first"))

    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    engine = meter.post.tenant.gateway.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", refuse)
    try:
        await meter.worker.evaluate_pending()
    finally:
        event.remove(engine, "before_cursor_execute", refuse)
    assert left == 0
    assert len(await meter.alerts(rule)) == 1
    (row,) = await meter.post.rows(AlertRule, col(AlertRule.rule_id) == rule.rule_id)
    assert row.failures == 0


async def test_new_readings_are_evaluated_after_the_database_was_unavailable(meter: Meter, tmp_path: Path) -> None:
    rule = await meter.add()
    await judged_at(meter, NOW + 40 * MINUTE)
    meter.post.pass_time(10 * MINUTE)
    await meter.record(NOW + 20 * MINUTE, "5")
    missing = Database(f"sqlite:///{tmp_path / 'missing' / 'folder.sqlite3'}")
    meter.worker._runner = Runner(missing, meter.post.bus, clock=meter.post.clock)
    with pytest.raises(Unavailable):
        await meter.worker.evaluate_pending()
    await missing.close()
    meter.worker._runner = meter.post.runner
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(rule)) == 1


def _seconds_of_events(worker: AlertRuleWorker, applications: int) -> float:
    """Return the processor time of 4,000 events, after one of each of these applications."""

    def record(application: int) -> None:
        payload = RuleReadingRecorded(f"application {application}", "resource", "ENERGY", 0)
        worker.wake_signal.on_event(Event(topics.rule_readings(), "resource:ENERGY", payload))

    for application in range(applications):
        record(application)
    started = process_time()
    for number in range(4_000):
        record(number % applications)
    return process_time() - started


async def test_an_event_costs_the_same_for_one_application_as_for_many(meter: Meter) -> None:
    def measured(applications: int) -> float:
        workers = [AlertRuleWorker(meter.post.runner, meter.post.hub) for _ in range(3)]
        return min(_seconds_of_events(worker, applications) for worker in workers)

    assert measured(4_000) < 10 * measured(1)


async def test_all_due_rules_are_evaluated_without_a_pause_between_batches(
    meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "MAX_RULES_PER_BATCH", 2)
    rules = [await meter.add(RuleKind.NO_DATA, window_minutes=60) for _ in range(5)]
    meter.post.pass_time(2 * HOUR)
    assert await meter.worker.evaluate_pending() == 5
    assert [len(await meter.alerts(rule)) for rule in rules] == [1] * 5


async def test_a_change_of_the_name_or_the_quiet_hours_does_not_start_the_rule_again(meter: Meter) -> None:
    rule = await meter.add()
    await judged_at(meter, FOUR + HALF_HOUR, (FOUR, "4"))
    assert len(await meter.alerts(rule)) == 1
    for change, count in (({"name": "Renamed"}, 1), ({"quiet_from": "01:00", "quiet_to": "02:00"}, 1),
                          ({"threshold": Decimal(3)}, 2)):  # fmt: skip
        await meter.post.run(
            operations.update_alert_rule, rule_id=ID(rule.rule_id), input=types.AlertRuleChange(**change)
        )
        await judged_at(meter, meter.post.clock.now + HOUR, (meter.post.clock.now + HALF_HOUR, "4"))
        assert len(await meter.alerts(rule)) == count, change


async def test_no_data_rule_fires_once_and_again_after_new_readings(meter: Meter) -> None:
    rule = await meter.add(RuleKind.NO_DATA, window_minutes=90)
    await meter.worker.evaluate_pending()
    meter.post.pass_time(2 * HOUR)
    await meter.worker.evaluate_pending()
    meter.post.pass_time(HOUR)
    await meter.worker.evaluate_pending()
    (alert,) = await meter.alerts(rule)
    assert (alert["value"], alert["unit"], "threshold" in alert) == (7200, "s", False)
    await meter.record(NOW.replace(minute=0) + 3 * HOUR, "1")
    meter.post.pass_time(2 * MINUTE)
    await meter.worker.evaluate_pending()
    meter.post.pass_time(3 * HOUR)
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(rule)) == 2


async def test_pace_rule_fires_when_the_day_is_projected_to_exceed_the_budget(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(20), period=Period.P1D, time_zone="UTC")
    midnight = NOW.replace(hour=0, minute=0) + DAY
    await meter.record(NOW.replace(minute=0), "9.5")  # of the day before
    for hour in range(1, 9):
        meter.post.clock.now = midnight + hour * HOUR
        await meter.record(midnight + (hour - 1) * HOUR, "0.4" if hour < 6 else "2")
        await meter.worker.evaluate_pending()
    (alert,) = await meter.alerts(rule)
    # the half hour until 7:00 is not known
    assert (alert["at"], alert["value"]) == ("2026-06-02T07:00:00.000Z", pytest.approx(6 * 24 / 6.5, abs=1e-5))


async def test_pace_rule_fires_with_the_reading_that_exceeds_the_budget(meter: Meter) -> None:
    rule = await meter.add(RuleKind.PACE, threshold=Decimal(20), period=Period.P1D, time_zone="UTC", window_minutes=60)
    midnight = NOW.replace(hour=0, minute=0) + DAY
    meter.post.clock.now = midnight + 2 * HOUR
    await meter.worker.evaluate_pending()
    meter.post.pass_time(10 * MINUTE)
    await meter.record(midnight + HOUR, "21")
    await meter.worker.evaluate_pending()
    assert [alert["at"] for alert in await meter.alerts(rule)] == ["2026-06-02T02:10:00.000Z"]


async def test_no_data_rule_fires_at_the_end_of_quiet_hours(meter: Meter) -> None:
    rule = await meter.add(RuleKind.NO_DATA, window_minutes=60, quiet_from="12:00", quiet_to="15:10", time_zone="UTC")
    meter.post.pass_time(2 * HOUR)
    await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    meter.post.clock.now = NOW.replace(hour=15, minute=9)
    await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    meter.post.clock.now = NOW.replace(hour=15, minute=10)
    await meter.worker.evaluate_pending()
    assert [alert["at"] for alert in await meter.alerts(rule)] == ["2026-06-01T15:10:00.000Z"]


async def test_readings_wake_only_the_rules_of_their_field(meter: Meter) -> None:
    energy, power = await meter.add(), await meter.add(field="POWER", function=Function.AVG, threshold=Decimal(3000))
    meter.post.pass_time(HOUR)
    await meter.worker.evaluate_pending()
    since = meter.post.clock.now
    meter.post.pass_time(MINUTE)
    await meter.record(since, "100", field="POWER")
    await meter.worker.evaluate_pending()
    judged = {rule.rule_id: rule.judged_to for rule in await meter.post.rows(AlertRule)}
    assert judged[power.rule_id] == to_ms(since)
    due = {rule.rule_id: rule.due_at for rule in await meter.post.rows(AlertRule)}
    assert due[energy.rule_id] == since + 30 * MINUTE
    assert due[power.rule_id] == since + 31 * MINUTE


async def test_window_with_too_many_readings_is_skipped_and_logged(
    meter: Meter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rule = await meter.add()
    monkeypatch.setattr(queries, "MAX_SAMPLES", 10)
    meter.post.pass_time(10 * HOUR)
    await meter.record(NOW + 20 * MINUTE, *["5"] * 11)
    await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    assert f"Alert rule {rule.rule_id} has more than 10 new readings; they are skipped" in caplog.text
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE + 10 * HOUR, "5")
    await meter.worker.evaluate_pending()
    assert len(await meter.alerts(rule)) == 1


async def test_an_evaluation_sends_the_newest_of_many_firings(meter: Meter, caplog: pytest.LogCaptureFixture) -> None:
    rule = await meter.add(field="POWER", function=Function.MAX, window_minutes=1, threshold=Decimal(3000))
    meter.post.pass_time(2 * HOUR)
    peaks = range(4000, 4000 + queries.MAX_FIRINGS + 5)
    await meter.record(
        NOW + MINUTE, *[str(power) for peak in peaks for power in (peak, 0)], every=MINUTE, field="POWER"
    )
    await meter.worker.evaluate_pending()
    assert [alert["value"] for alert in await meter.alerts(rule)] == list(peaks)[5:]
    assert f"Alert rule {rule.rule_id} fired 55 times at once; 50 alerts are sent" in caplog.text
    assert (await meter.back_test(rule)).count == 55


async def test_resource_is_watched_only_while_it_has_an_enabled_rule(meter: Meter) -> None:
    async def watched() -> bool:
        (resource,) = await meter.post.rows(Resource, col(Resource.resource_id) == meter.resource_id)
        return bool(resource.watched)

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


async def test_back_tests_of_several_rules_run_at_once(meter: Meter) -> None:
    day = ["0.2"] * 36 + ["1.5"] * 4 + ["0.2"] * 8  # high from 18:00 on
    start = (NOW - 12 * DAY).replace(hour=0, minute=0)
    await meter.record(start, *day * 10)
    high = await meter.add()
    silent = await meter.add(RuleKind.NO_DATA, window_minutes=600)
    budget = await meter.add(RuleKind.PACE, threshold=Decimal(12), period=Period.P1D, time_zone="UTC")
    low = await meter.add(function=Function.MIN, side=ThresholdSide.BELOW, threshold=Decimal("0.1"))
    results = await meter.back_tests([high, silent, budget, low])
    assert [result.count for result in results] == [10, 1, 10, 0]
    assert [firing.at for firing in results[0].firings][:2] == [start + n * DAY + 19 * HOUR for n in range(2)]
    assert results[0].firings[0].value == 3.0
    assert results[1].firings[0].at == start + 10 * DAY - HALF_HOUR + 600 * MINUTE
    assert (await meter.back_test(high, days=5)).count == 3


async def test_live_evaluation_fires_like_the_back_test(meter: Meter) -> None:
    rule = await meter.add(hysteresis=Decimal("0.3"), quiet_from="13:00", quiet_to="15:30", time_zone="UTC")
    start = NOW + 20 * MINUTE
    for index in range(40):
        meter.post.clock.now = start + (index + 1) * HALF_HOUR
        await meter.record(start + index * HALF_HOUR, str(Decimal(index * 7 % 11) / 4))
        await meter.worker.evaluate_pending()
    result = await meter.back_test(rule, days=2)
    assert result.count > 2
    assert [firing.value for firing in result.firings] == [alert["value"] for alert in await meter.alerts(rule)]


@pytest.mark.both_databases("a main path of its area")
async def test_rule_does_not_fire_after_consent_is_revoked(settled: Tenant) -> None:
    post = Post(settled)
    await settled.run("verify_meter_point", mpxn="2000012345678")
    meter = Meter(post, await settled.add_resource("under consent", mpxn="2000012345678"))
    rule = await meter.add()
    await settled.run("revoke_consents", mpxns=["2000012345678"])
    meter.post.pass_time(HOUR)
    await meter.record(NOW + 20 * MINUTE, "5")
    await meter.worker.evaluate_pending()
    assert await meter.alerts(rule) == []
    assert isinstance(await meter.back_test(rule), ConsentRevoked)


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"resourceId": "none"}, "resourceId"),
    ({"resourceId": None}, "resourceId"),
    ({"resourceId": None, "homeId": "none"}, "homeId"),
    ({"field": "HEAT"}, "field"),
    ({"alertTypeId": "none"}, "alertTypeId"),
    ({"channels": []}, "channels"),
    ({"windowMinutes": 0}, "windowMinutes"),
    ({"windowMinutes": 44641}, "windowMinutes"),
    ({"windowMinutes": 1441, "field": "POWER"}, "windowMinutes"),
    ({"hysteresis": "2.1"}, "hysteresis"),
    ({"hysteresis": "-1"}, "hysteresis"),
    ({"threshold": None}, "threshold"),
    ({"threshold": "1e20"}, "threshold"),
    ({"threshold": "1.2345"}, "threshold"),
    ({"kind": "NO_DATA"}, "threshold"),
    ({"kind": "PACE", "threshold": "-1"}, "threshold"),
    ({"kind": "PACE", "period": "P1Y"}, "period"),
    ({"kind": "PACE", "period": "P1D", "windowMinutes": 31 * 24 * 60}, "windowMinutes"),
    ({"function": "LAST"}, "function"),
    ({"timeZone": "Mars/Olympus"}, "timeZone"),
    ({"timeZone": ""}, "timeZone"),
    ({"quietFrom": "25:00", "quietTo": "07:00"}, "quietFrom"),
    ({"quietFrom": "22:00"}, "quietTo"),
    ({"quietFrom": "22:00", "quietTo": "22:00"}, "quietTo"),
]
ADD = (
    "mutation ($input: NewAlertRule!) { createAlertRule(input: $input) {"
    " ... on AlertRule { ruleId unit resourceId timeZone } ...Refused } }"
)


def valid_input(served: House) -> dict[str, Any]:
    return {
        "name": "Much",
        "kind": "THRESHOLD",
        "windowMinutes": 60,
        "threshold": "2",
        "resourceId": served.one.ids["resource"],
        "alertTypeId": served.one.ids["alert_type"],
        "channels": ["INBOX"],
    }


async def test_invalid_rule_is_rejected_with_the_path_of_the_argument(served: House, subtests: pytest.Subtests) -> None:
    for change, argument in INVALID:
        with subtests.test(str(change)):
            response = await served.graphql(ADD, served.one.headers["account"], input=valid_input(served) | change)
            (error,) = refusals(response)
            assert error["code"] == "BAD_INPUT"
            assert [problem["path"] for problem in error["problems"]] == [["input", argument]]


async def test_rule_can_be_added_for_a_home(served: House) -> None:
    home = {"resourceId": None, "homeId": served.one.ids["virtual_entity"]}
    response = await served.graphql(ADD, served.one.headers["account"], input=valid_input(served) | home)
    assert response["data"]["createAlertRule"]["resourceId"] == served.one.ids["resource"]
    other = await served.graphql(ADD, served.other.headers["account"], input=valid_input(served))
    assert {problem["path"][1] for problem in refusal_of(other)["problems"]} == {
        "resourceId",
        "alertTypeId",
    }


@pytest.mark.both_databases("a main path of its area")
async def test_running_gateway_sends_alerts_when_readings_arrive(served: House) -> None:
    resource_id = await served.one.add_resource("a live meter")
    added = await served.graphql(
        ADD,
        served.one.headers["account"],
        input=valid_input(served)
        | {"resourceId": resource_id, "field": "POWER", "function": "AVG", "threshold": "3000"},
    )
    rule_id = added["data"]["createAlertRule"]["ruleId"]
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
    series = [{"resourceId": resource_id, "field": "POWER", "readings": [{"at": at.isoformat(), "value": 4000}]}]
    recorded = await served.graphql(RECORD, served.one.headers["account"], series=series)
    assert not refusals(recorded)
    async with asyncio.timeout(60):
        while True:
            response = await served.graphql(
                "{ viewer { alertRules { ruleId active backTest { count } } } }", served.one.headers["account"]
            )
            (rule,) = [rule for rule in response["data"]["viewer"]["alertRules"] if rule["ruleId"] == rule_id]
            if rule["active"]:
                break
            await asyncio.sleep(0.1)
    listed = (await served.call("GET", "/alert/user", served.one.headers["acting"])).json()
    assert rule_id in [alert["dataToFill"].get("ruleId") for alert in listed if alert["dataToFill"]]


async def test_back_test_covers_1_to_366_days(meter: Meter) -> None:
    rule = await meter.add()
    with pytest.raises(BadInput):
        await meter.back_test(rule, days=0)
    assert isinstance(await meter.back_test(rule, days=366), BackTest)


async def test_rule_can_change_while_its_alert_is_rendered(meter: Meter) -> None:
    """No lock of the rule is held meanwhile. The evaluation then sees the change."""
    template = alert_types.NewTemplateText(name="Inbox", html_template="<p>{{ rule }}</p>", active=True)
    type_id = ID(meter.post.tenant.ids["alert_type"])
    where = {"alert_type_id": type_id, "channel_type": Channel.INBOX, "culture_code": "en-GB"}
    await meter.post.run(templates.add_template_for, **where, input=template)
    switched_off, renamed = [await meter.add() for _ in range(2)]
    meter.post.clock.now = NOW + 2 * HOUR
    await meter.record(NOW + 20 * MINUTE, "3.0", "3.0")
    threads = meter.post.runner.templates._threads
    async with all_taken(threads):
        evaluating = [
            asyncio.ensure_future(meter.post.run(operations.evaluate_rule, rule_id=rule.rule_id))
            for rule in (switched_off, renamed)
        ]
        await until_waiting(threads, 2)
        for rule, change in ((switched_off, {"enabled": False}), (renamed, {"name": "Another name"})):
            rule_id = ID(rule.rule_id)
            await meter.post.run(operations.update_alert_rule, rule_id=rule_id, input=types.AlertRuleChange(**change))
    assert await asyncio.gather(*evaluating) == [0, 1]
    assert await meter.alerts(switched_off) == []  # the change begins the rule again, from now on
    assert [alert["rule"] for alert in await meter.alerts(renamed)] == ["Another name"]
