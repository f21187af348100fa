"""A bucket store in Redis that all gateways share."""

from collections.abc import Sequence
from typing import Any

from wattgate.clock import Clock
from wattgate.rate_limit.budgets import ROUNDING_TOLERANCE, Balance, LocalBucketStore, build_balance
from wattgate.rate_limit.scopes import RateLimitScope
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis, RedisUnavailable
from wattgate.realtime.bus.redis_client import ScriptCall
from wattgate.realtime.request_batcher import RequestBatcher

# KEYS: the buckets of the scopes. ARGV: the time in seconds, or an empty string for the clock of Redis; the cost; 1 for
# work that is done, which no bucket refuses, else 0; then for each key its capacity and its refill per second. The
# script charges all buckets or none. It returns whether it did, and the deficit of each bucket. A key expires when its
# bucket is full.
SPEND_SCRIPT = f"""
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local cost, is_done, granted, deficits = tonumber(ARGV[2]), ARGV[3] == '1', 1, {{}}
for n, key in ipairs(KEYS) do
  local stored = redis.call('HMGET', key, 'missing', 'at')
  deficits[n] = 0
  if stored[1] and stored[2] then
    deficits[n] = math.max(0, tonumber(stored[1]) - math.max(0, now - tonumber(stored[2])) * tonumber(ARGV[2 * n + 3]))
  end
  if not is_done and deficits[n] + cost > tonumber(ARGV[2 * n + 2]) + {ROUNDING_TOLERANCE:f} then granted = 0 end
end
local result = {{granted}}
for n, key in ipairs(KEYS) do
  deficits[n] = math.max(0, deficits[n] + cost * granted)
  result[n + 1] = string.format('%.17g', deficits[n])
  redis.call('HSET', key, 'missing', result[n + 1], 'at', string.format('%.17g', now))
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(deficits[n] / tonumber(ARGV[2 * n + 3]) * 1000)))
end
return result
"""


class RedisBucketStore:
    """A store that all gateways share. While Redis is unavailable, each gateway charges its local store.

    The local store continues with the balances that the gateway saw last, so that an outage fills no budget.
    Without `clock`, the script uses the clock of Redis, so that the clocks of the gateways do not matter.
    """

    def __init__(self, redis: BestEffortRedis, local: LocalBucketStore, clock: Clock | None = None) -> None:
        self._local = local
        self._clock = clock
        self._batcher = RequestBatcher[ScriptCall, Any](redis.run)

    async def spend(
        self, scopes: Sequence[RateLimitScope], cost: int, *, is_done: bool = False, paid: int = 0, refused: int = 0
    ) -> Balance:
        try:
            ((granted, *replies),) = await self._batcher.submit([self._script_call(scopes, cost, is_done=is_done)])
        except RedisUnavailable:
            return await self._local.spend(scopes, cost, is_done=is_done, paid=paid, refused=refused)
        deficits = [float(reply) for reply in replies]
        self._local.remember(scopes, deficits)
        stated = refused or (cost if granted else cost + paid)
        return build_balance(scopes, deficits, stated, granted=bool(granted) and not refused)

    def _script_call(self, scopes: Sequence[RateLimitScope], cost: int, *, is_done: bool) -> ScriptCall:
        now = "" if self._clock is None else repr(self._clock().timestamp())
        allowances = [(scope.allowance.capacity, repr(scope.allowance.per_second).encode()) for scope in scopes]
        return ScriptCall(
            SPEND_SCRIPT,
            tuple(f"{{wattgate}}:budget:{scope.key}" for scope in scopes),
            (now.encode(), cost, int(is_done), *(number for allowance in allowances for number in allowance)),
        )
