"""Catch-ups: asked for at any time, started once a half hour, done beside the requests, and watched."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport
from sqlalchemy.ext.asyncio import AsyncSession

from tests.support.house import STORAGE, House, Tenant, operation
from tests.support.metering import HALF_HOUR, START, Metered, metered, readings, record
from tests.support.timed import NOW, Clock
from wattgate.app.workers.catch_ups import run_catch_ups, work_once
from wattgate.clock import iso
from wattgate.db.meter_network import RegistryNetwork, Value
from wattgate.enums import CatchUpState
from wattgate.errors import Unavailable
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import catch_ups
from wattgate.graphql.types import resources as resource_types
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.hub import Hub


class Bench:
    """A tenant on an empty database without a server: the test does the worker's part, at a time that it sets."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant, self.clock = tenant, Clock()
        self.runner = self.with_network(RegistryNetwork)

    def with_network(self, network: Any) -> Runner:
        return Runner(self.tenant.gateway.database, MemoryBus(), network=network, clock=self.clock)

    async def start(self, resource_id: str) -> Any:
        return await self.runner.run(catch_ups.catch_up, self.tenant.account, {"resource_id": resource_id})

    async def known(self, resource_id: str) -> list[Any]:
        return list(await self.runner.run(catch_ups.catch_ups, self.tenant.account, {"resource_id": resource_id}))

    async def stored(self, resource_id: str) -> list[float]:
        found = await self.runner.run(operation("raw_readings"), self.tenant.account, {"resource_id": resource_id})
        return list(found.value)


@pytest.fixture
async def bench(settled: Tenant) -> AsyncIterator[Bench]:
    """A bench with no catch-ups waiting, before and after."""
    made = Bench(settled)
    yield made
    made.clock.now = NOW + timedelta(days=1)
    while await work_once(made.runner):
        pass


async def finished(served: House, resource_id: str) -> dict[str, Any]:
    """The resource's newest catch-up, once it has ended."""
    query = """query ($id: ID!) { catchUps(resourceId: $id) {
        catchUpId state recorded reason createdAt startedAt finishedAt } }"""
    async with asyncio.timeout(20):
        while True:
            told = await served.graphql(query, served.one.headers["account"], id=resource_id)
            newest: dict[str, Any] = told["data"]["catchUps"][0]
            if newest["state"] in ("DONE", "FAILED"):
                return newest
            await asyncio.sleep(0.05)


async def until_done(bench: Bench, resource_id: str) -> None:
    while True:
        (newest, *_) = await bench.known(resource_id)
        if newest.state is CatchUpState.DONE:
            return
        await asyncio.sleep(0.02)


async def start(served: House, resource_id: str) -> Any:
    answer = await served.call("GET", f"/resource/{resource_id}/catchup", served.one.headers["account"])
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_call_answers_at_once_and_the_readings_come_by_themselves(served: House) -> None:
    point = await metered(served.one, ("0.125", "0.25", "0.1234"))
    told = await start(served, point.resource_id)
    assert (told["status"], told["resourceId"], told["units"]) == ("OK", point.resource_id, "kWh")
    assert told["data"]["valid"] is True
    assert (told["data"]["status"], told["data"]["state"]) == ("started", "QUEUED")
    done = await finished(served, point.resource_id)
    assert (done["state"], done["recorded"], done["reason"]) == ("DONE", 3, None)
    assert done["catchUpId"] == told["data"]["catchUpId"]
    assert done["createdAt"] <= done["startedAt"] <= done["finishedAt"]
    raw = await served.one.run("raw_readings", resource_id=point.resource_id)
    assert raw.value == [0.125, 0.25, 0.123]  # as many decimals as the resource stores
    assert raw.at == [iso(START + n * HALF_HOUR) for n in range(3)]


async def test_every_change_of_state_reaches_a_subscriber_and_so_do_the_readings(served: House) -> None:
    point = await metered(served.one)
    url = served.url.replace("http", "ws") + "/graphql"
    transport = WebsocketsTransport(
        url=url, headers=served.one.headers["account"], subprotocols=["graphql-transport-ws"]
    )
    document = gql("subscription ($ids: [ID!]!) { catchUpState(resourceIds: $ids) { resourceId state recorded } }")
    document.variable_values = {"ids": [point.resource_id]}
    async with Client(transport=transport) as session:
        seen = []
        async with asyncio.timeout(20):
            asked = asyncio.ensure_future(_later(served, point.resource_id))
            async for told in session.subscribe(document):
                seen.append((told["catchUpState"]["state"], told["catchUpState"]["recorded"]))
                if seen[-1][0] == "DONE":
                    break
            await asked
    assert seen == [("QUEUED", 0), ("RUNNING", 0), ("RUNNING", 3), ("DONE", 3)]


