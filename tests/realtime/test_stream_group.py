"""A group whose subscribers are told events by several topics, while topics open and events are lost."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from wattgate.errors import GatewayError
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.events import Event
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.stream_group import StreamGroup
from wattgate.realtime.subscriptions.subscription import Message, Selection, Subscription
from wattgate.realtime.subscriptions.subscription_source import Watch

TOPICS = ("a", "b")


class Remembers:
    """A subscriber that keeps what it is told."""

    resumes = True

    def __init__(self) -> None:
        self.buffer: list[Message] | None = None
        self.told: list[Any] = []
        self.errors: list[GatewayError] = []

    def next(self, message: Message) -> None:
        payload = msgspec.json.decode(message.payload)
        self.told.append(payload.get("extensions", {}).get("recovered", payload["data"]))

    def fail(self, error: GatewayError) -> None:
        self.errors.append(error)

    async def room(self) -> None:
        return


def rendered(payload: Any) -> bytes:
    return b'{"data":' + msgspec.json.encode(payload)


async def in_time(payload: Any) -> bytes:
    return rendered(payload)


class Database:
    """Answers how often it was asked, once it may."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def missed(self, rows: Any, since: datetime | None) -> list[Any]:
        self.asked += 1
        await self.may_answer.wait()
        return [f"read {self.asked}"]

    async def read(self, query: Callable[[Any], Awaitable[Any]]) -> Any:
        return await query(None)


class House:
    """A hub on a bus in memory, and a group of subscribers to two topics."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.hub = Hub(self.bus)
        self.database = Database()
        watch = Watch(TOPICS, self.database.missed)
        selection = Selection(rendered, in_time, rendered(None))
        self.subscription = Subscription("key", watch, selection, self.database.read, resumes=True)
        self.group = StreamGroup(self.hub, self.subscription)
        self.hub.listen(self.group, TOPICS)

    async def join(self) -> Remembers:
        subscriber = Remembers()
        self.database.may_answer.set()
        await self.group.admit(self.subscription, subscriber)
        self.database.may_answer.clear()
        self.database.asked = 0
        subscriber.told.clear()
        return subscriber


@pytest.fixture
async def house() -> House:
    return House()


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_event_that_comes_before_all_topics_are_open_harms_nobody(house: House) -> None:
    async with house.hub.feed(["a"]) as other:
        await house.bus.publish([Event("a", "k", 1)])
        assert (await other.get()).payload == 1
        subscriber = await house.join()
        await house.bus.publish([Event("a", "k", 2), Event("b", "k", 3)])
        assert subscriber.told == [2, 3]


async def test_what_is_lost_of_several_topics_is_told_once_and_ends_nothing(house: House) -> None:
    subscriber = await house.join()
    house.hub._resynced("a", False, "9-1")
    house.hub._resynced("b", False, "9-2")
    await turns()
    await house.bus.publish([Event("a", "k", 4)])
    house.database.may_answer.set()
    await turns()
    assert (subscriber.told, subscriber.errors, house.database.asked) == ([False, "read 1", 4], [], 1)


async def test_what_is_lost_while_the_database_is_read_makes_it_be_read_again(house: House) -> None:
    subscriber = await house.join()
    house.hub._resynced("a", False, "9-1")
    await turns()
    await house.bus.publish([Event("a", "k", 4)])  # the database has it when it is read the second time
    house.hub._resynced("a", False, "9-2")
    house.database.may_answer.set()
    await turns()
    await house.bus.publish([Event("b", "k", 5)])
    assert (subscriber.told, subscriber.errors) == ([False, "read 2", 5], [])


async def test_whoever_does_not_know_of_losses_is_told_by_an_error(house: House) -> None:
    one, other = await house.join(), await house.join()
    other.resumes = False
    house.database.may_answer.set()
    house.hub._resynced("a", False, "9-1")
    await turns()
    assert (one.told, one.errors) == ([False, "read 1"], [])
    assert [error.code for error in other.errors] == ["UNAVAILABLE"]
