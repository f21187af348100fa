"""Reservations of event streams are charged and bounded, and no caller takes one from another."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.credentials.cluster import Cluster, Holder
from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS
from tests.support.live import Settled, live_house, settled_in
from tests.support.redis_server import RedisServer
from wattgate.errors import RateLimited
from wattgate.graphql.transport.sse import RESERVATION_COST
from wattgate.principal import AuthScheme, Principal, Role
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis_client import RedisClient
from wattgate.realtime.connections.event_streams.redis_stream_reservations import RedisStreamReservations
from wattgate.realtime.connections.event_streams.stream_reservations import (
    MAX_OWNER_RESERVATIONS,
    RESERVATION_SECONDS,
    LocalStreamReservations,
    StreamReservation,
    StreamReservations,
)

NUMBERS = itertools.count()


class Clock:
    """A clock that a test can move, and that never gives the same time twice."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=10)
        return self.now


def reservation(account_id: str | None, *, application_id: str = "a", user_id: str | None = None) -> StreamReservation:
    caller = Principal(
        Role.ACCOUNT if account_id else Role.APPLICATION,
        AuthScheme.TOKEN,
        application_id=application_id,
        account_id=account_id,
        user_id=user_id,
        expires_at=datetime.now(UTC),
        oauth_scopes=frozenset({"read"}),
    )
    return StreamReservation(f"digest{next(NUMBERS)}", caller, "https://app.example")


def of_display(token_id: str, application_id: str) -> StreamReservation:
    of_account = reservation("account", application_id=application_id)
    return replace(of_account, principal=replace(of_account.principal, role=Role.DISPLAY, token_id=token_id))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["local", "redis"])
async def store(request: pytest.FixtureRequest, redis: RedisServer, clock: Clock) -> AsyncIterator[StreamReservations]:
    """A store with at most 2 reservations of an owner and 5 of an application, with and without Redis."""
    maxima = {"max_owner": 2, "max_application": 5}
    local = LocalStreamReservations(clock, **maxima)
    if request.param == "local":
        yield local
        return
    client = RedisClient(create_finder(redis.url))
    yield RedisStreamReservations(BestEffortRedis(client), local, clock, **maxima)
    assert len(local) == 0
    await client.close()


async def added(store: StreamReservations, *reservations: StreamReservation) -> None:
    for one in reservations:
        await store.add(one)


async def test_reservation_is_found_until_its_stream_opens(store: StreamReservations) -> None:
    mine = reservation("account", application_id=f"found{next(NUMBERS)}")
    assert await store.get(mine.digest) is None
    await store.add(mine)
    assert await store.get(mine.digest) == mine
    assert await store.take(mine)
    assert not await store.take(mine)
    assert await store.get(mine.digest) is None


async def test_owner_above_the_maximum_loses_its_own_oldest_reservation(store: StreamReservations) -> None:
    application_id = f"own{next(NUMBERS)}"
    theirs = [
        reservation(None, application_id=application_id),
        reservation(None, application_id=application_id, user_id="user"),
        reservation("neighbour", application_id=application_id),
    ]
    mine = [reservation("account", application_id=application_id) for _ in range(4)]
    await added(store, *theirs, *mine)
    found = [await store.get(one.digest) for one in (*theirs, *mine)]
    assert found == [*theirs, None, None, *mine[2:]]


async def test_application_above_the_maximum_is_refused_and_nobody_loses_one(store: StreamReservations) -> None:
    application_id = f"full{next(NUMBERS)}"
    kept = [reservation(f"account{n}", application_id=application_id) for n in range(5)]
    await added(store, *kept)
    with pytest.raises(RateLimited):
        await store.add(reservation("one more", application_id=application_id))
    other_tenant = reservation("account", application_id=f"other{next(NUMBERS)}")
    await store.add(other_tenant)
    assert [await store.get(one.digest) for one in (*kept, other_tenant)] == [*kept, other_tenant]
    assert await store.take(kept[0])
    await store.add(reservation("one more", application_id=application_id))


async def test_process_has_a_maximum_of_local_reservations() -> None:
    store = LocalStreamReservations(max_total=3)
    kept = [reservation(f"account{n}", application_id=f"a{n}") for n in range(3)]
    await added(store, *kept)
    with pytest.raises(RateLimited):
        await store.add(reservation("account3", application_id="a3"))
    assert [await store.get(one.digest) for one in kept] == kept


