"""Set-wise loaders from virtual entities: one result for each parent, one statement for all."""

from collections.abc import Sequence

from sqlmodel import col

from wattgate.db.models import Resource, VirtualEntity, VirtualEntityResource, VirtualEntityType
from wattgate.db.rows import Lookup, Rows

ACTIVE_RESOURCES = Lookup(
    Resource,
    "ve_id",
    via=VirtualEntityResource,
    where=(col(Resource.active).is_(True),),
    order_by=(col(Resource.name), col(Resource.resource_id)),
)


async def resources(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Resource]]:
    """The active resources that belong to each virtual entity, by name."""
    by_entity: dict[str, list[Resource]] = {entity.ve_id: [] for entity in virtual_entities}
    for ve_id, resource in await rows.linked(ACTIVE_RESOURCES, by_entity):
        by_entity[ve_id].append(resource)
    return [by_entity[entity.ve_id] for entity in virtual_entities]


async def types(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[VirtualEntityType]:
    """The type of each virtual entity."""
    found = await rows.many(VirtualEntityType, (entity.ve_type_id for entity in virtual_entities))
    return [found[entity.ve_type_id] for entity in virtual_entities]
