"""Resources (metered data series) and their types."""

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.storage import Refused, fields_of
from wattgate.errors import BadInput, Problem
from wattgate.graphql.inputs import values_of
from wattgate.graphql.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.owner import owner_of
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission, Scheme


@operation(
    Kind.MUTATION,
    returns=types.ResourceType,
    needs=Permission.RESOURCE_TYPE_WRITE,
    rest=Rest("POST", "/resourcetype", scheme=Scheme.TOKEN, acknowledges=("resourceTypeId",)),
)
async def add_resource_type(call: Call, *, input: types.NewResourceType) -> models.ResourceType:
    """Add a kind of resource to the application."""
    values = values_of(input, models.ResourceType)
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
        Rest("GET", "/resource/{resourceId}/tariff", edges=("tariff",)),
    ),
)
async def resource(call: Call, *, resource_id: strawberry.ID) -> models.Resource:
    """The resource with this id."""
    return await call.rows.get(models.Resource, resource_id)


@operation(
    Kind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    rest=Rest("POST", "/resource", acknowledges=("resourceId",)),
)
async def add_resource(call: Call, *, input: types.NewResource) -> models.Resource:
    """Add a resource of some type for the user."""
    owner_id = owner_of(call)
    kinds = await call.rows.many(models.ResourceType, [input.resource_type_id])
    kind = kinds.get(input.resource_type_id)
    if kind is None:
        problem = Problem(("resourceTypeId",), "resourceType does not exist")
        raise BadInput("the resource type does not exist", problems=[problem])
    values = values_of(input, models.Resource)
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
