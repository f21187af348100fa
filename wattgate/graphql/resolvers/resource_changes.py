"""Resources that change: change and close them, and move them to another user."""

from collections.abc import Sequence

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.errors import Conflict
from wattgate.graphql.core.inputs import apply_input
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.changes import (
    emit_device_changed,
    emit_homes_of_resources_changed,
    emit_resources_changed,
)
from wattgate.graphql.services.owners import require_new_owner
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
    was_active = resource.active
    apply_input(resource, input)
    if resource.active and resource.successor_id is not None:
        raise Conflict(f"Resource {resource_id} was moved to another user. It cannot be opened again.")
    await call.rows.flush()
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
async def move_resource(call: Call, *, resource_id: strawberry.ID, user_id: strawberry.ID) -> models.Resource:
    """Move a resource, with the resources of its costs, to another user of the application.

    The user gets a new resource of the same type at the same meter point, without readings, tariffs and alert rules.
    The old one is closed for good and stays with its owner, with all of these.
    """
    old = await call.rows.edit(models.Resource, resource_id)
    await require_new_owner(call.rows, user_id, old.owner_id)
    _check_movable(old)
    costs = await call.rows.all(
        models.Resource, col(models.Resource.cost_of) == resource_id, col(models.Resource.active).is_(True)
    )
    moved = await _replace(call.rows, old, user_id, cost_of=None)
    for cost in costs:
        await _replace(
            call.rows, await call.rows.edit(models.Resource, cost.resource_id), user_id, cost_of=moved.resource_id
        )
    await call.rows.flush()
    await emit_homes_of_resources_changed(call, [resource_id, *(cost.resource_id for cost in costs)])
    await _feed_successors(call, [moved])
    await _disable_alert_rules(call.rows, [resource_id, *(cost.resource_id for cost in costs)])
    await _end_grants(call.rows, old)
    return moved


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


async def _replace(rows: Rows, old: models.Resource, user_id: str, *, cost_of: str | None) -> models.Resource:
    """Close a resource and add its successor for a user. The texts of the old owner are not copied."""
    added = await rows.add(
        models.Resource(
            owner_id=user_id,
            resource_type_id=old.resource_type_id,
            name=old.name,
            classifier=old.classifier,
            base_unit=old.base_unit,
            storage=old.storage,
            mpxn=old.mpxn,
            cost_of=cost_of,
            data_source_type=old.data_source_type,
            data_source_resource_type_info=old.data_source_resource_type_info,
        )
    )
    old.active, old.successor_id = False, added.resource_id
    return added


async def _feed_successors(call: Call, added: Sequence[models.Resource]) -> None:
    """Let the devices that the new owner has already feed the new resources: sensors of their type without resource."""
    for resource in added:
        devices = await call.rows.all(
            models.Device, col(models.Device.owner_id) == resource.owner_id, col(models.Device.active).is_(True)
        )
        device_ids = [device.device_id for device in devices]
        fed = await call.rows.update(
            models.DeviceSensor,
            col(models.DeviceSensor.device_id).in_(device_ids),
            col(models.DeviceSensor.resource_type_id) == resource.resource_type_id,
            col(models.DeviceSensor.resource_id).is_(None),
            resource_id=resource.resource_id,
        )
        for device_id in device_ids if fed else ():
            emit_device_changed(call, device_id)


async def _disable_alert_rules(rows: Rows, resource_ids: Sequence[str]) -> None:
    """Disable the rules of closed resources, which nothing can trigger again."""
    await rows.update(models.AlertRule, col(models.AlertRule.resource_id).in_(resource_ids), enabled=False)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(resource_ids), watched=False)


async def _end_grants(rows: Rows, old: models.Resource) -> None:
    """End the rights of the old owner at the meter point, unless another open resource is there.

    The consent proves no device any more, and the enrolment for flexibility ends.
    """
    if old.mpxn is None:
        return
    number = canonical_meter_point(old.mpxn)
    others = await rows.count(
        models.Resource,
        col(models.Resource.owner_id) == old.owner_id,
        col(models.Resource.mpxn).in_(meter_point_spellings(number)),
        col(models.Resource.active).is_(True),
    )
    if not others:
        await rows.update(
            models.MeterPointConsent,
            col(models.MeterPointConsent.user_id) == old.owner_id,
            col(models.MeterPointConsent.mpxn) == number,
            verified=False,
        )
        await rows.update(
            models.DfsUser,
            col(models.DfsUser.user_id) == old.owner_id,
            col(models.DfsUser.mpxn) == number,
            active=False,
        )
