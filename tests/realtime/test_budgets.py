"""Request budgets: token buckets in one process and in Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
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
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.metrics import RATE_LIMIT_REJECTIONS
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.templates.template_sharing import UNITS_PER_ATTEMPT, AddressCharge
from wattgate.principal import Principal, Role
from wattgate.rate_limit.address_limits import NETWORK_FACTOR, AddressLimits
from wattgate.rate_limit.budgets import (
    FULL_BUCKET,
    UNLIMITED_BUDGETS,
    Balance,
    BucketStore,
    Budgets,
    LocalBucketStore,
    RateBucket,
    build_balance,
    charge_buckets,
    rate_limit_headers,
    rate_limited_error,
)
from wattgate.rate_limit.redis_budgets import RedisBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits, RateLimitScope, rate_limit_scopes
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis_client import RedisClient
from wattgate.requests.client import AddressPolicy, Client
from wattgate.rest_compat.call_charge import cost_of_call
from wattgate.rest_compat.routes import build_routes

TEN = Allowance(10, 1.0)
LIMITS = BudgetLimits(caller=Allowance(100, 10.0), application=Allowance(1_000, 100.0))


def make_scope(allowance: Allowance = TEN, policy: str = "login") -> RateLimitScope:
    return RateLimitScope(policy, f"{{app}}:{policy}:{uuid4()}", allowance)


async def charge_until(charge: Callable[[], Awaitable[Balance]], reached: Callable[[Balance], bool]) -> None:
    """Repeat a charge until its balance meets the condition."""
    async with asyncio.timeout(60):
        while not reached(await charge()):  # noqa: ASYNC110 (there is no event: it is in Redis)
            await asyncio.sleep(0.02)


# The pure function. Eighths of seconds and of units are exact in floating point.

ALLOWANCES = st.builds(Allowance, st.integers(1, 50), st.integers(1, 80).map(lambda eighths: eighths / 8))
SPENDINGS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 60)), max_size=40)


@given(st.lists(ALLOWANCES, min_size=1, max_size=3), SPENDINGS)
def test_buckets_agree_with_a_naive_simulation(allowances: list[Allowance], spendings: list[tuple[int, int]]) -> None:
    scopes = [make_scope(allowance) for allowance in allowances]
    levels = [Fraction(allowance.capacity) for allowance in allowances]
    buckets: Sequence[RateBucket] = [FULL_BUCKET] * len(scopes)
    now = 1000.0
    for eighths, cost in spendings:
        now += eighths / 8
        levels = [
            min(Fraction(allowance.capacity), level + Fraction(eighths, 8) * Fraction(allowance.per_second))
            for level, allowance in zip(levels, allowances, strict=True)
        ]
        expected = all(level >= cost for level in levels)
        if expected:
            levels = [level - cost for level in levels]
        granted, buckets = charge_buckets(buckets, scopes, cost, now)
        assert granted is expected
        remaining = [allowance.capacity - bucket.deficit for allowance, bucket in zip(allowances, buckets, strict=True)]
        assert remaining == [float(level) for level in levels]


@given(ALLOWANCES, st.integers(0, 50), st.integers(1, 50))
def test_balance_predicts_when_a_cost_is_granted(allowance: Allowance, first: int, cost: int) -> None:
    first, cost = min(first, allowance.capacity), min(cost, allowance.capacity)
    scopes = [make_scope(allowance)]
    _, buckets = charge_buckets([FULL_BUCKET], scopes, first, 1000.0)
    granted, after = charge_buckets(buckets, scopes, cost, 1000.0)
    balance = build_balance(scopes, [after[0].deficit], cost, granted=granted)
    assert balance.limit == allowance.capacity
    assert balance.remaining == allowance.capacity - first - (cost if granted else 0)
    assert charge_buckets(after, scopes, allowance.capacity, 1000.0 + balance.reset)[0]
    if balance.reset:
        assert not charge_buckets(after, scopes, allowance.capacity, 1000.0 + balance.reset - 1)[0]
    assert (balance.retry_after == 0) is granted
    if not granted:
        assert charge_buckets(after, scopes, cost, 1000.0 + balance.retry_after)[0]
        assert not charge_buckets(after, scopes, cost, 1000.0 + balance.retry_after - 1)[0]


def test_bucket_does_not_refill_while_the_clock_is_set_back() -> None:
    scopes = [make_scope()]
    _, buckets = charge_buckets([FULL_BUCKET], scopes, 10, 1000.0)
    granted, buckets = charge_buckets(buckets, scopes, 1, 400.0)
    assert not granted
    assert charge_buckets(buckets, scopes, 5, 405.0)[0]


# Both stores give the same guarantees.


@pytest.fixture
async def commands(redis: RedisServer) -> AsyncIterator[RedisClient]:
    client = RedisClient(create_finder(redis.url))
    yield client
    await client.close()


@dataclass
class StoreUnderTest:
    """A bucket store and its clock."""

    store: BucketStore
    clock: Clock

    async def spend(self, cost: int, *scopes: RateLimitScope, is_done: bool = False, refused: int = 0) -> Balance:
        return await self.store.spend(scopes, cost, is_done=is_done, refused=refused)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += timedelta(seconds=seconds)


@pytest.fixture(params=["memory", "redis"])
def under_test(request: pytest.FixtureRequest, commands: RedisClient) -> StoreUnderTest:
    clock = Clock()
    local = LocalBucketStore(clock)
    return StoreUnderTest(
        local if request.param == "memory" else RedisBucketStore(BestEffortRedis(commands), local, clock), clock
    )


async def test_address_is_limited_and_gets_refunds(under_test: StoreUnderTest) -> None:
    limits = AddressLimits({AddressPolicy.LOGIN: Allowance(2, 0.5)}, under_test.store)
    client, other = Client(address=uuid4().hex), Client(address=uuid4().hex)
    for _ in range(5):
        await limits.charge(AddressPolicy.LOGIN, client)
        await limits.refund(AddressPolicy.LOGIN, client)
    for _ in range(2):
        await limits.charge(AddressPolicy.LOGIN, client)
    with pytest.raises(RateLimited) as refused:
        await limits.charge(AddressPolicy.LOGIN, client)
    assert refused.value.retry_after == 2
    await limits.charge(AddressPolicy.LOGIN, other)
    under_test.pass_time(2)
    await limits.charge(AddressPolicy.LOGIN, client)


async def test_address_pays_for_work_that_is_done(under_test: StoreUnderTest) -> None:
    """An attempt pays for the first units of a preview. A preview above the attempts is a debt, and then refused."""
    limits = AddressLimits({AddressPolicy.SHARED_PREVIEW: Allowance(3, 0.5)}, under_test.store)
    site = uuid4().hex
    clients = [Client(address=f"{site}:{number}/64", network=site) for number in range(NETWORK_FACTOR)]
    first, others = clients[0], clients[1:]
    await limits.charge(AddressPolicy.SHARED_PREVIEW, first)
    charge = AddressCharge(limits, AddressPolicy.SHARED_PREVIEW, first)
    await charge.add_units(UNITS_PER_ATTEMPT - 1)
    await charge.add_units(2 * UNITS_PER_ATTEMPT + 1)  # together three attempts: four of three are used
    for refused in (charge.check_work(), charge.add_units(1), limits.charge(AddressPolicy.SHARED_PREVIEW, first)):
        with pytest.raises(RateLimited) as error:
            await refused
        assert (error.value.retry_after or 0) >= 2
    await limits.check(AddressPolicy.SHARED_PREVIEW, Client(address=uuid4().hex))
    under_test.pass_time(2)
    await charge.check_work()
    for other in others:  # their network has used 4 of its 12 attempts, and these have refilled
        await limits.check(AddressPolicy.SHARED_PREVIEW, other)
        await limits.charge_done(AddressPolicy.SHARED_PREVIEW, other, 3)
    await limits.check(AddressPolicy.SHARED_PREVIEW, others[0])
    await limits.charge_done(AddressPolicy.SHARED_PREVIEW, others[0], 4)  # the network has used 13
    with pytest.raises(RateLimited):
        await limits.check(AddressPolicy.SHARED_PREVIEW, others[1])


async def test_network_of_many_addresses_is_limited_and_gets_refunds(under_test: StoreUnderTest) -> None:
    limits = AddressLimits({AddressPolicy.LOGIN: Allowance(2, 0.5)}, under_test.store)
    sites = [uuid4().hex, uuid4().hex]
    clients = [Client(address=f"{sites[0]}:{number}/64", network=sites[0]) for number in range(2 * NETWORK_FACTOR + 1)]
    for client in clients:
        await limits.charge(AddressPolicy.LOGIN, client)
        await limits.refund(AddressPolicy.LOGIN, client)
    for client in clients[:-1]:
        await limits.charge(AddressPolicy.LOGIN, client)
    with pytest.raises(RateLimited):
        await limits.charge(AddressPolicy.LOGIN, clients[-1])
    under_test.pass_time(1)  # the network refills as many times faster as it is larger
    for client in (clients[-1], clients[-1]):
        await limits.charge(AddressPolicy.LOGIN, client)
    with pytest.raises(RateLimited):  # the refused charge took nothing from the network, and the address has its own
        await limits.charge(AddressPolicy.LOGIN, clients[-1])
    await limits.charge(AddressPolicy.LOGIN, Client(address=f"{sites[1]}:0/64", network=sites[1]))
    await limits.charge(AddressPolicy.LOGIN, Client(address=f"{sites[0]}:0"))  # IPv4 has no network


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.5])
async def test_refund_fills_the_bucket_at_most(
    under_test: StoreUnderTest, delay: float, caplog: pytest.LogCaptureFixture
) -> None:
    scope = make_scope(Allowance(2, 0.5))
    await under_test.spend(1, scope)
    under_test.pass_time(delay)  # some of the charge has been refilled when the refund arrives
    assert (await under_test.spend(-1, scope)).remaining == 2
    assert (await under_test.spend(-1, scope)).remaining == 2
    assert (await under_test.spend(2, scope)).granted
    assert not (await under_test.spend(1, scope)).granted
    assert "Redis does not answer" not in caplog.text


async def test_work_of_the_gateway_itself_and_other_policies_have_no_limit(under_test: StoreUnderTest) -> None:
    limits = AddressLimits({AddressPolicy.LOGIN: Allowance(1, 1.0)}, under_test.store)
    for _ in range(3):
        await limits.charge(AddressPolicy.LOGIN, Client())
        await limits.charge(AddressPolicy.CODE, Client(address="198.51.100.1"))


async def test_bucket_refills_with_time_up_to_its_capacity(under_test: StoreUnderTest) -> None:
    scope = make_scope()
    assert (await under_test.spend(7, scope)).granted
    balance = await under_test.spend(5, scope)
    assert (balance.granted, balance.remaining, balance.retry_after, balance.reset) == (False, 3, 2, 7)
    under_test.pass_time(2)
    assert (await under_test.spend(5, scope)).remaining == 0
    under_test.pass_time(3600)
    assert (await under_test.spend(0, scope)).remaining == 10
    assert (await under_test.spend(10, scope)).granted
    assert not (await under_test.spend(1, scope)).granted


async def test_work_that_is_done_is_charged_above_the_capacity(under_test: StoreUnderTest) -> None:
    large, small = make_scope(Allowance(100, 10.0)), make_scope()
    balance = await under_test.spend(25, large, small, is_done=True)
    assert (balance.granted, balance.remaining) == (True, 75)
    balance = await under_test.spend(0, large, small)
    assert (balance.granted, balance.remaining, balance.retry_after) == (False, 0, 15)
    assert (await under_test.spend(25, large)).granted
    under_test.pass_time(15)
    assert (await under_test.spend(0, small)).granted
    assert not (await under_test.spend(1, small)).granted
    under_test.pass_time(1)
    assert (await under_test.spend(1, small)).granted


async def test_charge_of_done_work_states_when_a_refused_cost_is_granted(under_test: StoreUnderTest) -> None:
    large, small = make_scope(Allowance(100, 10.0)), make_scope(policy="application")
    balance = await under_test.spend(7, large, small, is_done=True, refused=9)
    assert (balance.granted, balance.policy, balance.cost) == (False, "application", 9)
    assert (balance.remaining, balance.retry_after) == (3, 6)
    assert not (await under_test.spend(4, small)).granted
    under_test.pass_time(6)
    assert (await under_test.spend(9, large, small)).granted


async def test_balance_describes_the_bucket(under_test: StoreUnderTest) -> None:
    balance = await under_test.spend(3, make_scope(Allowance(50_000, 50_000 / 60), "login"))
    assert balance == Balance(
        granted=True,
        cost=3,
        remaining=49_997,
        reset=1,
        retry_after=0,
        limit=50_000,
        window=60,
        policy="login",
    )


async def test_all_scopes_are_charged_or_none(under_test: StoreUnderTest) -> None:
    caller, application = make_scope(Allowance(10, 1.0), "login"), make_scope(Allowance(25, 5.0), "application")
    others = [make_scope(Allowance(10, 1.0), "login") for _ in range(2)]
    for other in others:
        assert (await under_test.spend(10, other, application)).granted
    rejected = await under_test.spend(10, caller, application)
    assert (rejected.granted, rejected.policy, rejected.remaining, rejected.retry_after) == (False, "application", 5, 1)
    assert (await under_test.spend(0, caller)).remaining == 10
    assert (await under_test.spend(5, caller, application)).remaining == 5
    rejected = await under_test.spend(6, caller, application)
    assert (rejected.policy, rejected.retry_after) == ("application", 2)
    under_test.pass_time(1)
    rejected = await under_test.spend(10, caller, application)
    assert (rejected.policy, rejected.remaining, rejected.retry_after) == ("login", 6, 4)
    assert (await under_test.spend(5, application)).granted, "a rejected cost is charged to no scope"


async def test_concurrent_charges_do_not_exceed_the_bucket(under_test: StoreUnderTest) -> None:
    one = make_scope(Allowance(50, 0.001))
    balances = await asyncio.gather(*(under_test.spend(1, one) for _ in range(200)))
    assert sum(one.granted for one in balances) == 50
    assert sorted(one.remaining for one in balances if one.granted) == list(range(50))


@given(spendings=SPENDINGS)
async def test_redis_script_agrees_with_the_python_function(
    spendings: list[tuple[int, int]], redis: RedisServer
) -> None:
    scopes = [make_scope(Allowance(20, 2.125)), make_scope(Allowance(33, 0.375))]
    clock, commands = Clock(), RedisClient(create_finder(redis.url))
    local, shared = (
        LocalBucketStore(clock),
        RedisBucketStore(BestEffortRedis(commands), LocalBucketStore(Clock()), clock),
    )
    for eighths, cost in spendings:
        clock.now += timedelta(seconds=eighths / 8)
        assert await shared.spend(scopes, cost) == await local.spend(scopes, cost)
    await commands.close()


# The store in Redis.


async def test_gateways_on_one_redis_share_a_bucket(redis: RedisServer, commands: RedisClient) -> None:
    other_client = RedisClient(create_finder(redis.url))
    one = make_scope(Allowance(100, 0.001))
    gateways = [RedisBucketStore(BestEffortRedis(client), LocalBucketStore()) for client in (commands, other_client)]
    balances = await asyncio.gather(*(gateways[n % 2].spend([one], 3) for n in range(300)))
    assert sum(one.granted for one in balances) == 33
    await other_client.close()


async def test_key_in_redis_expires_when_its_bucket_is_full(redis: RedisServer, commands: RedisClient) -> None:
    scope = make_scope(Allowance(1_000, 10.0))
    store = RedisBucketStore(BestEffortRedis(commands), LocalBucketStore())
    await store.spend([scope], 500)
    key = f"{{wattgate}}:budget:{scope.key}"
    assert 45_000 < await redis.command("PTTL", key) <= 50_000
    await store.spend([scope], 500)
    assert 95_000 < await redis.command("PTTL", key) <= 100_000
    full = make_scope()
    await store.spend([full], 0)
    assert await redis.command("EXISTS", f"{{wattgate}}:budget:{full.key}") == 0


async def test_buckets_of_one_application_share_a_hash_tag() -> None:
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="a", token_id="t")
    assert {scope.key.partition("}")[0] for scope in rate_limit_scopes(caller, LIMITS)} == {"{app"}


async def test_shared_buckets_use_the_clock_of_redis(commands: RedisClient) -> None:
    scope = make_scope(Allowance(1_000, 1_000.0))
    slow = Clock()
    store = RedisBucketStore(BestEffortRedis(commands), LocalBucketStore(slow))
    assert (await store.spend([scope], 1_000)).granted
    await charge_until(lambda: store.spend([scope], 100), lambda balance: balance.granted)


async def test_gateway_uses_its_own_buckets_while_redis_is_unavailable(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    scope, commands = make_scope(Allowance(10, 0.001)), RedisClient(create_finder(own_redis.url))
    store = RedisBucketStore(BestEffortRedis(commands, retry_seconds=0.05), LocalBucketStore())
    assert (await store.spend([scope], 8)).remaining == 2
    await own_redis.kill(keep_data=False)
    assert not (await store.spend([scope], 4)).granted, "the outage does not fill a bucket that this gateway has seen"
    assert (await store.spend([scope], 1)).remaining == 1
    unseen = make_scope(Allowance(10, 0.001))
    assert (await store.spend([unseen], 4)).remaining == 6
    assert not (await store.spend([unseen], 7)).granted
    assert caplog.text.count("Redis does not answer") == 1
    await own_redis.start()
    await charge_until(
        lambda: store.spend([scope], 0), lambda balance: balance.remaining == 10
    )  # the new Redis has no charges
    await commands.close()


# The store of one process.


async def test_local_store_has_a_maximum_of_buckets() -> None:
    store = LocalBucketStore(Clock(), max_buckets=50)
    scopes = [make_scope() for _ in range(80)]
    for scope in scopes:
        await store.spend([scope], 10)
        assert len(store) <= 50
    assert (await store.spend([scopes[-1]], 1)).remaining == 0
    assert (await store.spend([scopes[0]], 1)).remaining == 9, "its bucket was dropped, and so is full"


async def test_local_store_drops_full_buckets() -> None:
    clock = Clock()
    store = LocalBucketStore(clock)
    for _ in range(100):
        await store.spend([make_scope()], 5)
    assert len(store) == 100
    clock.now += timedelta(seconds=5)
    for _ in range(20):
        await store.spend([make_scope()], 5)
    assert len(store) == 20


# Scopes.


def scopes_of(principal: Principal, limits: BudgetLimits = LIMITS) -> list[tuple[str, str, int]]:
    return [(scope.policy, scope.key, scope.allowance.capacity) for scope in rate_limit_scopes(principal, limits)]


def test_scopes_of_a_request_depend_on_its_caller() -> None:
    phone = Principal(Role.ACCOUNT, application_id="app", account_id="ada", user_id="u", token_id="phone")
    display = Principal(Role.ACCOUNT, application_id="app", account_id="ada", user_id="u", token_id="display")
    password = Principal(Role.ADMINISTRATOR, application_id="app", account_id="ada", user_id="u")
    account, application = ("account", "{app}:account:ada", 400), ("application", "{app}:application:", 1_000)
    assert scopes_of(phone) == [("login", "{app}:login:phone", 100), account, application]
    assert scopes_of(display) == [("login", "{app}:login:display", 100), account, application]
    assert scopes_of(password) == [("login", "{app}:login:password:ada", 100), account, application]
    acting = Principal(Role.APPLICATION, application_id="app", user_id="u")
    assert scopes_of(acting) == [("user", "{app}:user:u", 100), application]
    credential = Principal(Role.APPLICATION, application_id="app")
    assert scopes_of(credential) == [("credential", "{app}:credential:", 500), application]
    assert scopes_of(Principal(Role.ANONYMOUS, application_id="app")) == [("anonymous", "{app}:anonymous:", 1_000)]
    assert scopes_of(Principal(Role.ANONYMOUS)) == [("anonymous", "{}:anonymous:", 1_000)]
    assert scopes_of(Principal(Role.SYSTEM, application_id="app")) == []


def test_scopes_without_a_limit_are_omitted() -> None:
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="ada", token_id="phone")
    assert scopes_of(caller, BudgetLimits(None, None)) == []
    assert [policy for policy, *_ in scopes_of(caller, BudgetLimits(LIMITS.caller, None))] == ["login", "account"]
    assert [policy for policy, *_ in scopes_of(caller, BudgetLimits(None, LIMITS.application))] == ["application"]


async def test_settings_define_the_budgets(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'one.sqlite3'}"
    settings = Settings(
        _env_file=None, database_url=url, caller_budget=600, application_budget=0, caller_budget_seconds=30
    )
    gateway = build_gateway(settings)
    assert gateway.budgets.limits == BudgetLimits(Allowance(600, 20.0), None)
    await gateway.database.close()


async def test_cost_above_the_capacity_raises_cost_too_high() -> None:
    budgets = Budgets(LIMITS, LocalBucketStore(Clock()))
    caller = Principal(Role.ACCOUNT, application_id="app", account_id="ada", token_id="phone")
    with pytest.raises(CostTooHigh) as error:
        await budgets.charge(caller, 101)
    assert error.value.message == "This request costs 101, but the budget holds at most 100. Request less data at once."
    assert (error.value.status, error.value.retryable) == (400, False)
    balance = await budgets.charge(caller, 100)
    assert balance is not None
    assert balance.granted
    assert await UNLIMITED_BUDGETS.charge(caller, 10**12) is None


async def test_rejections_are_counted_by_policy() -> None:
    budgets = Budgets(LIMITS, LocalBucketStore(Clock()))
    caller = Principal(Role.ACCOUNT, application_id=str(uuid4()), account_id="ada", token_id="phone")
    counter = RATE_LIMIT_REJECTIONS.labels("login")
    before = counter._value.get()
    balances = [await budgets.charge(caller, 60) for _ in range(3)]
    assert [balance.granted for balance in balances if balance] == [True, False, False]
    assert counter._value.get() - before == 2


def test_balances_in_headers_and_errors() -> None:
    granted = Balance(True, 3, 97, 2, 0, 100, 60, "login")
    assert rate_limit_headers(granted) == {
        "RateLimit-Policy": '"login";q=100;w=60',
        "RateLimit": '"login";r=97;t=2',
    }
    rejected = Balance(False, 50, 10, 54, 24, 100, 60, "login")
    assert rate_limit_headers(rejected)["RateLimit"] == '"login";r=10;t=24'
    assert rate_limit_headers(None) == {}
    error = rate_limited_error(rejected)
    assert (error.status, error.retry_after) == (429, 24)
    assert error.message == "This request costs 50, but the budget 'login' has 10 of 100 left. Retry in 24 s."


# Over HTTP.

GET_COST, RESET_COST = (cost_of_call(operation(name), {}) for name in ("resource", "request_password_reset"))
"""Costs of the requests for one resource, and for a password reset."""


@dataclass
class LimitedGateway:
    """A gateway whose budget permits three requests for a resource, and one more every ten seconds."""

    house: House
    http: httpx.AsyncClient
    clock: Clock

    async def get(self, headers: dict[str, str], path: str = "") -> httpx.Response:
        """Request a path or, by default, a resource of the first tenant. Its cost depends on no length of a list."""
        return await self.http.get(path or f"/resource/{self.house.one.ids['resource']}", headers=headers)

    async def reset_password(self, application_id: str) -> httpx.Response:
        """Send a request without credentials."""
        body = {"username": "nobody@example.org"}
        return await self.http.post("/user/resetpassword", headers={"applicationId": application_id}, json=body)


async def first_rejected(send_request: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send requests until one is rejected, and return its response."""
    for _ in range(100):
        response = await send_request()
        if response.status_code == 429:
            return response
    raise AssertionError("no request was rejected")


