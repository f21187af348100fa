"""Legacy formats of devices, their status and meter inventories."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import format_iso, to_ms
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.types.consent.consent_results import mpxn_key_for
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire import devices as wire
from wattgate.rest_compat.wire.shapes import ListOf


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


DEVICE_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /device": LegacyFormat(
        render_body=_devices_body, response=ListOf(wire.DEVICE), response_example=[wire.DEVICE_EXAMPLE]
    ),
    "GET /device/{deviceId}": LegacyFormat(
        render_body=_device_body, response=wire.DEVICE, response_example=wire.DEVICE_EXAMPLE
    ),
    "GET /device/resource/{resourceId}": LegacyFormat(
        render_body=_device_body, response=wire.DEVICE, response_example=wire.DEVICE_EXAMPLE
    ),
    "PUT /device/{deviceId}": LegacyFormat(
        render_body=_device_body, response=wire.DEVICE, response_example=wire.DEVICE_EXAMPLE
    ),
    "DELETE /device/{deviceId}": LegacyFormat(
        render_body=_device_body, response=wire.DEVICE, response_example=wire.DEVICE_EXAMPLE
    ),
    "PUT /device/{deviceId}/owner": LegacyFormat(
        render_body=_device_body, response=wire.DEVICE, response_example=wire.DEVICE_EXAMPLE
    ),
    "GET /discover/{hardwareId}": LegacyFormat(
        render_body=_discovered_body, response=wire.DISCOVERED, response_example=wire.DEVICE_EXAMPLE
    ),
    "POST /device": LegacyFormat(
        render_body=lambda result: {"status": "OK", "valid": True, "deviceId": result.result.device_id},
        response=wire.AddedDevice,
        response_example=wire.ADDED_DEVICE_EXAMPLE,
    ),
    "GET /device/{deviceId}/status": LegacyFormat(
        render_body=_status_body, response=wire.DeviceState, response_example=wire.DEVICE_STATE_EXAMPLE
    ),
    "GET /device/status": LegacyFormat(
        parse_arguments=_parse_tags,
        request_paths={("hardwareId",): ("tags",)},
        render_body=_status_body,
        query=wire.DeviceQuery,
        response=wire.DeviceState,
        response_example=wire.DEVICE_STATE_EXAMPLE,
    ),
    "GET /device/meter-point/{meterPointNumber}/inventory": LegacyFormat(
        render_body=_inventory_body, response=wire.Inventory, response_example=wire.INVENTORY_EXAMPLE
    ),
    "GET /device/smart-meter/{eui}/inventory": LegacyFormat(
        render_body=_inventory_body, response=wire.Inventory, response_example=wire.INVENTORY_EXAMPLE
    ),
    "GET /device/meter-point/{meterPointNumber}/resources": LegacyFormat(
        render_body=_meter_point_resources_body,
        response=wire.LegacyMeterPointResources,
        response_example=wire.METER_POINT_RESOURCES_EXAMPLE,
    ),
}
