"""The graph that starts from the caller: `viewer`, `application`, their connections, and the edges between types."""

from typing import Any
from uuid import uuid4

import pytest
from graphql import GraphQLObjectType, get_named_type

from tests.support.examples_areas import own_mail_suppression
from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.metering import resource_at
from tests.support.timed import NOW
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore, rate_limit_headers
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.operation_request import OperationRequest

pytestmark = pytest.mark.both_databases("separation of users and applications")


def connections_of(type_name: str) -> list[str]:
    kind = SCHEMA.type_map[type_name]
    assert isinstance(kind, GraphQLObjectType)
    return [name for name, field in kind.fields.items() if get_named_type(field.type).name.endswith("Connection")]


async def by_both_executors(house: House, text: str, headers: dict[str, str], **variables: Any) -> Any:
    """Return the data of graphql-core. The compiled engine, which takes the second request, returns the same."""
    answers = [await house.graphql(text, headers, **variables) for _ in range(2)]
    assert "errors" not in answers[0], answers[0]
    assert answers[0]["data"] == answers[1]["data"]
    return answers[0]["data"]


FEW, MANY = 2, 100
"""Nodes of the first three pages of a list, and of the others. Some lists grow with each test of a run."""


async def every_page(house: House, start: str, name: str, headers: dict[str, str]) -> list[str]:
    """Walk a connection backwards and return the global or plain contents of its nodes, oldest first."""
    kind: Any = SCHEMA.type_map[start.title()]
    field = kind.fields[name]
    node = get_named_type(field.type).fields["edges"].type.of_type.of_type.of_type.fields["node"].type.of_type
    first_id = next(iter(name for name in node.fields if name.endswith("Id")))
    text = (
        f"query ($last: Int, $before: String) {{ {start} {{ {name}(last: $last, before: $before) {{ "
        f"edges {{ node {{ {first_id} }} }} pageInfo {{ hasPreviousPage startCursor }} }} }} }}"
    )
    ids: list[str] = []
    before = None
    while True:
        answer = await house.graphql(text, headers, before=before, last=FEW if len(ids) < 3 * FEW else MANY)
        assert "errors" not in answer, answer
        page = answer["data"][start][name]
        ids = [edge["node"][first_id] for edge in page["edges"]] + ids
        if not page["pageInfo"]["hasPreviousPage"]:
            return ids
        before = page["pageInfo"]["startCursor"]


async def test_viewer_has_the_records_of_its_user_only(served: House, subtests: pytest.Subtests) -> None:
    names = connections_of("Viewer")
    assert len(names) > 10
    for name in names:
        with subtests.test(name):
            own, acting, own_later = [
                await every_page(served, "viewer", name, served.one.headers[who])
                for who in ("account", "acting", "account")
            ]
            other = await every_page(served, "viewer", name, served.other.headers["account"])
            # a worker may store entries of the access log meanwhile; all other lists are equal and in the same order
            assert [record_id for record_id in acting if record_id in own] == own
            assert set(acting) <= set(own_later)
            assert name == "accessLog" or own == acting == own_later
            assert own
            assert len(own) == len(set(own))
            assert not set(own) & set(other)


async def test_application_has_the_records_of_all_its_users(served: House, subtests: pytest.Subtests) -> None:
    for tenant in (served.one, served.other):
        await own_mail_suppression(tenant)
    names = connections_of("Application")
    assert len(names) > 10
    for name in names:
        with subtests.test(name):
            # the audit log and the access log grow during the test: each list is read before the one that contains it
            viewer = []
            if name in connections_of("Viewer"):
                viewer = await every_page(served, "viewer", name, served.one.headers["account"])
            own, administrator = [
                await every_page(served, "application", name, served.one.headers[who])
                for who in ("application", "administrator")
            ]
            other = await every_page(served, "application", name, served.other.headers["application"])
            assert set(viewer) <= set(own) <= set(administrator)
            assert own
            assert not set(own) & set(other)


async def test_user_reads_shared_records_and_the_own_ones_of_the_application(served: House) -> None:
    text = """{ application {
      resourceTypes { edges { node { resourceTypeId } } } alertTypes { alertTypeId }
      accounts(first: 100) { edges { node { userId } } } resources(first: 100) { edges { node { ownerId } } }
    } }"""
    of_administrators = "{ application { auditLog { edges { cursor } } mailSuppressions { edges { cursor } } } }"
    for who in ("account", "acting"):
        application = (await by_both_executors(served, text, served.one.headers[who]))["application"]
        assert application["alertTypes"]
        assert application["resourceTypes"]["edges"]
        assert {edge["node"]["userId"] for edge in application["accounts"]["edges"]} == {served.one.user_id}
        assert {edge["node"]["ownerId"] for edge in application["resources"]["edges"]} == {served.one.user_id}
        refused = await served.graphql(of_administrators, served.one.headers[who])
        assert refused["data"] == {"application": {"auditLog": None, "mailSuppressions": None}}
        assert [error["extensions"]["code"] for error in refused["errors"]] == ["FORBIDDEN", "FORBIDDEN"]


