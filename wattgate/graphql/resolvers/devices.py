"""Devices that send readings to the gateway, and devices in the inventory of the meter network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.meter_network import MeterNetworkDevice
from wattgate.db.queries import devices as queries
from wattgate.db.rows import Rows
from wattgate.energy import meter_points
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.acting_user import require_user_id
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.resolvers.meter_points import parse_path_meter_point, resources_at
from wattgate.graphql.types import devices as types
from wattgate.graphql.types import meter_points as meter_point_types
from wattgate.graphql.types import resources as resource_types
from wattgate.principal import AuthScheme, Permission


@dataclass(frozen=True, slots=True)
class MeterPointResourcesResult:
    valid: bool
    mpxn: str
    resources: list[models.Resource]


@operation(
    OperationKind.QUERY,
    returns=list[resource_types.Device],
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/device", edges=("protocol",)),
)
async def devices(call: Call, *, tags: str | None = None) -> list[models.Device]:
    """List the active devices that the caller may see, oldest first."""
    where = [] if tags is None else [col(models.Device.hardware_key) == meter_points.normalize_hardware_id(tags)]
    return await call.rows.all(
        models.Device,
        col(models.Device.active).is_(True),
        *where,
        order_by=[models.Device.created_at, models.Device.device_id],
    )


@operation(
    OperationKind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=(
        RestRoute("GET", "/device/{deviceId}", edges=("protocol",)),
        RestRoute("GET", "/device/{deviceId}/status", edges=("status",)),
    ),
)
async def device(call: Call, *, device_id: strawberry.ID) -> models.Device:
    """Return the device with this ID."""
    return await load_device(call.rows, device_id)


@operation(
    OperationKind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=(
        RestRoute("GET", "/discover/{hardwareId}", edges=("protocol",)),
        RestRoute("GET", "/device/status", edges=("status",)),
    ),
)
async def discover(call: Call, *, hardware_id: str) -> models.Device:
    """Return the active device with this hardware ID."""
    return await load_device_by_hardware_id(call.rows, hardware_id)


@operation(
    OperationKind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/device/resource/{resourceId}", edges=("protocol",)),
)
async def resource_device(call: Call, *, resource_id: strawberry.ID) -> models.Device:
    """Return the device that supplies a resource with readings."""
    return await load_device_of_resource(call.rows, resource_id)


@operation(
    OperationKind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_WRITE,
    rest=RestRoute("POST", "/device", acknowledged_fields=("deviceId",)),
)
async def add_device(call: Call, *, input: types.NewDevice) -> models.Device:
    """Add a device for the acting user. Its sensors supply the user's resources with readings."""
    owner_id = require_user_id(call)
    device_type = (await call.rows.get_many(models.DeviceType, [input.device_type_id])).get(input.device_type_id)
    if device_type is None:
        problem = Problem(("input", "deviceTypeId"), "deviceType does not exist")
        raise BadInput(f"Unknown device type {input.device_type_id!r}. See `problems`.", problems=[problem])
    owned = await call.rows.all(
        models.Resource, col(models.Resource.owner_id) == owner_id, col(models.Resource.active).is_(True)
    )
    sensors = (
        _explicit_sensors(input.protocol, owned) if input.protocol else _default_sensors(device_type, input, owned)
    )
    added = await call.rows.add(_build_device(owner_id, device_type, input))
    for protocol_id, (resource_type_id, resource_id) in sensors.items():
        await call.rows.add(
            models.DeviceSensor(
                device_id=added.device_id,
                protocol_id=protocol_id,
                resource_type_id=resource_type_id,
                resource_id=resource_id,
            )
        )
    return added


@operation(
    OperationKind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=RestRoute("GET", "/device/meter-point/{meterPointNumber}/inventory", scheme=AuthScheme.BASIC),
)
async def meter_point_inventory(call: Call, *, meter_point_number: strawberry.ID) -> types.Inventory:
    """Return the devices that the meter network has at a meter point."""
    number = parse_path_meter_point(meter_point_number)
    point = await call.network.meter_point(number)
    devices = await call.network.devices_at(number)
    if point is None and not devices:
        raise NotFound(f"The meter network has no meter point with number {meter_point_number}.")
    version = point.smets_version if point else ""
    return types.Inventory(valid=True, inventory=[_build_inventory_device(device, version) for device in devices])


@operation(
    OperationKind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=RestRoute("GET", "/device/smart-meter/{eui}/inventory", scheme=AuthScheme.BASIC),
)
async def smart_meter_inventory(call: Call, *, eui: strawberry.ID) -> types.Inventory:
    """Return the device that the meter network has with this EUI."""
    number = meter_points.parse_eui(eui)
    device = await call.network.device(number) if number else None
    if device is None:
        raise NotFound(f"The meter network has no device with EUI {eui}.")
    point = await call.network.meter_point(device.mpxn)
    entry = _build_inventory_device(device, point.smets_version if point else "")
    return types.Inventory(valid=True, inventory=[entry])


