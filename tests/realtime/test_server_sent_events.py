"""Server-sent events: graphql-sse in both modes, over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.costs import COST_MEMBERS
from tests.support.house import House
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.socket import socket
from wattgate.realtime.connections.event_streams.event_stream import HEARTBEAT

READINGS = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"
RESUMING = "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"
EVENT_STREAM_HEADERS = {"Accept": "text/event-stream"}
TOKEN = "X-GraphQL-Event-Stream-Token"


class Stream:
    """The events of a response."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_raw()
        self._rest = b""

    async def event(self) -> dict[str, str]:
        """Return the fields of the next event. Comments are ignored."""
        while True:
            block, separator, rest = self._rest.partition(b"\n\n")
            if not separator:
                self._rest += await asyncio.wait_for(anext(self._chunks), 60)
                continue
            self._rest = rest
            if block != HEARTBEAT.strip():
                return dict(line.split(": ", 1) for line in block.decode().split("\n"))

    async def next_data(self) -> Any:
        """Return the data of the next event, whose type must be `next`."""
        event = await self.event()
        assert event["event"] == "next", event
        return json.loads(event["data"])

    async def ended(self) -> bool:
        return [chunk async for chunk in self._chunks] == []


@asynccontextmanager
async def stream(house: House, method: str = "POST", **request: Any) -> AsyncIterator[Stream]:
    async with (
        httpx.AsyncClient(base_url=house.url, timeout=20) as http,
        http.stream(method, "/graphql", **request) as response,
    ):
        yield Stream(response)


def stream_request(house: House, query: str, resource_id: str, **more: str) -> dict[str, Any]:
    """Return headers and body of a request of the tenant's account for a stream of a resource."""
    headers = {**house.one.headers["account"], **EVENT_STREAM_HEADERS, **more}
    return {"headers": headers, "json": {"query": query, "variables": {"ids": [resource_id]}}}


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


async def post(house: House, resource_id: str, *values: int) -> None:
    start = datetime.now(UTC) - timedelta(hours=1)
    for value in values:
        readings = [{"at": (start + timedelta(seconds=value)).isoformat(), "value": value}]
        body = {"field": "POWER", "readings": readings}
        response = await house.call(
            "POST", f"/resource/{resource_id}/readings", house.one.headers["account"], json=body
        )
        assert response.status_code == 200, response.text


async def test_stream_has_positions_as_ids_and_resumes_from_last_event_id(served: House, resource_id: str) -> None:
    async with stream(served, **stream_request(served, RESUMING, resource_id)) as events:
        assert events.response.headers["content-type"].startswith("text/event-stream")
        first = await events.event()
        assert json.loads(first["data"])["data"] == {"readings": None}
        await post(served, resource_id, 1)
        event = await events.event()
        payload = json.loads(event["data"])
        assert payload["data"] == {"readings": {"value": 1}}
        assert payload["extensions"]["position"] == event["id"] != first["id"]
    await post(served, resource_id, 2, 3)
    async with stream(
        served, **stream_request(served, READINGS, resource_id, **{"Last-Event-ID": event["id"]})
    ) as resumed:
        assert (await resumed.next_data())["extensions"] == {"position": event["id"], "recovered": True}
        assert [(await resumed.next_data())["data"]["readings"]["value"] for _ in range(2)] == [2, 3]


async def test_position_is_in_the_data_too_on_both_transports(served: House, resource_id: str) -> None:
    """Clients whose generated code hides extensions resume from it."""
    selected = "{ value position again: position }"
    query = RESUMING.replace("{ value }", selected)
    async with stream(served, **stream_request(served, query, resource_id)) as events, socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe(query, ids=[resource_id], since=None)
        while not (await client.payload())["extensions"]["position"]:
            continue
        await post(served, resource_id, 1, 2)
        seen: list[tuple[float, str]] = []
        while len(seen) < 2:
            payload = await client.payload()
            reading, position = payload["data"]["readings"], payload["extensions"]["position"]
            assert (reading["position"], reading["again"]) == (position, position)
            seen.append((reading["value"], position))
        streamed = [reading for _ in range(3) if (reading := (await events.next_data())["data"]["readings"])]
        assert [(reading["value"], reading["position"]) for reading in streamed] == seen
        await client.complete()
        await client.subscribe(query, ids=[resource_id], since=seen[0][1])
        assert (await client.payload())["extensions"]["recovered"] is True
        assert (await client.payload())["data"]["readings"]["position"] == seen[1][1]


async def test_stream_of_a_query_ends_after_the_result(served: House) -> None:
    for method, request in (
        ("POST", {"json": {"query": "{ __typename }"}}),
        ("GET", {"params": {"query": "{ __typename }", "variables": "{}"}}),
    ):
        async with stream(served, method, headers=EVENT_STREAM_HEADERS, **request) as events:
            result = await events.next_data()
            assert result.pop("extensions")["cost"].keys() == COST_MEMBERS
            assert result == {"data": {"__typename": "Query"}}
            assert await events.event() == {"event": "complete", "data": ""}
            assert await events.ended()


