"""Redis commands of the bus: Lua scripts as values, and the client that runs them within a time limit.

An open topic is a Redis stream and a pub/sub channel of the same name. Redis assigns the ids of entries, and these are
the positions. Only subscribers create streams, so that topics without subscribers need no memory. `bus/redis.py`
explains how the bus uses the scripts.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from time import time
from typing import Any, TypeVar
from uuid import uuid4

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError

from wattgate.realtime.bus import MIN_RETAINED_ENTRIES, TOPIC_LEASE_SECONDS
from wattgate.realtime.bus.command_connection import (
    RESPONSE_TIMEOUT_SECONDS,
    Command,
    CommandConnection,
    raise_on_error,
)
from wattgate.realtime.bus.primary import CHECK_SECONDS, PrimaryFinder
from wattgate.realtime.server_address import ServerAddress

log = logging.getLogger(__name__)

T = TypeVar("T")

DEDUPLICATION_SECONDS = 60
"""How long Redis remembers a publish call, so that a retry of the call adds no events twice."""

BATCH_SIZE = 500
"""Maximum events in a call, calls in a pipeline and channels in a command. Redis serves no other client meanwhile."""

MAX_READ_ENTRIES = 1_000
"""Maximum entries that are read from a stream at once. Streams are much shorter."""

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
local known = redis.call('HGET', KEYS[1], 'run')
if known ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'run', ARGV[1], 'since', known and ARGV[3] or ARGV[2])
end
return redis.call('HGET', KEYS[1], 'since')
"""

RUN_KEY = "{wattgate}:run"
"""Key of the run id of Redis, and of the time at which a gateway first saw that run."""

MAX_CLOCK_STEP_MS = 1_000
"""By how much the clock of a new primary may be behind that of the old one."""


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A Lua script with its keys and arguments. Each call is safe to repeat."""

    script: str
    keys: tuple[str, ...]
    arguments: tuple[bytes | int, ...]


def stream_key(topic: str) -> str:
    """Return the name of the topic's stream and channel."""
    return f"{{wattgate}}:events:{topic}"


