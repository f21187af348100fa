"""The seats of several processes, kept in Redis."""

import logging
from collections.abc import Sequence

from redis.exceptions import RedisError

from wattgate.clock import Clock, to_ms
from wattgate.realtime.bus.commands import Call, Commands
from wattgate.realtime.connections.connection_limits import LEASE_SECONDS, Seat

log = logging.getLogger(__name__)

# KEYS: the seats of a bench by age, and the same by the end of their leases. All times are in milliseconds.
TAKE = """
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
KEEP = """
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
redis.call('PEXPIREAT', KEYS[2], ARGV[1])
return 1
"""
LEAVE = """
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
"""


class RedisSeats:
    """Seats over all gateways. While Redis is away nobody has to give way: live data matters more than the limit."""

    def __init__(self, commands: Commands, clock: Clock) -> None:
        self._commands = commands
        self._clock = clock

    async def take(self, seats: Sequence[Seat]) -> list[list[str]]:
        now, until = self._times()
        calls = [Call(TAKE, _keys(one), (now, until, one.number.encode(), one.since, one.limit)) for one in seats]
        return [[number.decode() for number in answer] for answer in await self._run(calls)]

    async def keep(self, seats: Sequence[Seat]) -> None:
        _, until = self._times()
        await self._run([Call(KEEP, _keys(one), (until, one.number.encode(), one.since)) for one in seats])

    async def leave(self, seats: Sequence[Seat]) -> None:
        await self._run([Call(LEAVE, _keys(one), (one.number.encode(),)) for one in seats])

    def _times(self) -> tuple[int, int]:
        now = to_ms(self._clock())
        return now, now + int(LEASE_SECONDS * 1000)

    async def _run(self, calls: Sequence[Call]) -> list[list[bytes]]:
        try:
            return await self._commands.run(calls)
        except (RedisError, OSError) as error:
            log.warning("connections are not counted: Redis does not answer: %s", error or "no answer")
            return []


def _keys(seat: Seat) -> tuple[str, str]:
    bench = f"wattgate:seats:{{{seat.bench}}}"
    return f"{bench}:age", f"{bench}:lease"
