"""The display of a home over a socket: a whole frame first, then one after each change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support import people
from tests.support.socket import Socket, socket
from tests.support.timed import Timed

SUBSCRIPTION = """
subscription ($id: ID!) { display(homeId: $id) {
  name at power { net { value } at } today { electricity { energy { value } estimated } cost { total { amount } } }
  tariff { rateWithVat { amount } until next { start rateWithVat { amount } } } freshness { state } unreadAlerts
} }
"""


@asynccontextmanager
async def watching(timed: Timed, home_id: str, caller: str = "acting") -> AsyncIterator[Socket]:
    async with socket(timed.house.url) as client:
        await client.init(**timed.house.one.headers[caller])
        await client.subscribe(SUBSCRIPTION, id=home_id)
        yield client


async def frame(client: Socket) -> Any:
    payload = await client.payload()
    assert "errors" not in payload, payload
    return payload["data"]["display"]


async def test_display_receives_a_frame_at_the_start_and_for_each_power_reading(timed: Timed) -> None:
    resource_id = await timed.house.one.add_resource()
    await timed.house.one.set_tariff(resource_id, standing_charge=Decimal(50))
    home_id = await timed.house.one.add_home(resource_id)
    async with watching(timed, home_id) as client:
        first = await frame(client)
        assert (first["name"], first["power"], first["freshness"]["state"]) == ("Home", None, "OFFLINE")
        await timed.record(resource_id, (timed.clock.now, 230), field="POWER")
        second = await frame(client)
        assert second["power"]["net"]["value"] == 230
        timed.pass_time(timedelta(seconds=10))
        await timed.record(resource_id, (timed.clock.now, 500), field="POWER")
        third = await frame(client)
        assert (third["power"]["net"]["value"], third["freshness"]["state"]) == (500, "LIVE")
        assert third["at"] > second["at"]


async def change(timed: Timed, method: str, path: str, caller: str = "acting", **body: Any) -> Any:
    answer = await timed.house.call(method, path, timed.house.one.headers[caller], json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def power_after(timed: Timed, client: Socket, resource_id: str, watts: int) -> int | None:
    """Record a power reading and return the power in the last frame that follows."""
    timed.pass_time(timedelta(seconds=10))
    await timed.record(resource_id, (timed.clock.now, watts), field="POWER")
    return await net_power(client)


async def net_power(client: Socket) -> int | None:
    shown = await frame(client)
    return None if shown["power"] is None else int(shown["power"]["net"]["value"])


@pytest.mark.long("follows a home through many changes; the frames of a display stay in the short form")
async def test_display_follows_resources_that_join_and_leave_the_home(timed: Timed) -> None:
    tenant = timed.house.one
    first, second = await tenant.add_resource(), await tenant.add_resource()
    home_id = await tenant.add_home(first)
    async with watching(timed, home_id) as client:
        assert await net_power(client) is None
        await timed.record(second, (timed.clock.now, 700), field="POWER")
        await change(timed, "POST", f"/virtualentity/{home_id}/resources", resourceId=second)
        assert await net_power(client) == 700
        assert await power_after(timed, client, second, 800) == 800
        await change(timed, "DELETE", f"/virtualentity/{home_id}/resources/{second}")
        assert await net_power(client) is None
        await timed.record(second, (timed.clock.now + timedelta(seconds=1), 900), field="POWER")
        assert await power_after(timed, client, first, 230) == 230


@pytest.mark.long("follows a home through many changes; the frames of a display stay in the short form")
async def test_display_follows_a_resource_that_is_closed_opened_and_moved(timed: Timed) -> None:
    tenant = timed.house.one
    resource_id = await tenant.add_resource()
    home_id = await tenant.add_home(resource_id)
    async with watching(timed, home_id) as client:
        await frame(client)
        assert await power_after(timed, client, resource_id, 230) == 230
        await change(timed, "PUT", f"/resource/{resource_id}", active=False)
        assert await net_power(client) is None
        await change(timed, "PUT", f"/resource/{resource_id}", active=True)
        assert await net_power(client) == 230
        assert await power_after(timed, client, resource_id, 240) == 240
        who = await people.active(tenant)
        moved = await change(timed, "PUT", f"/resource/{resource_id}/owner", "application", userId=who["userId"])
        assert await net_power(client) is None
        reading = {"at": timed.clock.now.isoformat(), "value": 999}
        path = f"/resource/{moved['resourceId']}/readings"
        await change(timed, "POST", path, "application", readings=[reading], field="POWER")
        await change(timed, "PUT", f"/virtualentity/{home_id}", name="Empty")
        last = await frame(client)
        assert (last["name"], last["power"]) == ("Empty", None)
