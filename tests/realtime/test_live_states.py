"""Freshness, alerts and what was missed, over a real socket."""

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
from wattgate.clock import iso, to_ms
from wattgate.realtime.subscriptions.backfill import MAX_MISSED

FRESHNESS = """subscription ($ids: [ID!]!) {
    freshness(resourceIds: $ids) { resourceId freshness { state cause asOf ageSeconds expectedEverySeconds } } }"""
DEVICES = "subscription ($ids: [ID!]!) { deviceStates(deviceIds: $ids) { deviceId freshness { state } } }"
ALERTS = (
    "subscription ($since: String) { alerts(since: $since) { alertId readAt data alertType { systemAlertTypeId } } }"
)
READINGS = """subscription ($ids: [ID!]!, $since: String) {
    readings(resourceIds: $ids, since: $since) { resourceId field value at } }"""


@asynccontextmanager
async def subscribed(house: House, query: str, who: str = "account", **variables: Any) -> AsyncIterator[Socket]:
    async with socket(house.url) as client:
        await client.init(**house.one.headers[who])
        await client.subscribe(query, **variables)
        yield client


async def record(house: House, resource_id: str, value: float, at: datetime, field: str = "POWER") -> None:
    body = {"field": field, "readings": [{"at": at.isoformat(), "value": value}]}
    answer = await house.call("POST", f"/resource/{resource_id}/readings", house.one.headers["account"], json=body)
    assert answer.status_code == 200, answer.text


async def states(client: Socket) -> list[str]:
    (items,) = (await client.payload())["data"].values()
    return [one["freshness"]["state"] for one in items]


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


async def test_a_meter_that_falls_silent_is_told_and_so_is_its_return(served: House) -> None:
    one, other = await served.one.add_resource(), await served.one.add_resource()
    at = now() - timedelta(seconds=28)
    await record(served, one, 230, at)
    async with subscribed(served, FRESHNESS, ids=[one, other]) as client:
        assert await states(client) == ["LIVE", "OFFLINE"]
        silent = (await client.payload())["data"]["freshness"]
        assert [(found["resourceId"], found["freshness"]["state"]) for found in silent] == [
            (one, "DELAYED"),
            (other, "OFFLINE"),
        ]
        assert (silent[0]["freshness"]["asOf"], silent[0]["freshness"]["cause"]) == (iso(at), "UNKNOWN")
        assert silent[0]["freshness"]["ageSeconds"] >= 30
        await record(served, one, 231, now())
        assert await states(client) == ["LIVE", "OFFLINE"]
        await record(served, one, 232, now())  # this is as expected, and not told
        await record(served, other, 233, now())
        assert await states(client) == ["LIVE", "LIVE"]


async def test_whoever_joins_others_is_told_how_it_is_now(served: House) -> None:
    resource_id = await served.one.add_resource()
    await record(served, resource_id, 230, now() - timedelta(seconds=20))
    async with subscribed(served, FRESHNESS, ids=[resource_id]) as first:
        assert await states(first) == ["LIVE"]
        newest = now()
        await record(served, resource_id, 231, newest)
        async with subscribed(served, FRESHNESS, ids=[resource_id]) as second:
            (found,) = (await second.payload())["data"]["freshness"]
        assert found["freshness"]["asOf"] == iso(newest)


async def test_a_device_is_followed_through_what_it_feeds(served: House) -> None:
    resource_id = await served.one.add_resource()
    device_id = await add_device(served.one, resource_id)
    async with subscribed(served, DEVICES, ids=[device_id]) as client:
        assert await states(client) == ["OFFLINE"]
        await record(served, resource_id, 230, now() - timedelta(seconds=28))
        assert await states(client) == ["LIVE"]
        assert await states(client) == ["DELAYED"]


@pytest.mark.parametrize("query", [FRESHNESS, DEVICES])
@pytest.mark.parametrize("id_", ["unknown", "resource", "device"])
async def test_what_is_not_the_callers_is_not_followed(served: House, query: str, id_: str) -> None:
    async with subscribed(served, query, ids=[served.other.ids.get(id_, id_)]) as client:
        told = await client.hear()
        assert (told["type"], told["payload"][0]["extensions"]["code"]) == ("error", "NOT_FOUND")


async def test_nothing_is_followed_by_an_application_without_a_user_of_alerts(served: House) -> None:
    async with subscribed(served, ALERTS, "application") as client:
        assert (await client.hear())["payload"][0]["extensions"]["code"] == "BAD_INPUT"


async def metered(house: House) -> tuple[str, str]:
    """A resource at a meter point of its own, for which there is a consent."""
    mpxn = str(uuid4().int)[:13]
    await house.one.run("verify_meter_point", mpxn=mpxn)
    return await house.one.add_resource(mpxn=mpxn), mpxn


