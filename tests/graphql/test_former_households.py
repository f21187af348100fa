"""A household that has left a meter point reads nothing of the next one, and leaves it no texts."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, event

from tests.graphql.test_flexibility import announce, move
from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS, TOKEN, Stream, stream
from tests.support.asking import with_rows
from tests.support.calls import add_resource, code_of, move_meter_point, move_resource, report, report_state, send
from tests.support.costs import cost_resource
from tests.support.house import House, Tenant
from tests.support.interfaces import document, field_of, to_graphql_variables
from tests.support.live import RESUMING
from tests.support.metering import add_device, metered
from tests.support.neighbour import all_rows, rows_with
from tests.support.people import paired_display
from tests.support.refusals import refusals
from tests.support.socket import Socket, socket
from tests.support.successive_households import (
    ERASE_AND_ADD,
    POWER,
    HomeOfThree,
    Household,
    Plan,
    home_of_three,
)
from tests.support.successive_households import MOVE as WAY_OF_MOVES
from tests.support.user_jobs import erased, exported_files
from wattgate.app.workers.access_log import flush_access_log
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import DfsUser
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind

pytestmark = pytest.mark.both_databases("separation of households")

MOVE, MOVE_ALL, CLOSE_AND_ADD, REMOVE = "moveResource", "moveMeterPoint", "close and add", "remove from the home"

REMOVAL = (
    "mutation ($home: ID!, $id: ID!) { removeResourceFromHome(homeId: $home, resourceId: $id) {"
    " ... on Home { homeId } ...Refused } }"
)
FRESHNESS = "subscription ($ids: [ID!]!) { freshness(resourceIds: $ids) { resourceId freshness { state asOf } } }"


async def hand_over(house: House, way: str, resource_id: str, mpxn: str, former: Tenant, following: Tenant) -> str:
    """Let the next household take over a meter point, and return the ID of its resource."""
    if way == MOVE:
        return await move_resource(house, resource_id, following)
    if way == MOVE_ALL:
        return (await move_meter_point(house, mpxn, following))[resource_id]
    await send(house, former, "PUT", f"/resource/{resource_id}", active=False)
    return str((await add_resource(house, following, mpxn)).json()["resourceId"])


async def network_reads(house: House, who: Tenant) -> set[tuple[str, str, str, int]]:
    """Return the entries in the access log of a user: resource, operation, role and count."""
    assert house.served_gateway is not None
    await flush_access_log(house.served_gateway.runner, house.served_gateway.access_log)
    listed = await house.call("GET", "/user/accesslog", who.headers["account"], params={"first": 100})
    return {(one["resourceId"], one["operation"], one["role"], one["count"]) for one in listed.json()}


@pytest.mark.parametrize("way", [MOVE, MOVE_ALL, CLOSE_AND_ADD])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_a_former_household_neither_claims_nor_lists_devices(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    """The log of the household that lives there has each read of the network's records, and that of the other none."""
    point = await metered(ada)
    await ada.run("verify_meter_point", mpxn=point.mpxn)
    reads = {
        "meterPointInventory": f"/device/meter-point/{point.mpxn}/inventory",
        "smartMeterInventory": f"/device/smart-meter/{point.eui}/inventory",
        "discoverHardware": f"/discover/{point.eui}",
    }

    async def read(who: Tenant, caller: str) -> set[int]:
        return {(await send(served, who, "GET", path, caller)).status_code for path in reads.values()}

    assert await read(ada, "application") == {200}
    before = {(point.resource_id, operation, "application", 1) for operation in reads}
    assert await network_reads(served, ada) == before
    present = await hand_over(served, way, point.resource_id, point.mpxn, ada, bob)
    device: dict[str, Any] = {"deviceTypeId": ada.ids["device_type"], "hardwareId": point.eui, "hardwareIds": {}}
    assert code_of(await send(served, ada, "POST", "/device", **device)) == (403, "FORBIDDEN")
    assert await read(ada, "account") == {404}
    assert (await read(bob, "account"), await read(bob, "application")) == ({200}, {200})
    assert await network_reads(served, ada) == before
    assert await network_reads(served, bob) == {
        (present, operation, role, 1) for operation in reads for role in ("account", "application")
    }


