"""The households of meter points: who lived at a meter point, from when until when."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, Index, text
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import TenancyProof

OPEN = text("ended_at IS NULL")
UNLISTED = text("listed_change IS NULL OR listed_change <> updated_at")


class MeterPointTenancy(Tenanted, table=True):
    """The time in which a user's household lives at a meter point: from `began_at`, until before `ended_at`.

    `began_at` is None if the application knows no household before this one. `ended_at` is None while it lives there.
    The unique index allows one open tenancy at a meter point of an application. Each statement that changes a tenancy
    sets `updated_at`. `listed_change` is the `updated_at` that the list of erasures has, which is outside the database.
    """

    __tablename__ = "meter_point_tenancy"
    __table_args__ = (
        Index(None, "application_id", "mpxn", unique=True, sqlite_where=OPEN, postgresql_where=OPEN),
        Index(None, "mpxn"),
        Index("ix_meter_point_tenancy_unlisted", "application_id", sqlite_where=UNLISTED, postgresql_where=UNLISTED),
    )
    key: ClassVar[str] = "tenancy_id"
    owner: ClassVar[str | None] = "user_id"

    tenancy_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    began_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    proof: TenancyProof = Field(sa_type=Enum(TenancyProof, native_enum=False, length=16))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
    listed_change: datetime | None = Field(default=None, sa_type=UtcDateTime)
