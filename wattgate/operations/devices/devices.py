"""Devices that send readings to the gateway, and devices in the inventory of the meter network."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

import msgspec
from sqlmodel import SQLModel, col

from wattgate.db import models
from wattgate.db.meter_network import MeterNetworkDevice, RegistryMeterNetwork
from wattgate.db.queries import devices as queries
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.energy.meters import meter_points
from wattgate.errors import ConsentRevoked, NotFound, NotSupported
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, Unaudited, operation
from wattgate.operations.devices.device_records import find_by_any_id
from wattgate.operations.devices.meter_points import (
    find_inventory_error,
    parse_path_meter_point,
    require_inventory_access,
    resources_at,
)
from wattgate.operations.types.homes import meter_points as meter_point_types
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.meters import devices as types
from wattgate.operations.types.meters import readings as freshness_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import (
    FRESHNESS_WEIGHT,
    STATEMENT_WEIGHT,
    ListSize,
    list_length,
    per_item,
)
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime.subscriptions.freshness_reducers import DeviceStatesReducer, topics_of_devices
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource
from wattgate.values import terms
from wattgate.values.annotations import Described


@dataclass(frozen=True, slots=True)
class MeterPointResourcesResult:
    valid: bool
    mpxn: str
    resources: list[models.Resource]


@dataclass(frozen=True, slots=True)
class DiscoveredHardwareResult:
    hardware_id: str
    device: models.Device | None
    network_device: types.InventoryDevice | None


@operation(
    OperationKind.QUERY,
    returns=list[resource_types.Device],
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/device", Tag.DEVICES, edges=("protocol",)),
    in_graphql=("viewer", "devices"),
)
async def devices(
    call: Call,
    *,
    tags: Annotated[
        terms.Text200,
        Described(
            "Return only devices with this hardware ID, MAC address, EUI or serial number, in any case and with "
            "or without separators. Default: all devices."
        ),
    ]
    | None = None,
) -> list[models.Device]:
    """List the active devices that the caller may see, oldest first."""
    where = [] if tags is None else [queries.has_any_id(tags)]
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
        RestRoute("GET", "/device/{deviceId}", Tag.DEVICES, edges=("protocol",)),
        RestRoute("GET", "/device/{deviceId}/status", Tag.DEVICES, edges=("status",)),
    ),
    raises=(ConsentRevoked,),
)
async def device(call: Call, *, device_id: ids.DeviceId) -> models.Device:
    """Return the device with this ID."""
    return await load_device(call.rows, device_id)


@operation(
    OperationKind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/device/status", Tag.DEVICES, edges=("status",)),
    raises=(ConsentRevoked, NotFound),
    in_graphql=("findDevice",),
)
async def discover(call: Call, *, hardware_id: terms.AnyHardwareId) -> models.Device:
    """Return the active device with this hardware ID, MAC address, EUI or serial number, in any spelling."""
    return await load_device_by_hardware_id(call.rows, hardware_id)


@operation(
    OperationKind.QUERY,
    returns=meter_point_types.DiscoveredHardware,
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/discover/{hardwareId}", Tag.DISCOVERY, edges=("protocol",)),
)
async def discover_hardware(call: Call, *, hardware_id: terms.AnyHardwareId) -> DiscoveredHardwareResult:
    """Find a device by hardware ID, MAC address, EUI or serial number, in any spelling.

    It is one that the caller may see, or one that the meter network lists at a meter point whose inventory the caller
    may read, or both. Without a valid consent, `networkDevice` is null.
    """
    device = await find_by_any_id(call.rows, hardware_id)
    listed = await _find_in_network(call, hardware_id)
    if device is None and listed is None:
        raise NotFound(f"No device with hardware id {hardware_id}.")
    return DiscoveredHardwareResult(hardware_id, device, listed)


@operation(
    OperationKind.QUERY,
    returns=resource_types.Device,
    needs=Permission.DEVICE_READ,
    rest=RestRoute("GET", "/device/resource/{resourceId}", Tag.DEVICES, edges=("protocol",)),
    in_graphql=("resource", "device"),
)
async def resource_device(call: Call, *, resource_id: ids.ResourceId) -> models.Device:
    """Return the device that supplies a resource with readings."""
    return await load_device_of_resource(call.rows, resource_id)


@operation(
    OperationKind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=RestRoute("GET", "/device/meter-point/{meterPointNumber}/inventory", Tag.DEVICES),
    raises=(ConsentRevoked,),
    rest_names={"mpxn": "meterPointNumber"},
)
async def meter_point_inventory(call: Call, *, mpxn: ids.Mpxn) -> types.Inventory:
    """Return the devices that the meter network has at a meter point.

    A user may read the meter points of own resources and consents, an application any. Without a valid consent, the
    error is CONSENT_REVOKED.
    """
    number = parse_path_meter_point(mpxn)
    not_found = NotFound(f"The meter network has no meter point with number {mpxn}.")
    await require_inventory_access(call, number, not_found)
    point = await call.network.meter_point(number)
    devices = await call.network.devices_at(number)
    if point is None and not devices:
        raise not_found
    version = point.smets_version if point else ""
    return types.Inventory(valid=True, inventory=[_build_inventory_device(device, version) for device in devices])


@operation(
    OperationKind.QUERY,
    returns=types.Inventory,
    needs=Permission.INVENTORY_READ,
    rest=RestRoute("GET", "/device/smart-meter/{eui}/inventory", Tag.DEVICES),
    raises=(ConsentRevoked,),
)
async def smart_meter_inventory(call: Call, *, eui: ids.Eui) -> types.Inventory:
    """Return the device that the meter network has with this EUI.

    The meter point of the device must be one that the caller may read, as in `meterPointInventory`.
    """
    number = meter_points.parse_eui(eui)
    not_found = NotFound(f"The meter network has no device with EUI {eui}.")
    device = await call.network.device(number) if number else None
    if device is None:
        raise not_found
    await require_inventory_access(call, device.mpxn, not_found)
    point = await call.network.meter_point(device.mpxn)
    entry = _build_inventory_device(device, point.smets_version if point else "")
    return types.Inventory(valid=True, inventory=[entry])


@operation(
    OperationKind.QUERY,
    returns=meter_point_types.MeterPointResources,
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/device/meter-point/{meterPointNumber}/resources", Tag.DEVICES),
    rest_names={"mpxn": "meterPointNumber"},
)
async def meter_point_resources(call: Call, *, mpxn: ids.Mpxn) -> MeterPointResourcesResult:
    """Return the active resources at a meter point that the caller may see."""
    resources = await resources_at(call, parse_path_meter_point(mpxn))
    if not resources:
        raise NotFound(f"No resources at meter point {mpxn}.")
    return MeterPointResourcesResult(True, str(mpxn), resources)


@operation(
    OperationKind.SUBSCRIPTION,
    returns=list[freshness_types.DeviceState],
    needs=Permission.DEVICE_READ,
    weight=per_item("deviceIds", weight=STATEMENT_WEIGHT, item_weight=FRESHNESS_WEIGHT, max_items=10_000),
    sizes=[ListSize(list_length("deviceIds"))],
)
async def device_states(
    call: Call, *, device_ids: Annotated[list[Id], Described("IDs of the devices to follow.")]
) -> SubscriptionSource:
    """Publish the state of these devices: immediately, and after each change.

    A state changes when a device sends a report about itself or becomes silent. Its freshness is null, with the error
    CONSENT_REVOKED, while the data of all its resources is withheld.
    """
    devices = await call.rows.require_many(models.Device, device_ids)
    return SubscriptionSource(await topics_of_devices(call.rows, devices), reducer=DeviceStatesReducer(device_ids))


async def load_device(rows: Rows, device_id: str) -> models.Device:
    """Return the device with this id. Raise NotFound unless the caller may see it."""
    return await rows.get(models.Device, device_id)


async def load_device_by_hardware_id(rows: Rows, hardware_id: str) -> models.Device:
    """Return the active device with this identifier, in any spelling. Raise NotFound if there is none."""
    device = await find_by_any_id(rows, hardware_id)
    if device is None:
        raise NotFound(f"No device with hardware id {hardware_id}.")
    return device


async def load_device_of_resource(rows: Rows, resource_id: str) -> models.Device:
    """Return the device that feeds a resource. Raise NotFound if none does or the caller may not see the resource."""
    (device,) = await queries.devices_of_resources(rows, [await rows.get(models.Resource, resource_id)])
    if device is None:
        raise NotFound(f"No device feeds resource {resource_id}.")
    return device


async def _find_in_network(call: Call, hardware_id: str) -> types.InventoryDevice | None:
    """Return the entry of a device in the network's inventory; None unless the caller may read the inventory."""
    eui = meter_points.parse_eui(hardware_id)
    device = await call.network.device(eui) if eui else None
    if device is None or await find_inventory_error(call, device.mpxn) is not None:
        return None
    point = await call.network.meter_point(device.mpxn)
    return _build_inventory_device(device, point.smets_version if point else "")


def _build_inventory_device(device: MeterNetworkDevice, smets_version: str) -> types.InventoryDevice:
    return types.InventoryDevice(**msgspec.structs.asdict(device), smets_version=smets_version)


@operation(
    OperationKind.MUTATION,
    returns=int,
    needs=Permission.SYSTEM,
    audit=Unaudited("The registry of the meter network belongs to no application."),
    system_access=SystemAccess.FILL_NETWORK_REGISTRY,
)
async def store_registry_records(call: Call, *, records: Collection[SQLModel]) -> int:
    """Insert records into the registry, or replace those with the same key. Return their number."""
    if not isinstance(call.network, RegistryMeterNetwork):
        raise NotSupported("The meter network is remote and keeps its own registry.")
    return await call.network.store(records)
