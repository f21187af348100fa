"""From what a request names to the text that it means: persisted documents, and applications that take no others.

Sources: GraphQL over HTTP, appendix A (`documentId`); Apollo's automatic persisted queries
(`extensions.persistedQuery`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from graphql import GraphQLError

from wattgate.errors import BadInput, Forbidden, PersistedQueryNotFound
from wattgate.graphql.execution.documents import InvalidRequest
from wattgate.graphql.execution.trusted_documents import TrustedDocumentStore
from wattgate.principal import Principal
from wattgate.realtime.apq_store import ApqStore, digest_of, is_digest
from wattgate.realtime.operation_request import PERSISTED_QUERY, OperationRequest

APQ_VERSION = 1
"""The version of Apollo's protocol."""


class PersistedDocuments:
    """Finds the texts of documents, by the ids and digests that requests name."""

    def __init__(self, trusted_documents: TrustedDocumentStore, apq_store: ApqStore) -> None:
        self._trusted_documents = trusted_documents
        self._apq_store = apq_store

    async def resolve(self, principal: Principal, request: OperationRequest) -> OperationRequest:
        """The request with the text that it means, and no other name for it.

        BadInput where it names two, or one that there is not; Invalid with PERSISTED_QUERY_NOT_FOUND where the client
        is to send the text; Forbidden where the application takes registered documents alone, and this is none.
        """
        digest = _persisted_query_digest(request.extensions)
        if request.document_id is None and digest is None:
            if principal.trusted_only:
                await self._require_registered(principal, request.query or "")
            return request
        text = await self._resolve_text(principal, request, digest)
        return msgspec.structs.replace(
            request, query=text, document_id=None, extensions=_other_extensions(request.extensions)
        )

    async def store_text(self, request: OperationRequest) -> None:
        """Keep the text of a request that is valid, where it comes with its digest."""
        digest = _persisted_query_digest(request.extensions)
        if digest is not None and request.query:
            await self._apq_store.put(digest, request.query)

    async def _resolve_text(self, principal: Principal, request: OperationRequest, digest: str | None) -> str:
        """An empty query is none: clients of graphql-transport-ws have to send one."""
        if request.document_id is not None:
            if request.query or digest is not None:
                raise BadInput("a request has one document: give its text or its id")
            text = await self._load_registered(principal, request.document_id)
            if text is None:
                raise BadInput(f"no document is registered under the id {request.document_id[:100]}")
            return text
        assert digest is not None  # one of both is given
        if request.query:
            if digest_of(request.query) != digest:
                raise BadInput("sha256Hash is not that of the query")
            if principal.trusted_only:
                await self._require_registered(principal, request.query)
            return request.query
        text = await self._load_registered(principal, digest)
        if text is None and not principal.trusted_only:
            text = await self._apq_store.get(digest)
        if text is None:
            unknown = PersistedQueryNotFound("PersistedQueryNotFound")
            raise InvalidRequest([GraphQLError(unknown.message, original_error=unknown)])
        return text

    async def _load_registered(self, principal: Principal, document_id: str) -> str | None:
        if principal.application_id is None:
            return None
        return await self._trusted_documents.get_text(principal.application_id, document_id)

    async def _require_registered(self, principal: Principal, text: str) -> None:
        if principal.application_id is None or not await self._trusted_documents.has_text(
            principal.application_id, text
        ):
            raise Forbidden("this application takes registered documents alone: give the id of one")


def _persisted_query_digest(extensions: Mapping[str, Any] | None) -> str | None:
    """The digest that a request names its document by. BadInput where it does so in a way that nobody knows."""
    extension = (extensions or {}).get(PERSISTED_QUERY)
    if extension is None:
        return None
    if not isinstance(extension, dict) or extension.get("version") != APQ_VERSION:
        raise BadInput(f"{PERSISTED_QUERY} has the version {APQ_VERSION} and a sha256Hash")
    digest = extension.get("sha256Hash")
    if not isinstance(digest, str) or not is_digest(digest.lower()):
        raise BadInput("sha256Hash is 64 hexadecimal digits")
    return digest.lower()


def _other_extensions(extensions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {name: value for name, value in extensions.items() if name != PERSISTED_QUERY} if extensions else None
