"""Moves: the next household gets what belongs to a meter point, and the former one keeps its past.

A move carries out a plan of `services.move_plans`, which a preview shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.operations.consent.consent_records import lock_consent_gaps, record_provisioned_consent
from wattgate.operations.core.home_events import emit_device_changed, emit_home_changed, emit_homes_of_resources_changed
from wattgate.operations.core.operation import Call
from wattgate.operations.devices import device_records as device_services
from wattgate.operations.homes.home_resources import add_resources
from wattgate.operations.moves.move_plans import MovePlan, NextHome, named_meter_points
from wattgate.operations.tenancies.tenancies import carry_out_tenancy, disable_alert_rules


@dataclass(frozen=True, slots=True)
class Moved:
    """The new records of a move: resources and devices by the ids of the old ones, and the home that they are in."""

    resources: Mapping[str, models.Resource]
    devices: Mapping[str, models.Device]
    ve_id: str | None = None


async def carry_out_move(call: Call, plan: MovePlan) -> Moved:
    """Write what a plan says. The tenancies of its meter point are locked, and the next user is present."""
    leaving = [await call.rows.edit(models.Resource, old.resource_id) for old in plan.leaving]
    successors = await _add_successors(call.rows, leaving, plan.user_id)
    await call.rows.flush()
    closed = [resource.resource_id for resource in leaving]
    if plan.tenancy is not None:
        await carry_out_tenancy(call, plan.tenancy)
        for successor in successors.values():
            successor.owned_from = plan.tenancy.began_at
        await record_provisioned_consent(call, plan.user_id, plan.tenancy.number)
        gaps = await lock_consent_gaps(call, plan.user_id, plan.tenancy.number)
        for successor in successors.values():
            successor.consent_gaps = gaps
    await emit_homes_of_resources_changed(call, closed)
    devices = {old.device_id: await device_services.move_device_to(call, old, plan.user_id) for old in plan.devices}
    for successor in {successor.resource_id: successor for successor in successors.values()}.values():
        if successor.cost_of is None:
            await _feed_successor(call, successor)
    await disable_alert_rules(call.rows, closed)
    return Moved(successors, devices, await _join_home(call, plan, successors))


async def _join_home(call: Call, plan: MovePlan, successors: Mapping[str, models.Resource]) -> str | None:
    """Let the successors join the home of the plan, and add it if it is new. Return its id."""
    if plan.home is None:
        return None
    ve_id = await _add_home(call.rows, plan.home, plan.user_id) if plan.home.home is None else plan.home.home.ve_id
    await add_resources(call.rows, ve_id, {successor.resource_id for successor in successors.values()})
    emit_home_changed(call, ve_id)
    return ve_id


async def _add_home(rows: Rows, planned: NextHome, user_id: str) -> str:
    assert planned.ve_type_id is not None  # a new home has a type
    home = await rows.add(
        models.VirtualEntity(
            owner_id=user_id, ve_type_id=planned.ve_type_id, name=planned.name, time_zone=planned.time_zone
        )
    )
    return home.ve_id


async def _add_successors(rows: Rows, leaving: Sequence[models.Resource], user_id: str) -> dict[str, models.Resource]:
    """Close resources, and return the successor of each open one for a user, by the id of the old resource.

    Resources of the same type share one successor, and so do those of their costs.
    """
    types_by_id = await rows.get_many(models.ResourceType, {old.resource_type_id for old in leaving})
    by_kind: dict[tuple[str, str | None], models.Resource] = {}
    by_id: dict[str, models.Resource] = {}
    for old in leaving:
        source = None if old.cost_of is None else by_id.get(old.cost_of)
        kind = (old.resource_type_id, None if source is None else source.resource_id)
        successor = by_kind.get(kind)
        if successor is None and old.active and (old.cost_of is None or source is not None):
            resource_type = types_by_id[old.resource_type_id]
            successor = by_kind[kind] = await _add_successor(rows, old, resource_type, user_id, kind[1])
        old.active = False
        if successor is not None:
            by_id[old.resource_id], old.successor_id = successor, successor.resource_id
    return by_id


async def _add_successor(
    rows: Rows, old: models.Resource, resource_type: models.ResourceType, user_id: str, cost_of: str | None
) -> models.Resource:
    """Add the successor of a resource for a user. The texts of the old owner are not copied: those of the type are."""
    return await rows.add(
        models.Resource(
            owner_id=user_id,
            resource_type_id=old.resource_type_id,
            name=resource_type.name,
            classifier=old.classifier,
            base_unit=old.base_unit,
            storage=old.storage,
            mpxn=old.mpxn,
            cost_of=cost_of,
            data_source_type=old.data_source_type,
            data_source_resource_type_info=resource_type.data_source_resource_type_info,
        )
    )


async def _feed_successor(call: Call, added: models.Resource) -> None:
    """Let a device that the new owner has already feed the new resource, if exactly one can.

    Its sensor has the type of the resource and no resource yet. The device names this meter point, or none.
    """
    if await call.rows.count(models.DeviceSensor, col(models.DeviceSensor.resource_id) == added.resource_id, limit=1):
        return  # a device that moved feeds it
    devices = await call.rows.all(
        models.Device, col(models.Device.owner_id) == added.owner_id, col(models.Device.active).is_(True)
    )
    device_ids = [device.device_id for device in devices if _may_measure(device, added)]
    free = await call.rows.all(
        models.DeviceSensor,
        col(models.DeviceSensor.device_id).in_(device_ids),
        col(models.DeviceSensor.resource_type_id) == added.resource_type_id,
        col(models.DeviceSensor.resource_id).is_(None),
    )
    if len(free) == 1:
        device_id = free[0].device_id
        await call.rows.update(
            models.DeviceSensor,
            col(models.DeviceSensor.device_id) == device_id,
            col(models.DeviceSensor.protocol_id) == free[0].protocol_id,
            resource_id=added.resource_id,
        )
        emit_device_changed(call, device_id)


def _may_measure(device: models.Device, resource: models.Resource) -> bool:
    """Return whether the identifiers of a device allow that it measures at the meter point of a resource."""
    named = named_meter_points(device)
    return not named or canonical_meter_point(resource.mpxn or "") in named
