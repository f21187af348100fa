"""Live readings: the server's processor time for a message and for a connection, and the memory of an idle subscriber.

Each server has one core and its load the others. The gateway receives readings through Redis and authenticates every
subscriber. Plain Strawberry and two Node servers do neither: an HTTP request makes them publish in their own process.
"""

import asyncio
import operator
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import httpx
import uvloop
from sqlalchemy import make_url

from bench import bare_send
from bench.displays import DISPLAY, add_homes_with_readings
from bench.gateway import BENCH_SETTINGS, SeededGateway, seeded_gateway
from bench.goals import Judgement, at_most, print_goals
from bench.pinned import PinnedProcess, cores, pinned_process
from bench.subscribers import WAIT_TIMEOUT_SECONDS, SubscriberGroup
from bench.table import console, print_table
from tests.support.node import Node, NoNode, node
from tests.support.redis_server import redis_server
from wattgate.app.settings import Settings
from wattgate.app.workers.access_log import FLUSH_SECONDS
from wattgate.clock import utc_now
from wattgate.enums import ReadingQuality
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ReadingRecorded
from wattgate.realtime.redis_url import RedisServers

SUBSCRIBE = (
    "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { resourceId field at value unit } }"  # about 190 bytes
)
ROUNDS = 3
"""The number of rounds. Each round measures all servers in turn; the table shows medians."""

FAN_OUT_GOAL = at_most(2, "one reading to 1,000 subscribers: processor, x a bare send")
HOMES_GOAL = at_most(16, "1,000 homes through Redis: µs for each message")
CONNECT_GOAL = at_most(1000, "connecting a subscriber, log-in included: µs")
FRAME_GOAL = at_most(100, "frame of a display: µs for each reading")
MEMORY_GOAL = at_most(12, "memory of an idle subscriber: KiB")

BY_HAND = "by hand"
"""The server of `bench.bare_live`: the floor of connecting, of the messages and of frames."""

BATCH = 100
"""The number of readings of different homes in one call of publish."""


@dataclass(frozen=True)
class SubscriberCounts:
    """The numbers of subscribers: to one resource (`fan_out`), to one resource each (`homes`), and for the warm-up.

    Connected subscribers count as idle after `idle_seconds`.
    """

    fan_out: int = 1000
    homes: int = 1000
    warm_up: int = 50
    idle_seconds: float = 2.0


class LiveServer(Protocol):
    """A running server under measurement that can publish readings."""

    @property
    def server(self) -> PinnedProcess:
        """The process of the server."""

    @property
    def init(self) -> dict[str, str]:
        """The payload of connection_init for its subscribers."""

    async def publish(self, resource_ids: Sequence[str], events: int, interval_seconds: float) -> None:
        """Publish `events` readings of each resource, `interval_seconds` apart."""


@dataclass(frozen=True)
class HttpTriggeredServer:
    """A server that publishes readings in its own process after an HTTP request."""

    server: PinnedProcess
    http: httpx.AsyncClient
    init: dict[str, str]

    async def publish(self, resource_ids: Sequence[str], events: int, interval_seconds: float) -> None:
        command = {"resources": list(resource_ids), "events": events, "every": interval_seconds}
        (await self.http.post("/publish", json=command)).raise_for_status()


@dataclass(frozen=True)
class RedisFedGateway:
    """A gateway that receives readings through Redis."""

    server: PinnedProcess
    seeded: SeededGateway
    init: dict[str, str]

    async def publish(self, resource_ids: Sequence[str], events: int, interval_seconds: float) -> None:
        for number in range(events):
            due = time.monotonic() + interval_seconds
            for first in range(0, len(resource_ids), BATCH):
                batch = [_reading(resource_id, number) for resource_id in resource_ids[first : first + BATCH]]
                await self.seeded.gateway.bus.publish(batch)
            await asyncio.sleep(due - time.monotonic())


def _reading(resource_id: str, number: int) -> Event:
    reading = ReadingRecorded(resource_id, "POWER", "W", utc_now(), float(number), ReadingQuality.ACTUAL)
    return Event(topics.readings(resource_id), "POWER", reading)


