"""The store of automatic persisted queries that all gateways share: texts in Redis by their digest."""

from contextlib import suppress

from wattgate.realtime.apq_store import MAX_TOTAL_SIZE, TTL_SECONDS, LocalApqStore, encode_utf8, is_digest
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis, RedisUnavailable
from wattgate.realtime.bus.redis_client import ScriptCall

ENTRY_OVERHEAD_BYTES = 256
"""Bytes that Redis needs for an entry in addition to its text."""

# KEYS: a hash of the texts by digest, a sorted set of the digests by the time of their last request, the total bytes.
GET_SCRIPT = """
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[2], time[1] * 1000000 + time[2], ARGV[1])
  for n = 1, 3 do redis.call('EXPIRE', KEYS[n], ARGV[2]) end
end
return text
"""
PUT_SCRIPT = """
if redis.call('EXISTS', unpack(KEYS)) < 3 then redis.call('DEL', unpack(KEYS)) end
local overhead = tonumber(ARGV[5])
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[3]) == 1 then redis.call('INCRBY', KEYS[3], #ARGV[3] + overhead) end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], time[1] * 1000000 + time[2], ARGV[1])
while tonumber(redis.call('GET', KEYS[3])) > tonumber(ARGV[4]) do
  local oldest = redis.call('ZPOPMIN', KEYS[2])[1]
  redis.call('DECRBY', KEYS[3], redis.call('HSTRLEN', KEYS[1], oldest) + overhead)
  redis.call('HDEL', KEYS[1], oldest)
end
for n = 1, 3 do redis.call('EXPIRE', KEYS[n], ARGV[2]) end
return 1
"""
STORE_KEYS = ("{wattgate}:texts:text", "{wattgate}:texts:asked", "{wattgate}:texts:bytes")


class RedisApqStore:
    """A store in Redis that all gateways share, with a local store of recently requested texts in front of it.

    While Redis is unavailable, each gateway uses its local store alone.
    """

    def __init__(self, redis: BestEffortRedis, local: LocalApqStore, *, max_total_size: int = MAX_TOTAL_SIZE) -> None:
        self._redis = redis
        self._local = local
        self._max_total_size = max_total_size

    async def get(self, digest: str) -> str | None:
        text = await self._local.get(digest)
        if text is not None or not is_digest(digest):
            return text
        try:
            (stored_text,) = await self._redis.run([ScriptCall(GET_SCRIPT, STORE_KEYS, (digest.encode(), TTL_SECONDS))])
        except RedisUnavailable:
            return None
        if stored_text is None:
            return None
        text = stored_text.decode(errors="surrogatepass")
        await self._local.put(digest, text)
        return str(text)

    async def put(self, digest: str, text: str) -> bool:
        if not await self._local.put(digest, text):
            return False
        call = ScriptCall(
            PUT_SCRIPT,
            STORE_KEYS,
            (digest.encode(), TTL_SECONDS, encode_utf8(text), self._max_total_size, ENTRY_OVERHEAD_BYTES),
        )
        with suppress(RedisUnavailable):  # a client that uses the digest at another gateway sends the text again
            await self._redis.run([call])
        return True
