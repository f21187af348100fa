"""The demand flexibility service: events, enrolled users and participations."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, EnumText, FixedPoint, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.energy.quantities import REWARD_CURRENCY, Rate, rate_of_hundredths
from wattgate.enums import DfsEventState, RateUnit


class DfsEvent(Tenanted, table=True):
    """A time in which households are paid to use less energy. `reward` is in pence per kWh."""

    __tablename__ = "dfs_event"
    key: ClassVar[str] = "dfs_event_id"
    quota: ClassVar[Quota | NoQuota] = Quota("flexibility events", per_application=50_000)

    dfs_event_id: str = AssignedId()
    name: str
    state: DfsEventState = Field(sa_type=EnumText(DfsEventState))
    starts_at: datetime = Field(sa_type=UtcDateTime)
    ends_at: datetime = Field(sa_type=UtcDateTime)
    reward: Decimal = Field(sa_type=FixedPoint(6))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()

    @property
    def reward_rate(self) -> Rate:
        """The reward in the major unit."""
        return rate_of_hundredths(self.reward, RateUnit.KILOWATT_HOUR, REWARD_CURRENCY)


class DfsUser(Tenanted, table=True):
    """The enrolment of a user with a meter point. `active` is false after the user opts out."""

    __tablename__ = "dfs_user"
    key: ClassVar[str] = "dfs_user_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("flexibility enrolments", per_user=1_000)

    dfs_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class DfsParticipation(Tenanted, table=True):
    """The participation of a user with a meter point in an event."""

    __tablename__ = "dfs_participation"
    __table_args__ = (UniqueConstraint("dfs_event_id", "user_id", "mpxn"),)
    key: ClassVar[str] = "participation_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("A user has one for each event and meter point, which have quotas.")

    participation_id: str = AssignedId()
    dfs_event_id: str = Field(foreign_key="dfs_event.dfs_event_id", index=True)
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    created_at: datetime = created_at_field()
