"""Events of readings that were withdrawn: clients that resume a stream from before do not get them."""

from datetime import timedelta
from typing import Any

import pytest

from tests.graphql.test_former_households import heard_until, is_of, power
from tests.support.calls import move_resource
from tests.support.house import House, Tenant
from tests.support.household_jobs import send_alert_about
from tests.support.live import RESUMING
from tests.support.metering import metered
from tests.support.socket import socket
from wattgate.clock import format_iso, utc_now

pytestmark = pytest.mark.both_databases("events and readings are in the database")

ALERTS = "subscription ($since: String) { alerts(since: $since) { data } }"


async def test_a_client_that_resumes_gets_nothing_that_was_withdrawn(served: House, ada: Tenant, bob: Tenant) -> None:
    """Its positions are from before the readings and the alerts. The bus retains these, also after a late move."""
    assert served.served_gateway is not None
    run, now = served.served_gateway.runner.run, utc_now()  # its bus is that of the streams
    point, other = await metered(ada), await ada.add_resource()
    own, withdrawn, last = [now - timedelta(minutes=minutes) for minutes in (8, 2, 0)]
    async with socket(served.url) as client:
        await client.init(**ada.headers["account"])
        positions: dict[str, dict[str, Any]] = {RESUMING: {"ids": [point.resource_id, other]}, ALERTS: {}}
        for document, variables in positions.items():
            await client.subscribe(document, **variables, since=None)
            heard = await heard_until(client.payload, lambda payload: payload["extensions"]["position"] != "")
            variables["since"] = heard[-1]["extensions"]["position"]
            await client.complete()
        for at, value in ((own, 66), (withdrawn, 77)):
            assert (await power(served, ada, point.resource_id, value, at))[0] == 200
            await run(send_alert_about, ada.system, {"who": ada, "resource_id": point.resource_id, "at": at})
        await move_resource(served, point.resource_id, bob, movedInAt=format_iso(now - timedelta(minutes=5)))
        assert (await power(served, ada, other, 55, last))[0] == 200
        await run(send_alert_about, ada.system, {"who": ada, "resource_id": None, "at": last})
        await client.subscribe(RESUMING, **positions[RESUMING])
        readings = [payload["data"]["readings"] for payload in await heard_until(client.payload, is_of(55))]
        await client.complete()
        assert [each["value"] for each in readings if each] == [66, 55]
        await client.subscribe(ALERTS, **positions[ALERTS])
        alerts: list[str] = []
        while format_iso(last) not in alerts:
            event = (await client.payload())["data"]["alerts"]
            alerts += [event["data"]["at"]] if event else []
        assert alerts == [format_iso(own), format_iso(last)]
