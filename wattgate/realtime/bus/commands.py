"""What is asked of Redis: scripts as values, and the client that runs them within a limit of time.

A watched topic is a stream; the channel of its events has the stream's name. Redis makes the ids of entries, and they
are the positions. Streams are made by those who watch, so that what nobody watches costs no memory.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Any, TypeVar
from uuid import uuid4
from zlib import crc32

from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from wattgate.realtime.bus import KEPT_ENTRIES, LEASE_SECONDS
from wattgate.realtime.server_address import Address

T = TypeVar("T")

ANSWER_SECONDS = 1.0
"""How long an answer of Redis, or a free connection to it, is waited for."""

ONCE_SECONDS = 60
"""For how long a call is known, so that it adds nothing when it comes again."""

CONNECTIONS = 16
AT_ONCE = 500
"""At most so many events a call has, calls go together, channels a command names: Redis serves nobody meanwhile."""

MOST_READ = 1_000
"""How many entries of a stream are read at once; a stream is far shorter."""

SHARDS = 64
"""Topics are spread over so many hash tags: a call stays within one, which a cluster asks for."""

OLDEST = (6, 2)

# In each: KEYS are streams, and the field `e` of an entry is the event; a marker, with which a stream begins, has none.
PUBLISH = """
if not redis.call('SET', KEYS[1], '', 'NX', 'EX', ARGV[1]) then return 0 end
for n = 2, #KEYS do
  local id = redis.call('XADD', KEYS[n], 'NOMKSTREAM', 'MAXLEN', '~', ARGV[2], '*', 'e', ARGV[n + 1])
  if id then redis.call('PUBLISH', KEYS[n], id .. ' ' .. ARGV[n + 1]) end
end
return 1
"""
OPEN = """
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local id = newest and newest[1]
if not id then
  id = redis.call('XADD', KEYS[1], '*', 'e', '')
  redis.call('PUBLISH', KEYS[1], id .. ' ')
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return id
"""
BREAK = """
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
local id = redis.call('XADD', KEYS[1], '*', 'e', '')
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[1], id .. ' ')
return 1
"""
SINCE = """
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'since', ARGV[2])
end
return redis.call('HGET', KEYS[1], 'since')
"""

RUN = "wattgate:run"
"""Where Redis keeps which of its runs this is, and since when it is known."""


@dataclass(frozen=True, slots=True)
class Call:
    """A script with its keys and arguments. Each may be run again without harm."""

    script: str
    keys: tuple[str, ...]
    arguments: tuple[bytes | int, ...]

    @property
    def digest(self) -> str:
        return sha1(self.script.encode(), usedforsecurity=False).hexdigest()


def shard_of(topic: str) -> str:
    """The beginning of the keys that share a slot with the topic's stream."""
    return f"wattgate:{{{crc32(topic.encode()) % SHARDS}}}"


def key_of(topic: str) -> str:
    """The name of the topic's stream and channel."""
    return f"{shard_of(topic)}:{topic}"


def publishing(events: Iterable[tuple[str, bytes]]) -> list[Call]:
    """Adds events (topic, body) to the streams that there are, in order per topic, and tells the channels."""
    shards: dict[str, list[tuple[str, bytes]]] = {}
    for topic, body in events:
        shards.setdefault(shard_of(topic), []).append((key_of(topic), body))
    calls = []
    for shard, entries in shards.items():
        for start in range(0, len(entries), AT_ONCE):
            some = entries[start : start + AT_ONCE]
            once = f"{shard}:once:{uuid4().hex}"
            keys, bodies = (once, *(key for key, _ in some)), (body for _, body in some)
            calls.append(Call(PUBLISH, keys, (ONCE_SECONDS, KEPT_ENTRIES, *bodies)))
    return calls


def opening(keys: Iterable[str]) -> list[Call]:
    """Makes each stream where there is none, and keeps it for the time of a lease; answers its newest id."""
    return [Call(OPEN, (key,), (LEASE_SECONDS,)) for key in keys]


def breaking(keys: Iterable[str]) -> list[Call]:
    """Begins each stream anew that there is, because an event is missing in it: no earlier position is good."""
    return [Call(BREAK, (key,), (LEASE_SECONDS,)) for key in keys]


