"""Errors have the same form in GraphQL and REST."""

import logging
import re
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from tests.support.house import House, Tenant
from tests.support.residents import resident
from tests.support.servers import serving
from wattgate.app.server.gate.application import unexpected_error_response
from wattgate.enums import TRACE_ID
from wattgate.error_guide import ERROR_GUIDE
from wattgate.errors import BadInput, GatewayError
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import build_schema
from wattgate.graphql.transport.http import GraphQLEndpoint
from wattgate.operations.accounts import profiles
from wattgate.operations.core.operation import OWN_ACCOUNT_ONLY, Call, OperationKind, RestRoute, operation
from wattgate.operations.readings import live_readings
from wattgate.operations.types.identity.accounts import Done
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.rest_compat.routes import build_routes


@operation(OperationKind.QUERY, returns=Done, needs=Permission.ANYONE, rest=RestRoute("GET", "/broken", Tag.CONTENT))
async def broken(call: Call) -> Any:
    """Fail with an unexpected error."""
    raise RuntimeError("the password is hunter2")


@operation(
    OperationKind.MUTATION,
    returns=Done,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/broken", Tag.CONTENT),
)
async def break_it(call: Call) -> Any:
    """Fail with another unexpected error."""
    raise ZeroDivisionError


@pytest.fixture
async def faulty(served: House) -> Any:
    """A client of a gateway with failing operations."""
    operations = (broken, break_it, live_readings.readings)
    schema, runner = build_schema(operations), served.gateway.runner
    authenticate = served.gateway.authenticator.authenticate
    graphql = GraphQLEndpoint(GraphQLPipeline(schema, runner), authenticate)
    app = Starlette(
        routes=[
            Route("/graphql", graphql, methods=["GET", "POST"]),
            *build_routes(operations, runner=runner, schema=schema, authenticate=authenticate),
        ],
        exception_handlers={Exception: unexpected_error_response},
    )
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_unexpected_error_is_masked_in_graphql_and_rest_and_logged(
    faulty: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        rest = await faulty.get("/broken")
        graphql = await faulty.post("/graphql", json={"query": "{ broken { valid } }"})
    assert (rest.status_code, rest.json()["error"], rest.json()["code"]) == (500, "An error has occurred", "INTERNAL")
    (error,) = graphql.json()["errors"]
    assert (error["message"], error["extensions"]["code"]) == ("an unexpected error has occurred", "INTERNAL")
    assert "hunter2" not in rest.text + graphql.text
    assert caplog.text.count("RuntimeError: the password is hunter2") >= 2


async def test_every_error_has_the_trace_id_of_its_response(served: House) -> None:
    rest = await served.call("GET", "/account/unknown", served.one.headers["account"])
    assert rest.json()["traceId"] == rest.headers["x-trace-id"]
    query = {"query": '{ account(accountId: "unknown") { name } }'}
    graphql = await served.http.post("/graphql", json=query, headers=served.one.headers["account"])
    (error,) = graphql.json()["errors"]
    assert error["extensions"]["traceId"] == graphql.headers["x-trace-id"]
    assert error["message"] == rest.json()["error"] == "No account with ID unknown."


def test_every_error_has_code_retryable_and_trace_id() -> None:
    token = TRACE_ID.set("trace")
    for error_type in GatewayError.__subclasses__():
        error = error_type("message")
        error.retry_after = 3
        expected = {
            "code": error_type.code,
            "docUrl": f"/errors#{error_type.code}",
            "retryable": error_type.retryable,
            "traceId": "trace",
            "retryAfter": 3,
        }
        assert error.extensions == expected | ({"reason": error.reason} if error.reason else {})
        assert re.fullmatch(r"[A-Z_]+", error_type.code)
    TRACE_ID.reset(token)
    with pytest.raises(TypeError):
        GatewayError("the base is not raised")


async def test_every_error_links_to_a_section_of_the_page_on_the_gateway(served: House) -> None:
    page = await served.http.get("/errors")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    headers = served.one.headers["account"]
    graphql = await served.graphql('{ account(accountId: "unknown") { name } nothing }', headers)
    rest = await served.call("GET", "/account/unknown", headers)
    unknown_path = await served.call("GET", "/nothing", headers)
    wrong_method = await served.call("PATCH", "/device", headers)
    bodies = [graphql["errors"][0]["extensions"], *(one.json() for one in (rest, unknown_path, wrong_method))]
    assert [body["code"] for body in bodies] == ["BAD_INPUT", "NOT_FOUND", "NOT_FOUND", "METHOD_NOT_ALLOWED"]
    for body in bodies:
        address, _, section = body["docUrl"].partition("#")
        assert (address, section) == ("/errors", body["code"])
        assert f'<section id="{section}">' in page.text


async def test_page_of_errors_explains_every_code_without_markup_of_the_documentation(served: House) -> None:
    page = (await served.http.get("/errors")).text
    assert re.findall(r'<section id="([A-Z_]+)">', page) == list(ERROR_GUIDE)
    assert "](" not in page
    assert "`" not in page
    assert "$" not in page


async def test_error_about_a_value_names_it_as_the_caller_sent_it(served: House) -> None:
    headers = served.one.headers["account"]
    query = """query ($range: TimeRange!) {
        resource(resourceId: "%s") { readings(range: $range, period: P1D) { unit } }
    }"""
    backwards = {"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}
    answer = await served.graphql(query % served.one.ids["resource"], headers, range=backwards)
    graphql = answer["errors"][0]["extensions"]
    assert (graphql["code"], graphql["param"]) == ("BAD_INPUT", ".".join(graphql["problems"][0]["path"]))
    path = f"/resource/{served.one.ids['resource']}/readings"
    rest = (await served.call("GET", path, headers, params={"from": "tomorrow", "function": "sum"})).json()
    assert (rest["code"], rest["param"]) == ("BAD_INPUT", "from")
    assert ["from"] in [problem["path"] for problem in rest["problems"]]
    not_found = (await served.call("GET", "/account/unknown", headers)).json()
    assert "param" not in not_found


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("{", "BAD_INPUT"),
        ("{ nothing }", "BAD_INPUT"),
        ("{ account { name } }", "BAD_INPUT"),
        ("query ($id: ID!) { account(accountId: $id) { name } }", "BAD_INPUT"),
        ('{ account(accountId: "unknown") { name } }', "NOT_FOUND"),
        ("{ applicationStatistics { totalHomes } }", "FORBIDDEN"),
    ],
)
async def test_every_graphql_error_has_a_code(served: House, document: str, code: str) -> None:
    response = await served.graphql(document, served.one.headers["account"])
    assert [error["extensions"]["code"] for error in response["errors"]] == [code]


