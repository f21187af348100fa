"""Operations over a socket and their results."""

import json
from typing import Any

import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.support.costs import COST_MEMBERS
from tests.support.live import READINGS, RESUMING, LiveHouse
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.socket import Socket
from wattgate.metrics import MESSAGES_SENT, MESSAGES_SENT_BYTES, BatchedCounter
from wattgate.realtime.connections.limits import ConnectionLimits

TYPENAME = "{ __typename }"


async def execute(client: Socket, query: str, operation_id: str = "1", **more: Any) -> Any:
    """Execute a query or mutation, and return its result."""
    await client.say(type="subscribe", id=operation_id, payload={"query": with_refusals(query), **more})
    message = await client.hear()
    assert (message["type"], message["id"]) == ("next", operation_id)
    assert await client.hear() == {"type": "complete", "id": operation_id}
    assert message["payload"].pop("extensions")["cost"].keys() == COST_MEMBERS
    return message["payload"]


async def execute_rejected(client: Socket, query: str, **more: Any) -> Any:
    """Execute an invalid operation, and return its errors. The socket stays open, and the id is free."""
    await client.say(type="subscribe", id="refused", payload={"query": with_refusals(query), **more})
    message = await client.hear()
    assert (message["type"], message["id"]) == ("error", "refused"), message
    assert (await execute(client, TYPENAME, "refused"))["data"] == {"__typename": "Query"}
    return message["payload"]


async def test_query_returns_its_result(live: LiveHouse) -> None:
    async with live.socket() as client:
        query = "query ($id: ID!) { resource(resourceId: $id) { resourceId } }"
        resource_id = live.one.ids["resource"]
        result = await execute(client, query, variables={"id": resource_id})
        assert result == {"data": {"resource": {"resourceId": resource_id}}}


async def test_mutation_returns_its_result_and_its_readings_are_sent(live: LiveHouse, resource_id: str) -> None:
    mutation = (
        "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
        " ... on Recorded { recorded } ...Refused } }"
    )
    at = live.clock.utc().replace(microsecond=0).isoformat()
    series = [{"resourceId": resource_id, "field": "POWER", "readings": [{"at": at, "value": "250"}]}]
    async with live.socket() as client, live.socket() as subscriber:
        await subscriber.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 1)
        assert await execute(client, mutation, variables={"series": series}) == {
            "data": {"recordReadings": {"recorded": 1}}
        }
        assert await subscriber.values(1) == [250]


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        ("", {}, "Syntax Error"),
        ("{", {}, "Syntax Error"),
        ("query { __typename", {}, "Syntax Error"),
        ("{ nothing }", {}, "Cannot query field 'nothing'"),
        ("fragment f on Query { __typename }", {}, "Fragment 'f' is never used"),
        ("query a { __typename } query b { __typename }", {}, "operationName"),
        ("query a { __typename } query b { __typename }", {"operationName": "c"}, "c"),
        ("query a { __typename }", {"operationName": ""}, ""),
        ("subscription a { alerts { alertId } } subscription b { alerts { alertId } }", {}, "operationName"),
        ("subscription { alerts { alertId } flexibilityEventChanges { name } }", {}, "only one top level field"),
        ("subscription { __typename }", {}, "introspection"),
        ("subscription ($no: Boolean!) { alerts @include(if: $no) { alertId } }", {"variables": {"no": False}}, ""),
        (READINGS, {}, "$ids"),
        (READINGS, {"variables": {"ids": None}}, "$ids"),
        (READINGS, {"variables": {"ids": [["a"]]}}, "$ids"),
        (RESUMING, {"variables": {"ids": [], "since": 5}}, "since"),
        ("query ($id: ID!) { resource(resourceId: $id) { name } }", {}, "$id"),
        ("subscription { readings(resourceIds: {}) { value } }", {}, "ID cannot represent"),
    ],
)
async def test_invalid_document_ends_with_an_error_and_the_socket_continues(
    live: LiveHouse, query: str, more: dict[str, Any], expected: str
) -> None:
    async with live.socket() as client:
        errors = await execute_rejected(client, query, **more)
        assert expected in errors[0]["message"]
        assert {error["extensions"]["code"] for error in errors} == {"BAD_INPUT"}


async def test_all_errors_of_a_document_are_returned(live: LiveHouse) -> None:
    async with live.socket() as client:
        for query in ("{ nothing neither }", "subscription { readings { nothing } }"):
            assert len(await execute_rejected(client, query)) == 2


async def test_operation_name_selects_the_operation(live: LiveHouse) -> None:
    query = "query a { a: __typename } query b { b: __typename }"
    async with live.socket() as client:
        assert await execute(client, query, operationName="b") == {"data": {"b": "Query"}}


@pytest.mark.parametrize("which", ["another tenant's", "unknown"])
async def test_error_of_a_resolver_is_in_the_result_of_a_query_and_ends_a_subscription(
    live: LiveHouse, which: str
) -> None:
    resource_id = live.other.ids["resource"] if which == "another tenant's" else "unknown"
    async with live.socket() as client:
        query = "query ($id: ID!) { it: resource(resourceId: $id) { name } }"
        result = await execute(client, query, variables={"id": resource_id})
        assert result["data"] == {"it": None}
        assert [(error["path"], error["code"]) for error in refusals(result)] == [(["it"], "NOT_FOUND")]
        ids = [live.one.ids["resource"], resource_id]
        (error,) = await execute_rejected(client, READINGS, variables={"ids": ids})
        assert error["extensions"]["code"] == "NOT_FOUND"
    await live.until(lambda: live.listening(resource_id) == live.listening(ids[0]) == 0)


