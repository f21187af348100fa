"""The size of a request is charged before it is parsed, for each answer, and each charged answer states the budget."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.graphql.test_request_costs import gateway
from tests.support.house import Tenant
from tests.support.socket import Socket, socket
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT
from wattgate.realtime.connections.protocol import MAX_CONTROL_BYTES
from wattgate.requests.request_limits import size_cost

HELLO = "{ __typename }"
FILLER = {"x": "y" * 50_000}
EVENTS = {"accept": "text/event-stream"}
WRONG_TOKEN = {"x-graphql-event-stream-token": "unknown"}
LIVE = 'subscription { readings(resourceIds: ["RESOURCE"], since: null) { value } }'
WRONG_HASH = {"persistedQuery": {"version": 1, "sha256Hash": "a" * 64}}
DAY = 86_400

UNKNOWN_HASH, UNKNOWN_ID = "unknown hash", "unknown documentId"

REFUSED: Mapping[str, tuple[dict[str, Any], dict[str, str]]] = {
    "hash of another text": ({"query": HELLO, "extensions": WRONG_HASH}, {}),
    "hash that is none": ({"query": HELLO, "extensions": {"persistedQuery": {"version": 1, "sha256Hash": "a"}}}, {}),
    UNKNOWN_HASH: ({"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "b" * 64}}}, {}),
    "unknown version": ({"query": HELLO, "extensions": {"persistedQuery": {"version": 2}}}, {}),
    UNKNOWN_ID: ({"documentId": "sha256:" + "a" * 64}, {}),
    "documentId and query": ({"documentId": "a", "query": HELLO}, {}),
    "unknown operation": ({"query": "query A { __typename } query B { __typename }", "operationName": "C"}, {}),
    "subscription without a stream": ({"query": LIVE}, {}),
    "event stream with a wrong hash": (
        {"query": HELLO, "extensions": WRONG_HASH},
        EVENTS,
    ),
    "event stream of a large subscription": ({"query": LIVE, "variables": {"y": "z" * 70_000}}, EVENTS),
    "wrong token of an event stream": ({"query": HELLO, "extensions": {"operationId": "1"}}, WRONG_TOKEN),
    "wrong token and no operation": ({"query": HELLO}, WRONG_TOKEN),
    "variables of another type": ({"query": HELLO, "variables": ["y"]}, {}),
    "answer without a cost of its own": ({"query": HELLO}, {}),
}


async def remaining(http: httpx.AsyncClient, headers: Mapping[str, str]) -> int:
    answer = await http.post("/graphql", json={"query": HELLO}, headers=headers)
    left: int = answer.json()["extensions"]["cost"]["remaining"]
    return left


def filled(request: dict[str, Any], tenant: Tenant) -> bytes:
    members = {**request, "extensions": {**request.get("extensions", {}), **FILLER}}
    return json.dumps(members).replace("RESOURCE", tenant.ids["resource"]).encode()


async def send(http: httpx.AsyncClient, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
    return await http.post("/graphql", content=content, headers={"content-type": "application/json", **headers})


async def test_each_answer_is_charged_by_size_and_states_the_budget(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with gateway(tmp_path, caller_budget=1_000_000, caller_budget_seconds=DAY) as (_, http, tenant):
        caller = tenant.headers["account"]
        for name, (request, headers) in REFUSED.items():
            with subtests.test(name):
                content, before = filled(request, tenant), await remaining(http, caller)
                answer = await send(http, content, {**caller, **headers})
                left = await remaining(http, caller)
                looked_up = STATEMENT_WEIGHT if name in (UNKNOWN_HASH, UNKNOWN_ID) else 0
                assert before - left == size_cost(len(content)) + looked_up > 150
                assert answer.headers["ratelimit"].startswith(f'"login";r={left};t=')
                assert answer.headers["ratelimit-policy"].startswith('"login";q=1000000')
                if answer.headers["content-type"] != "text/event-stream; charset=utf-8":
                    cost = answer.json()["extensions"]["cost"]
                    assert (cost["remaining"], cost["limit"], "reset" in cost) == (left, 1_000_000, True)
        with subtests.test("a query string"):
            before = await remaining(http, caller)
            content_of_query = {"query": HELLO, "extensions": "x" * 20_000}
            answer = await http.get("/graphql", params=content_of_query, headers=caller)
            assert answer.status_code == 400
            assert before - await remaining(http, caller) == size_cost(len(answer.request.url.query))
        with subtests.test("REST, without an argument"):
            before = await remaining(http, caller)
            answer = await http.post("/api/v0-1/accountprofile", json={"data": FILLER}, headers=caller)
            assert answer.status_code == 400
            assert before - await remaining(http, caller) == size_cost(len(answer.request.content)) + STATEMENT_WEIGHT
            assert answer.headers["ratelimit"].startswith('"login";r=')


async def test_empty_budget_refuses_before_the_request_is_parsed(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with gateway(tmp_path, caller_budget=100, caller_budget_seconds=DAY) as (url, http, tenant):
        caller = tenant.headers["account"]
        while (
            await http.post(
                "/graphql",
                json={"query": "{ viewer { resources(first: 1) { edges { node { name } } } } }"},
                headers=caller,
            )
        ).status_code == 200:
            pass
        no_json = b"[" * 24_000
        for name, headers in {"GraphQL": {}, "event stream": EVENTS, "stream token": WRONG_TOKEN}.items():
            with subtests.test(name):
                answer = await send(http, no_json, {**caller, **headers})
                (error,) = answer.json()["errors"]
                assert (answer.status_code, error["extensions"]["code"]) == (429, "RATE_LIMITED")
                assert answer.json()["extensions"]["cost"]["limit"] == 100
                assert answer.headers["ratelimit"].startswith('"login";r=')
        with subtests.test("REST"):
            headers = {"content-type": "application/json", **caller}
            answer = await http.post("/api/v0-1/accountprofile", content=no_json, headers=headers)
            assert answer.status_code == 429
        with subtests.test("a query string"):
            answer = await http.get("/graphql", params={"query": HELLO, "variables": "x" * 24_000}, headers=caller)
            assert answer.status_code == 429
        for name in (UNKNOWN_HASH, UNKNOWN_ID):
            with subtests.test(name):  # the rest of the budget may cover some look-ups
                answers = [await send(http, json.dumps(REFUSED[name][0]).encode(), caller) for _ in range(4)]
                assert answers[-1].status_code == 429
        with subtests.test("WebSocket"):
            async with socket(url, headers=caller) as client:
                await client.init()
                await client.send(f'{{"type": "subscribe", "id": "1", "payload": [{"1," * 12_000}1]}}')
                assert (await client.error())["extensions"]["code"] == "RATE_LIMITED"


async def test_each_message_of_a_socket_is_charged_by_size(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with gateway(tmp_path, caller_budget=1_000_000, caller_budget_seconds=DAY) as (url, http, tenant):
        caller = tenant.headers["account"]
        async with socket(url, headers=caller) as client:
            await client.init()
            for name, (request, headers) in REFUSED.items():
                if headers or name == "variables of another type":
                    continue
                with subtests.test(name):
                    payload = json.loads(filled(request, tenant))
                    text = json.dumps({"type": "subscribe", "id": name, "payload": {"query": "", **payload}})
                    before = await remaining(http, caller)
                    await client.send(text)
                    await answered(client, name)
                    spent = before - await remaining(http, caller)
                    looked_up = STATEMENT_WEIGHT if name in (UNKNOWN_HASH, UNKNOWN_ID) else 0
                    allowed = (0, 31, 32, 60) if "stream" in name else (looked_up,)
                    assert spent - size_cost(len(text)) in allowed
                    assert size_cost(len(text)) > 150
        for name, payload in {"no request": {}, "a list": ["y"]}.items():
            with subtests.test(name):
                before = await remaining(http, caller)
                text = json.dumps({"type": "subscribe", "id": "1", "payload": payload, **FILLER})
                async with socket(url, headers=caller) as client:
                    await client.init()
                    await client.send(text)
                    assert (await client.closed())[0] == 4400
                assert before - await remaining(http, caller) == size_cost(len(text))


async def answered(client: Socket, operation_id: str) -> None:
    """Wait for the first message of an operation, and end it."""
    message = await client.hear()
    while message["id"] != operation_id:
        message = await client.hear()
    if message["type"] == "next" and "readings" not in json.dumps(message):
        assert (await client.hear())["type"] == "complete"
    await client.complete(operation_id)


@pytest.mark.parametrize("kind", ["ping", "pong", "complete", "connection_init", "unknown"])
async def test_message_that_requests_no_operation_is_short(tmp_path: Path, kind: str) -> None:
    async with gateway(tmp_path) as (url, _, tenant), socket(url, headers=tenant.headers["account"]) as client:
        if kind == "ping":
            await client.init()
            await client.say(type="ping", payload={"x": "y" * (MAX_CONTROL_BYTES - 100)})
            assert (await client.hear())["type"] == "pong"
        await client.say(type=kind, id="1", payload={"x": "y" * MAX_CONTROL_BYTES})
        code, reason = await client.closed()
        assert (code, f"{MAX_CONTROL_BYTES:,}" in (reason or "")) == (4400, True)


async def test_address_pays_for_requests_without_credentials_before_they_are_parsed(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with gateway(tmp_path, address_documents=3) as (_, http, _):
        no_json = b"[" * 24_000
        # each is two attempts by its size, of which the second one is charged also above the limit
        assert [(await send(http, no_json, {})).status_code for _ in range(3)] == [400, 400, 429]
        for name, headers in {"GraphQL": {}, "event stream": EVENTS, "stream token": WRONG_TOKEN}.items():
            with subtests.test(name):
                assert (await send(http, no_json, headers)).status_code == 429
        with subtests.test("a query string"):
            assert (await http.get("/graphql", params={"query": HELLO, "variables": "["})).status_code == 429


async def test_address_pays_for_bodies_of_a_refused_content_type(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """REST refuses the type before it authenticates, so that its address pays for callers with credentials too.

    GraphQL refuses it after that, so that a known caller pays for itself.
    """
    limits = {"address_documents": 3, "address_requests": 3}
    async with gateway(tmp_path, trusted_proxies=["127.0.0.1"], **limits) as (_, http, tenant):
        known = tenant.headers["account"]
        cases: dict[str, tuple[str, dict[str, str], int]] = {
            "GraphQL": ("/graphql", {}, 429),
            "event stream": ("/graphql", EVENTS, 429),
            "stream token": ("/graphql", WRONG_TOKEN, 429),
            "REST": ("/api/v0-1/auth", {}, 429),
            "REST with credentials": ("/api/v0-1/virtualentity", known, 429),
            "GraphQL with credentials": ("/graphql", known, 415),
        }
        for number, (name, (path, headers, last)) in enumerate(cases.items(), 1):
            text = {**headers, "content-type": "text/plain", "x-forwarded-for": f"203.0.113.{number}"}
            with subtests.test(name):
                statuses = [(await http.post(path, content=b"{}", headers=text)).status_code for _ in range(4)]
                assert statuses == [415, 415, 415, last]


async def test_known_caller_pays_for_bodies_of_a_refused_content_type(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    faces: dict[str, dict[str, str]] = {"GraphQL": {}, "event stream": EVENTS, "stream token": WRONG_TOKEN}
    budget = (2 * len(faces) + 1) * STATEMENT_WEIGHT
    async with gateway(tmp_path, caller_budget=budget, caller_budget_seconds=DAY) as (_, http, tenant):
        caller = {**tenant.headers["account"], "content-type": "text/plain"}
        for number, (name, headers) in enumerate(faces.items()):
            with subtests.test(name):
                answers = [await send(http, b"{}", {**caller, **headers}) for _ in range(2)]
                assert [answer.status_code for answer in answers] == [415, 415]
                left = [answer.json()["extensions"]["cost"]["remaining"] for answer in answers]
                used = [(2 * number + answer) * STATEMENT_WEIGHT for answer in (1, 2)]
                assert left == [budget - used[0], budget - used[1]]
        assert (await send(http, b"{}", caller)).status_code == 415
        for name, headers in faces.items():
            with subtests.test(f"{name} without a budget"):
                assert (await send(http, b"{}", {**caller, **headers})).status_code == 429


async def test_body_above_the_maximum_pays_for_the_bytes_that_were_read(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """A body in chunks announces no length, so it is read up to the maximum."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 65_536

    limits = {"max_body_bytes": 1_000_000, "caller_budget": 1_000_000, "caller_budget_seconds": DAY}
    async with gateway(tmp_path, **limits) as (_, http, tenant):
        caller = {**tenant.headers["account"], "content-type": "application/json"}
        for path in ("/graphql", "/api/v0-1/virtualentity"):
            with subtests.test(path):
                before = await remaining(http, caller)
                answer = await http.post(path, content=chunks(), headers=caller)
                assert answer.status_code == 413
                read = size_cost(500_000)  # the server may join chunks, and the last one is above the maximum
                assert read <= before - await remaining(http, caller) <= size_cost(1_000_000) + STATEMENT_WEIGHT


