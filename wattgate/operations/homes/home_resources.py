"""Resources that join and leave a home one by one. `updateVirtualEntity` replaces all resources of a home."""

from wattgate.db import models
from wattgate.errors import BadInput, Conflict, NotFound
from wattgate.operations.core.home_events import emit_home_changed, emit_resources_changed
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.homes import home_resource_rules as services
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/virtualentity/{veId}/resources", Tag.HOMES, status=201, edges=("resources",)),
)
async def add_virtual_entity_resource(
    call: Call, *, ve_id: ids.VeId, resource_id: ids.ResourceId
) -> models.VirtualEntity:
    """Add a resource of the home's owner to a home. Its live display shows the resource from then on."""
    home, joined = await _edit_open_home(call, ve_id)
    if problems := await services.find_problems(call.rows, home.owner_id, [resource_id], ("resourceId",)):
        raise BadInput("The resource cannot join the home. See `problems`.", problems=problems)
    if resource_id in joined:
        raise Conflict(f"Resource {resource_id} is in home {ve_id} already.")
    await services.add_resources(call.rows, ve_id, [resource_id])
    emit_home_changed(call, ve_id)
    return home


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/virtualentity/{veId}/resources/{resourceId}", Tag.HOMES, edges=("resources",)),
    raises=(Conflict,),
)
async def remove_virtual_entity_resource(
    call: Call, *, ve_id: ids.VeId, resource_id: ids.ResourceId
) -> models.VirtualEntity:
    """Remove a resource from a home. The resource, its readings, tariffs and alert rules are kept."""
    home, joined = await _edit_open_home(call, ve_id)
    if resource_id not in joined:
        raise NotFound(f"Home {ve_id} has no resource with ID {resource_id}.")
    await services.remove_resources(call.rows, ve_id, [resource_id])
    emit_home_changed(call, ve_id)
    emit_resources_changed(call, [resource_id])
    return home


async def _edit_open_home(call: Call, ve_id: str) -> tuple[models.VirtualEntity, set[str]]:
    """Return the home, locked, and the ids of its resources. Raise Conflict if it is closed."""
    home = await call.rows.edit(models.VirtualEntity, ve_id)
    if not home.active:
        raise services.closed_home_error(ve_id)
    return home, await services.load_resource_ids(call.rows, ve_id)
