"""Global object identification: `id`, `node` and `nodes`, on both executors."""

from typing import Any

import pytest

from tests.support.examples import EXAMPLES
from tests.support.house import House, operation
from tests.support.interfaces import by_graphql, field_of, selection, to_graphql_names
from tests.support.refusals import refusal_of, refusals
from tests.support.short_form import sample
from wattgate.db.connections.reading_pool import LentConnection, ReadingPool
from wattgate.db.scope.row_scope import ScopeHolder
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.entities import MAX_NODES, reading_operations
from wattgate.operations.types.users.users import NewUser
from wattgate.operations.vocabulary.node import Node, decode_global_id, encode_global_id, is_global_id
from wattgate.principal import GRANTS, Role
from wattgate.values.graphql_names import graphql_type_name

pytestmark = pytest.mark.both_databases("separation of users and applications")

READERS = reading_operations(OPERATIONS)
NODE = "query ($id: ID!) { node(id: $id) { __typename id } }"
NODES = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Resource { name } } }"


async def by_both_executors(house: House, text: str, headers: dict[str, str], **variables: Any) -> Any:
    """Return the response of graphql-core. The compiled engine, which takes the second request, returns the same."""
    fresh = f"{text} # {len(_SENT)}"
    _SENT.append(fresh)
    answers = [await house.graphql(fresh, headers, **variables) for _ in range(3)]
    for answer in answers:
        answer.pop("extensions", None)
        for error in answer.get("errors", ()):
            error["extensions"].pop("traceId")
    assert answers[0] == answers[1] == answers[2]
    return answers[0]


_SENT: list[str] = []
"""Documents that have been sent. The first request of a document is executed by graphql-core."""


def code_of(answer: Any) -> str:
    return str(refusal_of(answer)["code"])


async def test_node_is_the_record_that_its_operation_returns(served: House, subtests: pytest.Subtests) -> None:
    """Each type is read on one database."""
    of_database = sorted(READERS)[served.gateway.database.is_sqlite :: 2]
    for name in sample(of_database):
        with subtests.test(name):
            await _assert_node_is_the_record(served, READERS[name])


async def _assert_node_is_the_record(served: House, reader: Operation) -> None:
    tenant = served.one
    headers = tenant.headers["account" if reader.needs in GRANTS[Role.ACCOUNT] else "application"]
    variables = await EXAMPLES[reader.name](tenant)
    variables = to_graphql_names(variables)
    (key,) = variables.values()
    type_name = graphql_type_name(reader.result_type.__name__)
    global_id = encode_global_id(type_name, key)
    fields = selection(field_of(reader))
    text = f"query ($id: ID!) {{ node(id: $id) {{ __typename id ... on {type_name} {fields} }} }}"
    answer = await by_both_executors(served, text, headers, id=global_id)
    node = answer["data"]["node"]
    assert {name: node[name] for name in ("__typename", "id", *variables)} == {
        "__typename": type_name,
        "id": global_id,
        **variables,
    }
    if reader.has_field:
        direct = await by_graphql(served, reader, variables, headers)
        assert node == {"__typename": type_name, "id": global_id, **direct.value}
        by_key = f"query ($key: ID!) {{ {reader.graphql_name}({next(iter(variables))}: $key) {{ id }} }}"
        own = await by_both_executors(served, by_key, headers, key=key)
        assert own["data"] == {reader.graphql_name: {"id": global_id}}
    stranger = served.other.headers["application"]
    assert code_of(await by_both_executors(served, NODE, stranger, id=global_id)) == "NOT_FOUND"
    assert code_of(await by_both_executors(served, NODE, {}, id=global_id)) == "UNAUTHENTICATED"
    if reader.needs not in GRANTS[Role.ACCOUNT]:
        refused = await by_both_executors(served, NODE, tenant.headers["account"], id=global_id)
        assert code_of(refused) == "FORBIDDEN"


NOT_RECORDS = {
    "account_profile": "a part of an account, by its name",
    "discover_hardware": "a device and an entry of the meter network, by a hardware ID",
    "virtual_entity_type_resources": "the resources of a user for a type",
}
"""Queries whose result begins with the ID in the arguments, but is no record with this ID."""


def test_every_record_with_an_operation_of_its_own_is_a_node() -> None:
    """A type without such an operation must not be a Node, because `node` could not return it."""
    assert {graphql_type_name(kind.__name__) for kind in subclasses(Node)} == set(READERS)
    by_own_key = {
        operation.name
        for operation in OPERATIONS
        if operation.kind is OperationKind.QUERY
        and not operation.returns_list
        and [first_field(operation)] == [*operation.arguments]
    }
    assert by_own_key == {reader.name for reader in READERS.values()} | set(NOT_RECORDS)


def subclasses(kind: type) -> set[type]:
    return {*kind.__subclasses__()}.union(*map(subclasses, kind.__subclasses__()))


def first_field(operation: Operation) -> str | None:
    """Return the first field of an operation's result, besides the global ID."""
    definition = getattr(operation.result_type, "__strawberry_definition__", None)
    fields = definition.fields if definition else ()
    return next((field.python_name for field in fields if not is_global_id(field)), None)