async def _later(served: House, resource_id: str) -> None:
    await asyncio.sleep(0.5)  # the subscription has to stand first
    await start(served, resource_id)


async def test_a_strangers_catch_ups_can_neither_be_started_nor_seen_nor_watched(served: House) -> None:
    point = await metered(served.one)
    await start(served, point.resource_id)
    headers = served.other.headers["account"]
    assert (await served.call("GET", f"/resource/{point.resource_id}/catchup", headers)).status_code == 404
    query = "query ($id: ID!) { catchUps(resourceId: $id) { state } }"
    answer = await served.graphql(query, headers, id=point.resource_id)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    watch = operation("catch_up_state")
    with pytest.raises(Exception, match="no resource with id"):
        await served.gateway.runner.run(watch, served.other.account, {"resource_ids": [point.resource_id]})


async def test_without_a_meter_point_it_fails_and_says_why(served: House) -> None:
    resource_id = await served.one.add_resource()
    assert (await start(served, resource_id))["data"]["valid"] is True
    done = await finished(served, resource_id)
    assert (done["state"], done["reason"]) == ("FAILED", "the resource has no meter point")


async def test_the_edge_tells_a_resources_catch_ups_newest_first(bench: Bench) -> None:
    point = await metered(bench.tenant)
    first = await bench.start(point.resource_id)
    bench.clock.now += HALF_HOUR
    second = await bench.start(point.resource_id)
    resource = await bench.tenant.run("resource", resource_id=point.resource_id)
    (found,) = await bench.tenant.edge(operation("resource").shape, "catch_ups", [resource])
    assert [one.catch_up_id for one in found] == [second.catch_up.catch_up_id, first.catch_up.catch_up_id]


async def test_one_starts_in_each_half_hour_by_the_clock(bench: Bench) -> None:
    point = await metered(bench.tenant)
    first = await bench.start(point.resource_id)
    assert first.started
    assert await work_once(bench.runner)
    bench.clock.now = datetime(2026, 6, 1, 12, 29, 59, tzinfo=UTC)
    again = await bench.start(point.resource_id)
    assert not again.started
    assert (again.catch_up.catch_up_id, again.catch_up.state) == (first.catch_up.catch_up_id, CatchUpState.DONE)
    bench.clock.now = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
    assert (await bench.start(point.resource_id)).started


async def test_many_calls_at_once_start_one(bench: Bench) -> None:
    point = await metered(bench.tenant)
    answers = await asyncio.gather(*(bench.start(point.resource_id) for _ in range(8)))
    assert [answer.started for answer in answers].count(True) == 1
    assert len({answer.catch_up.catch_up_id for answer in answers}) == 1


async def test_it_brings_only_what_is_newer_and_over_and_page_after_page(bench: Bench) -> None:
    count = catch_ups.PAGE + 3
    point = await metered(bench.tenant, ["0.5"] * count)
    last = START + (count - 1) * HALF_HOUR
    await bench.tenant.record(point.resource_id, (START, "0.25"))
    await record(bench.tenant, *readings(point.mpxn, ["9"], bench.clock.now + timedelta(minutes=20)))
    await bench.start(point.resource_id)
    assert await work_once(bench.runner)
    (done,) = await bench.known(point.resource_id)
    assert last < bench.clock.now
    assert (done.state, done.recorded) == (CatchUpState.DONE, count - 1)
    assert done.started_at == done.finished_at == bench.clock.now
    assert await bench.stored(point.resource_id) == [0.25, *[0.5] * (count - 1)]


async def test_workers_at_once_do_each_catch_up_once(bench: Bench) -> None:
    points = [await metered(bench.tenant) for _ in range(4)]
    for point in points:
        await bench.start(point.resource_id)
    principal = bench.tenant.system
    claims = await asyncio.gather(*(bench.runner.run(catch_ups.claim_catch_up, principal, {}) for _ in range(8)))
    taken = [claim.catch_up_id for claim in claims if claim is not None]
    assert len(taken) == len(set(taken))
    while await work_once(bench.runner):
        pass
    for point in points:
        (one,) = await bench.known(point.resource_id)
        assert one.state is (CatchUpState.RUNNING if one.catch_up_id in taken else CatchUpState.DONE)


async def test_what_a_dead_worker_left_is_taken_over_after_its_lease(bench: Bench) -> None:
    point = await metered(bench.tenant)
    await bench.start(point.resource_id)
    assert await bench.runner.run(catch_ups.claim_catch_up, bench.tenant.system, {}) is not None
    bench.clock.now += catch_ups.LEASE
    assert not await work_once(bench.runner)
    bench.clock.now += timedelta(seconds=1)
    assert await work_once(bench.runner)
    (done,) = await bench.known(point.resource_id)
    assert done.state is CatchUpState.DONE


