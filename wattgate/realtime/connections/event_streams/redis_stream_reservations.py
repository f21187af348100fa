"""Reservations of event streams in Redis, so that a stream can open at any gateway."""

from collections.abc import Sequence
from typing import Any

import msgspec

from wattgate.clock import Clock
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis, RedisUnavailable
from wattgate.realtime.bus.redis_client import ScriptCall
from wattgate.realtime.connections.event_streams.stream_reservations import (
    MAX_APPLICATION_RESERVATIONS,
    MAX_OWNER_RESERVATIONS,
    RESERVATION_SECONDS,
    LocalStreamReservations,
    StreamReservation,
    too_many_reservations,
)

# KEYS: the sorted sets of the reservations of an owner and of its application, by their end in µs.
# ARGV: the time and the end of the new reservation in µs, its digest, the two maxima, the end in ms.
# It returns the digests of the owner's reservations that end, or nothing if the application has too many.
COUNT_SCRIPT = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[3]) then return {} end
local dropped = {}
while redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) do
  dropped[#dropped + 1] = redis.call('ZPOPMIN', KEYS[1])[1]
  redis.call('ZREM', KEYS[2], dropped[#dropped])
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) then return false end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIREAT', KEYS[1], ARGV[6])
redis.call('PEXPIREAT', KEYS[2], ARGV[6])
return dropped
"""
DISCOUNT_SCRIPT = """
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
"""
PUT_SCRIPT = "return redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2])"
GET_SCRIPT = "return redis.call('GET', KEYS[1])"
TAKE_SCRIPT = "return redis.call('DEL', KEYS[1])"

_DECODER = msgspec.json.Decoder(StreamReservation)


class RedisStreamReservations:
    """A store that all gateways share. While Redis is unavailable, each gateway uses its local store."""

    def __init__(
        self,
        redis: BestEffortRedis,
        local: LocalStreamReservations,
        clock: Clock,
        *,
        max_owner: int = MAX_OWNER_RESERVATIONS,
        max_application: int = MAX_APPLICATION_RESERVATIONS,
    ) -> None:
        self._redis = redis
        self._local = local
        self._clock = clock
        self._maxima = max_owner, max_application

    async def add(self, reservation: StreamReservation) -> None:
        now, digest = int(self._clock().timestamp() * 1_000_000), reservation.digest.encode()
        ends_at = now + int(RESERVATION_SECONDS * 1_000_000)
        expires_at = ends_at // 1000
        arguments = (now, ends_at, digest, *self._maxima, expires_at)
        count = ScriptCall(COUNT_SCRIPT, _index_keys(reservation), arguments)
        try:
            (dropped,) = await self._redis.run([count])
            if dropped is None:
                raise too_many_reservations()
            put = ScriptCall(PUT_SCRIPT, (_key(reservation.digest),), (msgspec.json.encode(reservation), expires_at))
            await self._redis.run([put, *(_take_call(other.decode()) for other in dropped)])
        except RedisUnavailable:
            await self._local.add(reservation)

    async def get(self, digest: str) -> StreamReservation | None:
        reservation = await self._local.get(digest)
        if reservation is not None:
            return reservation
        (encoded,) = await self._run_or_nothing([ScriptCall(GET_SCRIPT, (_key(digest),), ())])
        return None if encoded is None else _DECODER.decode(encoded)

    async def take(self, reservation: StreamReservation) -> bool:
        if await self._local.take(reservation):
            return True
        # alone, because a batch may run twice, and then the second run would find nothing to take
        (taken,) = await self._run_or_nothing([_take_call(reservation.digest)])
        if taken:
            digest = reservation.digest.encode()
            await self._run_or_nothing([ScriptCall(DISCOUNT_SCRIPT, _index_keys(reservation), (digest,))])
        return bool(taken)

    async def _run_or_nothing(self, calls: Sequence[ScriptCall]) -> list[Any]:
        try:
            return await self._redis.run(calls)
        except RedisUnavailable:
            return [None] * len(calls)


def _key(digest: str) -> str:
    return f"{{wattgate}}:stream-reservation:{digest}"


def _index_keys(reservation: StreamReservation) -> tuple[str, str]:
    prefix = f"{{wattgate}}:stream-reservations:{reservation.application}"
    return f"{prefix}:{reservation.owner}", f"{prefix}:all"


def _take_call(digest: str) -> ScriptCall:
    return ScriptCall(TAKE_SCRIPT, (_key(digest),), ())
