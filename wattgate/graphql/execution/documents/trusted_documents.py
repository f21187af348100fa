"""Trusted documents: registered by an application, and requested by their id.

Source: GraphQL over HTTP, appendix A (persisted documents). An id is the SHA-256 of the text, as `sha256:` and its
digits or as the digits alone, or a custom id from the build of a client.
"""

import re
from collections.abc import Awaitable, Callable

from sqlmodel import col

from wattgate.db.models import TrustedDocument
from wattgate.db.rows.rows import Rows
from wattgate.db.ttl_cache import TtlCache
from wattgate.operations.core.runner import Runner
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.apq_store import digest_of, is_digest

MAX_CACHE_AGE_SECONDS = 60.0
"""Maximum time in seconds for which a removed document may still be found."""

MAX_CACHED_DOCUMENTS = 5_000
MAX_CACHED_CHARACTERS = 16 * 2**20
"""Maximum number of documents in the cache of a process, and of their characters."""

_PREFIX = "sha256:"
_CUSTOM_ID = re.compile(r"(x-[A-Za-z0-9._~-]{1,32}:)?[A-Za-z0-9._~-]{1,200}")


ChargeLookup = Callable[[], Awaitable[None]]
"""Charge a caller for a look-up in the database, before it."""


async def charge_nothing() -> None:
    """Charge nobody."""


def normalize_document_id(document_id: str) -> str | None:
    """Return the stored form of a document id, or None if it is not a valid id."""
    if document_id.startswith(_PREFIX):
        digits = document_id.removeprefix(_PREFIX)
        return digits if is_digest(digits) else None
    return document_id if _CUSTOM_ID.fullmatch(document_id) else None


class TrustedDocumentStore:
    """The registered documents of all applications, with a cache.

    The text of an id never changes, so the only possible error in the cache is a document that was removed since.
    Unknown ids are not cached: each request looks them up.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        max_documents: int = MAX_CACHED_DOCUMENTS,
        max_characters: int = MAX_CACHED_CHARACTERS,
        max_age_seconds: float = MAX_CACHE_AGE_SECONDS,
    ) -> None:
        self._runner = runner
        self._cache = TtlCache[tuple[str, str], str](
            max_entries=max_documents, max_weight=max_characters, weigh=len, ttl_seconds=max_age_seconds
        )

    def __len__(self) -> int:
        return len(self._cache)

    async def get_text(
        self, application_id: str, document_id: str, charge_lookup: ChargeLookup = charge_nothing
    ) -> str | None:
        """Return the text that an application has registered under an id, or None.

        `charge_lookup` is called before a look-up in the database, and may raise an error instead.
        """
        stored_id = normalize_document_id(document_id)
        if stored_id is None:
            return None
        key = application_id, stored_id
        text = self._cache.get(key)
        if text is None:
            await charge_lookup()
            text = await self._load_text(*key)
            if text is not None:
                self._cache.put(key, text)
        return text

    async def has_text(self, application_id: str, text: str, charge_lookup: ChargeLookup = charge_nothing) -> bool:
        """Return whether an application has registered this text. `charge_lookup` as for `get_text`."""
        return await self.get_text(application_id, digest_of(text), charge_lookup) == text

    async def _load_text(self, application_id: str, stored_id: str) -> str | None:
        async def find_document(rows: Rows) -> TrustedDocument | None:
            return await rows.first(TrustedDocument, col(TrustedDocument.document_id) == stored_id)

        system = Principal(Role.SYSTEM, application_id=application_id)
        document = await self._runner.read(system, Permission.SYSTEM, find_document)
        return None if document is None else str(document.text)
