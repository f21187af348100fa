"""Resources (metered data series) and their types."""

from collections import defaultdict
from dataclasses import dataclass

import strawberry
from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.db import models
from wattgate.energy import meter_points
from wattgate.energy.storage_fields import Refused, fields_of
from wattgate.errors import BadInput, Forbidden, Problem
from wattgate.graphql.core.cost_weights import GROWING, Size
from wattgate.graphql.core.inputs import values_of
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.resolvers.meter_points import given_number, is_own, resources_at
from wattgate.graphql.resolvers.retention import check_days
from wattgate.graphql.types import devices as device_types
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission, Role, Scheme

COST = ".cost"
"""How the classifier of a resource ends that tells what the energy of another costs."""


@dataclass(frozen=True, slots=True)
class ResourceCount:
    resource_type_id: str
    count: int
    resource_id_list: list[str]


@operation(
    Kind.MUTATION,
    returns=types.ResourceType,
    needs=Permission.RESOURCE_TYPE_WRITE,
    rest=Rest("POST", "/resourcetype", scheme=Scheme.TOKEN, acknowledges=("resourceTypeId",)),
)
async def add_resource_type(call: Call, *, input: types.NewResourceType) -> models.ResourceType:
    """Add a kind of resource to the application."""
    values = values_of(input, models.ResourceType)
    if input.retention_days is not None:
        check_days(input.retention_days, "input", "retentionDays")
    try:
        fields = fields_of(values["storage"])
    except Refused as refused:
        raise BadInput("the storage is not defined", problems=[Problem(("storage",), str(refused))]) from None
    return await call.rows.add(models.ResourceType(**{"base_unit": fields[0].unit, **values}))


@operation(
    Kind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/resource"),
    sizes=[Size(20)],
)
async def resources(call: Call) -> list[models.Resource]:
    """The active resources of the application, or the user's own."""
    return await call.rows.all(
        models.Resource, col(models.Resource.active).is_(True), order_by=[models.Resource.number]
    )


@operation(
    Kind.QUERY,
    returns=types.Resource,
    needs=Permission.RESOURCE_READ,
    rest=(
        Rest("GET", "/resource/{resourceId}"),
        Rest("GET", "/resource/{resourceId}/current", edges=("current",)),
        Rest("GET", "/resource/{resourceId}/first-time", edges=("firstTime",)),
        Rest("GET", "/resource/{resourceId}/last-time", edges=("lastTime",)),
        Rest("GET", "/resource/{resourceId}/tariff", edges=("tariff", "currentRates")),
        Rest("GET", "/resource/{resourceId}/tariff-list", edges=("tariffs",)),
    ),
)
async def resource(call: Call, *, resource_id: strawberry.ID) -> models.Resource:
    """The resource with this id."""
    return await call.rows.get(models.Resource, resource_id)


@operation(
    Kind.QUERY,
    returns=list[device_types.ResourceCount],
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/resource/count"),
)
async def resource_counts(call: Call) -> list[ResourceCount]:
    """How many active resources the application, or the user, has of each resource type, and which."""
    ids = defaultdict[str, list[str]](list)
    for one in await resources.resolver(call):
        ids[one.resource_type_id].append(one.resource_id)
    return [ResourceCount(resource_type_id, len(some), some) for resource_type_id, some in ids.items()]


@operation(
    Kind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/resourcetype/{resourceTypeId}/resource"),
    sizes=[Size(5)],
)
async def resource_type_resources(call: Call, *, resource_type_id: strawberry.ID) -> list[models.Resource]:
    """The user's active resources of a type."""
    return await _of_type(call, resource_type_id, col(models.Resource.owner_id) == owner_of(call))


@operation(
    Kind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/resourcetype/{resourceTypeId}/appresource", scheme=Scheme.BASIC),
    sizes=[Size(GROWING)],
)
async def resource_type_application_resources(call: Call, *, resource_type_id: strawberry.ID) -> list[models.Resource]:
    """The active resources of a type that the caller may see: the application's, whoever owns them."""
    return await _of_type(call, resource_type_id)


@operation(
    Kind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    rest=Rest("POST", "/resource", acknowledges=("resourceId",)),
)
async def add_resource(call: Call, *, input: types.NewResource) -> models.Resource:
    """Add a resource of some type for the user.

    A meter point is named by the application; an account may name only one that it has a resource of already.
    """
    owner_id = owner_of(call)
    if input.mpxn and call.principal.role is Role.ACCOUNT and not await _has(call, input.mpxn):
        raise Forbidden("a new meter point is named by the application, not by its user")
    kinds = await call.rows.many(models.ResourceType, [input.resource_type_id])
    kind = kinds.get(input.resource_type_id)
    if kind is None:
        problem = Problem(("resourceTypeId",), "resourceType does not exist")
        raise BadInput("the resource type does not exist", problems=[problem])
    values = values_of(input, models.Resource)
    values["cost_of"] = await _cost_of(call, input, kind.classifier, owner_id)
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


async def _cost_of(call: Call, given: types.NewResource, classifier: str, owner_id: str) -> str | None:
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
    if not given.mpxn or not classifier.endswith(COST):
        return None
    found = await resources_at(call, meter_points.canonical(given.mpxn))
    energy = [one for one in found if one.owner_id == owner_id and one.classifier == classifier.removesuffix(COST)]
    return energy[0].resource_id if len(energy) == 1 else None


async def _of_type(call: Call, resource_type_id: str, *where: ColumnElement[bool] | bool) -> list[models.Resource]:
    """The active resources of a type of the caller's application that meet the conditions, oldest first."""
    kind = await call.rows.get(models.ResourceType, resource_type_id)
    return await call.rows.all(
        models.Resource,
        col(models.Resource.resource_type_id) == kind.resource_type_id,
        col(models.Resource.active).is_(True),
        *where,
        order_by=[models.Resource.number],
    )


async def _has(call: Call, mpxn: str) -> bool:
    return await is_own(call, given_number(mpxn, "input", "mpxn"))
