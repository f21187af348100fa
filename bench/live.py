"""Live readings: what a message costs the server, what an idle subscriber holds, what a connection takes.

Each server has one core and its load another. Side by side: the gateway, behind Redis and with every subscriber
authenticated; plain Strawberry, and two servers of Node, which have neither, and are told in their own process what
to send.
"""

import asyncio
import operator
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import httpx
import uvloop

from bench import bare_send
from bench.gateway import SERVED, Owner, owner
from bench.pinned import Pinned, cores, pinned
from bench.subscribers import SETTLED_WITHIN, Crowd
from bench.table import console, show
from tests.support.node import Node, NoNode, node
from tests.support.redis_server import redis_server
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.enums import ReadingQuality
from wattgate.realtime import topics
from wattgate.realtime.events import Event, LiveReading

SUBSCRIBE = (
    "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { resourceId field at value unit } }"  # about 190 bytes
)
DISPLAY = """subscription ($id: ID!) { display(virtualEntityId: $id) {
    at power { net unit at } today { electricity { value unit } cost { total } } freshness { state ageSeconds } } }"""
ROUNDS = 3
"""How often each server is measured, one after another in each round; the median counts."""

BATCH = 100
"""How many readings of different homes are published at once."""


@dataclass(frozen=True)
class Size:
    """How many subscribers follow one resource, how many homes their own, how many come first to warm up, and after
    how many seconds those who have connected are called idle."""

    crowd: int = 1000
    homes: int = 1000
    warm: int = 50
    idle: float = 2.0


class Stage(Protocol):
    """A server under measurement, which may be told to send."""

    @property
    def server(self) -> Pinned:
        """Its process."""

    @property
    def init(self) -> dict[str, str]:
        """The payload with which its subscribers begin."""

    async def fire(self, resource_ids: Sequence[str], events: int, every: float) -> None:
        """Publish so many readings of each resource, so many seconds apart."""


@dataclass(frozen=True)
class Fired:
    """A server that is told over HTTP what to publish by itself."""

    server: Pinned
    http: httpx.AsyncClient
    init: dict[str, str]

    async def fire(self, resource_ids: Sequence[str], events: int, every: float) -> None:
        asked = {"resources": list(resource_ids), "events": events, "every": every}
        (await self.http.post("/fire", json=asked)).raise_for_status()


@dataclass(frozen=True)
class Published:
    """A gateway to which readings come through Redis."""

    server: Pinned
    owner: Owner
    init: dict[str, str]

    async def fire(self, resource_ids: Sequence[str], events: int, every: float) -> None:
        for number in range(events):
            due = time.monotonic() + every
            for first in range(0, len(resource_ids), BATCH):
                batch = [_reading(one, number) for one in resource_ids[first : first + BATCH]]
                await self.owner.gateway.bus.publish(batch)
            await asyncio.sleep(due - time.monotonic())


def _reading(resource_id: str, number: int) -> Event:
    reading = LiveReading(resource_id, "POWER", "W", utc_now(), float(number), ReadingQuality.ACTUAL)
    return Event(topics.readings(resource_id), "POWER", reading)


@dataclass(frozen=True)
class Load:
    """So many readings of each resource, so many seconds apart: what a server can send in about four seconds."""

    events: int
    every: float


@dataclass(frozen=True)
class Contender:
    """A server to measure: how it is started, and the loads on one resource and on that of every home."""

    name: str
    stage: Callable[[], AbstractAsyncContextManager[Stage]]
    fan_out: Load
    homes: Load


@dataclass(frozen=True)
class Figures:
    """What one run has told: microseconds of the server's processor, KiB, connections a second."""

    fan_out: float
    homes: float
    memory: float
    connect: float
    rate: float


