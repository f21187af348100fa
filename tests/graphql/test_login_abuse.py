"""Limits against guessing and flooding: by username, by known source, and by client address, on both interfaces."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine, event
from websockets.exceptions import ConnectionClosed

from tests.support import people
from tests.support.house import PASSWORD, House, basic, house
from tests.support.refusals import refusal_of, refusals, with_refusals
from tests.support.servers import Databases
from tests.support.socket import socket
from tests.support.timed import Clock
from wattgate.app.server.gate.client_addresses import DEVICE_COOKIE
from wattgate.clock import utc_now
from wattgate.db.identity.passwords import HASH_POOL, HashPool
from wattgate.enums import TRACE_ID
from wattgate.errors import Unavailable
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT
from wattgate.principal import Permission
from wattgate.rate_limit.address_limits import NETWORK_FACTOR

LIMIT = 12
"""The limit of each kind of work for an address. It is above the number of free attempts with a name."""

LOG_IN = (
    "mutation ($u: String!, $p: String!) { authenticate(username: $u, password: $p) {"
    " ... on Login { token } ...Refused } }"
)

CLOCK = Clock(utc_now())
"""The clock of the gateway. It advances only by a test, so that no limit refills while a busy machine runs one."""


@pytest.fixture(scope="module")
async def proxied(databases: Databases) -> AsyncIterator[House]:
    """A gateway behind a trusted proxy, with low limits for each address."""
    settings: dict[str, Any] = dict.fromkeys(
        ("address_logins", "address_registrations", "address_codes", "address_documents"), LIMIT
    )
    settings["trusted_proxies"] = ["127.0.0.0/8"]
    async with databases() as url, house(url, clock=CLOCK, shows_present=True, **settings) as opened:
        CLOCK.now = utc_now()  # after the tenants logged in
        yield opened


ADDRESSES = iter(f"198.51.{high}.{low}" for high in range(256) for low in range(256))


@pytest.fixture
def address() -> str:
    """An address that no other test uses."""
    return next(ADDRESSES)


@pytest.fixture
async def owner(proxied: House) -> dict[str, str]:
    return await people.active(proxied.one)


def from_address(house: House, address: str, **more: str) -> dict[str, str]:
    return {"applicationId": house.one.application_id, "X-Forwarded-For": address, **more}


async def log_in(house: House, address: str, username: str, password: str = PASSWORD, **more: str) -> httpx.Response:
    body = {"username": username, "password": password}
    return await house.call("POST", "/auth", from_address(house, address, **more), json=body)


async def block_strangers(house: House, username: str) -> None:
    """Guess wrong passwords from an address of its own until the name must wait."""
    address = next(ADDRESSES)
    for _ in range(5):
        assert (await log_in(house, address, username, "wrong")).status_code == 401
    assert (await log_in(house, address, username, "wrong")).status_code == 429


async def test_known_address_passes_while_a_guesser_must_wait(
    proxied: House, owner: dict[str, str], address: str
) -> None:
    assert (await log_in(proxied, address, owner["username"])).status_code == 200
    await block_strangers(proxied, owner["username"])
    assert (await log_in(proxied, next(ADDRESSES), owner["username"])).status_code == 429
    assert (await log_in(proxied, address, owner["username"])).status_code == 200
    credentials = {**basic(owner["username"], PASSWORD), **from_address(proxied, address)}
    assert (await proxied.call("GET", "/account", credentials)).status_code == 200
    # the owner does not free the guesser
    assert (await log_in(proxied, next(ADDRESSES), owner["username"])).status_code == 429


async def test_known_browser_passes_at_a_new_address(proxied: House, owner: dict[str, str], address: str) -> None:
    own_page = {"Origin": proxied.url}
    first = await log_in(proxied, address, owner["username"], **own_page)
    cookie = first.headers["Set-Cookie"]
    proxied.http.cookies.clear()
    assert cookie.startswith(f"{DEVICE_COOKIE}=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    await block_strangers(proxied, owner["username"])
    device = {"Cookie": cookie.partition(";")[0]}
    elsewhere = next(ADDRESSES)
    answer = await log_in(proxied, elsewhere, owner["username"], **device, **own_page)
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    other = await people.active(proxied.one)
    await block_strangers(proxied, other["username"])
    assert (await log_in(proxied, next(ADDRESSES), other["username"], **device)).status_code == 429


async def test_known_source_waits_alone(proxied: House, owner: dict[str, str], address: str) -> None:
    at_home = next(ADDRESSES)
    for known in (address, at_home):
        assert (await log_in(proxied, known, owner["username"])).status_code == 200
    for _ in range(5):
        assert (await log_in(proxied, address, owner["username"], "wrong")).status_code == 401
    assert (await log_in(proxied, address, owner["username"])).status_code == 429
    assert (await log_in(proxied, at_home, owner["username"])).status_code == 200


async def test_other_pages_and_programs_get_no_cookie(proxied: House, owner: dict[str, str], address: str) -> None:
    for more in ({}, {"Origin": "https://other.example"}):
        answer = await log_in(proxied, address, owner["username"], **more)
        assert answer.status_code == 200
        assert "Set-Cookie" not in answer.headers


async def test_cookie_is_secure_behind_a_proxy_with_tls(proxied: House, owner: dict[str, str], address: str) -> None:
    more = {"Origin": proxied.url, "X-Forwarded-Proto": "https"}
    answer = await log_in(proxied, address, owner["username"], **more)
    proxied.http.cookies.clear()
    assert answer.headers["Set-Cookie"].endswith("; Secure")


async def test_reset_password_lets_the_owner_in(proxied: House, owner: dict[str, str], address: str) -> None:
    await block_strangers(proxied, owner["username"])
    token = await people.reset_token(proxied.one, owner)
    body = {"username": owner["username"], "newPassword": "battery staple", "token": token}
    done = await proxied.call("PUT", "/user/resetpassword", from_address(proxied, address), json=body)
    assert done.status_code == 200
    assert (await log_in(proxied, address, owner["username"], "battery staple")).status_code == 200


async def test_change_of_the_password_forgets_other_sources(
    proxied: House, owner: dict[str, str], address: str
) -> None:
    stolen = next(ADDRESSES)
    assert (await log_in(proxied, stolen, owner["username"])).status_code == 200
    token = (await log_in(proxied, address, owner["username"])).json()["token"]
    body = {"oldPassword": PASSWORD, "newPassword": "battery staple"}
    changed = await proxied.call(
        "POST", "/account/changepassword", {"token": token, "X-Forwarded-For": address}, json=body
    )
    assert changed.status_code == 200
    await block_strangers(proxied, owner["username"])
    assert (await log_in(proxied, stolen, owner["username"], "battery staple")).status_code == 429
    assert (await log_in(proxied, address, owner["username"], "battery staple")).status_code == 200


async def test_made_up_names_must_wait_too(proxied: House) -> None:
    await block_strangers(proxied, f"nobody-{next(ADDRESSES)}@one.example")


IDENTITY_TABLES = ("account", "login_backoff", "login_source", "one_time_code", "token", "app_user")


@contextmanager
def collected_work() -> Iterator[list[str]]:
    """Collect the statements of transactions, in order, and the hashes of passwords."""
    work: list[str] = []

    def note(*arguments: Any) -> None:
        # a request has a trace id, and workers in the background have none
        if TRACE_ID.get() and any(table in arguments[2] for table in IDENTITY_TABLES):
            work.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    hashes = HASH_POOL.run_count
    try:
        yield work
    finally:
        event.remove(Engine, "before_cursor_execute", note)
        work += ["hash"] * (HASH_POOL.run_count - hashes)


@pytest.mark.parametrize("path", ["/auth", "/user/resetpassword", "/user/verify"])
async def test_work_is_the_same_for_known_and_unknown_names(proxied: House, owner: dict[str, str], path: str) -> None:
    done = []
    for username in (owner["username"], "nobody-at-all@one.example", owner["username"], "somebody@one.example"):
        headers = from_address(proxied, next(ADDRESSES))
        with collected_work() as work:
            answer = await proxied.call(
                "POST", path, headers, json={"username": username, "password": "wrong password"}
            )
        done.append((answer.status_code, answer.json().get("error"), work))
    assert len(done[0][2]) > 3
    assert done[0] == done[1] == done[2] == done[3]


async def test_work_of_basic_is_the_same_for_known_and_unknown_names(proxied: House, owner: dict[str, str]) -> None:
    done = []
    for username in (owner["username"], "basic-nobody@one.example"):
        headers = {**from_address(proxied, next(ADDRESSES)), **basic(username, "wrong")}
        with collected_work() as work:
            answer = await proxied.call("GET", "/account", headers)
        done.append((answer.status_code, work))
    assert done[0] == done[1]
    assert "hash" in done[0][1]


async def refused_after(attempts: int, attempt: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Make attempts that are not limited, and return the answer to one more, which is."""
    for _ in range(attempts):
        answer = await attempt()
        assert answer.status_code != 429, answer.text
        assert "RATE_LIMITED" not in answer.text
    answer = await attempt()
    assert isinstance(answer, httpx.Response)
    return answer