async def test_local_reservation_expires_and_leaves_nothing(clock: Clock) -> None:
    store = LocalStreamReservations(clock)
    mine = reservation("account")
    await store.add(mine)
    clock.now += timedelta(seconds=RESERVATION_SECONDS)
    assert await store.get(mine.digest) is None
    assert (len(store), store._owned, store._counts) == (0, {}, {})


async def test_local_reservations_do_not_fill_the_store_after_the_clock_was_set_back(clock: Clock) -> None:
    store = LocalStreamReservations(clock, max_total=2)
    await added(store, reservation("account0"), reservation("account1"))
    clock.now -= timedelta(hours=1)
    kept = [reservation(f"account{n}") for n in (2, 3)]
    await added(store, *kept)
    assert [await store.get(one.digest) for one in kept] == kept
    clock.now += timedelta(seconds=RESERVATION_SECONDS)
    assert await store.get(kept[0].digest) is None
    assert len(store) == 0


async def test_redis_deletes_reservations_that_were_not_opened(redis: RedisServer, clock: Clock) -> None:
    client = RedisClient(create_finder(redis.url))
    store = RedisStreamReservations(BestEffortRedis(client), LocalStreamReservations(clock), clock)
    mine = reservation("account", application_id=f"expiring{next(NUMBERS)}")
    await store.add(mine)
    for key in (
        f"{{wattgate}}:stream-reservation:{mine.digest}",
        f"{{wattgate}}:stream-reservations:{mine.application}:account:account",
        f"{{wattgate}}:stream-reservations:{mine.application}:all",
    ):
        assert 0 < await redis.command("PTTL", key) <= RESERVATION_SECONDS * 1000
    await client.close()


async def test_gateway_keeps_reservations_itself_while_redis_is_down(own_redis: RedisServer, clock: Clock) -> None:
    client = RedisClient(create_finder(own_redis.url))
    local = LocalStreamReservations(clock)
    store = RedisStreamReservations(BestEffortRedis(client), local, clock)
    await own_redis.kill()
    mine = reservation("account")
    await store.add(mine)
    assert await store.get(mine.digest) == mine
    assert await store.get("unknown") is None
    assert await store.take(mine)
    await client.close()


async def test_display_cannot_evict_the_reservation_of_its_user_or_of_another_display(
    store: StreamReservations,
) -> None:
    application_id = f"displays{next(NUMBERS)}"
    theirs = [reservation("account", application_id=application_id), of_display("hall", application_id)]
    mine = [of_display("kitchen", application_id) for _ in range(3)]
    await added(store, *theirs, *mine)
    assert [await store.get(one.digest) for one in (*theirs, *mine)] == [*theirs, None, *mine[1:]]


async def test_one_user_cannot_evict_the_reservation_of_another(cluster: Cluster, holder: Holder) -> None:
    mine, theirs = await holder.token(), await (await cluster.person()).token()
    victim = await cluster.reserved(cluster.one, theirs)
    tokens = [await cluster.reserved(cluster.one, mine) for _ in range(MAX_OWNER_RESERVATIONS + 1)]
    assert [await cluster.open_status(cluster.other, token) for token in tokens[:3]] == [404, 200, 200]
    assert await cluster.open_status(cluster.other, victim) == 200


@pytest.fixture(scope="module")
async def settled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Settled]:
    async with settled_in(tmp_path_factory.mktemp("reservations"), is_shared=False) as value:
        yield value


async def test_reservation_is_charged_to_the_caller(settled: Settled) -> None:
    async with live_house(settled, caller_budget=5 * RESERVATION_COST, caller_budget_seconds=86_400) as house:
        headers = house.one.headers["account"]
        responses = [await house.http.put("/graphql", headers=headers) for _ in range(6)]
        assert [response.status_code for response in responses] == [201] * 5 + [429]
        assert f"r={4 * RESERVATION_COST};" in responses[0].headers["RateLimit"]
        assert responses[-1].json()["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
        assert (await house.http.put("/graphql", headers=house.other.headers["account"])).status_code == 201


async def test_reservation_that_is_not_opened_in_time_ends(settled: Settled) -> None:
    async with live_house(settled) as house:
        token = (await house.http.put("/graphql", headers=house.one.headers["account"])).text
        house.pass_time(RESERVATION_SECONDS)
        late = await house.http.get("/graphql", params={"token": token}, headers=EVENT_STREAM_HEADERS)
        assert late.status_code == 404
