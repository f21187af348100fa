"""Automatic persisted queries: stored GraphQL documents by their SHA-256 digest.

A client sends a document once and then only its digest.
Source: https://www.apollographql.com/docs/apollo-server/performance/apq. Each store verifies the digest when it adds a
text, so that no reader has to verify it again.
"""

import hashlib
import re
from contextlib import suppress
from typing import Protocol

from wattgate.db.ttl_cache import TtlCache
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis, RedisUnavailable
from wattgate.realtime.bus.redis_client import ScriptCall

MAX_TEXTS = 1_000
"""Maximum number of texts in the store of a process."""

MAX_TOTAL_SIZE = 8 * 2**20
"""Maximum total size of the texts: characters in a process, bytes in Redis."""

ENTRY_OVERHEAD_BYTES = 256
"""Bytes that Redis needs for an entry in addition to its text."""

MAX_TEXT_LENGTH = 32_768
"""Maximum length of a stored text in characters."""

TTL_SECONDS = 7 * 86_400
"""Redis deletes all texts when none was requested for this long."""

_SHA256_HEX = re.compile(r"[0-9a-f]{64}")

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
STORE_KEYS = ("wattgate:{texts}:text", "wattgate:{texts}:asked", "wattgate:{texts}:bytes")


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in lower-case hexadecimal digits."""
    return hashlib.sha256(_encode_utf8(text)).hexdigest()


def is_digest(text: str) -> bool:
    """Return whether a text has the form of a digest."""
    return _SHA256_HEX.fullmatch(text) is not None


class ApqStore(Protocol):
    """Texts that all callers share. The store may drop any text; the client then sends it again."""

    async def get(self, digest: str) -> str | None:
        """Return the text with this digest, or None if it is not stored."""

    async def put(self, digest: str, text: str) -> bool:
        """Store a text. Return False if it is too long. Raise ValueError if the digest does not match it."""


class LocalApqStore:
    """A store in the memory of one process."""

    def __init__(
        self,
        *,
        max_texts: int = MAX_TEXTS,
        max_total_size: int = MAX_TOTAL_SIZE,
        max_text_length: int = MAX_TEXT_LENGTH,
    ) -> None:
        self._cache = TtlCache[str, str](max_entries=max_texts, max_weight=max_total_size, weigh=len)
        self._max_text_length = max_text_length

    def __len__(self) -> int:
        return len(self._cache)

    async def get(self, digest: str) -> str | None:
        return self._cache.get(digest)

    async def put(self, digest: str, text: str) -> bool:
        if len(text) > self._max_text_length:
            return False
        if digest_of(text) != digest:
            raise ValueError("the digest does not match the text")
        self._cache.put(digest, text)
        return True


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
            (digest.encode(), TTL_SECONDS, _encode_utf8(text), self._max_total_size, ENTRY_OVERHEAD_BYTES),
        )
        with suppress(RedisUnavailable):  # a client that uses the digest at another gateway sends the text again
            await self._redis.run([call])
        return True


def _encode_utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