@pytest.mark.parametrize("way", [MOVE, MOVE_ALL, CLOSE_AND_ADD])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_texts_of_the_former_household_are_not_copied(served: House, ada: Tenant, bob: Tenant, way: str) -> None:
    """They are neither in what the next household reads and exports, nor anywhere after the erasure of their owner."""
    point, mark = await metered(ada), f"quuxotic {uuid4().hex}"
    change: dict[str, Any] = {"name": f"flat {mark}", "dataSourceResourceTypeInfo": {"note": f"note {mark}"}}
    changed = await send(served, ada, "PUT", f"/resource/{point.resource_id}", **change)
    assert changed.text.count(mark) == 2
    bob.ids["resource"] = present = await hand_over(served, way, point.resource_id, point.mpxn, ada, bob)
    answer = await send(served, bob, "GET", f"/resource/{present}")
    assert (answer.status_code, mark in answer.text) == (200, False)
    exported = await exported_files(bob)
    assert [name for name, text in exported.items() if present in text] != []
    assert [name for name, text in exported.items() if mark in text] == []
    (stored,) = [row for table, row in await all_rows(bob) if table == "resource" and point.resource_id in row]
    assert stored.count(mark) == 2
    await erased(ada, ada.user_id)
    rows = await all_rows(bob)
    assert any(present in row for _, row in rows)
    assert [row for row in rows_with({mark}, rows) if mark in row[1]] == []
    assert (await send(served, bob, "GET", f"/resource/{present}")).status_code == 200


async def test_a_cost_resource_at_the_meter_point_keeps_no_right(served: House, ada: Tenant, bob: Tenant) -> None:
    """It has the number of the meter point itself, and the costs of the energy there."""
    point = await metered(ada)
    await ada.run("verify_meter_point", mpxn=point.mpxn)
    cost = await cost_resource(ada, mpxn=point.mpxn)

    async def shown(who: Tenant, resource_id: str) -> dict[str, Any]:
        return dict((await send(served, who, "GET", f"/resource/{resource_id}")).json())

    before = await shown(ada, cost)
    assert (before["mpxn"], before["costOf"], before["active"]) == (point.mpxn, point.resource_id, True)
    moved = await move_resource(served, point.resource_id, bob)
    assert (await shown(ada, cost))["active"] is False
    for caller, status in (("account", 403), ("acting", 409)):
        assert (await add_resource(served, ada, point.mpxn, caller)).status_code == status
    for resource_id in (point.resource_id, cost):
        assert (await send(served, ada, "PUT", f"/resource/{resource_id}", active=True)).status_code == 409
        for read in ("catchup", "meterread"):
            assert (await send(served, ada, "GET", f"/resource/{resource_id}/{read}")).status_code == 409, read
    assert (await send(served, ada, "POST", "/dfs/user", mpxn=point.mpxn)).status_code == 400
    claimed: dict[str, Any] = {"deviceTypeId": ada.ids["device_type"], "hardwareId": point.eui, "hardwareIds": {}}
    assert code_of(await send(served, ada, "POST", "/device", **claimed)) == (403, "FORBIDDEN")
    back = await move_resource(served, moved, ada)
    again = await cost_resource(ada, mpxn=point.mpxn)
    assert (await shown(ada, again))["costOf"] == back


@contextmanager
def statements_with(text: str) -> Iterator[list[str]]:
    """Collect the statements with a text, each on one line."""
    found: list[str] = []

    def collect(*execution: Any) -> None:
        found.extend(one for one in [" ".join(execution[2].split()) + " "] if text in one)

    event.listen(Engine, "before_cursor_execute", collect)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", collect)


async def test_a_household_that_closed_its_resources_is_not_in_flexibility(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    """It has moved out, although nobody has moved in yet. A stored enrolment gives it no right."""
    point, events = await metered(ada), [await announce(served.one) for _ in range(2)]
    for event_id in events:
        await move(served, event_id, "OPEN")
    await ada.run("verify_meter_point", mpxn=point.mpxn)
    enrolled = await ada.run("opt_in_to_dfs")
    path = "/dfs/event/user/participation"
    assert (await send(served, ada, "POST", path, dfsEventId=events[0])).status_code == 200
    with statements_with("FROM dfs_event ") as reads:
        await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
    assert reads
    assert [read for read in reads if "dfs_event.dfs_event_id IN" not in read] == []  # not all later events
    assert [(await send(served, ada, "GET", f"/dfs/{what}")).json() for what in ("user", "event/user")] == [[], []]
    assert (await send(served, ada, "POST", "/dfs/user", mpxn=point.mpxn)).status_code == 400

    async def enrol_again(rows: Any) -> None:
        (await rows.edit(DfsUser, enrolled.dfs_user_id)).active = True

    await with_rows(ada, enrol_again, write=True)
    assert (await send(served, ada, "POST", path, dfsEventId=events[1])).status_code == 409
    await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=True)
    joined = await send(served, ada, "POST", path, dfsEventId=events[1])
    assert [one["mpxn"] for one in joined.json()] == [point.mpxn]
    await hand_over(served, CLOSE_AND_ADD, point.resource_id, point.mpxn, ada, bob)
    assert (await send(served, bob, "POST", "/dfs/user", mpxn=point.mpxn)).status_code == 200
    await send(served, bob, "POST", path, dfsEventId=events[1])
    participants = await send(served, bob, "GET", f"/dfs/event/{events[1]}/user", "application")
    assert [one["userId"] for one in participants.json() if one["mpxn"] == point.mpxn] == [bob.user_id]


