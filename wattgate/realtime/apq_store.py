"""Texts by their SHA-256, which clients send once and then name: automatic persisted queries.

Source: https://www.apollographql.com/docs/apollo-server/performance/apq. A text is stored under its own hash and under
no other, so that what is found never has to be looked at again.
"""

import hashlib
import re
from contextlib import suppress
from typing import Protocol

from wattgate.db.ttl_cache import Lately
from wattgate.realtime.bus.commands import Call
from wattgate.realtime.bus.optional_commands import Away, Presence

MOST = 1_000
"""How many texts a process keeps."""

LARGEST = 8 * 2**20
"""Characters of all texts that a process keeps, and bytes of those in Redis."""

EACH = 256
"""Bytes that a text takes in Redis beside its own."""

LONGEST = 32_768
"""Characters of the longest text that is stored."""

TTL_SECONDS = 7 * 86_400
"""After so long without a request for any text Redis forgets all."""

_HASH = re.compile(r"[0-9a-f]{64}")

# KEYS: the texts by their hashes, the hashes by when they were asked for last, how many bytes all of them take.
GET = """
local text = redis.call('HGET', KEYS[1], ARGV[1])
if text then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[2], time[1] * 1000000 + time[2], ARGV[1])
  for n = 1, 3 do redis.call('EXPIRE', KEYS[n], ARGV[2]) end
end
return text
"""
PUT = """
if redis.call('EXISTS', unpack(KEYS)) < 3 then redis.call('DEL', unpack(KEYS)) end
local each = tonumber(ARGV[5])
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[3]) == 1 then redis.call('INCRBY', KEYS[3], #ARGV[3] + each) end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], time[1] * 1000000 + time[2], ARGV[1])
while tonumber(redis.call('GET', KEYS[3])) > tonumber(ARGV[4]) do
  local oldest = redis.call('ZPOPMIN', KEYS[2])[1]
  redis.call('DECRBY', KEYS[3], redis.call('HSTRLEN', KEYS[1], oldest) + each)
  redis.call('HDEL', KEYS[1], oldest)
end
for n = 1, 3 do redis.call('EXPIRE', KEYS[n], ARGV[2]) end
return 1
"""
KEYS = ("wattgate:{texts}:text", "wattgate:{texts}:asked", "wattgate:{texts}:bytes")


def digest_of(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in lower-case hexadecimal digits."""
    return hashlib.sha256(_encoded(text)).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text could be such a digest."""
    return _HASH.fullmatch(text) is not None


class Texts(Protocol):
    """Texts that all callers share. Any of them may be forgotten: whoever names it sends it again."""

    async def get(self, digest: str) -> str | None:
        """The text of a digest, where it is known."""

    async def put(self, digest: str, text: str) -> bool:
        """Keep a text; False where it is too long. ValueError where the digest is another text's."""


class LocalTexts:
    """The texts of a single process."""

    def __init__(self, *, most: int = MOST, largest: int = LARGEST, longest: int = LONGEST) -> None:
        self._kept = Lately[str, str](most=most, heaviest=largest, weigh=len)
        self._longest = longest

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, digest: str) -> str | None:
        return self._kept.get(digest)

    async def put(self, digest: str, text: str) -> bool:
        if len(text) > self._longest:
            return False
        if digest_of(text) != digest:
            raise ValueError("the digest is not that of the text")
        self._kept.put(digest, text)
        return True


class RedisTexts:
    """Texts that all gateways share; each has those at hand that it was asked for lately."""

    def __init__(self, redis: Presence, local: LocalTexts, *, largest: int = LARGEST) -> None:
        self._redis = redis
        self._local = local
        self._largest = largest

    async def get(self, digest: str) -> str | None:
        text = await self._local.get(digest)
        if text is not None or not is_digest(digest):
            return text
        try:
            (found,) = await self._redis.run([Call(GET, KEYS, (digest.encode(), TTL_SECONDS))])
        except Away:
            return None
        if found is None:
            return None
        text = found.decode(errors="surrogatepass")
        await self._local.put(digest, text)
        return str(text)

    async def put(self, digest: str, text: str) -> bool:
        if not await self._local.put(digest, text):
            return False
        call = Call(PUT, KEYS, (digest.encode(), TTL_SECONDS, _encoded(text), self._largest, EACH))
        with suppress(Away):  # who names it at another gateway sends it there
            await self._redis.run([call])
        return True


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
