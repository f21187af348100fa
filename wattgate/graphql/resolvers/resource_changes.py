"""Resources that change: change and close them, and move them to another user."""

from collections.abc import Sequence
from datetime import datetime

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point
from wattgate.errors import Conflict
from wattgate.graphql.core.inputs import apply_input
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.changes import (
    emit_device_changed,
    emit_homes_of_resources_changed,
    emit_resources_changed,
)
from wattgate.graphql.services.consent_records import lock_consent_gaps, record_provisioned_consent
from wattgate.graphql.services.owners import require_new_owner
from wattgate.graphql.services.tenancies import begin_tenancy, end_tenancy_without_resources, is_at
from wattgate.graphql.types import resource_changes as inputs
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission


@operation(
    OperationKind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    rest=RestRoute("PUT", "/resource/{resourceId}"),
)
async def update_resource(call: Call, *, resource_id: strawberry.ID, input: inputs.ResourceChange) -> models.Resource:
    """Change a resource. Omitted fields keep their values. Its type, meter point and owner do not change.

    A resource that was moved to another user stays closed.
    """
    resource = await call.rows.edit(models.Resource, resource_id)
    await call.rows.require_present(resource.owner_id)
    was_active = resource.active
    apply_input(resource, input)
    if resource.active and resource.successor_id is not None:
        raise Conflict(f"Resource {resource_id} was moved to another user. It cannot be opened again.")
    await call.rows.flush()
    if resource.active and not was_active:
        resource.owned_from = await begin_tenancy(call, resource.owner_id, resource.mpxn)
    elif was_active and not resource.active:
        await end_tenancy_without_resources(call, resource.owner_id, resource.mpxn)
    if resource.active == was_active:
        emit_resources_changed(call, [resource_id])
    else:
        await _restart_alert_rules(call.rows, resource_id)
        await emit_homes_of_resources_changed(call, [resource_id])
    return resource


@operation(
    OperationKind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_MANAGE,
    rest=RestRoute("PUT", "/resource/{resourceId}/owner"),
)
async def move_resource(
    call: Call, *, resource_id: strawberry.ID, user_id: strawberry.ID, moved_in_at: datetime | None = None
) -> models.Resource:
    """Move a resource, with all others of its owner at its meter point, to another user of the application.

    The user lives at the meter point from `movedInAt` on, by default from now, and the owner until then. The user gets
    a new resource of each type, without readings, tariffs and alert rules. The old ones are closed for good and stay
    with their owner, with all of these. Readings of the owner from `movedInAt` on are deleted. A resource without a
    meter point moves alone, with the resources of its costs. Repeated calls return the same resource.
    """
    old = await call.rows.edit(models.Resource, resource_id)
    if old.successor_id is not None:
        successor = await call.rows.get(models.Resource, old.successor_id)
        if successor.owner_id == user_id:
            return successor
    await require_new_owner(call.rows, user_id, old.owner_id)
    _check_movable(old)
    leaving = await _resources_that_move(call.rows, old)
    moved = await _add_successors(call.rows, leaving, user_id)
    closed = [resource.resource_id for resource in leaving]
    await call.rows.flush()
    if old.mpxn is not None and moved_in_at is None:
        moved_in_at = call.rows.now
    owned_from = await begin_tenancy(call, user_id, old.mpxn, moved_in_at, "movedInAt")
    for successor in moved.values():
        successor.owned_from = owned_from
    await record_provisioned_consent(call, user_id, old.mpxn)
    gaps = await lock_consent_gaps(call, user_id, old.mpxn)
    for successor in moved.values():
        successor.consent_gaps = gaps
    await emit_homes_of_resources_changed(call, closed)
    for successor in moved.values():
        if successor.cost_of is None:
            await _feed_successor(call, successor)
    await _disable_alert_rules(call.rows, closed)
    return moved[resource_id]


async def _resources_that_move(rows: Rows, named: models.Resource) -> list[models.Resource]:
    """Return the resources that leave with a named one, which is the first: those at its meter point, with their costs.

    Closed resources at the meter point leave as well, so that they cannot be opened again.
    """
    others = []
    if named.mpxn is not None:
        others = await rows.all(
            models.Resource,
            col(models.Resource.owner_id) == named.owner_id,
            col(models.Resource.resource_id) != named.resource_id,
            col(models.Resource.cost_of).is_(None),
            col(models.Resource.successor_id).is_(None),
            is_at(named.mpxn),
            order_by=[col(models.Resource.active).desc(), models.Resource.number],
        )
    ids = [named.resource_id, *(resource.resource_id for resource in others)]
    costs = await rows.all(
        models.Resource,
        col(models.Resource.cost_of).in_(ids),
        col(models.Resource.successor_id).is_(None),
        order_by=[col(models.Resource.active).desc(), models.Resource.number],
    )
    keys = [*ids[1:], *(cost.resource_id for cost in costs)]
    return [named, *[await rows.edit(models.Resource, key) for key in keys]]


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


async def _restart_alert_rules(rows: Rows, resource_id: str) -> None:
    """Let the rules of a resource start again from now: the time in which it is closed is no silence."""
    of_resource = col(models.AlertRule.resource_id) == resource_id
    await rows.update(
        models.AlertRule, of_resource, active=False, told=False, judged_to=to_ms(rows.now), due_at=rows.now
    )


def _check_movable(resource: models.Resource) -> None:
    """Raise Conflict if a resource is closed, or holds the costs of another one."""
    if not resource.active:
        raise Conflict(f"Resource {resource.resource_id} is closed. Open it again with updateResource.")
    if resource.cost_of is not None:
        raise Conflict(
            f"Resource {resource.resource_id} holds the costs of resource {resource.cost_of}. Move that one instead."
        )


async def _feed_successor(call: Call, added: models.Resource) -> None:
    """Let a device that the new owner has already feed the new resource, if exactly one can.

    Its sensor has the type of the resource and no resource yet. The device names this meter point, or none.
    """
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
    named = {canonical_meter_point(text) for text in (device.hardware_ids.mpan, device.hardware_ids.mprn) if text}
    return not named or canonical_meter_point(resource.mpxn or "") in named


async def _disable_alert_rules(rows: Rows, resource_ids: Sequence[str]) -> None:
    """Disable the rules of closed resources, which nothing can trigger again."""
    await rows.update(models.AlertRule, col(models.AlertRule.resource_id).in_(resource_ids), enabled=False)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(resource_ids), watched=False)