@dataclass(frozen=True)
class PublishRate:
    """The number of readings of each resource, and the seconds between them. A run takes about four seconds."""

    events: int
    interval_seconds: float


@dataclass(frozen=True)
class LiveContender:
    """A server to measure: its start, and the publish rates for one resource and for the resources of all homes."""

    name: str
    start: Callable[[], AbstractAsyncContextManager[LiveServer]]
    fan_out: PublishRate
    homes: PublishRate


@dataclass(frozen=True)
class LiveFigures:
    """The results of a run.

    `fan_out` and `homes` are the server's processor time for a message in µs, and `connect` that for a connection.
    `memory` is the memory of an idle subscriber in KiB, and `rate` the connections per second.
    """

    fan_out: float
    homes: float
    memory: float
    connect: float
    rate: float


async def bench_live() -> list[Judgement]:
    """Measure all servers in turn. Return the figures that have goals."""
    _, others = cores()
    os.sched_setaffinity(0, others)
    figures_by_server: dict[str, list[LiveFigures]] = defaultdict(list)
    counts = SubscriberCounts()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wattgate-bench-")))
        seeded, gateway = await stack.enter_async_context(gateway_contender(folder, counts))
        by_hand = by_hand_contender(gateway)
        contenders = [gateway, by_hand, strawberry_contender(), *_enter_node(stack)]
        homes = await add_homes_with_readings(seeded, seeded.resource_ids[1:])
        frame_costs: dict[str, list[float]] = defaultdict(list)
        send_costs = []
        for _ in range(ROUNDS):
            send_costs.append(await measure_bare_sends(counts))
            for contender in contenders:
                figures_by_server[contender.name].append(await measure(contender, seeded.resource_ids, counts))
            for contender in (gateway, by_hand):
                frame_costs[contender.name].append(await measure_displays(contender, seeded.resource_ids[1:], homes))
    medians = {name: _median(runs) for name, runs in figures_by_server.items()}
    bare_send_cost = statistics.median(send_costs)
    frame_medians = {name: statistics.median(costs) for name, costs in frame_costs.items()}
    _print_table(medians, bare_send_cost, frame_medians)
    ours = medians["wattgate"]
    return [
        (FAN_OUT_GOAL, ours.fan_out / bare_send_cost),
        (HOMES_GOAL, ours.homes),
        (CONNECT_GOAL, ours.connect),
        (FRAME_GOAL, frame_medians["wattgate"]),
        (MEMORY_GOAL, ours.memory),
    ]


@asynccontextmanager
async def gateway_contender(
    folder: Path, counts: SubscriberCounts
) -> AsyncIterator[tuple[SeededGateway, LiveContender]]:
    """Seed an SQLite database, start a Redis server, and yield the seeded gateway and the contender."""
    (folder / "redis").mkdir()
    async with redis_server(folder / "redis", "--appendonly", "no") as redis:
        settings = Settings(_env_file=None, database_url=f"sqlite:///{folder}/live.sqlite3", redis_url=redis.url)
        async with seeded_gateway(settings, count=1 + counts.homes) as seeded, seeded.gateway.bus:
            start = partial(_start_gateway, seeded, settings)
            yield seeded, LiveContender("wattgate", start, PublishRate(200, 0.02), PublishRate(40, 0.12))


def by_hand_contender(gateway: LiveContender) -> LiveContender:
    """Return the server of `bench.bare_live`, on the database and the Redis server of the gateway."""
    return LiveContender(BY_HAND, partial(_start_by_hand, *gateway.start.args), gateway.fan_out, gateway.homes)  # type: ignore[attr-defined]


def strawberry_contender() -> LiveContender:
    """Return Strawberry's own server for subscriptions."""
    start = partial(_start_http_triggered, sys.executable, "-m", "bench.plain_strawberry")
    return LiveContender("plain Strawberry", start, PublishRate(12, 0.3), PublishRate(8, 0.3))