@pytest.mark.parametrize("value", ["1850-01-01T00:00:00Z", "2026-01-01T00:00:00", "yesterday"])
async def test_invalid_scalar_value_is_reported_in_documents_and_variables(served: House, value: str) -> None:
    selection = 'resource(resourceId: "x") { readings(period: P1D, range: { start: %s, end: %s }) { unit } }'
    literal = await served.graphql(
        "{ " + selection % (f'"{value}"', f'"{value}"') + " }", served.one.headers["account"]
    )
    document = "query ($at: DateTime!) { " + selection % ("$at", "$at") + " }"
    variable = await served.graphql(document, served.one.headers["account"], at=value)
    for response, count in ((literal, 2), (variable, 1)):
        assert "data" not in response
        assert [error["extensions"]["code"] for error in response["errors"]] == ["BAD_INPUT"] * count
        assert all(value in error["message"] for error in response["errors"])


async def test_text_that_a_database_rejects_is_bad_input(served: House, settled: Tenant) -> None:
    """PostgreSQL rejects U+0000 in text and JSON. The gateway does, too, on both databases."""
    document = "query ($given: String!) { findUser(by: {username: $given}) { userId } }"
    response = await served.graphql(document, served.one.headers["administrator"], given="\0")
    assert response["errors"][0]["extensions"]["code"] == "BAD_INPUT"
    profile = {"profile_name": "x", "data": {"x": "\0"}}
    with pytest.raises(BadInput, match="exceeds its bounds"):
        await settled.gateway.runner.run(profiles.set_account_profile, settled.account, profile)


async def test_unknown_paths_and_methods_are_reported_in_the_same_form(served: House) -> None:
    unknown = await served.call("GET", "/nothing", {})
    wrong = await served.call("PATCH", "/account", {})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "NOT_FOUND")
    assert unknown.json()["error"].startswith("/api/v0-1/nothing is not a path of version ")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert set(wrong.headers["allow"].split(", ")) >= {"GET", "POST"}


async def test_sibling_fields_have_their_own_sessions(served: House) -> None:
    document = """{
      a: viewer { homes { edges { node { resources {
        current { value } firstTime lastTime tariff { rate { amount } } type { name } } } } } }
      b: viewer { accounts { edges { node { name } } } }
      c: viewer { resources { edges { node { lastTime } } } }
    }"""
    user = await resident(served.one)  # the homes of other tests may have withheld data
    resource_id = await user.add_resource()
    await user.record(resource_id, (datetime(2026, 1, 5, tzinfo=UTC), "1"))
    await user.set_tariff(resource_id)
    await user.add_home(resource_id)
    response = await served.graphql(document, user.headers["account"])
    assert "errors" not in response, response["errors"]
    (home,) = response["data"]["a"]["homes"]["edges"]
    assert home["node"]["resources"][0]["tariff"]["rate"] == {"amount": "0.245"}


async def test_web_pages_of_other_origins_may_call_with_tokens(served: House) -> None:
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "token, applicationId, content-type",
    }
    response = await served.http.request("OPTIONS", "/api/v0-1/auth", headers=headers)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-max-age"] == "600"


async def test_unknown_header_of_a_client_is_ignored_and_does_not_fail_a_preflight(served: House) -> None:
    """Monitoring and clients of other gateways add headers, which would otherwise stop each request of a browser."""
    unknown = {"X-Acme-Build": "42", "userOrganizationId": "17", "apollographql-client-name": "app"}
    query = {"query": "{ viewer { homes { edges { node { homeId } } } } }"}
    headers = served.one.headers["account"]
    for known, extended in (
        (
            await served.http.post("/graphql", json=query, headers=headers),
            await served.http.post("/graphql", json=query, headers={**headers, **unknown}),
        ),
        (
            await served.call("GET", "/virtualentity", headers),
            await served.call("GET", "/virtualentity", {**headers, **unknown}),
        ),
    ):
        assert known.status_code == extended.status_code == 200
        assert [len(known.content), known.headers["content-type"]] == [
            len(extended.content),
            extended.headers["content-type"],
        ]
    for path in ("/graphql", "/api/v0-1/virtualentity"):
        preflight = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type, token, x-acme-build",
        }
        response = await served.http.request("OPTIONS", path, headers=preflight)
        assert response.status_code == 200
        assert response.headers["access-control-allow-headers"] == preflight["Access-Control-Request-Headers"]
        assert "access-control-allow-credentials" not in response.headers


async def test_health_and_readiness(served: House) -> None:
    for path in ("/healthz", "/readyz"):
        response = await served.http.get(path)
        assert (response.status_code, response.json()) == (200, {"status": "OK"})
