"""Households that are erased: what the meter network has of their time is for no other household."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col

from tests.support.house import Tenant
from tests.support.metering import HALF_HOUR, START, metered, readings, record, resource_at
from tests.support.residents import resident
from tests.support.timed import Clock
from wattgate.app.workers.user_jobs import JobPolicy, process_jobs
from wattgate.clock import utc_now
from wattgate.db import models
from wattgate.errors import Conflict
from wattgate.operations.accounts import users
from wattgate.operations.devices import catch_ups
from wattgate.operations.moves import resource_changes
from wattgate.operations.personal_data import erasures
from wattgate.operations.types.homes.meter_points import ResourceChange
from wattgate.principal import Permission, Principal

pytestmark = pytest.mark.both_databases("separation of households")

Erase = Callable[[Tenant], Awaitable[Any]]


async def tenancies(who: Tenant) -> list[models.MeterPointTenancy]:
    """Return the stored tenancies of a user, oldest first."""

    async def query(rows: Any) -> Any:
        model = models.MeterPointTenancy
        return await rows.all(model, col(model.user_id) == who.user_id, order_by=[model.created_at])

    system = replace(who.system, user_id=None)
    return list(await who.gateway.runner.read(system, Permission.SYSTEM, query))


async def from_network(who: Tenant, resource_id: str) -> int:
    """Return how many readings a catch-up would retrieve."""
    page = await who.gateway.runner.run(catch_ups.network_readings, who.system, {"resource_id": resource_id})
    return 0 if page is None else len(page.readings)


async def set_active(who: Tenant, caller: Principal, resource_id: str, *, active: bool) -> None:
    arguments = {"resource_id": resource_id, "input": ResourceChange(active=active)}
    await who.gateway.runner.run(resource_changes.update_resource, caller, arguments)


async def erased(who: Tenant, *, retention_days: int, is_repeated: bool = False) -> Any:
    """Erase a user, also the records for billing, and return the receipt.

    With `is_repeated`, the user was erased long ago and comes from a backup, so that the erasure is repeated.
    """
    runner, system = who.gateway.runner, replace(who.system, user_id=None)
    if is_repeated:
        long_ago = {"user_id": who.user_id, "erased_at": utc_now() - timedelta(days=2 * retention_days + 1)}
        assert await runner.run(erasures.repeat_erasure, system, long_ago)
    else:
        await runner.run(users.delete_user, system, {"user_id": who.user_id})
    clock, policy = Clock(utc_now()), JobPolicy(retention_days, export_lifetime_hours=1)
    for span in (timedelta(0), timedelta(minutes=12), timedelta(days=retention_days + 1)):
        clock.now += span
        while await process_jobs(runner.with_clock(clock), policy, clock):
            pass
    receipt = await runner.run(erasures.erasure, system, {"user_id": who.user_id})
    assert receipt.billing_erased_at is not None
    return receipt


@pytest.mark.every_case("each way of an erasure ends in another step")
@pytest.mark.parametrize("way", ["at once", "after the retention", "repeated after a restore"])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_the_time_of_an_erased_household_is_for_nobody_else(settled: Tenant, way: str) -> None:
    """A household from before, the next one, and the application that corrects its start ask for the half hours."""
    before, gone, after = [await resident(settled) for _ in range(3)]
    point = await metered(before)
    await set_active(before, before.account, point.resource_id, active=False)
    moved_in_at = START + HALF_HOUR  # of the household that is erased; the one before keeps its first half hour
    await gone.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=moved_in_at)
    await resource_at(gone, point.mpxn)
    receipt = await erased(
        gone,
        retention_days=0 if way == "at once" else 30,
        is_repeated=way == "repeated after a restore",
    )
    treated = {table.table: (table.action.value, table.records) for table in receipt.tables}
    assert treated["meter_point_tenancy"] == ("REPLACED", 1)
    assert treated["reading"][0] == treated["meter_point_consent"][0] == "ERASED"
    (period,) = await tenancies(gone)
    assert (period.mpxn, period.began_at) == (point.mpxn, moved_in_at)
    assert period.ended_at is not None

    with pytest.raises(Conflict, match="Another user has lived"):
        await set_active(before, before.account, point.resource_id, active=True)
    await set_active(before, before.system, point.resource_id, active=True)
    assert await from_network(before, point.resource_id) == 0
    assert (await tenancies(before))[-1].began_at >= period.ended_at  # type: ignore[operator]
    await set_active(before, before.account, point.resource_id, active=False)

    added = await resource_at(after, point.mpxn)
    assert await from_network(after, added) == 0
    (period_after,) = await tenancies(after)
    assert period_after.began_at is not None
    assert period_after.began_at >= period.ended_at
    for instant in (START, moved_in_at, period.ended_at - HALF_HOUR):
        with pytest.raises(Conflict, match="Another household lived"):
            await after.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=instant)
    assert await tenancies(after) == [period_after]


async def test_a_household_that_moved_out_before_its_erasure_keeps_its_end(settled: Tenant) -> None:
    """The next household keeps what it has. Another one later does not get the time of the first."""
    gone, present, later = [await resident(settled) for _ in range(3)]
    point = await metered(gone)
    moved_in_at = START + 2 * HALF_HOUR
    await present.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=moved_in_at)
    resource_id = await resource_at(present, point.mpxn)
    await erased(gone, retention_days=0)
    assert [period.ended_at for period in await tenancies(gone)] == [moved_in_at]
    assert await from_network(present, resource_id) == 1
    with pytest.raises(Conflict, match="Another household lived"):
        await present.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=START)
    await erased(present, retention_days=0)
    assert await from_network(later, await resource_at(later, point.mpxn)) == 0


@pytest.mark.parametrize("is_first_call", [True, False])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_the_first_call_gives_the_time_of_a_lost_household_back(settled: Tenant, is_first_call: bool) -> None:
    """A restore has lost the user, who is added again. A later call does not correct the start to that time."""
    lost, again = [await resident(settled) for _ in range(2)]
    point = await metered(lost)
    await erased(lost, retention_days=0)
    if is_first_call:
        await again.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=START + HALF_HOUR)
        assert await from_network(again, await resource_at(again, point.mpxn)) == 2
        return
    added = await resource_at(again, point.mpxn)
    assert await from_network(again, added) == 0
    with pytest.raises(Conflict, match="Another household lived"):
        await again.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=START + HALF_HOUR)
    with pytest.raises(Conflict, match="lives at meter point"):
        await again.run("move_meter_point", mpxn=point.mpxn, user_id=again.user_id, moved_in_at=START + HALF_HOUR)
    assert await from_network(again, added) == 0


async def test_a_household_with_a_consent_alone_keeps_its_time(settled: Tenant) -> None:
    """No resource has the number of the meter point, which the next household writes in another way."""
    gone, later = [await resident(settled) for _ in range(2)]
    number = (await metered(await resident(settled))).mpxn
    fresh = f"1{number[1:]}" if number[0] != "1" else f"2{number[1:]}"
    await record(settled, models.NetworkMeterPoint(mpxn=fresh, postcode="A11AA", smets_version="2"))
    await record(settled, *readings(fresh, ["0.1", "0.2"]))
    await gone.run("verify_meter_point", mpxn=fresh)
    await erased(gone, retention_days=0)
    resource_id = await resource_at(later, f"{fresh[:4]} {fresh[4:]}")
    assert await from_network(later, resource_id) == 0
