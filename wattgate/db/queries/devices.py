"""Batch loaders from and to devices: one result for each parent, with a fixed number of statements."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from sqlalchemy import ColumnElement, or_
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import CatchUp, Device, DeviceSensor, DeviceType, NetworkState, Resource
from wattgate.db.queries.consent import peek_consent, replace_withheld
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.freshness import is_collected_by_network
from wattgate.energy.meters import meter_points
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import DeviceActivity
from wattgate.errors import ConsentRevoked, GatewayError

LIVE_INTERVAL_MS = 60 * 1000
"""The expected interval between values without regular sampling. Displays send every 6 to 10 seconds."""

LIVE_INTERVALS, STALE_INTERVALS = 3, 48
"""A device is live for 3 of its expected send intervals, and stale for 48 of them. After that it is offline."""


class DeviceProtocol(msgspec.Struct, gc=False):
    """The protocol between a device and the platform, and the sensors of the device."""

    protocol: str
    sensors: list[DeviceSensor]


class DeviceStatus(msgspec.Struct, gc=False):
    """The activity of a device. `last_packet_at` is None before the first packet. `expected_every` is in seconds."""

    found: bool
    device_id: str
    hardware_id: str
    last_packet_at: datetime | None
    expected_every: int | None
    status: DeviceActivity


async def types(rows: Rows, devices: Sequence[Device]) -> list[DeviceType]:
    """Return the type of each device."""
    types_by_id = await rows.get_many(DeviceType, (device.device_type_id for device in devices))
    return [types_by_id[device.device_type_id] for device in devices]


async def protocols(rows: Rows, devices: Sequence[Device]) -> list[DeviceProtocol]:
    """Return the protocol of each device with its sensors, sorted by protocol id."""
    sensors = await _load_sensors(rows, devices)
    return [DeviceProtocol(device.protocol_name, sensors[device.device_id]) for device in devices]


async def resources(rows: Rows, devices: Sequence[Device]) -> list[list[Resource]]:
    """Return the active resources that the sensors of each device feed, sorted by name."""
    sensors = await _load_sensors(rows, devices)
    resources_by_id = await _load_resources(rows, sensors.values())
    return [
        sorted(
            (
                resources_by_id[sensor.resource_id]
                for sensor in sensors[device.device_id]
                if sensor.resource_id in resources_by_id
            ),
            key=lambda resource: (resource.name, resource.resource_id),
        )
        for device in devices
    ]


async def devices_of_resources(rows: Rows, resources: Sequence[Resource]) -> list[Device | None]:
    """Return the active device that feeds each resource, or None. Of several devices, return the oldest."""
    resource_ids = {resource.resource_id for resource in resources}
    sensors = await rows.all(DeviceSensor, col(DeviceSensor.resource_id).in_(resource_ids))
    devices = await rows.all(
        Device,
        col(Device.device_id).in_({sensor.device_id for sensor in sensors}),
        col(Device.active).is_(True),
        order_by=[Device.created_at, Device.device_id],
    )
    devices_by_resource = defaultdict(set)
    for sensor in sensors:
        devices_by_resource[sensor.resource_id].add(sensor.device_id)
    return [
        next((device for device in devices if device.device_id in devices_by_resource[resource.resource_id]), None)
        for resource in resources
    ]


class DeviceConsents(NamedTuple):
    """The consents to the live data of devices.

    `errors` has the error of each device whose resources are all withheld, by device id: nobody may see when it sends.
    `withheld` are the ids of all withheld resources. `valid_until` is when the first of the other consents expires.
    """

    errors: dict[str, ConsentRevoked]
    withheld: frozenset[str]
    valid_until: datetime | None


async def check_device_consents(
    rows: Rows, devices: Sequence[Device], fed: Sequence[Sequence[Resource]]
) -> DeviceConsents:
    """Check the consents to the data of the resources that each device feeds. Other devices need no consent."""
    check = await peek_consent(rows, [resource for resources in fed for resource in resources])
    errors = {
        device.device_id: check.errors[resources[0].resource_id]
        for device, resources in zip(devices, fed, strict=True)
        if resources and all(resource.resource_id in check.errors for resource in resources)
    }
    return DeviceConsents(errors, frozenset(check.errors), check.valid_until)


async def statuses(rows: Rows, devices: Sequence[Device]) -> list[DeviceStatus | GatewayError]:
    """Return the status of each device, from its newest live reading and its newest report about itself.

    Readings that the meter network collects do not count: they arrive from it, or from a file, without the device.
    Readings of withheld resources do not count either. The status is withheld if all resources of the device are.
    """
    consents = await check_device_consents(rows, devices, await resources(rows, devices))
    sensors = await _load_sensors(rows, devices)
    resources_by_id = {
        resource_id: resource
        for resource_id, resource in (await _load_resources(rows, sensors.values())).items()
        if resource_id not in consents.withheld
    }
    fields_by_id = {
        resource_id: [field for field in parse_fields(resource.storage) if not is_collected_by_network(field)]
        for resource_id, resource in resources_by_id.items()
    }
    keys = [
        series_key(resources_by_id[resource_id], field)
        for resource_id, fields in fields_by_id.items()
        for field in fields
    ]
    latest = await rows.readings.latest(keys, until=to_ms(rows.now))

    def status(device: Device) -> DeviceStatus:
        packets = [
            (stored.at, field.interval_ms or LIVE_INTERVAL_MS)
            for sensor in sensors[device.device_id]
            for field in fields_by_id.get(sensor.resource_id or "", ())
            if (stored := latest.get(series_key(resources_by_id[sensor.resource_id or ""], field)))
        ]
        if device.heard_at is not None:
            packets.append((to_ms(device.heard_at), LIVE_INTERVAL_MS))
        last_at = max((at for at, _ in packets), default=None)
        interval_ms = min((interval_ms for _, interval_ms in packets), default=None)
        return DeviceStatus(
            found=last_at is not None,
            device_id=device.device_id,
            hardware_id=device.hardware_id,
            last_packet_at=None if last_at is None else from_ms(last_at),
            expected_every=interval_ms and interval_ms // 1000,
            status=device_activity(last_at, interval_ms, to_ms(rows.now)),
        )

    return [consents.errors.get(device.device_id) or status(device) for device in devices]


async def network_states(rows: Rows, devices: Sequence[Device]) -> list[NetworkState | GatewayError | None]:
    """Return the network state that each device last reported; None if it never did. It is withheld as `statuses`."""
    reported = [device for device in devices if device.network_state is not None]
    errors = (await check_device_consents(rows, reported, await resources(rows, reported))).errors if reported else {}
    return [errors.get(device.device_id) or device.network_state for device in devices]


def device_activity(last_ms: int | None, interval_ms: int | None, now_ms: int) -> DeviceActivity:
    """Return the activity of a device, from the age of its last packet and its expected send interval."""
    if last_ms is None or interval_ms is None or now_ms - last_ms > STALE_INTERVALS * interval_ms:
        return DeviceActivity.OFFLINE
    return DeviceActivity.LIVE if now_ms - last_ms <= LIVE_INTERVALS * interval_ms else DeviceActivity.STALE


async def catch_ups(rows: Rows, resources: Sequence[Resource]) -> list[list[CatchUp] | GatewayError]:
    """Return the retrievals of each resource's readings from the meter network, newest first."""
    catch_ups = await rows.all(
        CatchUp,
        col(CatchUp.resource_id).in_({resource.resource_id for resource in resources}),
        order_by=[col(CatchUp.created_at).desc()],
    )
    by_resource = defaultdict(list)
    for catch_up in catch_ups:
        by_resource[catch_up.resource_id].append(catch_up)
    errors = (await peek_consent(rows, resources)).errors
    return replace_withheld(errors, resources, [by_resource[resource.resource_id] for resource in resources])


