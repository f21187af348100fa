"""What the database has for subscribers whom the bus cannot catch up."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.asking import with_rows
from tests.support.house import House, Tenant
from tests.support.timed import Timed
from wattgate.clock import utc_now
from wattgate.db.queries.alerts import unread_alerts
from wattgate.enums import CatchUpState, ReadingQuality
from wattgate.graphql.resolvers import catch_ups
from wattgate.graphql.types.alerts import Channel, NewAlert
from wattgate.graphql.types.flexibility import DfsEventState, NewDfsEvent
from wattgate.realtime.events import LiveReading
from wattgate.realtime.subscriptions import backfill

SECOND = timedelta(seconds=1)


async def told(tenant: Tenant, of: Any, since: datetime | None) -> list[Any]:
    return list(await with_rows(tenant, lambda rows: of(rows, since), principal=tenant.account))


async def test_whoever_begins_is_told_the_newest_of_each_field_oldest_first(timed: Timed) -> None:
    tenant, now = timed.house.one, timed.clock.now
    ids = [await tenant.add_resource() for _ in "abc"]
    hour = now.replace(minute=0, second=0)
    for n in (2, 1):
        await timed.record(ids[0], (hour - n * timedelta(hours=1), n))
        await timed.record(ids[0], (now - n * SECOND, n), field="POWER")
        await timed.record(ids[1], (now - n * timedelta(minutes=1), n), field="POWER")
    found = await told(tenant, backfill.readings([*ids, ids[0]]), None)
    assert [(one.resource_id, one.field, one.value) for one in found] == [
        (ids[0], "ENERGY", 1),
        (ids[1], "POWER", 1),
        (ids[0], "POWER", 1),
    ]
    assert found[2] == LiveReading(ids[0], "POWER", "W", now - SECOND, 1.0, ReadingQuality.ACTUAL)
    assert await told(tenant, backfill.readings([]), None) == []
    assert await told(tenant, backfill.readings([ids[2]]), now) == []


async def test_whoever_comes_back_is_told_all_that_was_received_since_in_that_order(timed: Timed) -> None:
    tenant = timed.house.one
    one, other = await tenant.add_resource(), await tenant.add_resource()
    begun = timed.clock.now.replace(minute=0, second=0)
    await timed.record(one, (begun, 1), field="POWER")
    timed.pass_time(timedelta(minutes=10))
    since = timed.clock.now
    timed.pass_time(SECOND)
    await timed.record(other, (since, 2), field="POWER")
    timed.pass_time(SECOND)
    await timed.record(one, (begun - timedelta(days=3), 3, "ESTIMATED"))
    timed.pass_time(SECOND)
    await timed.record(one, (begun, 4), field="POWER")  # a correction
    found = await told(tenant, backfill.readings([one, other]), since)
    assert [(reading.resource_id, reading.field, reading.value) for reading in found] == [
        (other, "POWER", 2),
        (one, "ENERGY", 3),
        (one, "POWER", 4),
    ]
    assert found[1].quality is ReadingQuality.ESTIMATED
    # a write that was under way at the instant counts as later
    assert len(await told(tenant, backfill.readings([one, other]), timed.clock.now + 58 * SECOND)) == 3
    assert await told(tenant, backfill.readings([one, other]), timed.clock.now + 61 * SECOND) == []


async def test_of_too_many_missed_readings_the_newest_of_each_field_is_told(timed: Timed) -> None:
    tenant, now = timed.house.one, timed.clock.now
    resource_id = await tenant.add_resource()
    await timed.record(resource_id, *[(now - n * SECOND, n) for n in range(backfill.MAX_MISSED)], field="POWER")
    assert len(await told(tenant, backfill.readings([resource_id]), now)) == backfill.MAX_MISSED
    await timed.record(resource_id, (now.replace(minute=0, second=0) - timedelta(hours=1), 7))
    found = await told(tenant, backfill.readings([resource_id]), now)
    assert [(reading.field, reading.value) for reading in found] == [("ENERGY", 7), ("POWER", 0)]


async def test_what_is_recorded_of_long_ago_is_not_told_as_missed(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    await timed.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), 1))
    assert await told(tenant, backfill.readings([resource_id]), timed.clock.now) == []


async def test_another_users_readings_are_not_told(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.record(resource_id, (timed.clock.now, 1), field="POWER")
    for since in (None, timed.clock.now):
        assert await told(timed.house.other, backfill.readings([resource_id]), since) == []


async def test_retrievals_are_told_as_they_stand(served: House) -> None:
    tenant, began = served.one, utc_now()
    resource_id, other = await tenant.add_resource(), await tenant.add_resource()
    started = await tenant.run("catch_up", resource_id=resource_id)
    await tenant.run("catch_up", resource_id=other)
    given = {"catch_up_id": started.catch_up.catch_up_id, "state": CatchUpState.DONE, "recorded": 5}
    await tenant.gateway.runner.run(catch_ups.move_catch_up, tenant.system, given)
    for since in (None, began):
        found = await told(tenant, backfill.catch_ups([resource_id]), since)
        assert [(one.catch_up_id, one.state, one.recorded) for one in found] == [
            (started.catch_up.catch_up_id, CatchUpState.DONE, 5)
        ]
    assert len(await told(tenant, backfill.catch_ups([resource_id, other]), None)) == 2
    assert await told(tenant, backfill.catch_ups([resource_id]), utc_now() + timedelta(minutes=2)) == []
    assert await told(served.other, backfill.catch_ups([resource_id]), None) == []


async def test_flexibility_events_are_told_until_they_are_at_their_end(served: House) -> None:
    tenant, began = served.one, utc_now()
    start = began + timedelta(days=1)
    given = NewDfsEvent(name="Evening", starts_at=start, ends_at=start + timedelta(hours=1), reward=Decimal(1))
    ids = [(await tenant.run("add_dfs_event", input=given)).dfs_event_id for _ in "ab"]
    await tenant.run("move_dfs_event", dfs_event_id=ids[0], state=DfsEventState.OPEN)
    await tenant.run("move_dfs_event", dfs_event_id=ids[1], state=DfsEventState.CANCELLED)
    begun = [one.dfs_event_id for one in await told(tenant, backfill.dfs_events, None)]
    assert ids[0] in begun
    assert ids[1] not in begun
    since = await told(tenant, backfill.dfs_events, began)
    assert [(one.dfs_event_id, one.state) for one in since][-2:] == [(ids[0], "open"), (ids[1], "cancelled")]
    assert not set(ids) & {one.dfs_event_id for one in await told(served.other, backfill.dfs_events, began)}
    assert await told(tenant, backfill.dfs_events, utc_now() + timedelta(minutes=2)) == []


async def send(tenant: Tenant) -> str:
    given = NewAlert(user_id=ID(tenant.user_id), alert_type_id="CM01", channels=[Channel.INBOX])
    return str((await tenant.run("send_alert", input=given)).alert_id)


@pytest.mark.parametrize("who", ["one", "other"])
async def test_alerts_are_told_where_they_are_not_read_or_since_an_instant(served: House, who: str) -> None:
    tenant: Tenant = getattr(served, who)
    await tenant.run("mark_alerts_read")
    began = utc_now()
    ids = [await send(tenant) for _ in "abc"]
    await tenant.run("mark_alerts_read", alert_ids=[ids[1]])

    async def of(since: datetime | None) -> list[str]:
        return [one.alert_id for one in await told(tenant, backfill.alerts(tenant.user_id), since)]

    assert await of(None) == [ids[0], ids[2]]
    assert (await of(began))[-3:] == ids
    assert await of(utc_now() + timedelta(minutes=2)) == []
    strangers = served.other if who == "one" else served.one
    assert await told(strangers, backfill.alerts(tenant.user_id), began) == []
    assert await with_rows(tenant, lambda rows: unread_alerts(rows, tenant.user_id)) == 2
