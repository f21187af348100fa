"""Events that one process stores for the others that use the same database."""

from datetime import datetime

from sqlalchemy import BigInteger, Identity, Integer
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import created_at_field


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
