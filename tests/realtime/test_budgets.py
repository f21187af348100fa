"""Budgets: token buckets that are spent by cost, of one process and of many."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from math import ceil
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from tests.support.house import CALLER_BUDGET, House, operation
from tests.support.redis_server import RedisServer
from tests.support.servers import serving
from tests.support.timed import Clock
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.errors import CostTooHigh
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.cost.estimate import cost_of_call
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.principal import Principal, Role
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.redis_client import RedisClient
from wattgate.realtime.rate_limit.budgets import (
    FULL_BUCKET,
    UNLIMITED_BUDGETS,
    Balance,
    BucketStore,
    Budgets,
    LocalBucketStore,
    build_balance,
    charge_buckets,
    rate_limit_headers,
    rate_limited_error,
)
from wattgate.realtime.rate_limit.redis_budgets import RedisBucketStore
from wattgate.realtime.rate_limit.scopes import Allowance, BudgetLimits, RateLimitScope, rate_limit_scopes
from wattgate.realtime.server_address import ServerAddress
from wattgate.rest_compat.routes import build_routes

TEN = Allowance(10, 1.0)
TERMS = BudgetLimits(caller=Allowance(100, 10.0), application=Allowance(1_000, 100.0))


def payer(allowance: Allowance = TEN, policy: str = "login") -> RateLimitScope:
    return RateLimitScope(policy, f"{{app}}:{policy}:{uuid4()}", allowance)


async def until(ask: Callable[[], Awaitable[Balance]], reached: Callable[[Balance], bool]) -> None:
    """Ask until what is told is enough."""
    async with asyncio.timeout(15):
        while not reached(await ask()):  # noqa: ASYNC110 (there is no event: it is in Redis)
            await asyncio.sleep(0.02)


# The pure function. Eighths of seconds and of units are exact in floating point.

ALLOWANCES = st.builds(Allowance, st.integers(1, 50), st.integers(1, 80).map(lambda eighths: eighths / 8))
SPENDINGS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 60)), max_size=40)


@given(st.lists(ALLOWANCES, min_size=1, max_size=3), SPENDINGS)
def test_buckets_hold_what_a_naive_simulation_of_them_holds(
    allowances: list[Allowance], spendings: list[tuple[int, int]]
) -> None:
    payers = [payer(one) for one in allowances]
    levels = [Fraction(one.capacity) for one in allowances]
    buckets, now = (FULL_BUCKET,) * len(payers), 1000.0
    for eighths, cost in spendings:
        now += eighths / 8
        levels = [
            min(Fraction(one.capacity), level + Fraction(eighths, 8) * Fraction(one.per_second))
            for level, one in zip(levels, allowances, strict=True)
        ]
        expected = all(level >= cost for level in levels)
        if expected:
            levels = [level - cost for level in levels]
        granted, buckets = charge_buckets(buckets, payers, cost, now)
        assert granted is expected
        left = [one.capacity - bucket.deficit for one, bucket in zip(allowances, buckets, strict=True)]
        assert left == [float(level) for level in levels]


@given(ALLOWANCES, st.integers(0, 50), st.integers(1, 50))
def test_what_is_told_of_the_future_comes_true(allowance: Allowance, first: int, cost: int) -> None:
    first, cost = min(first, allowance.capacity), min(cost, allowance.capacity)
    payers = [payer(allowance)]
    _, buckets = charge_buckets([FULL_BUCKET], payers, first, 1000.0)
    granted, after = charge_buckets(buckets, payers, cost, 1000.0)
    told = build_balance(payers, [after[0].deficit], cost, granted=granted)
    assert told.limit == allowance.capacity
    assert told.remaining == allowance.capacity - first - (cost if granted else 0)
    assert charge_buckets(after, payers, allowance.capacity, 1000.0 + told.reset)[0]
    if told.reset:
        assert not charge_buckets(after, payers, allowance.capacity, 1000.0 + told.reset - 1)[0]
    assert (told.retry_after == 0) is granted
    if not granted:
        assert charge_buckets(after, payers, cost, 1000.0 + told.retry_after)[0]
        assert not charge_buckets(after, payers, cost, 1000.0 + told.retry_after - 1)[0]


def test_nothing_flows_in_while_a_clock_is_put_back_and_then_it_does() -> None:
    payers = [payer()]
    _, buckets = charge_buckets([FULL_BUCKET], payers, 10, 1000.0)
    granted, buckets = charge_buckets(buckets, payers, 1, 400.0)
    assert not granted
    assert charge_buckets(buckets, payers, 5, 405.0)[0]


# One process and many: the same promises.


@pytest.fixture
async def commands(redis: RedisServer) -> AsyncIterator[RedisClient]:
    made = RedisClient(ServerAddress.from_redis_url(redis.url))
    yield made
    await made.close()


@dataclass
class Kept:
    """Buckets, and the clock that they go by."""

    buckets: BucketStore
    clock: Clock

    async def spend(self, cost: int, *payers: RateLimitScope) -> Balance:
        return await self.buckets.spend(payers, cost)

    def wait(self, seconds: float) -> None:
        self.clock.now += timedelta(seconds=seconds)


@pytest.fixture(params=["memory", "redis"])
def kept(request: pytest.FixtureRequest, commands: RedisClient) -> Kept:
    clock = Clock()
    local = LocalBucketStore(clock)
    return Kept(
        local if request.param == "memory" else RedisBucketStore(BestEffortRedis(commands), local, clock), clock
    )


async def test_what_was_spent_comes_back_with_time_and_no_more_than_that(kept: Kept) -> None:
    one = payer()
    assert (await kept.spend(7, one)).granted
    told = await kept.spend(5, one)
    assert (told.granted, told.remaining, told.retry_after, told.reset) == (False, 3, 2, 7)
    kept.wait(2)
    assert (await kept.spend(5, one)).remaining == 0
    kept.wait(3600)
    assert (await kept.spend(0, one)).remaining == 10
    assert (await kept.spend(10, one)).granted
    assert not (await kept.spend(1, one)).granted


async def test_what_is_told_of_a_bucket(kept: Kept) -> None:
    told = await kept.spend(3, payer(Allowance(50_000, 50_000 / 60), "login"))
    assert told == Balance(
        granted=True,
        cost=3,
        remaining=49_997,
        reset=1,
        retry_after=0,
        limit=50_000,
        window=60,
        policy="login",
    )


async def test_all_who_pay_are_charged_or_none(kept: Kept) -> None:
    caller, application = payer(Allowance(10, 1.0), "login"), payer(Allowance(25, 5.0), "application")
    others = [payer(Allowance(10, 1.0), "login") for _ in range(2)]
    for one in others:
        assert (await kept.spend(10, one, application)).granted
    refused = await kept.spend(10, caller, application)
    assert (refused.granted, refused.policy, refused.remaining, refused.retry_after) == (False, "application", 5, 1)
    assert (await kept.spend(0, caller)).remaining == 10
    assert (await kept.spend(5, caller, application)).remaining == 5
    refused = await kept.spend(6, caller, application)
    assert (refused.policy, refused.retry_after) == ("application", 2)
    kept.wait(1)
    refused = await kept.spend(10, caller, application)
    assert (refused.policy, refused.remaining, refused.retry_after) == ("login", 6, 4)
    assert (await kept.spend(5, application)).granted, "nobody paid what was refused"


async def test_many_at_once_get_what_there_is_and_no_more(kept: Kept) -> None:
    one = payer(Allowance(50, 0.001))
    told = await asyncio.gather(*(kept.spend(1, one) for _ in range(200)))
    assert sum(one.granted for one in told) == 50
    assert sorted(one.remaining for one in told if one.granted) == list(range(50))


@given(spendings=SPENDINGS)
async def test_redis_counts_as_the_function_does(spendings: list[tuple[int, int]], redis: RedisServer) -> None:
    payers = [payer(Allowance(20, 2.125)), payer(Allowance(33, 0.375))]
    clock, commands = Clock(), RedisClient(ServerAddress.from_redis_url(redis.url))
    local, shared = (
        LocalBucketStore(clock),
        RedisBucketStore(BestEffortRedis(commands), LocalBucketStore(Clock()), clock),
    )
    for eighths, cost in spendings:
        clock.now += timedelta(seconds=eighths / 8)
        assert await shared.spend(payers, cost) == await local.spend(payers, cost)
    await commands.close()


# Many processes.


async def test_gateways_on_one_redis_cannot_spend_more_than_there_is_together(
    redis: RedisServer, commands: RedisClient
) -> None:
    others = RedisClient(ServerAddress.from_redis_url(redis.url))
    one = payer(Allowance(100, 0.001))
    gateways = [RedisBucketStore(BestEffortRedis(some), LocalBucketStore()) for some in (commands, others)]
    told = await asyncio.gather(*(gateways[n % 2].spend([one], 3) for n in range(300)))
    assert sum(one.granted for one in told) == 33
    await others.close()


async def test_a_bucket_is_gone_from_redis_when_it_is_full(redis: RedisServer, commands: RedisClient) -> None:
    one = payer(Allowance(1_000, 10.0))
    buckets = RedisBucketStore(BestEffortRedis(commands), LocalBucketStore())
    await buckets.spend([one], 500)
    key = f"wattgate:budget:{one.key}"
    assert 45_000 < await redis.command("PTTL", key) <= 50_000
    await buckets.spend([one], 500)
    assert 95_000 < await redis.command("PTTL", key) <= 100_000
    untouched = payer()
    await buckets.spend([untouched], 0)
    assert await redis.command("EXISTS", f"wattgate:budget:{untouched.key}") == 0


async def test_buckets_of_one_application_are_together_in_a_cluster() -> None:
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="a", token_id="t")
    assert {one.key.partition("}")[0] for one in rate_limit_scopes(caller, TERMS)} == {"{app"}


async def test_the_time_of_shared_buckets_is_that_of_redis(commands: RedisClient) -> None:
    one = payer(Allowance(1_000, 1_000.0))
    slow = Clock()
    buckets = RedisBucketStore(BestEffortRedis(commands), LocalBucketStore(slow))
    assert (await buckets.spend([one], 1_000)).granted
    await until(lambda: buckets.spend([one], 100), lambda told: told.granted)


async def test_while_redis_is_away_each_gateway_counts_for_itself(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    one, commands = payer(Allowance(10, 0.001)), RedisClient(ServerAddress.from_redis_url(own_redis.url))
    buckets = RedisBucketStore(BestEffortRedis(commands, retry_seconds=0.05), LocalBucketStore())
    assert (await buckets.spend([one], 8)).remaining == 2
    await own_redis.kill(keep_data=False)
    assert (await buckets.spend([one], 4)).remaining == 6, "its own bucket was full"
    assert (await buckets.spend([one], 4)).remaining == 2
    assert not (await buckets.spend([one], 4)).granted
    assert caplog.text.count("Redis does not answer") == 1
    await own_redis.start()
    await until(lambda: buckets.spend([one], 0), lambda told: told.remaining == 10)  # a new Redis knows of no spending
    await commands.close()


# What a process keeps.


async def test_a_process_keeps_so_many_buckets_and_no_more() -> None:
    buckets = LocalBucketStore(Clock(), max_buckets=50)
    payers = [payer() for _ in range(80)]
    for one in payers:
        await buckets.spend([one], 10)
        assert len(buckets) <= 50
    assert (await buckets.spend([payers[-1]], 1)).remaining == 0
    assert (await buckets.spend([payers[0]], 1)).remaining == 9, "it was forgotten, and so is full"


async def test_buckets_that_are_full_again_are_forgotten() -> None:
    clock = Clock()
    buckets = LocalBucketStore(clock)
    for _ in range(100):
        await buckets.spend([payer()], 5)
    assert len(buckets) == 100
    clock.now += timedelta(seconds=5)
    for _ in range(20):
        await buckets.spend([payer()], 5)
    assert len(buckets) == 20


# Who pays.


def told_of(principal: Principal, terms: BudgetLimits = TERMS) -> list[tuple[str, str, int]]:
    return [(one.policy, one.key, one.allowance.capacity) for one in rate_limit_scopes(principal, terms)]


def test_who_pays_for_a_request() -> None:
    phone = Principal(Role.ACCOUNT, application_id="app", account_id="ada", user_id="u", token_id="phone")
    display = Principal(Role.ACCOUNT, application_id="app", account_id="ada", user_id="u", token_id="display")
    password = Principal(Role.ADMINISTRATOR, application_id="app", account_id="ada", user_id="u")
    account, application = ("account", "{app}:account:ada", 400), ("application", "{app}:application:", 1_000)
    assert told_of(phone) == [("login", "{app}:login:phone", 100), account, application]
    assert told_of(display) == [("login", "{app}:login:display", 100), account, application]
    assert told_of(password) == [("login", "{app}:login:password:ada", 100), account, application]
    acting = Principal(Role.APPLICATION, application_id="app", user_id="u")
    assert told_of(acting) == [("user", "{app}:user:u", 100), application]
    credential = Principal(Role.APPLICATION, application_id="app")
    assert told_of(credential) == [("credential", "{app}:credential:", 500), application]
    assert told_of(Principal(Role.ANONYMOUS, application_id="app")) == [("anonymous", "{app}:anonymous:", 1_000)]
    assert told_of(Principal(Role.ANONYMOUS)) == [("anonymous", "{}:anonymous:", 1_000)]
    assert told_of(Principal(Role.SYSTEM, application_id="app")) == []


def test_where_no_limit_is_set_nobody_pays() -> None:
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="ada", token_id="phone")
    assert told_of(caller, BudgetLimits(None, None)) == []
    assert [policy for policy, *_ in told_of(caller, BudgetLimits(TERMS.caller, None))] == ["login", "account"]
    assert [policy for policy, *_ in told_of(caller, BudgetLimits(None, TERMS.application))] == ["application"]


async def test_the_settings_say_what_may_be_spent(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'one.sqlite3'}"
    settings = Settings(_env_file=None, database_url=url, caller_budget=600, application_budget=0, budget_seconds=30)
    gateway = build_gateway(settings)
    assert gateway.budgets.limits == BudgetLimits(Allowance(600, 20.0), None)
    await gateway.database.close()


async def test_a_cost_that_no_budget_holds_is_an_error_of_its_own() -> None:
    budgets = Budgets(TERMS, LocalBucketStore(Clock()))
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="ada", token_id="phone")
    with pytest.raises(CostTooHigh) as error:
        await budgets.charge(caller, 101)
    assert error.value.message == "This request costs 101, but the budget holds at most 100. Request less data at once."
    assert (error.value.status, error.value.retryable) == (400, False)
    told = await budgets.charge(caller, 100)
    assert told is not None
    assert told.granted
    assert await UNLIMITED_BUDGETS.charge(caller, 10**12) is None


async def test_refusals_are_counted_by_whose_budget_is_spent() -> None:
    budgets = Budgets(TERMS, LocalBucketStore(Clock()))
    caller = Principal(Role.ACCOUNT, application_id=str(uuid4()), account_id="ada", token_id="phone")
    counter = RATE_LIMIT_REJECTIONS.labels("login")
    before = counter._value.get()
    told = [await budgets.charge(caller, 60) for _ in range(3)]
    assert [one.granted for one in told if one] == [True, False, False]
    assert counter._value.get() - before == 2


def test_balances_in_headers_and_errors() -> None:
    granted = Balance(True, 3, 97, 2, 0, 100, 60, "login")
    assert rate_limit_headers(granted) == {
        "RateLimit-Policy": '"login";q=100;w=60',
        "RateLimit": '"login";r=97;t=2',
    }
    refused = Balance(False, 50, 10, 54, 24, 100, 60, "login")
    assert rate_limit_headers(refused)["RateLimit"] == '"login";r=10;t=24'
    assert rate_limit_headers(None) == {}
    error = rate_limited_error(refused)
    assert (error.status, error.retry_after) == (429, 24)
    assert error.message == "This request costs 50, but the budget 'login' has 10 of 100 left. Retry in 24 s."


# Over HTTP.

LIST, ONE, ASK = (cost_of_call(operation(name), {}) for name in ("resources", "resource", "request_password_reset"))
"""What it costs to ask for all resources, for one, and for a new password."""


@dataclass
class Limited:
    """A gateway whose callers may ask for their resources three times, and once more every ten seconds."""

    house: House
    http: httpx.AsyncClient
    clock: Clock

    async def get(self, headers: dict[str, str], path: str = "/resource") -> httpx.Response:
        return await self.http.get(path, headers=headers)

    async def ask(self, application_id: str) -> httpx.Response:
        """What somebody without credentials asks."""
        body = {"username": "nobody@example.org"}
        return await self.http.post("/user/resetpassword", headers={"applicationId": application_id}, json=body)


async def refused(asking: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """The first answer that is refused, of many."""
    for _ in range(100):
        answer = await asking()
        if answer.status_code == 429:
            return answer
    raise AssertionError("nothing was refused")


@pytest.fixture
async def limited(served: House) -> AsyncIterator[Limited]:
    gateway, clock = served.gateway, Clock()
    terms = BudgetLimits(Allowance(3 * LIST, LIST / 10), Allowance(60 * ASK, ASK))
    doors = build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        budgets=Budgets(terms, LocalBucketStore(clock)),
    )
    async with (
        serving(Starlette(routes=doors)) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as http,
    ):
        yield Limited(served, http, clock)


async def test_rest_tells_what_is_left_and_refuses_with_retry_after(limited: Limited) -> None:
    headers = {"token": await limited.house.one.add_token()}
    answers = [await limited.get(headers) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["RateLimit"] for answer in answers] == [
        f'"login";r={2 * LIST};t=10',
        f'"login";r={LIST};t=20',
        '"login";r=0;t=30',
        '"login";r=0;t=10',
    ]
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {f'"login";q={3 * LIST};w=30'}
    refused = answers[-1]
    assert refused.headers["Retry-After"] == "10"
    body = refused.json()
    assert (body["code"], body["retryable"], body["retryAfter"]) == ("RATE_LIMITED", True, 10)
    limited.clock.now += timedelta(seconds=10)
    assert (await limited.get(headers)).status_code == 200
    assert (await limited.get(headers)).status_code == 429


async def test_a_request_that_fails_after_it_was_paid_tells_what_is_left(limited: Limited) -> None:
    headers = {"token": await limited.house.one.add_token()}
    answer = await limited.get(headers, "/resource/unknown")
    told = f'"login";r={3 * LIST - ONE};t={ceil(ONE / LIST * 10)}'
    assert (answer.status_code, answer.headers["RateLimit"]) == (404, told)


async def test_a_display_that_runs_wild_leaves_the_phone_of_the_account_alone(limited: Limited) -> None:
    one = limited.house.one
    display, phone = {"token": await one.add_token()}, {"token": await one.add_token()}
    spent = await refused(lambda: limited.get(display))
    assert spent.headers["RateLimit-Policy"].startswith('"login"')
    assert (await limited.get(phone)).status_code == 200
    for _ in range(20):
        assert (await limited.get(display)).status_code == 429
    assert (await limited.get(phone)).status_code == 200, "what was refused cost nothing"


async def test_an_account_cannot_spend_more_by_logging_in_more(limited: Limited) -> None:
    one = limited.house.one
    tokens = [{"token": await one.add_token()} for _ in range(5)]
    answers = [await limited.get(headers) for headers in tokens for _ in range(3)]
    assert sum(answer.status_code == 200 for answer in answers) == 12
    assert answers[-1].headers["RateLimit-Policy"] == f'"account";q={12 * LIST};w=30'


async def test_callers_without_credentials_take_nothing_from_those_who_have_some(limited: Limited) -> None:
    one, other = limited.house.one, limited.house.other
    spent = await refused(lambda: limited.ask(one.application_id))
    assert spent.headers["RateLimit-Policy"] == f'"anonymous";q={60 * ASK};w=60'
    assert (await limited.get(one.headers["account"])).status_code == 200
    assert (await limited.ask(other.application_id)).status_code == 200


async def test_applications_that_there_are_not_share_one_budget(limited: Limited) -> None:
    answers = [await limited.ask(str(uuid4())) for _ in range(61)]
    assert [answer.status_code == 429 for answer in answers] == [False] * 60 + [True]
    assert (await limited.ask(limited.house.one.application_id)).status_code == 200


async def test_web_pages_may_read_what_is_left(served: House) -> None:
    headers = {"token": await served.one.add_token(), "Origin": "https://app.example"}
    answer = await served.call("GET", "/resource", headers)
    exposed = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert {"RateLimit", "RateLimit-Policy", "Retry-After"} <= exposed
    assert answer.headers["RateLimit-Policy"] == f'"login";q={CALLER_BUDGET};w=60'
    assert answer.headers["RateLimit"].startswith(f'"login";r={CALLER_BUDGET - LIST};t=')


def test_a_window_is_told_in_whole_seconds() -> None:
    assert [Allowance(capacity, rate).window for capacity, rate in ((50_000, 50_000 / 60), (1, 100.0), (7, 2.0))] == [
        60,
        1,
        ceil(3.5),
    ]