async def bench_live() -> None:
    """All servers, in turns."""
    _, others = cores()
    os.sched_setaffinity(0, others)
    told: dict[str, list[Figures]] = defaultdict(list)
    size = Size()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wattgate-bench-")))
        made, gateway = await stack.enter_async_context(gateway_on(folder, size))
        contenders = [gateway, strawberry_alone(), *_of_node(stack)]
        homes = await made.add_homes(made.resource_ids[1:])
        frames, sends = [], []
        for _ in range(ROUNDS):
            sends.append(await bare_sends(size))
            for contender in contenders:
                told[contender.name].append(await measured(contender, made.resource_ids, size))
            frames.append(await displays(gateway, made.resource_ids[1:], homes))
    _show(told)
    console.print(f"A bare send to each of {size.crowd:,} sockets: {statistics.median(sends):.1f} µs")
    console.print(f"{len(homes):,} homes with a display each: {statistics.median(frames):.1f} µs for each reading")


@asynccontextmanager
async def gateway_on(folder: Path, size: Size) -> AsyncIterator[tuple[Owner, Contender]]:
    """A user with as many resources as are needed, and the gateway on SQLite and a Redis of its own."""
    (folder / "redis").mkdir()
    async with redis_server(folder / "redis", "--appendonly", "no") as redis:
        settings = Settings(_env_file=None, database_url=f"sqlite:///{folder}/live.sqlite3", redis_url=redis.url)
        async with owner(settings, count=1 + size.homes) as made, made.gateway.bus:
            stage = partial(_gateway, made, settings)
            yield made, Contender("wattgate", stage, Load(200, 0.02), Load(40, 0.12))


def strawberry_alone() -> Contender:
    """Strawberry's own server for subscriptions."""
    stage = partial(_fired, sys.executable, "-m", "bench.plain_strawberry")
    return Contender("plain Strawberry", stage, Load(12, 0.3), Load(8, 0.3))


def servers_of_node(found: Node) -> list[Contender]:
    """The servers of Node."""
    return [
        Contender(name, partial(_fired, found.executable, found.folder / f"{name}.mjs"), Load(60, 0.06), Load(30, 0.06))
        for name in ("graphql-ws", "mercurius")
    ]


def _of_node(stack: AsyncExitStack) -> list[Contender]:
    try:
        return servers_of_node(stack.enter_context(node(Path(__file__).parent / "node")))
    except NoNode as missing:
        console.print(f"The servers of Node are left out: {missing}")
        return []


@asynccontextmanager
async def _gateway(made: Owner, settings: Settings) -> AsyncIterator[Stage]:
    environment = {
        "WATTGATE_DATABASE_URL": settings.database_url,
        "WATTGATE_REDIS_URL": str(settings.redis_url),
        **SERVED,
        "WATTGATE_MAX_ACCOUNT_CONNECTIONS": "100000",  # all subscribers are of one account
    }
    async with pinned(sys.executable, "-m", "wattgate", "serve", **environment) as server:
        yield Published(server, made, {"token": made.token})


@asynccontextmanager
async def _fired(*command: str | Path) -> AsyncIterator[Stage]:
    async with pinned(*command, NODE_ENV="production") as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as http:
            yield Fired(server, http, {})


async def measured(contender: Contender, resource_ids: Sequence[str], size: Size) -> Figures:
    """One run of a server: half of its subscribers follow the first resource, the others one each of their own."""
    first, *own = resource_ids
    async with contender.stage() as stage:
        server, crowd = stage.server, Crowd(stage.server.port, init=stage.init)
        await crowd.join([_query(first)] * size.warm)
        await crowd.warmed(partial(stage.fire, [first], 1, 0))
        await crowd.leave()
        memory, cpu, begun = server.memory, server.cpu, time.monotonic()
        await crowd.join([*[_query(first)] * size.crowd, *map(_query, own)])
        took, members = time.monotonic() - begun, len(crowd.members)
        await asyncio.sleep(size.idle)
        held, connect = server.memory - memory, server.cpu - cpu
        await crowd.warmed(partial(stage.fire, resource_ids, 1, 0))
        return Figures(
            fan_out=await _told(stage, crowd, [first], size.crowd, contender.fan_out),
            homes=await _told(stage, crowd, own, size.homes, contender.homes),
            memory=held / members,
            connect=connect / members * 1e6,
            rate=members / took,
        )


