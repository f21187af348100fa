"""Resources (metered data series) and their types."""

from collections import defaultdict
from dataclasses import dataclass

import strawberry
from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.db import models
from wattgate.energy import meter_points
from wattgate.energy.storage_fields import StorageError, parse_fields
from wattgate.errors import BadInput, Forbidden, Problem
from wattgate.graphql.core.cost_weights import GROWING_LIST_SIZE, ListSize
from wattgate.graphql.core.inputs import to_column_values
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.owner import require_user_id
from wattgate.graphql.resolvers.meter_points import is_own_meter_point, parse_meter_point, resources_at
from wattgate.graphql.resolvers.retention import check_retention_days
from wattgate.graphql.types import devices as device_types
from wattgate.graphql.types import resources as types
from wattgate.principal import AuthScheme, Permission, Role

COST_SUFFIX = ".cost"
"""How the classifier of a resource ends that tells what the energy of another costs."""


@dataclass(frozen=True, slots=True)
class ResourceCount:
    resource_type_id: str
    count: int
    resource_id_list: list[str]


@operation(
    OperationKind.MUTATION,
    returns=types.ResourceType,
    needs=Permission.RESOURCE_TYPE_WRITE,
    rest=RestRoute("POST", "/resourcetype", scheme=AuthScheme.TOKEN, acknowledged_fields=("resourceTypeId",)),
)
async def add_resource_type(call: Call, *, input: types.NewResourceType) -> models.ResourceType:
    """Add a resource type to the application."""
    values = to_column_values(input, models.ResourceType)
    if input.retention_days is not None:
        check_retention_days(input.retention_days, "input", "retentionDays")
    try:
        fields = parse_fields(values["storage"])
    except StorageError as refused:
        raise BadInput("the storage is not defined", problems=[Problem(("storage",), str(refused))]) from None
    return await call.rows.add(models.ResourceType(**{"base_unit": fields[0].unit, **values}))


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource"),
    sizes=[ListSize(20)],
)
async def resources(call: Call) -> list[models.Resource]:
    """List the active resources that the caller may see."""
    return await call.rows.all(
        models.Resource, col(models.Resource.active).is_(True), order_by=[models.Resource.number]
    )


@operation(
    OperationKind.QUERY,
    returns=types.Resource,
    needs=Permission.RESOURCE_READ,
    rest=(
        RestRoute("GET", "/resource/{resourceId}"),
        RestRoute("GET", "/resource/{resourceId}/current", edges=("current",)),
        RestRoute("GET", "/resource/{resourceId}/first-time", edges=("firstTime",)),
        RestRoute("GET", "/resource/{resourceId}/last-time", edges=("lastTime",)),
        RestRoute("GET", "/resource/{resourceId}/tariff", edges=("tariff", "currentRates")),
        RestRoute("GET", "/resource/{resourceId}/tariff-list", edges=("tariffs",)),
    ),
)
async def resource(call: Call, *, resource_id: strawberry.ID) -> models.Resource:
    """Return the resource with this ID."""
    return await call.rows.get(models.Resource, resource_id)


@operation(
    OperationKind.QUERY,
    returns=list[device_types.ResourceCount],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/count"),
)
async def resource_counts(call: Call) -> list[ResourceCount]:
    """Return the number and IDs of the active resources that the caller may see, by resource type."""
    ids = defaultdict[str, list[str]](list)
    for one in await resources.resolver(call):
        ids[one.resource_type_id].append(one.resource_id)
    return [ResourceCount(resource_type_id, len(some), some) for resource_type_id, some in ids.items()]


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resourcetype/{resourceTypeId}/resource"),
    sizes=[ListSize(5)],
)
async def resource_type_resources(call: Call, *, resource_type_id: strawberry.ID) -> list[models.Resource]:
    """List the acting user's active resources of a resource type."""
    return await _resources_of_type(call, resource_type_id, col(models.Resource.owner_id) == require_user_id(call))


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resourcetype/{resourceTypeId}/appresource", scheme=AuthScheme.BASIC),
    sizes=[ListSize(GROWING_LIST_SIZE)],
)
async def resource_type_application_resources(call: Call, *, resource_type_id: strawberry.ID) -> list[models.Resource]:
    """List the active resources of a resource type that the caller may see, of all owners."""
    return await _resources_of_type(call, resource_type_id)


@operation(
    OperationKind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    rest=RestRoute("POST", "/resource", acknowledged_fields=("resourceId",)),
)
async def add_resource(call: Call, *, input: types.NewResource) -> models.Resource:
    """Add a resource for the acting user.

    An application may set any meter point. An account may set only a meter point of one of its user's resources.
    """
    owner_id = require_user_id(call)
    if input.mpxn and call.principal.role is Role.ACCOUNT and not await _has_resource_at(call, input.mpxn):
        raise Forbidden("a new meter point is named by the application, not by its user")
    kinds = await call.rows.get_many(models.ResourceType, [input.resource_type_id])
    kind = kinds.get(input.resource_type_id)
    if kind is None:
        problem = Problem(("resourceTypeId",), "resourceType does not exist")
        raise BadInput("the resource type does not exist", problems=[problem])
    values = to_column_values(input, models.Resource)
    values["cost_of"] = await _find_cost_source(call, input, kind.classifier, owner_id)
    values["data_source_resource_type_info"] = (
        input.data_source_resource_type_info or kind.data_source_resource_type_info
    )
    return await call.rows.add(
        models.Resource(
            owner_id=owner_id,
            classifier=kind.classifier,
            base_unit=kind.base_unit,
            storage=kind.storage,
            data_source_type=kind.data_source_type,
            **values,
        )
    )


async def _find_cost_source(call: Call, given: types.NewResource, classifier: str, owner_id: str) -> str | None:
    """The resource whose cost a new one tells: as it is given, or else found by classifier and meter point."""
    if given.cost_of is None:
        return None
    own = col(models.Resource.owner_id) == owner_id
    if given.cost_of is not strawberry.UNSET:
        named = await call.rows.first(models.Resource, col(models.Resource.resource_id) == given.cost_of, own)
        if named is None or named.cost_of:
            reason = "tells a cost itself" if named else f"{given.cost_of} does not exist"
            raise BadInput("there is no such consumption", problems=[Problem(("input", "costOf"), reason)])
        return named.resource_id
    if not given.mpxn or not classifier.endswith(COST_SUFFIX):
        return None
    found = await resources_at(call, meter_points.canonical_meter_point(given.mpxn))
    energy = [
        one for one in found if one.owner_id == owner_id and one.classifier == classifier.removesuffix(COST_SUFFIX)
    ]
    return energy[0].resource_id if len(energy) == 1 else None


async def _resources_of_type(
    call: Call, resource_type_id: str, *where: ColumnElement[bool] | bool
) -> list[models.Resource]:
    """The active resources of a type of the caller's application that meet the conditions, oldest first."""
    kind = await call.rows.get(models.ResourceType, resource_type_id)
    return await call.rows.all(
        models.Resource,
        col(models.Resource.resource_type_id) == kind.resource_type_id,
        col(models.Resource.active).is_(True),
        *where,
        order_by=[models.Resource.number],
    )


async def _has_resource_at(call: Call, mpxn: str) -> bool:
    return await is_own_meter_point(call, parse_meter_point(mpxn, "input", "mpxn"))
