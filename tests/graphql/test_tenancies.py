"""Whose a meter point is, since when: moves, ends and returns of households, and what each finds there."""

import asyncio
import io
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import text

from tests.support.calls import add_resource, code_of, move_resource, report, send
from tests.support.house import STORAGE, House, Tenant, operation
from tests.support.metering import HALF_HOUR, START, add_device, metered
from tests.support.residents import resident
from tests.support.tables import check_rollups
from tests.support.timed import Timed
from wattgate.clock import format_iso, utc_now
from wattgate.enums import DfsEventState
from wattgate.errors import BadInput, Conflict
from wattgate.operations.devices import catch_ups
from wattgate.operations.personal_data.data_archive import write_archive
from wattgate.operations.types.content.flexibility import NewDfsEvent
from wattgate.operations.types.homes.resources import NewResourceType
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Permission

pytestmark = pytest.mark.either_database("some tests of the module run on both")

OLD_DAYS = timedelta(days=3)


async def from_network(house: House, who: Tenant, resource_id: str) -> list[datetime]:
    """Return the instants of the readings that a catch-up would retrieve."""
    page = await house.gateway.runner.run(catch_ups.network_readings, who.system, {"resource_id": resource_id})
    return [] if page is None else [reading.at for reading in page.readings]


async def stored(house: House, who: Tenant, resource_id: str) -> list[datetime]:
    """Return the instants of the first and the last reading of a resource."""
    query = "query ($id: ID!) { resource(resourceId: $id) { firstTime lastTime } }"
    found = (await house.graphql(query, who.headers["account"], id=resource_id))["data"]["resource"]
    return [datetime.fromisoformat(text) for text in found.values() if text]


async def event_codes(house: House, who: Tenant) -> list[str]:
    """Return the codes of the webhook events about the tenancies of a user."""
    statement = text("SELECT event_code FROM webhook_event WHERE user_id = :user AND event_code LIKE 'tenancy.%'")
    async with house.gateway.database.engine.begin() as connection:
        return list((await connection.execute(statement, {"user": who.user_id})).scalars())


async def consent_state(who: Tenant, mpxn: str) -> str:
    """Return the state of the consent of a user for a meter point."""
    (consent,) = [one for one in await who.run("consents") if (one.user_id, one.mpxn) == (who.user_id, mpxn)]
    return str(consent.state.value)


async def hardware_of(house: House, who: Tenant, device_id: str) -> str:
    return str((await send(house, who, "GET", f"/device/{device_id}")).json()["hardwareId"])


async def test_the_first_household_retrieves_the_whole_history(served: House, ada: Tenant) -> None:
    point = await metered(ada)
    assert await from_network(served, ada, point.resource_id) == [START + n * HALF_HOUR for n in range(3)]


