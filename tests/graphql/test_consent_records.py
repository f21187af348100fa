"""Consents that provisioning records, and meter points without a recorded consent."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from tests.support.house import House
from tests.support.refusals import refusal_of, refusals
from wattgate.db.scope.policies import ConsentPolicy
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.users.users import NewUser
from wattgate.realtime.bus.memory import MemoryBus

ADD_RESOURCE = (
    "mutation ($input: NewResource!) { createResource(input: $input) { ... on Resource { resourceId } ...Refused } }"
)
ADD_DEVICE = "mutation ($input: NewDevice!) { createDevice(input: $input) { ... on Device { deviceId } ...Refused } }"


def new_number() -> str:
    return str(uuid4().int)[:13]


async def receipts(house: House, mpxn: str) -> list[tuple[str, str]]:
    """Return the kind and basis of the receipts about a meter point."""
    changes = await house.one.run("consent_changes", mpxn=mpxn)
    listed = [await house.one.run("consent_receipt", receipt_id=change.change_id) for change in changes]
    return [(one.kind.value, one.basis.value) for one in listed]


async def forget_consent(house: House, mpxn: str) -> None:
    """Delete the consent, so that none is recorded for the meter point."""
    async with house.gateway.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM meter_point_consent WHERE mpxn = :mpxn"), {"mpxn": mpxn})


async def add(house: House, who: str, mpxn: str) -> Any:
    values = {"resourceTypeId": house.one.ids["resource_type"], "name": "provisioned", "meterPointNumber": mpxn}
    return await house.graphql(ADD_RESOURCE, house.one.headers[who], input=values)


async def test_adding_a_resource_for_a_user_records_the_consent(served: House) -> None:
    mpxn = new_number()
    for _ in range(2):  # the second resource relies on the same consent
        assert not refusals(await add(served, "acting", mpxn))
        assert await receipts(served, mpxn) == [("grant", "provisioned")]
    (consent,) = [one for one in await served.one.run("consents") if one.mpxn == mpxn]
    assert (consent.verified, consent.state.value) == (False, "valid")
    posted = new_number()
    body = {"resourceTypeId": served.one.ids["resource_type"], "name": "by REST", "mpxn": posted}
    assert (await served.call("POST", "/resource", served.one.headers["acting"], json=body)).status_code == 200
    assert await receipts(served, posted) == [("grant", "provisioned")]


async def test_concurrent_callers_record_one_consent(served: House) -> None:
    mpxn = new_number()
    answers = await asyncio.gather(*(add(served, "acting", mpxn) for _ in range(8)))
    assert [answer.get("errors") for answer in answers] == [None] * 8
    assert await receipts(served, mpxn) == [("grant", "provisioned")]


async def test_adding_a_device_for_a_user_records_the_consent(served: House) -> None:
    mpxn = new_number()
    values = {
        "deviceTypeId": served.one.ids["device_type"],
        "hardwareId": uuid4().hex[:16].upper(),
        "hardwareIds": {"MPAN": mpxn},
    }
    assert not refusals(await served.graphql(ADD_DEVICE, served.one.headers["acting"], input=values))
    assert await receipts(served, mpxn) == [("grant", "provisioned")]


async def test_account_relies_on_the_consent_that_exists(served: House) -> None:
    mpxn = new_number()
    refused = await add(served, "account", mpxn)
    assert refusal_of(refused)["code"] == "FORBIDDEN"
    await add(served, "acting", mpxn)
    assert not refusals(await add(served, "account", mpxn))
    assert await receipts(served, mpxn) == [("grant", "provisioned")]


async def test_provisioning_does_not_renew_a_revoked_consent(served: House) -> None:
    mpxn = new_number()
    await add(served, "acting", mpxn)
    path = f"/user/verification/status/mpxn/{mpxn}/revocation"
    assert (await served.call("POST", path, served.one.headers["account"])).status_code == 200
    added = await add(served, "acting", mpxn)
    assert await receipts(served, mpxn) == [("grant", "provisioned"), ("revocation", "user")]
    resource_id = added["data"]["createResource"]["resourceId"]
    for who in ("account", "application"):
        answer = await served.call("GET", f"/resource/{resource_id}/current", served.one.headers[who])
        assert (answer.status_code, answer.json()["reason"]) == (403, "REVOKED")


async def test_data_without_a_recorded_consent_is_withheld_until_it_is_recorded(served: House) -> None:
    mpxn = new_number()
    resource_id = await served.one.add_resource(mpxn=mpxn)
    await forget_consent(served, mpxn)
    path, headers = f"/resource/{resource_id}/current", served.one.headers["account"]
    answer = await served.call("GET", path, headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["reason"]) == (403, "CONSENT_REVOKED", "MISSING")
    assert answer.json()["error"] == (
        f"No consent is recorded for meter point {mpxn}. The application that serves its user records it with "
        "verifyMeterPoint."
    )
    verify = (
        "mutation ($mpxn: MeterPointNumber!) { verifyMeterPoint(meterPointNumber: $mpxn) {"
        " ... on MeterPointConsent { state } ...Refused } }"
    )
    assert refusal_of(await served.graphql(verify, headers, mpxn=mpxn))["code"] == "FORBIDDEN"
    assert not refusals(await served.graphql(verify, served.one.headers["acting"], mpxn=mpxn))
    assert (await served.call("GET", path, headers)).status_code == 200


@pytest.mark.parametrize("is_required", [True, False])
async def test_setting_decides_whether_data_without_a_consent_is_served(served: House, is_required: bool) -> None:
    mpxn = new_number()
    resource_id = await served.one.add_resource(mpxn=mpxn)
    await forget_consent(served, mpxn)
    runner = Runner(served.gateway.database, MemoryBus(), consent_policy=ConsentPolicy(is_required))
    row = await served.one.run("resource", resource_id=resource_id)
    (withheld,) = await runner.load(find_edge(Resource, "withheld"), served.one.account, [row], {})
    assert (withheld is not None) is is_required


async def test_new_owner_of_a_moved_resource_has_a_consent_of_its_own(served: House) -> None:
    mpxn, other_user = new_number(), (await served.one.run("add_user", input=_new_user())).user_id
    resource_id = await served.one.add_resource(mpxn=mpxn)
    move = (
        "mutation ($id: ID!, $user: ID!) { moveResource(resourceId: $id, userId: $user) {"
        " ... on Resource { resourceId } ...Refused } }"
    )
    administrator = served.one.headers["administrator"]
    moved = await served.graphql(move, administrator, id=resource_id, user=other_user)
    new_id = moved["data"]["moveResource"]["resourceId"]
    assert (await served.call("GET", f"/resource/{new_id}/current", administrator)).status_code == 200
    owners = {one.user_id for one in await served.one.run("consents") if one.mpxn == mpxn}
    assert owners == {served.one.user_id, other_user}


def _new_user() -> Any:
    return NewUser(username=f"{uuid4().hex}@example.org")
