"""The GraphQL endpoint over HTTP: rules of the GraphQL-over-HTTP specification, and malformed requests."""

import asyncio
import dataclasses
import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

import httpx
import pytest
import strawberry
from graphql import GraphQLError
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.routing import Route

from tests.support.house import House
from tests.support.refusals import refusal_of, refusals
from tests.support.servers import serving
from tests.support.waiting import until
from wattgate.app.server.factory import serve_gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.rows.rows import Rows
from wattgate.graphql.cost.operation_charge import OperationCharge
from wattgate.graphql.execution import pipeline as pipeline_module
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS, build_schema, normalize_errors
from wattgate.graphql.transport.http import MIN_COMPRESSED_BYTES, GraphQLEndpoint
from wattgate.operations.core.fields import edge
from wattgate.operations.core.operation import Call, OperationKind, Unaudited, operation
from wattgate.operations.credentials import tokens
from wattgate.operations.readings import live_readings
from wattgate.operations.types.identity.accounts import Done
from wattgate.principal import Permission
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.requests.accept import negotiate_media_type, prefers_event_stream

pytestmark = pytest.mark.both_databases("a time limit cancels the statement on PostgreSQL")

JSON = "application/json"
GRAPHQL = "application/graphql-response+json"
EVENTS = "text/event-stream"
HELLO = "{ __typename }"


async def post(served: House, content: bytes | str, **headers: str) -> httpx.Response:
    request_headers = {"content-type": JSON, "accept": GRAPHQL} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return await served.http.post("/graphql", content=content, headers=request_headers)


MALFORMED: list[tuple[str | bytes, str]] = [
    ('"{ __typename }"', "not a GraphQL request"),
    ("7", "not a GraphQL request"),
    ("null", "not a GraphQL request"),
    ("true", "not a GraphQL request"),
    ("", "not a GraphQL request"),
    ("{", "not a GraphQL request"),
    ("[" * 20_000, "batches"),
    ('{"a":' * 10_000, "not a GraphQL request"),
    ('[{"query": "{ __typename }"}, {"query": "{ __typename }"}]', "batches"),
    ("{}", "no query"),
    ('{"query": null}', "no query"),
    ('{"query": ""}', "Syntax Error"),
    ('{"query": 7}', "not a GraphQL request"),
    ('{"query": ["{ __typename }"]}', "not a GraphQL request"),
    ('{"query": "{ __typename }", "variables": "x"}', "not a GraphQL request"),
    ('{"query": "{ __typename }", "variables": [1]}', "not a GraphQL request"),
    ('{"query": "{ __typename }", "operationName": 7}', "not a GraphQL request"),
    ('{"query": "{ __typename }", "extensions": 7}', "not a GraphQL request"),
    (b'{"query": "{ \xff }"}', "not a GraphQL request"),
    (b'{"query": "{ __typename }", "unknown\xff": 1}', "not a GraphQL request"),
    (b'{"query": "{ __typename }", "unknown": ["\xff"]}', "not a GraphQL request"),
    ('{"query": "query A { __typename } query B { __typename }"}', "several operations"),
    ('{"query": "query A { __typename }", "operationName": "B"}', "no operation B"),
    ('{"query": "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }"}', "itself"),
    ('{"query": "fragment a on Query { __typename }"}', "never used"),
    ('{"query": "subscription { alerts { alertId } }"}', "WebSockets"),
    ('{"query": "query ($n: Int!) { __typename @include(if: true) }", "variables": {"n": "x"}}', "n"),
]
"""Bodies of requests, and a part of the message of each."""


async def test_malformed_request_gets_status_400_and_a_message(served: House, subtests: pytest.Subtests) -> None:
    for body, why in MALFORMED:
        with subtests.test(repr(body[:100])):
            answer = await post(served, body)
            assert (answer.status_code, answer.headers["content-type"]) == (400, GRAPHQL)
            result = answer.json()
            assert "data" not in result
            assert all(error["code"] == "BAD_INPUT" for error in refusals(result))
            assert {error["traceId"] for error in refusals(result)} == {answer.headers["x-trace-id"]}
            assert why in " ".join(error["message"] for error in refusals(result))


