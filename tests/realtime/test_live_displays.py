"""The display of a home over a socket: whole at first, then whenever something of it has changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.support.socket import Socket, socket
from tests.support.timed import Timed

SUBSCRIPTION = """
subscription ($id: ID!) { display(virtualEntityId: $id) {
  name at power { net at } today { electricity { value estimated } cost { total } }
  tariff { rate until next { start rate } } freshness { state } unreadAlerts
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
        assert second["power"]["net"] == 230
        timed.pass_time(timedelta(seconds=10))
        await timed.record(resource_id, (timed.clock.now, 500), field="POWER")
        third = await frame(client)
        assert (third["power"]["net"], third["freshness"]["state"]) == (500, "LIVE")
        assert third["at"] > second["at"]
