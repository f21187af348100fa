"""Resources that change: change and close them, and move them to another user."""

from collections.abc import Sequence

import strawberry
from sqlalchemy import ColumnElement
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
from wattgate.graphql.services.consent_records import record_provisioned_consent
from wattgate.graphql.services.erasure import require_present
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
    await require_present(call.rows, resource.owner_id)
    was_active = resource.active
    apply_input(resource, input)
    if resource.active and resource.successor_id is not None:
        raise Conflict(f"Resource {resource_id} was moved to another user. It cannot be opened again.")
    if resource.active and not was_active:
        await _require_own_meter_point(call, resource)
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
    The old one is closed for good and stays with its owner, with all of these. Other resources of the owner of this
    type at this meter point are closed with it.
    """
    old = await call.rows.edit(models.Resource, resource_id)
    await require_new_owner(call.rows, user_id, old.owner_id)
    _check_movable(old)
    costs = await call.rows.all(
        models.Resource, col(models.Resource.cost_of) == resource_id, col(models.Resource.active).is_(True)
    )
    await record_provisioned_consent(call, user_id, old.mpxn)
    moved = await _replace(call.rows, old, user_id, cost_of=None)
    for cost in costs:
        await _replace(
            call.rows, await call.rows.edit(models.Resource, cost.resource_id), user_id, cost_of=moved.resource_id
        )
    duplicates = await _close_duplicates(call.rows, old)
    await call.rows.flush()
    closed = [resource_id, *(cost.resource_id for cost in costs), *duplicates]
    await emit_homes_of_resources_changed(call, closed)
    await _feed_successor(call, moved)
    await _disable_alert_rules(call.rows, closed)
    await _end_grants(call.rows, old)
    return moved


async def _require_own_meter_point(call: Call, resource: models.Resource) -> None:
    """Raise Conflict if a user opens a resource at a meter point that is another user's by now.

    The application and its administrators decide who is at a meter point.
    """
    is_user = call.principal.sees_own_records_only or call.principal.acts_for_user
    if resource.mpxn is None or not is_user:
        return
    others = await call.rows.count_in_application(
        models.Resource,
        col(models.Resource.owner_id) != resource.owner_id,
        _is_at(resource.mpxn),
        col(models.Resource.active).is_(True),
        limit=1,
    )
    if others:
        raise Conflict(
            f"Another user has meter point {resource.mpxn} by now. Ask the provider of the application to open the "
            f"resource {resource.resource_id}."
        )


async def _close_duplicates(rows: Rows, old: models.Resource) -> list[str]:
    """Close the other resources of the owner of this type at this meter point, with their costs. Return their ids.

    They would otherwise still give the owner access to the meter point. They cannot be opened again either.
    """
    if old.mpxn is None:
        return []
    duplicates = await rows.all(
        models.Resource,
        col(models.Resource.owner_id) == old.owner_id,
        col(models.Resource.resource_type_id) == old.resource_type_id,
        col(models.Resource.resource_id) != old.resource_id,
        _is_at(old.mpxn),
    )
    ids = [duplicate.resource_id for duplicate in duplicates]
    costs = await rows.all(models.Resource, col(models.Resource.cost_of).in_(ids)) if ids else []
    ids += [cost.resource_id for cost in costs]
    if ids:
        await rows.update(
            models.Resource,
            col(models.Resource.resource_id).in_(ids),
            col(models.Resource.successor_id).is_(None),
            active=False,
            successor_id=old.successor_id,
        )
    return ids


def _is_at(mpxn: str) -> ColumnElement[bool]:
    """Return the condition of resources at a meter point, in any spelling."""
    return col(models.Resource.mpxn).in_(meter_point_spellings(canonical_meter_point(mpxn)))


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
        _is_at(number),
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
