"""The demand flexibility service: events, who opted in, and who takes part."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, FixedPoint, UtcDateTime, created_at, updated_at
from wattgate.db.models.tenancy import Tenanted


class DfsEvent(Tenanted, table=True):
    """A time in which households are paid for using less; `reward` is in pence a kWh."""

    __tablename__ = "dfs_event"
    key: ClassVar[str] = "dfs_event_id"

    dfs_event_id: str = AssignedId()
    name: str
    state: str
    starts_at: datetime = Field(sa_type=UtcDateTime)
    ends_at: datetime = Field(sa_type=UtcDateTime)
    reward: Decimal = Field(sa_type=FixedPoint(6))
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class DfsUser(Tenanted, table=True):
    """A user who opted in with a meter point; opting out ends it."""

    __tablename__ = "dfs_user"
    key: ClassVar[str] = "dfs_user_id"
    owner: ClassVar[str | None] = "user_id"

    dfs_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class DfsParticipation(Tenanted, table=True):
    """A user taking part in an event with a meter point."""

    __tablename__ = "dfs_participation"
    __table_args__ = (UniqueConstraint("dfs_event_id", "user_id", "mpxn"),)
    key: ClassVar[str] = "participation_id"
    owner: ClassVar[str | None] = "user_id"

    participation_id: str = AssignedId()
    dfs_event_id: str = Field(foreign_key="dfs_event.dfs_event_id", index=True)
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    created_at: datetime = created_at()
