"""The budget that pays for callers without credentials: that of the application that they name, in a header or not."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import people
from tests.support.house import PASSWORD, Tenant, settle_all
from tests.support.servers import serving
from tests.support.timed import Clock
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT, PASSWORD_HASH_WEIGHT

DAY = 86_400
BUDGET = 20 * MUTATION_WEIGHT
RESET = 'mutation ($a: ID!) { requestPasswordReset(username: "nobody@one.example", applicationId: $a) { __typename } }'
LITERAL = 'mutation { requestPasswordReset(username: "nobody@one.example", applicationId: "ID") { __typename } }'
DEFAULT = RESET.replace("$a: ID!", '$a: ID = "ID"')
BY_HEADER = 'mutation { requestPasswordReset(username: "nobody@one.example") { __typename } }'
LOG_IN = (
    "mutation ($a: ID!, $u: Address!, $p: String!) { authenticate(username: $u, password: $p) {"
    " ... on Login { token } } }"
)
UNLIMITED = dict.fromkeys(
    ("address_logins", "address_codes", "address_documents", "address_requests", "address_pairings"), 0
)


class Strangers:
    """Callers without credentials, two applications that they name, and the clock of the gateway."""

    def __init__(self, url: str, http: httpx.AsyncClient, tenants: list[Tenant], clock: Clock) -> None:
        self.url, self.http, self.clock = url, http, clock
        self.one, self.two = tenants

    async def rest(self, application_id: str, **headers: str) -> httpx.Response:
        body = {"username": "nobody@one.example", "applicationId": application_id}
        return await post(self.http, "/api/v0-1/user/resetpassword", json.dumps(body), **headers)

    async def log_in(self, tenant: Tenant) -> httpx.Response:
        body = {"username": tenant.username, "password": PASSWORD, "applicationId": tenant.application_id}
        return await self.http.post("/api/v0-1/auth", json=body)

    async def form(self, application_id: str) -> httpx.Response:
        return await self.http.post(
            "/api/v0-1/auth/oauth/device",
            data={"client_id": application_id},
        )

    async def graphql(self, application_id: str, document: str = RESET, **headers: str) -> httpx.Response:
        request = {"query": document.replace('ID"', f'{application_id}"'), "variables": {"a": application_id}}
        if "$a" not in document or document == DEFAULT:
            del request["variables"]
        return await post(self.http, "/graphql", json.dumps(request), **headers)

    async def literal(self, application_id: str) -> httpx.Response:
        return await self.graphql(application_id, LITERAL)

    async def default(self, application_id: str) -> httpx.Response:
        return await self.graphql(application_id, DEFAULT)

    async def exhaust(
        self, ask: Callable[[str], Awaitable[httpx.Response]], application_id: str, attempts: int = 30
    ) -> None:
        """Ask until a budget refuses it. Fail if it does not in so many attempts."""
        for _ in range(attempts):
            answer = await ask(application_id)
            if answer.status_code == 429:
                return
            assert "RATE_LIMITED" not in answer.text
        raise AssertionError("no budget refuses the requests")


@asynccontextmanager
async def strangers(folder: Path, **more: Any) -> AsyncIterator[Strangers]:
    clock = Clock(utc_now())
    settings = Settings(
        _env_file=None,
        database_url=f"sqlite:///{folder / 'payers.sqlite3'}",
        **{"application_budget": BUDGET, "budget_seconds": DAY} | UNLIMITED | more,
    )
    built = build_gateway(settings)
    try:
        tenants = await settle_all(built, ["one", "two"], is_shared=True)
        clock.now = utc_now()
        async with (
            serving(create_app(settings, clock=clock)) as url,
            httpx.AsyncClient(base_url=url, timeout=60) as http,
        ):
            yield Strangers(url, http, list(tenants), clock)
    finally:
        await built.database.close()


WAYS: Mapping[str, Callable[[Strangers, str], Awaitable[httpx.Response]]] = {
    "REST": Strangers.rest,
    "a form": Strangers.form,
    "GraphQL, a variable": Strangers.graphql,
    "GraphQL, a literal": Strangers.literal,
    "GraphQL, the default of a variable": Strangers.default,
}


async def test_application_that_the_body_names_pays_alone(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each way begins with full budgets, a day after the way before it."""
    async with strangers(tmp_path) as callers:
        one, two = callers.one.application_id, callers.two.application_id
        for way, ask in WAYS.items():
            with subtests.test(way):
                assert (await ask(callers, one)).status_code != 429
                await callers.exhaust(partial(ask, callers), one)
                await callers.exhaust(callers.rest, one, attempts=4)  # the rest is less than the cost of a form
            for other in WAYS:
                with subtests.test(f"{way}, then {other}"):
                    assert (await WAYS[other](callers, one)).status_code == 429
                    assert (await WAYS[other](callers, two)).status_code != 429
            with subtests.test(f"{way}, then the header and the body name one budget"):
                assert (await callers.graphql(one, BY_HEADER, applicationId=one)).status_code == 429
            callers.clock.now += timedelta(seconds=DAY)


