"""The GraphQL endpoint over HTTP: what the specification of GraphQL over HTTP says, and what is no request at all."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from graphql import GraphQLError
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.routing import Route

from tests.support.house import House
from tests.support.servers import serving
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.execution.pipeline import Gate
from wattgate.graphql.execution.schema import MAX_TOLD, build, tell_all
from wattgate.graphql.resolvers import live_readings, tokens
from wattgate.graphql.transport.accept import media_type, wants_events
from wattgate.graphql.transport.http import LARGE, Endpoint
from wattgate.graphql.types.accounts import Done
from wattgate.principal import Permission

JSON = "application/json"
GRAPHQL = "application/graphql-response+json"
EVENTS = "text/event-stream"
HELLO = "{ __typename }"


async def post(served: House, content: bytes | str, **headers: str) -> httpx.Response:
    given = {"content-type": JSON, "accept": GRAPHQL} | {name.replace("_", "-"): one for name, one in headers.items()}
    return await served.http.post("/graphql", content=content, headers=given)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('"{ __typename }"', "no GraphQL request"),
        ("7", "no GraphQL request"),
        ("null", "no GraphQL request"),
        ("true", "no GraphQL request"),
        ("", "no GraphQL request"),
        ("{", "no GraphQL request"),
        ("[" * 100_000, "batches"),
        ('{"a":' * 100_000, "no GraphQL request"),
        ('[{"query": "{ __typename }"}, {"query": "{ __typename }"}]', "batches"),
        ("{}", "no query"),
        ('{"query": null}', "no query"),
        ('{"query": ""}', "Syntax Error"),
        ('{"query": 7}', "no GraphQL request"),
        ('{"query": ["{ __typename }"]}', "no GraphQL request"),
        ('{"query": "{ __typename }", "variables": "x"}', "no GraphQL request"),
        ('{"query": "{ __typename }", "variables": [1]}', "no GraphQL request"),
        ('{"query": "{ __typename }", "operationName": 7}', "no GraphQL request"),
        ('{"query": "{ __typename }", "extensions": 7}', "no GraphQL request"),
        (b'{"query": "{ \xff }"}', "no GraphQL request"),
        ('{"query": "query A { __typename } query B { __typename }"}', "several operations"),
        ('{"query": "query A { __typename }", "operationName": "B"}', "no operation B"),
        ('{"query": "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }"}', "itself"),
        ('{"query": "fragment a on Query { __typename }"}', "never used"),
        ('{"query": "subscription { alerts { alertId } }"}', "WebSockets"),
        ('{"query": "query ($n: Int!) { __typename @include(if: true) }", "variables": {"n": "x"}}', "n"),
    ],
)
async def test_what_is_no_request_is_told_by_400_and_a_message(served: House, body: bytes | str, why: str) -> None:
    answer = await post(served, body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, GRAPHQL)
    told = answer.json()
    assert "data" not in told
    assert all(error["extensions"]["code"] == "BAD_INPUT" for error in told["errors"])
    assert {error["extensions"]["traceId"] for error in told["errors"]} == {answer.headers["x-trace-id"]}
    assert why in " ".join(error["message"] for error in told["errors"])


@pytest.mark.parametrize(
    "media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""]
)
async def test_what_a_form_can_send_is_refused(served: House, media: str) -> None:
    answer = await post(served, '{"query": "{ __typename }"}', content_type=media)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(("media", "status"), [
    ("application/json; charset=utf-8", 200),
    ('application/json;charset="UTF-8"', 200),
    ("Application/JSON", 200),
    ("application/json; charset=iso-8859-1", 415),
])  # fmt: skip
async def test_requests_are_in_utf_8(served: House, media: str, status: int) -> None:
    assert (await post(served, '{"query": "{ __typename }"}', content_type=media)).status_code == status


@pytest.mark.parametrize(("accept", "media"), [
    ("", JSON),
    ("*/*", JSON),
    ("application/*", JSON),
    (JSON, JSON),
    (GRAPHQL, GRAPHQL),
    (f"{GRAPHQL}, {JSON}", GRAPHQL),
    (f"{JSON}, {GRAPHQL}", GRAPHQL),
    (f"{GRAPHQL};q=0.5, {JSON};q=0.9", JSON),
    (f"{GRAPHQL};charset=utf-8, {JSON};charset=utf-8", GRAPHQL),
    (f"{GRAPHQL};charset=utf-16, {JSON}", JSON),
    (f"{GRAPHQL}; q=0", None),
    ("text/html", None),
    ("text/html, */*;q=0.1", JSON),
    (f"{JSON};q=nonsense", None),
    (",;=,", None),
])  # fmt: skip
def test_the_type_of_an_answer_is_what_the_client_takes(accept: str, media: str | None) -> None:
    assert media_type(accept) == media


@pytest.mark.parametrize(("accept", "events"), [
    (EVENTS, True),
    (f"{EVENTS}, multipart/mixed", True),
    (f"{EVENTS}, */*", True),
    (f"{JSON};q=0.9, {EVENTS}", True),
    (f"{GRAPHQL}, application/graphql+json, {JSON}, {EVENTS}, multipart/mixed", False),
    (f"{JSON}, {EVENTS};q=0.9", False),
    ("*/*", False),
    ("", False),
])  # fmt: skip
async def test_a_query_is_answered_by_events_where_the_client_takes_them_rather_than_json(
    served: House, accept: str, events: bool
) -> None:
    assert wants_events(accept) is events
    answer = await post(served, '{"query": "{ __typename }"}', accept=accept)
    assert answer.headers["content-type"].startswith(EVENTS) is events
    assert ("event: next" in answer.text) is events


async def test_whoever_takes_no_type_that_can_be_had_is_told(served: House) -> None:
    answer = await post(served, '{"query": "{ __typename }"}', accept="image/png")
    assert (answer.status_code, answer.headers["content-type"]) == (406, JSON)


@pytest.mark.parametrize(("accept", "status"), [(JSON, 200), (GRAPHQL, 400)])
@pytest.mark.parametrize("document", ["{", "{ nothing }", "query ($n: Int!) { __typename }"])
async def test_a_document_that_is_wrong_has_the_status_that_its_client_expects(
    served: House, accept: str, status: int, document: str
) -> None:
    answer = await served.http.post("/graphql", json={"query": document}, headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (status, accept)
    assert "data" not in answer.json()


async def test_an_error_of_a_field_is_told_beside_the_data_by_200(served: House) -> None:
    query = '{ a: __typename virtualEntity(veId: "none") { name } }'
    answer = await served.http.post(
        "/graphql", json={"query": query}, headers={"accept": GRAPHQL, **served.one.headers["account"]}
    )
    assert answer.status_code == 200
    told = answer.json()
    assert told["data"] is None
    assert [error["path"] for error in told["errors"]] == [["virtualEntity"]]


async def test_credentials_that_are_not_good_are_refused_by_401(served: House) -> None:
    answer = await post(served, '{"query": "{ __typename }"}', token="forged")
    assert (answer.status_code, answer.headers["content-type"]) == (401, GRAPHQL)
    assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_query_by_get_is_answered_again_only_when_it_has_changed(served: House) -> None:
    asked = {"query": "query ($yes: Boolean!) { __typename @include(if: $yes) }", "variables": '{"yes": true}'}
    answer = await served.http.get("/graphql", params=asked)
    assert answer.json()["data"] == {"__typename": "Query"}
    assert answer.headers["cache-control"] == "private, no-cache"
    again = await served.http.get("/graphql", params=asked, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = asked | {"variables": '{"yes": false}'}
    assert (await served.http.get("/graphql", params=other, headers={"if-none-match": answer.headers["etag"]})).json()


@pytest.mark.parametrize("word", ["mutation", "subscription"])
async def test_only_queries_are_asked_by_get(served: House, word: str) -> None:
    asked = {"query": f"{word} {{ __typename }}" if word == "mutation" else "subscription { alerts { alertId } }"}
    answer = await served.http.get("/graphql", params=asked)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["errors"][0]["message"] == "only queries are asked by GET"


@pytest.mark.parametrize("parameters", [{}, {"query": ""}, {"query": HELLO, "variables": "["}, {"variables": "{}"}])
async def test_an_address_without_a_request_is_told(served: House, parameters: dict[str, str]) -> None:
    answer = await served.http.get("/graphql", params=parameters, headers={"accept": GRAPHQL})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_INPUT")


async def test_large_answers_are_compressed_for_those_who_take_that(served: House) -> None:
    fields = "resourceId resourceTypeId ownerId name description classifier createdAt type { name description }"
    query = "{ " + " ".join(f"a{n:03}: resources {{ {fields} }}" for n in range(20)) + " }"
    for accepts, encoding in (("gzip", "gzip"), ("identity", None)):
        headers = {"accept-encoding": accepts, **served.one.headers["account"]}
        answer = await served.http.post("/graphql", json={"query": query}, headers=headers)
        assert answer.headers.get("content-encoding") == encoding
        assert len(answer.content) > LARGE
        assert answer.json()["data"]["a000"]
    small = await served.http.post("/graphql", json={"query": HELLO}, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in small.headers
    assert gzip.decompress(gzip.compress(small.content)) == small.content


def test_not_all_of_very_many_errors_are_told() -> None:
    told = tell_all([GraphQLError(f"error {n}") for n in range(MAX_TOLD + 5)])
    assert [error.message for error in told] == [*(f"error {n}" for n in range(MAX_TOLD)), "5 more errors are not told"]
    assert {error.extensions["code"] for error in told if error.extensions} == {"BAD_INPUT"}
    assert len(tell_all([GraphQLError("error")] * MAX_TOLD)) == MAX_TOLD


@operation(Kind.QUERY, returns=Done, needs=Permission.ANYONE)
async def dawdle(call: Call) -> Done:
    """Asks the database for something that takes very long."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n /* dawdle */"
    await call.rows._session.execute(text(endless))
    return Done(valid=True)


