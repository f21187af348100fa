"""What is asked for over a socket, and how it is answered, on both wires."""

import asyncio
import json
from typing import Any

import pytest

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import READINGS, RESUMING, LiveHouse
from tests.support.socket import Socket
from wattgate.metrics import BATCH_SECONDS, MESSAGES_SENT, MESSAGES_SENT_BYTES, BatchedCounter
from wattgate.realtime.connections.limits import ConnectionLimits

TYPENAME = "{ __typename }"


async def answer(one: Socket, query: str, operation_id: str = "1", **more: Any) -> Any:
    """The one result of an operation, after which it is complete."""
    await one.say(type="subscribe", id=operation_id, payload={"query": query, **more})
    message = await one.hear()
    assert (message["type"], message["id"]) == ("next", operation_id)
    assert await one.hear() == {"type": "complete", "id": operation_id}
    assert message["payload"].pop("extensions")["cost"].keys() == {"requested", "remaining", "limit", "reset"}
    return message["payload"]


async def refusal(one: Socket, query: str, **more: Any) -> Any:
    """The errors of an operation that cannot be begun; the socket goes on, and the id is free."""
    await one.say(type="subscribe", id="refused", payload={"query": query, **more})
    message = await one.hear()
    assert (message["type"], message["id"]) == ("error", "refused"), message
    assert (await answer(one, TYPENAME, "refused"))["data"] == {"__typename": "Query"}
    return message["payload"]


async def test_queries_are_answered(live: LiveHouse) -> None:
    async with live.socket() as one:
        query = "query ($id: ID!) { resource(resourceId: $id) { resourceId } }"
        resource_id = live.one.ids["resource"]
        told = await answer(one, query, variables={"id": resource_id})
        assert told == {"data": {"resource": {"resourceId": resource_id}}}


async def test_mutations_are_done_and_what_they_record_is_told(live: LiveHouse, resource_id: str) -> None:
    mutation = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { recorded } }"
    at = live.clock.utc().replace(microsecond=0).isoformat()
    series = [{"resourceId": resource_id, "field": "POWER", "readings": [{"at": at, "value": "250"}]}]
    async with live.socket() as one, live.socket() as other:
        await other.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 1)
        assert await answer(one, mutation, variables={"series": series}) == {
            "data": {"recordReadings": {"recorded": 1}}
        }
        assert await other.values(1) == [250]


