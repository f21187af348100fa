"""Pages of lists, and look-ups by exactly one key."""

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
    result = await house.graphql(PAGE, house.one.headers["account"], **variables)
    assert "errors" not in result, result
    return result["data"]["userActionConnection"]


async def test_pages_of_a_list_have_no_gaps_and_no_duplicates(served: House) -> None:
    body = {"userActionTypeId": served.one.ids["user_action_type"]}
    for _ in range(7):
        await served.call("POST", "/useraction", served.one.headers["account"], json=body)
    plain = (await served.call("GET", "/useraction", served.one.headers["account"])).json()
    walked: list[str] = []
    after = None
    while True:
        connection = await page(served, first=3, after=after)
        assert len(connection["edges"]) <= 3
        assert connection["pageInfo"]["hasPreviousPage"] is (after is not None)
        walked += [edge["node"]["userActionId"] for edge in connection["edges"]]
        assert connection["pageInfo"]["endCursor"] == connection["edges"][-1]["cursor"]
        after = connection["pageInfo"]["endCursor"]
        if not connection["pageInfo"]["hasNextPage"]:
            break
    assert sorted(walked) == sorted(record["userActionId"] for record in plain)
    assert len(walked) == len(set(walked))


@pytest.mark.parametrize("variables", [{"first": 0}, {"first": 101}, {"after": "nonsense"}, {"after": "WzFd"}])
async def test_invalid_page_arguments_are_rejected(served: House, variables: dict[str, Any]) -> None:
    result = await served.graphql(PAGE, served.one.headers["account"], **variables)
    assert result["errors"][0]["extensions"]["code"] == "BAD_INPUT"


CONNECTIONS = [operation for operation in OPERATIONS if operation.name.endswith("_connection")]


@pytest.mark.parametrize("connection", CONNECTIONS, ids=lambda connection: connection.name)
async def test_each_connection_returns_only_records_of_the_tenant(served: House, connection: Operation) -> None:
    for tenant in (served.one, served.other):
        await own_mail_suppression(tenant)
    results = [
        await by_graphql(served, connection, {}, tenant.headers["application"]) for tenant in (served.one, served.other)
    ]
    own_nodes, other_nodes = ({str(edge["node"]) for edge in result.value["edges"]} for result in results)
    assert own_nodes
    assert other_nodes
    assert not own_nodes & other_nodes
    refused = await by_graphql(served, connection, {}, {})
    assert refused.code == "UNAUTHENTICATED"


async def test_user_is_found_by_either_key(served: House) -> None:
    document = "query ($by: UserKey!) { findUser(by: $by) { userId } }"
    for by in ({"userId": served.one.user_id}, {"username": served.one.username}):
        result = await served.graphql(document, served.one.headers["application"], by=by)
        assert result["data"]["findUser"]["userId"] == served.one.user_id
    both_keys = {"userId": served.one.user_id, "username": served.one.username}
    wrong: list[dict[str, str | None]] = [{}, {**both_keys}, {"userId": None}]
    for key in wrong:
        result = await served.graphql(document, served.one.headers["application"], by=key)
        assert result["errors"][0]["extensions"]["code"] == "BAD_INPUT"
    stranger = await served.graphql(document, served.other.headers["application"], by={"userId": served.one.user_id})
    assert stranger["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_device_is_found_by_any_key(served: House) -> None:
    listed = (await served.call("GET", "/device", served.one.headers["account"])).json()
    device = listed[0]
    document = "query ($by: DeviceKey!) { findDevice(by: $by) { deviceId } }"
    resource_id = device["protocol"]["sensors"][0]["resourceId"]
    for by in ({"deviceId": device["deviceId"]}, {"hardwareId": device["hardwareId"]}, {"resourceId": resource_id}):
        result = await served.graphql(document, served.one.headers["account"], by=by)
        assert result["data"]["findDevice"]["deviceId"] == device["deviceId"], result


@pytest.mark.parametrize(("lookup", "key"), [
    ("findUser", "userId"),
    ("findUser", "username"),
    ("findDevice", "deviceId"),
    ("findDevice", "hardwareId"),
    ("findDevice", "resourceId"),
])  # fmt: skip
async def test_empty_key_finds_nothing(served: House, lookup: str, key: str) -> None:
    result = await served.graphql(
        f'{{ {lookup}(by: {{ {key}: "" }}) {{ __typename }} }}', served.one.headers["account"]
    )
    assert result["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_edges_return_the_referenced_records(served: House) -> None:
    document = """{
      prompts { type { name } }
      promptUsers { prompt { name type { name } } }
      userActions { type { name } }
      termsConditionsUsers { termsConditions { version } }
      userAlerts { alertType { systemAlertTypeId } }
      webhookErrors { webhook { status } }
    }"""
    result = (await served.graphql(document, served.one.headers["account"]))["data"]
    assert result["promptUsers"][0]["prompt"] == {"name": "Welcome", "type": {"name": "tour"}}
    assert result["userActions"][0]["type"] == {"name": "opened"}
    assert result["termsConditionsUsers"][0]["termsConditions"] == {"version": "1"}
    assert result["userAlerts"][0]["alertType"] == {"systemAlertTypeId": "CM01"}
    assert result["webhookErrors"][0]["webhook"] == {"status": "failed"}
    managed = await served.graphql("{ templates { alertType { alertTypeId } } }", served.one.headers["application"])
    assert managed["data"]["templates"][0]["alertType"]["alertTypeId"]