async def _load_sensors(rows: Rows, devices: Sequence[Device]) -> dict[str, list[DeviceSensor]]:
    """Return the sensors of each device, by device id. The devices must come from `Rows`."""
    sensors = await rows.all(
        DeviceSensor,
        col(DeviceSensor.device_id).in_({device.device_id for device in devices}),
        order_by=[DeviceSensor.protocol_id],
    )
    by_device: dict[str, list[DeviceSensor]] = defaultdict(list)
    for sensor in sensors:
        by_device[sensor.device_id].append(sensor)
    return by_device


async def _load_resources(rows: Rows, sensors: Iterable[list[DeviceSensor]]) -> dict[str, Resource]:
    """Return the active and visible resources of these sensors, by id."""
    resource_ids = {sensor.resource_id for device_sensors in sensors for sensor in device_sensors if sensor.resource_id}
    resources = await rows.all(Resource, col(Resource.resource_id).in_(resource_ids), col(Resource.active).is_(True))
    return {resource.resource_id: resource for resource in resources}


def has_any_id(text: str) -> ColumnElement[bool]:
    """Return the condition that one of the identifiers of a device is this text, in any spelling."""
    spellings = meter_points.hardware_id_spellings(text)
    columns = (Device.hardware_key, Device.mac, Device.eui, Device.serial_number)
    return or_(*(col(column).in_(spellings) for column in columns))