@operation(
    OperationKind.QUERY,
    returns=meter_point_types.MeterPointResources,
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/device/meter-point/{meterPointNumber}/resources"),
)
async def meter_point_resources(call: Call, *, meter_point_number: strawberry.ID) -> MeterPointResourcesResult:
    """Return the active resources at a meter point that the caller may see."""
    resources = await resources_at(call, parse_path_meter_point(meter_point_number))
    if not resources:
        raise NotFound(f"No resources at meter point {meter_point_number}.")
    return MeterPointResourcesResult(True, str(meter_point_number), resources)


async def load_device(rows: Rows, device_id: str) -> models.Device:
    """Return the device with this id. Raise NotFound unless the caller may see it."""
    return await rows.get(models.Device, device_id)


async def load_device_by_hardware_id(rows: Rows, hardware_id: str) -> models.Device:
    """Return the active device with this hardware id, in any spelling. Raise NotFound if there is none."""
    key = meter_points.normalize_hardware_id(hardware_id)
    device = await rows.first(
        models.Device, col(models.Device.hardware_key) == key, col(models.Device.active).is_(True)
    )
    if device is None:
        raise NotFound(f"No device with hardware id {hardware_id}.")
    return device


async def load_device_of_resource(rows: Rows, resource_id: str) -> models.Device:
    """Return the device that feeds a resource. Raise NotFound if none does or the caller may not see the resource."""
    (device,) = await queries.devices_of_resources(rows, [await rows.get(models.Resource, resource_id)])
    if device is None:
        raise NotFound(f"No device feeds resource {resource_id}.")
    return device


SensorAssignments = Mapping[str, tuple[str, str | None]]
"""Sensors by protocol id: the resource type that each measures, and the resource that it feeds, if any."""


def _explicit_sensors(protocol: types.NewDeviceProtocol, owned: Sequence[models.Resource]) -> SensorAssignments:
    """Return the sensors of the input. Raise BadInput if one feeds no resource of the user or repeats a protocol id."""
    known = {resource.resource_id: resource for resource in owned}
    sensors: dict[str, tuple[str, str | None]] = {}
    problems = []
    for position, sensor in enumerate(protocol.sensors):
        path = ("input", "protocol", "sensors", position)
        if sensor.resource_id not in known:
            problems.append(Problem((*path, "resourceId"), f"{sensor.resource_id} does not exist"))
        elif sensor.protocol_id in sensors:
            problems.append(Problem((*path, "protocolId"), f"{sensor.protocol_id} occurs twice"))
        else:
            sensors[sensor.protocol_id] = (known[sensor.resource_id].resource_type_id, sensor.resource_id)
    if problems:
        raise BadInput("Invalid sensors. See `problems`.", problems=problems)
    return sensors


def _default_sensors(
    device_type: models.DeviceType, input: types.NewDevice, owned: Sequence[models.Resource]
) -> SensorAssignments:
    """Return the sensors of the device type. Each feeds the user's resource of its type if there is exactly one.

    If the input names meter points, only resources at these count.
    """
    texts = (input.hardware_ids.mpan, input.hardware_ids.mprn)
    numbers = {meter_points.parse_meter_point_number(text) for text in texts if text}
    sensors: dict[str, tuple[str, str | None]] = {}
    for sensor in device_type.protocol.sensors:
        candidates = [
            resource.resource_id
            for resource in owned
            if resource.resource_type_id == sensor.resource_type_id
            and (not numbers or meter_points.parse_meter_point_number(resource.mpxn or "") in numbers)
        ]
        sensors[sensor.protocol_id] = (sensor.resource_type_id, candidates[0] if len(candidates) == 1 else None)
    return sensors


def _build_device(owner_id: str, device_type: models.DeviceType, input: types.NewDevice) -> models.Device:
    return models.Device(
        owner_id=owner_id,
        device_type_id=device_type.device_type_id,
        description=input.description,
        hardware_id=input.hardware_id,
        hardware_key=meter_points.normalize_hardware_id(input.hardware_id),
        hardware_ids=msgspec.convert(input.hardware_ids, models.HardwareIds, from_attributes=True),
        parent_hardware_id=input.parent_hardware_id,
        tags=[input.hardware_id],
        protocol_name=(input.protocol and input.protocol.protocol) or device_type.protocol.protocol,
    )


def _build_inventory_device(device: MeterNetworkDevice, smets_version: str) -> types.InventoryDevice:
    return types.InventoryDevice(**msgspec.structs.asdict(device), smets_version=smets_version)
