"""Consent: effects of its revocation on queries and subscriptions, validity, history and batches."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update
from sqlmodel import col
from strawberry import ID

from tests.support.calls import code_of, move_resource, send
from tests.support.house import House, Tenant
from tests.support.metering import START, Metered
from tests.support.metering import metered as network_metered
from tests.support.socket import socket
from wattgate.clock import utc_now
from wattgate.db.models import MeterPointConsent
from wattgate.errors import BadInput
from wattgate.operations.types.homes.resources import NewResource

pytestmark = pytest.mark.both_databases("a main path of its area")

ROOT = "/user/verification/status"


@pytest.fixture
async def metered(served: House) -> tuple[str, str]:
    """A resource with a reading, and its meter point, which has a valid consent."""
    mpxn = str(uuid4().int)[:13]
    new_resource = NewResource(resource_type_id=ID(served.one.ids["resource_type"]), name="metered", mpxn=mpxn)
    resource_id = (await served.one.run("add_resource", input=new_resource)).resource_id
    await served.one.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), "1"))
    await served.one.run("verify_meter_point", mpxn=mpxn)
    return resource_id, mpxn


async def request(house: House, method: str, path: str, **more: Any) -> Any:
    return await house.call(method, f"{ROOT}{path}", house.one.headers["account"], **more)


async def test_readings_of_a_revoked_meter_point_are_withheld_until_renewal(
    served: House, metered: tuple[str, str]
) -> None:
    resource_id, mpxn = metered
    query = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "P1D", "function": "sum"}
    headers = served.one.headers["account"]
    paths = {f"/resource/{resource_id}/{name}": query for name in ("readings", "current")}
    for path, params in paths.items():
        assert (await served.call("GET", path, headers, params=params)).status_code == 200
    assert (await request(served, "POST", f"/mpxn/{mpxn}/revocation")).status_code == 200
    for path, params in paths.items():
        answer = await served.call("GET", path, headers, params=params)
        assert (answer.status_code, answer.json()["code"]) == (403, "CONSENT_REVOKED")
        assert mpxn in answer.json()["error"]
    renewed = await request(served, "POST", "/mpxns/renewal", json={"meterPoints": [{"mpxn": mpxn}]})
    assert renewed.json()["valid"] is True
    for path, params in paths.items():
        assert (await served.call("GET", path, headers, params=params)).status_code == 200


async def test_meter_point_is_recognised_with_and_without_its_check_digit(
    served: House, metered: tuple[str, str]
) -> None:
    bare = str(uuid4().int)[:12]
    new_resource = NewResource(resource_type_id=ID(served.one.ids["resource_type"]), name="bare", mpxn=bare)
    resource_id = (await served.one.run("add_resource", input=new_resource)).resource_id
    consent = await served.one.run("verify_meter_point", mpxn=bare)
    assert consent.mpxn[:12] == bare
    assert len(consent.mpxn) == 13
    assert (await request(served, "POST", f"/mpxn/{consent.mpxn}/revocation")).status_code == 200
    answer = await served.call("GET", f"/resource/{resource_id}/current", served.one.headers["account"])
    assert answer.json()["code"] == "CONSENT_REVOKED"


async def test_revoked_consent_does_not_affect_other_resources_in_a_graphql_list(
    served: House, metered: tuple[str, str]
) -> None:
    resource_id, mpxn = metered
    await request(served, "POST", f"/mpxn/{mpxn}/revocation")
    document = """{ viewer { first: resources(first: 1) { ...Current } last: resources(last: 1) { ...Current } } }
    fragment Current on ResourceConnection { edges { node { resourceId current { value } } } }"""
    response = await served.graphql(document, served.one.headers["account"])
    nodes = [edge["node"] for page in response["data"]["viewer"].values() for edge in page["edges"]]
    by_id = {resource["resourceId"]: resource["current"] for resource in nodes}
    assert by_id[resource_id] is None
    assert by_id[served.one.ids["resource"]] is not None
    assert {error["extensions"]["code"] for error in response["errors"]} == {"CONSENT_REVOKED"}


async def test_subscription_ends_when_consent_is_revoked_and_a_new_one_is_rejected(
    served: House, metered: tuple[str, str]
) -> None:
    resource_id, mpxn = metered
    query = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids, since: null) { value } }"
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe(query, ids=[resource_id])
        while (await client.payload())["extensions"]["position"] == "":  # until the subscription is active
            continue
        await request(served, "POST", f"/mpxn/{mpxn}/revocation")
        ended = await client.hear()
        await client.subscribe(query, "2", ids=[resource_id])
        refused = await client.hear()
    for message, operation_id in ((ended, "1"), (refused, "2")):
        assert (message["type"], message["id"]) == ("error", operation_id)
        assert message["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"


async def test_consent_is_valid_for_at_most_18_months(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    far = (datetime.now(UTC) + timedelta(days=4000)).isoformat()
    answer = await request(served, "POST", f"/mpxn/{mpxn}/renewal", json={"isValidUntil": far})
    (renewal,) = answer.json()["meterPointVerificationRenewals"]
    until = datetime.fromisoformat(renewal["isValidUntil"])
    assert timedelta(days=547) < until - datetime.now(UTC) <= timedelta(days=548)
    past = await request(served, "POST", f"/mpxn/{mpxn}/renewal", json={"isValidUntil": "2020-01-01T00:00:00Z"})
    assert (past.status_code, past.json()["error"]) == (400, "incorrect elements -isValidUntil")


async def test_history_separates_renewals_from_revocations(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    for path in ("renewal", "revocation", "renewal"):
        await request(served, "POST", f"/mpxn/{mpxn}/{path}")
    renewals = (await request(served, "GET", f"/mpxn/{mpxn}/renewal")).json()["meterPointRenewals"]
    revocations = (await request(served, "GET", f"/mpxn/{mpxn}/revocation")).json()["meterPointRevocations"]
    assert (len(renewals), len(revocations)) == (2, 1)
    assert renewals[0]["renewedBy"] == {"key": "userId", "value": served.one.user_id}
    assert revocations[0]["mpxnKey"] == "mpan"


async def test_batch_with_an_unknown_meter_point_changes_nothing(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    body = {"meterPoints": [{"mpxn": mpxn}, {"mpxn": "999"}]}
    assert (await request(served, "POST", "/mpxns/revocation", json=body)).status_code == 404
    history = (await request(served, "GET", f"/mpxn/{mpxn}/revocation")).json()
    assert history["meterPointRevocations"] == []


@pytest.mark.parametrize("way", ["before the move", "after the move", "before the move, and expired"])
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_a_household_that_moved_out_takes_its_revocation_back(
    served: House, ada: Tenant, bob: Tenant, way: str
) -> None:
    """It reads its own time again. The consent stays ended, and ends for the application when it did before."""
    point, is_expired = await network_metered(ada), "expired" in way
    await ada.record(point.resource_id, (START, "1"))
    if way == "after the move":
        await move_resource(served, point.resource_id, bob)
    await ada.run("revoke_consents", mpxns=[point.mpxn])
    if way != "after the move":
        await move_resource(served, point.resource_id, bob)
    if is_expired:
        await _expire(served, ada)
    before = await _consent_of(ada)
    for caller in ("account", "acting"):
        message = await _message_of(served, ada, point, caller, "REVOKED")
        assert message.endswith("has moved out. Renew it to read the readings of the household's own time.")

    renewal = f"{ROOT}/mpxn/{point.mpxn}/renewal"
    assert (await send(served, ada, "POST", renewal)).status_code == 200
    after = await _consent_of(ada)
    assert (after.state.value, after.verified, after.ended_at) == ("ended", False, before.ended_at)
    assert (after.valid_until, after.revoked_at) == (before.valid_until, None)
    assert await _message_of(served, ada, point, "account") == ""
    message = await _message_of(served, ada, point, "acting", "EXPIRED" if is_expired else "")
    assert message.endswith("The user reads the own time there with an account." if is_expired else "")
    assert code_of(await send(served, ada, "POST", renewal)) == (409, "CONFLICT")  # nothing is revoked any more
    with pytest.raises(BadInput, match="readings are invalid"):
        await ada.record(point.resource_id, (utc_now(), "230"), field="POWER")


async def _consent_of(who: Tenant) -> Any:
    (consent,) = [one for one in await who.run("consents") if one.user_id == who.user_id]
    return consent


async def _message_of(house: House, who: Tenant, point: Metered, caller: str, reason: str = "") -> str:
    """Return with which message a read is refused for a reason; empty if it is not."""
    answer = await send(house, who, "GET", f"/resource/{point.resource_id}/last-time", caller)
    assert (answer.status_code, answer.json().get("reason", "")) == (403 if reason else 200, reason)
    return str(answer.json().get("error", ""))


async def _expire(house: House, who: Tenant) -> None:
    """Let the consent of a user expire."""
    is_own = col(MeterPointConsent.user_id) == who.user_id
    until = datetime.now(UTC) - timedelta(hours=1)
    async with house.gateway.database.engine.begin() as connection:
        await connection.execute(update(MeterPointConsent).where(is_own).values(valid_until=until))


@pytest.mark.parametrize("body", [{"meterPoints": "1"}, {"meterPoints": [{}]}, {"meterPoints": [{"mpxn": {}}]}, {}])
async def test_malformed_batch_is_rejected(served: House, body: Any) -> None:
    answer = await request(served, "POST", "/mpxns/revocation", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")
    assert "-meterPoints" in answer.json()["error"]
