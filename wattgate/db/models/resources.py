"""Resources (metered data series), their types and their readings."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Integer, SmallInteger
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import AssignedId, Json, Structs, created_at, new_id, updated_at
from wattgate.db.models.tenancy import Tenanted
from wattgate.energy.storage_fields import StorageDefinition


class ResourceType(Tenanted, table=True):
    """A kind of resource. After `retention_days` its resources' readings are deleted; None keeps them."""

    __tablename__ = "resource_type"
    key: ClassVar[str] = "resource_type_id"

    resource_type_id: str = AssignedId()
    name: str
    classifier: str
    storage: list[StorageDefinition] = Field(sa_type=Structs(StorageDefinition))
    description: str = ""
    data_source_type: str = ""
    data_source_resource_type_info: Any = Field(default=None, sa_type=Json)
    label: str = ""
    base_unit: str = ""
    retention_days: int | None = None
    active: bool = True
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class Resource(Tenanted, table=True):
    """A series of readings of one owner. `number` is its short key in the table of readings.

    `storage` is its type's at the time it was made, so that reading never needs the type. `mpxn` is the number of
    the meter point that it is measured at, where that is known. A resource with `cost_of` tells what the energy of that
    other resource costs: it is computed, and nothing is recorded for it. What is recorded for one that is `watched` is
    told to the alert rules.
    """

    key: ClassVar[str] = "resource_id"
    owner: ClassVar[str | None] = "owner_id"

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    resource_id: str = Field(unique=True, default_factory=new_id)
    owner_id: str = Field(foreign_key="app_user.user_id", index=True)
    resource_type_id: str = Field(foreign_key="resource_type.resource_type_id", index=True)
    name: str
    description: str = ""
    label: str = ""
    classifier: str
    base_unit: str
    storage: list[StorageDefinition] = Field(sa_type=Structs(StorageDefinition))
    mpxn: str | None = Field(default=None, index=True)
    cost_of: str | None = Field(default=None, foreign_key="resource.resource_id", index=True)
    data_source_type: str = ""
    data_source_resource_type_info: Any = Field(default=None, sa_type=Json)
    data_source_unit_info: Any = Field(default=None, sa_type=Json)
    active: bool = True
    watched: bool = False
    created_at: datetime = created_at()
    updated_at: datetime = updated_at()


class Reading(SQLModel, table=True):
    """One value: `value` is the fixed-point number times ten to the decimals of its storage field.

    `field` is the position of the storage field in the resource; `at` and `received_at` (since when the value stands
    as it is) are in milliseconds since 1970, UTC. `quality` is a `ReadingQuality`, by its place among them (0 is
    ACTUAL); `revision` counts how often another value replaced it. PostgreSQL keeps a partition for each month
    (`db.partitions`). There is no foreign key, which would be checked row by row: whoever records has the resource
    from `Rows`, and resources are not deleted.
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
    """What the readings of one series in one hour or day (UTC) amount to; it exists while there is one.

    `at` is the start; `estimated` counts the readings that are not ACTUAL; `revision` is the sum of theirs and
    `received_at` the latest. `db.rollups` keeps it with every write.
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
    """The rollups of hours, for fields that have more than four samples in one (`storage.Field.hourly`)."""

    __tablename__ = "reading_hour"
    __table_args__ = {"sqlite_with_rowid": False}


class ReadingDay(Rollup, table=True):
    """The rollups of days, for every field."""

    __tablename__ = "reading_day"
    __table_args__ = {"sqlite_with_rowid": False}
