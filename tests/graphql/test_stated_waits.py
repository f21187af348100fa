"""A refusal states when the budget covers all that the same request pays at its next attempt, on each interface."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.support.house import Tenant, settle_all
from tests.support.servers import serving
from tests.support.socket import socket
from tests.support.timed import Clock
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now

CAPACITY, SECONDS = 2_000, 1_000
HELLO = {"query": "{ __typename }"}
FILLER = {"x": "y" * 150_000}
HOMES = "{ viewer { homes(first: 20) { edges { node { name resources { name } } } } } }"


@dataclass
class Waiting:
    """A served gateway whose budgets only the clock of the test refills."""

    url: str
    http: httpx.AsyncClient
    tenant: Tenant
    clock: Clock
    forget_passwords: Callable[[], None]

    async def drain(self, headers: dict[str, str]) -> None:
        """Use up the budget of a caller."""
        padded = json.dumps({**HELLO, "extensions": {"x": "y" * 20_000}})
        while (await self.post(padded, headers)).status_code == 200:
            pass
        while (await self.post(json.dumps(HELLO), headers)).json()["extensions"]["cost"]["remaining"] >= 60:
            await self.post(json.dumps({"query": "{ viewer { userId } }"}), headers)

    async def post(self, content: str, headers: dict[str, str]) -> httpx.Response:
        sent = {"content-type": "application/json", **headers}
        return await self.http.post("/graphql", content=content, headers=sent)

    async def call(self, request: httpx.Request) -> httpx.Response:
        """Send a request whose password, if it has one, is hashed."""
        self.forget_passwords()
        return await self.http.send(request)

    async def refused(self, request: httpx.Request) -> httpx.Response:
        """Repeat a request until a budget refuses it, and return the refusal."""
        for _ in range(CAPACITY // 20):
            answer = await self.call(request)
            if answer.status_code == 429:
                return answer
        raise AssertionError("no budget refuses the request")

    def wait(self, seconds: int) -> None:
        self.clock.now += timedelta(seconds=seconds)

    async def accepted_after(
        self, attempt: Callable[[], Awaitable[httpx.Response]], *, waits: int = 2
    ) -> httpx.Response:
        """Keep the waits that the attempts state, and return the first response that is no refusal.

        The first wait of GraphQL may cover the size alone: the operation is unknown until the budget covers that.
        """
        for _ in range(waits + 1):
            answer = await attempt()
            if answer.status_code != 429:
                return answer
            self.wait(int(answer.headers["retry-after"]))
        raise AssertionError(f"refused although each wait was kept: {answer.text}")


@asynccontextmanager
async def waiting_gateway(folder: Path) -> AsyncIterator[Waiting]:
    clock = Clock(utc_now())
    url = f"sqlite:///{folder / 'waits.sqlite3'}"
    settings = Settings(_env_file=None, database_url=url, caller_budget=CAPACITY, caller_budget_seconds=SECONDS)
    built = build_gateway(settings)
    try:
        (tenant,) = await settle_all(built, ["one"], is_shared=True)
        clock.now = utc_now()
        app = create_app(settings, clock=clock)
        forget = app.state.gateway.authenticator._identity.remembered.forget
        async with serving(app) as url, httpx.AsyncClient(base_url=url) as http:
            yield Waiting(url, http, tenant, clock, forget)
    finally:
        await built.database.close()


async def test_wait_covers_the_size_of_the_request(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with waiting_gateway(tmp_path) as gateway:
        caller = gateway.tenant.headers["account"]
        await gateway.post(json.dumps({"query": HOMES}), caller)  # so that the document is known
        large = json.dumps({"query": HOMES, "extensions": FILLER})
        with subtests.test("GraphQL"):
            await gateway.drain(caller)
            answer = await gateway.accepted_after(lambda: gateway.post(large, caller))
            assert answer.status_code == 200, answer.text
        with subtests.test("GraphQL, a refusal of a part of the size and the operation"):
            await gateway.drain(caller)
            gateway.wait(300)
            refused = await gateway.post(large, caller)
            assert refused.status_code == 429
            gateway.wait(int(refused.headers["retry-after"]))
            assert (await gateway.post(large, caller)).status_code == 200
        with subtests.test("REST, in one wait"):
            path = f"/api/v0-1/resource/{gateway.tenant.ids['resource']}/readings"
            readings = readings_of(500)
            body = json.dumps({"data": readings, "readings": readings, "filler": "y" * 40_000})
            await gateway.drain(caller)
            answer = await gateway.accepted_after(
                lambda: gateway.http.post(path, content=body, headers={**caller, "content-type": "application/json"}),
                waits=1,
            )
            assert answer.json()["recorded"] == 500, answer.text


CALLS: Mapping[str, tuple[str, str, int]] = {
    "a list": ("GET", "/virtualentity", 0),
    "a page by its size": ("GET", "/user/tenancy?first=90", 0),
    "a range": ("GET", "/resource/RESOURCE/readings?RANGE", 0),
    "a large query": ("GET", "/virtualentity?x=" + "y" * 20_000, 0),
    "a large body": ("POST", "/account/name", 60_000),
    "readings": ("POST", "/resource/RESOURCE/readings", 60_000),
    "an invalid argument in a large query": ("GET", "/resource/RESOURCE/readings?period=none&x=" + "y" * 20_000, 0),
}


@pytest.mark.parametrize("credentials", ["account", "account basic"])
async def test_rest_call_passes_after_the_first_wait(
    tmp_path: Path, credentials: str, subtests: pytest.Subtests
) -> None:
    """The wait covers the hash of the password, the size and the operation, whichever of them is refused."""
    half_hours = "from=2024-01-01T00:00:00&to=2024-01-08T00:00:00&period=PT30M&function=sum"
    async with waiting_gateway(tmp_path) as gateway:
        headers = {"content-type": "application/json", **gateway.tenant.headers[credentials]}
        for name, (method, path, size) in CALLS.items():
            resource = path.replace("RESOURCE", gateway.tenant.ids["resource"]).replace("RANGE", half_hours)
            body = json.dumps({"name": "Ada", "data": readings_of(300), "readings": readings_of(300)}).encode()
            content = body + b" " * (size - len(body)) if size else b""
            request = gateway.http.build_request(method, f"/api/v0-1{resource}", content=content, headers=headers)
            with subtests.test(name):
                refused = await gateway.refused(request)
                gateway.wait(int(refused.headers["retry-after"]))
                answer = await gateway.call(request)
                assert answer.status_code in ((400,) if "invalid" in name else (200, 201)), answer.text


def readings_of(count: int) -> list[dict[str, object]]:
    """Return readings of consecutive half hours."""
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    return [{"at": (begin + timedelta(minutes=30 * number)).isoformat(), "value": 1.5} for number in range(count)]


async def test_wait_of_a_socket_covers_the_size(tmp_path: Path) -> None:
    async with waiting_gateway(tmp_path) as gateway:
        caller = gateway.tenant.headers["account"]
        await gateway.post(json.dumps({"query": HOMES}), caller)
        await gateway.drain(caller)
        gateway.wait(120)
        async with socket(gateway.url) as client:
            await client.init(**caller)
            for attempt in ("refused", "accepted"):
                payload = {"query": HOMES, "extensions": {"x": "y" * 60_000}}
                await client.say(type="subscribe", id=attempt, payload=payload)
                message = await client.hear()
                if attempt == "refused":
                    assert message["type"] == "error", message
                    gateway.wait(message["payload"][0]["extensions"]["retryAfter"])
                else:
                    assert message["type"] == "next", message


async def test_request_above_a_full_budget_costs_too_much_and_states_no_wait(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The size and the operation fit into the budget, but not together."""
    async with waiting_gateway(tmp_path) as gateway:
        caller = gateway.tenant.headers["account"]
        await gateway.post(json.dumps({"query": HOMES}), caller)
        gateway.wait(SECONDS)
        content = json.dumps({"query": HOMES, "extensions": {"x": "y" * 256 * (CAPACITY - 20)}})
        answer = await gateway.post(content, caller)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["extensions"]["code"]) == (400, "COST_TOO_HIGH"), answer.text
        headers = {"content-type": "application/json", **caller}
        for name, padding in (("the size alone", 256 * (CAPACITY + 100)), ("both", 256 * (CAPACITY - 20))):
            with subtests.test(f"REST, {name}"):
                gateway.wait(SECONDS)
                body = json.dumps({"name": "Ada"}) + " " * padding
                rest = await gateway.http.post("/api/v0-1/account/name", content=body, headers=headers)
                assert (rest.status_code, rest.json()["code"]) == (400, "COST_TOO_HIGH"), rest.text
                assert "retry-after" not in rest.headers
                assert rest.headers["ratelimit"].count("=") == 1  # the rest of the budget, and no time
        assert "retry-after" not in answer.headers
        assert answer.headers["ratelimit"].count("=") == 1


async def test_wait_covers_the_hash_of_basic_credentials_but_not_on_sockets(tmp_path: Path) -> None:
    async with waiting_gateway(tmp_path) as gateway:
        caller = gateway.tenant.headers["account basic"]
        content = json.dumps({"query": HOMES})
        answers = [await gateway.post(content, caller) for _ in range(8)]
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "costs 1,253" in refused.json()["errors"][0]["message"]
        while (reported := await gateway.http.get("/api/v0-1/virtualentity", headers=caller)).status_code == 200:
            pass
        assert "costs 1," in reported.json()["error"]
        gateway.wait(int(refused.headers["retry-after"]))
        async with socket(gateway.url) as client:
            await client.init(**{name.lower(): value for name, value in caller.items()})
            for attempt in range(8):
                await client.say(type="subscribe", id=str(attempt), payload={"query": HOMES})
                if (message := await client.hear())["type"] == "error":
                    break
                await client.hear()  # its completion
            assert "costs 253" in message["payload"][0]["message"]
