"""Legacy formats of devices, their status and meter inventories."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from wattgate.clock import format_iso, to_ms
from wattgate.enums import DeviceActivity
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.types.consent import mpxn_key_for
from wattgate.operations.types.homes.resources import Device
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire_shapes import (
    EXAMPLE_EPOCH,
    EXAMPLE_MPXN,
    EXAMPLE_TIME,
    EXAMPLE_UUID,
    Alternatives,
    EpochSeconds,
    Instant,
    ListOf,
    Ok,
    RecordShape,
    Uuid,
    Valid,
)
from wattgate.values.annotations import Described

# Types of devices, their status and meter inventories in legacy formats.


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


DEVICE_STATE_EXAMPLE = {
    "found": True,
    "deviceId": EXAMPLE_UUID,
    "hardwareId": "AABBCCDDEEFF",
    "value": EXAMPLE_EPOCH,
    "status": "LIVE",
    "expectedEvery": 60,
}


class AddedDevice(TypedDict):
    """Acknowledgement that a device is added."""

    status: Ok
    valid: Valid
    deviceId: Annotated[Uuid, Described("ID of the device.")]


ADDED_DEVICE_EXAMPLE: AddedDevice = {"status": "OK", "valid": True, "deviceId": EXAMPLE_UUID}


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


INVENTORY_EXAMPLE: Inventory = {
    "valid": True,
    "inventory": [
        {
            "DateCommissioned": EXAMPLE_TIME,
            "DeviceFirmwareVersion": "1.2",
            "DeviceManufacturer": "Example",
            "DeviceModel": "E1",
            "DeviceType": "ESME",
            "DeviceStatus": "Commissioned",
            "EUI": "70B3D50000000001",
            "ImportMPxN": EXAMPLE_MPXN,
            "SmetsVersion": "2",
        }
    ],
}


class NetworkDevice(TypedDict):
    """Device that the meter network lists and no user has added."""

    deviceId: Annotated[Uuid | None, Meta(description="Always null.")]
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


METER_POINT_RESOURCES_EXAMPLE: LegacyMeterPointResources = {
    "valid": True,
    "mpxn": EXAMPLE_MPXN,
    "resources": [
        {"resourceId": EXAMPLE_UUID, "resourceTypeId": EXAMPLE_UUID, "classifier": "electricity.consumption"}
    ],
}


DEVICE = RecordShape("DeviceWithProtocol", Device, DeviceMembers)
DEVICE_EXAMPLE = {
    "deviceId": EXAMPLE_UUID,
    "applicationId": EXAMPLE_UUID,
    "deviceTypeId": EXAMPLE_UUID,
    "ownerId": EXAMPLE_UUID,
    "description": "In-home display",
    "active": True,
    "hardwareId": "AABBCCDDEEFF",
    "hardwareIdNames": ["MAC"],
    "hardwareIds": {"MAC": "AABBCCDDEEFF"},
    "parentHardwareId": [],
    "tags": [],
    "proof": "APPLICATION",
    "protocol": {
        "protocol": "ZIGBEE",
        "sensors": [{"protocolId": "0702", "resourceTypeId": EXAMPLE_UUID, "resourceId": EXAMPLE_UUID}],
    },
    "createdAt": EXAMPLE_TIME,
    "updatedAt": EXAMPLE_TIME,
}
DISCOVERED = Alternatives("DiscoveredDevice", "Device of a user, or of the meter network.", (DEVICE, NetworkDevice))


# Legacy formats of devices, their status and meter inventories.


def _device_json(device: dict[str, Any], protocol: Any) -> dict[str, Any]:
    """Return a device without its null hardware IDs and without sensors that have no resource."""
    ids = {name: value for name, value in device["hardwareIds"].items() if value is not None}
    sensors = [
        {"protocolId": sensor.protocol_id, "resourceTypeId": sensor.resource_type_id, "resourceId": sensor.resource_id}
        for sensor in protocol.sensors
        if sensor.resource_id is not None
    ]
    return {
        **device,
        "hardwareIds": ids,
        "hardwareIdNames": list(ids),
        "protocol": {"protocol": protocol.protocol, "sensors": sensors},
    }


def _devices_body(result: RestResult) -> list[dict[str, Any]]:
    return [_device_json(*pair) for pair in zip(result.rendered, result.edges["protocol"], strict=True)]


def _device_body(result: RestResult) -> dict[str, Any]:
    return _device_json(result.rendered, result.edges["protocol"][0])


def _status_body(result: RestResult) -> dict[str, Any]:
    """Return the status of a device; `value` is the time of the last packet in epoch seconds."""
    (status,) = result.edges["status"]
    last = status.last_packet_at
    return {
        "found": status.found,
        "deviceId": status.device_id,
        "hardwareId": status.hardware_id,
        "value": last and to_ms(last) // 1000,
        "status": status.status.value,
        "expectedEvery": status.expected_every,
    }


def _parse_tags(request: LegacyRequest) -> RawArguments:
    return RawArguments({"hardwareId": request.query["tags"]} if "tags" in request.query else {})


def _discovered_body(result: RestResult) -> dict[str, Any]:
    """Return the device of a user, or the entry of the meter network, which has no device ID and no owner."""
    if result.result.device is not None:
        return _device_json(result.rendered["device"], result.edges["protocol"][0])
    listed = result.result.network_device
    ids = {"EUI": listed.eui, mpxn_key_for(listed.mpxn).name: listed.mpxn}
    return {
        "deviceId": None,
        "hardwareId": listed.eui,
        "hardwareIds": ids,
        "hardwareIdNames": list(ids),
        "inventory": _inventory_entry(listed),
    }


def _inventory_entry(device: Any) -> dict[str, Any]:
    return {
        "DateCommissioned": device.commissioned_at and format_iso(device.commissioned_at),
        "DeviceFirmwareVersion": device.firmware_version,
        "DeviceManufacturer": device.manufacturer,
        "DeviceModel": device.model,
        "DeviceType": device.device_type,
        "DeviceStatus": device.status,
        "EUI": device.eui,
        "ImportMPxN": device.mpxn,
        "SmetsVersion": device.smets_version,
    }


def _inventory_body(result: RestResult) -> dict[str, Any]:
    return {
        "valid": result.result.valid,
        "inventory": [_inventory_entry(device) for device in result.result.inventory],
    }


def _meter_point_resources_body(result: RestResult) -> dict[str, Any]:
    names = ("resourceId", "resourceTypeId", "classifier")
    return {
        **result.rendered,
        "resources": [{name: resource[name] for name in names} for resource in result.rendered["resources"]],
    }


_RETURNS_DEVICE = LegacyFormat(render_body=_device_body, response=DEVICE, response_example=DEVICE_EXAMPLE)
"""The format of the routes that return one device."""

_RETURNS_INVENTORY = LegacyFormat(render_body=_inventory_body, response=Inventory, response_example=INVENTORY_EXAMPLE)
"""The format of the routes that return the devices of a meter point."""

DEVICE_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /device": LegacyFormat(render_body=_devices_body, response=ListOf(DEVICE), response_example=[DEVICE_EXAMPLE]),
    "GET /device/{deviceId}": _RETURNS_DEVICE,
    "GET /device/resource/{resourceId}": _RETURNS_DEVICE,
    "PUT /device/{deviceId}": _RETURNS_DEVICE,
    "DELETE /device/{deviceId}": _RETURNS_DEVICE,
    "PUT /device/{deviceId}/owner": _RETURNS_DEVICE,
    "GET /discover/{hardwareId}": LegacyFormat(
        render_body=_discovered_body, response=DISCOVERED, response_example=DEVICE_EXAMPLE
    ),
    "POST /device": LegacyFormat(
        render_body=lambda result: {"status": "OK", "valid": True, "deviceId": result.result.device_id},
        response=AddedDevice,
        response_example=ADDED_DEVICE_EXAMPLE,
    ),
    "GET /device/{deviceId}/status": LegacyFormat(
        render_body=_status_body, response=DeviceState, response_example=DEVICE_STATE_EXAMPLE
    ),
    "GET /device/status": LegacyFormat(
        parse_arguments=_parse_tags,
        request_paths={("hardwareId",): ("tags",)},
        render_body=_status_body,
        query=DeviceQuery,
        response=DeviceState,
        response_example=DEVICE_STATE_EXAMPLE,
    ),
    "GET /device/meter-point/{meterPointNumber}/inventory": _RETURNS_INVENTORY,
    "GET /device/smart-meter/{eui}/inventory": _RETURNS_INVENTORY,
    "GET /device/meter-point/{meterPointNumber}/resources": LegacyFormat(
        render_body=_meter_point_resources_body,
        response=LegacyMeterPointResources,
        response_example=METER_POINT_RESOURCES_EXAMPLE,
    ),
}
