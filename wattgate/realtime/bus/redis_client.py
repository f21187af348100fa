"""Redis commands of the bus: Lua scripts as values, and the client that runs them within a time limit.

An open topic is a Redis stream and a pub/sub channel of the same name. Redis assigns the ids of entries, and these are
the positions. Only subscribers create streams, so that topics without subscribers need no memory. `bus/redis.py`
explains how the bus uses the scripts.
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
"""Maximum wait for a reply of Redis, and for a free connection in the pool."""

DEDUPLICATION_SECONDS = 60
"""How long Redis remembers a publish call, so that a retry of the call adds no events twice."""

MAX_CONNECTIONS = 16
BATCH_SIZE = 500
"""Maximum events in a call, calls in a pipeline and channels in a command. Redis serves no other client meanwhile."""

MAX_READ_ENTRIES = 1_000
"""Maximum entries that are read from a stream at once. Streams are much shorter."""

SHARDS = 64
"""Number of hash tags over which topics are spread. A cluster requires all keys of a call to share a hash slot."""

MIN_REDIS_VERSION = (6, 2)

# KEYS are streams. The field `e` of an entry holds the encoded event. It is empty in a marker, the first entry of each
# new stream. A channel message is the id of the entry, a space, and the encoded event.
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
EXISTS_SCRIPT = "return redis.call('EXISTS', KEYS[1])"
RUN_SINCE_SCRIPT = """
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'since', ARGV[2])
end
return redis.call('HGET', KEYS[1], 'since')
"""

RUN_KEY = "wattgate:run"
"""Key of the run id of Redis, and of the time at which a gateway first saw that run."""


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A Lua script with its keys and arguments. Each call is safe to repeat."""

    script: str
    keys: tuple[str, ...]
    arguments: tuple[bytes | int, ...]

    @property
    def digest(self) -> str:
        return sha1(self.script.encode(), usedforsecurity=False).hexdigest()


def shard_prefix(topic: str) -> str:
    """Return the prefix of all keys in the hash slot of the topic's stream."""
    return f"wattgate:{{{crc32(topic.encode()) % SHARDS}}}"


def stream_key(topic: str) -> str:
    """Return the name of the topic's stream and channel."""
    return f"{shard_prefix(topic)}:{topic}"


def publish_calls(events: Iterable[tuple[str, bytes]]) -> list[ScriptCall]:
    """Build calls that add events (topic, body) to existing streams, in order, and publish them on the channels."""
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
    """Build calls that create each missing stream, renew its lease, and return its newest id."""
    return [ScriptCall(OPEN_STREAM_SCRIPT, (key,), (TOPIC_LEASE_SECONDS,)) for key in keys]


def exists_call(key: str) -> ScriptCall:
    """Build a call that returns 1 if a stream exists, else 0."""
    return ScriptCall(EXISTS_SCRIPT, (key,), ())


def reset_calls(keys: Iterable[str]) -> list[ScriptCall]:
    """Build calls that replace all entries of each existing stream by a marker. Earlier positions become invalid."""
    return [ScriptCall(RESET_STREAM_SCRIPT, (key,), (TOPIC_LEASE_SECONDS,)) for key in keys]


StreamEntry = tuple[str, bytes]
"""A position and the encoded event. The event of a marker is empty."""


class RedisClient:
    """Connection pool for commands. Each wait has a timeout, and the client retries nothing itself."""

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
        """Return the replies to these calls. Raise RedisError if one fails; the other calls may have run."""
        return await self._run_shielded(self._run_calls(calls))

    async def read_since(self, stream_positions: Sequence[tuple[str, str]]) -> list[list[StreamEntry] | None]:
        """Return the entries after each position (key, id) of a stream, or None where it no longer has that entry."""
        return await self._run_shielded(self._read_streams(stream_positions))

    async def lossless_since(self) -> int:
        """Return the time (ms of the clock of Redis) since which Redis has lost no data.

        A restart may load an old state, and a failover may lose the last writes. Both change the run id of the server.
        It is unknown which entries a new run has lost from before the time at which a gateway first saw it.
        """
        return await self._run_shielded(self._load_lossless_since())

    async def list_stream_keys(self) -> list[str]:
        """Return the keys of all existing streams."""
        return await self._run_shielded(self._scan_stream_keys())

    async def server_version(self) -> tuple[int, ...]:
        info = await self._run_shielded(self._redis.info("server"))
        return tuple(int(part) for part in str(info["redis_version"]).split("."))

    async def close(self) -> None:
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=2 * RESPONSE_TIMEOUT_SECONDS)
        await self._redis.aclose()

    async def _run_shielded(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. A cancelled caller returns immediately; `work` continues to its own timeout.

        `work` itself is never cancelled: redis-py can take a cancellation for a connection error and swallow it.
        """
        task = asyncio.ensure_future(work)
        self._in_flight.add(task)
        task.add_done_callback(self._on_task_done)
        return await asyncio.shield(task)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # mark it as retrieved: the caller has received it or was cancelled

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
    """Return the replies. Raise the first one that is an error."""
    for reply in replies:
        if isinstance(reply, RedisError):
            raise reply
    return replies