def assert_limited(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")
    assert answer.headers["Retry-After"] == str(answer.json()["retryAfter"])


async def test_wrong_passwords_of_made_up_names_are_bounded_by_address(proxied: House, address: str) -> None:
    numbers = iter(range(100))

    async def guess() -> httpx.Response:
        return await log_in(proxied, address, f"made-up-{address}-{next(numbers)}", "wrong")

    hashes = HASH_POOL.run_count
    assert_limited(await refused_after(LIMIT, guess))
    assert HASH_POOL.run_count - hashes == LIMIT
    variables = {"u": "another", "p": "wrong"}
    by_graphql = await proxied.http.post(
        "/graphql",
        json={"query": with_refusals(LOG_IN), "variables": variables},
        headers=from_address(proxied, address),
    )
    extensions = refusal_of(by_graphql.json())
    assert extensions["code"] == "RATE_LIMITED"
    assert extensions["retryAfter"] == 60 // LIMIT
    assert HASH_POOL.run_count - hashes == LIMIT
    CLOCK.now += timedelta(seconds=60 // LIMIT)
    assert (await guess()).status_code == 401
    assert (await guess()).status_code == 429


async def test_holder_logs_in_while_others_use_up_the_limit_of_the_same_address(
    proxied: House, owner: dict[str, str], address: str
) -> None:
    """The address is known from an earlier log-in. Wrong passwords from it have a count of their own."""
    assert (await log_in(proxied, address, owner["username"])).status_code == 200
    while (await log_in(proxied, address, f"made-up-{uuid4().hex}", "wrong")).status_code == 401:
        pass
    assert (await log_in(proxied, address, owner["username"])).status_code == 200
    credentials = {**basic(owner["username"], PASSWORD), **from_address(proxied, address)}
    assert (await proxied.call("GET", "/account", credentials)).status_code == 200
    wrong = [(await log_in(proxied, address, owner["username"], "wrong")).status_code for _ in range(7)]
    assert wrong == [401] * 5 + [429] * 2


async def test_wrong_basic_credentials_are_bounded_by_address(proxied: House, address: str) -> None:
    async def guess(**more: str) -> httpx.Response:
        headers = {"X-Forwarded-For": address, **basic("made-up", "wrong"), **more}
        return await proxied.call("GET", "/account", headers)

    hashes = HASH_POOL.run_count
    assert_limited(await refused_after(LIMIT, guess))
    assert_limited(await guess(applicationId=proxied.one.application_id))
    assert HASH_POOL.run_count == hashes
    application = {**proxied.one.headers["application"], "X-Forwarded-For": address}
    assert (await proxied.call("GET", "/account", application)).status_code == 200


async def test_right_passwords_are_not_charged(proxied: House, owner: dict[str, str], address: str) -> None:
    for _ in range(2 * LIMIT):
        assert (await log_in(proxied, address, owner["username"])).status_code == 200


async def test_registrations_are_bounded_by_address(proxied: House, address: str) -> None:
    async def register() -> httpx.Response:
        body = {"name": "Ada", "username": "", "email": "ada@example.org", "password": PASSWORD}
        return await proxied.call("POST", "/register", from_address(proxied, address), json=body)

    assert_limited(await refused_after(LIMIT, register))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/user/resetpassword", {"username": "x"}),
        ("PUT", "/user/resetpassword", {"username": "x", "token": "y", "newPassword": "short"}),
        ("POST", "/user/verify", {"username": "x", "password": "y"}),
        ("PUT", "/user/verify", {"username": "x", "password": "y", "token": "z"}),
        ("POST", "/auth/oauth/access", {"clientId": "x", "grantType": "refresh_token"}),
    ],
)
async def test_codes_are_bounded_by_address(
    proxied: House, address: str, method: str, path: str, body: dict[str, str]
) -> None:
    numbers = iter(range(100))

    async def use_code() -> httpx.Response:
        body_of_name = {**body, **({"username": f"{address}-{next(numbers)}"} if "username" in body else {})}
        return await proxied.call(method, path, from_address(proxied, address), json=body_of_name)

    answer = await refused_after(LIMIT, use_code)
    assert (answer.status_code, answer.headers.get("Retry-After") is not None) == (429, True)