@pytest.mark.parametrize("way", ["createResource", "verifyMeterPoint"])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_an_account_opens_no_resource_of_an_earlier_stay(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    """Another household has lived there between its two stays. The application may open the resource."""
    point = await metered(ada)

    async def opened(caller: str, resource_id: str, *, active: bool = True) -> int:
        who = bob if resource_id == others else ada
        return int((await send(served, who, "PUT", f"/resource/{resource_id}", caller, active=active)).status_code)

    others = ""
    assert await opened("account", point.resource_id, active=False) == 200
    others = str((await add_resource(served, bob, point.mpxn)).json()["resourceId"])
    assert await opened("account", others, active=False) == 200
    if way == "createResource":
        again = str((await add_resource(served, ada, point.mpxn)).json()["resourceId"])
        assert await opened("account", point.resource_id) == 409
        for active in (False, True):  # a resource of the present stay
            assert await opened("account", again, active=active) == 200
    else:
        await ada.run("verify_meter_point", mpxn=point.mpxn)
    assert await opened("account", point.resource_id) == 409
    assert await opened("account", others) == 409
    assert await opened("acting", point.resource_id) == 200
    for active in (False, True):  # it is of the present stay by now
        assert await opened("account", point.resource_id, active=active) == 200


async def power(
    house: House, who: Tenant, resource_id: str, watts: int, instant: datetime | None = None
) -> tuple[int, str]:
    """Record a power, by default of now. Return the HTTP status and the instant."""
    at = format_iso(instant or utc_now())
    body: dict[str, Any] = {"field": "POWER", "readings": [{"at": at, "value": watts}]}
    return (await send(house, who, "POST", f"/resource/{resource_id}/readings", **body)).status_code, at


async def heard_until(hear: Callable[[], Awaitable[Any]], is_last: Callable[[Any], bool]) -> list[Any]:
    """Return the payloads of a stream up to one."""
    heard = [await hear()]
    while not is_last(heard[-1]):
        heard.append(await hear())
    return heard


def is_of(watts: int) -> Callable[[Any], bool]:
    return lambda payload: ((payload["data"] or {}).get("readings") or {}).get("value") == watts


def states_of(payload: Any) -> dict[str, tuple[str, str | None]]:
    """Return the state and the instant of each resource in a payload of `freshness`."""
    items = (payload["data"] or {})["freshness"]
    return {one["resourceId"]: (one["freshness"]["state"], one["freshness"]["asOf"]) for one in items}


@pytest.mark.parametrize("way", [REMOVE, MOVE, MOVE_ALL, CLOSE_AND_ADD])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_a_display_loses_the_live_readings_of_a_resource_that_left_its_home(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    point, kept = await metered(ada), await ada.add_resource()
    left, ids = point.resource_id, [point.resource_id, kept]
    await add_device(ada, left)
    home_id = await ada.add_home(*ids)
    display, _ = await paired_display(ada, home_id)
    body = {"query": RESUMING, "variables": {"ids": ids, "since": None}}

    async def subscribed(client: Socket, document: str) -> Callable[[], Awaitable[Any]]:
        await client.init(**display)
        await client.subscribe(document, ids=ids)
        return client.payload

    async with (
        socket(served.url) as one,
        socket(served.url) as other,
        stream(served, headers={**display, **EVENT_STREAM_HEADERS}, json=body) as events,
    ):
        states = await subscribed(other, FRESHNESS)
        live = {"socket": await subscribed(one, RESUMING), "event stream": events.next_data}
        assert {state for state, _ in states_of(await states()).values()} == {"OFFLINE"}
        for hear in live.values():
            await heard_until(hear, lambda payload: payload["extensions"]["position"] != "")
        status, last = await power(served, ada, left, 100)
        assert status == 200
        for hear in live.values():
            await heard_until(hear, is_of(100))
        await heard_until(states, lambda payload: states_of(payload)[left] == ("LIVE", last))
        if way == REMOVE:
            removed = await served.graphql(REMOVAL, ada.headers["account"], home=home_id, id=left)
            assert not refusals(removed), removed
        else:
            present = await hand_over(served, way, left, point.mpxn, ada, bob)
            assert (await power(served, bob, present, 200))[0] == 200
        assert (await power(served, ada, left, 200))[0] == (200 if way == REMOVE else 400)
        assert (await power(served, ada, kept, 300))[0] == 200
        for name, hear in live.items():
            *before, _ = await heard_until(hear, is_of(300))
            codes = [error["extensions"]["code"] for payload in before for error in payload.get("errors", ())]
            assert codes == (["NOT_FOUND"] if way == REMOVE else []), name
            assert [payload for payload in before if not refusals(payload)] == [], name

        def is_last(payload: Any) -> bool:
            states = states_of(payload)
            return states[kept][0] == "LIVE" and (way != REMOVE or left not in states)

        of_left = {states_of(payload).get(left) for payload in await heard_until(states, is_last)}
        assert of_left <= {("LIVE", last), ("DELAYED", last), None}


SUBSCRIPTIONS = [operation for operation in OPERATIONS if operation.kind is OperationKind.SUBSCRIPTION]


async def all_streams(stack: AsyncExitStack, house: House, household: Household) -> tuple[Socket, Stream]:
    """Open a socket and an event stream of a household, which subscribe to all that is its own."""
    headers = household.who.headers["account"]
    client = await stack.enter_async_context(socket(house.url))
    await client.init(**headers)
    token = (await house.http.put("/graphql", headers=headers)).text
    asked = {"params": {"token": token}, "headers": EVENT_STREAM_HEADERS}
    events = await stack.enter_async_context(stream(house, "GET", **asked))
    ids = household.who.ids
    values: dict[str, Any] = {"resourceIds": household.resources, "homeId": ids["virtual_entity"]}
    values["deviceIds"] = [ids[name] for name in ("device", "left_device", "pointed_device")]
    for operation in SUBSCRIPTIONS:
        arguments = {name: values[name] for name in field_of(operation).args if name in values}
        body: dict[str, Any] = {
            "query": document(operation, arguments, edge_depth=1),
            "variables": to_graphql_variables(operation, arguments),
        }
        await client.subscribe(body["query"], operation.name, **arguments)
        body["extensions"] = {"operationId": operation.name}
        started = await house.http.post("/graphql", json=body, headers={TOKEN: token, **headers})
        assert started.status_code == 202, started.text
    await client.heard()
    return client, events


async def heard_on(events: Stream) -> Any:
    """Return the next message of an event stream of several operations; an empty one at the end of an operation."""
    return json.loads((await events.event())["data"] or "{}")


@pytest.mark.parametrize("way", [WAY_OF_MOVES, CLOSE_AND_ADD, ERASE_AND_ADD])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_open_streams_bring_nothing_of_the_others(served: House, way: str) -> None:
    """Each household subscribes to all that is its own, and stays subscribed when it has left. One revokes then."""
    async with AsyncExitStack() as stack:
        opened: dict[str, tuple[Socket, Stream]] = {}

        async def watch(_: HomeOfThree, household: Household) -> None:
            opened[household.name] = await all_streams(stack, served, household)

        place = await home_of_three(served, Plan(way, reported_late=False), watch)
        if way == WAY_OF_MOVES:
            await place.households[1].who.run("revoke_consents", mpxns=[place.mpxn])
        at, watts = utc_now(), POWER[place.present.number]  # a reading dated ahead is not current
        for household in place.households:
            for hardware_id in (place.hardware_id, *household.left_hardware_ids):
                await report_state(served, served.one, hardware_id, at)
        assert await report(served, served.one, place.hardware_id, at, watts) == 1
        for household in place.households:
            client, events = opened[household.name]
            if household.is_erased:
                assert place.traces(household, await client.rest()) == []
                assert (await client.closed())[0] == 4403
                continue
            body = {"userId": household.who.user_id, "alertTypeId": "CM01", "inbox": "yes"}
            sent = await served.call("POST", "/alert", served.one.headers["application"], json=body)
            assert sent.status_code == 200, sent.text
            last = ['"alertId"', *([format_iso(at)] if household is place.present else [])]
            for hear in (client.hear, partial(heard_on, events)):
                heard: list[Any] = []
                while not all(text in json.dumps(heard) for text in last):
                    heard.append(await hear())
                assert place.traces(household, heard) == [], household.name
                assert (format_iso(at) in json.dumps(heard)) == (household is place.present)