@pytest.fixture
async def patient(served: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client on a gateway that gives operations half a second."""
    gate = Gate(build((dawdle, tokens.authenticate, live_readings.readings)), served.gateway.runner, time_limit=0.5)
    graphql = Endpoint(gate, served.gateway.authenticator.principal, ide=False)
    app = Starlette(routes=[Route("/graphql", graphql, methods=["GET", "POST"])])
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_an_operation_that_takes_too_long_is_given_up_with_its_statement(
    served: House, patient: httpx.AsyncClient
) -> None:
    asked: dict[str, Any] = {"query": "{ dawdle { valid } }"}
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*(patient.post("/graphql", json=asked) for _ in range(3)))
        for answer in answers:
            told = answer.json()
            assert (answer.status_code, told["data"]) == (200, None)
            assert told["errors"][0]["extensions"]["code"] == "TIMED_OUT"
        assert (await served.graphql("{ resources { name } }", served.one.headers["account"]))["data"]
        if not served.gateway.database.sqlite:
            await _until_nothing_dawdles(served)


async def _until_nothing_dawdles(served: House) -> None:
    running = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE query LIKE '%dawdle%' AND state = 'active' AND pid <> pg_backend_pid()"
    )
    while True:
        async with served.gateway.database.engine.connect() as connection:
            if not (await connection.execute(text(running))).scalar():
                return
        await asyncio.sleep(0.1)
