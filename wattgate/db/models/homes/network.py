"""The local registry of the meter network. Its records belong to no application; all applications can query them."""

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Enum
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import FixedPoint, UtcDateTime
from wattgate.enums import ReadingQuality

NETWORK_DECIMALS = 6
"""The number of decimal places of values in the registry: a millionth of a unit."""


class NetworkMeterPoint(SQLModel, table=True):
    """A meter point: its number (MPAN or MPRN), its postcode, and whether the network can serve it."""

    __tablename__ = "network_meter_point"

    mpxn: str = Field(primary_key=True)
    postcode: str = ""
    smets_version: str = ""
    eligible: bool = True


class NetworkDevice(SQLModel, table=True):
    """A device on a home's smart-meter network, such as a meter, a communications hub or a display."""

    __tablename__ = "network_device"

    eui: str = Field(primary_key=True)
    mpxn: str = Field(index=True)
    device_type: str
    manufacturer: str = ""
    model: str = ""
    firmware_version: str = ""
    status: str = "Commissioned"
    commissioned_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class NetworkReading(SQLModel, table=True):
    """A value of a meter point in the network, by classifier and the start of its half hour.

    `quality` is the quality that the network reports.
    """

    __tablename__ = "network_reading"

    mpxn: str = Field(primary_key=True)
    classifier: str = Field(primary_key=True)
    at: datetime = Field(primary_key=True, sa_type=UtcDateTime)
    value: Decimal = Field(sa_type=FixedPoint(NETWORK_DECIMALS))
    quality: ReadingQuality = Field(
        default=ReadingQuality.ACTUAL, sa_type=Enum(ReadingQuality, native_enum=False, length=16)
    )


class NetworkRegister(SQLModel, table=True):
    """The last reading of the meter's own cumulative register."""

    __tablename__ = "network_register"

    mpxn: str = Field(primary_key=True)
    classifier: str = Field(primary_key=True)
    at: datetime = Field(sa_type=UtcDateTime)
    value: Decimal = Field(sa_type=FixedPoint(NETWORK_DECIMALS))
    unit: str
