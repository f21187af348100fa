"""A client that reconnects at any point receives each reading once and in order, or learns of a gap."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.realtime.connections.conftest import OpenHouse
from tests.support.chance import examples
from tests.support.live import RESUMING, LiveHouse
from wattgate.realtime import topics

TOO_MANY = 700
"""More readings than the bus retains for a resource."""

RESOURCES = 2
Step = tuple[str, int, int]

PUBLISH = st.tuples(st.just("tell"), st.integers(0, RESOURCES - 1), st.integers(1, 6))
READ = st.tuples(st.just("read"), st.just(0), st.integers(1, 8))
CUT = st.just(("cut", 0, 0))
RECONNECT = st.just(("come back", 0, 0))
LONG_ABSENCE = st.tuples(st.just("be away for long"), st.integers(0, RESOURCES - 1), st.just(TOO_MANY))
STEPS = st.lists(st.one_of(PUBLISH, PUBLISH, READ, CUT, RECONNECT), min_size=2, max_size=14)

HYPOTHESIS_OPTIONS: Any = {
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],  # no shrinking: waiting for missing messages takes long
}


@dataclass
class Display:
    """A client that stores the position of its last payload and reconnects to the gateways in turn."""

    gateways: Sequence[LiveHouse]
    ids: Sequence[str]
    published: list[int] = field(default_factory=lambda: [0] * RESOURCES)
    seen: list[int | None] = field(default_factory=lambda: [0] * RESOURCES)
    """The last received value of each resource. None if values may be missing."""
    position: str | None = None
    connections: int = 0
    was_away_long: bool = False
    recovered: list[bool] = field(default_factory=list)
    client: Any = None
    _context: Any = None

    async def run_step(self, step: Step) -> None:
        match step:
            case ("tell", index, count):
                await self.publish(index, count)
            case ("read", _, count) if self.client is not None:
                for _ in range(min(count, self.pending_count)):
                    await self.receive_one()
            case ("cut", _, _):
                await self.cut()
            case ("come back", _, _):
                await self.reconnect()
            case ("be away for long", index, count):
                await self.cut()
                self.was_away_long = True
                await self.publish(index, count)

    async def publish(self, index: int, count: int) -> None:
        """Publish readings of a resource with consecutive values."""
        last = self.published[index]
        self.published[index] += count
        await self.gateways[0].publish_readings(self.ids[index], *range(last + 1, last + count + 1))

    @property
    def pending_count(self) -> int:
        """The number of payloads that must still arrive."""
        return sum(told - seen for told, seen in zip(self.published, self.seen, strict=True) if seen is not None)

    async def reconnect(self) -> None:
        if self.client is not None:
            return
        house = self.gateways[self.connections % len(self.gateways)]
        self.connections += 1
        self._context = house.socket()
        self.client = await self._context.__aenter__()
        await self.client.subscribe(RESUMING, ids=self.ids, since=self.position)
        if self.position is None:
            assert (await self.receive_position()).keys() == {"position"}
            self.seen = list(self.published)
        elif self.was_away_long:
            await self.receive_one()  # readings before this payload may be among the missing ones

    async def cut(self) -> None:
        if self.client is not None:
            self.client.connection.transport.abort()
            await self._context.__aexit__(None, None, None)
            self.client = None

    async def receive_position(self) -> Any:
        payload = await self.client.payload()
        assert payload["data"] == {"readings": None}
        self.position = payload["extensions"]["position"]
        return payload["extensions"]

    async def receive_one(self) -> None:
        """Receive a payload and check it: the next reading of its resource, or the reply to a position."""
        payload = await self.client.payload()
        extensions, reading = payload["extensions"], payload["data"]["readings"]
        self.position = extensions["position"]
        if "recovered" in extensions:
            self.recovered.append(extensions["recovered"])
            if not extensions["recovered"]:
                self.seen = [None] * RESOURCES
            return
        index, value = self.ids.index(reading["resourceId"]), int(reading["value"])
        before = self.seen[index]
        assert before is None or value == before + 1, (reading, before)
        self.seen[index] = value

    async def end(self) -> None:
        """Reconnect and read all payloads."""
        await self.reconnect()
        for index in range(RESOURCES):
            await self.publish(index, 1)
        while self.seen != self.published:
            await self.receive_one()
        assert await self.client.heard() == []
        assert self.was_away_long or all(self.recovered)
        await self.cut()


async def run(gateways: Sequence[LiveHouse], steps: Sequence[Step]) -> Display:
    ids = [await gateways[0].one.add_resource() for _ in range(RESOURCES)]
    display = Display(gateways, ids)
    await display.reconnect()
    try:
        for step in steps:
            await display.run_step(step)
        await display.end()
    finally:
        await display.cut()
    return display


@settings(max_examples=examples(25), **HYPOTHESIS_OPTIONS)
@given(steps=STEPS)
async def test_each_reading_is_seen_once_and_in_order(live: LiveHouse, steps: list[Step]) -> None:
    await run([live], steps)


@settings(max_examples=examples(5), **HYPOTHESIS_OPTIONS)
@given(before=STEPS, away=LONG_ABSENCE, after=STEPS)
async def test_client_that_was_disconnected_for_too_long_learns_of_the_gap(
    live: LiveHouse, before: list[Step], away: Step, after: list[Step]
) -> None:
    display = await run([live], [*before, away, ("come back", 0, 0), *after])
    assert display.recovered.count(False) == 1


@pytest.fixture(scope="module")
async def pair(open_gateway: OpenHouse) -> AsyncIterator[list[LiveHouse]]:
    async with open_gateway() as first, open_gateway() as second:
        yield [first, second]


@pytest.mark.long("starts two gateways; `test_gateways.py` resumes at the other gateway too")
@settings(max_examples=examples(15), **HYPOTHESIS_OPTIONS)
@given(steps=STEPS)
async def test_each_reading_is_seen_once_and_in_order_across_two_gateways(
    pair: list[LiveHouse], steps: list[Step]
) -> None:
    await run(pair, steps)


async def test_events_during_recovery_are_sent_once_after_the_missed_ones(live: LiveHouse, resource_id: str) -> None:
    async with live.socket() as client:
        await client.subscribe(RESUMING, ids=[resource_id], since=None)
        position = (await client.payload())["extensions"]["position"]
    topic = topics.readings(resource_id)
    await live.until(lambda: topic not in live.gateway.hub._topics)
    await live.publish_readings(resource_id, *range(20))
    count, during_recovery = 20, 0
    async with live.socket() as client:
        await client.subscribe(RESUMING, ids=[resource_id], since=position)
        while topic not in live.gateway.hub._topics:  # noqa: ASYNC110 (until recovery starts)
            await asyncio.sleep(0)
        while during_recovery < 20:  # publish in each iteration of the event loop, also during recovery
            is_listening = live.listening(resource_id)
            if is_listening or count < 200:  # the window of the topic must not end before a slow recovery begins
                await live.publish_readings(resource_id, count)
                count += 1
            during_recovery += is_listening
            await asyncio.sleep(0)
        assert (await client.payload())["extensions"] == {"position": position, "recovered": True}
        assert await client.values(count) == list(range(count))


async def test_asynchronous_selections_are_sent_in_order(live: LiveHouse) -> None:
    query = "subscription ($since: String) { alerts(since: $since) { alertId alertType { name } } }"

    async def send(start: int, end: int) -> list[str]:
        names = [f"{uuid4().hex} {number}" for number in range(start, end)]
        await live.alert(*names)
        return names

    async with live.socket() as client:
        await client.subscribe(query, since=None)
        while not (position := (await client.payload())["extensions"]["position"]):
            continue  # unread alerts arrive first
        sent = await send(0, 20)
    async with live.socket() as client:
        await client.subscribe(query, since=position)
        assert (await client.payload())["extensions"]["recovered"] is True
        received = []
        for number in range(20, 40):  # during the backfill
            sent += await send(number, number + 1)
            received.append((await client.payload())["data"]["alerts"]["alertId"])
        received += [(await client.payload())["data"]["alerts"]["alertId"] for _ in range(20)]
        assert received == sent
