"""Lists of active resources by their type."""

from collections import defaultdict

from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.db import models
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.homes.resources import list_active_resources
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.meters import devices as device_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import GROWING_LIST_SIZE, ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission

COUNTED_RESOURCES_PER_UNIT = 2
"""Number of resources for one unit that `resource_counts` reads."""


@operation(
    OperationKind.QUERY,
    returns=list[device_types.ResourceCount],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/count", Tag.RESOURCES_AND_READINGS),
    result_units=lambda counts: sum(each.count for each in counts) // COUNTED_RESOURCES_PER_UNIT,
)
async def resource_counts(call: Call) -> list[device_types.ResourceCount]:
    """Return the number and IDs of the active resources that the caller may see, by resource type."""
    ids_by_type = defaultdict[str, list[Id]](list)
    for resource in await list_active_resources(call):
        ids_by_type[resource.resource_type_id].append(Id(resource.resource_id))
    return [
        device_types.ResourceCount(resource_type_id=Id(type_id), count=len(ids), resource_id_list=ids)
        for type_id, ids in ids_by_type.items()
    ]


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resourcetype/{resourceTypeId}/resource", Tag.RESOURCE_TYPES),
    sizes=[ListSize(5)],
    in_graphql=("node", "ResourceType", "resources"),
)
async def resource_type_resources(call: Call, *, resource_type_id: ids.ResourceTypeId) -> list[models.Resource]:
    """List the acting user's active resources of a resource type."""
    return await _resources_of_type(call, resource_type_id, col(models.Resource.owner_id) == require_user_id(call))


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resourcetype/{resourceTypeId}/appresource", Tag.RESOURCE_TYPES, scheme=AuthScheme.BASIC),
    sizes=[ListSize(GROWING_LIST_SIZE)],
    in_graphql=("node", "ResourceType", "resources"),
)
async def resource_type_application_resources(
    call: Call, *, resource_type_id: ids.ResourceTypeId
) -> list[models.Resource]:
    """List the active resources of a resource type that the caller may see, of all owners."""
    return await _resources_of_type(call, resource_type_id)


async def _resources_of_type(
    call: Call, resource_type_id: str, *where: ColumnElement[bool] | bool
) -> list[models.Resource]:
    """Return the active resources of a type that meet the conditions, oldest first. Raise NotFound without it."""
    resource_type = await call.rows.get(models.ResourceType, resource_type_id)
    return await call.rows.all(
        models.Resource,
        col(models.Resource.resource_type_id) == resource_type.resource_type_id,
        col(models.Resource.active).is_(True),
        *where,
        order_by=[models.Resource.number],
    )
