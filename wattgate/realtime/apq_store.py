"""Automatic persisted queries: stored GraphQL documents by their SHA-256 digest.

A client sends a document once and then only its digest.
Source: https://www.apollographql.com/docs/apollo-server/performance/apq. Each store verifies the digest when it adds a
text, so that no reader has to verify it again.
"""

import hashlib
import re
from typing import Protocol

from wattgate.db.ttl_cache import TtlCache

MAX_TEXTS = 1_000
"""Maximum number of texts in the store of a process."""

MAX_TOTAL_SIZE = 8 * 2**20
"""Maximum total size of the texts: characters in a process, bytes in Redis."""

MAX_TEXT_LENGTH = 32_768
"""Maximum length of a stored text in characters."""

TTL_SECONDS = 7 * 86_400
"""Redis deletes all texts when none was requested for this long."""

_SHA256_HEX = re.compile(r"[0-9a-f]{64}")


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in lower-case hexadecimal digits."""
    return hashlib.sha256(encode_utf8(text)).hexdigest()


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


def encode_utf8(text: str) -> bytes:
    """Return the bytes of a text of which a digest is the SHA-256."""
    return text.encode(errors="surrogatepass")