def node_contenders(node_runtime: Node) -> list[LiveContender]:
    """Return the Node servers."""
    return [
        LiveContender(
            name,
            partial(_start_http_triggered, node_runtime.executable, node_runtime.folder / f"{name}.mjs"),
            PublishRate(60, 0.06),
            PublishRate(30, 0.06),
        )
        for name in ("graphql-ws", "mercurius")
    ]


def _enter_node(stack: AsyncExitStack) -> list[LiveContender]:
    try:
        return node_contenders(stack.enter_context(node(Path(__file__).parent / "node")))
    except NoNode as missing:
        console.print(f"Node servers are skipped: {missing}")
        return []


@asynccontextmanager
async def _start_gateway(seeded: SeededGateway, settings: Settings) -> AsyncIterator[LiveServer]:
    environment = {
        "WATTGATE_DATABASE_URL": settings.database_url,
        "WATTGATE_REDIS_URL": str(settings.redis_url),
        **BENCH_SETTINGS,
        "WATTGATE_MAX_ACCOUNT_CONNECTIONS": "100000",  # all subscribers use one account
        "WATTGATE_MAX_ADDRESS_CONNECTIONS": "0",  # and one address
    }
    async with pinned_process(sys.executable, "-m", "wattgate", "serve", **environment) as server:
        yield RedisFedGateway(server, seeded, {"token": seeded.token})


@asynccontextmanager
async def _start_by_hand(seeded: SeededGateway, settings: Settings) -> AsyncIterator[LiveServer]:
    database, redis = make_url(settings.database_url).database, RedisServers.from_url(str(settings.redis_url)).login
    async with pinned_process(sys.executable, "-m", "bench.bare_live", str(database), str(redis.port)) as server:
        yield RedisFedGateway(server, seeded, {})


@asynccontextmanager
async def _start_http_triggered(*command: str | Path) -> AsyncIterator[LiveServer]:
    async with pinned_process(*command, NODE_ENV="production") as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as http:
            yield HttpTriggeredServer(server, http, {})


async def measure(contender: LiveContender, resource_ids: Sequence[str], counts: SubscriberCounts) -> LiveFigures:
    """Measure a server. `fan_out` subscribers follow the first resource, the others one resource each."""
    first, *own = resource_ids
    async with contender.start() as live_server:
        server, group = live_server.server, SubscriberGroup(live_server.server.port, init_payload=live_server.init)
        await group.connect([_query(first)] * counts.warm_up)
        await group.warm_up(partial(live_server.publish, [first], 1, 0))
        await group.disconnect()
        memory, cpu, started_at = server.memory_kib, server.cpu_seconds, time.monotonic()
        await group.connect([*[_query(first)] * counts.fan_out, *map(_query, own)])
        connect_seconds, subscriber_count = time.monotonic() - started_at, len(group.subscribers)
        await asyncio.sleep(counts.idle_seconds)
        memory_growth, connect_cpu = server.memory_kib - memory, server.cpu_seconds - cpu
        await group.warm_up(partial(live_server.publish, resource_ids, 1, 0))
        return LiveFigures(
            fan_out=await _measure_delivery(live_server, group, [first], counts.fan_out, contender.fan_out),
            homes=await _measure_delivery(live_server, group, own, counts.homes, contender.homes),
            memory=memory_growth / subscriber_count,
            connect=connect_cpu / subscriber_count * 1e6,
            rate=subscriber_count / connect_seconds,
        )


async def measure_displays(
    contender: LiveContender,
    resource_ids: Sequence[str],
    homes: Sequence[str],
    settle_seconds: float = FLUSH_SECONDS + 2,
) -> float:
    """Return the server's processor time in µs for each reading of a home that has a display.

    A display receives the newest frame: of readings that arrive together, only the last one. Raise TimeoutError if a
    display receives no frame. The measurement begins when the gateway has written the access log of the connections.
    """
    async with contender.start() as live_server:
        group = SubscriberGroup(live_server.server.port, init_payload=live_server.init)
        await group.connect([(DISPLAY, {"id": home_id}) for home_id in homes])
        await group.warm_up(partial(live_server.publish, resource_ids, 1, 0))
        await asyncio.sleep(settle_seconds)
        counts_before = [subscriber.messages for subscriber in group.subscribers]
        cpu_before, rate = live_server.server.cpu_seconds, contender.homes
        await live_server.publish(resource_ids, rate.events, rate.interval_seconds)
        await group.wait_for(
            lambda: all(map(operator.lt, counts_before, (subscriber.messages for subscriber in group.subscribers)))
        )
        await group.wait_until_idle()
        return (live_server.server.cpu_seconds - cpu_before) / (rate.events * len(homes)) * 1e6