async def test_administrator_sees_only_the_own_records_as_viewer(served: House) -> None:
    owners = {"homes": "ownerId", "devices": "ownerId", "resources": "ownerId", "alerts": "userId"}
    lists = " ".join(f"{name}(last: 100) {{ edges {{ node {{ owner: {key} }} }} }}" for name, key in owners.items())
    headers = served.one.headers["administrator"]
    data = await by_both_executors(served, f"{{ viewer {{ userId {lists} }} }}", headers)
    own_id = data["viewer"]["userId"]
    assert own_id != served.one.user_id
    # other tests add records for the administrator
    assert {edge["node"]["owner"] for name in owners for edge in data["viewer"][name]["edges"]} <= {own_id}


@pytest.mark.parametrize(
    ("field", "who", "code"),
    [
        ("viewer", "application", "BAD_INPUT"),
        ("viewer", None, "UNAUTHENTICATED"),
        ("application", None, "UNAUTHENTICATED"),
    ],
)
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_callers_who_are_no_user_or_no_administrator_get_an_error(
    served: House, field: str, who: str | None, code: str
) -> None:
    answer = await served.graphql(f"{{ {field} {{ applicationId }} }}", served.one.headers[who] if who else {})
    assert answer["errors"][0]["extensions"]["code"] == code


GRAPH = """{ viewer {
  userId accountId
  account { accountId user { userId } }
  user {
    id userId applications { accountId } accounts { edges { node { username } } } homes { edges { node { homeId } } }
  }
  homes(first: 100) { edges { node {
    homeId owner { userId } devices { deviceId owner { id } } resources { resourceId }
  } } }
  resources(first: 100) { edges { node {
    resourceId meterPointNumber owner { userId homes(last: 1) { edges { node { homeId } } } }
    device { deviceId } consent { meterPointNumber state } type { resourceTypeId }
  } } }
  alerts(last: 3) { edges { node {
    alertId homeId home { homeId } user { userId } notifications { alert { alertId } }
  } } }
  alertRules { ruleId resource { resourceId } home { homeId } alertType { alertTypeId } }
  consents { edges { node { meterPointNumber state } } }
  flexibilityEnrolments { meterPointNumber }
  unreadAlerts
} }"""


async def test_edges_lead_from_the_viewer_through_the_graph(served: House) -> None:
    tenant = served.one
    viewer = (await by_both_executors(served, GRAPH, tenant.headers["account"]))["viewer"]
    assert (viewer["userId"], viewer["accountId"]) == (tenant.user_id, tenant.account_id)
    assert viewer["account"] == {"accountId": tenant.account_id, "user": {"userId": tenant.user_id}}
    assert viewer["user"]["id"] == encode_global_id("User", tenant.user_id)
    homes = {edge["node"]["homeId"]: edge["node"] for edge in viewer["homes"]["edges"]}
    assert {edge["node"]["homeId"] for edge in viewer["user"]["homes"]["edges"]} <= homes.keys()
    home = homes[tenant.ids["virtual_entity"]]
    assert home["owner"] == {"userId": tenant.user_id}
    resources = {edge["node"]["resourceId"]: edge["node"] for edge in viewer["resources"]["edges"]}
    resource = resources[tenant.ids["resource"]]
    assert {one["resourceId"] for one in home["resources"]} <= resources.keys()
    assert resource["owner"]["userId"] == tenant.user_id
    catch_ups = "query ($id: ID!) { resource(resourceId: $id) { catchUps { state } } }"  # other tests revoke consents
    own = await by_both_executors(served, catch_ups, tenant.headers["account"], id=tenant.ids["resource"])
    assert isinstance(own["resource"]["catchUps"], list)
    feeding = {
        resources[one["resourceId"]]["device"]["deviceId"]
        for one in home["resources"]
        if resources[one["resourceId"]]["device"]
    }
    assert {one["deviceId"] for one in home["devices"]} == feeding
    for edge in viewer["alerts"]["edges"]:
        alert = edge["node"]
        assert (alert["home"] or {}).get("homeId") == alert["homeId"]
        assert {one["alert"]["alertId"] for one in alert["notifications"]} == {alert["alertId"]}
    rule = next(one for one in viewer["alertRules"] if one["ruleId"] == tenant.ids["alert_rule"])
    assert rule["resource"]["resourceId"] in resources
    assert rule["alertType"]["alertTypeId"]
    headers = tenant.headers["account"]
    rules = (await served.call("GET", "/alertrule", headers)).json()
    consented = (await served.call("GET", "/user/verification/status", headers)).text
    assert [edge["node"]["meterPointNumber"] for edge in viewer["consents"]["edges"]]
    assert all(edge["node"]["meterPointNumber"] in consented for edge in viewer["consents"]["edges"])
    assert {one["ruleId"] for one in viewer["alertRules"]} == {one["ruleId"] for one in rules}
    counted = await served.graphql("{ viewer { unreadAlerts alerts(filter: {unread: true}) { totalCount } } }", headers)
    unread = counted["data"]["viewer"]
    assert unread["unreadAlerts"] == unread["alerts"]["totalCount"]  # other tests send alerts and read them


