"""Catch-ups: one start in each half hour, processing by workers, and subscriptions to their states."""

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
from tests.support.residents import resident
from tests.support.socket import Socket, socket
from tests.support.timed import NOW, Clock
from wattgate.app.workers.catch_ups import process_waiting, run_catch_ups
from wattgate.clock import format_iso
from wattgate.db.meter_network import MeterNetworkReading, RegistryMeterNetwork
from wattgate.enums import CatchUpState
from wattgate.errors import ConsentRevoked, GatewayError, Unavailable
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices import catch_ups
from wattgate.operations.types.homes import resources
from wattgate.operations.types.homes import resources as resource_types
from wattgate.realtime import topics
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.hub import Hub


class WorkerBench:
    """A tenant on an empty database without a server. The test runs the worker and sets the clock."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant, self.clock = tenant, Clock()
        self.runner = self.with_network(RegistryMeterNetwork)

    def with_network(self, network: Any) -> Runner:
        return Runner(self.tenant.gateway.database, MemoryBus(), network=network, clock=self.clock)

    async def start(self, resource_id: str) -> Any:
        return await self.runner.run(catch_ups.catch_up, self.tenant.account, {"resource_id": resource_id})

    async def catch_ups(self, resource_id: str) -> list[Any]:
        resource = await self.runner.run(operation("resource"), self.tenant.account, {"resource_id": resource_id})
        (found,) = await self.runner.load(
            find_edge(resources.Resource, "catch_ups"), self.tenant.account, [resource], {}
        )
        if isinstance(found, GatewayError):
            raise found
        return list(found)

    async def stored(self, resource_id: str) -> list[float]:
        page = await self.runner.run(operation("raw_readings"), self.tenant.account, {"resource_id": resource_id})
        return list(page.value)


@pytest.fixture
async def bench(settled: Tenant) -> AsyncIterator[WorkerBench]:
    """Return a bench without waiting catch-ups. Process those that the test leaves."""
    worker = WorkerBench(settled)
    yield worker
    worker.clock.now = NOW + timedelta(days=1)
    while await process_waiting(worker.runner):
        pass


async def finished(served: House, resource_id: str) -> dict[str, Any]:
    """Wait until the resource's newest catch-up has ended, and return it."""
    query = """query ($id: ID!) { resource(resourceId: $id) { catchUps {
        catchUpId state recorded reason createdAt startedAt finishedAt } } }"""
    async with asyncio.timeout(60):
        while True:
            response = await served.graphql(query, served.one.headers["account"], id=resource_id)
            newest: dict[str, Any] = response["data"]["resource"]["catchUps"][0]
            if newest["state"] in ("DONE", "FAILED"):
                return newest
            await asyncio.sleep(0.05)


async def until_done(bench: WorkerBench, resource_id: str) -> None:
    while True:
        (newest, *_) = await bench.catch_ups(resource_id)
        if newest.state is CatchUpState.DONE:
            return
        await asyncio.sleep(0.02)


async def start(served: House, resource_id: str) -> Any:
    answer = await served.call("GET", f"/resource/{resource_id}/catchup", served.one.headers["account"])
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_call_returns_immediately_and_the_readings_follow(served: House) -> None:
    point = await metered(served.one, ("0.125", "0.25", "0.1234"))
    started = await start(served, point.resource_id)
    assert (started["status"], started["resourceId"], started["units"]) == ("OK", point.resource_id, "kWh")
    assert started["data"]["valid"] is True
    assert (started["data"]["status"], started["data"]["state"]) == ("started", "QUEUED")
    done = await finished(served, point.resource_id)
    assert (done["state"], done["recorded"], done["reason"]) == ("DONE", 3, None)
    assert done["catchUpId"] == started["data"]["catchUpId"]
    assert done["createdAt"] <= done["startedAt"] <= done["finishedAt"]
    raw = await served.one.run("raw_readings", resource_id=point.resource_id)
    assert raw.value == [0.125, 0.25, 0.123]  # as many decimals as the resource stores
    assert raw.at == [format_iso(START + n * HALF_HOUR) for n in range(3)]


