"""One contract for errors: the same failure reads the same on every face."""

import logging
import re
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from tests.support.house import House, Tenant
from tests.support.servers import serving
from wattgate.app.server.factory import tell_unexpected
from wattgate.enums import TRACE_ID
from wattgate.errors import BadInput, GatewayError
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.execution.pipeline import Gate
from wattgate.graphql.execution.schema import build
from wattgate.graphql.resolvers import live_readings, profiles
from wattgate.graphql.transport.http import Endpoint
from wattgate.graphql.types.accounts import Done
from wattgate.principal import Permission
from wattgate.rest_compat.routes import routes


@operation(Kind.QUERY, returns=Done, needs=Permission.ANYONE, rest=Rest("GET", "/broken"))
async def broken(call: Call) -> Any:
    """Fails as only a defect of ours would."""
    raise RuntimeError("the password is hunter2")


@operation(Kind.MUTATION, returns=Done, needs=Permission.ANYONE, rest=Rest("POST", "/broken"))
async def break_it(call: Call) -> Any:
    """Fails likewise."""
    raise ZeroDivisionError


@pytest.fixture
async def faulty(served: House) -> Any:
    """A client on a gateway whose operations have defects."""
    operations = (broken, break_it, live_readings.readings)
    schema, runner = build(operations), served.gateway.runner
    authenticate = served.gateway.authenticator.principal
    graphql = Endpoint(Gate(schema, runner), authenticate, ide=False)
    app = Starlette(
        routes=[
            Route("/graphql", graphql, methods=["GET", "POST"]),
            *routes(operations, runner=runner, schema=schema, authenticate=authenticate),
        ],
        exception_handlers={Exception: tell_unexpected},
    )
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_a_defect_is_masked_on_both_doors_and_logged(
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


async def test_every_error_carries_the_trace_id_of_its_answer(served: House) -> None:
    rest = await served.call("GET", "/account/unknown", served.one.headers["account"])
    assert rest.json()["traceId"] == rest.headers["x-trace-id"]
    query = {"query": '{ account(accountId: "unknown") { name } }'}
    graphql = await served.http.post("/graphql", json=query, headers=served.one.headers["account"])
    (error,) = graphql.json()["errors"]
    assert error["extensions"]["traceId"] == graphql.headers["x-trace-id"]
    assert error["message"] == rest.json()["error"] == "no account with id unknown"


def test_the_contract_of_every_error() -> None:
    before = TRACE_ID.set("trace")
    for kind in GatewayError.__subclasses__():
        told = kind("message", retry_after=3).extensions
        assert told == {"code": kind.code, "retryable": kind.retryable, "traceId": "trace", "retryAfter": 3}
        assert re.fullmatch(r"[A-Z_]+", kind.code)
    TRACE_ID.reset(before)
    with pytest.raises(TypeError):
        GatewayError("the base is not raised")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("{", "BAD_INPUT"),
        ("{ nothing }", "BAD_INPUT"),
        ("{ account { name } }", "BAD_INPUT"),
        ("query ($id: ID!) { account(accountId: $id) { name } }", "BAD_INPUT"),
        ('{ account(accountId: "unknown") { name } }', "NOT_FOUND"),
        ("{ applicationStatistics { totalVirtualEntities } }", "FORBIDDEN"),
    ],
)
async def test_every_graphql_error_has_a_code(served: House, document: str, code: str) -> None:
    told = await served.graphql(document, served.one.headers["account"])
    assert [error["extensions"]["code"] for error in told["errors"]] == [code]


@pytest.mark.parametrize("value", ["1850-01-01T00:00:00Z", "2026-01-01T00:00:00", "yesterday"])
async def test_a_value_that_a_scalar_does_not_take_is_told_wherever_it_stands(served: House, value: str) -> None:
    asked = 'readings(resourceId: "x", period: P1D, range: { start: %s, end: %s }) { unit }'
    written = await served.graphql("{ " + asked % (f'"{value}"', f'"{value}"') + " }", served.one.headers["account"])
    document = "query ($at: DateTime!) { " + asked % ("$at", "$at") + " }"
    given = await served.graphql(document, served.one.headers["account"], at=value)
    for told, count in ((written, 2), (given, 1)):
        assert "data" not in told
        assert [error["extensions"]["code"] for error in told["errors"]] == ["BAD_INPUT"] * count
        assert all(value in error["message"] for error in told["errors"])


async def test_a_text_that_the_database_does_not_take_is_bad_input(served: House, settled: Tenant) -> None:
    """PostgreSQL takes no U+0000, in texts and in JSON; SQLite does."""
    asked = "query ($given: String!) { userByUsername(username: $given) { userId } }"
    told = await served.graphql(asked, served.one.headers["administrator"], given="\0")
    strict = not settled.gateway.database.sqlite
    assert told["errors"][0]["extensions"]["code"] == ("BAD_INPUT" if strict else "NOT_FOUND")
    with pytest.raises(BadInput, match="cannot be stored") if strict else nullcontext():
        profile = {"profile_name": "x", "data": {"x": "\0"}}
        await settled.gateway.runner.run(profiles.set_account_profile, settled.account, profile)


async def test_unknown_paths_and_methods_are_told_in_the_same_form(served: House) -> None:
    unknown = await served.call("GET", "/nothing", {})
    wrong = await served.call("PATCH", "/account", {})
    assert (unknown.status_code, unknown.json()["code"], unknown.json()["error"]) == (404, "NOT_FOUND", "Not found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert set(wrong.headers["allow"].split(", ")) >= {"GET", "POST"}


async def test_sibling_fields_have_sessions_of_their_own(served: House) -> None:
    document = """{
      a: virtualEntities { resources { current { value } firstTime lastTime tariff { rate } type { name } } }
      b: accounts { name }
      c: resources { lastTime }
    }"""
    told = await served.graphql(document, served.one.headers["account"])
    assert "errors" not in told
    assert told["data"]["a"][0]["resources"][0]["tariff"]["rate"] == "24.500000"


async def test_web_pages_of_other_origins_may_call_with_tokens(served: House) -> None:
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "token, applicationId, content-type",
    }
    answer = await served.http.request("OPTIONS", "/api/v0-1/auth", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-max-age"] == "600"


async def test_health_and_readiness(served: House) -> None:
    for path in ("/healthz", "/readyz"):
        answer = await served.http.get(path)
        assert (answer.status_code, answer.json()) == (200, {"status": "OK"})