@pytest.mark.parametrize("query", ["{", "{ nothing }", "subscription { readings(resourceIds: {}) { value } }"])
async def test_stream_reports_the_errors_of_a_document(served: House, query: str) -> None:
    async with stream(served, **stream_request(served, query, served.one.ids["resource"])) as events:
        assert events.response.status_code == 200
        (error, *_) = refusals(await events.next_data())
        assert error["code"] == "BAD_INPUT"
        assert (await events.event())["event"] == "complete"


async def test_stream_reports_a_resource_of_another_tenant_as_not_found(served: House) -> None:
    request = stream_request(served, READINGS, served.other.ids["resource"])
    async with stream(served, **request) as events:
        assert refusal_of(await events.next_data())["code"] == "NOT_FOUND"
        assert (await events.event())["event"] == "complete"


async def test_invalid_requests_for_streams_get_an_http_error(served: House) -> None:
    http, headers = served.http, {**served.one.headers["account"], **EVENT_STREAM_HEADERS}
    headers["content-type"] = "application/json"
    for body in (b"", b"[]", b'"x"', b'{"query": 5}', b'{"query": "{a}", "variables": "x"}', b"\xff"):
        response = await http.post("/graphql", content=body, headers=headers)
        assert (response.status_code, refusal_of(response.json())["code"]) == (400, "BAD_INPUT")
    mutation = {"query": "mutation { deleteToken { __typename } }"}
    response = await http.get("/graphql", params=mutation, headers=headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    response = await http.get("/graphql", params={"query": "{ __typename }", "variables": "{"}, headers=headers)
    assert response.status_code == 400
    response = await http.post(
        "/graphql", json={"query": "{ __typename }"}, headers={"token": "forged", **EVENT_STREAM_HEADERS}
    )
    assert (response.status_code, refusal_of(response.json())["code"]) == (401, "UNAUTHENTICATED")


async def reserve_stream(house: House) -> str:
    response = await house.http.put("/graphql", headers=house.one.headers["account"])
    assert response.status_code == 201
    return response.text


async def start_operation(house: House, token: str, operation_id: str, query: str, **variables: Any) -> httpx.Response:
    body = {"query": with_refusals(query), "variables": variables, "extensions": {"operationId": operation_id}}
    return await house.http.post("/graphql", json=body, headers=operation_headers(house, token))


def operation_headers(house: House, token: str) -> dict[str, str]:
    """Return the headers of a request that starts or stops an operation on a stream."""
    return {TOKEN: token, **house.one.headers["account"]}


async def test_single_connection_stream_carries_operations_until_each_is_stopped(
    served: House, resource_id: str
) -> None:
    token = await reserve_stream(served)
    async with stream(served, "GET", params={"token": token}, headers=EVENT_STREAM_HEADERS) as events:
        for operation_id in ("a", "b"):
            assert (await start_operation(served, token, operation_id, RESUMING, ids=[resource_id])).status_code == 202
            assert (await events.next_data())["id"] == operation_id
        assert (await start_operation(served, token, "a", "{ __typename }")).status_code == 409
        assert (await start_operation(served, token, "q", "{ __typename }")).status_code == 202
        result = await events.next_data()
        assert result["payload"].pop("extensions").keys() == {"cost"}
        assert result == {"id": "q", "payload": {"data": {"__typename": "Query"}}}
        assert await events.event() == {"event": "complete", "data": '{"id":"q"}'}
        headers = operation_headers(served, token)
        stopped = await served.http.delete("/graphql", params={"operationId": "a"}, headers=headers)
        assert stopped.status_code == 200
        await post(served, resource_id, 7)
        result = await events.next_data()
        assert (result["id"], result["payload"]["data"]) == ("b", {"readings": {"value": 7}})
        second = await served.http.get("/graphql", params={"token": token}, headers=EVENT_STREAM_HEADERS)
        assert (second.status_code, refusal_of(second.json())["code"]) == (409, "CONFLICT")


async def test_stream_needs_a_reservation_by_an_authenticated_caller(served: House) -> None:
    assert (await served.http.put("/graphql")).status_code == 401
    unknown = await served.http.get("/graphql", params={"token": "unknown"}, headers=EVENT_STREAM_HEADERS)
    assert unknown.status_code == 404
    token = await reserve_stream(served)
    assert (await start_operation(served, token, "q", "{ nothing }")).status_code == 400
    assert (await start_operation(served, token, "q", "{ __typename }")).status_code == 404
    assert (await start_operation(served, token, "", "{ __typename }")).status_code == 400
    assert (await served.http.delete("/graphql", headers=operation_headers(served, token))).status_code == 400
