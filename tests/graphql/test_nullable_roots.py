"""One root field that fails leaves the others as they are, on both executors and on every transport."""

import json
from typing import Any

from graphql import GraphQLNonNull, GraphQLObjectType, ObjectTypeDefinitionNode, parse

from tests.support.gateway_schema import SCHEMA, sdl
from tests.support.house import House
from tests.support.refusals import refusals
from tests.support.socket import socket
from wattgate.operations.catalogue import OPERATIONS

GRAPHQL = "application/graphql-response+json"
HOMES = 'query { viewer { homes { edges { node { homeId } } } } resource(resourceId: "nope") { name } }'
RENAME = """mutation ($id: ID!) {
  first: updateHome(homeId: $id, input: {name: "first"}) { ... on Home { name } ...Refused }
  second: updateHome(homeId: "nope", input: {name: "second"}) { ... on Home { name } ...Refused }
  third: updateHome(homeId: $id, input: {name: "third"}) { ... on Home { name } ...Refused }
}"""
BOTH_EXECUTORS = range(3)
"""graphql-core executes the first use of a document, and the compiled plan the others."""


def assert_homes_and_one_error(result: Any) -> None:
    assert result["data"]["viewer"]["homes"]["edges"]
    assert result["data"]["resource"] is None
    (error,) = refusals(result)
    assert (error["path"], error["code"]) == (["resource"], "NOT_FOUND")


def test_every_root_field_is_nullable() -> None:
    required = [
        f"{root.name}.{name}"
        for root in (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
        if isinstance(root, GraphQLObjectType)
        for name, field in root.fields.items()
        if isinstance(field.type, GraphQLNonNull)
    ]
    assert required == []


async def test_http_returns_the_homes_and_one_error_with_status_200(served: House) -> None:
    headers = {"accept": GRAPHQL, **served.one.headers["account"]}
    for _ in BOTH_EXECUTORS:
        for answer in (
            await served.http.post("/graphql", json={"query": HOMES}, headers=headers),
            await served.http.get("/graphql", params={"query": HOMES}, headers=headers),
        ):
            assert (answer.status_code, answer.headers["content-type"]) == (200, GRAPHQL)
            assert_homes_and_one_error(answer.json())


async def test_sockets_and_event_streams_return_the_homes_and_one_error(served: House) -> None:
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        for _ in BOTH_EXECUTORS:
            await client.subscribe(HOMES)
            assert_homes_and_one_error(await client.payload())
            assert (await client.hear())["type"] == "complete"
    headers = {"accept": "text/event-stream", **served.one.headers["account"]}
    for _ in BOTH_EXECUTORS:
        events = (await served.http.post("/graphql", json={"query": HOMES}, headers=headers)).text
        (result,) = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith("data: {")]
        assert_homes_and_one_error(json.loads(result))


async def test_a_mutation_that_fails_does_not_stop_the_later_ones(served: House) -> None:
    ve_id = await served.one.add_home()
    for _ in BOTH_EXECUTORS:
        answer = await served.graphql(RENAME, served.one.headers["account"], id=ve_id)
        data = answer["data"]
        assert (data["first"], data["third"]) == ({"name": "first"}, {"name": "third"})
        assert [error["path"] for error in refusals(answer)] == [["second"]]


async def test_a_caller_without_credentials_gets_null_and_an_error_for_each_root_field(served: House) -> None:
    """The status is 200, because the answer has data. Credentials that are not accepted get 401."""
    for query in (HOMES, "{ viewer { userId } resource(resourceId: 7) { name } __typename }"):
        answer = await served.http.post("/graphql", json={"query": query}, headers={"accept": GRAPHQL})
        assert answer.status_code == 200
        result = answer.json()
        assert (result["data"]["viewer"], result["data"]["resource"]) == (None, None)
        assert [error["path"] for error in refusals(result)] == [["viewer"], ["resource"]]
        assert {error["code"] for error in refusals(result)} == {"UNAUTHENTICATED"}
    answer = await served.http.post("/graphql", json={"query": HOMES}, headers={"token": "ended"})
    assert (answer.status_code, "data" in answer.json()) == (401, False)


def test_the_schema_says_where_null_means_an_error() -> None:
    """A subscription that reports positions has payloads with null and without an error."""
    roots = {node.name.value: node for node in parse(sdl()).definitions if isinstance(node, ObjectTypeDefinitionNode)}
    unmarked = [
        f"{root}.{field.name.value}"
        for root in ("Query", "Mutation", "Subscription")
        for field in roots[root].fields or ()
        if "semanticNonNull" not in {directive.name.value for directive in field.directives or ()}
    ]
    assert unmarked == [f"Subscription.{operation.graphql_name}" for operation in OPERATIONS if operation.resumes]