@pytest.mark.parametrize(
    "global_id",
    [
        "",
        "nonsense",
        "cmVhZGluZw==",  # no type
        encode_global_id("Resource", ""),
        encode_global_id("Bucket", "a"),  # a type that is no Node
        encode_global_id("Nothing", "a"),
        encode_global_id("Resource", "a") + "\n",
        encode_global_id("Resource", "a").rstrip("="),
        "/////w==",  # not UTF-8
    ],
)
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_texts_that_are_no_global_ids_are_rejected(served: House, global_id: str) -> None:
    answer = await by_both_executors(served, NODE, served.one.headers["account"], id=global_id)
    assert code_of(answer) == "BAD_INPUT"
    assert refusal_of(answer)["problems"] == [{"path": ["id"], "message": "is no global ID"}]


async def test_unknown_ids_are_not_found(served: House) -> None:
    for key in ("nobody", served.one.ids["device"], "'; DROP TABLE resource"):
        answer = await by_both_executors(
            served, NODE, served.one.headers["account"], id=encode_global_id("Resource", key)
        )
        assert code_of(answer) == "NOT_FOUND"


async def test_node_of_another_user_is_not_found(served: House) -> None:
    neighbour = await served.one.run("add_user", input=NewUser(username="node-neighbour@example.org"))
    global_id = encode_global_id("User", neighbour.user_id)
    assert code_of(await by_both_executors(served, NODE, served.one.headers["account"], id=global_id)) == "NOT_FOUND"
    answer = await by_both_executors(served, NODE, served.one.headers["application"], id=global_id)
    assert answer["data"]["node"]["id"] == global_id


async def test_nodes_returns_records_in_order_and_an_error_for_each_other_one(served: House) -> None:
    tenant = served.one
    resource, device = (
        encode_global_id(kind, tenant.ids[name]) for kind, name in (("Resource", "resource"), ("Device", "device"))
    )
    unknown, foreign = encode_global_id("Faq", "nothing"), encode_global_id("Resource", served.other.ids["resource"])
    endpoint = encode_global_id("WebhookEndpoint", tenant.ids["webhook_endpoint"])
    ids = [device, unknown, resource, foreign, endpoint, "nonsense", resource]
    answer = await by_both_executors(served, NODES, tenant.headers["account"], ids=ids)
    nodes = answer["data"]["nodes"]
    assert [node and node["__typename"] for node in nodes] == ["Device", None, "Resource", None, None, None, "Resource"]
    assert nodes[2] == nodes[6]
    assert nodes[2]["name"]
    assert [(error["path"], error["code"]) for error in refusals(answer)] == [
        (["nodes", 1], "NOT_FOUND"),
        (["nodes", 3], "NOT_FOUND"),
        (["nodes", 4], "FORBIDDEN"),
        (["nodes", 5], "BAD_INPUT"),
    ]
    assert (await by_both_executors(served, NODES, tenant.headers["account"], ids=[]))["data"] == {"nodes": []}
    too_many = await by_both_executors(served, NODES, tenant.headers["account"], ids=[resource] * (MAX_NODES + 1))
    assert code_of(too_many) == "BAD_INPUT"


async def test_nodes_uses_one_connection_of_the_pool_at_a_time(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, database = served.one, served.gateway.database
    pool = database.engine.sync_engine.pool
    assert isinstance(pool, ReadingPool)
    ids = [encode_global_id("Resource", tenant.ids["resource"])] * (pool.size() + 1)
    borrow, in_use = database.borrow_connection, list[int]()

    async def borrow_and_count(holder: ScopeHolder | None) -> LentConnection:
        lent = await borrow(holder)
        in_use.append(pool.checkedout())
        return lent

    monkeypatch.setattr(database, "borrow_connection", borrow_and_count)
    nodes = await served.gateway.runner.run(operation("nodes"), tenant.account, {"ids": ids})
    assert len(nodes) == len(ids)
    assert max(in_use) == 1


async def test_nodes_have_the_edges_of_their_types(served: House) -> None:
    text = """query ($ids: [ID!]!) { nodes(ids: $ids) {
      id
      ... on Resource { type { id name } device { ...device } }
      ...device
    } }
    fragment device on Device { deviceId type { id } resources { id } }"""
    tenant = served.one
    ids = [encode_global_id("Resource", tenant.ids["resource"]), encode_global_id("Device", tenant.ids["device"])]
    answer = await by_both_executors(served, text, tenant.headers["account"], ids=ids)
    resource, device = answer["data"]["nodes"]
    assert decode_global_id(resource["type"]["id"]) == ("ResourceType", tenant.ids["resource_type"])
    assert device["deviceId"] == tenant.ids["device"]
    assert decode_global_id(device["type"]["id"]).type_name == "DeviceType"
    assert all(decode_global_id(fed["id"]).type_name == "Resource" for fed in device["resources"])


async def test_results_of_mutations_have_global_ids(served: House) -> None:
    text = """mutation ($input: NewUserAction!) { createUserAction(input: $input) {
        ... on UserAction { id userActionId type { id } }
        ...Refused } }"""
    for _ in range(3):  # the first by graphql-core, the others by the compiled engine
        body = {"userActionTypeId": served.one.ids["user_action_type"]}
        answer = await served.graphql(text, served.one.headers["account"], input=body)
        added = answer["data"]["createUserAction"]
        assert decode_global_id(added["id"]) == ("UserAction", added["userActionId"])
        assert decode_global_id(added["type"]["id"]).key == served.one.ids["user_action_type"]


def test_global_id_of_the_longest_type_and_a_uuid_fits_the_limit_of_ids() -> None:
    assert len(encode_global_id(max(READERS, key=len), "0" * 36)) < MAX_ID_CHARACTERS
