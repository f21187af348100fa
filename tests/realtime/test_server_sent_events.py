"""Server-sent events: graphql-sse in both modes, over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.house import House
from wattgate.realtime.connections.event_stream import HEARTBEAT

READINGS = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"
RESUMING = "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"
ASKED = {"Accept": "text/event-stream"}
TOKEN = "X-GraphQL-Event-Stream-Token"


class Stream:
    """A stream of events, one after the other."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_raw()
        self._rest = b""

    async def event(self) -> dict[str, str]:
        """The fields of the next event; comments are passed over."""
        while True:
            block, found, rest = self._rest.partition(b"\n\n")
            if not found:
                self._rest += await asyncio.wait_for(anext(self._chunks), 10)
                continue
            self._rest = rest
            if block != HEARTBEAT.strip():
                return dict(line.split(": ", 1) for line in block.decode().split("\n"))

    async def told(self) -> Any:
        """The data of the next event, which is a `next`."""
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


def asking(house: House, query: str, resource_id: str, **more: str) -> dict[str, Any]:
    """What a request of the tenant's account for a stream of a resource has."""
    headers = {**house.one.headers["account"], **ASKED, **more}
    return {"headers": headers, "json": {"query": query, "variables": {"ids": [resource_id]}}}


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


async def post(house: House, resource_id: str, *values: int) -> None:
    start = datetime.now(UTC) - timedelta(hours=1)
    for value in values:
        readings = [{"at": (start + timedelta(seconds=value)).isoformat(), "value": value}]
        body = {"field": "POWER", "readings": readings}
        answer = await house.call("POST", f"/resource/{resource_id}/readings", house.one.headers["account"], json=body)
        assert answer.status_code == 200, answer.text


async def test_a_stream_tells_readings_by_positions_and_goes_on_from_the_last_event_id(
    served: House, resource_id: str
) -> None:
    async with stream(served, **asking(served, RESUMING, resource_id)) as one:
        assert one.response.headers["content-type"].startswith("text/event-stream")
        first = await one.event()
        assert json.loads(first["data"])["data"] == {"readings": None}
        await post(served, resource_id, 1)
        event = await one.event()
        payload = json.loads(event["data"])
        assert payload["data"] == {"readings": {"value": 1}}
        assert payload["extensions"]["position"] == event["id"] != first["id"]
    await post(served, resource_id, 2, 3)
    async with stream(served, **asking(served, READINGS, resource_id, **{"Last-Event-ID": event["id"]})) as again:
        assert (await again.told())["extensions"] == {"position": event["id"], "recovered": True}
        assert [(await again.told())["data"]["readings"]["value"] for _ in range(2)] == [2, 3]


async def test_a_query_is_answered_and_the_stream_ends(served: House) -> None:
    for method, request in (
        ("POST", {"json": {"query": "{ __typename }"}}),
        ("GET", {"params": {"query": "{ __typename }", "variables": "{}"}}),
    ):
        async with stream(served, method, headers=ASKED, **request) as one:
            told = await one.told()
            assert told.pop("extensions")["cost"].keys() == {"requested", "remaining", "limit", "reset"}
            assert told == {"data": {"__typename": "Query"}}
            assert await one.event() == {"event": "complete", "data": ""}
            assert await one.ended()


@pytest.mark.parametrize("query", ["{", "{ nothing }", "subscription { readings(resourceIds: {}) { value } }"])
async def test_what_is_wrong_with_a_document_is_told_on_the_stream(served: House, query: str) -> None:
    async with stream(served, **asking(served, query, served.one.ids["resource"])) as one:
        assert one.response.status_code == 200
        (error, *_) = (await one.told())["errors"]
        assert error["extensions"]["code"] == "BAD_INPUT"
        assert (await one.event())["event"] == "complete"


async def test_a_resource_that_is_not_the_callers_is_refused_on_the_stream(served: House) -> None:
    asked = asking(served, READINGS, served.other.ids["resource"])
    async with stream(served, **asked) as one:
        assert (await one.told())["errors"][0]["extensions"]["code"] == "NOT_FOUND"
        assert (await one.event())["event"] == "complete"


async def test_bad_requests_for_streams_are_refused_before_they_begin(served: House) -> None:
    http, headers = served.http, {**served.one.headers["account"], **ASKED}
    for body in (b"", b"[]", b'"x"', b'{"query": 5}', b'{"query": "{a}", "variables": "x"}', b"\xff"):
        answer = await http.post("/graphql", content=body, headers=headers)
        assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_INPUT")
    mutation = {"query": "mutation { deleteToken { valid } }"}
    answer = await http.get("/graphql", params=mutation, headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    answer = await http.get("/graphql", params={"query": "{ __typename }", "variables": "{"}, headers=headers)
    assert answer.status_code == 400
    answer = await http.post("/graphql", json={"query": "{ __typename }"}, headers={"token": "forged", **ASKED})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


async def reserved(house: House) -> str:
    answer = await house.http.put("/graphql", headers=house.one.headers["account"])
    assert answer.status_code == 201
    return answer.text


async def begin(house: House, token: str, operation_id: str, query: str, **variables: Any) -> httpx.Response:
    body = {"query": query, "variables": variables, "extensions": {"operationId": operation_id}}
    return await house.http.post("/graphql", json=body, headers={TOKEN: token})


async def test_one_stream_tells_many_operations_until_each_is_stopped(served: House, resource_id: str) -> None:
    token = await reserved(served)
    async with stream(served, "GET", params={"token": token}, headers=ASKED) as one:
        for operation_id in ("a", "b"):
            assert (await begin(served, token, operation_id, RESUMING, ids=[resource_id])).status_code == 202
            assert (await one.told())["id"] == operation_id
        assert (await begin(served, token, "a", "{ __typename }")).status_code == 409
        assert (await begin(served, token, "q", "{ __typename }")).status_code == 202
        told = await one.told()
        assert told["payload"].pop("extensions").keys() == {"cost"}
        assert told == {"id": "q", "payload": {"data": {"__typename": "Query"}}}
        assert await one.event() == {"event": "complete", "data": '{"id":"q"}'}
        stopped = await served.http.delete("/graphql", params={"operationId": "a"}, headers={TOKEN: token})
        assert stopped.status_code == 200
        await post(served, resource_id, 7)
        told = await one.told()
        assert (told["id"], told["payload"]["data"]) == ("b", {"readings": {"value": 7}})
        again = await served.http.get("/graphql", params={"token": token}, headers=ASKED)
        assert (again.status_code, again.json()["errors"][0]["extensions"]["code"]) == (409, "CONFLICT")


async def test_a_stream_needs_a_reservation_and_a_reservation_a_caller(served: House) -> None:
    assert (await served.http.put("/graphql")).status_code == 401
    unknown = await served.http.get("/graphql", params={"token": "unknown"}, headers=ASKED)
    assert unknown.status_code == 404
    token = await reserved(served)
    assert (await begin(served, token, "q", "{ nothing }")).status_code == 400
    assert (await begin(served, token, "q", "{ __typename }")).status_code == 404
    assert (await begin(served, token, "", "{ __typename }")).status_code == 400
    assert (await served.http.delete("/graphql", headers={TOKEN: token})).status_code == 400