def publish_calls(events: Sequence[tuple[str, bytes]]) -> list[ScriptCall]:
    """Build calls that add events (topic, body) to existing streams, in order, and publish them on the channels."""
    calls = []
    for batch in in_batches(events):
        keys = f"{{wattgate}}:once:{uuid4().hex}", *(stream_key(topic) for topic, _ in batch)
        bodies = (body for _, body in batch)
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
    """Runs commands over one connection to the primary, which it opens again after a failure.

    It retries nothing itself. The connection is closed when another server has become the primary.
    """

    def __init__(self, primary: PrimaryFinder) -> None:
        self.primary = primary
        self._address: ServerAddress | None = None
        """The server of the connection."""
        self._checking: asyncio.Task[None] | None = None
        self._connection: CommandConnection | None = None
        self._connecting: asyncio.Task[CommandConnection] | None = None
        self._loaded_scripts: dict[str, None] = {}
        """The scripts that Redis has by now. Each new connection loads them, because Redis may have restarted."""
        self._in_flight: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        primary.add_listener(self._on_primary_changed)

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Return the replies to these calls. Raise RedisError if one fails; the other calls may have run."""
        if len(calls) <= BATCH_SIZE:
            return raise_on_error(await self._run_batch(calls))
        return await self._run_shielded(self._run_batches(calls))

    async def read_since(self, stream_positions: Sequence[tuple[str, str]]) -> list[list[StreamEntry] | None]:
        """Return the entries after each position (key, id) of a stream, or None where it no longer has that entry."""
        if not stream_positions:
            return []
        commands: list[Command] = [
            ("XRANGE", key, position, "+", "COUNT", MAX_READ_ENTRIES) for key, position in stream_positions
        ]
        replies = raise_on_error(await self._exchange(commands))
        return [_entries_after(rows, position) for rows, (_, position) in zip(replies, stream_positions, strict=True)]

    async def lossless_since(self) -> tuple[bytes, int]:
        """Return the run id of Redis, and the time (ms of the clock of Redis) since which it has lost no data.

        A restart may load an old state, and a failover may lose the last writes. Both change the run id of the server.
        It is unknown which entries a new run has lost from before the time at which a gateway first saw it. After
        a failover, MAX_CLOCK_STEP_MS is added, because the clock of the old primary may have been ahead.
        """
        info, (seconds, microseconds) = raise_on_error(await self._exchange([("INFO", "server"), ("TIME",)]))
        run_id, now = _info_field(info, b"run_id"), int(seconds) * 1000 + int(microseconds) // 1000
        since_failover = now if self.primary.is_fixed else now + MAX_CLOCK_STEP_MS
        (since,) = await self.run([ScriptCall(RUN_SINCE_SCRIPT, (RUN_KEY,), (run_id, now, since_failover))])
        return run_id, int(since)

    async def list_stream_keys(self) -> list[str]:
        """Return the keys of all existing streams."""
        keys, cursor = [], b"0"
        while True:
            scan: Command = ("SCAN", cursor, "MATCH", "{wattgate}:events:*", "COUNT", BATCH_SIZE, "TYPE", "stream")
            ((cursor, found),) = raise_on_error(await self._exchange([scan]))
            keys += found
            if cursor == b"0":
                return [key.decode() for key in dict.fromkeys(keys)]

    async def server_version(self) -> tuple[int, ...]:
        (info,) = raise_on_error(await self._exchange([("INFO", "server")]))
        return tuple(int(part) for part in _info_field(info, b"redis_version").split(b"."))

    async def read_server_info(self) -> tuple[dict[str, str], float]:
        """Return the fields of INFO, and the seconds by which the clock of Redis is ahead of ours."""
        (info,) = raise_on_error(await self._exchange([("INFO",)]))
        sent_at = time()
        ((seconds, microseconds),) = raise_on_error(await self._exchange([("TIME",)]))
        offset = int(seconds) + int(microseconds) / 1_000_000 - (sent_at + time()) / 2
        lines = (line.partition(":") for line in info.decode().splitlines() if not line.startswith("#"))
        return {name: value for name, _, value in lines if name}, offset

    async def close(self) -> None:
        """Wait for commands, and close the connection. From then on, the client opens none and runs nothing."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=2 * RESPONSE_TIMEOUT_SECONDS)
        self._is_closed = True
        self._abort("the client is closed")

    async def _run_batches(self, calls: Sequence[ScriptCall]) -> list[Any]:
        replies: list[Any] = []
        for batch in in_batches(calls):
            replies += await self._run_batch(batch)
        return raise_on_error(replies)

    async def _run_batch(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Return the replies to calls, with errors among them. Load the scripts that Redis has dropped."""
        if not calls:
            return []
        scripts = dict.fromkeys(call.script for call in calls)
        new = [script for script in scripts if script not in self._loaded_scripts]
        replies = await self._evaluate(calls, new)
        if any(isinstance(reply, NoScriptError) for reply in replies):
            replies = await self._run_shielded(self._evaluate(calls, list(scripts)))
        return replies

    async def _evaluate(self, calls: Sequence[ScriptCall], scripts: Sequence[str]) -> list[Any]:
        """Load scripts and evaluate calls in one write. Return the replies to the calls."""
        loads: list[Command] = [("SCRIPT", "LOAD", script) for script in scripts]
        replies = await self._exchange([*loads, *map(_evaluation, calls)])
        raise_on_error(replies[: len(loads)])
        self._loaded_scripts.update(dict.fromkeys(scripts))
        return replies[len(loads) :]

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Write commands and return their replies. Once written, they run even if the caller is cancelled."""
        connection = self._connection
        if connection is not None and connection.is_writable:
            replies = await connection.send(commands)
        else:
            replies = await self._run_shielded(self._exchange_when_writable(commands))
        if not self.primary.is_fixed and any(map(_is_from_replica, replies)):
            self._abort("the server is not the primary any more")
        return replies

    async def _exchange_when_writable(self, commands: Sequence[Command]) -> list[Any]:
        while True:
            connection = self._connection
            if connection is None or not connection.is_open:
                connection = await self._connect()
            if connection.is_writable:
                return await connection.send(commands)
            await connection.wait_until_writable()

    async def _connect(self) -> CommandConnection:
        """Return a new connection. Callers that need one at the same time share it, or the error."""
        if self._is_closed:
            raise RedisConnectionError("the client is closed")
        if self._connecting is None:
            setup: list[Command] = [("SCRIPT", "LOAD", script) for script in self._loaded_scripts]
            self._connecting = asyncio.create_task(self._open(setup))
            self._connecting.add_done_callback(self._on_connected)
        return await asyncio.shield(self._connecting)

    async def _open(self, setup: Sequence[Command]) -> CommandConnection:
        connection, self._address = await self.primary.connect(setup)
        return connection

    def _on_connected(self, task: asyncio.Task[CommandConnection]) -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._connection = task.result()
            if self._is_closed:
                self._abort("the client is closed")
                return
            self._on_primary_changed()  # it may have changed since the connection was opened
            if not self.primary.is_fixed and self._checking is None:
                self._checking = asyncio.create_task(self._check_primary())

    async def _check_primary(self) -> None:
        """Ask for the primary again and again, from the first connection until the client is closed."""
        while not self._is_closed:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self.primary.find()
            except RedisError as error:
                log.warning("The primary of Redis is not known: %s", error)

    def _on_primary_changed(self) -> None:
        if self._address != self.primary.current:
            self._abort("another server is the primary")

    def _abort(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.abort(RedisConnectionError(reason))
        if self._is_closed and self._checking is not None:
            self._checking.cancel()

    async def _run_shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`. A cancelled caller returns immediately; `work` continues to its own timeout."""
        task = asyncio.create_task(work)
        self._in_flight.add(task)
        task.add_done_callback(self._on_task_done)
        return await asyncio.shield(task)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # mark it as retrieved: the caller has received it or was cancelled


_WRONG_SERVER_ERRORS = ("MOVED", "ASK", "CLUSTERDOWN", "NOREPLICAS", "MASTERDOWN")
"""Beginnings of errors after which the primary must be found again."""


def _evaluation(call: ScriptCall) -> Command:
    return "EVALSHA", _digest(call.script), len(call.keys), *call.keys, *call.arguments


@cache
def _digest(script: str) -> str:
    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def _info_field(info: bytes, name: bytes) -> bytes:
    """Return a field of the reply to INFO, or an empty value."""
    fields = dict(line.partition(b":")[::2] for line in info.splitlines())
    return fields.get(name, b"")


def _entries_after(rows: Sequence[tuple[bytes, tuple[bytes, bytes]]], position: str) -> list[StreamEntry] | None:
    if not rows or rows[0][0].decode() != position:
        return None
    return [(entry.decode(), body) for entry, (_, body) in rows[1:]]


def _is_from_replica(reply: Any) -> bool:
    """Return whether the reply is the error of a server that is not, or not any more, the primary of its keys."""
    return isinstance(reply, RedisError) and (
        str(reply).startswith(_WRONG_SERVER_ERRORS) or "read only replica" in str(reply)
    )


def in_batches(items: Sequence[T]) -> Iterable[Sequence[T]]:
    """Return the items in order, in parts of at most BATCH_SIZE."""
    return (items[start : start + BATCH_SIZE] for start in range(0, len(items), BATCH_SIZE))