@pytest.fixture
async def limited(served: House) -> AsyncIterator[LimitedGateway]:
    gateway, clock = served.gateway, Clock()
    limits = BudgetLimits(Allowance(3 * GET_COST, GET_COST / 10), Allowance(60 * RESET_COST, RESET_COST))
    routes = build_routes(
        OPERATIONS,
        runner=gateway.runner,
        schema=gateway.schema,
        authenticate=gateway.authenticator.authenticate,
        budgets=Budgets(limits, LocalBucketStore(clock)),
    )
    async with (
        serving(Starlette(routes=routes)) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as http,
    ):
        yield LimitedGateway(served, http, clock)


async def test_rest_reports_the_rest_of_the_budget_and_rejects_with_retry_after(limited: LimitedGateway) -> None:
    headers = {"token": await limited.house.one.add_token()}
    responses = [await limited.get(headers) for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    assert [response.headers["RateLimit"] for response in responses] == [
        f'"login";r={2 * GET_COST};t=10',
        f'"login";r={GET_COST};t=20',
        '"login";r=0;t=30',
        '"login";r=0;t=10',
    ]
    assert {response.headers["RateLimit-Policy"] for response in responses} == {f'"login";q={3 * GET_COST};w=30'}
    rejected = responses[-1]
    assert rejected.headers["Retry-After"] == "10"
    body = rejected.json()
    assert (body["code"], body["retryable"], body["retryAfter"]) == ("RATE_LIMITED", True, 10)
    limited.clock.now += timedelta(seconds=10)
    assert (await limited.get(headers)).status_code == 200
    assert (await limited.get(headers)).status_code == 429


async def test_failed_request_reports_the_rest_of_the_budget(limited: LimitedGateway) -> None:
    headers = {"token": await limited.house.one.add_token()}
    response = await limited.get(headers, "/resource/unknown")
    header = f'"login";r={2 * GET_COST};t=10'
    assert (response.status_code, response.headers["RateLimit"]) == (404, header)


async def test_runaway_display_does_not_use_the_budget_of_the_phone(limited: LimitedGateway) -> None:
    tenant = limited.house.one
    display, phone = {"token": await tenant.add_token()}, {"token": await tenant.add_token()}
    rejected = await first_rejected(lambda: limited.get(display))
    assert rejected.headers["RateLimit-Policy"].startswith('"login"')
    assert (await limited.get(phone)).status_code == 200
    for _ in range(20):
        assert (await limited.get(display)).status_code == 429
    assert (await limited.get(phone)).status_code == 200, "rejected requests cost nothing"


@pytest.mark.long("many log-ins; other budgets stay in the short form")
async def test_more_log_ins_do_not_raise_the_budget_of_an_account(limited: LimitedGateway) -> None:
    tenant = limited.house.one
    tokens = [{"token": await tenant.add_token()} for _ in range(5)]
    responses = [await limited.get(headers) for headers in tokens for _ in range(3)]
    assert sum(response.status_code == 200 for response in responses) == 12
    assert responses[-1].headers["RateLimit-Policy"] == f'"account";q={12 * GET_COST};w=30'


async def test_anonymous_callers_do_not_use_the_budget_of_authenticated_ones(limited: LimitedGateway) -> None:
    tenant, other_tenant = limited.house.one, limited.house.other
    rejected = await first_rejected(lambda: limited.reset_password(tenant.application_id))
    assert rejected.headers["RateLimit-Policy"] == f'"anonymous";q={60 * RESET_COST};w=60'
    assert (await limited.get(tenant.headers["account"])).status_code == 200
    assert (await limited.reset_password(other_tenant.application_id)).status_code == 200


async def test_unknown_applications_share_one_budget(limited: LimitedGateway) -> None:
    responses = [await limited.reset_password(str(uuid4())) for _ in range(61)]
    assert [response.status_code == 429 for response in responses] == [False] * 60 + [True]
    assert (await limited.reset_password(limited.house.one.application_id)).status_code == 200


async def test_web_pages_can_read_the_rate_limit_headers(served: House) -> None:
    headers = {"token": await served.one.add_token(), "Origin": "https://app.example"}
    response = await served.call("GET", f"/resource/{served.one.ids['resource']}", headers)
    exposed = {name.strip() for name in response.headers["access-control-expose-headers"].split(",")}
    assert {"RateLimit", "RateLimit-Policy", "Retry-After"} <= exposed
    assert response.headers["RateLimit-Policy"] == f'"login";q={CALLER_BUDGET};w=300'
    assert response.headers["RateLimit"].startswith(f'"login";r={CALLER_BUDGET - GET_COST};t=')


def test_window_is_in_whole_seconds() -> None:
    assert [Allowance(capacity, rate).window for capacity, rate in ((50_000, 50_000 / 60), (1, 100.0), (7, 2.0))] == [
        60,
        1,
        ceil(3.5),
    ]
