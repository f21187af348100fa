"""GraphQL types of devices, device types, the meter network's inventory, eligibility and catch-ups.

`Device` itself is in `resources`, because devices and resources refer to each other.
"""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.enums import CatchUpState, DeviceActivity
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.values import terms


@strawberry.type(description="Sensor that each device of a type has.")
class TypeSensor:
    protocol_id: str = strawberry.field(description="Identifier of the sensor in the protocol.")
    resource_type_id: strawberry.ID = strawberry.field(description="ID of the resource type that the sensor measures.")


@strawberry.type(description="Protocol that devices of a type use to send readings, and their sensors.")
class TypeProtocol:
    protocol: str = strawberry.field(description="Name of the protocol, such as MQTT.")
    sensors: list[TypeSensor] = strawberry.field(description=terms.SENSORS)


@strawberry.type(description="Type of device, to which devices belong.")
class DeviceType(Node, model=models.DeviceType):
    device_type_id: ids.DeviceTypeId
    application_id: ids.ApplicationId
    description: terms.Description
    active: terms.Active
    protocol: TypeProtocol = strawberry.field(description="Protocol of the device and its sensors.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.input(description="Sensor that each device of a type has.")
class NewTypeSensor:
    protocol_id: terms.Text200 = strawberry.field(description="Identifier of the sensor in the protocol.")
    resource_type_id: strawberry.ID = strawberry.field(description="ID of the resource type that the sensor measures.")


@strawberry.input(description="Protocol that devices of a type use to send readings, and their sensors.")
class NewTypeProtocol:
    protocol: terms.Text100 = strawberry.field(description="Name of the protocol, such as MQTT.")
    sensors: list[NewTypeSensor] = strawberry.field(description=terms.SENSORS)


@strawberry.input(description="Device type to add.")
class NewDeviceType:
    description: terms.Description
    protocol: NewTypeProtocol = strawberry.field(description="Protocol of the device and its sensors.")


@strawberry.type(description="Identifiers of a device and of the meter points that it is connected to.")
class HardwareIds:
    mac: str | None = strawberry.field(name="MAC", description="MAC address. Null if not known.")
    eui: str | None = strawberry.field(name="EUI", description="EUI-64 on the smart-meter network. Null if not known.")
    mpan: str | None = strawberry.field(
        name="MPAN", description="MPAN of the electricity meter point. Null if not known."
    )
    mprn: str | None = strawberry.field(name="MPRN", description="MPRN of the gas meter point. Null if not known.")
    serial_number: terms.SerialNumber | None


@strawberry.type(description="Sensor of a device.")
class DeviceSensor:
    protocol_id: str = strawberry.field(description="Identifier of the sensor in the protocol.")
    resource_type_id: ids.ResourceTypeId
    resource_id: strawberry.ID | None = strawberry.field(
        description="ID of the resource that receives the sensor's readings. Null if not known."
    )


@strawberry.type(description="Protocol that a device uses to send readings, and its sensors.")
class DeviceProtocol:
    protocol: str = strawberry.field(description="Name of the protocol, such as MQTT.")
    sensors: list[DeviceSensor] = strawberry.field(description=terms.SENSORS)


@strawberry.type(description="Activity of a device: when it last sent a packet.")
class DeviceStatus:
    found: bool = strawberry.field(description="Whether the device has ever sent a packet.")
    device_id: ids.DeviceId
    hardware_id: terms.HardwareId
    last_packet_at: datetime | None = strawberry.field(
        description="Instant of its newest reading or of its last report about itself. Null if there is none."
    )
    expected_every: int | None = strawberry.field(
        description="Expected time between two packets, in seconds. Null if the device has never sent one."
    )
    status: DeviceActivity = strawberry.field(
        description="LIVE until 3 times `expectedEvery` after the last packet, STALE until 48 times, then OFFLINE."
    )


@strawberry.type(description="Report of a display about itself and about its connection to the home's meter network.")
class NetworkState:
    at: datetime = strawberry.field(description="When the device sent the report.")
    software: str | None = strawberry.field(description="Software version. Null if not reported.")
    hardware: str | None = strawberry.field(description="Hardware model. Null if not reported.")
    smets_version: str | None = strawberry.field(
        description="Generation of the meters: SMETS1 or SMETS2. Null if not reported."
    )
    rssi: int | None = strawberry.field(description="Signal strength, in dBm. Null if not reported.")
    lqi: int | None = strawberry.field(description="Link quality from 0 to 255. Null if not reported.")
    status: str | None = strawberry.field(description="State of the connection, such as joined. Null if not reported.")


@strawberry.input(description="Identifiers of a device and of the meter points that it is connected to.")
class NewHardwareIds:
    mac: terms.Text100 | None = strawberry.field(name="MAC", default=None, description="MAC address.")
    eui: terms.Text100 | None = strawberry.field(
        name="EUI", default=None, description="EUI-64 on the smart-meter network."
    )
    mpan: terms.Text100 | None = strawberry.field(
        name="MPAN", default=None, description="MPAN of the electricity meter point."
    )
    mprn: terms.Text100 | None = strawberry.field(name="MPRN", default=None, description="MPRN of the gas meter point.")
    serial_number: terms.SerialNumber | None = None


@strawberry.input(description="Sensor of a device, and the resource that receives its readings.")
class NewDeviceSensor:
    protocol_id: terms.Text200 = strawberry.field(description="Identifier of the sensor in the protocol.")
    resource_id: ids.ResourceId


@strawberry.input(description="Protocol that a device uses to send readings, and its sensors.")
class NewDeviceProtocol:
    sensors: list[NewDeviceSensor] = strawberry.field(description=terms.SENSORS)
    protocol: terms.Text100 | None = strawberry.field(
        default=None, description="Name of the protocol. Default: the protocol of the device type."
    )


@strawberry.input(description="Device to add for the acting user.")
class NewDevice:
    device_type_id: ids.DeviceTypeId
    hardware_id: terms.Text200 = strawberry.field(
        description="Identifier of the device, usually its MAC address. Unique in the application."
    )
    hardware_ids: NewHardwareIds = strawberry.field(description="Further identifiers of the hardware.")
    claim_code: terms.Text100 | None = strawberry.field(
        default=None,
        description="Code that the application registered for the device. An account needs it, unless the meter "
        "network lists the device at a meter point that its user has verified. Applications need no code.",
    )
    description: terms.Description = ""
    parent_hardware_id: terms.ParentHardwareIds = strawberry.field(default_factory=list)
    protocol: NewDeviceProtocol | None = strawberry.field(
        default=None,
        description="Sensors of the device. Default: each sensor of the type supplies the user's only resource of its "
        "resource type, at the meter points in `hardwareIds` if there are any.",
    )


@strawberry.input(description="Fields of a device to change. Omitted fields keep their values.")
class DeviceChange:
    description: terms.Description | None = strawberry.UNSET
    hardware_ids: NewHardwareIds | None = strawberry.field(
        default=strawberry.UNSET,
        description="Identifiers of the device. They replace all present ones, also those that are omitted here.",
    )
    parent_hardware_id: terms.ParentHardwareIds | None = strawberry.UNSET
    protocol: NewDeviceProtocol | None = strawberry.field(
        default=strawberry.UNSET, description="Sensors of the device. They replace the present ones."
    )


@strawberry.input(description="Code with which a user can claim a device, once.")
class NewDeviceClaim:
    hardware_id: terms.Text200 = strawberry.field(description="Identifier of the device, in any spelling.")
    code: terms.Text100 | None = strawberry.field(
        default=None,
        description="Code, such as the one on the label of the device: at least 8 letters or digits. Case, spaces, "
        "hyphens and colons do not matter. Default: a random code.",
    )
    expires_at: datetime | None = strawberry.field(
        default=None, description="When the code expires. Default: it is valid until it is used."
    )


@strawberry.type(
    description="Registered claim code of a device. Only the result of the registration contains the code."
)
class DeviceClaim:
    claim_id: strawberry.ID = strawberry.field(description="ID of the claim code.")
    hardware_id: terms.HardwareId
    code: str = strawberry.field(description="The code for the user who gets the device.")
    expires_at: datetime | None = strawberry.field(description="When the code expires. Null if it does not.")
    created_at: terms.CreatedAt


@strawberry.type(description="Device in the meter network's inventory.")
class InventoryDevice:
    eui: ids.Eui
    mpxn: terms.Mpxn
    device_type: str = strawberry.field(description="Type of the device: CHF, ESME, GSME, GPF, IHD, PPMID or CAD.")
    manufacturer: str = strawberry.field(description="Manufacturer of the device.")
    model: str = strawberry.field(description="Hardware model of the device.")
    firmware_version: str = strawberry.field(description="Firmware version of the device.")
    status: str = strawberry.field(description="Status of the device, such as Commissioned.")
    commissioned_at: datetime | None = strawberry.field(
        description="When the device was commissioned. Null if the network does not have the date."
    )
    smets_version: str = strawberry.field(
        description="Generation of the meter: 1 or 2. Empty if the network does not have it."
    )


@strawberry.type(description="Devices that the meter network has at a meter point.")
class Inventory:
    valid: bool = strawberry.field(description="Always true, because an unknown meter point or EUI returns an error.")
    inventory: list[InventoryDevice] = strawberry.field(
        description="Devices that the meter network has at the meter point."
    )


@strawberry.type(description="Result of an eligibility check against the meter network.")
class Eligibility:
    valid: bool = strawberry.field(description="Whether the check passed.")


@strawberry.type(description="Retrieval of a resource's latest readings from the meter network.")
class CatchUp:
    catch_up_id: strawberry.ID = strawberry.field(description="ID of the catch-up.")
    resource_id: ids.ResourceId
    state: CatchUpState = strawberry.field(description="State of the retrieval.")
    recorded: int = strawberry.field(description="Number of readings recorded so far.")
    reason: str | None = strawberry.field(description="Why the retrieval failed. Null if it did not fail.")
    created_at: datetime = strawberry.field(description="When the retrieval was requested.")
    started_at: datetime | None = strawberry.field(description="When a worker started the catch-up. Null until then.")
    finished_at: terms.FinishedAt | None


@strawberry.type(description="Number and IDs of the active resources of one resource type.")
class ResourceCount:
    resource_type_id: ids.ResourceTypeId
    count: int = strawberry.field(description="Number of active resources.")
    resource_id_list: list[strawberry.ID] = strawberry.field(description="IDs of the resources.")