async def test_refreshes_of_tokens_are_not_charged(proxied: House, address: str) -> None:
    """The server of an OAuth client refreshes the tokens of many users from one address. Wrong tokens stay bounded."""
    request = await people.exchange(proxied.one)
    of_client = {name: request[name] for name in ("clientId", "clientSecret")}

    async def grant(**body: str) -> httpx.Response:
        headers = from_address(proxied, address)
        return await proxied.call("POST", "/auth/oauth/access", headers, json={**of_client, **body})

    answer = await grant(**request)
    for _ in range(2 * LIMIT):
        answer = await grant(grantType="refresh_token", refreshToken=answer.json()["refresh_token"])
        assert answer.status_code == 200
    refused = await refused_after(LIMIT, lambda: grant(grantType="refresh_token", refreshToken="made up"))
    assert refused.status_code == 429


async def test_documents_without_credentials_are_bounded_by_address(proxied: House, address: str) -> None:
    numbers = iter(range(100))

    async def send(headers: dict[str, str] | None = None) -> httpx.Response:
        query = f"{{ unknown{next(numbers)} }}"
        return await proxied.http.post(
            "/graphql", json={"query": with_refusals(query)}, headers=from_address(proxied, address) | (headers or {})
        )

    answer = await refused_after(LIMIT, send)
    assert answer.status_code == 429
    assert refusal_of(answer.json())["retryAfter"] >= 1
    assert (await send(proxied.one.headers["account"])).status_code != 429


