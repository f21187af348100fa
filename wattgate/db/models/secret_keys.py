"""The encryption keys that are in use, without the keys themselves."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from wattgate.db.column_types import created_at_field


class SecretKey(SQLModel, table=True):
    """A key that may have encrypted stored secrets.

    `sample` is a known text that it encrypted. With it, a gateway detects at its start that a key is missing or has
    another value.
    """

    __tablename__ = "secret_key"

    key_id: str = Field(primary_key=True)
    sample: str
    created_at: datetime = created_at_field()
