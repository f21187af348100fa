"""The access log of households: which callers read which of a household's data, counted by the hour."""

from datetime import datetime
from typing import ClassVar

from sqlmodel import Field

from wattgate.db.column_types import AssignedId, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted


class AccessRecord(Tenanted, table=True):
    """The reads of one resource by one caller with one operation in one hour.

    `user_id` is the user whose data was read. `reader` is the caller, such as `account:ID`, and `reader_user_id` the
    user of its account, or the user for whom an application acted. `own` is true if an account of the household read.
    The identifier is derived from all other columns except the count and the instants, so that gateways add to one row.
    """

    __tablename__ = "access_record"
    key: ClassVar[str] = "access_id"
    owner: ClassVar[str | None] = "user_id"

    access_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    resource_id: str
    operation: str
    purpose: str
    role: str
    reader: str
    reader_user_id: str | None = None
    own: bool
    count: int
    hour: datetime = Field(sa_type=UtcDateTime, index=True)
    last_at: datetime = Field(sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
