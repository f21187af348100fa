"""The device management system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import iso, to_ms
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange


def _device(told: dict[str, Any], protocol: Any) -> dict[str, Any]:
    """A device with the hardware ids that it has, and the sensors whose resource is known."""
    ids = {name: value for name, value in told["hardwareIds"].items() if value is not None}
    sensors = [
        {"protocolId": one.protocol_id, "resourceTypeId": one.resource_type_id, "resourceId": one.resource_id}
        for one in protocol.sensors
        if one.resource_id is not None
    ]
    return {
        **told,
        "hardwareIds": ids,
        "hardwareIdNames": list(ids),
        "protocol": {"protocol": protocol.protocol, "sensors": sensors},
    }


def _devices(answer: Answer) -> list[dict[str, Any]]:
    return [_device(*pair) for pair in zip(answer.told, answer.edges["protocol"], strict=True)]


def _one_device(answer: Answer) -> dict[str, Any]:
    return _device(answer.told, answer.edges["protocol"][0])


def _status(answer: Answer) -> dict[str, Any]:
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


def _by_tags(exchange: Exchange) -> RawArguments:
    return RawArguments({"hardwareId": exchange.query["tags"]} if "tags" in exchange.query else {})


def _inventory(answer: Answer) -> dict[str, Any]:
    return {
        "valid": answer.result.valid,
        "inventory": [
            {
                "DateCommissioned": one.commissioned_at and iso(one.commissioned_at),
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


def _meter_point_resources(answer: Answer) -> dict[str, Any]:
    names = ("resourceId", "resourceTypeId", "classifier")
    return {**answer.told, "resources": [{name: one[name] for name in names} for one in answer.told["resources"]]}


DEVICES: Mapping[str, Shape] = {
    "GET /device": Shape(body=_devices),
    "GET /device/{deviceId}": Shape(body=_one_device),
    "GET /device/resource/{resourceId}": Shape(body=_one_device),
    "GET /discover/{hardwareId}": Shape(body=_one_device),
    "POST /device": Shape(body=lambda answer: {"status": "OK", "valid": True, "deviceId": answer.result.device_id}),
    "GET /device/{deviceId}/status": Shape(body=_status),
    "GET /device/status": Shape(given=_by_tags, places={("hardwareId",): ("tags",)}, body=_status),
    "GET /device/meter-point/{meterPointNumber}/inventory": Shape(body=_inventory),
    "GET /device/smart-meter/{eui}/inventory": Shape(body=_inventory),
    "GET /device/meter-point/{meterPointNumber}/resources": Shape(body=_meter_point_resources),
}
