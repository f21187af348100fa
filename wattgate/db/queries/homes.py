"""Set-wise loaders from virtual entities: one result for each parent, one statement for all."""

from collections import defaultdict
from collections.abc import Sequence

from sqlmodel import col

from wattgate.db.models import Resource, VirtualEntity, VirtualEntityResource, VirtualEntityType
from wattgate.db.rows import Lookup, Rows

LINKS = Lookup(VirtualEntityResource, "ve_id")
ACTIVE_RESOURCES = Lookup(
    Resource,
    "resource_id",
    where=(col(Resource.active).is_(True),),
    order_by=(col(Resource.name), col(Resource.resource_id)),
)


async def resources(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Resource]]:
    """The active resources that belong to each virtual entity, by name."""
    wanted = {entity.ve_id for entity in virtual_entities}
    links = await rows.by(LINKS, wanted)
    found = await rows.by(ACTIVE_RESOURCES, {link.resource_id for link in links})
    homes = defaultdict(set)
    for link in links:
        homes[link.resource_id].add(link.ve_id)
    by_entity: dict[str, list[Resource]] = {ve_id: [] for ve_id in wanted}
    for resource in found:
        for ve_id in homes[resource.resource_id]:
            by_entity[ve_id].append(resource)
    return [by_entity[entity.ve_id] for entity in virtual_entities]


async def types(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[VirtualEntityType]:
    """The type of each virtual entity."""
    found = await rows.many(VirtualEntityType, (entity.ve_type_id for entity in virtual_entities))
    return [found[entity.ve_type_id] for entity in virtual_entities]