async def test_operation_without_permission_is_rejected(live: LiveHouse) -> None:
    async with live.socket() as client:
        result = await execute(client, 'mutation { deleteUser(userId: "unknown") { ...Refused } }')
        assert refusal_of(result)["code"] == "FORBIDDEN"
    async with live.socket(**live.one.headers["application"]) as client:  # credentials without a user
        (error,) = await execute_rejected(client, "subscription { alerts { alertId } }")
        assert "user" in error["message"]


async def test_operation_id_is_returned_unchanged(live: LiveHouse) -> None:
    async with live.socket() as client:
        for operation_id in ('"', "\\", "\n", "é\u2028", "x" * 256, "}"):
            await execute(client, TYPENAME, operation_id)
            await client.say(type="subscribe", id=operation_id, payload={"query": "{"})
            message = await client.hear()
            assert (message["type"], message["id"]) == ("error", operation_id)


async def test_completed_subscription_sends_nothing_more_and_frees_its_id(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as client, live.socket() as other:
        for socket in (client, other):
            await socket.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 2)
        await live.publish_readings(resource_id, 1)
        assert await client.values(1) == await other.values(1) == [1]
        await client.complete()
        assert await client.heard() == []
        await live.publish_readings(resource_id, 2)
        assert await other.values(1) == [2]
        assert await client.heard() == []
        await client.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 2)
        await live.publish_readings(resource_id, 3)
        assert await client.values(1) == [3]


async def test_operation_completed_immediately_does_not_start(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as client:
        complete = {"type": "complete", "id": "1"}
        for payload in ({"query": TYPENAME}, {"query": RESUMING, "variables": {"ids": [resource_id], "since": None}}):
            client.say_at_once({"type": "subscribe", "id": "1", "payload": payload}, complete, complete)
            assert await client.heard() == []
        assert live.listening(resource_id) == 0


async def test_operation_id_in_use_closes_the_socket_with_4409(live: LiveHouse, resource_id: str) -> None:
    subscribe = {"query": READINGS, "variables": {"ids": [resource_id]}}
    for operation_id in ("the id", "é" * 256):
        async with live.socket() as client:
            message = {"type": "subscribe", "id": operation_id, "payload": subscribe}
            client.say_at_once(message, message)
            code, reason = await client.closed()
            assert code == 4409
            assert f"Subscriber for {operation_id} already exists".startswith(str(reason))
            assert len(str(reason)) > 30


async def test_connection_has_a_maximum_of_operations(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_operations=2)) as house, house.socket() as client:
        resource_id = await house.one.add_resource()
        for operation_id in "abc":
            await client.subscribe(READINGS, operation_id, ids=[resource_id])
        error = await client.error()
        assert (error["extensions"]["code"], error["extensions"]["retryAfter"]) == ("RATE_LIMITED", 1)
        await house.until(lambda: house.listening(resource_id) == 2)
        await client.complete("a")
        await execute(client, TYPENAME, "c")
        await house.publish_readings(resource_id, 5)
        assert (await client.hear())["id"] == "b"


async def test_subscriptions_with_different_variables_receive_their_own_selection(
    live: LiveHouse, resource_id: str
) -> None:
    query = """subscription ($ids: [ID!]!, $value: Boolean!) {
      readings(resourceIds: $ids) { field value @include(if: $value) } }"""
    other_id = await live.one.add_resource()
    async with live.socket() as client:
        await client.subscribe(query, "with", ids=[resource_id], value=True)
        await client.subscribe(query, "without", ids=[resource_id], value=False)
        await client.subscribe(query, "other", ids=[other_id], value=True)
        await live.until(lambda: live.listening(resource_id) == 2 and live.listening(other_id) == 1)
        await live.publish_readings(resource_id, 1)
        await live.publish_readings(other_id, 2)
        received = {
            message["id"]: message["payload"]["data"]["readings"] for message in [await client.hear() for _ in "abc"]
        }
    assert received == {
        "with": {"field": "POWER", "value": 1},
        "without": {"field": "POWER"},
        "other": {"field": "POWER", "value": 2},
    }


async def test_sent_messages_are_counted_in_batches(open_house: OpenHouse) -> None:
    def total(counter: BatchedCounter) -> float:
        (metric,) = counter.counter.collect()
        return metric.samples[0].value

    async with open_house() as house:
        resource_id = await house.one.add_resource()
        async with house.socket() as one, house.socket() as other:
            for each in (one, other):
                await each.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            for counter in (MESSAGES_SENT, MESSAGES_SENT_BYTES):
                counter._flush()  # messages of other tests; the timer of a loop that has ended would never count them
            messages, size = total(MESSAGES_SENT), total(MESSAGES_SENT_BYTES)
            await house.publish_readings(resource_id, 1, 2)
            payloads = [await each.payload() for each in (one, other) for _ in range(2)]
            sent = sum(len(json.dumps(one, separators=(",", ":"))) for one in payloads)
            await house.until(lambda: total(MESSAGES_SENT) > messages and total(MESSAGES_SENT_BYTES) > size)
            assert (total(MESSAGES_SENT), total(MESSAGES_SENT_BYTES)) == (messages + 4, size + sent)