async def test_subscriber_receives_every_change_of_state(served: House) -> None:
    point = await metered(served.one)
    url = served.url.replace("http", "ws") + "/graphql"
    transport = WebsocketsTransport(
        url=url, headers=served.one.headers["account"], subprotocols=["graphql-transport-ws"]
    )
    document = gql("subscription ($ids: [ID!]!) { catchUpState(resourceIds: $ids) { resourceId state recorded } }")
    document.variable_values = {"ids": [point.resource_id]}
    async with Client(transport=transport) as session:
        seen = []
        async with asyncio.timeout(60):
            start_later = asyncio.ensure_future(_start_later(served, point.resource_id))
            async for payload in session.subscribe(document):
                seen.append((payload["catchUpState"]["state"], payload["catchUpState"]["recorded"]))
                if seen[-1][0] == "DONE":
                    break
            await start_later
    assert seen == [("QUEUED", 0), ("RUNNING", 0), ("RUNNING", 3), ("DONE", 3)]


async def test_a_revocation_ends_the_states_of_catch_ups_until_the_renewal(served: House) -> None:
    """A catch-up then fails. Its state does not reach a subscriber, who goes on with another resource."""
    assert served.served_gateway is not None
    who = await resident(served.one)
    point, plain = await metered(who), await who.add_resource()
    await who.run("verify_meter_point", mpxn=point.mpxn)
    document = "subscription ($ids: [ID!]!) { catchUpState(resourceIds: $ids) { resourceId state } }"
    async with socket(served.url) as one, socket(served.url) as both:
        for client, ids in ((one, [point.resource_id]), (both, [point.resource_id, plain])):
            await client.init(**who.headers["account"])
            await client.subscribe(document, ids=ids)
            await client.heard()
        await served.until_subscribed(topics.catch_ups(plain))
        started = await who.run("catch_up", resource_id=point.resource_id)
        assert (await states(both, point.resource_id))[-1] == "DONE"
        assert (await states(one, point.resource_id))[-1] == "DONE"
        await who.run("revoke_consents", mpxns=[point.mpxn])
        assert (await one.error())["extensions"]["code"] == "CONSENT_REVOKED"
        (withheld,) = (await both.payload())["errors"]
        assert withheld["extensions"]["code"] == "CONSENT_REVOKED"
        failed = {"catch_up_id": started.catch_up.catch_up_id, "state": CatchUpState.FAILED, "recorded": 3}
        await served.served_gateway.runner.run(catch_ups.update_catch_up, who.system, failed)
        await who.run("catch_up", resource_id=plain)
        assert (await states(both, plain))[-1] == "FAILED"  # it has no meter point
        await who.run("renew_consents", mpxns=[point.mpxn])
        async with asyncio.timeout(60):  # the subscription looks up the consent in a task of its own
            while not (heard := await both.heard()):
                await served.served_gateway.runner.run(catch_ups.update_catch_up, who.system, failed)
        assert heard[0]["payload"]["data"]["catchUpState"] == {"resourceId": point.resource_id, "state": "FAILED"}


async def states(client: Socket, resource_id: str) -> list[str]:
    """Return the states of the catch-up of a resource up to its end. Fail at a state of another resource."""
    heard: list[str] = []
    while not heard or heard[-1] not in ("DONE", "FAILED"):
        payload = await client.payload()
        if payload["data"]:
            assert payload["data"]["catchUpState"]["resourceId"] == resource_id
            heard.append(payload["data"]["catchUpState"]["state"])
    return heard


async def _start_later(served: House, resource_id: str) -> None:
    await served.until_subscribed(topics.catch_ups(resource_id))
    await start(served, resource_id)


async def test_catch_ups_of_another_user_cannot_be_started_listed_or_followed(served: House) -> None:
    point = await metered(served.one)
    await start(served, point.resource_id)
    headers = served.other.headers["account"]
    assert (await served.call("GET", f"/resource/{point.resource_id}/catchup", headers)).status_code == 404
    query = "query ($id: ID!) { resource(resourceId: $id) { catchUps { state } } }"
    answer = await served.graphql(query, headers, id=point.resource_id)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    watch = operation("catch_up_state")
    with pytest.raises(Exception, match="No resource with ID"):
        await served.gateway.runner.run(watch, served.other.account, {"resource_ids": [point.resource_id]})


async def test_catch_up_without_a_meter_point_fails_with_a_reason(served: House) -> None:
    resource_id = await served.one.add_resource()
    assert (await start(served, resource_id))["data"]["valid"] is True
    done = await finished(served, resource_id)
    assert (done["state"], done["reason"]) == ("FAILED", f"Resource {resource_id} has no meter point.")


