"""Batch loaders from virtual entities: one result for each entity, with one statement for all."""

from collections.abc import Sequence

from sqlmodel import col

from wattgate.db.models import Device, Resource, VirtualEntity, VirtualEntityResource, VirtualEntityType
from wattgate.db.queries.devices import devices_of_resources
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows

ACTIVE_RESOURCES = Lookup(
    Resource,
    "ve_id",
    via=VirtualEntityResource,
    where=(col(Resource.active).is_(True),),
    order_by=(col(Resource.name), col(Resource.resource_id)),
)


async def resources(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Resource]]:
    """Return the active resources of each virtual entity, sorted by name."""
    by_entity: dict[str, list[Resource]] = {entity.ve_id: [] for entity in virtual_entities}
    for ve_id, resource in await rows.find_linked(ACTIVE_RESOURCES, by_entity):
        by_entity[ve_id].append(resource)
    return [by_entity[entity.ve_id] for entity in virtual_entities]


async def time_zones(rows: Rows, resource_id: str) -> list[str]:
    """Return the time zones of the open homes with a resource, without repetitions."""
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.resource_id) == resource_id)
    homes = await rows.get_many(VirtualEntity, [link.ve_id for link in links])
    return sorted({home.time_zone for home in homes.values() if home.active and home.time_zone})


async def devices(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Device]]:
    """Return the active devices that feed the active resources of each virtual entity, oldest first."""
    resources_by_entity = await resources(rows, virtual_entities)
    unique = {resource.resource_id: resource for owned in resources_by_entity for resource in owned}
    feeding = await devices_of_resources(rows, list(unique.values()))
    device_by_resource = dict(zip(unique, feeding, strict=True))
    results = []
    for owned in resources_by_entity:
        found = [device for resource in owned if (device := device_by_resource[resource.resource_id]) is not None]
        by_id = {device.device_id: device for device in found}
        results.append(sorted(by_id.values(), key=lambda device: (device.created_at, device.device_id)))
    return results


async def types(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[VirtualEntityType]:
    """Return the type of each virtual entity."""
    types_by_id = await rows.get_many(VirtualEntityType, (entity.ve_type_id for entity in virtual_entities))
    return [types_by_id[entity.ve_type_id] for entity in virtual_entities]