async def first_answer(url: str, path: str, size: int | None, headers: Mapping[str, str]) -> bytes:
    """Send the head of a request whose client waits before it sends the body. Return the first line of the answer."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    fields = {"Host": where.netloc, "Content-Type": "application/json", "Expect": "100-continue", **headers}
    lines = [f"POST {path} HTTP/1.1", length, *(f"{name}: {value}" for name, value in fields.items()), "\r\n"]
    writer.write("\r\n".join(lines).encode())
    async with asyncio.timeout(60):
        line = await reader.readline()
    writer.close()
    return line.strip()


GO_ON, REFUSED_BY_BUDGET = b"HTTP/1.1 100 Continue", b"HTTP/1.1 429 Too Many Requests"
PATHS = ("/graphql", "/api/v0-1/accountprofile")


async def test_budget_covers_a_body_before_the_client_may_send_it(tmp_path: Path, subtests: pytest.Subtests) -> None:
    size = 40_000
    cost = size_cost(size) + 2 * STATEMENT_WEIGHT
    async with gateway(tmp_path, caller_budget=cost, caller_budget_seconds=DAY) as (url, http, tenant):
        (caller, other) = (tenant.headers[name] for name in ("account", "administrator"))
        for path, known in zip(PATHS, (caller, other), strict=True):
            with subtests.test(path):
                assert await first_answer(url, path, size, known) == GO_ON
                assert await first_answer(url, path, size, known) == REFUSED_BY_BUDGET
                assert await first_answer(url, path, 1_000, known) == GO_ON
        assert await remaining(http, caller) < size_cost(size)


async def test_address_pays_before_a_stranger_may_send_a_body(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with gateway(tmp_path, address_documents=2, address_requests=2) as (url, _, _):
        for path in ("/graphql", "/api/v0-1/auth"):
            with subtests.test(path):
                assert await first_answer(url, path, 1_000, {}) == GO_ON
                assert await first_answer(url, path, None, {}) == GO_ON
                assert await first_answer(url, path, 1_000, {}) == REFUSED_BY_BUDGET
                assert await first_answer(url, path, None, {}) == REFUSED_BY_BUDGET


async def test_stream_token_without_credentials_is_charged_to_the_address(tmp_path: Path) -> None:
    async with gateway(tmp_path, address_documents=3) as (_, http, _):
        answers = [await http.get("/graphql", params={"token": f"junk{number}"}) for number in range(4)]
        assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
        assert int(answers[-1].headers["retry-after"]) > 0