async def test_edges_of_many_users_are_those_of_each(served: House) -> None:
    """The connections of all accounts of a page are read together. Each has the records of its own user."""
    text = """{ application { accounts(first: 100) { edges { node { userId user { userId
      resources(last: 2) { edges { node { ownerId } } } accounts(first: 1) { edges { node { userId } } }
    } } } } } }"""
    data = await by_both_executors(served, text, served.one.headers["application"])
    accounts = [edge["node"] for edge in data["application"]["accounts"]["edges"]]
    assert len({account["userId"] for account in accounts}) > 1
    for account in accounts:
        user = account["user"]
        assert user["userId"] == account["userId"]
        assert {edge["node"]["ownerId"] for edge in user["resources"]["edges"]} <= {user["userId"]}
        assert [edge["node"]["userId"] for edge in user["accounts"]["edges"]] == [user["userId"]]
    assert any(account["user"]["resources"]["edges"] for account in accounts)


async def test_resources_of_a_type_are_those_that_the_caller_may_see(served: House) -> None:
    text = """query ($id: ID!) { node(id: $id) { ... on ResourceType {
      resources(first: 100) { edges { node { resourceId ownerId } } } } } }"""
    tenant = served.one
    global_id = encode_global_id("ResourceType", tenant.ids["resource_type"])
    for who in ("account", "application"):
        data = await by_both_executors(served, text, tenant.headers[who], id=global_id)
        owners = {edge["node"]["ownerId"] for edge in data["node"]["resources"]["edges"]}
        assert owners == {tenant.user_id} if who == "account" else tenant.user_id in owners


async def test_consent_of_a_resource_is_that_of_its_owner(served: House) -> None:
    mpxn = str(uuid4().int)[:13]
    resource_id = await resource_at(served.one, mpxn)
    text = "query ($id: ID!) { resource(resourceId: $id) { consent { meterPointNumber state userId } } }"
    for operation, arguments, state in (
        ("verify_meter_point", {"mpxn": mpxn}, "VALID"),
        ("revoke_consents", {"mpxns": [mpxn]}, "REVOKED"),
    ):
        await served.one.run(operation, **arguments)
        data = await by_both_executors(served, text, served.one.headers["account"], id=resource_id)
        assert data["resource"]["consent"] == {"meterPointNumber": mpxn, "state": state, "userId": served.one.user_id}


async def test_budget_has_the_numbers_of_the_headers(served: House) -> None:
    budgets = Budgets(BudgetLimits(Allowance(5_000, 10), None), LocalBucketStore(lambda: NOW))
    runner = Runner(served.gateway.database, MemoryBus(), budgets=budgets)
    pipeline = GraphQLPipeline(served.gateway.schema, runner, budgets=budgets)
    text = "{ viewer { budget { policy capacity remaining refillPerSecond resetSeconds } } }"
    for _ in range(2):
        request = OperationRequest(query=text)
        result = await pipeline.execute(served.one.account, request, pipeline.document_for(request))
        assert result.data is not None
        budget = result.data["viewer"]["budget"]
        policy = f'"{budget["policy"]}"'
        assert rate_limit_headers(result.balance) == {
            "RateLimit-Policy": f"{policy};q={budget['capacity']};w=500",
            "RateLimit": f"{policy};r={budget['remaining']};t={budget['resetSeconds']}",
        }
        assert budget["remaining"] < budget["capacity"] == 500 * budget["refillPerSecond"]
    unlimited = GraphQLPipeline(served.gateway.schema, Runner(served.gateway.database, MemoryBus()))
    result = await unlimited.execute(served.one.account, request, unlimited.document_for(request))
    assert result.data == {"viewer": {"budget": None}}


async def test_application_has_a_budget(served: House) -> None:
    answer = await served.graphql("{ application { budget { policy } } }", served.one.headers["application"])
    assert answer["data"]["application"]["budget"]["policy"]
