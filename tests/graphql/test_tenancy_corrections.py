"""Moves that somebody reports late, corrects or evades: by another spelling, a display pointed elsewhere, an export."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from tests.graphql.test_pairing_races import at_once
from tests.graphql.test_tenancies import consent_state, hardware_of, stored
from tests.support.calls import add_resource, code_of, last_state, move_resource, report, report_state, send
from tests.support.house import House, Tenant, operation
from tests.support.metering import HALF_HOUR, START, add_device, metered
from tests.support.refusals import refusals
from tests.support.residents import resident
from tests.support.servers import ON_POSTGRESQL_ONLY
from tests.support.tables import check_rollups
from tests.support.timed import Timed
from tests.support.user_jobs import erased, exported
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import MeterPointTenancy
from wattgate.db.models.tenancy import Quota
from wattgate.energy.meters.meter_points import check_digit
from wattgate.errors import BadInput, Conflict, NotFound

pytestmark = pytest.mark.either_database("some tests of the module run on both")


def sensors_of(*resource_ids: str) -> dict[str, Any]:
    """Return the change of a device whose sensors feed resources."""
    sensors = [{"protocolId": f"S{n}", "resourceId": resource_id} for n, resource_id in enumerate(resource_ids)]
    return {"protocol": {"sensors": sensors}}


@pytest.mark.parametrize(
    "spelling", ["{a} {b}", " {a}{b}", "{a}-{b}", "{a}\u200b{b}", "\uff11{rest}", "\u0661{rest}", "{short}"]
)
async def test_each_spelling_of_a_number_is_the_same_meter_point(
    served: House, ada: Tenant, bob: Tenant, spelling: str
) -> None:
    """Ada would keep the resource with the other spelling over the move, and watch the next household by it."""
    point = await metered(ada)
    number, short = f"1{point.mpxn[1:]}" if "{rest}" in spelling else point.mpxn, point.mpxn[:12]
    if spelling == "{short}":  # an MPAN without its check digit
        number = short + check_digit(short)
    if number != point.mpxn:
        point = replace(point, resource_id=(await add_resource(served, ada, number)).json()["resourceId"], mpxn=number)
    written = spelling.format(a=number[:4], b=number[4:], rest=number[1:], short=short)
    again = (await add_resource(served, ada, written)).json()["resourceId"]
    assert (await send(served, ada, "GET", f"/resource/{again}")).json()["mpxn"] == (
        short if spelling == "{short}" else number
    )
    await ada.run("revoke_consents", mpxns=[number])
    reading = {"readings": [{"at": format_iso(utc_now()), "value": 777}], "field": "POWER"}
    refused = await send(served, ada, "POST", f"/resource/{again}/readings", "application", **reading)
    assert (refused.json()["recorded"], refused.json()["withoutConsent"]) == (0, 1)
    await ada.run("renew_consents", mpxns=[number])
    await move_resource(served, point.resource_id, bob)
    assert (await send(served, ada, "GET", f"/resource/{again}")).json()["active"] is False


@pytest.mark.parametrize("form", ["248357180{n}A", "DE{n}000", "2483-571{n}b"])
async def test_each_interface_knows_a_meter_point_that_is_no_number(
    served: House, ada: Tenant, bob: Tenant, form: str
) -> None:
    """The first user may add resources there and renews the consent. The application moves and verifies it."""
    written = form.format(n=uuid4().int % 1_000)
    resource_id = (await add_resource(served, ada, written)).json()["resourceId"]
    number = (await send(served, ada, "GET", f"/resource/{resource_id}")).json()["mpxn"]
    assert number == written.replace("-", "").upper()
    assert (await add_resource(served, ada, written.lower(), "account")).status_code == 200
    assert code_of(await add_resource(served, bob, written, "account")) == (403, "FORBIDDEN")
    listed = await send(served, ada, "GET", f"/device/meter-point/{written}/resources")
    assert len(listed.json()["resources"]) == 2
    renewal = f"/user/verification/status/mpxn/{written}/renewal"
    assert (await send(served, ada, "POST", renewal, isValidUntil="now")).status_code == 200
    assert code_of(await send(served, ada, "GET", f"/device/meter-point/{written}/inventory")) == (404, "NOT_FOUND")
    with pytest.raises(Conflict):
        await bob.run("verify_meter_point", mpxn=written)
    preview = await served.one.run("meter_point_move", mpxn=written, user_id=bob.user_id)
    assert (preview.mpxn, len(preview.resources)) == (number, 2)
    await served.one.run("move_meter_point", mpxn=written, user_id=bob.user_id)
    assert (await bob.run("verify_meter_point", mpxn=written)).mpxn == number
    with pytest.raises(BadInput):
        await bob.run("verify_meter_point", mpxn=" - ")
    with pytest.raises(NotFound):
        await served.one.run("move_meter_point", mpxn=" - ", user_id=ada.user_id)


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.both_databases("separation of households")
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_a_display_that_was_pointed_elsewhere_before_the_move_feeds_nothing(
    served: House, ada: Tenant, bob: Tenant, is_closed: bool
) -> None:
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    hardware_id = await hardware_of(served, ada, device_id)
    if is_closed:  # it measures there nevertheless
        await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
        change = sensors_of(await ada.add_resource())
        assert code_of(await send(served, ada, "PUT", f"/device/{device_id}", **change)) == (409, "CONFLICT")
        await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=True)
    for _ in range(2):  # the second change does not hide the meter point
        spare = await ada.add_resource()
        change = sensors_of(spare)
        assert (await send(served, ada, "PUT", f"/device/{device_id}", **change)).status_code == 200
    assert await report(served, ada, hardware_id, utc_now()) == 1
    preview = await served.one.run("meter_point_move", mpxn=point.mpxn, user_id=bob.user_id)
    assert [device.device_id for device in preview.devices] == [device_id]
    await move_resource(served, point.resource_id, bob)
    assert await report(served, ada, hardware_id, utc_now()) == 0
    assert code_of(await send(served, ada, "PUT", f"/device/{device_id}", **change)) == (409, "CONFLICT")


async def test_a_display_is_remembered_at_each_of_its_meter_points(served: House, ada: Tenant, bob: Tenant) -> None:
    first, second = await metered(ada), await metered(ada)
    device_id = await add_device(ada, first.resource_id, second.resource_id)
    change = sensors_of(await ada.add_resource(), await ada.add_resource())
    assert (await send(served, ada, "PUT", f"/device/{device_id}", **change)).status_code == 200
    for point in (first, second):
        preview = await served.one.run("meter_point_move", mpxn=point.mpxn, user_id=bob.user_id)
        assert [device.device_id for device in preview.devices] == [device_id]
    for point in (first, second):
        await move_resource(served, point.resource_id, bob)
        assert code_of(await send(served, ada, "PUT", f"/device/{device_id}", **change)) == (409, "CONFLICT")
        await served.one.run("move_meter_point", mpxn=point.mpxn, user_id=ada.user_id)
        assert (await send(served, ada, "PUT", f"/device/{device_id}", **change)).status_code == 200


@pytest.mark.parametrize("is_removed_before", [False, True])
async def test_a_code_from_before_the_move_does_not_bring_a_display_back(
    served: House, ada: Tenant, bob: Tenant, is_removed_before: bool
) -> None:
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    hardware_id = await hardware_of(served, ada, device_id)
    registered = await send(served, ada, "POST", "/device/claim", "application", hardwareId=hardware_id)
    for is_removal in (is_removed_before, not is_removed_before):
        if is_removal:
            assert (await send(served, ada, "DELETE", f"/device/{device_id}")).status_code == 200
        else:
            await move_resource(served, point.resource_id, bob)
    values: dict[str, Any] = {"deviceTypeId": ada.ids["device_type"], "hardwareId": hardware_id, "hardwareIds": {}}
    values |= sensors_of(await ada.add_resource()) | {"claimCode": registered.json()["code"]}
    assert code_of(await send(served, ada, "POST", "/device", **values)) == (409, "CONFLICT")
    assert (await send(served, bob, "POST", "/device", **values | {"protocol": None})).status_code == 200


@pytest.mark.parametrize("way", ["move", "sale", "erasure"])
@pytest.mark.both_databases("separation of households")
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_a_late_state_of_a_display_is_not_the_next_owners(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    """It would show the next household when the former one was at home."""
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    hardware_id = await hardware_of(served, ada, device_id)
    early = utc_now() - timedelta(days=3)
    if way == "move":
        await move_resource(served, point.resource_id, bob)
        body = {"userId": bob.user_id}
        moved = await send(served, ada, "PUT", f"/device/{device_id}/owner", "application", **body)
    else:
        if way == "sale":
            await send(served, ada, "DELETE", f"/device/{device_id}")
            await send(served, ada, "PUT", f"/resource/{point.resource_id}", active=False)
        else:
            await erased(ada, ada.user_id)
        added = (await add_resource(served, bob, point.mpxn)).json()["resourceId"]
        values: dict[str, Any] = {"deviceTypeId": bob.ids["device_type"], "hardwareId": hardware_id, "hardwareIds": {}}
        values["protocol"] = {"sensors": [{"protocolId": "ELEC", "resourceId": added}]}
        moved = await send(served, bob, "POST", "/device", "acting", **values)
    assert moved.status_code == 200, moved.text
    own_id, refused = moved.json()["deviceId"], "is before the household moved in, or had the device"
    assert [reason.endswith(refused) for reason in await report_state(served, bob, hardware_id, early)] == [True]
    assert await last_state(served, bob, own_id) is None
    now = utc_now().replace(microsecond=0) + timedelta(seconds=1)
    assert await report_state(served, bob, hardware_id, now) == []
    assert await last_state(served, bob, own_id) == format_iso(now)


LEFT = "the device state is not stored: the owner has moved out where the device is"


@pytest.mark.both_databases("separation of households")
async def test_a_display_that_was_left_behind_brings_no_state(served: House, ada: Tenant, bob: Tenant) -> None:
    """It would show its former household when the next one is at home. The application may know it elsewhere."""
    point = await metered(ada)
    device_id = await add_device(ada, point.resource_id)
    hardware_id, now = await hardware_of(served, ada, device_id), utc_now().replace(microsecond=0)
    before, after = now - timedelta(minutes=1), now + timedelta(seconds=1)
    assert await report_state(served, ada, hardware_id, before) == []
    await move_resource(served, point.resource_id, bob)
    assert await report_state(served, ada, hardware_id, after) == [LEFT]
    assert await last_state(served, ada, device_id) == format_iso(before)
    body: dict[str, Any] = {"protocol": {"sensors": []}}
    assert (await send(served, ada, "PUT", f"/device/{device_id}", "acting", **body)).status_code == 200
    assert await report_state(served, ada, hardware_id, after) == []
    assert await last_state(served, ada, device_id) == format_iso(after)


@pytest.mark.both_databases("separation of households")
async def test_readings_from_before_a_corrected_start_are_withdrawn(served: House, ada: Tenant) -> None:
    point = await metered(ada)
    instants = [START + n * HALF_HOUR for n in range(7)]
    await ada.record(point.resource_id, *((at, "0.5") for at in instants))
    await ada.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=instants[3])
    assert await stored(served, ada, point.resource_id) == [instants[3], instants[6]]
    async with served.gateway.database.engine.begin() as connection:
        assert await connection.run_sync(check_rollups, [point.resource_id]) > 0


@pytest.mark.both_databases("separation of households")
async def test_a_late_move_ends_the_export_with_the_withdrawn_readings(served: House, ada: Tenant, bob: Tenant) -> None:
    point = await metered(ada)
    await ada.record(point.resource_id, (START, "0.5"), (START + HALF_HOUR, "0.5"))
    await exported(ada)
    archive = f"/user/{ada.user_id}/export.zip"
    assert (await send(served, ada, "GET", archive)).status_code == 200
    await move_resource(served, point.resource_id, bob, movedInAt=format_iso(START + HALF_HOUR))
    assert (await send(served, ada, "GET", archive)).status_code == 404


@pytest.mark.parametrize("way", ["move", "revoke"])
@pytest.mark.both_databases("separation of households")
async def test_readings_that_are_dated_ahead_of_an_end_are_withdrawn(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    point = await metered(ada)
    await ada.record(point.resource_id, (utc_now() + timedelta(minutes=4), "999"), field="POWER")
    if way == "move":
        await move_resource(served, point.resource_id, bob)
    else:
        await ada.run("revoke_consents", mpxns=[point.mpxn])
        await ada.run("renew_consents", mpxns=[point.mpxn])
    assert await stored(served, ada, point.resource_id) == []


Times = list[tuple[datetime | None, datetime | None]]

WRONG_CLOCK: Mapping[str, Callable[[datetime, datetime], tuple[Times, Times, Times]]] = {
    "correct": lambda right, at: ([(None, at)], [(at, None)], []),
    "move on": lambda right, at: ([(None, at), (at, None)], [(at, at)], []),
    "close": lambda right, at: ([(None, right)], [(right, right)], [(right, None)]),
}
"""The tenancies of three users after each way to correct a move, from the present time and the right instant."""


async def times(who: Tenant, mpxn: str) -> Times:
    """Return when a user has lived at a meter point."""
    found = await who.gateway.runner.run(operation("tenancies"), who.account, {})
    return [(one.began_at, one.ended_at) for one in found if one.mpxn == mpxn]


@pytest.mark.parametrize("way", WRONG_CLOCK)
async def test_a_move_at_a_clock_that_was_ahead_is_corrected(timed: Timed, way: str) -> None:
    """The next call gives the right instant, although the recorded one has not come yet."""
    house, right = timed.house, timed.clock.now
    ada, bob, cat = [await resident(house.one) for _ in range(3)]
    point, at = await metered(ada), right.replace(minute=0) - 4 * HALF_HOUR
    await ada.record(point.resource_id, (at - HALF_HOUR, "0.5"), (at + HALF_HOUR, "0.5"))
    wrong = timed.clock.now = right + timedelta(days=2)
    resource_id = await move_resource(house, point.resource_id, bob)
    timed.clock.now = right
    assert [await times(who, point.mpxn) for who in (ada, bob)] == [[(None, wrong)], [(wrong, None)]]
    if way == "correct":
        await bob.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=at)
        await bob.record(resource_id, (at + HALF_HOUR, "0.5"))
        assert await stored(house, ada, point.resource_id) == [at - HALF_HOUR] * 2
    elif way == "move on":
        await move_resource(house, resource_id, ada, movedInAt=format_iso(at))
        assert await stored(house, ada, point.resource_id) == [at - HALF_HOUR, at + HALF_HOUR]
    else:
        closed = await send(house, bob, "PUT", f"/resource/{resource_id}", "acting", active=False)
        assert (closed.status_code, (await add_resource(house, cat, point.mpxn)).status_code) == (200, 200)
        assert await consent_state(bob, point.mpxn) == "ended"
    found = tuple([await times(who, point.mpxn) for who in (ada, bob, cat)])
    assert found == WRONG_CLOCK[way](right, at)
    if way == "correct":  # the consent of the former household ended when it moved out
        assert [one.ended_at for one in await ada.run("consents") if one.user_id == ada.user_id] == [at]


@pytest.mark.both_databases("separation of households")
async def test_a_correction_during_a_move_sees_the_move(served: House, ada: Tenant, bob: Tenant) -> None:
    """The second call waits for the first one, and then decides by its result: Ada has moved out and comes back."""
    point = await metered(ada)
    moved_in, came_back = (utc_now().replace(microsecond=0) - count * HALF_HOUR for count in (4, 2))
    moves = add_resource(served, bob, point.mpxn, movedInAt=format_iso(moved_in))
    corrects = ada.run("verify_meter_point", mpxn=point.mpxn, moved_in_at=came_back)
    moved, _ = await at_once(served, "meter_point_tenancy WHERE mpxn = :key", point.mpxn, [moves], [corrects])
    assert moved.status_code == 200, moved.text
    assert await times(bob, point.mpxn) == [(moved_in, came_back)]
    assert await times(ada, point.mpxn) == [(None, moved_in), (came_back, None)]


@pytest.mark.parametrize("change", ["revocation", "renewal"])
@pytest.mark.parametrize("way", ["move", "correction", "another batch"])
@ON_POSTGRESQL_ONLY
async def test_changes_of_consents_lock_in_the_order_of_moves(
    served: House, ada: Tenant, bob: Tenant, way: str, change: str
) -> None:
    """Otherwise each waits for the other, and PostgreSQL ends one of them with a deadlock."""
    points = [await metered(ada) for _ in range(2)]
    numbers = [point.mpxn for point in points]
    batch = f"/user/verification/status/mpxns/{change}"

    def changed(*mpxns: str) -> Any:
        return send(served, ada, "POST", batch, meterPoints=[{"mpxn": mpxn} for mpxn in mpxns])

    row, key = "resource WHERE resource_id = :key", points[0].resource_id
    if way == "move":
        other = send(served, ada, "PUT", f"/resource/{key}/owner", "application", userId=bob.user_id)
    elif way == "correction":
        verify = (
            f'mutation {{ verifyMeterPoint(meterPointNumber: "{numbers[0]}", movedInAt: "{format_iso(START)}") {{'
            f" ... on MeterPointConsent {{ state }} ...Refused }} }}"
        )
        other = served.graphql(verify, ada.headers["acting"])
    else:
        row, key = "meter_point_consent WHERE mpxn = :key", numbers[0]
        other = changed(*numbers)
    first, second = await at_once(served, row, key, [other], [changed(*reversed(numbers))])
    assert not refusals(first) if isinstance(first, dict) else first.status_code == 200, first
    is_ended = way == "move" and change == "renewal"  # the second call decides by the result of the first one
    assert second.status_code == (409 if is_ended else 200), second.text


@pytest.mark.both_databases("separation of households")
async def test_a_resource_that_closes_during_a_move_ends_with_the_move(served: House, ada: Tenant, bob: Tenant) -> None:
    """Both lock the tenancies before the resources, so that none waits for the other for ever."""
    point = await metered(ada)
    moved_in = utc_now().replace(microsecond=0) - HALF_HOUR
    moves = add_resource(served, bob, point.mpxn, movedInAt=format_iso(moved_in))
    closes = send(served, ada, "PUT", f"/resource/{point.resource_id}", "acting", active=False)
    answers = await at_once(served, "meter_point_tenancy WHERE mpxn = :key", point.mpxn, [moves], [closes])
    assert [answer.status_code for answer in answers] == [200, 200], answers
    assert await times(ada, point.mpxn) == [(None, moved_in)]


async def test_a_meter_point_has_a_bounded_number_of_tenancies(served: House, ada: Tenant) -> None:
    """An application that moves users in and out by mistake, for ever, is refused at some time."""
    point = await metered(ada)
    statement = text(
        "INSERT INTO meter_point_tenancy (application_id, tenancy_id, user_id, mpxn, began_at, ended_at, proof, "
        "created_at, updated_at) SELECT application_id, :id, user_id, mpxn, created_at, created_at, proof, created_at, "
        "updated_at FROM meter_point_tenancy WHERE mpxn = :mpxn AND ended_at IS NULL"
    )
    quota = MeterPointTenancy.quota
    assert isinstance(quota, Quota)
    assert quota.per_parent is not None
    limit = quota.per_parent
    async with served.gateway.database.engine.begin() as connection:
        await connection.execute(statement, [{"id": str(uuid4()), "mpxn": point.mpxn} for _ in range(limit[1] - 1)])
    bob = await resident(served.one)
    refused = await add_resource(served, bob, point.mpxn, movedInAt=format_iso(utc_now()))
    assert code_of(refused) == (409, "QUOTA_EXCEEDED"), refused.text
