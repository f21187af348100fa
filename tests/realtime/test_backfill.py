"""Backfills from the database for subscribers whose missed events the bus does not retain."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.asking import with_rows
from tests.support.house import House, Tenant
from tests.support.timed import Timed
from wattgate.clock import utc_now
from wattgate.db.queries.alerts import count_unread_alerts
from wattgate.enums import CatchUpState, Channel, DfsEventState, ReadingQuality
from wattgate.operations.devices import catch_ups
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.realtime.events import ReadingRecorded
from wattgate.realtime.subscriptions import backfill

pytestmark = pytest.mark.both_databases("locks and claims differ between databases")

SECOND = timedelta(seconds=1)


async def load_backfill(tenant: Tenant, load: Any, since: datetime | None) -> list[Any]:
    return list(await with_rows(tenant, lambda rows: load(rows, since), principal=tenant.account))


async def test_backfill_without_a_time_returns_the_newest_reading_of_each_field(timed: Timed) -> None:
    tenant, now = timed.house.one, timed.clock.now
    ids = [await tenant.add_resource() for _ in "abc"]
    hour = now.replace(minute=0, second=0)
    for n in (2, 1):
        await timed.record(ids[0], (hour - n * timedelta(hours=1), n))
        await timed.record(ids[0], (now - n * SECOND, n), field="POWER")
        await timed.record(ids[1], (now - n * timedelta(minutes=1), n), field="POWER")
    readings = await load_backfill(tenant, backfill.readings([*ids, ids[0]]), None)
    assert [(reading.resource_id, reading.field, reading.value) for reading in readings] == [
        (ids[0], "ENERGY", 1),
        (ids[1], "POWER", 1),
        (ids[0], "POWER", 1),
    ]
    assert readings[2] == ReadingRecorded(ids[0], "POWER", "W", now - SECOND, 1.0, ReadingQuality.ACTUAL)
    assert await load_backfill(tenant, backfill.readings([]), None) == []
    assert await load_backfill(tenant, backfill.readings([ids[2]]), now) == []


async def test_backfill_returns_all_readings_received_since_a_time_in_order_of_receipt(timed: Timed) -> None:
    tenant = timed.house.one
    first, second = await tenant.add_resource(), await tenant.add_resource()
    hour = timed.clock.now.replace(minute=0, second=0)
    await timed.record(first, (hour, 1), field="POWER")
    timed.pass_time(timedelta(minutes=10))
    since = timed.clock.now
    timed.pass_time(SECOND)
    await timed.record(second, (since, 2), field="POWER")
    timed.pass_time(SECOND)
    await timed.record(first, (hour - timedelta(days=3), 3, "ESTIMATED"))
    timed.pass_time(SECOND)
    await timed.record(first, (hour, 4), field="POWER")  # a correction
    readings = await load_backfill(tenant, backfill.readings([first, second]), since)
    assert [(reading.resource_id, reading.field, reading.value) for reading in readings] == [
        (second, "POWER", 2),
        (first, "ENERGY", 3),
        (first, "POWER", 4),
    ]
    assert readings[1].quality is ReadingQuality.ESTIMATED
    # a write that was in progress at the time counts as later
    assert len(await load_backfill(tenant, backfill.readings([first, second]), timed.clock.now + 58 * SECOND)) == 3
    assert await load_backfill(tenant, backfill.readings([first, second]), timed.clock.now + 61 * SECOND) == []


async def test_backfill_of_too_many_readings_returns_the_newest_of_each_field(timed: Timed) -> None:
    tenant, now = timed.house.one, timed.clock.now
    resource_id = await tenant.add_resource()
    await timed.record(resource_id, *[(now - n * SECOND, n) for n in range(backfill.MAX_PAYLOADS)], field="POWER")
    assert len(await load_backfill(tenant, backfill.readings([resource_id]), now)) == backfill.MAX_PAYLOADS
    await timed.record(resource_id, (now.replace(minute=0, second=0) - timedelta(hours=1), 7))
    readings = await load_backfill(tenant, backfill.readings([resource_id]), now)
    assert [(reading.field, reading.value) for reading in readings] == [("ENERGY", 7), ("POWER", 0)]


async def test_backfill_omits_readings_of_long_ago(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    await timed.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), 1))
    assert await load_backfill(tenant, backfill.readings([resource_id]), timed.clock.now) == []


async def test_backfill_omits_readings_of_another_user(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 1), field="POWER")
    for since in (None, timed.clock.now):
        assert await load_backfill(timed.house.other, backfill.readings([resource_id]), since) == []


async def test_backfill_returns_catch_ups_in_their_current_state(served: House) -> None:
    tenant, start = served.one, utc_now()
    resource_id, other_id = await tenant.add_resource(), await tenant.add_resource()
    started = await tenant.run("catch_up", resource_id=resource_id)
    await tenant.run("catch_up", resource_id=other_id)
    arguments = {"catch_up_id": started.catch_up.catch_up_id, "state": CatchUpState.DONE, "recorded": 5}
    await tenant.gateway.runner.run(catch_ups.update_catch_up, tenant.system, arguments)
    for since in (None, start):
        loaded = await load_backfill(tenant, backfill.catch_ups([resource_id]), since)
        assert [(catch_up.catch_up_id, catch_up.state, catch_up.recorded) for catch_up in loaded] == [
            (started.catch_up.catch_up_id, CatchUpState.DONE, 5)
        ]
    assert len(await load_backfill(tenant, backfill.catch_ups([resource_id, other_id]), None)) == 2
    assert await load_backfill(tenant, backfill.catch_ups([resource_id]), utc_now() + timedelta(minutes=2)) == []
    assert await load_backfill(served.other, backfill.catch_ups([resource_id]), None) == []


async def test_backfill_returns_flexibility_events_until_their_final_state(served: House) -> None:
    tenant, start = served.one, utc_now()
    tomorrow = start + timedelta(days=1)
    new_event = NewDfsEvent(
        name="Evening",
        starts_at=tomorrow,
        ends_at=tomorrow + timedelta(hours=1),
        reward=Decimal(1),
        currency=Currency("GBP"),
    )
    ids = [(await tenant.run("add_dfs_event", input=new_event)).dfs_event_id for _ in "ab"]
    await tenant.run("move_dfs_event", dfs_event_id=ids[0], state=DfsEventState.OPEN)
    await tenant.run("move_dfs_event", dfs_event_id=ids[1], state=DfsEventState.CANCELLED)
    unfinished = [event.dfs_event_id for event in await load_backfill(tenant, backfill.dfs_events, None)]
    assert ids[0] in unfinished
    assert ids[1] not in unfinished

    async def load_own(of: Tenant, since: datetime) -> list[tuple[str, str]]:
        """Return the events of this test with their states. Other tests share the tenants, and the clock may jump."""
        loaded = await load_backfill(of, backfill.dfs_events, since)
        return [(event.dfs_event_id, event.state) for event in loaded if event.dfs_event_id in ids]

    assert await load_own(tenant, start) == [(ids[0], "open"), (ids[1], "cancelled")]
    assert await load_own(served.other, start) == []
    assert await load_own(tenant, utc_now() + timedelta(minutes=2)) == []


async def send(tenant: Tenant) -> str:
    new_alert = NewAlert(user_id=ID(tenant.user_id), alert_type_id="CM01", channels=[Channel.INBOX])
    return str((await tenant.run("send_alert", input=new_alert)).alert_id)


@pytest.mark.parametrize("who", ["one", "other"])
async def test_backfill_returns_unread_alerts_or_all_since_a_time(served: House, who: str) -> None:
    tenant: Tenant = getattr(served, who)
    await tenant.run("mark_alerts_read")
    start = utc_now()
    ids = [await send(tenant) for _ in "abc"]
    await tenant.run("mark_alerts_read", alert_ids=[ids[1]])

    async def load_ids(since: datetime | None) -> list[str]:
        return [alert.alert_id for alert in await load_backfill(tenant, backfill.alerts(tenant.user_id), since)]

    async def load_own_ids(since: datetime) -> list[str]:
        """Return the alerts of this test. Other tests share the tenants, and the clock may jump."""
        return [alert_id for alert_id in await load_ids(since) if alert_id in ids]

    assert await load_ids(None) == [ids[0], ids[2]]
    assert await load_own_ids(start) == ids
    assert await load_own_ids(utc_now() + timedelta(minutes=2)) == []
    strangers = served.other if who == "one" else served.one
    assert await load_backfill(strangers, backfill.alerts(tenant.user_id), start) == []
    assert await with_rows(tenant, lambda rows: count_unread_alerts(rows, tenant.user_id)) == 2