async def displays(contender: Contender, resource_ids: Sequence[str], homes: Sequence[str]) -> float:
    """Microseconds of the gateway's processor for each reading of a home that has a display.

    A display is told the newest frame: of readings that come at once, the last one. TimeoutError if a display
    receives no frame.
    """
    async with contender.stage() as stage:
        crowd = Crowd(stage.server.port, init=stage.init)
        await crowd.join([(DISPLAY, {"id": one}) for one in homes])
        await crowd.warmed(partial(stage.fire, resource_ids, 1, 0))
        before = [member.messages for member in crowd.members]
        begun, load = stage.server.cpu, contender.homes
        await stage.fire(resource_ids, load.events, load.every)
        await crowd.until(lambda: all(map(operator.lt, before, (member.messages for member in crowd.members))))
        await crowd.settled()
        return (stage.server.cpu - begun) / (load.events * len(homes)) * 1e6


async def bare_sends(size: Size, events: int = 200) -> float:
    """Microseconds of the processor for each message that is only sent."""
    awaited, heard, loop = events * size.crowd * len(bare_send.MESSAGE), 0, asyncio.get_running_loop()
    whole = asyncio.Event()

    class Peer(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(b"!")

        def data_received(self, data: bytes) -> None:
            nonlocal heard
            heard += len(data)
            if heard >= awaited:
                whole.set()

    async with pinned(sys.executable, "-m", "bench.bare_send", str(size.crowd), str(events)) as server:
        for _ in range(size.crowd):
            await loop.create_connection(Peer, "127.0.0.1", server.port)
        begun = server.cpu
        async with asyncio.timeout(SETTLED_WITHIN):
            await whole.wait()
        used = server.cpu - begun
        await asyncio.sleep(bare_send.EVERY)
        if heard != awaited:
            raise RuntimeError(f"{heard - awaited} bytes too many")
        return used / (events * size.crowd) * 1e6


def _query(resource_id: str) -> tuple[str, dict[str, Any]]:
    return SUBSCRIBE, {"ids": [resource_id]}


async def _told(stage: Stage, crowd: Crowd, resource_ids: Sequence[str], listeners: int, load: Load) -> float:
    """Microseconds of the server's processor for each message under a load, all of which are delivered."""
    awaited = load.events * listeners
    begun, until = stage.server.cpu, crowd.messages + awaited
    await stage.fire(resource_ids, load.events, load.every)
    await crowd.until(lambda: crowd.messages >= until)
    used = stage.server.cpu - begun
    if crowd.messages != until:
        raise RuntimeError(f"{crowd.messages - until} messages too many")
    return used / awaited * 1e6


def _show(told: dict[str, list[Figures]]) -> None:
    figures = {name: _median(some) for name, some in told.items()}
    ours = figures["wattgate"]
    rows = [
        (
            name,
            f"{one.fan_out:.1f}",
            f"{one.fan_out / ours.fan_out:.1f}",
            f"{one.homes:.1f}",
            f"{one.homes / ours.homes:.1f}",
            f"{one.memory:.1f}",
            f"{one.connect:.0f}",
            f"{one.rate:,.0f}",
        )
        for name, one in figures.items()
    ]
    columns = ("server", "one to 1,000: µs", "x", "1,000 homes: µs", "x", "KiB idle", "µs to connect", "connects/s")
    goals = ("goal", "<= 10", "graphql-ws >= 6, Strawberry >= 20", "<= 20", "", "<= 16", "", "")
    show("Live: server's processor for each message, memory of an idle subscriber", columns, [*rows, goals])


def _median(some: list[Figures]) -> Figures:
    return Figures(*map(statistics.median, zip(*map(astuple, some), strict=True)))


if __name__ == "__main__":
    uvloop.run(bench_live())