@pytest.mark.parametrize("way", ["move", "close and add", "erase and add"])
@pytest.mark.both_databases("separation of households")
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_the_next_household_retrieves_nothing_of_the_time_before(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    point = await metered(ada)
    if way == "move":
        moved = await move_resource(served, point.resource_id, bob)
    else:
        if way == "close and add":
            await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
        else:
            await send(served, ada, "DELETE", f"/user/{ada.user_id}", "application")
        moved = (await add_resource(served, bob, point.mpxn)).json()["resourceId"]
    assert await from_network(served, bob, moved) == []
    with pytest.raises(BadInput, match="readings are invalid"):
        await bob.record(moved, (START, "0.5"))
    await bob.record(moved, (utc_now(), "230"), field="POWER")
    assert await event_codes(served, ada) == ([] if way == "erase and add" else ["tenancy.ended"])


async def test_readings_since_the_move_in_date_are_the_next_households(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    moved_in = START + HALF_HOUR
    moved = await move_resource(served, point.resource_id, bob, movedInAt=format_iso(moved_in))
    assert await from_network(served, bob, moved) == [moved_in, moved_in + HALF_HOUR]


@pytest.mark.both_databases("separation of households")
async def test_a_late_move_withdraws_the_readings_of_the_former_household(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    instants = [START + n * HALF_HOUR for n in range(7)]
    await ada.record(point.resource_id, *((at, "0.5") for at in instants))
    moved = await move_resource(served, point.resource_id, bob, movedInAt=format_iso(instants[3]))
    assert await stored(served, ada, point.resource_id) == [instants[0], instants[2]]
    async with served.gateway.database.engine.begin() as connection:
        assert await connection.run_sync(check_rollups, [point.resource_id]) > 0
    assert await stored(served, bob, moved) == []


async def test_moves_that_cannot_be_are_refused(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    path = f"/resource/{point.resource_id}/owner"
    ahead = format_iso(utc_now() + timedelta(hours=1))
    answer = await send(served, ada, "PUT", path, "application", userId=bob.user_id, movedInAt=ahead)
    assert code_of(answer) == (400, "BAD_INPUT")
    moved = await move_resource(served, point.resource_id, bob, movedInAt=format_iso(START + HALF_HOUR))
    third = await resident(served.one)
    before = {"userId": third.user_id, "movedInAt": format_iso(START)}
    answer = await send(served, ada, "PUT", f"/resource/{moved}/owner", "application", **before)
    assert code_of(answer) == (409, "CONFLICT")
    by_account = await add_resource(served, bob, point.mpxn, "account", movedInAt=format_iso(START))
    assert code_of(by_account) == (403, "FORBIDDEN")


async def test_the_same_household_continues_where_it_closed(served: House, ada: Tenant) -> None:
    point = await metered(ada)
    await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
    again = (await add_resource(served, ada, point.mpxn)).json()["resourceId"]
    assert await from_network(served, ada, again) == [START + n * HALF_HOUR for n in range(3)]


async def test_a_move_in_date_of_the_same_household_deletes_nothing(served: House, ada: Tenant) -> None:
    point = await metered(ada)
    await ada.record(point.resource_id, (START, "0.5"))
    await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
    again = await add_resource(served, ada, point.mpxn, movedInAt=format_iso(START - HALF_HOUR))
    assert again.status_code == 200, again.text
    assert await stored(served, ada, point.resource_id) == [START, START]


@pytest.mark.parametrize("way", ["moveResource", "createResource", "verifyMeterPoint", "close and add"])
async def test_a_consent_ends_when_the_next_household_moved_in(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    """It does not end at the instant of the call, which may be later."""
    point = await metered(ada)
    moved_in = START + HALF_HOUR
    if way == "moveResource":
        await move_resource(served, point.resource_id, bob, movedInAt=format_iso(moved_in))
    elif way == "verifyMeterPoint":
        await bob.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=moved_in)
    else:
        if way == "close and add":
            await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
        added = await add_resource(served, bob, point.mpxn, movedInAt=format_iso(moved_in))
        assert added.status_code == 200, added.text
    (consent,) = await ada.gateway.runner.run(operation("consents"), ada.account, {})
    assert (consent.state.value, consent.ended_at) == ("ended", moved_in)
    (stay,) = await ada.gateway.runner.run(operation("tenancies"), ada.account, {})
    assert stay.ended_at == moved_in


async def test_a_repeated_move_corrects_since_when_the_next_household_lives_there(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    instants = [START + n * HALF_HOUR for n in range(4)]
    moved = await move_resource(served, point.resource_id, bob, movedInAt=format_iso(instants[1]))
    await bob.record(moved, *((at, "0.5") for at in instants[1:]))
    assert await move_resource(served, point.resource_id, bob) == moved
    assert await stored(served, bob, moved) == [instants[1], instants[3]]
    assert await move_resource(served, point.resource_id, bob, movedInAt=format_iso(instants[2])) == moved
    assert await stored(served, bob, moved) == [instants[2], instants[3]]
    again = {"userId": bob.user_id, "movedInAt": format_iso(utc_now() + timedelta(hours=1))}
    answer = await send(served, ada, "PUT", f"/resource/{point.resource_id}/owner", "application", **again)
    assert code_of(answer) == (400, "BAD_INPUT")
    await move_resource(served, moved, await resident(served.one), movedInAt=format_iso(instants[3]))
    again["movedInAt"] = format_iso(instants[3] + HALF_HOUR)
    answer = await send(served, ada, "PUT", f"/resource/{point.resource_id}/owner", "application", **again)
    assert code_of(answer) == (409, "CONFLICT")


async def test_a_household_whose_resource_opens_again_has_its_consent_again(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
    of_bob = (await add_resource(served, bob, point.mpxn)).json()["resourceId"]
    await send(served, bob, "PUT", f"/resource/{of_bob}", active=False)
    assert await consent_state(ada, point.mpxn) == "ended"
    opened = await send(served, ada, "PUT", f"/resource/{point.resource_id}", "acting", active=True)
    assert opened.status_code == 200, opened.text
    assert await consent_state(ada, point.mpxn) == "valid"


async def test_a_household_that_returns_begins_again(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    await ada.record(point.resource_id, (START, "0.5"))
    moved = await move_resource(served, point.resource_id, bob)
    device = {"deviceTypeId": ada.ids["device_type"], "hardwareId": uuid4().hex, "hardwareIds": {"MPAN": point.mpxn}}
    assert (await served.call("POST", "/device", ada.headers["acting"], json=device)).status_code == 200
    assert await consent_state(ada, point.mpxn) == "ended"  # a device at the old meter point is no return
    back = await move_resource(served, moved, ada)
    assert await consent_state(ada, point.mpxn) == "valid"
    assert await from_network(served, ada, back) == []
    assert await stored(served, ada, point.resource_id) == [START, START]  # its own readings stay


async def test_every_type_of_the_meter_point_moves_at_once(served: House, ada: Tenant, bob: Tenant) -> None:
    point, others = await metered(ada), dict[str, str]()
    for classifier in ("electricity.power", "electricity.export"):
        other_type = NewResourceType(name=classifier, classifier=classifier, storage=STORAGE)
        type_id = (await served.one.run("add_resource_type", input=other_type)).resource_type_id
        others[type_id] = (await add_resource(served, ada, point.mpxn, resourceTypeId=type_id)).json()["resourceId"]
    moved = await move_resource(served, point.resource_id, bob)
    for resource_id in others.values():
        assert (await send(served, ada, "GET", f"/resource/{resource_id}")).json()["active"] is False
    listed = (await send(served, bob, "GET", "/resource")).json()
    assert {one["resourceTypeId"] for one in listed} == {ada.ids["resource_type"], *others}
    again = await add_resource(served, ada, point.mpxn, "account")
    assert code_of(again) == (403, "FORBIDDEN")
    each = {await move_resource(served, resource_id, bob) for resource_id in others.values()}  # as legacy clients do
    assert each == {one["resourceId"] for one in listed} - {moved}


async def test_a_second_household_needs_the_end_of_the_first(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    assert code_of(await add_resource(served, bob, point.mpxn)) == (409, "CONFLICT")
    with pytest.raises(Conflict, match="movedInAt"):
        await bob.run("verify_meter_point", mpxn=point.mpxn)
    assert (await send(served, ada, "GET", f"/resource/{point.resource_id}")).json()["active"] is True
    added = await add_resource(served, bob, point.mpxn, movedInAt=format_iso(START + HALF_HOUR))
    assert added.status_code == 200, added.text
    assert (await send(served, ada, "GET", f"/resource/{point.resource_id}")).json()["active"] is False
    assert await event_codes(served, ada) == ["tenancy.ended"]
    assert await event_codes(served, bob) == []


@pytest.mark.both_databases("separation of households")
async def test_an_account_does_not_return_where_another_user_has_lived(served: House, ada: Tenant, bob: Tenant) -> None:
    """Bob has closed his resource for a while. Ada, who closed hers before he moved in, would watch his power."""
    point = await metered(ada)
    path = f"/resource/{point.resource_id}"
    await send(served, ada, "PUT", path, active=False)
    bobs = (await add_resource(served, bob, point.mpxn)).json()["resourceId"]
    await send(served, bob, "PUT", f"/resource/{bobs}", active=False)
    assert code_of(await send(served, ada, "PUT", path, active=True)) == (409, "CONFLICT")
    assert await consent_state(bob, point.mpxn) == "valid"
    assert (await send(served, bob, "PUT", f"/resource/{bobs}", active=True)).status_code == 200


async def test_a_move_in_date_without_a_meter_point_is_refused(served: House, ada: Tenant, bob: Tenant) -> None:
    resource_id = await ada.add_resource()
    values = {"resourceTypeId": ada.ids["resource_type"], "name": "x", "movedInAt": format_iso(START)}
    body = {"userId": bob.user_id, "movedInAt": format_iso(START)}
    for answer in (
        await send(served, ada, "POST", "/resource", "acting", **values),
        await send(served, ada, "PUT", f"/resource/{resource_id}/owner", "application", **body),
    ):
        assert code_of(answer) == (400, "BAD_INPUT")
        assert answer.json()["problems"][0]["path"][-1] == "movedInAt"


@pytest.mark.both_databases("separation of households")
async def test_two_households_at_once_leave_one(served: House, ada: Tenant, bob: Tenant) -> None:
    """Three ask the gateway, and one a second gateway on the same database: the components beside the first one."""
    point = await metered(ada)
    await send(served, ada, "DELETE", f"/user/{ada.user_id}", "application")
    cy, dan = await resident(served.one), await resident(served.one)
    answers = [add_resource(served, who, point.mpxn) for who in (bob, cy)]
    *answered, elsewhere = await asyncio.gather(
        *answers, dan.run("verify_meter_point", mpxn=point.mpxn), return_exceptions=True
    )
    codes = [answer.status_code for answer in answered if isinstance(answer, httpx.Response)]
    if isinstance(elsewhere, BaseException) and not isinstance(elsewhere, Conflict):
        raise elsewhere
    assert sorted([*codes, 409 if isinstance(elsewhere, Conflict) else 200]) == [200, 409, 409], (answered, elsewhere)


@pytest.mark.both_databases("separation of households")
async def test_a_move_that_two_gateways_make_at_once_is_one(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    to_bob = {"resource_id": point.resource_id, "user_id": bob.user_id}
    by_operation = served.gateway.runner.run(operation("move_resource"), replace(ada.system, user_id=None), to_bob)
    one, other = await asyncio.gather(move_resource(served, point.resource_id, bob), by_operation)
    assert one == other.resource_id
    listed = (await send(served, bob, "GET", "/resource")).json()
    assert [each["resourceId"] for each in listed] == [one]
    (stay,) = await bob.gateway.runner.run(operation("tenancies"), bob.account, {})
    assert stay.ended_at is None


@pytest.mark.both_databases("separation of households")
async def test_messages_from_before_the_move_are_not_the_next_owners(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    hardware_id = await hardware_of(served, ada, device_id)
    moved = await move_resource(served, point.resource_id, bob)
    answer = await send(served, ada, "PUT", f"/device/{device_id}/owner", "application", userId=bob.user_id)
    assert answer.status_code == 200, answer.text
    assert await report(served, bob, hardware_id, utc_now() - OLD_DAYS) == 0
    assert await report(served, bob, hardware_id, utc_now()) == 1
    current = await send(served, bob, "GET", f"/resource/{moved}/current")
    assert [value for _, value in current.json()["data"]] == [230]


@pytest.mark.both_databases("separation of households")
async def test_a_sold_display_does_not_bring_the_sellers_messages(served: House, ada: Tenant, bob: Tenant) -> None:
    point, own = await metered(ada), await metered(bob)
    device_id = await add_device(ada, point.resource_id)
    hardware_id = await hardware_of(served, ada, device_id)
    await send(served, ada, "DELETE", f"/device/{device_id}")
    values: dict[str, Any] = {
        "deviceTypeId": bob.ids["device_type"],
        "hardwareId": hardware_id,
        "hardwareIds": {},
        "protocol": {"sensors": [{"protocolId": "ELEC", "resourceId": own.resource_id}]},
    }
    assert (await send(served, bob, "POST", "/device", "acting", **values)).status_code == 200
    assert await report(served, bob, hardware_id, utc_now() - OLD_DAYS) == 0
    assert await report(served, bob, hardware_id, utc_now()) == 1


@pytest.mark.both_databases("separation of households")
async def test_a_display_in_the_home_of_another_cannot_feed_the_own_new_one(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    flat = await metered(ada)
    await move_resource(served, point.resource_id, bob)
    change: dict[str, Any] = {"protocol": {"sensors": [{"protocolId": "S0", "resourceId": flat.resource_id}]}}
    refused = await send(served, ada, "PUT", f"/device/{device_id}", **change)
    assert code_of(refused) == (409, "CONFLICT")
    assert await report(served, ada, await hardware_of(served, ada, device_id), utc_now()) == 0
    allowed = await send(served, ada, "PUT", f"/device/{device_id}", "acting", **change)  # the application knows it
    assert allowed.status_code == 200, allowed.text


@pytest.mark.both_databases("separation of households")
async def test_the_consent_of_a_former_household_ends(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    await ada.record(point.resource_id, (START, "0.5"))
    await ada.run("verify_meter_point", mpxn=point.mpxn)
    await move_resource(served, point.resource_id, bob)
    assert await consent_state(ada, point.mpxn) == "ended"
    renewal = await send(
        served, ada, "POST", f"/user/verification/status/mpxn/{point.mpxn}/renewal", isValidUntil="now"
    )
    assert code_of(renewal) == (409, "CONFLICT")
    current = await send(served, ada, "GET", f"/resource/{point.resource_id}/current")
    assert [value for _, value in current.json()["data"]] == [0.5]


@pytest.mark.parametrize("is_late", [False, True])
async def test_flexibility_events_that_are_ahead_change_hands(timed: Timed, is_late: bool) -> None:
    """An event that begins after the move is ahead, also if the move is reported while the event runs."""
    served, moved_in = timed.house, timed.clock.now + timedelta(hours=1)
    ada, bob = await resident(served.one), await resident(served.one)
    point = await metered(ada)
    start = moved_in + timedelta(minutes=1)
    event = NewDfsEvent(
        name="Evening", starts_at=start, ends_at=start + HALF_HOUR, reward=Decimal(3), currency=Currency("GBP")
    )
    event_id = (await served.one.run("add_dfs_event", input=event)).dfs_event_id
    await served.one.run("move_dfs_event", dfs_event_id=event_id, state=DfsEventState.OPEN)

    async def households() -> list[str]:
        """Return the users who are enrolled at the meter point, then the participants of the event."""
        enrolled = await send(served, served.one, "GET", "/dfs/user", "application")
        joined = await send(served, served.one, "GET", f"/dfs/event/{event_id}/user", "application")
        return [one["userId"] for one in (*enrolled.json(), *joined.json()) if one["mpxn"] == point.mpxn]

    for who in (ada, bob):
        assert (await send(served, who, "POST", "/dfs/user")).status_code == 200
        joined = await send(served, who, "POST", "/dfs/event/user/participation", dfsEventId=event_id)
        assert joined.status_code == 200, joined.text
        assert await households() == [who.user_id] * 2
        if who is ada:
            timed.clock.now = start + timedelta(minutes=1) if is_late else moved_in
            await move_resource(served, point.resource_id, bob, movedInAt=format_iso(moved_in))
            assert await households() == []


@pytest.mark.both_databases("separation of households")
async def test_the_export_of_a_former_household_names_nothing_of_the_next(
    served: House, ada: Tenant, bob: Tenant
) -> None:
    point = await metered(ada)
    moved = await move_resource(served, point.resource_id, bob)

    async def read(query: Any) -> Any:
        return await served.gateway.runner.read(ada.system, Permission.SYSTEM, query)

    archive = io.BytesIO()
    async for piece in write_archive(read, ada.user_id, utc_now()):
        archive.write(piece.content)
    with zipfile.ZipFile(archive) as opened:
        texts = [opened.read(name).decode() for name in opened.namelist()]
    assert any(point.resource_id in text for text in texts)
    assert [text for text in texts if moved in text or bob.user_id in text] == []