async def test_wrong_credentials_on_sockets_are_charged_to_the_address_of_the_handshake(
    proxied: House, address: str
) -> None:
    for _ in range(LIMIT):
        async with socket(proxied.url, headers={"X-Forwarded-For": address}) as opened:
            await opened.say(type="connection_init", payload={"authorization": basic("made-up", "x")["Authorization"]})
            with pytest.raises(ConnectionClosed):
                await opened.hear()
    headers = {"X-Forwarded-For": address, **basic("made-up", "wrong")}
    assert_limited(await proxied.call("GET", "/account", headers))


async def test_addresses_of_one_ipv6_network_share_a_limit(proxied: House) -> None:
    async def register(address: str) -> int:
        body = {"name": "Ada", "username": "", "email": "ada@example.org", "password": PASSWORD}
        answer = await proxied.call("POST", "/register", from_address(proxied, address), json=body)
        return answer.status_code

    assert [await register(f"2001:db8:1:2::{n}") for n in range(LIMIT + 1)] == [400] * LIMIT + [429]
    assert await register("2001:db8:1:3::1") == 400
    elsewhere = [await register(f"2001:db8:2:{n:x}::1") for n in range(NETWORK_FACTOR * LIMIT + 1)]
    assert elsewhere == [400] * NETWORK_FACTOR * LIMIT + [429]  # a site with many networks of one address each


def test_every_mutation_without_credentials_is_limited_by_address() -> None:
    charged_by_password = {"authenticate", "authorise"}
    unlimited = {
        operation.name
        for operation in OPERATIONS
        if operation.needs is Permission.ANYONE
        and operation.kind is OperationKind.MUTATION
        and operation.address_policy is None
    }
    assert unlimited == charged_by_password


async def test_hashes_wait_in_bounded_number() -> None:
    pool, may_end = HashPool(threads=1, max_waiting=1), Event()
    running, waiting = (asyncio.create_task(pool.run(may_end.wait)) for _ in range(2))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await pool.run(may_end.wait)
    assert refused.value.retry_after
    may_end.set()
    assert [await running, await waiting] == [True, True]
    assert await pool.run(lambda: 1) == 1


async def test_hashes_wait_for_a_bounded_time() -> None:
    pool, may_end = HashPool(threads=1, max_waiting=5, max_wait_seconds=0.05), Event()
    running = asyncio.create_task(pool.run(may_end.wait))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await pool.run(may_end.wait)
    may_end.set()
    assert await running
    assert pool.run_count == 1