async def test_flood_of_log_ins_of_one_application_leaves_those_of_others(tmp_path: Path) -> None:
    async with strangers(tmp_path, application_budget=2 * PASSWORD_HASH_WEIGHT) as callers:
        for status in (200, 429, 429):
            assert (await callers.log_in(callers.one)).status_code == status
        assert (await callers.log_in(callers.two)).status_code == 200


async def test_body_pays_for_its_application_whatever_the_header_names(tmp_path: Path) -> None:
    async with strangers(tmp_path) as callers:
        one, two = callers.one.application_id, callers.two.application_id
        await callers.exhaust(lambda name: callers.rest(name, applicationId=two), one)
        assert (await callers.rest(two, applicationId=one)).status_code == 200
        assert (await callers.graphql(two, applicationId=one)).status_code == 200
        assert (await callers.graphql(one, applicationId=two)).status_code == 429


async def test_made_up_names_share_one_budget_and_pay_by_their_address(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    made_up = ("unknown", "made-up", "", "nul\0", "\ud800", "x" * 5_000, " ")
    async with strangers(tmp_path) as callers:
        for way in ("REST", "GraphQL, a variable"):
            with subtests.test(way):
                for number in range(25):
                    answer = await WAYS[way](callers, f"made-up-{number}")
                assert answer.status_code == 429
                for name in made_up:
                    assert (await WAYS[way](callers, name)).status_code == (400 if name == "\ud800" else 429), name
        assert (await callers.rest(callers.one.application_id)).status_code == 200
    (tmp_path / "other").mkdir()
    async with strangers(tmp_path / "other", address_requests=10, application_budget=0) as callers:
        answers = [await callers.graphql(f"made-up-{number}") for number in range(13)]
        assert "address-request" in answers[-1].text


async def test_client_of_an_application_names_it(tmp_path: Path) -> None:
    async with strangers(tmp_path) as callers:
        requests = [await people.exchange(tenant) for tenant in (callers.one, callers.two)]

        async def grant(request: Mapping[str, str]) -> httpx.Response:
            body = {**{name: request[name] for name in ("clientId", "clientSecret")}, "grantType": "refresh_token"}
            return await callers.http.post("/api/v0-1/auth/oauth/access", json={**body, "refreshToken": "wrong"})

        statuses = [(await grant(requests[0])).status_code for _ in range(30)]
        assert statuses[-1] == 429
        assert (await grant(requests[1])).status_code != 429
        assert (await callers.rest(callers.one.application_id)).status_code == 429


async def test_document_that_names_several_applications_uses_up_none_of_their_budgets(tmp_path: Path) -> None:
    async with strangers(tmp_path) as callers:
        one, two = callers.one.application_id, callers.two.application_id
        fields = [
            f'a{n}: requestPasswordReset(username: "nobody", applicationId: "{name}") {{ __typename }}'
            for n, name in enumerate((one, two))
        ]
        await callers.exhaust(lambda document: callers.graphql("", document), f"mutation {{ {' '.join(fields)} }}")
        assert (await callers.rest(one)).status_code == 200
        assert (await callers.rest(two)).status_code == 200


async def test_address_pays_for_the_bytes_of_strangers(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Large bodies without an application leave the budget that all such callers share."""
    async with strangers(tmp_path, address_documents=12, address_requests=12) as callers:
        large = json.dumps({"query": "{ __typename }", "extensions": {"x": "y" * 60_000}})
        with subtests.test("GraphQL"):
            answers = [await post(callers.http, "/graphql", large) for _ in range(4)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
            assert "address-document" in answers[-1].text
            assert answers[0].json()["extensions"]["cost"]["remaining"] == BUDGET
        with subtests.test("REST"):
            answers = [await post(callers.http, "/api/v0-1/auth", large) for _ in range(4)]
            assert [answer.status_code for answer in answers] == [400, 400, 400, 429]
            assert "address-request" in answers[-1].text


async def post(http: httpx.AsyncClient, path: str, content: str, **headers: str) -> httpx.Response:
    return await http.post(path, content=content, headers={"content-type": "application/json", **headers})
