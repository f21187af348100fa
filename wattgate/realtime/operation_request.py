"""The request of a GraphQL operation, as every transport carries it."""

from typing import Any

import msgspec

PERSISTED_QUERY = "persistedQuery"
"""The extension by which a request names a document that was sent before."""


class OperationRequest(msgspec.Struct, frozen=True, rename="camel"):
    """An operation that is asked for: by its document, or by the name of one that the gateway has."""

    query: str | None = None
    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None
    document_id: str | None = None

    def __post_init__(self) -> None:
        if self.query is None and self.document_id is None and not (self.extensions or {}).get(PERSISTED_QUERY):
            raise ValueError("there is no query")  # which is told as any other fault of the message
