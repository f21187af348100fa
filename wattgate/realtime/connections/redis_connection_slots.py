"""Connection slots in Redis, shared by all gateways."""

from collections.abc import Sequence

from wattgate.clock import Clock, to_ms
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis, RedisUnavailable
from wattgate.realtime.bus.redis_client import ScriptCall
from wattgate.realtime.connections.connection_slots import SLOT_LEASE_SECONDS, ConnectionSlot, LocalConnectionSlots
from wattgate.realtime.request_batcher import RequestBatcher

# KEYS: two sorted sets of the slots of a scope, one by opening time and one by the end of the lease. Times are in ms.
# Expired slots are removed first.
ACQUIRE_SCRIPT = """
local ended = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, 1000)
if #ended > 0 then
  redis.call('ZREM', KEYS[1], unpack(ended))
  redis.call('ZREM', KEYS[2], unpack(ended))
end
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[2], ARGV[2])
local displaced = {}
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[5])
if over > 0 then
  for n, popped in ipairs(redis.call('ZPOPMIN', KEYS[1], over)) do
    if n % 2 == 1 then
      redis.call('ZREM', KEYS[2], popped)
      displaced[#displaced + 1] = popped
    end
  end
end
return displaced
"""
RENEW_SCRIPT = """
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
redis.call('PEXPIREAT', KEYS[2], ARGV[1])
return 1
"""
RELEASE_SCRIPT = """
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
"""


class RedisConnectionSlots:
    """A store that all gateways share. While Redis is unavailable, each gateway applies the limits to its connections.

    All calls go through one batch at a time. Many connections that open at once therefore use one connection of the
    pool, and do not exhaust it.
    """

    def __init__(self, redis: BestEffortRedis, clock: Clock) -> None:
        self._local = LocalConnectionSlots()
        """The slots of this gateway. They displace each other only while Redis is unavailable."""
        self._batcher = RequestBatcher[ScriptCall, list[bytes]](redis.run)
        self._clock = clock

    async def acquire(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        self._local.add(slots)
        now, expires_at = self._now_and_expiry()
        calls = [
            ScriptCall(
                ACQUIRE_SCRIPT,
                _slot_keys(slot),
                (now, expires_at, slot.slot_id.encode(), slot.opened_at_ms, slot.limit),
            )
            for slot in slots
        ]
        try:
            replies = await self._batcher.submit(calls)
        except RedisUnavailable:
            return self._local.displace(slots)
        return [[slot_id.decode() for slot_id in displaced] for displaced in replies]

    async def renew(self, slots: Sequence[ConnectionSlot]) -> None:
        _, expires_at = self._now_and_expiry()
        await self._try_run(
            [
                ScriptCall(RENEW_SCRIPT, _slot_keys(slot), (expires_at, slot.slot_id.encode(), slot.opened_at_ms))
                for slot in slots
            ]
        )

    async def release(self, slots: Sequence[ConnectionSlot]) -> None:
        await self._local.release(slots)
        await self._try_run([ScriptCall(RELEASE_SCRIPT, _slot_keys(slot), (slot.slot_id.encode(),)) for slot in slots])

    def _now_and_expiry(self) -> tuple[int, int]:
        now = to_ms(self._clock())
        return now, now + int(SLOT_LEASE_SECONDS * 1000)

    async def _try_run(self, calls: Sequence[ScriptCall]) -> None:
        """Run calls. While Redis is unavailable, do nothing: the next renewal or the end of the lease makes up for it.

        `BestEffortRedis` writes the failure to the log.
        """
        try:
            await self._batcher.submit(calls)
        except RedisUnavailable:
            return


def _slot_keys(slot: ConnectionSlot) -> tuple[str, str]:
    prefix = f"{{wattgate}}:seats:{slot.scope}"
    return f"{prefix}:age", f"{prefix}:lease"
