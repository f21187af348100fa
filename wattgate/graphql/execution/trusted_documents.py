"""Documents that clients name by an id, because their application has registered them.

Source: GraphQL over HTTP, appendix A (persisted documents). An id is the SHA-256 of the text, as `sha256:` and its
digits or as the digits alone, or what the build of a client has made of it.
"""

import re

from sqlmodel import col

from wattgate.db.models import TrustedDocument
from wattgate.db.rows import Rows
from wattgate.db.ttl_cache import Lately
from wattgate.graphql.core.runner import Runner
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.apq_store import digest_of, is_digest

AGE_SECONDS = 60.0
"""For how long a document that is registered no more may still be found."""

MOST = 5_000
LARGEST = 16 * 2**20
"""How many documents a process keeps, and their characters."""

_PREFIX = "sha256:"
_CUSTOM = re.compile(r"(x-[A-Za-z0-9._~-]{1,32}:)?[A-Za-z0-9._~-]{1,200}")


def stored_id(document_id: str) -> str | None:
    """The id under which a document is stored that a client names so; None where there can be no such id."""
    if document_id.startswith(_PREFIX):
        digits = document_id.removeprefix(_PREFIX)
        return digits if is_digest(digits) else None
    return document_id if _CUSTOM.fullmatch(document_id) else None


class StoredDocuments:
    """The registered documents of all applications. Those that were asked for within a minute are at hand.

    An id means the same text for ever, so that what is at hand may be wrong in one way alone: it was removed since.
    What is not found is looked for each time.
    """

    def __init__(
        self, runner: Runner, *, most: int = MOST, largest: int = LARGEST, seconds: float = AGE_SECONDS
    ) -> None:
        self._runner = runner
        self._found = Lately[tuple[str, str], str](most=most, heaviest=largest, weigh=len, seconds=seconds)

    def __len__(self) -> int:
        return len(self._found)

    async def text(self, application_id: str, document_id: str) -> str | None:
        """The text that an application has registered under an id; None where there is none."""
        stored = stored_id(document_id)
        if stored is None:
            return None
        key = application_id, stored
        text = self._found.get(key)
        if text is None:
            text = await self._look_up(*key)
            if text is not None:
                self._found.put(key, text)
        return text

    async def holds(self, application_id: str, text: str) -> bool:
        """Whether an application has registered this text."""
        return await self.text(application_id, digest_of(text)) == text

    async def _look_up(self, application_id: str, stored: str) -> str | None:
        async def look(rows: Rows) -> TrustedDocument | None:
            return await rows.first(TrustedDocument, col(TrustedDocument.document_id) == stored)

        system = Principal(Role.SYSTEM, application_id=application_id)
        found = await self._runner.read(system, Permission.SYSTEM, look)
        return None if found is None else str(found.text)
