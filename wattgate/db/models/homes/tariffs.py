"""Tariffs of resources, with their versions and prices."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from sqlalchemy import BigInteger, Enum, UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, FixedPoint, StructColumn, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.energy.costs.tariffs import RATE_DECIMALS, TariffBand, TariffBlock
from wattgate.enums import Period, TariffKind


class Tariff(Tenanted, table=True):
    """The rates of a resource's energy from `valid_from` on, in pence per unit and pence per day.

    A tariff is never changed. A correction is a new row with the same `valid_from` and the next `version`; it sets
    `superseded_at` of the old row. `rate` is the flat rate, or the rate outside all bands. `vat_rate` is a percentage
    that is added to all rates and to the standing charge.
    """

    __table_args__ = (UniqueConstraint("resource_id", "version"),)
    key: ClassVar[str] = "tariff_id"

    tariff_id: str = AssignedId()
    resource_id: str = Field(foreign_key="resource.resource_id", index=True)
    name: str
    kind: TariffKind = Field(sa_type=Enum(TariffKind, native_enum=False, length=16))
    rate: Decimal | None = Field(default=None, sa_type=FixedPoint(RATE_DECIMALS))
    bands: list[TariffBand] = Field(default_factory=list, sa_type=StructColumn(TariffBand))
    blocks: list[TariffBlock] = Field(default_factory=list, sa_type=StructColumn(TariffBlock))
    block_period: Period | None = Field(default=None, sa_type=Enum(Period, native_enum=False, length=8))
    standing_charge: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RATE_DECIMALS))
    vat_rate: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RATE_DECIMALS))
    time_zone: str = "Europe/London"
    source: str = "user"
    valid_from: datetime = Field(sa_type=UtcDateTime)
    version: int = 1
    superseded_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class TariffPrice(SQLModel, table=True):
    """The rate of a dynamic tariff for the half hour that starts at `at` (milliseconds since 1970, UTC).

    `rate` is in millionths of a penny per unit.
    """

    __tablename__ = "tariff_price"
    __table_args__ = {"sqlite_with_rowid": False}

    tariff_id: str = Field(primary_key=True, foreign_key="tariff.tariff_id", ondelete="CASCADE")
    at: int = Field(primary_key=True, sa_type=BigInteger)
    rate: int = Field(sa_type=BigInteger)
