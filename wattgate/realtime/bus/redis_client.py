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

from wattgate.realtime.bus import MIN_RETAINED_ENTRIES, TOPIC_LEASE_SECONDS
from wattgate.realtime.server_address import ServerAddress

T = TypeVar("T")

RESPONSE_TIMEOUT_SECONDS = 1.0
"""How long an answer of Redis, or a free connection to it, is waited for."""

DEDUPLICATION_SECONDS = 60
"""For how long a call is known, so that it adds nothing when it comes again."""

MAX_CONNECTIONS = 16
BATCH_SIZE = 500
"""At most so many events a call has, calls go together, channels a command names: Redis serves nobody meanwhile."""

MAX_READ_ENTRIES = 1_000
"""How many entries of a stream are read at once; a stream is far shorter."""

SHARDS = 64
"""Topics are spread over so many hash tags: a call stays within one, which a cluster asks for."""

MIN_REDIS_VERSION = (6, 2)

# In each: KEYS are streams, and the field `e` of an entry is the event; a marker, with which a stream begins, has none.
PUBLISH_SCRIPT = """
if not redis.call('SET', KEYS[1], '', 'NX', 'EX', ARGV[1]) then return 0 end
for n = 2, #KEYS do
  local id = redis.call('XADD', KEYS[n], 'NOMKSTREAM', 'MAXLEN', '~', ARGV[2], '*', 'e', ARGV[n + 1])
  if id then redis.call('PUBLISH', KEYS[n], id .. ' ' .. ARGV[n + 1]) end
end
return 1
"""
OPEN_STREAM_SCRIPT = """
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local id = newest and newest[1]
if not id then
  id = redis.call('XADD', KEYS[1], '*', 'e', '')
  redis.call('PUBLISH', KEYS[1], id .. ' ')
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return id
"""
RESET_STREAM_SCRIPT = """
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
local id = redis.call('XADD', KEYS[1], '*', 'e', '')
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[1], id .. ' ')
return 1
"""
RUN_SINCE_SCRIPT = """
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'since', ARGV[2])
end
return redis.call('HGET', KEYS[1], 'since')
"""

RUN_KEY = "wattgate:run"
"""Where Redis keeps which of its runs this is, and since when it is known."""


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A script with its keys and arguments. Each may be run again without harm."""

    script: str
    keys: tuple[str, ...]
    arguments: tuple[bytes | int, ...]

    @property
    def digest(self) -> str:
        return sha1(self.script.encode(), usedforsecurity=False).hexdigest()


def shard_prefix(topic: str) -> str:
    """The beginning of the keys that share a slot with the topic's stream."""
    return f"wattgate:{{{crc32(topic.encode()) % SHARDS}}}"


def stream_key(topic: str) -> str:
    """The name of the topic's stream and channel."""
    return f"{shard_prefix(topic)}:{topic}"


def publish_calls(events: Iterable[tuple[str, bytes]]) -> list[ScriptCall]:
    """Adds events (topic, body) to the streams that there are, in order per topic, and tells the channels."""
    shards: dict[str, list[tuple[str, bytes]]] = {}
    for topic, body in events:
        shards.setdefault(shard_prefix(topic), []).append((stream_key(topic), body))
    calls = []
    for shard, entries in shards.items():
        for start in range(0, len(entries), BATCH_SIZE):
            batch = entries[start : start + BATCH_SIZE]
            once_key = f"{shard}:once:{uuid4().hex}"
            keys, bodies = (once_key, *(key for key, _ in batch)), (body for _, body in batch)
            calls.append(ScriptCall(PUBLISH_SCRIPT, keys, (DEDUPLICATION_SECONDS, MIN_RETAINED_ENTRIES, *bodies)))
    return calls


def open_calls(keys: Iterable[str]) -> list[ScriptCall]:
    """Makes each stream where there is none, and keeps it for the time of a lease; answers its newest id."""
    return [ScriptCall(OPEN_STREAM_SCRIPT, (key,), (TOPIC_LEASE_SECONDS,)) for key in keys]


def reset_calls(keys: Iterable[str]) -> list[ScriptCall]:
    """Begins each stream anew that there is, because an event is missing in it: no earlier position is good."""
    return [ScriptCall(RESET_STREAM_SCRIPT, (key,), (TOPIC_LEASE_SECONDS,)) for key in keys]


StreamEntry = tuple[str, bytes]
"""A position, and the body of its event, which is empty for a marker."""


