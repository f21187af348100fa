"""Withheld data: a home with three meter points of which one is revoked shows the other two, on every interface."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from graphql import GraphQLObjectType, is_non_null_type
from strawberry import ID

from tests.support.gateway_schema import SCHEMA
from tests.support.house import STORAGE, House, Tenant
from tests.support.metering import add_device
from tests.support.socket import Socket, socket
from tests.support.timed import RECORD, Timed
from wattgate.clock import utc_now
from wattgate.db.models import NetworkState
from wattgate.energy.meters.meter_messages import MeterMessage
from wattgate.operations.core.fields import edge_of
from wattgate.operations.readings.meter_messages import record_meter_messages
from wattgate.operations.types.homes.resources import NewResource, NewResourceType
from wattgate.principal import Permission

pytestmark = pytest.mark.both_databases("separation of users and applications")

AT = datetime(2026, 1, 5, tzinfo=UTC)
CLASSIFIERS = ("electricity.consumption", "electricity.export", "gas.consumption")
SERIES = '(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}, period: P1D)'
READINGS = "subscription ($ids: [ID!]!) { latest: readings(resourceIds: $ids) { resourceId value } }"
RESUMED = "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"
CATCH_UPS = """subscription ($ids: [ID!]!, $since: String) {
  catchUpState(resourceIds: $ids, since: $since) { resourceId } }"""
LOST = "1-1,1-1"
"""A position that the bus does not have. The stream then begins with the stored records."""
DISPLAY = """subscription ($id: ID!) { display(homeId: $id) {
  today { electricity { estimated } exported { estimated } gas { estimated } }
  withheld { resourceId name kind meterPointNumber reason message }
} }"""
DEVICES = """subscription ($ids: [ID!]!) {
  deviceStates(deviceIds: $ids) { deviceId freshness { state } networkState { at } } }"""
FRESHNESS = "subscription ($ids: [ID!]!) { freshness(resourceIds: $ids) { resourceId freshness { state } } }"


@dataclass
class MeteredHome:
    """A home with a meter of each kind, each at a meter point of its own. `mpxns` is by resource id."""

    house: House
    ve_id: str
    mpxns: dict[str, str]

    @property
    def resource_ids(self) -> list[str]:
        return list(self.mpxns)

    @property
    def headers(self) -> dict[str, str]:
        return self.house.one.headers["account"]

    async def change(self, resource_id: str, change: str = "revocation") -> None:
        path = f"/user/verification/status/mpxn/{self.mpxns[resource_id]}/{change}"
        answer = await self.house.call("POST", path, self.headers)
        assert answer.status_code == 200, answer.text

    async def record(self, resource_id: str, at: datetime, value: str) -> None:
        series = [{"resourceId": resource_id, "readings": [{"at": at.isoformat(), "value": value}]}]
        answer = await self.house.graphql(RECORD, self.headers, series=series)
        assert "errors" not in answer, answer

    async def query(self, selection: str) -> dict[str, Any]:
        document = f'{{ home(homeId: "{self.ve_id}") {{ {selection} }} }}'
        return await self.house.graphql(document, self.headers)


async def add_metered_home(house: House, valid_until: datetime | None = None) -> MeteredHome:
    mpxns = {}
    for classifier in CLASSIFIERS:
        new_type = NewResourceType(name=classifier, classifier=classifier, storage=STORAGE, base_unit="kWh")
        type_id = (await house.one.run("add_resource_type", input=new_type)).resource_type_id
        mpxn = str(uuid4().int)[:13]
        new = NewResource(resource_type_id=ID(type_id), name=f"My {classifier}", mpxn=mpxn)
        resource_id = (await house.one.run("add_resource", input=new)).resource_id
        await house.one.record(resource_id, (AT, "1"))
        await house.one.run("verify_meter_point", mpxn=mpxn, valid_until=valid_until)
        mpxns[resource_id] = mpxn
    return MeteredHome(house, await house.one.add_home(*mpxns), mpxns)


@pytest.fixture
async def home(served: House) -> MeteredHome:
    return await add_metered_home(served)


def is_consent_error(error: dict[str, Any], resource_id: str, reason: str = "REVOKED") -> bool:
    extensions = error["extensions"]
    return (extensions["code"], extensions["resourceId"], extensions["reason"]) == (
        "CONSENT_REVOKED",
        resource_id,
        reason,
    )


def test_every_edge_to_readings_is_nullable() -> None:
    edges = {
        f"{definition.name}.{name}": is_non_null_type(field.type)
        for definition in SCHEMA.type_map.values()
        if isinstance(definition, GraphQLObjectType)
        for name, field in definition.fields.items()
        if (declared := field.extensions.get("strawberry-definition"))
        and (edge := edge_of(declared))
        and edge.needs is Permission.READINGS_READ
    }
    assert [name for name, is_required in edges.items() if is_required] == []
    assert len(edges) > 5


async def test_graphql_shows_the_other_meter_points_and_says_where_data_is_withheld(home: MeteredHome) -> None:
    electricity, exported, gas = home.resource_ids
    selection = (
        f"resources {{ resourceId readings{SERIES} {{ total }} freshness {{ state }} current {{ value }} "
        f"costs{SERIES} {{ currency }} noCurrentReason }} display {{ withheld {{ resourceId }} }}"
    )
    await home.change(gas)
    for _ in range(3):  # by graphql-core, and by the compiled plan
        answer = await home.query(selection)
        found = answer["data"]["home"]
        by_id = {one.pop("resourceId"): one for one in found["resources"]}
        assert set(by_id[gas].values()) == {None}
        for resource_id in (electricity, exported):
            assert by_id[resource_id]["readings"] == {"total": 1.0}
            assert by_id[resource_id]["freshness"]
            assert by_id[resource_id]["current"]
        assert found["display"] == {"withheld": [{"resourceId": gas}]}
        assert {tuple(error["path"][2:]) for error in answer["errors"]} == {
            (2, name) for name in ("readings", "freshness", "current", "costs", "noCurrentReason")
        }
        assert all(is_consent_error(error, gas) for error in answer["errors"])


async def test_rest_shows_the_other_meter_points_and_refuses_only_the_withheld_data(home: MeteredHome) -> None:
    call, gas = home.house.call, home.resource_ids[2]
    await home.change(gas)
    listed = {one["resourceId"]: one for one in (await call("GET", "/resource", home.headers)).json()}
    for resource_id in home.resource_ids:
        is_withheld = resource_id == gas
        one = (await call("GET", f"/resource/{resource_id}", home.headers)).json()
        assert one == listed[resource_id]
        params = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "P1D", "function": "sum"}
        for path in ("readings", "current"):
            answer = await call("GET", f"/resource/{resource_id}/{path}", home.headers, params=params)
            assert answer.status_code == (403 if is_withheld else 200)
            assert not is_withheld or is_consent_error({"extensions": answer.json()}, gas)
        foreign = await call("GET", f"/resource/{resource_id}", home.house.other.headers["account"])
        assert foreign.status_code == 404
    homes = (await call("GET", f"/virtualentity/{home.ve_id}", home.headers)).json()
    assert {one["resourceId"] for one in homes["resources"]} == set(home.resource_ids)


async def test_display_of_a_home_without_any_consent_is_an_error(home: MeteredHome) -> None:
    for resource_id in home.resource_ids:
        await home.change(resource_id)
    answer = await home.query("name display { at }")
    assert answer["data"] == {"home": {"name": "Home", "display": None}}
    assert [error["path"] for error in answer["errors"]] == [["home", "display"]]
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await client.subscribe(DISPLAY, id=home.ve_id)
        assert (await client.error())["extensions"]["code"] == "CONSENT_REVOKED"


async def test_live_display_goes_on_without_the_revoked_meter_and_shows_it_again_after_renewal(
    home: MeteredHome,
) -> None:
    gas = home.resource_ids[2]
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await client.subscribe(DISPLAY, id=home.ve_id)
        assert (await client.payload())["data"]["display"]["withheld"] == []
        await home.change(gas)
        display = (await client.payload())["data"]["display"]
        assert display["today"]["gas"] is None
        assert display["today"]["electricity"]
        assert display["today"]["exported"]
        (withheld,) = display["withheld"]
        assert withheld.pop("message").endswith("was revoked. Renew it to access this data.")
        assert withheld == {
            "resourceId": gas,
            "name": "My gas.consumption",
            "kind": "GAS",
            "meterPointNumber": home.mpxns[gas],
            "reason": "REVOKED",
        }
        await home.change(gas, "renewal")
        display = (await client.payload())["data"]["display"]
        assert display["withheld"] == []
        assert display["today"]["gas"]


async def test_stream_of_several_resources_goes_on_and_says_which_one_ended(home: MeteredHome) -> None:
    electricity, exported, gas = home.resource_ids
    at = AT
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await subscribe_active(client, home)
        await home.change(gas)
        assert await withheld_resource(client) == gas
        for resource_id in (gas, exported):
            at += timedelta(hours=1)
            await home.record(resource_id, at, "2")
        assert (await client.payload())["data"]["latest"] == {"resourceId": exported, "value": 2}
        await client.subscribe(READINGS, "late", ids=home.resource_ids)
        assert await withheld_resource(client) == gas
        await home.change(gas, "renewal")
        await until_delivered(client, home, gas)
        for resource_id in (gas, exported, electricity):
            await home.change(resource_id)
        endings = [message for _ in range(6) if (message := await client.hear())["type"] == "error"]
        assert {message["id"] for message in endings} == {"1", "late"}
        assert all(is_consent_error(message["payload"][0], electricity) for message in endings)


async def test_resumed_stream_leaves_out_resources_that_are_withheld_by_then(home: MeteredHome) -> None:
    electricity, _, gas = home.resource_ids
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await client.subscribe(RESUMED, ids=[electricity, gas], since=None)
        while not (position := (await client.payload())["extensions"]["position"]):
            continue
        await client.complete()
        await home.record(gas, AT + timedelta(hours=1), "3")
        await home.change(gas)
        await home.record(electricity, AT + timedelta(hours=1), "4")
        for since in (position, LOST, None):  # the bus has it, it does not, and a new subscription
            await client.subscribe(RESUMED, ids=[electricity, gas], since=since)
            first = await client.payload()
            assert is_consent_error(first["errors"][0], gas)
            assert first["errors"][0]["path"] == ["readings"]
            values: list[float] = []
            while values[-1:] != [4]:
                values.append((await client.payload())["data"]["readings"]["value"])
            assert values in ([4], [1, 4])
            await client.complete()


async def test_stream_of_catch_ups_begins_without_those_of_a_withheld_resource(home: MeteredHome) -> None:
    electricity, _, gas = home.resource_ids
    for resource_id in (gas, electricity):  # the oldest one would come first
        started = await home.house.call("GET", f"/resource/{resource_id}/catchup", home.headers)
        assert started.status_code == 200, started.text
    await home.change(gas)
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await client.subscribe(CATCH_UPS, ids=[electricity, gas], since=LOST)
        assert is_consent_error((await client.payload())["errors"][0], gas)
        assert (await client.payload())["data"]["catchUpState"] == {"resourceId": electricity}


@pytest.mark.parametrize("kind", [FRESHNESS, DEVICES])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_live_freshness_of_a_withheld_resource_is_null(home: MeteredHome, kind: str) -> None:
    """So is that of the device that feeds it alone, with the state that the device last reported about itself."""
    electricity, _, gas = home.resource_ids
    ids = [electricity, gas]
    if kind == DEVICES:
        ids = [await add_device(home.house.one, resource_id) for resource_id in ids]
        await report_states(home.house.one, ids)
    field = kind.split("{")[1].partition("(")[0].strip()
    async with socket(home.house.url) as client:
        await client.init(**home.headers)
        await client.subscribe(kind, ids=ids)
        before = (await client.payload())["data"][field]
        assert all(value for one in before for value in one.values())
        await home.change(gas)
        payload = await client.payload()
        assert [bool(one["freshness"]) for one in payload["data"][field]] == [True, False]
        assert payload["data"][field][1].get("networkState") is None
        assert [error["path"] for error in payload["errors"]] == [[field, 1, "freshness"]]
        assert is_consent_error(payload["errors"][0], gas)


async def report_states(tenant: Tenant, device_ids: Sequence[str]) -> None:
    """Let devices report their network states."""
    for device_id in device_ids:
        device = await tenant.run("device", device_id=device_id)
        message = MeterMessage(device.hardware_id, utc_now(), network_state=NetworkState(at=utc_now()))
        await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": [message]})


@pytest.mark.long("waits until a consent expires; withdrawn consents stay in the short form")
async def test_consent_that_expires_in_the_middle_of_a_stream_ends_its_part(served: House) -> None:
    home = await add_metered_home(served)
    gas = home.resource_ids[2]
    soon = utc_now() + timedelta(seconds=3)
    await served.one.run("renew_consents", mpxns=[home.mpxns[gas]], valid_until=soon)
    async with socket(served.url) as stream, socket(served.url) as display:
        for client in (stream, display):
            await client.init(**home.headers)
        await stream.subscribe(READINGS, ids=home.resource_ids)
        await display.subscribe(DISPLAY, id=home.ve_id)
        assert await withheld_resource(stream, "EXPIRED") == gas
        while not (withheld := (await display.payload())["data"]["display"]["withheld"]):
            continue
        assert [one["reason"] for one in withheld] == ["EXPIRED"]


async def test_consent_is_no_longer_valid_at_the_instant_of_its_end(timed: Timed) -> None:
    end = timed.clock.now + timedelta(days=1)
    home = await add_metered_home(timed.house, end)
    document = f'{{ resource(resourceId: "{home.resource_ids[0]}") {{ current {{ value }} }} }}'
    for at, is_valid in ((end - timedelta(microseconds=1), True), (end, False)):
        timed.clock.now = at
        answer = await timed.house.graphql(document, timed.headers)
        assert bool(answer["data"]["resource"]["current"]) is is_valid
        assert is_valid or is_consent_error(answer["errors"][0], home.resource_ids[0], "EXPIRED")


async def subscribe_active(client: Socket, home: MeteredHome) -> None:
    """Subscribe to the readings of the home and wait until they arrive."""
    await client.subscribe(READINGS, ids=home.resource_ids)
    await until_delivered(client, home, home.resource_ids[0])


async def until_delivered(client: Socket, home: MeteredHome, resource_id: str) -> None:
    """Record readings of a resource until one arrives, and skip all payloads up to a pause."""
    arrived = False
    for number in range(100):
        await home.record(resource_id, AT + timedelta(days=1, minutes=30 * number), "1")
        await asyncio.sleep(0.02)
        payloads = [message["payload"]["data"]["latest"] for message in await client.heard()]
        if arrived := arrived or any(one and one["resourceId"] == resource_id for one in payloads):
            return
    raise AssertionError("no reading has arrived")


async def withheld_resource(client: Socket, reason: str = "REVOKED") -> str:
    """Return the resource of which the next payload says that its data is withheld."""
    payload = await client.payload()
    assert payload["data"] == {"latest": None}
    (error,) = payload["errors"]
    assert error["path"] == ["latest"]
    assert is_consent_error(error, error["extensions"]["resourceId"], reason)
    return str(error["extensions"]["resourceId"])