async def test_what_the_storage_refuses_fails_with_the_reason_and_stores_nothing(bench: Bench) -> None:
    point = await metered(bench.tenant, ["0.1", "-5"])
    await bench.start(point.resource_id)
    assert await work_once(bench.runner)
    (done,) = await bench.known(point.resource_id)
    assert (done.state, done.reason) == (
        CatchUpState.FAILED,
        "-5.000 is negative; ENERGY takes no negative values",
    )
    assert await bench.stored(point.resource_id) == []


class Trouble(RegistryNetwork):
    """A network that is away, or broken."""

    error: Exception = Unavailable("the meter network does not answer")

    async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[Value]:
        raise self.error


async def test_a_network_that_is_away_fails_the_catch_up_and_the_next_one_works(bench: Bench) -> None:
    point = await metered(bench.tenant)
    await bench.start(point.resource_id)
    assert await work_once(bench.with_network(Trouble))
    (done,) = await bench.known(point.resource_id)
    assert (done.state, done.reason) == (CatchUpState.FAILED, "the meter network does not answer")
    bench.clock.now += HALF_HOUR
    await bench.start(point.resource_id)
    assert await work_once(bench.runner)
    assert [one.state for one in await bench.known(point.resource_id)] == [CatchUpState.DONE, CatchUpState.FAILED]


async def test_a_fault_is_logged_and_does_not_end_the_work(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wattgate.app.workers.catch_ups.PAUSE_AFTER_TROUBLE", 0.01)
    point, good = await metered(bench.tenant), await metered(bench.tenant)
    broken = {point.mpxn}

    class Faulty(RegistryNetwork):
        async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[Value]:
            if mpxn in broken:
                raise ZeroDivisionError("a fault of ours")
            return await super().readings(mpxn, classifier, after, limit=limit)

    await bench.start(point.resource_id)
    await bench.start(good.resource_id)
    worker = asyncio.ensure_future(run_catch_ups(bench.with_network(Faulty), Hub(MemoryBus())))
    async with asyncio.timeout(20):
        await until_done(bench, good.resource_id)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    (failed,) = await bench.known(point.resource_id)
    assert (failed.state, failed.reason) == (CatchUpState.FAILED, "an unexpected error has occurred")
    (logged,) = [one for one in caplog.records if one.name == "wattgate.app.workers.background"]
    assert logged.getMessage() == "catch-ups: a round ended by a fault"
    assert logged.exc_info is not None
    assert isinstance(logged.exc_info[1], ZeroDivisionError)


async def test_a_revoked_consent_ends_the_retrieval(bench: Bench) -> None:
    point: Metered = await metered(bench.tenant)
    await bench.tenant.run("verify_meter_point", mpxn=point.mpxn)
    await bench.start(point.resource_id)
    await bench.runner.run(operation("revoke_consents"), bench.tenant.account, {"mpxns": [point.mpxn]})
    assert await work_once(bench.runner)
    system = bench.tenant.system
    (done,) = await bench.runner.run(catch_ups.catch_ups, system, {"resource_id": point.resource_id})
    assert done.state is CatchUpState.FAILED
    assert done.reason == f"the consent for meter point {point.mpxn} was revoked"
    bench.clock.now += HALF_HOUR
    with pytest.raises(Exception, match="was revoked"):
        await bench.start(point.resource_id)


async def test_what_is_kept_no_longer_is_not_retrieved(bench: Bench) -> None:
    point = await metered(bench.tenant, ["0.1"] * 48)  # the first day of March; now is noon, 92 days later
    kind = resource_types.NewResourceType(
        name="short", classifier="electricity.consumption", storage=STORAGE, retention_days=92
    )
    type_id = (await bench.tenant.run("add_resource_type", input=kind)).resource_type_id
    given = resource_types.NewResource(resource_type_id=type_id, name="short", mpxn=point.mpxn)
    resource_id = (await bench.tenant.run("add_resource", input=given)).resource_id
    await bench.start(resource_id)
    assert await work_once(bench.runner)
    (done,) = await bench.known(resource_id)
    assert (done.state, done.reason, done.recorded) == (CatchUpState.DONE, None, 21)
    assert len(await bench.stored(resource_id)) == 21  # from 13:30 on: one that gets too old meanwhile is none of them


async def test_the_registry_answers_from_the_operations_own_session(bench: Bench) -> None:
    point = await metered(bench.tenant)
    async with AsyncSession(bench.tenant.gateway.database.engine) as session:
        found = await RegistryNetwork(session).readings(point.mpxn, "electricity.consumption", START, limit=1)
    assert [one.at for one in found] == [START + HALF_HOUR]
