"""Attributes of a virtual entity: set and remove them."""

import json
from typing import Annotated, Any

from wattgate.db import models
from wattgate.errors import BadInput, Problem, TooLarge
from wattgate.operations.core.home_events import emit_home_changed
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import Json
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described
from wattgate.values.stored_json import UnstorableJson, check_json

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
            "members with removeVirtualEntityAttributes first."
        )
    return merged
