"""Consent: what a revoked meter point means for its readings, asked for and streamed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from strawberry import ID

from tests.support.house import House
from tests.support.socket import socket
from wattgate.graphql.types.resources import NewResource

ROOT = "/user/verification/status"


@pytest.fixture
async def metered(served: House) -> tuple[str, str]:
    """A resource with a reading, and its meter point, for which there is consent."""
    mpxn = str(uuid4().int)[:13]
    given = NewResource(resource_type_id=ID(served.one.ids["resource_type"]), name="metered", mpxn=mpxn)
    resource_id = (await served.one.run("add_resource", input=given)).resource_id
    await served.one.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), "1"))
    await served.one.run("verify_meter_point", mpxn=mpxn)
    return resource_id, mpxn


async def act(house: House, method: str, path: str, **more: Any) -> Any:
    return await house.call(method, f"{ROOT}{path}", house.one.headers["account"], **more)


async def test_a_revoked_meter_points_readings_are_served_no_longer(served: House, metered: tuple[str, str]) -> None:
    resource_id, mpxn = metered
    query = {"from": "2026-01-05T00:00:00", "to": "2026-01-05T23:59:59", "period": "P1D", "function": "sum"}
    headers = served.one.headers["account"]
    paths = {f"/resource/{resource_id}/{what}": query for what in ("readings", "current")}
    for path, params in paths.items():
        assert (await served.call("GET", path, headers, params=params)).status_code == 200
    assert (await act(served, "POST", f"/mpxn/{mpxn}/revocation")).status_code == 200
    for path, params in paths.items():
        answer = await served.call("GET", path, headers, params=params)
        assert (answer.status_code, answer.json()["code"]) == (403, "CONSENT_REVOKED")
        assert mpxn in answer.json()["error"]
    renewed = await act(served, "POST", "/mpxns/renewal", json={"meterPoints": [{"mpxn": mpxn}]})
    assert renewed.json()["valid"] is True
    for path, params in paths.items():
        assert (await served.call("GET", path, headers, params=params)).status_code == 200


async def test_a_meter_point_is_the_same_with_and_without_its_check_digit(
    served: House, metered: tuple[str, str]
) -> None:
    bare = str(uuid4().int)[:12]
    given = NewResource(resource_type_id=ID(served.one.ids["resource_type"]), name="bare", mpxn=bare)
    resource_id = (await served.one.run("add_resource", input=given)).resource_id
    told = await served.one.run("verify_meter_point", mpxn=bare)
    assert told.mpxn[:12] == bare
    assert len(told.mpxn) == 13
    assert (await act(served, "POST", f"/mpxn/{told.mpxn}/revocation")).status_code == 200
    answer = await served.call("GET", f"/resource/{resource_id}/current", served.one.headers["account"])
    assert answer.json()["code"] == "CONSENT_REVOKED"


async def test_in_graphql_the_other_resources_of_the_level_are_answered(
    served: House, metered: tuple[str, str]
) -> None:
    resource_id, mpxn = metered
    await act(served, "POST", f"/mpxn/{mpxn}/revocation")
    document = "{ resources { resourceId current { value } } }"
    told = await served.graphql(document, served.one.headers["account"])
    by_id = {one["resourceId"]: one["current"] for one in told["data"]["resources"]}
    assert by_id[resource_id] is None
    assert by_id[served.one.ids["resource"]] is not None
    assert {error["extensions"]["code"] for error in told["errors"]} == {"CONSENT_REVOKED"}


async def test_a_stream_ends_when_consent_is_revoked_and_a_new_one_is_refused(
    served: House, metered: tuple[str, str]
) -> None:
    resource_id, mpxn = metered
    query = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids, since: null) { value } }"
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe(query, ids=[resource_id])
        while (await client.payload())["extensions"]["position"] == "":  # until it stands
            continue
        await act(served, "POST", f"/mpxn/{mpxn}/revocation")
        ended = await client.hear()
        await client.subscribe(query, "2", ids=[resource_id])
        refused = await client.hear()
    for told, operation_id in ((ended, "1"), (refused, "2")):
        assert (told["type"], told["id"]) == ("error", operation_id)
        assert told["payload"][0]["extensions"]["code"] == "CONSENT_REVOKED"


async def test_a_consent_holds_at_most_eighteen_months(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    far = (datetime.now(UTC) + timedelta(days=4000)).isoformat()
    answer = await act(served, "POST", f"/mpxn/{mpxn}/renewal", json={"isValidUntil": far})
    (renewal,) = answer.json()["meterPointVerificationRenewals"]
    until = datetime.fromisoformat(renewal["isValidUntil"])
    assert timedelta(days=547) < until - datetime.now(UTC) <= timedelta(days=548)
    past = await act(served, "POST", f"/mpxn/{mpxn}/renewal", json={"isValidUntil": "2020-01-01T00:00:00Z"})
    assert (past.status_code, past.json()["error"]) == (400, "incorrect elements -isValidUntil")


async def test_the_history_tells_renewals_and_revocations_apart(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    for path in ("renewal", "revocation", "renewal"):
        await act(served, "POST", f"/mpxn/{mpxn}/{path}")
    renewals = (await act(served, "GET", f"/mpxn/{mpxn}/renewal")).json()["meterPointRenewals"]
    revocations = (await act(served, "GET", f"/mpxn/{mpxn}/revocation")).json()["meterPointRevocations"]
    assert (len(renewals), len(revocations)) == (2, 1)
    assert renewals[0]["renewedBy"] == {"key": "userId", "value": served.one.user_id}
    assert revocations[0]["mpxnKey"] == "mpan"


async def test_an_unknown_meter_point_in_a_batch_changes_nothing(served: House, metered: tuple[str, str]) -> None:
    _, mpxn = metered
    body = {"meterPoints": [{"mpxn": mpxn}, {"mpxn": "999"}]}
    assert (await act(served, "POST", "/mpxns/revocation", json=body)).status_code == 404
    told = (await act(served, "GET", f"/mpxn/{mpxn}/revocation")).json()
    assert told["meterPointRevocations"] == []


@pytest.mark.parametrize("body", [{"meterPoints": "1"}, {"meterPoints": [{}]}, {"meterPoints": [{"mpxn": {}}]}, {}])
async def test_a_broken_batch_is_refused(served: House, body: Any) -> None:
    answer = await act(served, "POST", "/mpxns/revocation", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")
    assert "-meterPoints" in answer.json()["error"]
