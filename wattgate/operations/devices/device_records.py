"""Devices as records: find them by any of their identifiers, add and close them, and set their sensors."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col

from wattgate.db.models import Device, DeviceSensor, DeviceType, HardwareIds, Resource, User
from wattgate.db.queries.devices import has_any_id
from wattgate.db.queries.tenancies import meter_points_left
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters import meter_points
from wattgate.enums import DeviceProof
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.operations.core.home_events import emit_device_changed, emit_resources_changed
from wattgate.operations.core.operation import Call
from wattgate.operations.types.meters import devices as types

SensorAssignments = Mapping[str, tuple[str, str | None]]
"""Sensors by protocol id: the resource type that each measures, and the resource that it feeds, if any."""


async def find_by_any_id(rows: Rows, text: str) -> Device | None:
    """Return the active device with this hardware id, MAC address, EUI or serial number, in any spelling, or None.

    A hardware id comes before the other identifiers, then the oldest device before others.
    """
    is_active, order = col(Device.active).is_(True), [Device.created_at, Device.device_id]
    is_hardware_id = col(Device.hardware_key).in_(meter_points.hardware_id_spellings(text))
    by_hardware_id = await rows.first(Device, is_active, is_hardware_id, order_by=order)
    return by_hardware_id or await rows.first(Device, is_active, has_any_id(text), order_by=order)


async def close_device(call: Call, rows: Rows, device_id: str) -> Device:
    """Close a device. It keeps its owner and its history, and its hardware id is free for the next owner."""
    device = await rows.edit(Device, device_id)
    device.active = False
    device.hardware_key = f"{device.hardware_key} {device_id}"  # no hardware key contains a space
    await rows.flush()
    sensors = await rows.all(DeviceSensor, col(DeviceSensor.device_id) == device_id)
    emit_device_changed(call, device_id)
    emit_resources_changed(call, (sensor.resource_id for sensor in sensors))
    return device


async def close_other_holders(call: Call, owner_id: str, hardware_id: str) -> None:
    """Close the devices of other users that have a hardware id without proof, because the new owner has proof.

    Raise Conflict if the owner has the device already, or another user has it with proof.
    """
    spellings = meter_points.hardware_id_spellings(hardware_id)
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        holders = await rows.all(Device, col(Device.hardware_key).in_(spellings), col(Device.active).is_(True))
        for holder in holders:
            if holder.owner_id == owner_id:
                raise Conflict(f"The user has device {hardware_id} already. Change it with updateDevice.")
            if holder.proof is not None:
                raise Conflict(
                    f"Another user has device {hardware_id}. Its owner must remove it, or the application must move it."
                )
            await close_device(call, rows, holder.device_id)


async def held_from(call: Call, owner_id: str, hardware_id: str) -> datetime | None:
    """Return the instant from which messages of a hardware id belong to a new owner; None if it had no other owner."""
    is_other = col(Device.owner_id) != owner_id
    others = await call.rows.count_in_application(Device, _was_closed(hardware_id), is_other, limit=1)
    return call.rows.now if others else None


def _was_closed(hardware_id: str) -> ColumnElement[bool]:
    """Return the condition that a device had a hardware id until it was closed. See `close_device`."""
    spellings = meter_points.hardware_id_spellings(hardware_id)
    return or_(*(col(Device.hardware_key).startswith(f"{spelling} ", autoescape=True) for spelling in spellings))


async def require_not_left(call: Call, owner_id: str, hardware_id: str) -> None:
    """Raise Conflict if an owner has removed a device with this hardware id, and moved out where it measured.

    A code proves that the owner had the device, not that the device came along. The application and its administrators
    know where it is.
    """
    removed = await call.rows.all(Device, _was_closed(hardware_id), col(Device.owner_id) == owner_id)
    fed = await call.rows.all(DeviceSensor, col(DeviceSensor.device_id).in_([device.device_id for device in removed]))
    numbers = await _numbers_of(call.rows, {sensor.resource_id for sensor in fed})
    measured = {*numbers.values()}.union(*(device.remains_at for device in removed))
    if left := await meter_points_left(call.rows, owner_id, measured):
        raise Conflict(
            f"The user has removed device {hardware_id}, and has moved out at meter point {min(left)}, which it "
            "measured. Ask the provider of the application to add it."
        )


async def _numbers_of(rows: Rows, resource_ids: Iterable[str | None]) -> dict[str, str]:
    """Return the meter points of those resources that have one, by resource. Some of them may be closed."""
    resources = await rows.get_many(Resource, filter(None, resource_ids))
    return {key: meter_points.canonical_meter_point(one.mpxn) for key, one in resources.items() if one.mpxn}


async def require_own_readings(call: Call, device: Device) -> None:
    """Raise Conflict if the device measures another household, because its owner has moved out and left it there.

    The application and its administrators know where a device is.
    """
    if not call.principal.sees_own_records_only:
        device.remains_at = frozenset()
    if left := await meter_points_left(call.rows, device.owner_id, device.remains_at):
        raise Conflict(
            f"The owner of device {device.device_id} has moved out at meter point {min(left)}, which it measures. "
            "Remove it with deactivateDevice, or ask the provider of the application to change it."
        )


async def remember_meter_points(call: Call, device: Device, sensors: SensorAssignments) -> None:
    """Keep the meter points that a device has measured when its owner points it elsewhere, before it is pointed.

    The device is still in the same place, so a move of the meter point concerns it, also if the resource there is
    closed. The application and its administrators know where it is.
    """
    if not call.principal.sees_own_records_only:
        return
    fed = await call.rows.all(DeviceSensor, col(DeviceSensor.device_id) == device.device_id)
    before, after = {sensor.resource_id for sensor in fed}, {resource_id for _, resource_id in sensors.values()}
    numbers = await _numbers_of(call.rows, before | after)
    measured = {numbers[key] for key in after if key in numbers}
    left = {numbers[key] for key in before if key in numbers}
    device.remains_at = device.remains_at.union(left) - measured


async def add_with_sensors(call: Call, device: Device, sensors: SensorAssignments) -> Device:
    """Add a device and its sensors."""
    added = await call.rows.add(device)
    await _add_sensors(call, added.device_id, sensors)
    return added


async def move_device_to(call: Call, old: Device, user_id: str) -> Device:
    """Close a device, and add it for the next user, without description, state and meter points. Return the new one.

    Its sensors feed the successors of the resources that they fed, if the user has these.
    """
    device_type = await call.rows.get(DeviceType, old.device_type_id)
    sensors = await _successor_sensors(call.rows, old, user_id)
    await close_device(call, call.rows, old.device_id)
    hardware_ids = HardwareIds(
        mac=old.hardware_ids.mac, eui=old.hardware_ids.eui, serial_number=old.hardware_ids.serial_number
    )
    moved = build_device(user_id, device_type, old.hardware_id, hardware_ids, DeviceProof.APPLICATION)
    moved.protocol_name, moved.held_from = old.protocol_name, call.rows.now
    return await add_with_sensors(call, moved, sensors)


async def _successor_sensors(rows: Rows, old: Device, user_id: str) -> SensorAssignments:
    """Return the sensors of a moved device: they feed the successors of its resources, if the user has these."""
    sensors = await rows.all(DeviceSensor, col(DeviceSensor.device_id) == old.device_id)
    fed = await rows.get_many(Resource, {sensor.resource_id for sensor in sensors if sensor.resource_id})
    owned = await load_owned_resources(rows, user_id)
    owned_ids = {resource.resource_id for resource in owned}
    successors = {resource.resource_id: resource.successor_id for resource in fed.values()}

    def successor(sensor: DeviceSensor) -> str | None:
        found = successors.get(sensor.resource_id or "")
        return found if found in owned_ids else None

    return {sensor.protocol_id: (sensor.resource_type_id, successor(sensor)) for sensor in sensors}


async def replace_sensors(call: Call, device: Device, sensors: SensorAssignments) -> None:
    """Replace the sensors of a device."""
    of_device = col(DeviceSensor.device_id) == device.device_id
    before = await call.rows.all(DeviceSensor, of_device)
    emit_resources_changed(call, (sensor.resource_id for sensor in before))
    await call.rows.delete(DeviceSensor, of_device)
    await _add_sensors(call, device.device_id, sensors)


async def _add_sensors(call: Call, device_id: str, sensors: SensorAssignments) -> None:
    for protocol_id, (resource_type_id, resource_id) in sensors.items():
        await call.rows.add(
            DeviceSensor(
                device_id=device_id,
                protocol_id=protocol_id,
                resource_type_id=resource_type_id,
                resource_id=resource_id,
            )
        )
    emit_resources_changed(call, (resource_id for _, resource_id in sensors.values()))


async def load_owned_resources(rows: Rows, owner_id: str) -> list[Resource]:
    """Return the active resources of a user."""
    return await rows.all(Resource, col(Resource.owner_id) == owner_id, col(Resource.active).is_(True))


def identifier_columns(hardware_ids: HardwareIds | types.NewHardwareIds) -> dict[str, Any]:
    """Return the columns with the identifiers of a device, normalized for look-ups."""
    texts = {name: getattr(hardware_ids, name) for name in ("mac", "eui", "serial_number")}
    return {name: meter_points.normalize_hardware_id(text or "") or None for name, text in texts.items()}


def build_device(
    owner_id: str, device_type: DeviceType, hardware_id: str, hardware_ids: HardwareIds, proof: DeviceProof
) -> Device:
    """Return a new device of a user."""
    return Device(
        owner_id=owner_id,
        device_type_id=device_type.device_type_id,
        hardware_id=hardware_id,
        hardware_key=meter_points.normalize_hardware_id(hardware_id),
        hardware_ids=hardware_ids,
        tags=[hardware_id],
        protocol_name=device_type.protocol.protocol,
        proof=proof,
        **identifier_columns(hardware_ids),
    )


def explicit_sensors(protocol: types.NewDeviceProtocol, owned: Sequence[Resource]) -> SensorAssignments:
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


def default_sensors(
    device_type: DeviceType, owned: Sequence[Resource], mpxns: Sequence[str | None] = ()
) -> SensorAssignments:
    """Return the sensors of the device type. Each feeds the user's resource of its type if there is exactly one.

    If meter points are given, only resources at these count.
    """
    numbers = {meter_points.canonical_meter_point(text) for text in mpxns if text} - {""}
    sensors: dict[str, tuple[str, str | None]] = {}
    for sensor in device_type.protocol.sensors:
        candidates = [
            resource.resource_id
            for resource in owned
            if resource.resource_type_id == sensor.resource_type_id
            and (not numbers or meter_points.canonical_meter_point(resource.mpxn or "") in numbers)
        ]
        sensors[sensor.protocol_id] = (sensor.resource_type_id, candidates[0] if len(candidates) == 1 else None)
    return sensors


# The users to whom the application moves resources and devices.


async def require_new_owner(rows: Rows, user_id: str, owner_id: str) -> None:
    """Raise BadInput unless the user exists and is active. Raise Conflict if it is the present owner."""
    await lock_new_owner(rows, user_id)
    await check_new_owner(rows, user_id)
    if user_id == owner_id:
        raise Conflict(f"User {user_id} is the owner already.")


async def lock_new_owner(rows: Rows, user_id: str) -> None:
    """Keep an erasure of the user from beginning until the transaction ends."""
    await rows.lock(User, col(User.user_id) == user_id, shared=True)


async def check_new_owner(rows: Rows, user_id: str) -> None:
    """Raise BadInput unless the user exists and is active."""
    user = (await rows.get_many(User, [user_id])).get(user_id)
    if user is None or not user.active:
        reason = "is not active" if user else "does not exist"
        raise BadInput("Invalid new owner. See `problems`.", problems=[Problem(("userId",), f"{user_id} {reason}")])
