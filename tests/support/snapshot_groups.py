"""A snapshot group with a reducer that a test controls."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from wattgate.clock import to_ms
from wattgate.errors import GatewayError
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.events import Event, MeterPointConsentRevoked
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.snapshot_group import SnapshotGroup
from wattgate.realtime.subscriptions.subscription import Message, Selection, Subscription
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.realtime.timer_wheel import TimerWheel
from wattgate.requests.fair_share import NO_OWNER, FairShare

NOW = datetime(2026, 6, 1, tzinfo=UTC)
RELOAD = "reload"
"""The payload of an event that the reducer cannot apply."""


async def run_tasks() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


class RecordingSubscriber:
    """A subscriber that records the states and errors that it receives."""

    resumes = False
    buffer: list[Message] | None = None

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.errors: list[GatewayError] = []

    def send(self, message: Message) -> None:
        self.states.append(msgspec.json.decode(message.payload)["data"])

    def fail(self, error: GatewayError) -> None:
        self.errors.append(error)

    async def wait_until_writable(self) -> None:
        return


class ListReducer:
    """A reducer whose state is a list: `load` returns the number of the load, and each event appends its payload."""

    def __init__(self) -> None:
        self.loads = 0
        self.may_load = asyncio.Event()
        self.may_load.set()
        self.error: GatewayError | None = None
        self.timer_result: list[Any] | None = None
        self.topics: tuple[str, ...] = ("topic",)
        self.topic_searches = 0
        self.topic_error: GatewayError | None = None
        self.reload_payload: Any = RELOAD
        self.during_load: Callable[[], None] = lambda: None
        """Called while a load reads."""

    async def find_topics(self, rows: Any) -> tuple[str, ...]:
        self.topic_searches += 1
        if self.topic_error is not None:
            error, self.topic_error = self.topic_error, None
            raise error
        return self.topics

    async def load(self, rows: Any) -> list[Any]:
        self.loads += 1
        number = self.loads
        await asyncio.sleep(0)  # other tasks run, as during a read of a database
        await self.may_load.wait()
        self.during_load()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return [number]

    def apply_event(self, state: list[Any], event: Event, now: datetime) -> list[Any] | None:
        return None if event.payload in (RELOAD, self.reload_payload) else [*state, event.payload]

    def advance(self, state: list[Any], now: datetime) -> list[Any] | None:
        return self.timer_result

    def refresh_for_join(self, state: list[Any], now: datetime) -> list[Any]:
        return state

    def next_change(self, state: list[Any]) -> int:
        return to_ms(NOW + timedelta(days=1))


def encode(payload: Any) -> bytes:
    return b'{"data":' + msgspec.json.encode(payload)


async def encode_async(payload: Any) -> bytes:
    return encode(payload)


async def read_without_database(query: Callable[[Any], Awaitable[Any]]) -> Any:
    return await query(None)


class GroupUnderTest:
    """A snapshot group on a bus in memory, with a `ListReducer`."""

    def __init__(self, loads: FairShare | None = None, owner: str = NO_OWNER) -> None:
        self.bus = MemoryBus()
        self.hub = Hub(self.bus)
        self.reducer = ListReducer()
        source = SubscriptionSource(("topic",), reducer=self.reducer)
        selection = Selection(encode, encode_async, encode(None), "root")
        self.subscription = Subscription("key", source, selection, read_without_database, owner=owner)
        self.group = SnapshotGroup(
            self.hub, self.subscription, self.reducer, TimerWheel(), lambda: NOW, loads or FairShare(1, share=1)
        )
        self.hub.add_listener(self.group, self.group.topics)

    async def join(self) -> RecordingSubscriber:
        subscriber = RecordingSubscriber()
        await self.group.add_subscriber(self.subscription, subscriber)
        return subscriber

    def send_event(self, payload: Any) -> None:
        self.group.on_event(Event("topic", "key", payload))

    def revoke_consent(self) -> None:
        self.send_event(MeterPointConsentRevoked("1234567890123"))

    def start_load(self) -> None:
        """Make loads wait in the database until `finish_load`."""
        self.reducer.may_load.clear()

    async def finish_load(self) -> None:
        self.reducer.may_load.set()
        await run_tasks()
