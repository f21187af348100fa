"""Gateway devices and their types, the meter network's inventory, eligibility, and retrievals of readings.

`Device` itself stands beside `Resource`, because each leads to the other.
"""

from datetime import datetime

import strawberry

from wattgate.enums import CatchUpState, DeviceActivity


@strawberry.type(description="A sensor that devices of some type have.")
class TypeSensor:
    protocol_id: str = strawberry.field(description="What the protocol calls the sensor.")
    resource_type_id: strawberry.ID = strawberry.field(description="The resource type that it measures.")


@strawberry.type(description="How devices of some type talk to the platform.")
class TypeProtocol:
    protocol: str = strawberry.field(description="The protocol's name, such as MQTT.")
    sensors: list[TypeSensor]


@strawberry.type(description="A kind of gateway device.")
class DeviceType:
    device_type_id: strawberry.ID
    description: str
    active: bool
    protocol: TypeProtocol
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A sensor that devices of some type have.")
class NewTypeSensor:
    protocol_id: str = strawberry.field(description="What the protocol calls the sensor.")
    resource_type_id: strawberry.ID = strawberry.field(description="The resource type that it measures.")


@strawberry.input(description="How devices of some type talk to the platform.")
class NewTypeProtocol:
    protocol: str = strawberry.field(description="The protocol's name, such as MQTT.")
    sensors: list[NewTypeSensor]


@strawberry.input(description="A kind of gateway device to add.")
class NewDeviceType:
    description: str
    protocol: NewTypeProtocol


@strawberry.type(description="The numbers that stand on a device or on what it is connected to.")
class HardwareIds:
    mac: str | None = strawberry.field(name="MAC", description="The network address.")
    eui: str | None = strawberry.field(name="EUI", description="The EUI-64 on the smart-meter network.")
    mpan: str | None = strawberry.field(name="MPAN", description="The electricity meter point.")
    mprn: str | None = strawberry.field(name="MPRN", description="The gas meter point.")
    serial_number: str | None


@strawberry.type(description="A sensor of a device.")
class DeviceSensor:
    protocol_id: str = strawberry.field(description="What the protocol calls the sensor.")
    resource_type_id: strawberry.ID
    resource_id: strawberry.ID | None = strawberry.field(description="The resource that it feeds, if known.")


@strawberry.type(description="How a device talks to the platform.")
class DeviceProtocol:
    protocol: str = strawberry.field(description="The protocol's name, such as MQTT.")
    sensors: list[DeviceSensor]


@strawberry.type(description="Whether a device sends packets to the platform.")
class DeviceStatus:
    found: bool = strawberry.field(description="Whether any packet of it has come.")
    device_id: strawberry.ID
    hardware_id: str
    last_packet_at: datetime | None = strawberry.field(
        description="The instant of the newest reading of its sensors' resources, or of what it said of itself."
    )
    expected_every: int | None = strawberry.field(
        description="Seconds between two packets, by the finest sampling among what it has sent."
    )
    status: DeviceActivity = strawberry.field(
        description="LIVE up to 3 and STALE up to 48 times expectedEvery after the last packet, then OFFLINE."
    )


@strawberry.type(description="What a display says of itself and of its place on the home's meter network.")
class NetworkState:
    at: datetime = strawberry.field(description="When it said so.")
    software: str | None = strawberry.field(description="The version of the software that it runs.")
    hardware: str | None = strawberry.field(description="The model of its hardware.")
    smets_version: str | None = strawberry.field(description="The generation of the meters: SMETS1 or SMETS2.")
    rssi: int | None = strawberry.field(description="The strength of the signal, in dBm.")
    lqi: int | None = strawberry.field(description="The quality of the link, from 0 to 255.")
    status: str | None = strawberry.field(description="Such as joined.")


@strawberry.input(description="The numbers that stand on a device or on what it is connected to.")
class NewHardwareIds:
    mac: str | None = strawberry.field(name="MAC", default=None, description="The network address.")
    eui: str | None = strawberry.field(name="EUI", default=None, description="The EUI-64 on the smart-meter network.")
    mpan: str | None = strawberry.field(name="MPAN", default=None, description="The electricity meter point.")
    mprn: str | None = strawberry.field(name="MPRN", default=None, description="The gas meter point.")
    serial_number: str | None = None


@strawberry.input(description="A sensor of a device, and the resource that it feeds.")
class NewDeviceSensor:
    protocol_id: str = strawberry.field(description="What the protocol calls the sensor.")
    resource_id: strawberry.ID


@strawberry.input(description="How a device talks to the platform.")
class NewDeviceProtocol:
    sensors: list[NewDeviceSensor]
    protocol: str | None = strawberry.field(default=None, description="The type's where it is left out.")


@strawberry.input(description="A device to add for the user for whom the call is made.")
class NewDevice:
    device_type_id: strawberry.ID
    hardware_id: str = strawberry.field(description="What it is found by, usually its MAC; unique in the application.")
    hardware_ids: NewHardwareIds
    description: str = ""
    parent_hardware_id: list[str] = strawberry.field(default_factory=list)
    protocol: NewDeviceProtocol | None = strawberry.field(
        default=None,
        description="Where it is left out, each sensor of the type feeds the user's resource of its resource type "
        "(at the meter points among hardwareIds, if they are given), if there is exactly one.",
    )


@strawberry.type(description="A device in the meter network's inventory.")
class InventoryDevice:
    eui: strawberry.ID
    mpxn: str = strawberry.field(description="The meter point that it belongs to: an MPAN or MPRN.")
    device_type: str = strawberry.field(description="CHF, ESME, GSME, GPF, IHD, PPMID or CAD.")
    manufacturer: str
    model: str
    firmware_version: str
    status: str = strawberry.field(description="Such as Commissioned.")
    commissioned_at: datetime | None
    smets_version: str = strawberry.field(description="1, 2, or empty where the network does not say.")


@strawberry.type(description="What the meter network has at a meter point.")
class Inventory:
    valid: bool = strawberry.field(description="Whether the network knows the meter point; true in every answer.")
    inventory: list[InventoryDevice]


@strawberry.type(description="The outcome of a check against the meter network.")
class Eligibility:
    valid: bool


@strawberry.type(description="A retrieval of a resource's latest readings from the meter network.")
class CatchUp:
    catch_up_id: strawberry.ID
    resource_id: strawberry.ID
    state: CatchUpState
    recorded: int = strawberry.field(description="How many readings it has brought so far.")
    reason: str | None = strawberry.field(description="Why it failed.")
    created_at: datetime = strawberry.field(description="When it was asked for.")
    started_at: datetime | None
    finished_at: datetime | None


@strawberry.type(description="How many active resources of one type there are, and which.")
class ResourceCount:
    resource_type_id: strawberry.ID
    count: int
    resource_id_list: list[strawberry.ID]
