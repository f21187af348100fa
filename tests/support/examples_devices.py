"""Examples for devices, eligibility and resources, with their legacy REST formats."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

from tests.support import people
from tests.support.example import NOTHING, Example, by_id, fixed, pence_of
from tests.support.house import Tenant
from tests.support.metering import Metered, add_device, metered
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.types.meters import devices as types


def at_meter_point(variables: Callable[[Metered], dict[str, Any]]) -> Example:
    async def example(tenant: Tenant) -> dict[str, Any]:
        return variables(await metered(tenant))

    return example


async def _hardware_id(tenant: Tenant) -> dict[str, Any]:
    device = await tenant.run("device", device_id=tenant.ids["device"])
    return {"hardwareId": device.hardware_id}


async def _claimed_device(tenant: Tenant) -> dict[str, Any]:
    hardware_id = uuid4().hex
    claim = await tenant.run("register_device_claim", input=types.NewDeviceClaim(hardware_id=hardware_id))
    device = {
        "deviceTypeId": tenant.ids["device_type"],
        "hardwareId": hardware_id,
        "hardwareIds": {"MAC": "70-b3-d5-12-34-56", "serialNumber": "17"},
        "claimCode": claim.code,
        "protocol": {"sensors": [{"protocolId": "ELEC", "resourceId": tenant.ids["resource"]}]},
    }
    return {"input": device}


async def _own_device(tenant: Tenant) -> dict[str, Any]:
    return {"deviceId": await add_device(tenant, await tenant.add_resource())}


async def _changed_device(tenant: Tenant) -> dict[str, Any]:
    sensors = [{"protocolId": "ELEC", "resourceId": tenant.ids["resource"]}]
    change = {"description": "In the hall", "hardwareIds": {"serialNumber": "18"}, "protocol": {"sensors": sensors}}
    return {**await _own_device(tenant), "input": change}


async def _moved_device(tenant: Tenant) -> dict[str, Any]:
    return {**await _own_device(tenant), "userId": (await people.active(tenant))["userId"]}


async def _caught_up(tenant: Tenant) -> dict[str, Any]:
    return {"resourceId": await tenant.add_resource()}


EXAMPLES: dict[str, Example] = {
    "device_types": NOTHING,
    "device_type": by_id("device_type", "deviceTypeId"),
    "add_device_type": fixed(
        lambda tenant: {
            "input": {
                "description": "Glow Stick",
                "protocol": {
                    "protocol": "MQTT",
                    "sensors": [{"protocolId": "ELEC", "resourceTypeId": tenant.ids["resource_type"]}],
                },
            }
        }
    ),
    "devices": NOTHING,
    "device": by_id("device", "deviceId"),
    "discover": _hardware_id,
    "discover_hardware": _hardware_id,
    "resource_device": by_id("resource", "resourceId"),
    "add_device": _claimed_device,
    "update_device": _changed_device,
    "deactivate_device": _own_device,
    "move_device": _moved_device,
    "register_device_claim": fixed(lambda tenant: {"input": {"hardwareId": uuid4().hex}}),
    "meter_point_inventory": at_meter_point(lambda item: {"mpxn": item.mpxn}),
    "smart_meter_inventory": at_meter_point(lambda item: {"eui": item.eui}),
    "meter_point_resources": at_meter_point(lambda item: {"mpxn": item.mpxn}),
    "has_consumer_device": at_meter_point(lambda item: {"mpxn": item.mpxn}),
    "display_at_postcode": at_meter_point(lambda item: {"postcode": "ls6 3qt", "eui": item.eui}),
    "display_at_meter_point": at_meter_point(lambda item: {"mpxn": item.mpxn, "eui": item.eui}),
    "meter_point_eligible": at_meter_point(lambda item: {"mpxn": item.mpxn}),
    "resource_counts": NOTHING,
    "resource_type_resources": by_id("resource_type", "resourceTypeId"),
    "resource_type_application_resources": by_id("resource_type", "resourceTypeId"),
    "raw_readings": by_id("resource", "resourceId"),
    "meter_read": at_meter_point(lambda item: {"resourceId": item.resource_id}),
    "catch_up": _caught_up,
}


def _epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _device(result: dict[str, Any]) -> dict[str, Any]:
    ids = {name: value for name, value in result["hardwareIds"].items() if value}
    protocol = result["protocol"]
    sensors = [sensor for sensor in protocol["sensors"] if sensor["resourceId"] is not None]
    return {**result, "hardwareIds": ids, "hardwareIdNames": list(ids), "protocol": {**protocol, "sensors": sensors}}


def _status(result: dict[str, Any]) -> dict[str, Any]:
    status = result["status"]
    value = status["lastPacketAt"] and _epoch(status["lastPacketAt"])
    return {
        **{name: status[name] for name in ("found", "deviceId", "hardwareId", "status", "expectedEvery")},
        "value": value,
    }


def _inventory(result: dict[str, Any]) -> dict[str, Any]:
    names = {
        "DateCommissioned": "commissionedAt",
        "DeviceFirmwareVersion": "firmwareVersion",
        "DeviceManufacturer": "manufacturer",
        "DeviceModel": "model",
        "DeviceType": "deviceType",
        "DeviceStatus": "status",
        "EUI": "eui",
        "ImportMPxN": "mpxn",
        "SmetsVersion": "smetsVersion",
    }
    return {
        "valid": True,
        "inventory": [{theirs: item[ours] for theirs, ours in names.items()} for item in result["inventory"]],
    }


def _meter_point_resources(result: dict[str, Any]) -> dict[str, Any]:
    names = ("resourceId", "resourceTypeId", "classifier")
    return {**result, "resources": [{name: item[name] for name in names} for item in result["resources"]]}


def _envelope(resource: dict[str, Any], data: Any, units: str | None = None) -> dict[str, Any]:
    members = {name: resource[name] for name in ("name", "resourceTypeId", "resourceId", "classifier")}
    return {"status": "OK", "query": {}, "units": units or resource["baseUnit"], "data": data, **members}


def _tariff_list(result: dict[str, Any]) -> dict[str, Any]:
    tariffs = [
        {
            "id": item["tariffId"],
            "name": item["name"],
            "displayName": item["name"],
            "from": "2024-01-01 00:00:00",
            "effectiveDate": "2024-01-01 00:00:00",
            "plan": [
                {"planDetail": [{"rate": pence_of(item["rate"])}, {"standing": pence_of(item["standingCharge"])}]}
            ],
        }
        for item in result["tariffs"]
    ]
    return _envelope(result, tariffs)


def _catch_up(result: dict[str, Any]) -> dict[str, Any]:
    catch_up = result["catchUp"]
    data = {"valid": True, "status": "started", "catchUpId": catch_up["catchUpId"], "state": catch_up["state"]}
    return _envelope(result["resource"], data)


def _columns(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "timestamp": result["at"],
        "value": result["value"],
        "field": [result["field"]] * len(result["at"]),
        "quality": result["quality"],
    }


REST_ARGUMENTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "GET /device/status": lambda arguments: {"tags": arguments["hardwareId"]},
}
REST_RESULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "GET /device": lambda result: [_device(item) for item in result],  # type: ignore[arg-type]
    "GET /device/{deviceId}": _device,
    "GET /device/resource/{resourceId}": _device,
    "PUT /device/{deviceId}": _device,
    "DELETE /device/{deviceId}": _device,
    "PUT /device/{deviceId}/owner": _device,
    "GET /discover/{hardwareId}": lambda result: _device({**result["device"], "protocol": result["protocol"]}),
    "POST /device": lambda result: {"status": "OK", "valid": True, "deviceId": result["deviceId"]},
    "GET /device/{deviceId}/status": _status,
    "GET /device/status": _status,
    "GET /device/meter-point/{meterPointNumber}/inventory": _inventory,
    "GET /device/smart-meter/{eui}/inventory": _inventory,
    "GET /device/meter-point/{meterPointNumber}/resources": _meter_point_resources,
    "GET /resource/{resourceId}/tariff-list": _tariff_list,
    "GET /resource/{resourceId}/meterread": lambda result: _envelope(
        result["resource"], [[_epoch(result["at"]), result["value"]]], result["unit"]
    ),
    "GET /resource/{resourceId}/catchup": _catch_up,
    f"GET /resource/{{resourceId}}/readings {ARROW}": _columns,
    f"GET /resource/{{resourceId}}/platformbinary {ARROW}": _columns,
    f"GET /resource/{{resourceId}}/glowbinary {ARROW}": _columns,
}
