"""Resources that change: change and close them, and move them to another user."""

from datetime import datetime

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.alert_rules import restart_values
from wattgate.db.queries.tenancies import lives_at, others_lived_since
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.errors import Conflict, QuotaExceeded
from wattgate.operations.consent.consent_records import record_provisioned_consent
from wattgate.operations.core.home_events import emit_homes_of_resources_changed, emit_resources_changed
from wattgate.operations.core.input_limits import apply_input
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.devices.device_records import require_new_owner
from wattgate.operations.moves.move_plans import plan_resource_move
from wattgate.operations.moves.moves import carry_out_move
from wattgate.operations.tenancies.tenancies import begin_tenancy, end_tenancy_without_resources, lock_tenancies
from wattgate.operations.types.homes import meter_points as inputs
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms


@operation(
    OperationKind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/resource/{resourceId}", Tag.RESOURCES_AND_READINGS),
    raises=(Conflict,),
)
async def update_resource(call: Call, *, resource_id: ids.ResourceId, input: inputs.ResourceChange) -> models.Resource:
    """Change a resource. Omitted fields keep their values. Its type, meter point and owner do not change.

    A resource that was moved to another user stays closed. An application that opens a resource relies on the user's
    consent, as when it adds one.
    """
    resource = await _edit_resource(call, resource_id, ends_or_begins=input.active is not UNSET)
    await call.rows.require_present(resource.owner_id)
    was_active = resource.active
    apply_input(resource, input)
    if resource.active and resource.successor_id is not None:
        raise Conflict(f"Resource {resource_id} was moved to another user. It cannot be opened again.")
    await call.rows.flush()
    if resource.active and not was_active:
        await _check_own_stay(call, resource)
        resource.owned_from = await begin_tenancy(call, resource.owner_id, resource.mpxn)
        await record_provisioned_consent(call, resource.owner_id, resource.mpxn)
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
    audit=Audit.EVERY_CALL,
    rest=RestRoute("PUT", "/resource/{resourceId}/owner", Tag.RESOURCES_AND_READINGS),
    raises=(Conflict, QuotaExceeded),
)
async def move_resource(
    call: Call, *, resource_id: ids.ResourceId, user_id: ids.NewOwnerId, moved_in_at: terms.MovedInAt | None = None
) -> models.Resource:
    """Move a resource, with all others of its owner at its meter point, to another user of the application.

    The user lives at the meter point from `movedInAt` on, by default from now, and the owner until then. The user gets
    a new resource of each type, without readings, tariffs and alert rules. The old ones are closed for good and stay
    with their owner, with all of these. Readings of the owner from `movedInAt` on are deleted. A resource without a
    meter point moves alone, with the resources of its costs. Repeated calls return the same resource, and correct the
    start with another `movedInAt`.
    """
    old = await _edit_resource(call, resource_id, ends_or_begins=True)
    if old.successor_id is not None:
        successor = await call.rows.get(models.Resource, old.successor_id)
        if successor.owner_id == user_id:
            await _correct_move(call, successor, moved_in_at)
            return successor
    await require_new_owner(call.rows, user_id, old.owner_id)
    _check_movable(old)
    plan = await plan_resource_move(call.rows, call.principal, old, user_id, moved_in_at)
    moved = await carry_out_move(call, plan)
    return moved.resources[resource_id]


async def _edit_resource(call: Call, resource_id: str, *, ends_or_begins: bool) -> models.Resource:
    """Return a resource for changes. Lock the tenancies of its meter point first if the change ends or begins one."""
    if ends_or_begins:
        resource = await call.rows.get(models.Resource, resource_id)
        if resource.mpxn is not None:
            await lock_tenancies(call, resource.mpxn)
    return await call.rows.edit(models.Resource, resource_id)


async def _check_own_stay(call: Call, resource: models.Resource) -> None:
    """Raise Conflict if an account opens a resource of an earlier stay, after which another household lived there.

    The application decides whether the resource is of the present stay.
    """
    if not call.principal.sees_own_records_only or not resource.mpxn:
        return
    if await others_lived_since(call.rows, resource.owner_id, resource.mpxn, resource.owned_from):
        raise Conflict(
            f"Another user has lived at meter point {resource.mpxn} since the resource was in use. Ask the provider of "
            "the application to open it again."
        )


async def _restart_alert_rules(rows: Rows, resource_id: str) -> None:
    """Let the rules of a resource start again from now: the time in which it is closed is no silence."""
    of_resource = col(models.AlertRule.resource_id) == resource_id
    await rows.update(models.AlertRule, of_resource, **restart_values(rows.now))


async def _correct_move(call: Call, successor: models.Resource, moved_in_at: datetime | None) -> None:
    """Correct since when the new owner lives at the meter point, if the repeated call says it.

    Raise Conflict if the new owner does not live there any more: a correction would move it in again.
    """
    if moved_in_at is None:
        return
    if successor.mpxn and not await lives_at(call.rows, successor.owner_id, canonical_meter_point(successor.mpxn)):
        raise Conflict(
            f"The user {successor.owner_id} has moved out at meter point {successor.mpxn}, so `movedInAt` corrects "
            "nothing. Leave it out."
        )
    await begin_tenancy(call, successor.owner_id, successor.mpxn, moved_in_at, "movedInAt")


def _check_movable(resource: models.Resource) -> None:
    """Raise Conflict if a resource is closed, or holds the costs of another one."""
    if not resource.active:
        raise Conflict(f"Resource {resource.resource_id} is closed. Open it again with updateResource.")
    if resource.cost_of is not None:
        raise Conflict(
            f"Resource {resource.resource_id} holds the costs of resource {resource.cost_of}. Move that one instead."
        )
