"""Devices and their types, intakes, retrievals of readings, and the registry of the meter network."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

import msgspec
from sqlalchemy import Enum, UniqueConstraint
from sqlmodel import Field, SQLModel

from wattgate.db.column_types import (
    AssignedId,
    FixedPoint,
    JsonColumn,
    StructColumn,
    UtcDateTime,
    WordSet,
    created_at_field,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted
from wattgate.energy.meters.meter_points import NetworkState
from wattgate.enums import CatchUpState, DeviceProof, ReadingQuality


class TypeSensor(msgspec.Struct):
    """A sensor of a device type: its id in the protocol, and the resource type that it measures."""

    protocol_id: str
    resource_type_id: str


class TypeProtocol(msgspec.Struct):
    """The protocol between the devices of a type and the platform."""

    protocol: str
    sensors: list[TypeSensor]


class HardwareIds(msgspec.Struct):
    """The identifiers on a device or on the meters that it is connected to."""

    mac: str | None = None
    eui: str | None = None
    mpan: str | None = None
    mprn: str | None = None
    serial_number: str | None = None


class DeviceType(Tenanted, table=True):
    __tablename__ = "device_type"
    key: ClassVar[str] = "device_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("device types", per_application=1_000)

    device_type_id: str = AssignedId()
    description: str
    active: bool = True
    protocol: TypeProtocol = Field(sa_type=StructColumn(TypeProtocol, many=False))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Device(Tenanted, table=True):
    """A device in a home that sends packets to the platform. `hardware_key` is its hardware id, normalized.

    A closed device is not active. It keeps its owner and its history, and `close_device` extends its `hardware_key`, so
    that the hardware id is free for the next owner. `mac`, `eui` and `serial_number` are the other identifiers,
    normalized for look-ups. `proof` is None for devices that were added before devices needed proof. `network_state` is
    the newest state that the device reported about itself, and `heard_at` the time of that report.

    `held_from` is the instant from which its messages belong to the owner; None if it had no other owner before.
    `remains_at` has the meter points that it still measures: its owner has moved out there, or pointed it elsewhere.
    """

    __table_args__ = (UniqueConstraint("application_id", "hardware_key"),)
    key: ClassVar[str] = "device_id"
    owner: ClassVar[str | None] = "owner_id"
    quota: ClassVar[Quota | NoQuota] = Quota("devices", per_user=1_000, grows_with_users=True)

    device_id: str = AssignedId()
    owner_id: str = Field(foreign_key="app_user.user_id", index=True)
    device_type_id: str = Field(foreign_key="device_type.device_type_id", index=True)
    description: str = ""
    active: bool = True
    hardware_id: str
    hardware_key: str
    hardware_ids: HardwareIds = Field(sa_type=StructColumn(HardwareIds, many=False))
    mac: str | None = Field(default=None, index=True)
    eui: str | None = Field(default=None, index=True)
    serial_number: str | None = Field(default=None, index=True)
    proof: DeviceProof | None = Field(
        default=None, sa_type=Enum(DeviceProof, native_enum=False, length=16), nullable=True
    )
    parent_hardware_id: list[str] = Field(default_factory=list, sa_type=JsonColumn)
    tags: list[str] = Field(default_factory=list, sa_type=JsonColumn)
    protocol_name: str
    network_state: NetworkState | None = Field(
        default=None, sa_type=StructColumn(NetworkState, many=False), nullable=True
    )
    heard_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    held_from: datetime | None = Field(default=None, sa_type=UtcDateTime)
    remains_at: frozenset[str] = Field(default=frozenset(), sa_type=WordSet, nullable=True)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class DeviceClaim(Tenanted, table=True):
    """A code that the application registered for a device, with which a user may add the device once.

    Only the digest of the code is stored. `hardware_key` is the hardware id, normalized. `failures` counts wrong codes.
    """

    __tablename__ = "device_claim"
    __table_args__ = (UniqueConstraint("application_id", "hardware_key"),)
    key: ClassVar[str] = "claim_id"
    quota: ClassVar[Quota | NoQuota] = Quota("claim codes of devices", grows_with_users=True)

    claim_id: str = AssignedId()
    hardware_id: str
    hardware_key: str
    digest: bytes
    failures: int = 0
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class DeviceSensor(Tenanted, table=True):
    """A sensor of a device, and the resource that it feeds if that is known."""

    __tablename__ = "device_sensor"
    key: ClassVar[str] = "protocol_id"
    quota: ClassVar[Quota | NoQuota] = Quota("sensors of devices", per_parent=("device_id", 200))

    device_id: str = Field(primary_key=True, foreign_key="device.device_id")
    protocol_id: str = Field(primary_key=True)
    resource_type_id: str = Field(foreign_key="resource_type.resource_type_id")
    resource_id: str | None = Field(default=None, foreign_key="resource.resource_id", index=True)


class Intake(Tenanted, table=True):
    """A connection to a broker from which devices' messages arrive. `name` is its client id at the broker.

    `heard_at` is the time of its last heartbeat, and `connected` the state that it reported then.
    """

    __table_args__ = (UniqueConstraint("application_id", "name"),)
    key: ClassVar[str] = "intake_id"
    quota: ClassVar[Quota | NoQuota] = NoQuota("An application has one for each configured intake.")

    intake_id: str = AssignedId()
    name: str
    connected: bool
    heard_at: datetime = Field(sa_type=UtcDateTime)


class CatchUp(Tenanted, table=True):
    """A retrieval of a resource's latest readings from the meter network.

    `reason` is the cause of a failure. `heard_at` is the last heartbeat of its worker.
    """

    __tablename__ = "catch_up"
    key: ClassVar[str] = "catch_up_id"
    owner: ClassVar[str | None] = "owner_id"
    quota: ClassVar[Quota | NoQuota] = Quota("catch-ups", per_user=10_000)

    catch_up_id: str = AssignedId()
    owner_id: str = Field(foreign_key="app_user.user_id", index=True)
    resource_id: str = Field(foreign_key="resource.resource_id", index=True)
    state: CatchUpState = Field(
        default=CatchUpState.QUEUED, sa_type=Enum(CatchUpState, native_enum=False, length=16), index=True
    )
    recorded: int = 0
    reason: str | None = None
    created_at: datetime = created_at_field()
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    heard_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


# The local registry of the meter network. Its records belong to no application; all applications can query them.

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