async def test_content_types_of_forms_are_rejected(served: House, subtests: pytest.Subtests) -> None:
    for media in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""):
        with subtests.test(media):
            answer = await post(served, '{"query": "{ __typename }"}', content_type=media)
            code = refusal_of(answer.json())["code"]
            assert (answer.status_code, code) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_request_must_be_utf_8(served: House) -> None:
    expected = {
        "application/json; charset=utf-8": 200,
        'application/json;charset="UTF-8"': 200,
        "Application/JSON": 200,
        "application/json; charset=iso-8859-1": 415,
    }
    query = '{"query": "{ __typename }"}'
    assert {media: (await post(served, query, content_type=media)).status_code for media in expected} == expected


ACCEPTED = {
    "": JSON,
    "*/*": JSON,
    "application/*": JSON,
    JSON: JSON,
    GRAPHQL: GRAPHQL,
    f"{GRAPHQL}, {JSON}": GRAPHQL,
    f"{JSON}, {GRAPHQL}": GRAPHQL,
    f"{GRAPHQL};q=0.5, {JSON};q=0.9": JSON,
    f"{GRAPHQL};charset=utf-8, {JSON};charset=utf-8": GRAPHQL,
    f"{GRAPHQL};charset=utf-16, {JSON}": JSON,
    f"{GRAPHQL}; q=0": None,
    "text/html": None,
    "text/html, */*;q=0.1": JSON,
    f"{JSON};q=nonsense": None,
    ",;=,": None,
}
"""The type of the response by the Accept header."""


def test_response_type_follows_the_accept_header() -> None:
    assert {accept: negotiate_media_type(accept) for accept in ACCEPTED} == ACCEPTED


PREFERS_EVENTS = {
    EVENTS: True,
    f"{EVENTS}, multipart/mixed": True,
    f"{EVENTS}, */*": True,
    f"{JSON};q=0.9, {EVENTS}": True,
    f"{GRAPHQL}, application/graphql+json, {JSON}, {EVENTS}, multipart/mixed": False,
    f"{JSON}, {EVENTS};q=0.9": False,
    "*/*": False,
    "": False,
}
"""Whether a client prefers events, by the Accept header."""


async def test_query_is_answered_with_events_if_the_client_prefers_them_to_json(
    served: House, subtests: pytest.Subtests
) -> None:
    for accept, events in PREFERS_EVENTS.items():
        with subtests.test(accept):
            assert prefers_event_stream(accept) is events
            answer = await post(served, '{"query": "{ __typename }"}', accept=accept)
            assert answer.headers["content-type"].startswith(EVENTS) is events
            assert ("event: next" in answer.text) is events


async def test_accept_header_without_an_offered_type_gets_status_406(served: House) -> None:
    answer = await post(served, '{"query": "{ __typename }"}', accept="image/png")
    assert (answer.status_code, answer.headers["content-type"]) == (406, JSON)


async def test_status_of_an_invalid_document_depends_on_the_media_type(
    served: House, subtests: pytest.Subtests
) -> None:
    for accept, status in ((JSON, 200), (GRAPHQL, 400)):
        for document in ("{", "{ nothing }", "query ($n: Int!) { __typename }"):
            with subtests.test(f"{accept} {document}"):
                answer = await served.http.post("/graphql", json={"query": document}, headers={"accept": accept})
                assert (answer.status_code, answer.headers["content-type"]) == (status, accept)
                assert "data" not in answer.json()


async def test_field_error_is_reported_beside_the_data_with_status_200(served: House) -> None:
    query = '{ a: __typename home(homeId: "none") { name } }'
    answer = await served.http.post(
        "/graphql", json={"query": query}, headers={"accept": GRAPHQL, **served.one.headers["account"]}
    )
    assert answer.status_code == 200
    body = answer.json()
    assert body["data"] == {"a": "Query", "home": None}
    assert [error["path"] for error in refusals(body)] == [["home"]]


async def test_invalid_credentials_get_status_401(served: House) -> None:
    answer = await post(served, '{"query": "{ __typename }"}', token="forged")
    assert (answer.status_code, answer.headers["content-type"]) == (401, GRAPHQL)
    assert refusal_of(answer.json())["code"] == "UNAUTHENTICATED"


async def test_get_returns_304_if_the_result_has_not_changed(served: House) -> None:
    parameters = {"query": "query ($yes: Boolean!) { __typename @include(if: $yes) }", "variables": '{"yes": true}'}
    answer = await served.http.get("/graphql", params=parameters)
    assert answer.json()["data"] == {"__typename": "Query"}
    assert answer.headers["cache-control"] == "private, no-cache"
    second = await served.http.get("/graphql", params=parameters, headers={"if-none-match": answer.headers["etag"]})
    assert (second.status_code, second.content) == (304, b"")
    other = parameters | {"variables": '{"yes": false}'}
    assert (await served.http.get("/graphql", params=other, headers={"if-none-match": answer.headers["etag"]})).json()


