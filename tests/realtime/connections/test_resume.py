"""A client that is cut at any message and comes back sees each reading once and in order, or is told otherwise."""

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

MANY = 700
"""More readings than are kept of a resource."""

RESOURCES = 2
Step = tuple[str, int, int]

TELLING = st.tuples(st.just("tell"), st.integers(0, RESOURCES - 1), st.integers(1, 6))
READING = st.tuples(st.just("read"), st.just(0), st.integers(1, 8))
CUT = st.just(("cut", 0, 0))
COMING_BACK = st.just(("come back", 0, 0))
LONG_AWAY = st.tuples(st.just("be away for long"), st.integers(0, RESOURCES - 1), st.just(MANY))
STEPS = st.lists(st.one_of(TELLING, TELLING, READING, CUT, COMING_BACK), min_size=2, max_size=14)

OPEN: Any = {
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],  # a message that does not come is waited for: looking for a shorter run takes long
}


@dataclass
class Display:
    """A client that remembers the position of the last payload it had, and at which gateway it is."""

    houses: Sequence[LiveHouse]
    ids: Sequence[str]
    told: list[int] = field(default_factory=lambda: [0] * RESOURCES)
    seen: list[int | None] = field(default_factory=lambda: [0] * RESOURCES)
    """The last value of each resource; None where some may be missing."""
    position: str | None = None
    connections: int = 0
    away_for_long: bool = False
    recovered: list[bool] = field(default_factory=list)
    one: Any = None
    _open: Any = None

    async def do(self, step: Step) -> None:
        match step:
            case ("tell", which, count):
                await self.tell(which, count)
            case ("read", _, count) if self.one is not None:
                for _ in range(min(count, self.waiting)):
                    await self.take()
            case ("cut", _, _):
                await self.cut()
            case ("come back", _, _):
                await self.come_back()
            case ("be away for long", which, count):
                await self.cut()
                self.away_for_long = True
                await self.tell(which, count)

    async def tell(self, which: int, count: int) -> None:
        """Publish readings of a resource, whose values count up."""
        begun = self.told[which]
        self.told[which] += count
        await self.houses[0].publish_readings(self.ids[which], *range(begun + 1, begun + count + 1))

    @property
    def waiting(self) -> int:
        """How many payloads are sure to come."""
        return sum(told - seen for told, seen in zip(self.told, self.seen, strict=True) if seen is not None)

    async def come_back(self) -> None:
        if self.one is not None:
            return
        house = self.houses[self.connections % len(self.houses)]
        self.connections += 1
        self._open = house.socket()
        self.one = await self._open.__aenter__()
        await self.one.subscribe(RESUMING, ids=self.ids, since=self.position)
        if self.position is None:
            assert (await self.answer()).keys() == {"position"}
            self.seen = list(self.told)
        elif self.away_for_long:
            await self.take()  # what is told before the answer may be among what is missing

    async def cut(self) -> None:
        if self.one is not None:
            self.one.connection.transport.abort()
            await self._open.__aexit__(None, None, None)
            self.one = None

    async def answer(self) -> Any:
        payload = await self.one.payload()
        assert payload["data"] == {"readings": None}
        self.position = payload["extensions"]["position"]
        return payload["extensions"]

    async def take(self) -> None:
        """Take a payload: the next reading of its resource, or the answer to a position, and then a reading."""
        payload = await self.one.payload()
        extensions, reading = payload["extensions"], payload["data"]["readings"]
        self.position = extensions["position"]
        if "recovered" in extensions:
            self.recovered.append(extensions["recovered"])
            if not extensions["recovered"]:
                self.seen = [None] * RESOURCES
            return
        which, value = self.ids.index(reading["resourceId"]), int(reading["value"])
        before = self.seen[which]
        assert before is None or value == before + 1, (reading, before)
        self.seen[which] = value

    async def end(self) -> None:
        """Come back and read all there is."""
        await self.come_back()
        for which in range(RESOURCES):
            await self.tell(which, 1)
        while self.seen != self.told:
            await self.take()
        assert await self.one.heard() == []
        assert self.away_for_long or all(self.recovered)
        await self.cut()


async def run(houses: Sequence[LiveHouse], steps: Sequence[Step]) -> Display:
    ids = [await houses[0].one.add_resource() for _ in range(RESOURCES)]
    display = Display(houses, ids)
    await display.come_back()
    try:
        for step in steps:
            await display.do(step)
        await display.end()
    finally:
        await display.cut()
    return display


@settings(max_examples=examples(25), **OPEN)
@given(steps=STEPS)
async def test_each_reading_is_seen_once_and_in_order(live: LiveHouse, steps: list[Step]) -> None:
    await run([live], steps)


@settings(max_examples=examples(5), **OPEN)
@given(before=STEPS, away=LONG_AWAY, after=STEPS)
async def test_whoever_was_away_for_too_long_is_told_so(
    live: LiveHouse, before: list[Step], away: Step, after: list[Step]
) -> None:
    display = await run([live], [*before, away, ("come back", 0, 0), *after])
    assert display.recovered.count(False) == 1


@pytest.fixture(scope="module")
async def pair(open_gateway: OpenHouse) -> AsyncIterator[list[LiveHouse]]:
    async with open_gateway() as one, open_gateway() as other:
        yield [one, other]


@settings(max_examples=examples(15), **OPEN)
@given(steps=STEPS)
async def test_each_reading_is_seen_once_and_in_order_by_one_who_comes_back_to_another_gateway(
    pair: list[LiveHouse], steps: list[Step]
) -> None:
    await run(pair, steps)


async def test_what_comes_while_a_client_is_caught_up_is_told_once_and_after_what_it_missed(
    live: LiveHouse, resource_id: str
) -> None:
    async with live.socket() as one:
        await one.subscribe(RESUMING, ids=[resource_id], since=None)
        position = (await one.payload())["extensions"]["position"]
    topic = topics.readings(resource_id)
    await live.until(lambda: topic not in live.gateway.hub._topics)
    await live.publish_readings(resource_id, *range(20))
    count, after = 20, 0
    async with live.socket() as one:
        await one.subscribe(RESUMING, ids=[resource_id], since=position)
        while topic not in live.gateway.hub._topics:  # noqa: ASYNC110 (until it begins to be caught up)
            await asyncio.sleep(0)
        while after < 20:  # and then in each turn of the loop, until it must have been
            await live.publish_readings(resource_id, count)
            count += 1
            after += live.listening(resource_id)
            await asyncio.sleep(0)
        assert (await one.payload())["extensions"] == {"position": position, "recovered": True}
        assert await one.values(count) == list(range(count))


async def test_what_has_to_wait_for_the_database_is_told_in_order_too(live: LiveHouse) -> None:
    query = "subscription ($since: String) { alerts(since: $since) { alertId alertType { name } } }"

    async def send(start: int, end: int) -> list[str]:
        names = [f"{uuid4().hex} {number}" for number in range(start, end)]
        await live.alert(*names)
        return names

    async with live.socket() as one:
        await one.subscribe(query, since=None)
        while not (position := (await one.payload())["extensions"]["position"]):
            continue  # what the user has not read comes first
        sent = await send(0, 20)
    async with live.socket() as one:
        await one.subscribe(query, since=position)
        assert (await one.payload())["extensions"]["recovered"] is True
        told = []
        for number in range(20, 40):  # while it is still being told what it missed
            sent += await send(number, number + 1)
            told.append((await one.payload())["data"]["alerts"]["alertId"])
        told += [(await one.payload())["data"]["alerts"]["alertId"] for _ in range(20)]
        assert told == sent
