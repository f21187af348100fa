"""Lists that grow come in pages, and look-ups take exactly one key."""

from typing import Any

import pytest

from tests.support.examples_areas import own_mail_suppression
from tests.support.house import House
from tests.support.interfaces import by_graphql
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.operation import Operation

PAGE = """
query ($first: Int! = 50, $after: String) {
  userActionConnection(first: $first, after: $after) {
    edges { cursor node { userActionId userId } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}
"""


async def page(house: House, **variables: Any) -> Any:
    told = await house.graphql(PAGE, house.one.headers["account"], **variables)
    assert "errors" not in told, told
    return told["data"]["userActionConnection"]


async def test_a_list_is_walked_page_by_page_without_gaps_or_repeats(served: House) -> None:
    body = {"userActionTypeId": served.one.ids["user_action_type"]}
    for _ in range(7):
        await served.call("POST", "/useraction", served.one.headers["account"], json=body)
    plain = (await served.call("GET", "/useraction", served.one.headers["account"])).json()
    walked: list[str] = []
    after = None
    while True:
        one = await page(served, first=3, after=after)
        assert len(one["edges"]) <= 3
        assert one["pageInfo"]["hasPreviousPage"] is (after is not None)
        walked += [edge["node"]["userActionId"] for edge in one["edges"]]
        assert one["pageInfo"]["endCursor"] == one["edges"][-1]["cursor"]
        after = one["pageInfo"]["endCursor"]
        if not one["pageInfo"]["hasNextPage"]:
            break
    assert sorted(walked) == sorted(record["userActionId"] for record in plain)
    assert len(walked) == len(set(walked))


@pytest.mark.parametrize("variables", [{"first": 0}, {"first": 101}, {"after": "nonsense"}, {"after": "WzFd"}])
async def test_a_page_that_cannot_be_is_refused(served: House, variables: dict[str, Any]) -> None:
    told = await served.graphql(PAGE, served.one.headers["account"], **variables)
    assert told["errors"][0]["extensions"]["code"] == "BAD_INPUT"


CONNECTIONS = [operation for operation in OPERATIONS if operation.name.endswith("_connection")]


@pytest.mark.parametrize("connection", CONNECTIONS, ids=lambda connection: connection.name)
async def test_every_connection_is_the_tenants_own(served: House, connection: Operation) -> None:
    for tenant in (served.one, served.other):
        await own_mail_suppression(tenant)
    told = [
        await by_graphql(served, connection, {}, tenant.headers["application"]) for tenant in (served.one, served.other)
    ]
    ours, theirs = ({str(edge["node"]) for edge in one.value["edges"]} for one in told)
    assert ours
    assert theirs
    assert not ours & theirs
    refused = await by_graphql(served, connection, {}, {})
    assert refused.code == "UNAUTHENTICATED"


async def test_a_user_is_found_by_either_key(served: House) -> None:
    document = "query ($by: UserKey!) { findUser(by: $by) { userId } }"
    for by in ({"userId": served.one.user_id}, {"username": served.one.username}):
        told = await served.graphql(document, served.one.headers["application"], by=by)
        assert told["data"]["findUser"]["userId"] == served.one.user_id
    both = {"userId": served.one.user_id, "username": served.one.username}
    wrong: list[dict[str, str | None]] = [{}, {**both}, {"userId": None}]
    for key in wrong:
        told = await served.graphql(document, served.one.headers["application"], by=key)
        assert told["errors"][0]["extensions"]["code"] == "BAD_INPUT"
    stranger = await served.graphql(document, served.other.headers["application"], by={"userId": served.one.user_id})
    assert stranger["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_device_is_found_by_any_key(served: House) -> None:
    listed = (await served.call("GET", "/device", served.one.headers["account"])).json()
    known = listed[0]
    document = "query ($by: DeviceKey!) { findDevice(by: $by) { deviceId } }"
    resource_id = known["protocol"]["sensors"][0]["resourceId"]
    for by in ({"deviceId": known["deviceId"]}, {"hardwareId": known["hardwareId"]}, {"resourceId": resource_id}):
        told = await served.graphql(document, served.one.headers["account"], by=by)
        assert told["data"]["findDevice"]["deviceId"] == known["deviceId"], told


@pytest.mark.parametrize(("lookup", "key"), [
    ("findUser", "userId"),
    ("findUser", "username"),
    ("findDevice", "deviceId"),
    ("findDevice", "hardwareId"),
    ("findDevice", "resourceId"),
])  # fmt: skip
async def test_an_empty_key_is_a_key_that_nothing_has(served: House, lookup: str, key: str) -> None:
    told = await served.graphql(f'{{ {lookup}(by: {{ {key}: "" }}) {{ __typename }} }}', served.one.headers["account"])
    assert told["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_edges_lead_to_what_records_refer_to(served: House) -> None:
    document = """{
      prompts { type { name } }
      promptUsers { prompt { name type { name } } }
      userActions { type { name } }
      termsConditionsUsers { termsConditions { version } }
      userAlerts { alertType { systemAlertTypeId } }
      webhookErrors { webhook { status } }
    }"""
    told = (await served.graphql(document, served.one.headers["account"]))["data"]
    assert told["promptUsers"][0]["prompt"] == {"name": "Welcome", "type": {"name": "tour"}}
    assert told["userActions"][0]["type"] == {"name": "opened"}
    assert told["termsConditionsUsers"][0]["termsConditions"] == {"version": "1"}
    assert told["userAlerts"][0]["alertType"] == {"systemAlertTypeId": "CM01"}
    assert told["webhookErrors"][0]["webhook"] == {"status": "failed"}
    managed = await served.graphql("{ templates { alertType { alertTypeId } } }", served.one.headers["application"])
    assert managed["data"]["templates"][0]["alertType"]["alertTypeId"]
