"""State that all processes of a gateway share: keys in use, stored events and trusted documents."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import BigInteger, Identity, Integer, UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, created_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted


class TrustedDocument(Tenanted, table=True):
    """A GraphQL document that the application's clients can execute by its id.

    `document_id` is the SHA-256 of the text, or an id that the build of a client computed. The text never changes.
    `name` has the names of its operations.
    """

    __tablename__ = "trusted_document"
    __table_args__ = (UniqueConstraint("application_id", "document_id"),)
    key: ClassVar[str] = "trusted_document_id"
    quota: ClassVar[Quota | NoQuota] = Quota("trusted documents", per_application=20_000)

    trusted_document_id: str = AssignedId()
    document_id: str
    text: str
    name: str
    created_at: datetime = created_at_field()


class StoredEvent(SQLModel, table=True):
    """An event about an end or a change, stored in the transaction that causes it.

    `origin` is the process that stored it. `content` is the encoded event.
    """

    __tablename__ = "stored_event"
    __table_args__ = {"sqlite_autoincrement": True}  # a deleted number must not return: readers have passed it

    number: int | None = Field(
        default=None,
        primary_key=True,
        sa_type=BigInteger().with_variant(Integer(), "sqlite"),
        sa_column_args=(Identity(),),
    )
    origin: str
    topic: str
    content: str
    created_at: datetime = created_at_field()


class SecretKey(SQLModel, table=True):
    """A key that may have encrypted stored secrets.

    `sample` is a known text that it encrypted. With it, a gateway detects at its start that a key is missing or has
    another value.
    """

    __tablename__ = "secret_key"

    key_id: str = Field(primary_key=True)
    sample: str
    created_at: datetime = created_at_field()
