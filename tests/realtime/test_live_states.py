"""Freshness, alerts and backfills over a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.graphql.test_alerts import mark, send
from tests.support.house import House
from tests.support.metering import add_device
from tests.support.socket import Socket, socket
from wattgate.clock import format_iso, to_ms
from wattgate.realtime.subscriptions.backfill import MAX_PAYLOADS

FRESHNESS = """subscription ($ids: [ID!]!) {
    freshness(resourceIds: $ids) { resourceId freshness { state cause asOf ageSeconds expectedEverySeconds } } }"""
DEVICES = "subscription ($ids: [ID!]!) { deviceStates(deviceIds: $ids) { deviceId freshness { state } } }"
ALERTS = (
    "subscription ($since: String) { alerts(since: $since) { alertId readAt data alertType { systemAlertTypeId } } }"
)
READINGS = """subscription ($ids: [ID!]!, $since: String) {
    readings(resourceIds: $ids, since: $since) { resourceId field value at } }"""


@asynccontextmanager
async def subscribed(house: House, query: str, caller: str = "account", **variables: Any) -> AsyncIterator[Socket]:
    async with socket(house.url) as client:
        await client.init(**house.one.headers[caller])
        await client.subscribe(query, **variables)
        yield client


async def record(house: House, resource_id: str, value: float, at: datetime, field: str = "POWER") -> None:
    body = {"field": field, "readings": [{"at": at.isoformat(), "value": value}]}
    response = await house.call("POST", f"/resource/{resource_id}/readings", house.one.headers["account"], json=body)
    assert response.status_code == 200, response.text


async def states(client: Socket) -> list[str]:
    (items,) = (await client.payload())["data"].values()
    return [item["freshness"]["state"] for item in items]


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


async def test_silence_and_return_of_a_meter_are_sent(served: House) -> None:
    first, second = await served.one.add_resource(), await served.one.add_resource()
    at = now() - timedelta(seconds=28)
    await record(served, first, 230, at)
    async with subscribed(served, FRESHNESS, ids=[first, second]) as client:
        assert await states(client) == ["LIVE", "OFFLINE"]
        items = (await client.payload())["data"]["freshness"]
        assert [(item["resourceId"], item["freshness"]["state"]) for item in items] == [
            (first, "DELAYED"),
            (second, "OFFLINE"),
        ]
        assert (items[0]["freshness"]["asOf"], items[0]["freshness"]["cause"]) == (format_iso(at), "UNKNOWN")
        assert items[0]["freshness"]["ageSeconds"] >= 30
        await record(served, first, 231, now())
        assert await states(client) == ["LIVE", "OFFLINE"]
        await record(served, first, 232, now())  # on time, so nothing changes
        await record(served, second, 233, now())
        assert await states(client) == ["LIVE", "LIVE"]


async def test_subscriber_that_joins_a_group_receives_the_current_freshness(served: House) -> None:
    resource_id = await served.one.add_resource()
    await record(served, resource_id, 230, now() - timedelta(seconds=20))
    async with subscribed(served, FRESHNESS, ids=[resource_id]) as first:
        assert await states(first) == ["LIVE"]
        newest = now()
        await record(served, resource_id, 231, newest)
        async with subscribed(served, FRESHNESS, ids=[resource_id]) as second:
            (item,) = (await second.payload())["data"]["freshness"]
        assert item["freshness"]["asOf"] == format_iso(newest)


@pytest.mark.long("many readings or a wait for a consent; other changes of state stay in the short form")
async def test_state_of_a_device_follows_the_readings_of_its_new_sensors(served: House) -> None:
    resource_id, device_id = await served.one.add_resource(), await add_device(served.one)
    async with subscribed(served, DEVICES, ids=[device_id]) as client:
        assert await states(client) == ["OFFLINE"]
        sensors = {"sensors": [{"protocolId": "ELEC", "resourceId": resource_id}]}
        body = {"protocol": sensors}
        changed = await served.call("PUT", f"/device/{device_id}", served.one.headers["account"], json=body)
        assert changed.status_code == 200, changed.text
        await record(served, resource_id, 230, now())
        assert await states(client) == ["LIVE"]


async def test_readings_change_the_state_of_their_device(served: House) -> None:
    resource_id = await served.one.add_resource()
    device_id = await add_device(served.one, resource_id)
    async with subscribed(served, DEVICES, ids=[device_id]) as client:
        assert await states(client) == ["OFFLINE"]
        await record(served, resource_id, 230, now() - timedelta(seconds=28))
        assert await states(client) == ["LIVE"]
        assert await states(client) == ["DELAYED"]


@pytest.mark.parametrize("query", [FRESHNESS, DEVICES])
@pytest.mark.parametrize("id_", ["unknown", "resource", "device"])
async def test_freshness_of_records_of_other_callers_is_not_found(served: House, query: str, id_: str) -> None:
    async with subscribed(served, query, ids=[served.other.ids.get(id_, id_)]) as client:
        message = await client.hear()
        assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "NOT_FOUND")


async def test_application_without_a_user_cannot_subscribe_to_alerts(served: House) -> None:
    async with subscribed(served, ALERTS, "application") as client:
        assert (await client.hear())["payload"][0]["extensions"]["code"] == "BAD_INPUT"


async def add_metered_resource(house: House) -> tuple[str, str]:
    """Add a resource at its own meter point, with a consent. Return both ids."""
    mpxn = str(uuid4().int)[:13]
    await house.one.run("verify_meter_point", mpxn=mpxn)
    return await house.one.add_resource(mpxn=mpxn), mpxn


async def revoke(house: House, mpxn: str) -> None:
    path = f"/user/verification/status/mpxn/{mpxn}/revocation"
    assert (await house.call("POST", path, house.one.headers["account"])).status_code == 200


@pytest.mark.long("many readings or a wait for a consent; other changes of state stay in the short form")
async def test_freshness_ends_when_its_own_consent_is_withdrawn(served: House) -> None:
    (first, mpxn), (second, other_mpxn) = await add_metered_resource(served), await add_metered_resource(served)
    await add_device(served.one, first, second)
    async with subscribed(served, FRESHNESS, ids=[first]) as client:
        assert await states(client) == ["OFFLINE"]
        await revoke(served, other_mpxn)
        await record(served, first, 230, now())
        while (state := await states(client)) == ["OFFLINE"]:
            pass  # the state is loaded again after the withdrawal of the other consent
        assert state == ["LIVE"]
        await revoke(served, mpxn)
        message = await client.hear()
        assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", "CONSENT_REVOKED")
    async with subscribed(served, FRESHNESS, ids=[first]) as client:
        assert (await client.hear())["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"


async def receive_payloads(client: Socket, count: int) -> list[Any]:
    return [await client.payload() for _ in range(count)]


async def test_alerts_are_sent_at_the_start_live_and_after_a_reconnect(served: House) -> None:
    await mark(served)
    ids = [await send(served.one, served)]
    async with subscribed(served, ALERTS, since=None) as client:
        first, unread = await receive_payloads(client, 2)
        assert (first["data"]["alerts"], unread["data"]["alerts"]["alertId"]) == (None, ids[0])
        ids.append(await send(served.one, served))
        live = await client.payload()
        assert live["data"]["alerts"] == {
            "alertId": ids[1],
            "readAt": None,
            "data": {"use": [1.5, None]},
            "alertType": {"systemAlertTypeId": "CM01"},
        }
    position = live["extensions"]["position"]
    ids += [await send(served.one, served) for _ in "ab"]
    async with subscribed(served, ALERTS, since=position) as client:
        first, *missed = await receive_payloads(client, 3)
        assert (first["data"]["alerts"], first["extensions"]) == (None, {"position": position, "recovered": True})
        assert [payload["data"]["alerts"]["alertId"] for payload in missed] == ids[2:]
    await mark(served)
    async with subscribed(
        served, ALERTS, since="1-1"
    ) as client:  # a position that the bus does not retain: all alerts since, read or not
        first = await client.payload()
        assert first["extensions"]["recovered"] is False
        alert_ids: list[str] = []
        while ids[-1] not in alert_ids:
            alert_ids.append((await client.payload())["data"]["alerts"]["alertId"])
        assert alert_ids[-4:] == ids


@pytest.mark.long("many readings or a wait for a consent; other changes of state stay in the short form")
async def test_large_backfill_arrives_completely_at_a_client_that_reads(served: House) -> None:
    resource_id = await served.one.add_resource()
    times = [now() - timedelta(seconds=10 * count) for count in range(MAX_PAYLOADS, 0, -1)]
    body = {"field": "POWER", "readings": [{"at": at.isoformat(), "value": 1} for at in times]}
    path = f"/resource/{resource_id}/readings"
    assert (await served.call("POST", path, served.one.headers["account"], json=body)).status_code == 200
    long_query = READINGS.replace("field", " ".join(f"also{count}: resourceId" for count in range(20)))
    async with subscribed(served, long_query, ids=[resource_id], since="1-1") as client:
        first, *missed = await receive_payloads(client, 1 + MAX_PAYLOADS)
    assert first["extensions"]["recovered"] is False
    assert [payload["data"]["readings"]["at"] for payload in missed] == [format_iso(at) for at in times]


async def test_alert_to_another_user_is_not_sent(served: House) -> None:
    async with socket(served.url) as client:
        await client.init(**served.other.headers["account"])
        await client.subscribe(ALERTS, since=None)
        while (await client.payload())["extensions"]["position"] == "":  # until the backfill ends
            continue
        await send(served.one, served)
        own = await send(served.other, served)
        assert (await client.payload())["data"]["alerts"]["alertId"] == own


async def test_readings_are_sent_at_the_start_and_after_a_gap_in_the_bus(served: House) -> None:
    resource_id = await served.one.add_resource()
    at = now()
    half_hour = at.replace(minute=0, second=0) - timedelta(hours=1)
    await record(served, resource_id, 0.5, half_hour, "ENERGY")
    for n in (2, 1):
        await record(served, resource_id, n, at - timedelta(seconds=n))
    async with subscribed(served, READINGS, ids=[resource_id], since=None) as client:
        first, *newest = await receive_payloads(client, 3)
        assert first["data"]["readings"] is None
        assert [(payload["data"]["readings"]["field"], payload["data"]["readings"]["value"]) for payload in newest] == [
            ("ENERGY", 0.5),
            ("POWER", 1),
        ]
        assert newest[-1]["extensions"]["position"] != ""
    lost_position = f"{to_ms(at)}-999999"
    async with subscribed(served, READINGS, ids=[resource_id], since=lost_position) as client:
        first, *missed = await receive_payloads(client, 4)
        assert first["extensions"]["recovered"] is False
        assert [payload["data"]["readings"]["value"] for payload in missed] == [0.5, 2, 1]
        await record(served, resource_id, 7, now())
        assert (await client.payload())["data"]["readings"]["value"] == 7
