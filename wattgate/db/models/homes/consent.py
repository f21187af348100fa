"""Consents of users to the use of their meter points' data by the application."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, StructColumn, UtcDateTime, created_at_field, updated_at_field
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.energy.consent_gaps import ConsentGap, ConsentGaps
from wattgate.enums import ConsentBasis


class MeterPointConsent(Tenanted, table=True):
    """A user's consent for one meter point. It is valid until `valid_until`, unless it is revoked before.

    `ended_at` is when the household moved out. From then on the consent proves nothing and is not extended. `gaps`
    has the periods in which it is not valid. The receipts say the same.
    """

    __tablename__ = "meter_point_consent"
    __table_args__ = (UniqueConstraint("application_id", "user_id", "mpxn"),)
    key: ClassVar[str] = "consent_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("consents", per_user=2_000)

    consent_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str = Field(index=True)
    verified: bool = False
    valid_until: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    gaps: ConsentGaps | None = Field(default=None, sa_type=StructColumn(ConsentGap), nullable=True)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


DEFAULT_PURPOSE = "service"
"""The purpose of a consent that names no other: the service that the application provides to the user."""


class ConsentChange(Tenanted, table=True):
    """A grant, a renewal or a revocation of a consent: the user's receipt. It never changes.

    `valid_until` is the new value of the consent. `basis` is the ground, and `recorded_by` the caller that recorded it.
    """

    __tablename__ = "consent_change"
    key: ClassVar[str] = "change_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota(
        "It is the legal record of consents; refusing it would refuse a withdrawal."
    )

    change_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    mpxn: str
    kind: str
    valid_until: datetime = Field(sa_type=UtcDateTime)
    basis: str = Field(default=ConsentBasis.UNRECORDED.value, sa_column_kwargs={"server_default": "unrecorded"})
    purpose: str = Field(default="", sa_column_kwargs={"server_default": ""})
    recorded_by: str = Field(default="", sa_column_kwargs={"server_default": ""})
    created_at: datetime = created_at_field()
