"""Gateway devices, and what the meter network has of devices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.meter_network import InventoryDevice
from wattgate.db.queries import devices as queries
from wattgate.energy import meter_points
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.resolvers.meter_points import number_in_path, resources_at
from wattgate.graphql.types import devices as types
from wattgate.graphql.types import resources as resource_types
from wattgate.principal import Permission, Scheme


@dataclass(frozen=True, slots=True)
class Known:
    """A device of the network's inventory, with what its meter point adds."""

    eui: str
    mpxn: str
    device_type: str
    manufacturer: str
    model: str
    firmware_version: str
    status: str
    commissioned_at: datetime | None
    smets_version: str


@dataclass(frozen=True, slots=True)
class Inventory:
    valid: bool
    inventory: list[Known]


@dataclass(frozen=True, slots=True)
class MeterPointResources:
    valid: bool
    mpxn: str
    resources: list[models.Resource]


@operation(
    Kind.QUERY,
    returns=list[resource_types.Device],
    needs=Permission.DEVICE_READ,
    rest=Rest("GET", "/device", edges=("protocol",)),
)
async def devices(call: Call, *, tags: str | None = None) -> list[models.Device]:
    """The active devices of the application, or the user's own; with `tags` the one of that hardware id."""
    where = [] if tags is None else [col(models.Device.hardware_key) == meter_points.hardware_key(tags)]
    return await call.rows.all(
        models.Device, col(models.Device.active).is_(True), *where, order_by=[models.Device.created_at]
    )


@operation(
    Kind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=(
        Rest("GET", "/device/{deviceId}", edges=("protocol",)),
        Rest("GET", "/device/{deviceId}/status", edges=("status",)),
    ),
)
async def device(call: Call, *, device_id: strawberry.ID) -> models.Device:
    """The device with this id."""
    return await call.rows.get(models.Device, device_id)


@operation(
    Kind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=(
        Rest("GET", "/discover/{hardwareId}", edges=("protocol",)),
        Rest("GET", "/device/status", edges=("status",)),
    ),
)
async def discover(call: Call, *, hardware_id: str) -> models.Device:
    """The active device with this hardware id, with or without separators and in any case."""
    key = meter_points.hardware_key(hardware_id)
    found = await call.rows.first(
        models.Device, col(models.Device.hardware_key) == key, col(models.Device.active).is_(True)
    )
    if found is None:
        raise NotFound(f"no device with hardware id {hardware_id}")
    return found


@operation(
    Kind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=Rest("GET", "/device/resource/{resourceId}", edges=("protocol",)),
)
async def resource_device(call: Call, *, resource_id: strawberry.ID) -> models.Device:
    """The device that sources a resource."""
    (found,) = await queries.of_resources(call.rows, [await call.rows.get(models.Resource, resource_id)])
    if found is None:
        raise NotFound(f"no device sources resource {resource_id}")
    return found


@operation(
    Kind.MUTATION,
    returns=resource_types.Device,
    needs=Permission.DEVICE_WRITE,
    rest=Rest("POST", "/device", acknowledges=("deviceId",)),
)
async def add_device(call: Call, *, input: types.NewDevice) -> models.Device:
    """Add a device for the user; its sensors feed resources of theirs."""
    owner_id = owner_of(call)
    kind = (await call.rows.many(models.DeviceType, [input.device_type_id])).get(input.device_type_id)
    if kind is None:
        problem = Problem(("input", "deviceTypeId"), "deviceType does not exist")
        raise BadInput("the device type does not exist", problems=[problem])
    owned = await call.rows.all(
        models.Resource, col(models.Resource.owner_id) == owner_id, col(models.Resource.active).is_(True)
    )
    sensors = _given_sensors(input.protocol, owned) if input.protocol else _likely_sensors(kind, input, owned)
    added = await call.rows.add(_device(owner_id, kind, input))
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
    Kind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=Rest("GET", "/device/meter-point/{meterPointNumber}/inventory", scheme=Scheme.BASIC),
)
async def meter_point_inventory(call: Call, *, meter_point_number: strawberry.ID) -> Inventory:
    """The devices that the meter network has at a meter point."""
    number = number_in_path(meter_point_number)
    point = await call.network.meter_point(number)
    found = await call.network.devices_at(number)
    if point is None and not found:
        raise NotFound(f"the network has no meter point with number {meter_point_number}")
    version = point.smets_version if point else ""
    return Inventory(True, [_known(one, version) for one in found])


