"""Set-wise loaders from and to devices: one result for each parent, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import CatchUp, Device, DeviceSensor, DeviceType, NetworkState, Resource
from wattgate.db.readings.series_keys import key_of
from wattgate.db.rows import Rows
from wattgate.energy.storage_fields import Field, fields_of
from wattgate.enums import DeviceActivity

LIVE_CADENCE_MS = 60 * 1000
"""How often a device is expected to send what is not sampled on a grid; displays send every 6 to 10 seconds."""

LIVE_INTERVALS, STALE_INTERVALS = 3, 48
"""A device is live up to 3, and stale up to 48, of the intervals at which it is expected to send."""


class Protocol(msgspec.Struct, gc=False):
    """How a device talks to the platform, and its sensors."""

    protocol: str
    sensors: list[DeviceSensor]


class DeviceStatus(msgspec.Struct, gc=False):
    """Whether a device sends packets: the newest one's instant, None where there is none yet."""

    found: bool
    device_id: str
    hardware_id: str
    last_packet_at: datetime | None
    expected_every: int | None
    status: DeviceActivity


async def types(rows: Rows, devices: Sequence[Device]) -> list[DeviceType]:
    """The type of each device."""
    found = await rows.many(DeviceType, (device.device_type_id for device in devices))
    return [found[device.device_type_id] for device in devices]


async def protocols(rows: Rows, devices: Sequence[Device]) -> list[Protocol]:
    """The protocol of each device with its sensors, by their protocol ids."""
    sensors = await _sensors(rows, devices)
    return [Protocol(device.protocol_name, sensors[device.device_id]) for device in devices]


async def resources(rows: Rows, devices: Sequence[Device]) -> list[list[Resource]]:
    """The active resources that the sensors of each device feed, by name."""
    sensors = await _sensors(rows, devices)
    known = await _resources(rows, sensors.values())
    return [
        sorted(
            (known[one.resource_id] for one in sensors[device.device_id] if one.resource_id in known),
            key=lambda resource: (resource.name, resource.resource_id),
        )
        for device in devices
    ]


async def of_resources(rows: Rows, resources: Sequence[Resource]) -> list[Device | None]:
    """The active device that feeds each resource, or None; the oldest where there are several."""
    wanted = {resource.resource_id for resource in resources}
    sensors = await rows.all(DeviceSensor, col(DeviceSensor.resource_id).in_(wanted))
    devices = await rows.all(
        Device,
        col(Device.device_id).in_({sensor.device_id for sensor in sensors}),
        col(Device.active).is_(True),
        order_by=[Device.created_at, Device.device_id],
    )
    feeds = defaultdict(set)
    for sensor in sensors:
        feeds[sensor.resource_id].add(sensor.device_id)
    return [
        next((device for device in devices if device.device_id in feeds[resource.resource_id]), None)
        for resource in resources
    ]


async def statuses(rows: Rows, devices: Sequence[Device]) -> list[DeviceStatus]:
    """Whether each device sends packets, by the newest of its sensors' readings and of what it says of itself."""
    sensors = await _sensors(rows, devices)
    known = await _resources(rows, sensors.values())
    fields = {resource_id: fields_of(resource.storage) for resource_id, resource in known.items()}
    wanted = [key_of(known[resource_id], one) for resource_id, some in fields.items() for one in some]
    latest = await rows.series.latest(wanted)

    def status(device: Device) -> DeviceStatus:
        seen = [
            (stored.at, _cadence(field))
            for sensor in sensors[device.device_id]
            for field in fields.get(sensor.resource_id or "", ())
            if (stored := latest.get(key_of(known[sensor.resource_id or ""], field)))
        ]
        if device.heard_at is not None:
            seen.append((to_ms(device.heard_at), LIVE_CADENCE_MS))
        at = max((at for at, _ in seen), default=None)
        cadence = min((cadence for _, cadence in seen), default=None)
        return DeviceStatus(
            found=at is not None,
            device_id=device.device_id,
            hardware_id=device.hardware_id,
            last_packet_at=None if at is None else from_ms(at),
            expected_every=cadence and cadence // 1000,
            status=activity(at, cadence, to_ms(rows.now)),
        )

    return [status(device) for device in devices]


async def network_states(rows: Rows, devices: Sequence[Device]) -> list[NetworkState | None]:
    """What each device has said of itself, None where it never did."""
    return [device.network_state for device in devices]


def activity(last_ms: int | None, cadence_ms: int | None, now_ms: int) -> DeviceActivity:
    """What the age of a device's last packet says, by the interval at which it is expected to send."""
    if last_ms is None or cadence_ms is None or now_ms - last_ms > STALE_INTERVALS * cadence_ms:
        return DeviceActivity.OFFLINE
    return DeviceActivity.LIVE if now_ms - last_ms <= LIVE_INTERVALS * cadence_ms else DeviceActivity.STALE


async def catch_ups(rows: Rows, resources: Sequence[Resource]) -> list[list[CatchUp]]:
    """The retrievals of readings of each resource from the meter network, newest first."""
    found = await rows.all(
        CatchUp,
        col(CatchUp.resource_id).in_({resource.resource_id for resource in resources}),
        order_by=[col(CatchUp.created_at).desc()],
    )
    by_resource = defaultdict(list)
    for one in found:
        by_resource[one.resource_id].append(one)
    return [by_resource[resource.resource_id] for resource in resources]


def _cadence(field: Field) -> int:
    return field.interval_ms or LIVE_CADENCE_MS


async def _sensors(rows: Rows, devices: Sequence[Device]) -> dict[str, list[DeviceSensor]]:
    """The sensors of each device, which the caller has from `Rows`, by device id."""
    found = await rows.all(
        DeviceSensor,
        col(DeviceSensor.device_id).in_({device.device_id for device in devices}),
        order_by=[DeviceSensor.protocol_id],
    )
    by_device: dict[str, list[DeviceSensor]] = defaultdict(list)
    for sensor in found:
        by_device[sensor.device_id].append(sensor)
    return by_device


async def _resources(rows: Rows, sensors: Iterable[list[DeviceSensor]]) -> dict[str, Resource]:
    """The active ones among the resources of these sensors that the caller may see."""
    wanted = {one.resource_id for some in sensors for one in some if one.resource_id}
    found = await rows.all(Resource, col(Resource.resource_id).in_(wanted), col(Resource.active).is_(True))
    return {resource.resource_id: resource for resource in found}
