"""The trusted GraphQL documents of applications."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import UniqueConstraint

from wattgate.db.column_types import AssignedId, created_at_field
from wattgate.db.models.tenancy import Tenanted


class TrustedDocument(Tenanted, table=True):
    """A GraphQL document that the application's clients can execute by its id.

    `document_id` is the SHA-256 of the text, or an id that the build of a client computed. The text never changes.
    `name` has the names of its operations.
    """

    __tablename__ = "trusted_document"
    __table_args__ = (UniqueConstraint("application_id", "document_id"),)
    key: ClassVar[str] = "trusted_document_id"

    trusted_document_id: str = AssignedId()
    document_id: str
    text: str
    name: str
    created_at: datetime = created_at_field()
