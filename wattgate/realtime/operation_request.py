"""A GraphQL request, in the form that all transports share."""

from typing import Any

import msgspec

PERSISTED_QUERY = "persistedQuery"
"""The extension of an automatic persisted query: it refers to a document by its hash."""


class OperationRequest(msgspec.Struct, frozen=True, rename="camel"):
    """A requested operation: its document, or the id or hash of a document that the gateway stores."""

    query: str | None = None
    operation_name: str | None = None
    variables: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None
    document_id: str | None = None
    size: int = 0
    """The bytes of the request. The transport sets it, and replaces what a client sends."""

    def __post_init__(self) -> None:
        if self.query is None and self.document_id is None and not (self.extensions or {}).get(PERSISTED_QUERY):
            raise ValueError("there is no query")  # msgspec reports it as a validation error of the message


class UnparsedRequest(msgspec.Struct, frozen=True, gc=False):
    """The JSON of a requested operation that its caller has not paid for yet, and the bytes of its message."""

    content: msgspec.Raw
    size: int
