"""Resources that join and leave a home one by one, and attributes of homes. `updateVirtualEntity` replaces all."""

import json
from collections.abc import Collection, Sequence
from typing import Annotated, Any

from sqlmodel import col

from wattgate.db import models
from wattgate.db.models import Resource, VirtualEntityResource
from wattgate.db.rows.rows import Rows
from wattgate.errors import BadInput, Conflict, NotFound, Problem, TooLarge
from wattgate.operations.core.home_events import emit_home_changed, emit_resources_changed
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described
from wattgate.values.stored_json import UnstorableJson, check_json


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
    if problems := await find_problems(call.rows, home.owner_id, [resource_id], ("resourceId",)):
        raise BadInput("The resource cannot join the home. See `problems`.", problems=problems)
    if resource_id in joined:
        raise Conflict(f"Resource {resource_id} is in home {ve_id} already.")
    await add_resources(call.rows, ve_id, [resource_id])
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
    await remove_resources(call.rows, ve_id, [resource_id])
    emit_home_changed(call, ve_id)
    emit_resources_changed(call, [resource_id])
    return home


async def _edit_open_home(call: Call, ve_id: str) -> tuple[models.VirtualEntity, set[str]]:
    """Return the home, locked, and the ids of its resources. Raise Conflict if it is closed."""
    home = await call.rows.edit(models.VirtualEntity, ve_id)
    if not home.active:
        raise closed_home_error(ve_id)
    return home, await load_resource_ids(call.rows, ve_id)


# Attributes of a virtual entity: set and remove them.

MAX_ATTRIBUTES_BYTES = 64 * 1024
"""Maximum size of all attributes of a virtual entity together, as JSON."""


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/virtualentity/{veId}/attribute", Tag.HOMES, status=201),
)
async def set_virtual_entity_attributes(
    call: Call,
    *,
    ve_id: ids.VeId,
    attributes: Annotated[Json, Described("JSON object whose members are added or replaced.")],
) -> models.VirtualEntity:
    """Merge a JSON object into a virtual entity's metadata. Existing members of the same name are replaced.

    The metadata has at most 65,536 bytes of JSON. Remove members that are not used any more.
    """
    if not isinstance(attributes, dict):
        raise BadInput("The attributes must be a JSON object.", problems=[Problem(("attributes",), "is not an object")])
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    entity.attributes = _merge_attributes(entity.attributes, attributes)
    emit_home_changed(call, ve_id)
    return entity


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/virtualentity/{veId}/attribute", Tag.HOMES),
)
async def remove_virtual_entity_attributes(
    call: Call, *, ve_id: ids.VeId, names: Annotated[list[terms.Text200], Described("Names of the members to remove.")]
) -> models.VirtualEntity:
    """Remove members from a virtual entity's metadata. Unknown names are ignored."""
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    removed = frozenset(names)
    entity.attributes = {name: value for name, value in entity.attributes.items() if name not in removed}
    emit_home_changed(call, ve_id)
    return entity


def _merge_attributes(stored: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Return the merged metadata. Raise TooLarge if it grows above its limit; older metadata may be larger."""
    merged = stored | added
    try:
        check_json(merged)
    except UnstorableJson as error:
        raise BadInput(f"The merged attributes cannot be stored: the object {error}.") from None
    size = len(json.dumps(merged))
    if size > MAX_ATTRIBUTES_BYTES and size > len(json.dumps(stored)):
        raise TooLarge(
            f"The attributes would have {size:,} bytes of JSON, and the maximum is {MAX_ATTRIBUTES_BYTES:,}. Remove "
            "members with removeHomeAttributes first."
        )
    return merged


# The resources of homes: check which may join, and change which belong to a home.


def closed_home_error(ve_id: str) -> Conflict:
    """Return the error for a change of the resources of a closed home."""
    return Conflict(f"Home {ve_id} is closed. Open it again with updateVirtualEntity and active: true.")


async def find_problems(
    rows: Rows, owner_id: str, resource_ids: Sequence[str], path: tuple[str, ...], joined: Collection[str] = ()
) -> list[Problem]:
    """Return a problem for each resource that may not join a home of a user.

    It must be one of the user. It must be open, unless it is in the home already.
    """
    known = await rows.get_many(Resource, resource_ids) if resource_ids else {}
    problems = []
    for resource_id in dict.fromkeys(resource_ids):
        resource = known.get(resource_id)
        if resource is None or resource.owner_id != owner_id:
            reason = "belongs to another user" if resource else "does not exist"
        elif not resource.active and resource_id not in joined:
            reason = "is closed"
        else:
            continue
        problems.append(Problem(path, f"{resource_id} {reason}"))
    return problems


async def load_resource_ids(rows: Rows, ve_id: str) -> set[str]:
    """Return the ids of the resources of a home, also of the closed ones."""
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.ve_id) == ve_id)
    return {link.resource_id for link in links}


async def add_resources(rows: Rows, ve_id: str, resource_ids: Collection[str]) -> None:
    """Add resources to a home. They may join it and are not in it."""
    for resource_id in resource_ids:
        await rows.add(VirtualEntityResource(ve_id=ve_id, resource_id=resource_id))


async def remove_resources(rows: Rows, ve_id: str, resource_ids: Collection[str]) -> None:
    """Remove resources from a home."""
    if resource_ids:
        await rows.delete(
            VirtualEntityResource,
            col(VirtualEntityResource.ve_id) == ve_id,
            col(VirtualEntityResource.resource_id).in_(resource_ids),
        )


async def replace_resources(rows: Rows, ve_id: str, resource_ids: Sequence[str], joined: Collection[str]) -> None:
    """Make these the resources of a home, instead of those that are in it. Closed resources stay in it.

    Lists omit closed resources, so a client that sends back what it has read does not name them.
    """
    present = await rows.get_many(Resource, joined) if joined else {}
    open_ids = {resource_id for resource_id, resource in present.items() if resource.active}
    await remove_resources(rows, ve_id, open_ids - set(resource_ids))
    await add_resources(rows, ve_id, [id_ for id_ in dict.fromkeys(resource_ids) if id_ not in joined])