async def test_edge_lists_catch_ups_newest_first(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    first = await bench.start(point.resource_id)
    bench.clock.now += HALF_HOUR
    second = await bench.start(point.resource_id)
    resource = await bench.tenant.run("resource", resource_id=point.resource_id)
    (listed,) = await bench.tenant.edge(operation("resource").result_type, "catch_ups", [resource])
    assert [catch_up.catch_up_id for catch_up in listed] == [second.catch_up.catch_up_id, first.catch_up.catch_up_id]


async def test_one_catch_up_starts_in_each_half_hour(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    first = await bench.start(point.resource_id)
    assert first.started
    assert await process_waiting(bench.runner)
    bench.clock.now = datetime(2026, 6, 1, 12, 29, 59, tzinfo=UTC)
    again = await bench.start(point.resource_id)
    assert not again.started
    assert (again.catch_up.catch_up_id, again.catch_up.state) == (first.catch_up.catch_up_id, CatchUpState.DONE)
    bench.clock.now = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
    assert (await bench.start(point.resource_id)).started


async def test_simultaneous_calls_start_one_catch_up(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    answers = await asyncio.gather(*(bench.start(point.resource_id) for _ in range(8)))
    assert [answer.started for answer in answers].count(True) == 1
    assert len({answer.catch_up.catch_up_id for answer in answers}) == 1


async def test_catch_up_retrieves_newer_past_readings_page_by_page(bench: WorkerBench) -> None:
    count = catch_ups.PAGE_SIZE + 3
    point = await metered(bench.tenant, ["0.5"] * count)
    last = START + (count - 1) * HALF_HOUR
    await bench.tenant.record(point.resource_id, (START, "0.25"))
    await record(bench.tenant, *readings(point.mpxn, ["9"], bench.clock.now + timedelta(minutes=20)))
    await bench.start(point.resource_id)
    assert await process_waiting(bench.runner)
    (done,) = await bench.catch_ups(point.resource_id)
    assert last < bench.clock.now
    assert (done.state, done.recorded) == (CatchUpState.DONE, count - 1)
    assert done.started_at == done.finished_at == bench.clock.now
    assert await bench.stored(point.resource_id) == [0.25, *[0.5] * (count - 1)]


async def test_simultaneous_workers_process_each_catch_up_once(bench: WorkerBench) -> None:
    points = [await metered(bench.tenant) for _ in range(4)]
    for point in points:
        await bench.start(point.resource_id)
    principal = bench.tenant.system
    claims = await asyncio.gather(*(bench.runner.run(catch_ups.claim_catch_up, principal, {}) for _ in range(8)))
    claimed = [claim.catch_up_id for claim in claims if claim is not None]
    assert len(claimed) == len(set(claimed))
    while await process_waiting(bench.runner):
        pass
    for point in points:
        (catch_up,) = await bench.catch_ups(point.resource_id)
        assert catch_up.state is (CatchUpState.RUNNING if catch_up.catch_up_id in claimed else CatchUpState.DONE)


async def test_catch_up_of_a_dead_worker_is_claimed_after_its_lease(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    await bench.start(point.resource_id)
    assert await bench.runner.run(catch_ups.claim_catch_up, bench.tenant.system, {}) is not None
    bench.clock.now += catch_ups.LEASE
    assert not await process_waiting(bench.runner)
    bench.clock.now += timedelta(seconds=1)
    assert await process_waiting(bench.runner)
    (done,) = await bench.catch_ups(point.resource_id)
    assert done.state is CatchUpState.DONE


async def test_invalid_reading_fails_the_catch_up_and_stores_nothing(bench: WorkerBench) -> None:
    point = await metered(bench.tenant, ["0.1", "-5"])
    await bench.start(point.resource_id)
    assert await process_waiting(bench.runner)
    (done,) = await bench.catch_ups(point.resource_id)
    assert (done.state, done.reason) == (
        CatchUpState.FAILED,
        "-5.000 is negative; ENERGY takes no negative values",
    )
    assert await bench.stored(point.resource_id) == []


class UnavailableNetwork(RegistryMeterNetwork):
    """A network that is unavailable or fails."""

    error: Exception = Unavailable("the meter network does not answer")

    async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[MeterNetworkReading]:
        raise self.error


async def test_unavailable_network_fails_one_catch_up_and_the_next_succeeds(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    await bench.start(point.resource_id)
    assert await process_waiting(bench.with_network(UnavailableNetwork))
    (done,) = await bench.catch_ups(point.resource_id)
    assert (done.state, done.reason) == (CatchUpState.FAILED, "the meter network does not answer")
    bench.clock.now += HALF_HOUR
    await bench.start(point.resource_id)
    assert await process_waiting(bench.runner)
    assert [catch_up.state for catch_up in await bench.catch_ups(point.resource_id)] == [
        CatchUpState.DONE,
        CatchUpState.FAILED,
    ]


async def test_unexpected_error_is_logged_and_the_worker_continues(
    bench: WorkerBench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wattgate.app.workers.catch_ups.ERROR_PAUSE_SECONDS", 0.01)
    point, healthy = await metered(bench.tenant), await metered(bench.tenant)
    broken = {point.mpxn}

    class FaultyNetwork(RegistryMeterNetwork):
        async def readings(self, mpxn: str, classifier: str, after: Any, *, limit: int) -> list[MeterNetworkReading]:
            if mpxn in broken:
                raise ZeroDivisionError("a fault of ours")
            return await super().readings(mpxn, classifier, after, limit=limit)

    await bench.start(point.resource_id)
    await bench.start(healthy.resource_id)
    worker = asyncio.ensure_future(run_catch_ups(bench.with_network(FaultyNetwork), Hub(MemoryBus())))
    async with asyncio.timeout(60):
        await until_done(bench, healthy.resource_id)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    (failed,) = await bench.catch_ups(point.resource_id)
    assert (failed.state, failed.reason) == (CatchUpState.FAILED, "an unexpected error has occurred")
    (logged,) = [record for record in caplog.records if record.name == "wattgate.app.workers.background"]
    assert logged.getMessage() == "catch-ups: iteration failed; retrying in 0.01 s"
    assert logged.exc_info is not None
    assert isinstance(logged.exc_info[1], ZeroDivisionError)


async def test_revoked_consent_fails_the_catch_up(bench: WorkerBench) -> None:
    point: Metered = await metered(bench.tenant)
    await bench.tenant.run("verify_meter_point", mpxn=point.mpxn)
    await bench.start(point.resource_id)
    await bench.runner.run(operation("revoke_consents"), bench.tenant.account, {"mpxns": [point.mpxn]})
    assert await process_waiting(bench.runner)
    with pytest.raises(ConsentRevoked):
        await bench.catch_ups(point.resource_id)
    bench.clock.now += HALF_HOUR
    with pytest.raises(ConsentRevoked):
        await bench.start(point.resource_id)
    await bench.runner.run(operation("renew_consents"), bench.tenant.account, {"mpxns": [point.mpxn]})
    (done,) = await bench.catch_ups(point.resource_id)
    assert done.state is CatchUpState.FAILED
    assert done.reason == f"The consent for meter point {point.mpxn} was revoked. Renew it to access this data."


async def test_readings_beyond_retention_are_not_retrieved(bench: WorkerBench) -> None:
    point = await metered(bench.tenant, ["0.1"] * 48)  # the first day of March; now is noon, 92 days later
    new_type = resource_types.NewResourceType(
        name="short", classifier="electricity.consumption", storage=STORAGE, retention_days=92
    )
    type_id = (await bench.tenant.run("add_resource_type", input=new_type)).resource_type_id
    new_resource = resource_types.NewResource(resource_type_id=type_id, name="short", mpxn=point.mpxn)
    resource_id = (await bench.tenant.run("add_resource", input=new_resource)).resource_id
    await bench.start(resource_id)
    assert await process_waiting(bench.runner)
    (done,) = await bench.catch_ups(resource_id)
    assert (done.state, done.reason, done.recorded) == (CatchUpState.DONE, None, 21)
    assert len(await bench.stored(resource_id)) == 21  # from 13:30 on, with a margin of an hour


async def test_registry_reads_in_the_session_of_the_operation(bench: WorkerBench) -> None:
    point = await metered(bench.tenant)
    async with AsyncSession(bench.tenant.gateway.database.engine) as session:
        page = await RegistryMeterNetwork(session).readings(point.mpxn, "electricity.consumption", START, limit=1)
    assert [reading.at for reading in page] == [START + HALF_HOUR]


async def test_catch_up_after_a_renewal_skips_pages_of_the_time_without_consent(bench: WorkerBench) -> None:
    count = catch_ups.PAGE_SIZE + 20
    point = await metered(bench.tenant, ["0.5"] * count)
    for name, position in (("revoke_consents", 5), ("renew_consents", count - 3)):
        bench.clock.now = START + position * HALF_HOUR
        await bench.runner.run(operation(name), bench.tenant.account, {"mpxns": [point.mpxn]})
    await bench.start(point.resource_id)
    assert await process_waiting(bench.runner)
    (done,) = await bench.catch_ups(point.resource_id)
    assert (done.state, done.recorded) == (CatchUpState.DONE, 6)  # five before, and the one at the renewal