@pytest.mark.parametrize(
    ("query", "more", "said"),
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
        ("subscription { alerts { alertId } dfsEventChanges { name } }", {}, "only one top level field"),
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
async def test_a_document_that_is_wrong_ends_by_an_error_and_the_socket_goes_on(
    live: LiveHouse, query: str, more: dict[str, Any], said: str
) -> None:
    async with live.socket() as one:
        errors = await refusal(one, query, **more)
        assert said in errors[0]["message"]
        assert {error["extensions"]["code"] for error in errors} == {"BAD_INPUT"}


async def test_everything_that_is_wrong_with_a_document_is_told(live: LiveHouse) -> None:
    async with live.socket() as one:
        for query in ("{ nothing neither }", "subscription { readings { nothing } }"):
            assert len(await refusal(one, query)) == 2


async def test_of_several_operations_the_one_that_is_named_is_done(live: LiveHouse) -> None:
    query = "query a { a: __typename } query b { b: __typename }"
    async with live.socket() as one:
        assert await answer(one, query, operationName="b") == {"data": {"b": "Query"}}


@pytest.mark.parametrize("which", ["another tenant's", "unknown"])
async def test_what_a_resolver_refuses_is_told_with_the_result_of_a_query_and_ends_a_subscription(
    live: LiveHouse, which: str
) -> None:
    resource_id = live.other.ids["resource"] if which == "another tenant's" else "unknown"
    async with live.socket() as one:
        query = "query ($id: ID!) { it: resource(resourceId: $id) { name } }"
        told = await answer(one, query, variables={"id": resource_id})
        assert told["data"] is None
        assert [(error["path"], error["extensions"]["code"]) for error in told["errors"]] == [(["it"], "NOT_FOUND")]
        ids = [live.one.ids["resource"], resource_id]
        (error,) = await refusal(one, READINGS, variables={"ids": ids})
        assert error["extensions"]["code"] == "NOT_FOUND"
    await live.until(lambda: live.listening(resource_id) == live.listening(ids[0]) == 0)


async def test_what_credentials_do_not_allow_is_refused(live: LiveHouse) -> None:
    async with live.socket() as one:
        told = await answer(one, 'mutation { deleteUser(userId: "unknown") { __typename } }')
        assert told["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    async with live.socket(**live.one.headers["application"]) as one:  # which acts for nobody
        (error,) = await refusal(one, "subscription { alerts { alertId } }")
        assert "user" in error["message"]


async def test_an_id_is_said_as_it_was_given(live: LiveHouse) -> None:
    async with live.socket() as one:
        for operation_id in ('"', "\\", "\n", "é\u2028", "x" * 256, "}"):
            await answer(one, TYPENAME, operation_id)
            await one.say(type="subscribe", id=operation_id, payload={"query": "{"})
            message = await one.hear()
            assert (message["type"], message["id"]) == ("error", operation_id)


async def test_a_subscription_that_is_completed_tells_nothing_more_and_its_id_is_free(
    live: LiveHouse, resource_id: str
) -> None:
    async with live.socket() as one, live.socket() as other:
        for each in (one, other):
            await each.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 2)
        await live.publish_readings(resource_id, 1)
        assert await one.values(1) == await other.values(1) == [1]
        await one.complete()
        assert await one.heard() == []
        await live.publish_readings(resource_id, 2)
        assert await other.values(1) == [2]
        assert await one.heard() == []
        await one.subscribe(READINGS, ids=[resource_id])
        await live.until(lambda: live.listening(resource_id) == 2)
        await live.publish_readings(resource_id, 3)
        assert await one.values(1) == [3]


async def test_an_operation_that_is_completed_at_once_is_not_begun(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as one:
        complete = {"type": "complete", "id": "1"}
        for payload in ({"query": TYPENAME}, {"query": RESUMING, "variables": {"ids": [resource_id], "since": None}}):
            one.say_at_once({"type": "subscribe", "id": "1", "payload": payload}, complete, complete)
            assert await one.heard() == []
        assert live.listening(resource_id) == 0


async def test_an_id_that_is_in_use_closes_the_socket_with_4409(live: LiveHouse, resource_id: str) -> None:
    subscribe = {"query": READINGS, "variables": {"ids": [resource_id]}}
    for operation_id in ("the id", "é" * 256):
        async with live.socket() as one:
            message = {"type": "subscribe", "id": operation_id, "payload": subscribe}
            one.say_at_once(message, message)
            code, reason = await one.closed()
            assert code == 4409
            assert f"Subscriber for {operation_id} already exists".startswith(str(reason))
            assert len(str(reason)) > 30


async def test_a_connection_has_no_more_than_its_number_of_operations(open_house: OpenHouse) -> None:
    async with open_house(limits=ConnectionLimits(max_operations=2)) as house, house.socket() as one:
        resource_id = await house.one.add_resource()
        for operation_id in "abc":
            await one.subscribe(READINGS, operation_id, ids=[resource_id])
        error = await one.error()
        assert (error["extensions"]["code"], error["extensions"]["retryAfter"]) == ("RATE_LIMITED", 1)
        await house.until(lambda: house.listening(resource_id) == 2)
        await one.complete("a")
        await answer(one, TYPENAME, "c")
        await house.publish_readings(resource_id, 5)
        assert (await one.hear())["id"] == "b"


async def test_subscriptions_that_leave_parts_out_by_variables_are_told_each_what_they_asked_for(
    live: LiveHouse, resource_id: str
) -> None:
    query = """subscription ($ids: [ID!]!, $value: Boolean!) {
      readings(resourceIds: $ids) { field value @include(if: $value) } }"""
    other_id = await live.one.add_resource()
    async with live.socket() as one:
        await one.subscribe(query, "with", ids=[resource_id], value=True)
        await one.subscribe(query, "without", ids=[resource_id], value=False)
        await one.subscribe(query, "other", ids=[other_id], value=True)
        await live.until(lambda: live.listening(resource_id) == 2 and live.listening(other_id) == 1)
        await live.publish_readings(resource_id, 1)
        await live.publish_readings(other_id, 2)
        told = {message["id"]: message["payload"]["data"]["readings"] for message in [await one.hear() for _ in "abc"]}
    assert told == {
        "with": {"field": "POWER", "value": 1},
        "without": {"field": "POWER"},
        "other": {"field": "POWER", "value": 2},
    }


async def test_what_is_told_is_counted_a_moment_later(open_house: OpenHouse) -> None:
    def counted(tally: BatchedCounter) -> float:
        (found,) = tally.counter.collect()
        return found.samples[0].value

    async with open_house() as house:
        resource_id = await house.one.add_resource()
        async with house.socket() as one, house.socket() as other:
            for each in (one, other):
                await each.subscribe(READINGS, ids=[resource_id])
            await house.until(lambda: house.listening(resource_id) == 2)
            await asyncio.sleep(BATCH_SECONDS + 0.1)  # what others were told is counted
            messages, size = counted(MESSAGES_SENT), counted(MESSAGES_SENT_BYTES)
            await house.publish_readings(resource_id, 1, 2)
            payloads = [await each.payload() for each in (one, other) for _ in range(2)]
            await house.until(lambda: counted(MESSAGES_SENT) == messages + 4)
            sent = sum(len(json.dumps(one, separators=(",", ":"))) for one in payloads)
            assert counted(MESSAGES_SENT_BYTES) == size + sent
