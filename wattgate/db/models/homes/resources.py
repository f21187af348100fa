"""Resources (metered data series), their types, readings and tariffs."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Enum, Index, Integer, SmallInteger, UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import (
    AssignedId,
    FixedPoint,
    JsonColumn,
    StructColumn,
    UtcDateTime,
    created_at_field,
    new_id,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.energy.consent_gaps import ConsentGap, ConsentGaps
from wattgate.energy.costs.tariffs import RATE_DECIMALS, PriceFormula, TariffBand, TariffBlock, TariffComponent
from wattgate.energy.storage_fields import StorageDefinition
from wattgate.energy.withdrawals import Withdrawal, Withdrawals
from wattgate.enums import Period, TariffKind


class ResourceType(Tenanted, table=True):
    """A type of resource. Readings of its resources are deleted after `retention_days`; None keeps them."""

    __tablename__ = "resource_type"
    key: ClassVar[str] = "resource_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("resource types", per_application=1_000)

    resource_type_id: str = AssignedId()
    name: str
    classifier: str
    storage: tuple[StorageDefinition, ...] = Field(sa_type=StructColumn(StorageDefinition))
    description: str = ""
    data_source_type: str = ""
    data_source_resource_type_info: Any = Field(default=None, sa_type=JsonColumn)
    label: str = ""
    base_unit: str = ""
    retention_days: int | None = None
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Resource(Tenanted, table=True):
    """A series of readings of one owner. `number` is its short key in the table of readings.

    `storage` is a copy of the type's storage at creation, so that reads do not need the type. `mpxn` is the number of
    its meter point, if that is known. A resource with `cost_of` has the costs of that other resource's energy: they are
    computed, and nothing is recorded for it. If a resource is `watched`, new readings trigger alert rules.

    `owned_from` is when the owner's household moved in at the meter point, if another one is known before. Nothing is
    recorded from before. It repeats the tenancy, and `consent_gaps` repeats the gaps of the consent, so that writers of
    readings need no other statement. If `consent_gaps` is None, they look up the consent.

    `withdrawals` are the spans whose readings were deleted after they were stored, so that clients learn of them.

    A closed resource is not active: nothing more is recorded for it. `successor_id` is set if it was moved to another
    user: the resource of that user, which has none of its readings. It then stays closed.
    """

    key: ClassVar[str] = "resource_id"
    owner: ClassVar[str | None] = "owner_id"
    quota: ClassVar[Quota | NoQuota] = Quota("resources", per_user=2_000, grows_with_users=True)

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    resource_id: str = Field(unique=True, default_factory=new_id)
    owner_id: str = Field(foreign_key="app_user.user_id", index=True)
    resource_type_id: str = Field(foreign_key="resource_type.resource_type_id", index=True)
    name: str
    description: str = ""
    label: str = ""
    classifier: str
    base_unit: str
    storage: tuple[StorageDefinition, ...] = Field(sa_type=StructColumn(StorageDefinition))
    mpxn: str | None = Field(default=None, index=True)
    cost_of: str | None = Field(default=None, foreign_key="resource.resource_id", index=True)
    successor_id: str | None = Field(default=None, foreign_key="resource.resource_id")
    data_source_type: str = ""
    data_source_resource_type_info: Any = Field(default=None, sa_type=JsonColumn)
    data_source_unit_info: Any = Field(default=None, sa_type=JsonColumn)
    owned_from: datetime | None = Field(default=None, sa_type=UtcDateTime)
    consent_gaps: ConsentGaps | None = Field(default=None, sa_type=StructColumn(ConsentGap), nullable=True)
    withdrawals: Withdrawals | None = Field(default=None, sa_type=StructColumn(Withdrawal), nullable=True)
    active: bool = True
    watched: bool = False
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Reading(SQLModel, table=True):
    """One reading. `value` is the decimal number times 10 to the power of the decimals of its storage field.

    `field` is the index of the storage field in the resource. `at` and `received_at` are in milliseconds since 1970,
    UTC; `received_at` is the time of the last change. `quality` is the position of a `ReadingQuality` (0 is ACTUAL).
    `revision` is the number of times that another value replaced it. PostgreSQL has a partition for each month
    (`db.readings.partitions`). There is no foreign key, because it would be checked for each row. Writers get the
    resource from `Rows`, and resources are never deleted.
    """

    __table_args__ = {"sqlite_with_rowid": False, "postgresql_partition_by": "RANGE (at)"}

    resource_number: int = Field(primary_key=True, sa_type=BigInteger)
    field: int = Field(primary_key=True, sa_type=SmallInteger)
    at: int = Field(primary_key=True, sa_type=BigInteger)
    value: int = Field(sa_type=BigInteger)
    quality: int = Field(sa_type=SmallInteger)
    revision: int = Field(sa_type=Integer)
    received_at: int = Field(sa_type=BigInteger)


class Rollup(SQLModel):
    """The aggregates of the readings of one series in one hour or day (UTC). It exists if there is a reading.

    `at` is the start. `estimated` counts the readings that are not ACTUAL. `revision` is the sum of all revisions, and
    `received_at` the latest receipt. Each write updates it (`db.readings.rollups`).
    """

    resource_number: int = Field(primary_key=True, sa_type=BigInteger)
    field: int = Field(primary_key=True, sa_type=SmallInteger)
    at: int = Field(primary_key=True, sa_type=BigInteger)
    count: int = Field(sa_type=Integer)
    sum: int = Field(sa_type=BigInteger)
    min: int = Field(sa_type=BigInteger)
    max: int = Field(sa_type=BigInteger)
    first_at: int = Field(sa_type=BigInteger)
    last_at: int = Field(sa_type=BigInteger)
    estimated: int = Field(sa_type=Integer)
    revision: int = Field(sa_type=Integer)
    received_at: int = Field(sa_type=BigInteger)


class ReadingHour(Rollup, table=True):
    """Hourly rollups, for fields with more than four samples in an hour (`ReadingField.has_hourly_rollup`)."""

    __tablename__ = "reading_hour"
    __table_args__ = {"sqlite_with_rowid": False}


class ReadingDay(Rollup, table=True):
    """Daily rollups, for every field."""

    __tablename__ = "reading_day"
    __table_args__ = {"sqlite_with_rowid": False}


# Tariffs of resources, with their versions and prices.


class Tariff(Tenanted, table=True):
    """The rates of a resource's energy from `valid_from` on, in hundredths of `currency` per unit and per day.

    A tariff is never changed. A correction is a new row with the same `valid_from` and the next `version`; it sets
    `superseded_at` of the old row. `rate` is the flat rate, or the rate outside all bands. `vat_rate` is a percentage
    that is added to all rates and to the standing charge. `components` are charges beside both. `price_period` is how
    long each price of a dynamic tariff holds, and `price_formula` how it becomes a rate.
    """

    __table_args__ = (UniqueConstraint("resource_id", "version"), Index(None, "resource_id", "valid_from"))
    key: ClassVar[str] = "tariff_id"
    quota: ClassVar[Quota | NoQuota] = Quota("tariffs of resources", per_parent=("resource_id", 2_000))

    tariff_id: str = AssignedId()
    resource_id: str = Field(foreign_key="resource.resource_id")
    name: str
    kind: TariffKind = Field(sa_type=Enum(TariffKind, native_enum=False, length=16))
    currency: str
    rate: Decimal | None = Field(default=None, sa_type=FixedPoint(RATE_DECIMALS))
    bands: list[TariffBand] = Field(default_factory=list, sa_type=StructColumn(TariffBand))
    blocks: list[TariffBlock] = Field(default_factory=list, sa_type=StructColumn(TariffBlock))
    block_period: Period | None = Field(default=None, sa_type=Enum(Period, native_enum=False, length=8))
    price_period: Period | None = Field(default=None, sa_type=Enum(Period, native_enum=False, length=8))
    price_formula: PriceFormula | None = Field(
        default=None, sa_type=StructColumn(PriceFormula, many=False), nullable=True
    )
    standing_charge: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RATE_DECIMALS))
    components: list[TariffComponent] = Field(default_factory=list, sa_type=StructColumn(TariffComponent))
    vat_rate: Decimal = Field(default=Decimal(0), sa_type=FixedPoint(RATE_DECIMALS))
    time_zone: str
    source: str = "user"
    valid_from: datetime = Field(sa_type=UtcDateTime)
    version: int = 1
    superseded_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class TariffPrice(SQLModel, table=True):
    """The rate of a dynamic tariff for the period that starts at `at` (milliseconds since 1970, UTC).

    `rate` is in millionths of a hundredth of the currency per unit.
    """

    __tablename__ = "tariff_price"
    __table_args__ = {"sqlite_with_rowid": False}

    tariff_id: str = Field(primary_key=True, foreign_key="tariff.tariff_id", ondelete="CASCADE")
    at: int = Field(primary_key=True, sa_type=BigInteger)
    rate: int = Field(sa_type=BigInteger)
