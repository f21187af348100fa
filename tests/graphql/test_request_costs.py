"""Costs and budgets of GraphQL requests on each transport, and information that production does not reveal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import get_introspection_query

from tests.support.house import Tenant, settle_all
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.servers import serving
from tests.support.socket import socket
from tests.support.timed import Clock
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now

HELLO = {"query": "{ __typename }"}
HOMES = {"query": "{ viewer { homes(first: 1) { edges { node { name resources { name } } } } } }"}


@asynccontextmanager
async def gateway(folder: Path, **more: Any) -> AsyncIterator[tuple[str, httpx.AsyncClient, Tenant]]:
    """Yield a served gateway with these settings, and one of its tenants. Its budgets do not refill with time."""
    clock = Clock(utc_now())
    settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'costs.sqlite3'}", **more)
    built = build_gateway(settings)
    try:
        (tenant,) = await settle_all(built, ["one"], is_shared=True)
        clock.now = utc_now()
        async with serving(create_app(settings, clock=clock)) as url, httpx.AsyncClient(base_url=url) as http:
            yield url, http, tenant
    finally:
        await built.database.close()


def extensions(answer: httpx.Response) -> dict[str, Any]:
    cost: dict[str, Any] = answer.json()["extensions"]["cost"]
    return cost


@pytest.mark.long("starts gateways with other settings; dry runs and exhausted budgets stay in the short form")
async def test_response_contains_the_cost_and_the_remaining_budget(tmp_path: Path) -> None:
    async with gateway(tmp_path, caller_budget=1_000, caller_budget_seconds=1_000) as (_, http, tenant):
        headers = tenant.headers["account"]
        first = await http.post("/graphql", json=HOMES, headers=headers)
        cost = extensions(first)
        assert cost == {
            "estimated": cost["charged"],
            "charged": cost["charged"],
            "remaining": 1_000 - cost["charged"],
            "limit": 1_000,
            "reset": cost["reset"],
        }
        assert cost["reset"] == cost["charged"]
        assert first.headers["ratelimit"] == f'"login";r={cost["remaining"]};t={cost["reset"]}'
        assert first.headers["ratelimit-policy"] == '"login";q=1000;w=1000'
        second = await http.post("/graphql", json=HOMES, headers=headers)
        assert extensions(second)["remaining"] == cost["remaining"] - cost["charged"]
        rest = await http.get("/api/v0-1/virtualentity", headers=headers)
        assert rest.headers["ratelimit-policy"] == first.headers["ratelimit-policy"]


async def test_exhausted_budget_reports_the_retry_time_on_each_transport(tmp_path: Path) -> None:
    async with gateway(tmp_path, caller_budget=200, caller_budget_seconds=86_400) as (url, http, tenant):
        headers = tenant.headers["account"]
        last = await http.post("/graphql", json=HOMES, headers=headers)
        while last.status_code == 200:
            last = await http.post("/graphql", json=HOMES, headers=headers)
        assert last.status_code == 429
        (error,) = refusals(last.json())
        assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
        assert error["retryAfter"] == int(last.headers["retry-after"]) > 0
        assert last.headers["ratelimit"].startswith('"login";r=')
        assert "data" not in last.json()
        streamed = await http.post("/graphql", json=HOMES, headers={**headers, "accept": "text/event-stream"})
        assert "RATE_LIMITED" in streamed.text
        async with socket(url, headers=headers) as client:
            await client.init()
            await client.say(type="subscribe", id="1", payload=HOMES)
            message = await client.hear()
            assert message["type"] == "error"
            assert message["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
            assert message["payload"][0]["extensions"]["retryAfter"] > 0


@pytest.mark.long("starts gateways with other settings; the costs of requests stay in the short form")
async def test_dry_run_returns_the_cost_of_a_subscription(tmp_path: Path) -> None:
    live = {
        "query": "subscription ($ids: [ID!]!) { readings(resourceIds: $ids, since: null) { value } }",
        "extensions": {"dryRun": True},
    }
    async with gateway(tmp_path, caller_budget=1_000, budget_seconds=86_400) as (url, http, tenant):
        request = {**live, "variables": {"ids": [tenant.ids["resource"]]}}
        cost = extensions(await http.post("/graphql", json=request, headers=tenant.headers["account"]))
        assert (cost["charged"], cost["remaining"]) == (0, 1_000)
        async with socket(url, headers=tenant.headers["account"]) as client:
            await client.init()
            await client.say(type="subscribe", id="1", payload={**request, "extensions": {}})
            await client.hear()
        after = extensions(await http.post("/graphql", json=request, headers=tenant.headers["account"]))
        assert 1_000 - after["remaining"] == cost["estimated"] > 0
        anonymous = extensions(await http.post("/graphql", json=request))
        assert anonymous["estimated"] == cost["estimated"]
        wrong = await http.post("/graphql", json={**live, "variables": {}}, headers=tenant.headers["account"])
        assert refusals(wrong.json())
        executed = await http.post("/graphql", json={**request, "extensions": {}}, headers=tenant.headers["account"])
        assert executed.status_code == 400


async def test_dry_run_returns_the_cost_and_executes_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, caller_budget=1_000) as (_, http, tenant):
        headers = tenant.headers["account"]
        name = "{ application { homeTypes { edges { node { name } } } } }"
        mutation = 'mutation { createHomeType(input: {name: "never made"}) { ... on HomeType { name } ...Refused } }'
        dry = await http.post(
            "/graphql",
            json={"query": with_refusals(mutation), "extensions": {"dryRun": True}},
            headers=tenant.headers["application"],
        )
        assert (dry.status_code, dry.json()["data"]) == (200, None)
        assert not refusals(dry.json())
        assert extensions(dry)["estimated"] > 0
        listed = await http.post("/graphql", json={"query": name}, headers=headers)
        assert "never made" not in listed.text
        before = extensions(await http.post("/graphql", json=HELLO, headers=headers))["remaining"]
        dry_run = await http.post("/graphql", json={**HOMES, "extensions": {"dryRun": True}}, headers=headers)
        executed = await http.post("/graphql", json=HOMES, headers=headers)
        assert extensions(dry_run)["estimated"] == extensions(executed)["estimated"]
        assert extensions(dry_run)["remaining"] == before


@pytest.mark.long("starts gateways with other settings; the costs of requests stay in the short form")
async def test_dry_runs_while_somebody_types_cost_nothing_and_need_no_permission(tmp_path: Path) -> None:
    async with gateway(tmp_path, caller_budget=1_000, caller_budget_seconds=86_400) as (_, http, tenant):
        dry_run = {**HOMES, "extensions": {"dryRun": True}}
        remaining = {
            extensions(await http.post("/graphql", json=dry_run, headers=tenant.headers["account"]))["remaining"]
            for _ in range(50)
        }
        assert remaining == {1_000}
        anonymous = await http.post("/graphql", json=dry_run)
        assert (anonymous.status_code, anonymous.json()["data"]) == (200, None)
        assert not refusals(anonymous.json())


@pytest.mark.every_case("production hides what development shows")
@pytest.mark.parametrize(("environment", "revealed"), [("production", False), ("development", True)])
async def test_only_development_reveals_the_schema(tmp_path: Path, environment: str, revealed: bool) -> None:
    async with gateway(tmp_path, environment=environment) as (_, http, tenant):
        introspection = await http.post("/graphql", json={"query": get_introspection_query(specified_by_url=True)})
        assert (not refusals(introspection.json())) is revealed
        wrong = (await http.post("/graphql", json={"query": "{ applicatio { name } }"})).json()
        assert ("Did you mean" in refusal_of(wrong)["message"]) is revealed
        request = {"query": PERIOD, "variables": {"p": "P1X"}}
        unknown = (await http.post("/graphql", json=request, headers=tenant.headers["account"])).json()
        assert ("PT30M" in str(refusals(unknown))) is revealed
        page = await http.get("/graphql", headers={"accept": "text/html"})
        assert ("/static/ide/main.js" in page.text) is revealed


PERIOD = """query ($p: Period!) {
  resource(resourceId: "x") { readings(range: {start: "2026-01-01T00:00:00Z"}, period: $p) { total } }
}"""
