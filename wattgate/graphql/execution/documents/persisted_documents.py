"""Persisted documents: resolve the id or digest in a request to the text of its document.

Enforce registered documents for applications that accept no others.

Sources: GraphQL over HTTP, appendix A (`documentId`); Apollo's automatic persisted queries
(`extensions.persistedQuery`).
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from graphql import GraphQLError
from sqlmodel import col

from wattgate.db.models import TrustedDocument
from wattgate.db.rows.rows import Rows
from wattgate.db.ttl_cache import TtlCache
from wattgate.errors import BadInput, Forbidden, PersistedQueryNotFound
from wattgate.graphql.execution.documents.documents import InvalidRequest
from wattgate.operations.core.runner import Runner
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.apq_store import ApqStore, digest_of, is_digest
from wattgate.realtime.operation_request import PERSISTED_QUERY, OperationRequest

# Trusted documents: registered by an application, and requested by their id.
#
# Source: GraphQL over HTTP, appendix A (persisted documents). An id is the SHA-256 of the text, as `sha256:` and its
# digits or as the digits alone, or a custom id from the build of a client.

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


# Persisted documents: resolve the id or digest in a request to the text of its document.


APQ_VERSION = 1
"""The supported version of Apollo's protocol."""


def needs_resolution(principal: Principal, request: OperationRequest) -> bool:
    """Return whether the request may have an id or a digest, or the caller only registered documents."""
    return request.document_id is not None or request.extensions is not None or principal.trusted_only


class PersistedDocuments:
    """Find the texts of documents by the ids and digests in requests."""

    def __init__(self, trusted_documents: TrustedDocumentStore, apq_store: ApqStore) -> None:
        self._trusted_documents = trusted_documents
        self._apq_store = apq_store

    async def resolve(
        self, principal: Principal, request: OperationRequest, charge_lookup: ChargeLookup
    ) -> OperationRequest:
        """Return the request with the text of its document, and without its id or digest.

        `charge_lookup` charges the caller before each look-up in the database.

        Raise BadInput if it has both, or an unknown id. Raise InvalidRequest with PERSISTED_QUERY_NOT_FOUND if the
        client has to send the text. Raise Forbidden if the application accepts only registered documents and this is
        none.
        """
        digest = _persisted_query_digest(request.extensions)
        if request.document_id is None and digest is None:
            if principal.trusted_only:
                await self._require_registered(principal, request.query or "", charge_lookup)
            return request
        text = await self._resolve_text(principal, request, digest, charge_lookup)
        return msgspec.structs.replace(
            request, query=text, document_id=None, extensions=_other_extensions(request.extensions)
        )

    async def store_text(self, request: OperationRequest) -> None:
        """Store the text of a valid request if it contains its digest."""
        digest = _persisted_query_digest(request.extensions)
        if digest is not None and request.query:
            await self._apq_store.put(digest, request.query)

    async def _resolve_text(
        self, principal: Principal, request: OperationRequest, digest: str | None, charge_lookup: ChargeLookup
    ) -> str:
        """Return the text of a document.

        An empty query counts as none: graphql-transport-ws clients have to send one.
        """
        if request.document_id is not None:
            if request.query or digest is not None:
                raise BadInput("a request has one document: send its text or its id")
            text = await self._load_registered(principal, request.document_id, charge_lookup)
            if text is None:
                raise BadInput(f"no document is registered under the id {request.document_id[:100]}")
            return text
        assert digest is not None  # the caller checked that the request has an id or a digest
        if request.query:
            if digest_of(request.query) != digest:
                raise BadInput("sha256Hash does not match the query")
            if principal.trusted_only:
                await self._require_registered(principal, request.query, charge_lookup)
            return request.query
        # first where a look-up costs less: either has the text of the digest
        text = None if principal.trusted_only else await self._apq_store.get(digest)
        if text is None:
            text = await self._load_registered(principal, digest, charge_lookup)
        if text is None:
            unknown = PersistedQueryNotFound("PersistedQueryNotFound")
            raise InvalidRequest([GraphQLError(unknown.message, original_error=unknown)])
        return text

    async def _load_registered(self, principal: Principal, document_id: str, charge_lookup: ChargeLookup) -> str | None:
        if principal.application_id is None:
            return None
        return await self._trusted_documents.get_text(principal.application_id, document_id, charge_lookup)

    async def _require_registered(self, principal: Principal, text: str, charge_lookup: ChargeLookup) -> None:
        if principal.application_id is None or not await self._trusted_documents.has_text(
            principal.application_id, text, charge_lookup
        ):
            raise Forbidden("this application accepts only registered documents; send the id of one")


def _persisted_query_digest(extensions: Mapping[str, Any] | None) -> str | None:
    """Return the digest in the persistedQuery extension, or None. Raise BadInput if the extension is malformed."""
    extension = (extensions or {}).get(PERSISTED_QUERY)
    if extension is None:
        return None
    if not isinstance(extension, dict) or extension.get("version") != APQ_VERSION:
        raise BadInput(f"{PERSISTED_QUERY} must have version {APQ_VERSION} and a sha256Hash")
    digest = extension.get("sha256Hash")
    if not isinstance(digest, str) or not is_digest(digest.lower()):
        raise BadInput("sha256Hash must have 64 hexadecimal digits")
    return digest.lower()


def _other_extensions(extensions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {name: value for name, value in extensions.items() if name != PERSISTED_QUERY} if extensions else None
