"""From what a request names to the text that it means: persisted documents, and applications that take no others.

Sources: GraphQL over HTTP, appendix A (`documentId`); Apollo's automatic persisted queries
(`extensions.persistedQuery`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from graphql import GraphQLError

from wattgate.errors import BadInput, Forbidden, PersistedQueryNotFound
from wattgate.graphql.execution.documents import Invalid
from wattgate.graphql.execution.trusted_documents import StoredDocuments
from wattgate.principal import Principal
from wattgate.realtime.apq_store import Texts, digest_of, is_digest
from wattgate.realtime.connections.protocol import PERSISTED_QUERY, Request

VERSION = 1
"""The version of Apollo's protocol."""


class Persisted:
    """Finds the texts of documents, by the ids and digests that requests name."""

    def __init__(self, stored: StoredDocuments, texts: Texts) -> None:
        self._stored = stored
        self._texts = texts

    async def resolved(self, principal: Principal, request: Request) -> Request:
        """The request with the text that it means, and no other name for it.

        BadInput where it names two, or one that there is not; Invalid with PERSISTED_QUERY_NOT_FOUND where the client
        is to send the text; Forbidden where the application takes registered documents alone, and this is none.
        """
        digest = _digest(request.extensions)
        if request.document_id is None and digest is None:
            if principal.trusted_only:
                await self._check(principal, request.query or "")
            return request
        text = await self._text(principal, request, digest)
        return msgspec.structs.replace(request, query=text, document_id=None, extensions=_others(request.extensions))

    async def keep(self, request: Request) -> None:
        """Keep the text of a request that is valid, where it comes with its digest."""
        digest = _digest(request.extensions)
        if digest is not None and request.query:
            await self._texts.put(digest, request.query)

    async def _text(self, principal: Principal, request: Request, digest: str | None) -> str:
        """An empty query is none: clients of graphql-transport-ws have to send one."""
        if request.document_id is not None:
            if request.query or digest is not None:
                raise BadInput("a request has one document: give its text or its id")
            text = await self._registered(principal, request.document_id)
            if text is None:
                raise BadInput(f"no document is registered under the id {request.document_id[:100]}")
            return text
        assert digest is not None  # one of both is given
        if request.query:
            if digest_of(request.query) != digest:
                raise BadInput("sha256Hash is not that of the query")
            if principal.trusted_only:
                await self._check(principal, request.query)
            return request.query
        text = await self._registered(principal, digest)
        if text is None and not principal.trusted_only:
            text = await self._texts.get(digest)
        if text is None:
            unknown = PersistedQueryNotFound("PersistedQueryNotFound")
            raise Invalid([GraphQLError(unknown.message, original_error=unknown)])
        return text

    async def _registered(self, principal: Principal, document_id: str) -> str | None:
        if principal.application_id is None:
            return None
        return await self._stored.text(principal.application_id, document_id)

    async def _check(self, principal: Principal, text: str) -> None:
        if principal.application_id is None or not await self._stored.holds(principal.application_id, text):
            raise Forbidden("this application takes registered documents alone: give the id of one")


def _digest(extensions: Mapping[str, Any] | None) -> str | None:
    """The digest that a request names its document by. BadInput where it does so in a way that nobody knows."""
    given = (extensions or {}).get(PERSISTED_QUERY)
    if given is None:
        return None
    if not isinstance(given, dict) or given.get("version") != VERSION:
        raise BadInput(f"{PERSISTED_QUERY} has the version {VERSION} and a sha256Hash")
    digest = given.get("sha256Hash")
    if not isinstance(digest, str) or not is_digest(digest.lower()):
        raise BadInput("sha256Hash is 64 hexadecimal digits")
    return digest.lower()


def _others(extensions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {name: value for name, value in extensions.items() if name != PERSISTED_QUERY} if extensions else None
