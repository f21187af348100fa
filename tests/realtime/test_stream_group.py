"""A stream group with several topics, while topics open and events are lost."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from wattgate.errors import GatewayError
from wattgate.realtime.bus import DeliverCallback, ResyncCallback
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.events import Event, ResourceChanged
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.stream_group import StreamGroup
from wattgate.realtime.subscriptions.subscription import Message, Selection, Subscription
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource

TOPICS = ("a", "b")


class RecordingSubscriber:
    """A subscriber that records payloads and errors."""

    resumes = True

    def __init__(self) -> None:
        self.buffer: list[Message] | None = None
        self.payloads: list[Any] = []
        self.position = ""
        self.errors: list[GatewayError] = []

    def send(self, message: Message) -> None:
        payload = msgspec.json.decode(message.payload)
        self.position = message.position
        self.payloads.append(payload.get("extensions", {}).get("recovered", payload["data"]))

    def fail(self, error: GatewayError) -> None:
        self.errors.append(error)

    async def wait_until_writable(self) -> None:
        return


def encode(payload: Any) -> bytes:
    return b'{"data":' + msgspec.json.encode(payload)


async def encode_async(payload: Any) -> bytes:
    return encode(payload)


class Database:
    """A database that returns the number of its queries, when `may_reply` is set."""

    def __init__(self) -> None:
        self.queries = 0
        self.may_reply = asyncio.Event()

    async def load_backfill(self, rows: Any, since: datetime | None) -> list[Any]:
        self.queries += 1
        await self.may_reply.wait()
        return [f"read {self.queries}"]

    async def read(self, query: Callable[[Any], Awaitable[Any]]) -> Any:
        return await query(None)


class LossyBus(MemoryBus):
    """A bus that loses events when a test requests it."""

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        super().set_callbacks(deliver, on_resync)
        self.on_resync = on_resync

    def lose(self, topic: str, position: str) -> None:
        """Report a loss of events on a topic, which continues after this position."""
        self.on_resync(topic, False, position)


class GroupOnHub:
    """A hub on a bus in memory, and a group of subscribers to two topics."""

    def __init__(self) -> None:
        self.bus = LossyBus()
        self.hub = Hub(self.bus)
        self.database = Database()
        watch = SubscriptionSource(TOPICS, self.database.load_backfill)
        selection = Selection(encode, encode_async, encode(None), "root")
        self.subscription = Subscription("key", watch, selection, self.database.read, resumes=True)
        self.group = StreamGroup(self.hub, self.subscription)
        self.hub.add_listener(self.group, TOPICS)

    async def join(self) -> RecordingSubscriber:
        subscriber = RecordingSubscriber()
        self.database.may_reply.set()
        await self.group.add_subscriber(self.subscription, subscriber)
        self.database.may_reply.clear()
        self.database.queries = 0
        subscriber.payloads.clear()
        return subscriber


@pytest.fixture
async def on_hub() -> GroupOnHub:
    return GroupOnHub()


async def run_tasks() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_event_before_all_topics_are_open_is_ignored(on_hub: GroupOnHub) -> None:
    async with on_hub.hub.open_queue(["a"]) as other:
        await on_hub.bus.publish([Event("a", "k", 1)])
        assert (await other.get()).payload == 1
        subscriber = await on_hub.join()
        await on_hub.bus.publish([Event("a", "k", 2), Event("b", "k", 3)])
        assert subscriber.payloads == [2, 3]


async def test_changes_of_resources_are_skipped_live_and_in_a_recovery(on_hub: GroupOnHub) -> None:
    changed = ResourceChanged("resource")
    subscriber = await on_hub.join()
    await on_hub.bus.publish([Event("a", "k", 1), Event("a", "resource", changed), Event("b", "k", 2)])
    assert subscriber.payloads == [1, 2]
    since = subscriber.position
    await on_hub.bus.publish([Event("a", "resource", changed), Event("a", "k", 3), Event("a", "resource", changed)])
    again = RecordingSubscriber()
    await on_hub.group.add_subscriber(replace(on_hub.subscription, since=since), again)
    assert (subscriber.payloads, again.payloads) == ([1, 2, 3], [True, 3])


async def test_a_client_that_resumes_from_before_a_withdrawal_gets_the_readings_of_the_database(
    on_hub: GroupOnHub,
) -> None:
    subscriber = await on_hub.join()
    await on_hub.bus.publish([Event("a", "k", 0)])
    since = subscriber.position
    withdrawn = ResourceChanged("resource", withdrawn=True)
    await on_hub.bus.publish([Event("a", "k", 1), Event("b", "k", 2), Event("a", "resource", withdrawn)])
    assert subscriber.payloads == [0, 1, 2]
    on_hub.database.may_reply.set()
    again = RecordingSubscriber()
    await on_hub.group.add_subscriber(replace(on_hub.subscription, since=since), again)
    assert again.payloads == [False, "read 1"]


async def test_loss_on_several_topics_causes_one_backfill(on_hub: GroupOnHub) -> None:
    subscriber = await on_hub.join()
    on_hub.bus.lose("a", "9-1")
    on_hub.bus.lose("b", "9-2")
    await run_tasks()
    await on_hub.bus.publish([Event("a", "k", 4)])
    on_hub.database.may_reply.set()
    await run_tasks()
    assert (subscriber.payloads, subscriber.errors, on_hub.database.queries) == ([False, "read 1", 4], [], 1)


async def test_loss_during_a_backfill_causes_another_backfill(on_hub: GroupOnHub) -> None:
    subscriber = await on_hub.join()
    on_hub.bus.lose("a", "9-1")
    await run_tasks()
    await on_hub.bus.publish([Event("a", "k", 4)])  # the second query of the database returns it
    on_hub.bus.lose("a", "9-2")
    on_hub.database.may_reply.set()
    await run_tasks()
    await on_hub.bus.publish([Event("b", "k", 5)])
    assert (subscriber.payloads, subscriber.errors) == ([False, "read 2", 5], [])


async def test_loss_ends_subscriptions_without_positions_with_an_error(on_hub: GroupOnHub) -> None:
    one, other = await on_hub.join(), await on_hub.join()
    other.resumes = False
    on_hub.database.may_reply.set()
    on_hub.bus.lose("a", "9-1")
    await run_tasks()
    assert (one.payloads, one.errors) == ([False, "read 1"], [])
    assert [error.code for error in other.errors] == ["UNAVAILABLE"]
