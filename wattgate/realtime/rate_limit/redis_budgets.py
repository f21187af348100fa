"""The budgets of several processes, kept in Redis."""

from collections.abc import Sequence
from typing import Any

from wattgate.clock import Clock
from wattgate.realtime.batches import Batches
from wattgate.realtime.bus.commands import Call
from wattgate.realtime.bus.optional_commands import Away, Presence
from wattgate.realtime.rate_limit.budgets import TINY, Balance, LocalBuckets, balance
from wattgate.realtime.rate_limit.scopes import Payer

# KEYS: the buckets of those who pay. ARGV: the time in seconds, or nothing for Redis's own; the cost; then for each key
# what it holds and what flows in per second. Each bucket is charged, or none. A key lives until its bucket is full.
SPEND = f"""
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local cost, granted, missing = tonumber(ARGV[2]), 1, {{}}
for n, key in ipairs(KEYS) do
  local kept = redis.call('HMGET', key, 'missing', 'at')
  missing[n] = 0
  if kept[1] and kept[2] then
    missing[n] = math.max(0, tonumber(kept[1]) - math.max(0, now - tonumber(kept[2])) * tonumber(ARGV[2 * n + 2]))
  end
  if missing[n] + cost > tonumber(ARGV[2 * n + 1]) + {TINY:f} then granted = 0 end
end
local answer = {{granted}}
for n, key in ipairs(KEYS) do
  missing[n] = missing[n] + cost * granted
  answer[n + 1] = string.format('%.17g', missing[n])
  redis.call('HSET', key, 'missing', answer[n + 1], 'at', string.format('%.17g', now))
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(missing[n] / tonumber(ARGV[2 * n + 2]) * 1000)))
end
return answer
"""


class RedisBuckets:
    """Buckets that all gateways draw from. While Redis is away each gateway goes on with buckets of its own.

    The time is Redis's, so that the clocks of the gateways do not matter, unless a clock is given.
    """

    def __init__(self, redis: Presence, local: LocalBuckets, clock: Clock | None = None) -> None:
        self._local = local
        self._clock = clock
        self._batches = Batches[Call, Any](redis.run)

    async def spend(self, payers: Sequence[Payer], cost: int) -> Balance:
        try:
            ((granted, *missing),) = await self._batches.ask([self._call(payers, cost)])
        except Away:
            return await self._local.spend(payers, cost)
        return balance(payers, [float(one) for one in missing], cost, granted=bool(granted))

    def _call(self, payers: Sequence[Payer], cost: int) -> Call:
        now = "" if self._clock is None else repr(self._clock().timestamp())
        allowances = [(payer.allowance.capacity, repr(payer.allowance.per_second).encode()) for payer in payers]
        return Call(
            SPEND,
            tuple(f"wattgate:budget:{payer.key}" for payer in payers),
            (now.encode(), cost, *(figure for allowance in allowances for figure in allowance)),
        )