async def revoke(house: House, mpxn: str) -> None:
    path = f"/user/verification/status/mpxn/{mpxn}/revocation"
    assert (await house.call("POST", path, house.one.headers["account"])).status_code == 200


async def test_freshness_ends_with_the_consent_and_not_with_that_for_another_meter(served: House) -> None:
    (one, mpxn), (other, others) = await metered(served), await metered(served)
    await add_device(served.one, one, other)
    async with subscribed(served, FRESHNESS, ids=[one]) as client:
        assert await states(client) == ["OFFLINE"]
        await revoke(served, others)
        await record(served, one, 230, now())
        assert await states(client) == ["LIVE"]
        await revoke(served, mpxn)
        told = await client.hear()
        assert (told["type"], told["payload"][0]["extensions"]["code"]) == ("error", "CONSENT_REVOKED")
    async with subscribed(served, FRESHNESS, ids=[one]) as client:
        assert (await client.hear())["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"


async def heard(client: Socket, count: int) -> list[Any]:
    return [await client.payload() for _ in range(count)]


async def test_alerts_are_told_to_whoever_begins_as_they_are_sent_and_after_an_absence(served: House) -> None:
    await mark(served)
    ids = [await send(served.one, served)]
    async with subscribed(served, ALERTS, since=None) as client:
        first, unread = await heard(client, 2)
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
        first, *missed = await heard(client, 3)
        assert (first["data"]["alerts"], first["extensions"]) == (None, {"position": position, "recovered": True})
        assert [one["data"]["alerts"]["alertId"] for one in missed] == ids[2:]
    await mark(served)
    async with subscribed(served, ALERTS, since="1-1") as client:  # what no bus has kept: all since, read or not
        first = await client.payload()
        assert first["extensions"]["recovered"] is False
        found: list[str] = []
        while ids[-1] not in found:
            found.append((await client.payload())["data"]["alerts"]["alertId"])
        assert found[-4:] == ids


async def test_very_much_that_was_missed_is_told_whole_to_whoever_reads(served: House) -> None:
    resource_id = await served.one.add_resource()
    times = [now() - timedelta(seconds=10 * count) for count in range(MAX_MISSED, 0, -1)]
    body = {"field": "POWER", "readings": [{"at": at.isoformat(), "value": 1} for at in times]}
    path = f"/resource/{resource_id}/readings"
    assert (await served.call("POST", path, served.one.headers["account"], json=body)).status_code == 200
    long = READINGS.replace("field", " ".join(f"also{count}: resourceId" for count in range(20)))
    async with subscribed(served, long, ids=[resource_id], since="1-1") as client:
        first, *missed = await heard(client, 1 + MAX_MISSED)
    assert first["extensions"]["recovered"] is False
    assert [one["data"]["readings"]["at"] for one in missed] == [iso(at) for at in times]


async def test_an_alert_to_somebody_else_is_not_told(served: House) -> None:
    async with socket(served.url) as client:
        await client.init(**served.other.headers["account"])
        await client.subscribe(ALERTS, since=None)
        while (await client.payload())["extensions"]["position"] == "":  # until it stands
            continue
        await send(served.one, served)
        own = await send(served.other, served)
        assert (await client.payload())["data"]["alerts"]["alertId"] == own


async def test_readings_are_told_to_whoever_begins_and_after_too_long_an_absence(served: House) -> None:
    resource_id = await served.one.add_resource()
    at = now()
    half_hour = at.replace(minute=0, second=0) - timedelta(hours=1)
    await record(served, resource_id, 0.5, half_hour, "ENERGY")
    for n in (2, 1):
        await record(served, resource_id, n, at - timedelta(seconds=n))
    async with subscribed(served, READINGS, ids=[resource_id], since=None) as client:
        first, *newest = await heard(client, 3)
        assert first["data"]["readings"] is None
        assert [(one["data"]["readings"]["field"], one["data"]["readings"]["value"]) for one in newest] == [
            ("ENERGY", 0.5),
            ("POWER", 1),
        ]
        assert newest[-1]["extensions"]["position"] != ""
    lost = f"{to_ms(at)}-999999"
    async with subscribed(served, READINGS, ids=[resource_id], since=lost) as client:
        first, *missed = await heard(client, 4)
        assert first["extensions"]["recovered"] is False
        assert [one["data"]["readings"]["value"] for one in missed] == [0.5, 2, 1]
        await record(served, resource_id, 7, now())
        assert (await client.payload())["data"]["readings"]["value"] == 7