async def test_get_accepts_only_queries(served: House) -> None:
    answer = await served.http.get("/graphql", params={"query": "mutation { __typename }"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert refusal_of(answer.json())["message"] == "GET accepts only queries; send a mutation with POST"


async def test_subscription_without_a_stream_is_answered_with_the_ways_that_serve_it(served: House) -> None:
    """The same answer for both methods, also for a client that prefers JSON to events."""
    document = {"query": "subscription { alerts { alertId } }"}
    for accept in (GRAPHQL, f"{JSON}, text/event-stream;q=0.5"):
        for answer in (
            await served.http.get("/graphql", params=document, headers={"accept": accept}),
            await served.http.post("/graphql", json=document, headers={"accept": accept}),
        ):
            assert answer.status_code == 400
            (error,) = refusals(answer.json())
            assert "WebSockets, and as event streams to requests with Accept: text/event-stream" in error["message"]


async def test_query_string_without_a_request_gets_status_400(served: House, subtests: pytest.Subtests) -> None:
    strings: list[dict[str, str]] = [{}, {"query": ""}, {"query": HELLO, "variables": "["}, {"variables": "{}"}]
    for parameters in strings:
        with subtests.test(str(parameters)):
            answer = await served.http.get("/graphql", params=parameters, headers={"accept": GRAPHQL})
            assert (answer.status_code, refusal_of(answer.json())["code"]) == (400, "BAD_INPUT")


async def test_large_responses_are_compressed_for_clients_that_accept_gzip(served: House) -> None:
    fields = "resourceId resourceTypeId ownerId name description classifier createdAt type { name description }"
    query = (
        "{ "
        + " ".join(f"a{n:03}: viewer {{ resources {{ edges {{ node {{ {fields} }} }} }} }}" for n in range(20))
        + " }"
    )
    for accepts, encoding in (("gzip", "gzip"), ("identity", None)):
        headers = {"accept-encoding": accepts, **served.one.headers["account"]}
        answer = await served.http.post("/graphql", json={"query": query}, headers=headers)
        assert answer.headers.get("content-encoding") == encoding
        assert len(answer.content) > MIN_COMPRESSED_BYTES
        assert answer.json()["data"]["a000"]
    small = await served.http.post("/graphql", json={"query": HELLO}, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in small.headers
    assert gzip.decompress(gzip.compress(small.content)) == small.content


def test_number_of_reported_errors_is_limited() -> None:
    reported = normalize_errors([GraphQLError(f"error {n}") for n in range(MAX_REPORTED_ERRORS + 5)])
    assert [error.message for error in reported] == [
        *(f"error {n}" for n in range(MAX_REPORTED_ERRORS)),
        "5 more errors are not shown",
    ]
    assert {error.extensions["code"] for error in reported if error.extensions} == {"BAD_INPUT"}
    assert len(normalize_errors([GraphQLError("error")] * MAX_REPORTED_ERRORS)) == MAX_REPORTED_ERRORS


@operation(OperationKind.QUERY, returns=Done, needs=Permission.ANYONE)
async def slow_operation(call: Call) -> Done:
    """Run a statement that takes very long."""
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n /* slow_operation */"
    )
    await call.rows._session.execute(text(endless))
    return Done(valid=True)


@pytest.fixture
async def short_timeout_client(served: House) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a gateway with a time limit of half a second."""
    pipeline = GraphQLPipeline(
        build_schema((slow_operation, tokens.authenticate, live_readings.readings)),
        served.gateway.runner,
        time_limit_seconds=0.5,
    )
    graphql = GraphQLEndpoint(pipeline, served.gateway.authenticator.authenticate)
    app = Starlette(routes=[Route("/graphql", graphql, methods=["GET", "POST"])])
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_operation_and_its_statement_are_cancelled_after_the_time_limit(
    served: House, short_timeout_client: httpx.AsyncClient
) -> None:
    parameters: dict[str, Any] = {"query": "{ slowOperation { valid } }"}
    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(short_timeout_client.post("/graphql", json=parameters) for _ in range(3)))
        for answer in answers:
            body = answer.json()
            assert (answer.status_code, body["data"]) == (200, None)
            assert refusal_of(body)["code"] == "TIMED_OUT"
        assert (
            await served.graphql("{ viewer { resources { edges { node { name } } } } }", served.one.headers["account"])
        )["data"]
        if not served.gateway.database.is_sqlite:
            await _wait_until_cancelled(served)


async def _wait_until_cancelled(served: House) -> None:
    running = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE query LIKE '%slow_operation%' AND state = 'active' AND pid <> pg_backend_pid()"
    )
    while True:
        async with served.gateway.database.engine.connect() as connection:
            if not (await connection.execute(text(running))).scalar():
                return
        await asyncio.sleep(0.1)


class Attended:
    """The course of the operations of a test whose client goes."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.loads = 0

    async def wait(self) -> "AttendedWork":
        self.begun.set()
        await self.may_go_on.wait()
        return AttendedWork()


ATTENDED: ContextVar[Attended] = ContextVar("attended")
"""The course of the running test, which the server of its task inherits."""


async def load_more(rows: Rows, works: Sequence[Any]) -> list[bool]:
    ATTENDED.get().loads += 1
    return [True for _ in works]


@strawberry.type
class AttendedWork:
    more: bool = edge(load_more, needs=Permission.ANYONE, description="It is loaded after the client has gone.")


@operation(OperationKind.QUERY, returns=AttendedWork, needs=Permission.ANYONE)
async def attended_query(call: Call) -> AttendedWork:
    """Wait for the test."""
    return await ATTENDED.get().wait()


@operation(
    OperationKind.MUTATION, returns=AttendedWork, needs=Permission.ANYONE, audit=Unaudited("It changes nothing.")
)
async def attended_mutation(call: Call) -> AttendedWork:
    """Wait for the test."""
    return await ATTENDED.get().wait()


def request_of(query: str, headers: dict[str, str], *, is_get: bool = False) -> bytes:
    """Return the bytes of a request, as a plain client sends them."""
    body = b"" if is_get else json.dumps({"query": query}).encode()
    target = f"/graphql?{urlencode({'query': query})}" if is_get else "/graphql"
    fields = {"host": "gateway.example", "content-type": JSON, "content-length": str(len(body)), **headers}
    head = f"{'GET' if is_get else 'POST'} {target} HTTP/1.1\r\n"
    return (head + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n").encode() + body


async def test_a_query_loads_nothing_after_its_client_has_gone_and_a_mutation_completes(
    served: House, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client closes the connection, or its direction, and may have sent further requests before."""
    monkeypatch.setattr(pipeline_module, "GONE_CHECK_SECONDS", 0.01)
    budgets = Budgets(BudgetLimits(Allowance(100_000, 0.001), None), LocalBucketStore(utc_now))
    schema = build_schema((attended_query, attended_mutation, tokens.authenticate, live_readings.readings))
    pipeline = GraphQLPipeline(schema, served.gateway.runner, budgets=budgets)
    running = pipeline._time_limit.running
    query, mutation = "{ attendedQuery { more } }", "mutation { attendedMutation { ... on AttendedWork { more } } }"
    cases = {
        "query": (query, 0, False),
        "query by GET": (query, 0, False),
        "query before others": (query, 3, False),
        "query whose client ends its direction": (query, 0, True),
        "query before others whose client ends its direction": (query, 3, True),
        "mutation": (mutation, 0, False),
        "mutation whose client ends its direction": (mutation, 0, True),
    }
    for name, (document, others, is_half) in cases.items():
        with subtests.test(name):
            attended = Attended()
            ATTENDED.set(attended)
            app = serve_gateway(
                Settings(_env_file=None), dataclasses.replace(served.gateway, pipeline=pipeline), routes=[]
            )
            async with serving(app) as url:
                reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
                request = request_of(document, served.one.headers["account"], is_get=name.endswith("GET"))
                writer.write(request * (1 + others))
                await asyncio.wait_for(attended.begun.wait(), 60)
                (work,) = running
                charge: OperationCharge = cast(Any, work.refuse).__self__
                if is_half:
                    writer.write_eof()
                else:
                    writer.transport.abort()
                if document == mutation:
                    await asyncio.wait_for(reader.read(), 60) if is_half else None
                else:
                    await until(partial(getattr, charge, "is_refused"))
                attended.may_go_on.set()
                await until(lambda: not running)
                writer.transport.abort()
            assert attended.loads == (1 if document == mutation else 0)
            assert charge.is_refused == (document == query)
            assert charge.charged >= charge.estimated > 0
    assert (await served.graphql("{ viewer { resources { totalCount } } }", served.one.headers["account"]))["data"]
