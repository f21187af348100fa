"""The order of checks: permission and a charge by size come before the variables are validated, on each transport."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.graphql.test_hostile_documents import calls
from tests.graphql.test_request_costs import gateway
from tests.support.gateway_schema import GATEWAY_SCHEMA
from tests.support.house import House
from tests.support.refusals import refusal_of, refusals, with_refusals
from wattgate.errors import TooLarge
from wattgate.graphql.execution.documents.document_limits import DocumentLimits
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.graphql.execution.root_fields import refuse_unpermitted
from wattgate.graphql.transport.http import parse_query_string
from wattgate.principal import Principal, Role
from wattgate.requests.request_limits import (
    FREE_BODY_BYTES,
    MAX_ANONYMOUS_BODY_BYTES,
    MAX_BODY_CONTAINERS,
    MAX_SUBSCRIPTION_BYTES,
    size_cost,
)

READINGS = "mutation ($s: [NewReadings!]!) { recordReadings(series: $s) { ... on Recorded { recorded } ...Refused } }"
COLUMNS = (
    "mutation ($s: [NewReadingColumns!]!) { recordReadingColumns(series: $s) {"
    " ... on RecordedColumns { recorded } ...Refused } }"
)
LIVE = "subscription ($s: [ID!]!) { readings(resourceIds: $s) { value } }"
EVENTS = "text/event-stream"
GRAPHQL = "application/graphql-response+json"
MEGABYTES: list[dict[str, Any]] = [{}] * 1_000_000


def body_of(document: str, series: Any) -> str:
    return json.dumps({"query": with_refusals(document), "variables": {"s": series}}, separators=(",", ":"))


async def post(house: House, body: str, headers: dict[str, str] | None = None, accept: str = GRAPHQL) -> Any:
    sent = {"content-type": "application/json", "accept": accept, **(headers or {})}
    return await house.http.post("/graphql", content=body, headers=sent)


@pytest.mark.parametrize("document", [READINGS, COLUMNS, LIVE])
@pytest.mark.parametrize("accept", [GRAPHQL, EVENTS])
async def test_three_megabytes_of_an_anonymous_caller_are_refused_for_little_work(
    served: House, document: str, accept: str
) -> None:
    body = body_of(document, MEGABYTES)
    response = await post(served, body, accept=accept)
    assert (response.status_code, refusal_of(response.json())["code"]) == (413, "TOO_LARGE")
    assert await calls(post(served, body, accept=accept)) < 1_000


async def test_an_anonymous_caller_sends_at_most_64_kib_on_rest_paths(served: House) -> None:
    application = {"applicationId": served.one.application_id}
    body = {"username": "x" * MAX_ANONYMOUS_BODY_BYTES, "password": "x"}
    response = await served.call("POST", "/auth", application, json=body)
    assert (response.status_code, response.json()["code"]) == (413, "TOO_LARGE")
    response = await served.call("POST", "/readings", application, json={"series": MEGABYTES})
    assert (response.status_code, response.json()["code"]) == (401, "UNAUTHENTICATED")


def test_a_query_string_has_the_bound_of_a_body() -> None:
    query = urlencode({"query": "query ($s: [ID!]) { __typename }", "variables": "x" * MAX_ANONYMOUS_BODY_BYTES})
    many = urlencode({"query": "{ __typename }", "variables": "[" * (MAX_BODY_CONTAINERS + 1)})
    with pytest.raises(TooLarge):
        parse_query_string(many.encode(), Principal(Role.ACCOUNT))
    with pytest.raises(TooLarge):
        parse_query_string(query.encode(), Principal(Role.ANONYMOUS))


async def test_a_small_request_without_permission_is_answered_before_its_variables_are_validated(served: House) -> None:
    body = body_of(READINGS, [{}] * 10_000)
    answer = (await post(served, body)).json()
    (error,) = refusals(answer)
    assert (error["path"], error["code"]) == (["recordReadings"], "UNAUTHENTICATED")
    assert answer["errors"][0]["locations"]
    assert await calls(post(served, body)) < 2_000


async def test_a_known_caller_without_permission_is_answered_before_its_variables_are_validated(served: House) -> None:
    document = (
        "mutation ($s: NewUserActionType!) { createUserActionType(input: $s) {"
        " ... on UserActionType { userActionTypeId } ...Refused } }"
    )
    body = body_of(document, {"name": 1, "description": "x" * 1_000_000})
    answer = (await post(served, body, served.one.headers["account"])).json()
    assert [error["code"] for error in refusals(answer)] == ["FORBIDDEN"]


async def test_other_root_fields_of_the_same_document_still_run(served: House) -> None:
    document = "query ($s: Boolean!) { resourceCounts @include(if: $s) { count } __typename }"
    answer = (await post(served, body_of(document, True))).json()
    assert [(error["path"], error["code"]) for error in refusals(answer)] == [(["resourceCounts"], "UNAUTHENTICATED")]


@pytest.mark.parametrize(("value", "included"), [(True, True), (False, False), (None, False)])
def test_the_refusal_has_the_fields_that_an_execution_would_have(value: Any, included: bool) -> None:
    schema = GATEWAY_SCHEMA
    text = """
    query ($s: Boolean!) { a: resourceCounts @include(if: $s) { count } ...f @skip(if: $s) ...f2 b: viewer { userId } }
    fragment f on Query { c: resourceCounts { count } }
    fragment f2 on Query { b: viewer { accountId } ... on Query { d: viewer @skip(if: true) { userId } } }
    """
    document = DocumentCache(schema, DocumentLimits()).get(text)
    refusal = refuse_unpermitted(Principal(Role.ANONYMOUS), document.root_fields, document.operation, {"s": value})
    assert refusal is not None
    expected = ["a", "b"] if included else ["c", "b"]
    assert sorted(refusal.data) == sorted(expected)
    assert sorted(str(error.path[0]) for error in refusal.errors if error.path) == sorted(expected)


@pytest.mark.long("sends very large variables; smaller ones stay in the short form")
async def test_a_known_caller_pays_for_the_size_before_the_variables_are_validated(tmp_path: Path) -> None:
    async with gateway(tmp_path, caller_budget=1_000, caller_budget_seconds=86_400) as (_, http, tenant):
        headers = {"content-type": "application/json", "accept": GRAPHQL, **tenant.headers["account"]}

        async def send(series: Any) -> httpx.Response:
            return await http.post("/graphql", content=body_of(READINGS, series), headers=headers)

        first = (await send([])).json()["extensions"]["cost"]
        entry = {"resourceId": "x" * 100, "readings": []}
        second = (await send([entry] * 400)).json()["extensions"]["cost"]
        units = size_cost(len(body_of(READINGS, [entry] * 400)))
        assert units > 100
        assert second["charged"] - first["charged"] == units
        invalid = await send([{"x": "x" * 40_000}])
        assert invalid.status_code == 400
        refused = await send([{"x": "x" * 200_000}])
        assert (refused.status_code, refusal_of(refused.json())["code"]) == (429, "RATE_LIMITED")
        rest = await http.post("/api/v0-1/readings", json={"series": "x" * 200_000}, headers=tenant.headers["account"])
        assert (rest.status_code, rest.json()["code"]) == (429, "RATE_LIMITED")


def test_small_requests_cost_nothing_for_their_size() -> None:
    assert size_cost(FREE_BODY_BYTES) == 0
    assert size_cost(FREE_BODY_BYTES + 25_600) == 100


async def test_a_body_with_very_many_values_is_refused_before_it_is_parsed(served: House) -> None:
    headers = served.one.headers["account"]
    response = await post(served, body_of(READINGS, [{}] * MAX_BODY_CONTAINERS), headers)
    assert (response.status_code, refusal_of(response.json())["code"]) == (413, "TOO_LARGE")
    response = await served.call("POST", "/readings", headers, json={"series": [{}] * MAX_BODY_CONTAINERS})
    assert (response.status_code, response.json()["code"]) == (413, "TOO_LARGE")


async def test_large_variables_are_validated_once_and_not_on_the_event_loop(served: House) -> None:
    resource_id = await served.one.add_resource()
    readings = [{"at": "2026-04-01T00:00:00Z", "value": 1}] * 2_000
    document = f"{READINGS} # new"
    headers = served.one.headers["account"]
    body = body_of(document, [{"resourceId": resource_id, "readings": readings}])
    assert await calls(post(served, body, headers)) < 20_000  # validation of 2,000 readings takes 60,000
    small = body_of(document, [{"resourceId": resource_id, "readings": readings[:1]}])
    answer = (await post(served, small, headers)).json()
    assert answer["data"] == {"recordReadings": {"recorded": 1}}


async def test_a_subscription_takes_at_most_64_kib(served: House) -> None:
    body = body_of(LIVE, ["x" * 1_000] * (MAX_SUBSCRIPTION_BYTES // 1_000 + 1))
    response = await post(served, body, served.one.headers["account"], EVENTS)
    assert "at most 65,536 bytes" in response.text
