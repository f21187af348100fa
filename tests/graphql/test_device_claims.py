"""Claims of devices: which proof a user needs, and what happens without it."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from tests.support.house import House, Tenant
from tests.support.metering import Metered, metered
from tests.support.residents import resident
from tests.support.scopes import EVERYTHING
from tests.support.timed import Timed
from wattgate.db.models import Device
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION


def new_mac() -> str:
    return uuid4().hex[:12].upper()


async def claim(served: House, who: Tenant, hardware_id: str, caller: str = "account", **more: Any) -> httpx.Response:
    body = {"deviceTypeId": who.ids["device_type"], "hardwareId": hardware_id, "hardwareIds": {}, **more}
    return await served.call("POST", "/device", who.headers[caller], json=body)


async def registered_code(served: House, hardware_id: str, tenant: Tenant | None = None, **more: Any) -> str:
    headers = (tenant or served.one).headers["application"]
    answer = await served.call("POST", "/device/claim", headers, json={"hardwareId": hardware_id, **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["code"])


def outcome(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    return answer.status_code, body.get("code", ""), body.get("error", "")


@pytest.fixture
async def stranger(served: House) -> Tenant:
    return await resident(served.one)


async def test_account_without_proof_cannot_claim_an_unregistered_hardware_id(served: House, stranger: Tenant) -> None:
    answer = await claim(served, stranger, new_mac())
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert (await served.call("GET", "/device", stranger.headers["account"])).json() == []


async def test_answer_without_proof_does_not_reveal_whether_a_device_exists(served: House, stranger: Tenant) -> None:
    paired = await served.one.run("device", device_id=served.one.ids["device"])
    free, locked = new_mac(), new_mac()
    await registered_code(served, free)
    await registered_code(served, locked)
    for _ in range(20):  # of several users, because each of them has to wait after some wrong codes
        await claim(served, await resident(served.one), locked, claimCode="wrong code")
    for more in ({}, {"claimCode": "wrong code"}):
        answers = {outcome(await claim(served, stranger, id_, **more)) for id_ in (paired.hardware_id, free, new_mac())}
        if more:
            answers.add(outcome(await claim(served, stranger, locked, **more)))
        ((status, code, _),) = answers
        assert (status, code) == (403, "FORBIDDEN")


async def test_device_is_claimed_once_with_the_code_that_the_application_registered(
    served: House, stranger: Tenant
) -> None:
    mac = new_mac()
    code = await registered_code(served, mac)
    again = await resident(served.one)
    added = await claim(served, stranger, mac, claimCode=code)
    assert added.status_code == 200, added.text
    assert outcome(await claim(served, again, mac, claimCode=code))[:2] == (403, "FORBIDDEN")
    await served.call("DELETE", f"/device/{added.json()['deviceId']}", stranger.headers["account"])
    for who in (stranger, again):
        assert outcome(await claim(served, who, mac, claimCode=code))[:2] == (403, "FORBIDDEN")


async def test_code_is_accepted_in_any_spelling_of_the_code_and_of_the_hardware_id(
    served: House, stranger: Tenant
) -> None:
    mac = new_mac()
    code = await registered_code(served, "-".join(mac[n : n + 2] for n in range(0, 12, 2)))
    spelt = f" {code.replace('-', ' ').lower()} "
    added = await claim(served, stranger, f"{mac[:6]}fffe{mac[6:]}".lower(), claimCode=spelt)
    assert added.status_code == 200, added.text


async def test_code_of_the_application_is_stored_as_a_digest_and_returned_once(served: House) -> None:
    mac = new_mac()
    registered = {"hardwareId": mac, "code": "abcd-1234-efgh"}
    first = await served.call("POST", "/device/claim", served.one.headers["application"], json=registered)
    assert first.json()["code"] == "abcd-1234-efgh"
    second = await served.call("POST", "/device/claim", served.one.headers["application"], json={"hardwareId": mac})
    assert second.json()["code"] != "abcd-1234-efgh"
    stranger = await resident(served.one)
    assert (await claim(served, stranger, mac, claimCode="abcd-1234-efgh")).status_code == 403
    assert (await claim(served, stranger, mac, claimCode=second.json()["code"])).status_code == 200


@pytest.mark.parametrize("code", ["", "1234567", "12-34-56-7", "x" * 1_025])
async def test_code_that_can_be_guessed_is_not_registered(served: House, code: str) -> None:
    body = {"hardwareId": new_mac(), "code": code}
    answer = await served.call("POST", "/device/claim", served.one.headers["application"], json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")
    assert answer.json()["problems"][0]["path"] == ["code"]


async def test_expired_code_proves_nothing(timed: Timed) -> None:
    served, mac = timed.house, new_mac()
    code = await registered_code(served, mac, expiresAt=(timed.clock.now + timedelta(hours=1)).isoformat())
    timed.pass_time(timedelta(hours=2))
    assert (await claim(served, await resident(served.one), mac, claimCode=code)).status_code == 403


async def test_code_that_has_expired_already_or_of_another_tenant_proves_nothing(
    served: House, stranger: Tenant
) -> None:
    mac = new_mac()
    late = await served.call(
        "POST",
        "/device/claim",
        served.one.headers["application"],
        json={"hardwareId": mac, "expiresAt": "2020-01-01T00:00:00Z"},
    )
    assert (late.status_code, late.json()["problems"][0]["path"]) == (400, ["expiresAt"])
    code = await registered_code(served, mac, served.other)
    assert (await claim(served, stranger, mac, claimCode=code)).status_code == 403


@pytest.mark.parametrize("caller", ["account", "acting"])
async def test_only_the_application_registers_codes(served: House, caller: str) -> None:
    answer = await served.call("POST", "/device/claim", served.one.headers[caller], json={"hardwareId": new_mac()})
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


@pytest.mark.long("sends wrong codes up to the limit of a day; the first waits stay in the short form")
async def test_wrong_codes_are_bounded_for_a_device_even_with_the_right_code_at_the_end(served: House) -> None:
    mac = new_mac()
    code = await registered_code(served, mac)
    for number in range(20):
        who = await resident(served.one)
        assert (await claim(served, who, mac, claimCode=f"guess number {number}")).status_code == 403
    assert (await claim(served, await resident(served.one), mac, claimCode=code)).status_code == 403
    renewed = await registered_code(served, mac)
    assert (await claim(served, await resident(served.one), mac, claimCode=renewed)).status_code == 200


async def test_account_waits_after_some_wrong_codes(served: House, stranger: Tenant) -> None:
    for _ in range(5):
        assert (await claim(served, stranger, new_mac(), claimCode="wrong code")).status_code == 403
    mac = new_mac()
    code = await registered_code(served, mac)
    waiting = await claim(served, stranger, mac, claimCode=code)
    assert (waiting.status_code, waiting.json()["code"]) == (429, "RATE_LIMITED")
    assert int(waiting.headers["retry-after"]) > 0
    other = await claim(served, await resident(served.one), mac, claimCode=code)
    assert other.status_code == 200  # the wait is that of the account


async def at_own_meter_point(who: Tenant, *, verified: bool = True) -> Metered:
    point = await metered(who)
    if verified:
        await who.run("verify_meter_point", mpxn=point.mpxn)
    return point


async def test_device_in_the_inventory_of_a_verified_meter_point_is_claimed_without_a_code(
    served: House, stranger: Tenant
) -> None:
    point = await at_own_meter_point(stranger)
    dashed = "-".join(point.eui[n : n + 2] for n in range(0, 16, 2)).lower()
    added = await claim(served, stranger, dashed, hardwareIds={"EUI": point.eui})
    assert added.status_code == 200, added.text
    device = await served.call("GET", f"/device/{added.json()['deviceId']}", stranger.headers["account"])
    assert (device.json()["proof"], device.json()["ownerId"]) == ("NETWORK", stranger.user_id)


async def test_inventory_proves_nothing_at_a_meter_point_that_is_not_verified_or_revoked_or_anothers(
    served: House, stranger: Tenant
) -> None:
    unverified = await at_own_meter_point(stranger, verified=False)
    assert (await claim(served, stranger, unverified.eui)).status_code == 403
    revoked = await at_own_meter_point(stranger)
    await stranger.run("revoke_consents", mpxns=[revoked.mpxn])
    assert (await claim(served, stranger, revoked.eui)).status_code == 403
    theirs = await at_own_meter_point(await resident(served.one))
    assert (await claim(served, stranger, theirs.eui)).status_code == 403
    # the identifiers beside the hardware id prove nothing: readings arrive under the hardware id
    own = await at_own_meter_point(stranger)
    assert (await claim(served, stranger, new_mac(), hardwareIds={"EUI": own.eui})).status_code == 403


async def test_wrong_code_is_refused_although_the_inventory_names_the_device(served: House, stranger: Tenant) -> None:
    point = await at_own_meter_point(stranger)
    assert (await claim(served, stranger, point.eui, claimCode="wrong code")).status_code == 403


@pytest.mark.parametrize("caller", ["acting", "administrator"])
async def test_application_needs_no_proof(served: House, caller: str) -> None:
    mac = new_mac()
    added = await claim(served, served.one, mac, caller)
    assert added.status_code == 200, added.text
    device = await served.call("GET", f"/discover/{mac}", served.one.headers["application"])
    assert device.json()["proof"] == "APPLICATION"


async def test_device_with_proof_is_not_taken_over_and_one_without_is(served: House, stranger: Tenant) -> None:
    point, holder = await at_own_meter_point(stranger), await resident(served.one)
    held = (await claim(served, holder, point.eui, "acting")).json()["deviceId"]
    refused = await claim(served, stranger, point.eui)
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    await _forget_proof(holder, held)  # as if it had been added before devices needed proof
    added = await claim(served, stranger, point.eui)
    assert added.status_code == 200, added.text
    closed = (await served.call("GET", f"/device/{held}", holder.headers["account"])).json()
    assert (closed["active"], closed["ownerId"]) == (False, holder.user_id)
    assert added.json()["deviceId"] != held
    seen = await served.call("GET", f"/device/{held}", stranger.headers["account"])
    assert seen.status_code == 404


async def test_own_device_is_not_added_twice(served: House) -> None:
    mac = new_mac()
    assert (await claim(served, served.one, mac, "acting")).status_code == 200
    for spelt in (mac.lower(), f"{mac[:6]}FFFE{mac[6:]}"):
        again = await claim(served, served.one, spelt, "acting")
        assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")


async def test_hardware_id_of_separators_is_bad_input(served: House) -> None:
    for caller in ("acting", "account"):
        answer = await claim(served, served.one, " -:- ", caller)
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (400, ["hardwareId"])


async def _forget_proof(holder: Tenant, device_id: str) -> None:
    async with holder.gateway.database.session(EVERYTHING) as session:
        statement = update(Device).where(col(Device.device_id) == device_id).values(proof=None)
        await session.execute(statement, execution_options=SCOPED_OPTION)
        await session.commit()


async def test_code_for_the_next_owner_survives_the_erasure_of_the_present_one(served: House, stranger: Tenant) -> None:
    """An older code of the same household goes with its device."""
    ada, macs = await resident(served.one), [new_mac(), new_mac()]
    device = {"deviceTypeId": ada.ids["device_type"], "hardwareIds": {}}
    codes = {}
    for mac, is_for_next in zip(macs, (True, False), strict=True):
        if not is_for_next:
            codes[mac] = await registered_code(served, mac)
        added = await served.call("POST", "/device", ada.headers["acting"], json={**device, "hardwareId": mac})
        assert added.status_code == 200, added.text
        if is_for_next:
            codes[mac] = await registered_code(served, mac)
    await served.call("DELETE", f"/user/{ada.user_id}", ada.headers["application"])
    erasure = "query ($id: ID!) { erasure(userId: $id) { finishedAt } }"
    async with asyncio.timeout(60):
        while True:
            answer = await served.graphql(erasure, ada.headers["application"], id=ada.user_id)
            if answer["data"]["erasure"]["finishedAt"]:
                break
            await asyncio.sleep(0.05)
    answers = [await claim(served, stranger, mac, claimCode=codes[mac]) for mac in macs]
    assert [answer.status_code for answer in answers] == [200, 403]