async def measure_bare_sends(counts: SubscriberCounts, events: int = 200) -> float:
    """Return the processor time in µs for each message of `bench.bare_send`."""
    expected, received, loop = events * counts.fan_out * len(bare_send.MESSAGE), 0, asyncio.get_running_loop()
    all_received = asyncio.Event()

    class Peer(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(b"!")

        def data_received(self, data: bytes) -> None:
            nonlocal received
            received += len(data)
            if received >= expected:
                all_received.set()

    async with pinned_process(sys.executable, "-m", "bench.bare_send", str(counts.fan_out), str(events)) as server:
        for _ in range(counts.fan_out):
            await loop.create_connection(Peer, "127.0.0.1", server.port)
        cpu_before = server.cpu_seconds
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await all_received.wait()
        cpu_used = server.cpu_seconds - cpu_before
        await asyncio.sleep(bare_send.INTERVAL_SECONDS)
        if received != expected:
            raise RuntimeError(f"The sockets received {received - expected} bytes too many.")
        return cpu_used / (events * counts.fan_out) * 1e6


def _query(resource_id: str) -> tuple[str, dict[str, Any]]:
    return SUBSCRIBE, {"ids": [resource_id]}


async def _measure_delivery(
    live_server: LiveServer, group: SubscriberGroup, resource_ids: Sequence[str], listeners: int, rate: PublishRate
) -> float:
    """Return the server's processor time in µs for each message. Raise an error unless every message arrives once."""
    expected = rate.events * listeners
    cpu_before, target = live_server.server.cpu_seconds, group.messages + expected
    await live_server.publish(resource_ids, rate.events, rate.interval_seconds)
    await group.wait_for(lambda: group.messages >= target)
    cpu_used = live_server.server.cpu_seconds - cpu_before
    if group.messages != target:
        raise RuntimeError(f"The subscribers received {group.messages - target} messages too many.")
    return cpu_used / expected * 1e6


def _print_table(figures: Mapping[str, LiveFigures], bare_send_cost: float, frame_costs: Mapping[str, float]) -> None:
    """Print the figures of each server and of the bare send. Only the gateway and its floor draw displays."""
    ours = figures["wattgate"]
    rows = [
        (
            name,
            f"{server_figures.fan_out:.1f}",
            f"{server_figures.fan_out / ours.fan_out:.1f}",
            f"{server_figures.homes:.1f}",
            f"{server_figures.homes / ours.homes:.1f}",
            f"{server_figures.memory:.1f}",
            f"{server_figures.connect:.0f}",
            f"{server_figures.rate:,.0f}",
            f"{frame_costs[name]:.1f}" if name in frame_costs else "",
        )
        for name, server_figures in figures.items()
    ]
    send = ("bare send", f"{bare_send_cost:.1f}", f"{bare_send_cost / ours.fan_out:.1f}", *[""] * 6)
    goals = ("goal", f"{FAN_OUT_GOAL} x send", "", str(HOMES_GOAL), "", str(MEMORY_GOAL), str(CONNECT_GOAL), "")
    columns = ("server", "one to 1,000: µs", "x", "1,000 homes: µs", "x", "KiB idle", "µs to connect", "connects/s")
    title = "Live: server's processor for each message, memory of an idle subscriber, and a display's frame"
    print_table(title, (*columns, "frame: µs"), [*rows, send, (*goals, str(FRAME_GOAL))])


def _median(runs: list[LiveFigures]) -> LiveFigures:
    return LiveFigures(*map(statistics.median, zip(*map(astuple, runs), strict=True)))


if __name__ == "__main__":
    print_goals(uvloop.run(bench_live()))