@operation(
    Kind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=Rest("GET", "/device/smart-meter/{eui}/inventory", scheme=Scheme.BASIC),
)
async def smart_meter_inventory(call: Call, *, eui: strawberry.ID) -> Inventory:
    """The device that the meter network has with this EUI."""
    number = meter_points.eui(eui)
    found = await call.network.device(number) if number else None
    if found is None:
        raise NotFound(f"the network has no device with EUI {eui}")
    point = await call.network.meter_point(found.mpxn)
    return Inventory(True, [_known(found, point.smets_version if point else "")])


@operation(
    Kind.QUERY,
    returns=resource_types.MeterPointResources,
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/device/meter-point/{meterPointNumber}/resources"),
)
async def meter_point_resources(call: Call, *, meter_point_number: strawberry.ID) -> MeterPointResources:
    """The caller's active resources that are measured at a meter point."""
    found = await resources_at(call, number_in_path(meter_point_number))
    if not found:
        raise NotFound(f"no resources at a meter point with number {meter_point_number}")
    return MeterPointResources(True, str(meter_point_number), found)


Sensors = Mapping[str, tuple[str, str | None]]
"""By protocol id: the resource type that a sensor measures, and the resource that it feeds."""


def _given_sensors(protocol: types.NewDeviceProtocol, owned: Sequence[models.Resource]) -> Sensors:
    """The sensors as they are given. BadInput where one feeds no resource of the user, or has the id of another."""
    known = {resource.resource_id: resource for resource in owned}
    sensors: dict[str, tuple[str, str | None]] = {}
    problems = []
    for position, sensor in enumerate(protocol.sensors):
        path = ("input", "protocol", "sensors", position)
        if sensor.resource_id not in known:
            problems.append(Problem((*path, "resourceId"), f"{sensor.resource_id} does not exist"))
        elif sensor.protocol_id in sensors:
            problems.append(Problem((*path, "protocolId"), f"{sensor.protocol_id} stands there twice"))
        else:
            sensors[sensor.protocol_id] = (known[sensor.resource_id].resource_type_id, sensor.resource_id)
    if problems:
        raise BadInput("the device's sensors cannot be so", problems=problems)
    return sensors


def _likely_sensors(kind: models.DeviceType, input: types.NewDevice, owned: Sequence[models.Resource]) -> Sensors:
    """The type's sensors, each with the user's resource of its type, where there is exactly one."""
    given = (input.hardware_ids.mpan, input.hardware_ids.mprn)
    numbers = {meter_points.meter_point_number(text) for text in given if text}
    sensors: dict[str, tuple[str, str | None]] = {}
    for sensor in kind.protocol.sensors:
        likely = [
            resource.resource_id
            for resource in owned
            if resource.resource_type_id == sensor.resource_type_id
            and (not numbers or meter_points.meter_point_number(resource.mpxn or "") in numbers)
        ]
        sensors[sensor.protocol_id] = (sensor.resource_type_id, likely[0] if len(likely) == 1 else None)
    return sensors


def _device(owner_id: str, kind: models.DeviceType, input: types.NewDevice) -> models.Device:
    return models.Device(
        owner_id=owner_id,
        device_type_id=kind.device_type_id,
        description=input.description,
        hardware_id=input.hardware_id,
        hardware_key=meter_points.hardware_key(input.hardware_id),
        hardware_ids=msgspec.convert(input.hardware_ids, models.HardwareIds, from_attributes=True),
        parent_hardware_id=input.parent_hardware_id,
        tags=[input.hardware_id],
        protocol_name=(input.protocol and input.protocol.protocol) or kind.protocol.protocol,
    )


def _known(device: InventoryDevice, smets_version: str) -> Known:
    return Known(**msgspec.structs.asdict(device), smets_version=smets_version)