Entry = tuple[str, bytes]
"""A position, and the body of its event, which is empty for a marker."""


class Commands:
    """The connections to Redis on which commands go. Every wait has a limit; nothing is tried again by itself."""

    def __init__(self, address: Address) -> None:
        pool = BlockingConnectionPool(
            max_connections=CONNECTIONS,
            timeout=ANSWER_SECONDS,
            connection_class=SSLConnection if address.tls else Connection,
            host=address.host,
            port=address.port,
            username=address.username,
            password=address.password,
            db=address.database,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
        )
        self._redis: Redis = Redis.from_pool(pool)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to these calls. RedisError where one fails; those before it have been done."""
        return await self._finished(self._run(calls))

    async def read(self, wanted: Sequence[tuple[str, str]]) -> list[list[Entry] | None]:
        """What follows in each stream (key, position); None where the entry of that position is gone."""
        return await self._finished(self._read(wanted))

    async def since(self) -> int:
        """Since when (ms of its clock) Redis has lost nothing.

        It may have been started again with an old state, or another one may have taken its place: then it is a new
        run, of which nobody knows what is missing in it from before the instant at which it was first seen.
        """
        return await self._finished(self._since())

    async def streams(self) -> list[str]:
        """The keys of all streams that there are."""
        return await self._finished(self._streams())

    async def version(self) -> tuple[int, ...]:
        """The version of the server."""
        told = await self._finished(self._redis.info("server"))
        return tuple(int(part) for part in str(told["redis_version"]).split("."))

    async def close(self) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=2 * ANSWER_SECONDS)
        await self._redis.aclose()

    async def _finished(self, work: Awaitable[T]) -> T:
        """What the work answers. Whoever is cancelled leaves at once, and the work ends within its own limits.

        It is not cancelled itself, because the client may take that for an error of the connection and hide it.
        """
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked has it, or has left

    async def _run(self, calls: Sequence[Call]) -> list[Any]:
        answers: list[Any] = []
        for start in range(0, len(calls), AT_ONCE):
            some = calls[start : start + AT_ONCE]
            got = await self._evaluate(some)
            if any(isinstance(one, NoScriptError) for one in got):
                for script in {one.script for one in some}:
                    await self._redis.script_load(script)
                got = await self._evaluate(some)
            answers += got
        return _good(answers)

    async def _read(self, wanted: Sequence[tuple[str, str]]) -> list[list[Entry] | None]:
        pipeline = self._redis.pipeline(transaction=False)
        for key, position in wanted:
            pipeline.xrange(key, min=position, count=MOST_READ)
        found = _good(await pipeline.execute(raise_on_error=False))
        return [_after(rows, position) for rows, (_, position) in zip(found, wanted, strict=True)]

    async def _since(self) -> int:
        run = (await self._redis.info("server")).get("run_id", "")
        seconds, microseconds = await self._redis.time()
        now = seconds * 1000 + microseconds // 1000
        (since,) = await self._run([Call(SINCE, (RUN,), (run.encode(), now))])
        return int(since)

    async def _streams(self) -> list[str]:
        found = self._redis.scan_iter(match="wattgate:{*}:*", count=AT_ONCE, _type="stream")
        return [key.decode() async for key in found]

    async def _evaluate(self, calls: Sequence[Call]) -> list[Any]:
        pipeline = self._redis.pipeline(transaction=False)
        for call in calls:
            pipeline.evalsha(call.digest, len(call.keys), *call.keys, *call.arguments)
        return list(await pipeline.execute(raise_on_error=False))


def _after(rows: Sequence[tuple[bytes, dict[bytes, bytes]]], position: str) -> list[Entry] | None:
    if not rows or rows[0][0].decode() != position:
        return None
    return [(entry.decode(), fields[b"e"]) for entry, fields in rows[1:]]


def _good(answers: list[Any]) -> list[Any]:
    """The answers, if none of them is an error."""
    for answer in answers:
        if isinstance(answer, RedisError):
            raise answer
    return answers