class RedisClient:
    """The connections to Redis on which commands go. Every wait has a limit; nothing is tried again by itself."""

    def __init__(self, address: ServerAddress) -> None:
        pool = BlockingConnectionPool(
            max_connections=MAX_CONNECTIONS,
            timeout=RESPONSE_TIMEOUT_SECONDS,
            connection_class=SSLConnection if address.tls else Connection,
            host=address.host,
            port=address.port,
            username=address.username,
            password=address.password,
            db=address.database,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=RESPONSE_TIMEOUT_SECONDS,
            socket_connect_timeout=RESPONSE_TIMEOUT_SECONDS,
        )
        self._redis: Redis = Redis.from_pool(pool)
        self._in_flight: set[asyncio.Task[Any]] = set()

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """The answers to these calls. RedisError where one fails; those before it have been done."""
        return await self._run_shielded(self._run_calls(calls))

    async def read_since(self, stream_positions: Sequence[tuple[str, str]]) -> list[list[StreamEntry] | None]:
        """What follows in each stream (key, position); None where the entry of that position is gone."""
        return await self._run_shielded(self._read_streams(stream_positions))

    async def lossless_since(self) -> int:
        """Since when (ms of its clock) Redis has lost nothing.

        It may have been started again with an old state, or another one may have taken its place: then it is a new
        run, of which nobody knows what is missing in it from before the instant at which it was first seen.
        """
        return await self._run_shielded(self._load_lossless_since())

    async def list_stream_keys(self) -> list[str]:
        """The keys of all streams that there are."""
        return await self._run_shielded(self._scan_stream_keys())

    async def server_version(self) -> tuple[int, ...]:
        """The version of the server."""
        info = await self._run_shielded(self._redis.info("server"))
        return tuple(int(part) for part in str(info["redis_version"]).split("."))

    async def close(self) -> None:
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=2 * RESPONSE_TIMEOUT_SECONDS)
        await self._redis.aclose()

    async def _run_shielded(self, work: Awaitable[T]) -> T:
        """What the work answers. Whoever is cancelled leaves at once, and the work ends within its own limits.

        It is not cancelled itself, because the client may take that for an error of the connection and hide it.
        """
        task = asyncio.ensure_future(work)
        self._in_flight.add(task)
        task.add_done_callback(self._on_task_done)
        return await asyncio.shield(task)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked has it, or has left

    async def _run_calls(self, calls: Sequence[ScriptCall]) -> list[Any]:
        replies: list[Any] = []
        for start in range(0, len(calls), BATCH_SIZE):
            batch = calls[start : start + BATCH_SIZE]
            batch_replies = await self._evaluate(batch)
            if any(isinstance(reply, NoScriptError) for reply in batch_replies):
                for script in {call.script for call in batch}:
                    await self._redis.script_load(script)
                batch_replies = await self._evaluate(batch)
            replies += batch_replies
        return _raise_on_error(replies)

    async def _read_streams(self, stream_positions: Sequence[tuple[str, str]]) -> list[list[StreamEntry] | None]:
        pipeline = self._redis.pipeline(transaction=False)
        for key, position in stream_positions:
            pipeline.xrange(key, min=position, count=MAX_READ_ENTRIES)
        replies = _raise_on_error(await pipeline.execute(raise_on_error=False))
        return [_entries_after(rows, position) for rows, (_, position) in zip(replies, stream_positions, strict=True)]

    async def _load_lossless_since(self) -> int:
        run_id = (await self._redis.info("server")).get("run_id", "")
        seconds, microseconds = await self._redis.time()
        now = seconds * 1000 + microseconds // 1000
        (since,) = await self._run_calls([ScriptCall(RUN_SINCE_SCRIPT, (RUN_KEY,), (run_id.encode(), now))])
        return int(since)

    async def _scan_stream_keys(self) -> list[str]:
        keys = self._redis.scan_iter(match="wattgate:{*}:*", count=BATCH_SIZE, _type="stream")
        return [key.decode() async for key in keys]

    async def _evaluate(self, calls: Sequence[ScriptCall]) -> list[Any]:
        pipeline = self._redis.pipeline(transaction=False)
        for call in calls:
            pipeline.evalsha(call.digest, len(call.keys), *call.keys, *call.arguments)
        return list(await pipeline.execute(raise_on_error=False))


def _entries_after(rows: Sequence[tuple[bytes, dict[bytes, bytes]]], position: str) -> list[StreamEntry] | None:
    if not rows or rows[0][0].decode() != position:
        return None
    return [(entry.decode(), fields[b"e"]) for entry, fields in rows[1:]]


def _raise_on_error(replies: list[Any]) -> list[Any]:
    """The answers, if none of them is an error."""
    for reply in replies:
        if isinstance(reply, RedisError):
            raise reply
    return replies
