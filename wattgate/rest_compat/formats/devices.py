"""The device management system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import format_iso, to_ms
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult


def _device_json(device: dict[str, Any], protocol: Any) -> dict[str, Any]:
    """A device with the hardware ids that it has, and the sensors whose resource is known."""
    ids = {name: value for name, value in device["hardwareIds"].items() if value is not None}
    sensors = [
        {"protocolId": one.protocol_id, "resourceTypeId": one.resource_type_id, "resourceId": one.resource_id}
        for one in protocol.sensors
        if one.resource_id is not None
    ]
    return {
        **device,
        "hardwareIds": ids,
        "hardwareIdNames": list(ids),
        "protocol": {"protocol": protocol.protocol, "sensors": sensors},
    }


def _devices_body(answer: RestResult) -> list[dict[str, Any]]:
    return [_device_json(*pair) for pair in zip(answer.rendered, answer.edges["protocol"], strict=True)]


def _device_body(answer: RestResult) -> dict[str, Any]:
    return _device_json(answer.rendered, answer.edges["protocol"][0])


def _status_body(answer: RestResult) -> dict[str, Any]:
    """Whether packets come; `value` is the last one's time in epoch seconds."""
    (status,) = answer.edges["status"]
    last = status.last_packet_at
    return {
        "found": status.found,
        "deviceId": status.device_id,
        "hardwareId": status.hardware_id,
        "value": last and to_ms(last) // 1000,
        "status": status.status.value,
        "expectedEvery": status.expected_every,
    }


def _parse_tags(exchange: LegacyRequest) -> RawArguments:
    return RawArguments({"hardwareId": exchange.query["tags"]} if "tags" in exchange.query else {})


def _inventory_body(answer: RestResult) -> dict[str, Any]:
    return {
        "valid": answer.result.valid,
        "inventory": [
            {
                "DateCommissioned": one.commissioned_at and format_iso(one.commissioned_at),
                "DeviceFirmwareVersion": one.firmware_version,
                "DeviceManufacturer": one.manufacturer,
                "DeviceModel": one.model,
                "DeviceType": one.device_type,
                "DeviceStatus": one.status,
                "EUI": one.eui,
                "ImportMPxN": one.mpxn,
                "SmetsVersion": one.smets_version,
            }
            for one in answer.result.inventory
        ],
    }


def _meter_point_resources_body(answer: RestResult) -> dict[str, Any]:
    names = ("resourceId", "resourceTypeId", "classifier")
    return {
        **answer.rendered,
        "resources": [{name: one[name] for name in names} for one in answer.rendered["resources"]],
    }


DEVICE_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /device": LegacyFormat(render_body=_devices_body),
    "GET /device/{deviceId}": LegacyFormat(render_body=_device_body),
    "GET /device/resource/{resourceId}": LegacyFormat(render_body=_device_body),
    "GET /discover/{hardwareId}": LegacyFormat(render_body=_device_body),
    "POST /device": LegacyFormat(
        render_body=lambda answer: {"status": "OK", "valid": True, "deviceId": answer.result.device_id}
    ),
    "GET /device/{deviceId}/status": LegacyFormat(render_body=_status_body),
    "GET /device/status": LegacyFormat(
        parse_arguments=_parse_tags, request_paths={("hardwareId",): ("tags",)}, render_body=_status_body
    ),
    "GET /device/meter-point/{meterPointNumber}/inventory": LegacyFormat(render_body=_inventory_body),
    "GET /device/smart-meter/{eui}/inventory": LegacyFormat(render_body=_inventory_body),
    "GET /device/meter-point/{meterPointNumber}/resources": LegacyFormat(render_body=_meter_point_resources_body),
}