async def test_hashes_of_one_application_leave_a_thread_to_others() -> None:
    pool, may_end = HashPool(threads=2), Event()
    busy = [asyncio.ensure_future(pool.run(may_end.wait, "busy")) for _ in range(5)]
    async with asyncio.timeout(60):
        assert await pool.run(lambda: "hashed", "other") == "hashed"
    assert pool.run_count <= 2  # one of the busy application, if its thread has begun
    may_end.set()
    assert await asyncio.gather(*busy) == [True] * 5


ANONYMOUS_BUDGET = 60_000


async def test_refused_log_ins_of_one_address_leave_the_budget_of_all_strangers(
    databases: Databases, subtests: pytest.Subtests
) -> None:
    """The gateway is its own: its budget of anonymous callers is small, and time does not refill it."""
    settings: dict[str, Any] = {"address_logins": 2, "address_registrations": 2, "trusted_proxies": ["127.0.0.0/8"]}
    settings |= {"application_budget": ANONYMOUS_BUDGET, "budget_seconds": 86_400}
    clock = Clock(utc_now())
    async with databases() as url, house(url, clock=clock, shows_present=True, **settings) as opened:
        clock.now = utc_now()
        fields = " ".join(
            f'a{n}: authenticate(username: "u{n}", password: "p") {{ ... on Login {{ token }} }}' for n in range(19)
        )
        headers = from_address(opened, next(ADDRESSES))
        left, hashes = list[int](), HASH_POOL.run_count
        for _ in range(3):
            answer = await opened.graphql(f"mutation {{ {fields} }}", headers)
            assert refusals(answer)[-1]["code"] == "RATE_LIMITED"
            left.append(answer["extensions"]["cost"]["remaining"])
        assert HASH_POOL.run_count == hashes + 2
        assert left[1] - left[2] == 19 * (MUTATION_WEIGHT + 1)
        with subtests.test("REST"):
            answers = [await log_in(opened, headers["X-Forwarded-For"], "u") for _ in range(2)]
            rest = [int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]) for answer in answers]
            assert rest[0] - rest[1] == MUTATION_WEIGHT + 1
        with subtests.test("mutations that are refused before a hash for another reason"):
            fields = " ".join(f"a{n}: authenticate {{ ... on Login {{ token }} ...Refused }}" for n in range(11))
            weak = (
                'b: register(name: "Ada", username: "ada", email: "ada@example.org", password: "a") {'
                " ... on User { userId } ...Refused }"
            )
            costs = []
            for _ in range(2):
                answer = await opened.graphql(f"mutation {{ {fields} {weak} }}", from_address(opened, next(ADDRESSES)))
                assert {error["code"] for error in refusals(answer)} == {"BAD_INPUT"}
                costs.append(answer["extensions"]["cost"]["remaining"])
            assert costs[0] - costs[1] < 2 * 12 * MUTATION_WEIGHT
        with subtests.test("registrations"):
            body = {"name": "Ada", "username": "", "email": "ada@example.org", "password": PASSWORD}
            answers = [await opened.call("POST", "/register", headers, json=body) for _ in range(4)]
            assert answers[-1].status_code == 429, answers[-1].text
            rest = [int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]) for answer in answers]
            assert rest[2] - rest[3] == MUTATION_WEIGHT + 1


async def test_refusal_of_an_address_states_the_longest_wait_of_its_policies(databases: Databases) -> None:
    """The gateway is its own: it has low limits of requests, which its clock does not refill."""
    settings: dict[str, Any] = {"address_codes": 2, "address_requests": 4, "trusted_proxies": ["127.0.0.0/8"]}
    clock = Clock(utc_now())
    async with databases() as url, house(url, clock=clock, shows_present=True, **settings) as opened:
        clock.now = utc_now()
        headers = from_address(opened, next(ADDRESSES))

        async def claim() -> httpx.Response:
            return await opened.call("POST", "/displaypairing/claim", headers, json={"deviceCode": "unknown"})

        answers = [await claim() for _ in range(5)]
        assert "address-code" in answers[3].json()["error"]
        assert "address-code" in answers[4].json()["error"]
        assert answers[4].headers["retry-after"] == answers[3].headers["retry-after"]
        clock.now += timedelta(seconds=int(answers[4].headers["retry-after"]))
        assert (await claim()).status_code != 429
