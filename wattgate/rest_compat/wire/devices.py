"""Types of devices, their status and meter inventories in legacy formats."""

from typing import Annotated, TypedDict

from msgspec import Meta

from wattgate.annotations import Described
from wattgate.enums import DeviceActivity
from wattgate.graphql.types.resources import Device
from wattgate.rest_compat.wire.shapes import Alternatives, EpochSeconds, Instant, Ok, RecordShape, Uuid, Valid


class Sensor(TypedDict):
    """Sensor of a device that measures a resource."""

    protocolId: Annotated[str, Meta(description="ID of the sensor in the protocol.")]
    resourceTypeId: Annotated[str | None, Meta(description="ID of the resource type.")]
    resourceId: Annotated[Uuid, Described("ID of the resource.")]


class Protocol(TypedDict):
    """Protocol of a device, and its sensors."""

    protocol: Annotated[str | None, Meta(description="Name of the protocol, such as ZIGBEE.")]
    sensors: Annotated[list[Sensor], Described("Sensors of the device.")]


class DeviceMembers(TypedDict):
    """Members of a device in the legacy format."""

    hardwareIds: Annotated[dict[str, str], Meta(description="Hardware IDs that the device has, by name.")]
    hardwareIdNames: Annotated[list[str], Meta(description="Names of these hardware IDs.")]
    protocol: Annotated[Protocol, Described("Protocol of the device and its sensors.")]


class DeviceQuery(TypedDict):
    """Query of the status of a device."""

    tags: Annotated[
        str,
        Meta(
            max_length=200,
            description="Hardware ID, MAC address, EUI or serial number of the device, in any case and with or "
            "without separators.",
            examples=["AABBCCDDEEFF"],
        ),
    ]


class DeviceState(TypedDict):
    """Status of a device."""

    found: Annotated[bool, Meta(description="Whether the device has sent a packet.")]
    deviceId: Annotated[Uuid, Described("ID of the device.")]
    hardwareId: Annotated[str, Described("Identifier of the device in the application, usually its MAC address.")]
    value: Annotated[EpochSeconds | None, Meta(description="Time of the last packet in seconds since 1970, or null.")]
    status: Annotated[DeviceActivity, Described("Current status.")]
    expectedEvery: Annotated[int | None, Meta(description="Seconds between packets, or null if it is not known.")]


class AddedDevice(TypedDict):
    """Acknowledgement that a device is added."""

    status: Ok
    valid: Valid
    deviceId: Annotated[Uuid, Described("ID of the device.")]


class LegacyInventoryEntry(TypedDict):
    """Device that the meter network lists."""

    DateCommissioned: Annotated[Instant | None, Meta(description="When the device was commissioned.")]
    DeviceFirmwareVersion: Annotated[str | None, Meta(description="Version of the firmware.")]
    DeviceManufacturer: Annotated[str | None, Meta(description="Name of the manufacturer.")]
    DeviceModel: Annotated[str | None, Meta(description="Model of the device.")]
    DeviceType: Annotated[str, Meta(description="Type of the device, such as ESME.")]
    DeviceStatus: Annotated[str | None, Meta(description="Status in the meter network.")]
    EUI: Annotated[str, Meta(description="Hardware ID in the meter network (EUI-64).")]
    ImportMPxN: Annotated[str | None, Meta(description="MPAN or MPRN of the meter point.")]
    SmetsVersion: Annotated[str | None, Meta(description="Version of the smart meter specification.")]


class Inventory(TypedDict):
    """Devices of a meter point."""

    valid: Annotated[bool, Meta(description="Whether the meter network lists the meter point.")]
    inventory: Annotated[
        list[LegacyInventoryEntry], Described("Devices that the meter network has at the meter point.")
    ]


class NetworkDevice(TypedDict):
    """Device that the meter network lists and no user has added."""

    deviceId: Annotated[None, Meta(description="Always null.")]
    hardwareId: Annotated[str, Described("Identifier of the device in the application, usually its MAC address.")]
    hardwareIds: Annotated[dict[str, str], Meta(description="Hardware IDs by name.")]
    hardwareIdNames: Annotated[list[str], Meta(description="Names of these hardware IDs.")]
    inventory: Annotated[LegacyInventoryEntry, Described("Devices that the meter network has at the meter point.")]


class MeterPointResource(TypedDict):
    """Resource that is measured at a meter point."""

    resourceId: Annotated[Uuid, Described("ID of the resource.")]
    resourceTypeId: Annotated[Uuid, Described("ID of the resource type.")]
    classifier: Annotated[str, Described("Dotted category of the measured quantity, such as electricity.consumption.")]


class LegacyMeterPointResources(TypedDict):
    """Resources that are measured at a meter point."""

    valid: Valid
    mpxn: Annotated[str, Meta(description="MPAN or MPRN of the meter point.")]
    resources: Annotated[list[MeterPointResource], Described("Resources that belong to the record.")]


DEVICE = RecordShape("DeviceWithProtocol", Device, DeviceMembers)
DISCOVERED = Alternatives("DiscoveredDevice", "Device of a user, or of the meter network.", (DEVICE, NetworkDevice))
