"""Resources (metered data series) and their types: list and add them."""

from collections import defaultdict

import strawberry
from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.tariffs import COST_SUFFIX
from wattgate.energy import meter_points
from wattgate.energy.storage_fields import StorageError, parse_fields
from wattgate.errors import BadInput, Forbidden, Problem
from wattgate.graphql.core import ids
from wattgate.graphql.core.acting_user import require_user_id
from wattgate.graphql.core.cost_weights import GROWING_LIST_SIZE, ListSize
from wattgate.graphql.core.inputs import to_column_values
from wattgate.graphql.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.tags import Tag
from wattgate.graphql.resolvers.meter_points import is_own_meter_point, resources_at
from wattgate.graphql.resolvers.retention import check_retention_days
from wattgate.graphql.services.consent_records import lock_consent_gaps, record_provisioned_consent
from wattgate.graphql.services.tenancies import begin_tenancy
from wattgate.graphql.types import devices as device_types
from wattgate.graphql.types import resources as types
from wattgate.principal import AuthScheme, Permission

COUNTED_RESOURCES_PER_UNIT = 2
"""Number of resources for one unit that `resource_counts` reads."""


@operation(
    OperationKind.MUTATION,
    returns=types.ResourceType,
    needs=Permission.RESOURCE_TYPE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute(
        "POST",
        "/resourcetype",
        Tag.RESOURCE_TYPES,
        scheme=AuthScheme.TOKEN,
        accepts_any_scheme=True,
        acknowledged_fields=("resourceTypeId",),
    ),
)
async def add_resource_type(call: Call, *, input: types.NewResourceType) -> models.ResourceType:
    """Add a resource type to the application."""
    values = to_column_values(input, models.ResourceType)
    if input.retention_days is not None:
        check_retention_days(input.retention_days, "input", "retentionDays")
    try:
        fields = parse_fields(values["storage"])
    except StorageError as refused:
        raise BadInput(
            "Invalid storage definition. See `problems`.", problems=[Problem(("storage",), str(refused))]
        ) from None
    return await call.rows.add(models.ResourceType(**{"base_unit": fields[0].unit, **values}))


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource", Tag.RESOURCES_AND_READINGS),
    sizes=[ListSize(20)],
    deprecation="Use `viewer { resources }` or `application { resources }`.",
)
async def resources(call: Call) -> list[models.Resource]:
    """List the active resources that the caller may see."""
    return await _list_active_resources(call)


@operation(
    OperationKind.QUERY,
    returns=types.Resource,
    needs=Permission.RESOURCE_READ,
    rest=(
        RestRoute("GET", "/resource/{resourceId}", Tag.RESOURCES_AND_READINGS),
        RestRoute(
            "GET",
            "/resource/{resourceId}/current",
            Tag.RESOURCES_AND_READINGS,
            edges=("current", "noCurrentReason"),
            summary="Return the newest reading of a resource.",
        ),
        RestRoute(
            "GET",
            "/resource/{resourceId}/first-time",
            Tag.RESOURCES_AND_READINGS,
            edges=("firstTime",),
            summary="Return the instant of the first reading of a resource.",
        ),
        RestRoute(
            "GET",
            "/resource/{resourceId}/last-time",
            Tag.RESOURCES_AND_READINGS,
            edges=("lastTime",),
            summary="Return the instant of the last reading of a resource.",
        ),
        RestRoute(
            "GET",
            "/resource/{resourceId}/tariff",
            Tag.RESOURCES_AND_READINGS,
            edges=("tariff", "currentRates"),
            summary="Return the tariff of a resource, with its present rates.",
        ),
        RestRoute(
            "GET",
            "/resource/{resourceId}/tariff-list",
            Tag.RESOURCES_AND_READINGS,
            edges=("tariffs",),
            summary="List the tariffs of a resource that came into force until now, newest first.",
        ),
    ),
)
async def resource(call: Call, *, resource_id: ids.ResourceId) -> models.Resource:
    """Return the resource with this ID."""
    return await call.rows.get(models.Resource, resource_id)


@operation(
    OperationKind.QUERY,
    returns=list[device_types.ResourceCount],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/count", Tag.RESOURCES_AND_READINGS),
    result_units=lambda counts: sum(each.count for each in counts) // COUNTED_RESOURCES_PER_UNIT,
)
async def resource_counts(call: Call) -> list[device_types.ResourceCount]:
    """Return the number and IDs of the active resources that the caller may see, by resource type."""
    ids_by_type = defaultdict[str, list[strawberry.ID]](list)
    for resource in await _list_active_resources(call):
        ids_by_type[resource.resource_type_id].append(strawberry.ID(resource.resource_id))
    return [
        device_types.ResourceCount(resource_type_id=strawberry.ID(type_id), count=len(ids), resource_id_list=ids)
        for type_id, ids in ids_by_type.items()
    ]


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resourcetype/{resourceTypeId}/resource", Tag.RESOURCE_TYPES),
    sizes=[ListSize(5)],
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
    deprecation="Use `resourceType { resources }`.",
)
async def resource_type_application_resources(
    call: Call, *, resource_type_id: ids.ResourceTypeId
) -> list[models.Resource]:
    """List the active resources of a resource type that the caller may see, of all owners."""
    return await _resources_of_type(call, resource_type_id)


@operation(
    OperationKind.MUTATION,
    returns=types.Resource,
    needs=Permission.RESOURCE_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/resource", Tag.RESOURCES_AND_READINGS, acknowledged_fields=("resourceId",)),
)
async def add_resource(call: Call, *, input: types.NewResource) -> models.Resource:
    """Add a resource for the acting user.

    An application may set any meter point at which no other user lives, and relies on the user's consent, which is
    recorded if there is none. With `movedInAt`, another user who lives there moves out at that instant. An account may
    set only a meter point of one of its user's resources.
    """
    owner_id = require_user_id(call)
    mpxn = (meter_points.stored_meter_point(input.mpxn) or None) if input.mpxn else None
    if input.moved_in_at is not None and call.principal.sees_own_records_only:
        raise Forbidden("Only the application may say when a user moved in.")
    if mpxn and call.principal.sees_own_records_only and not await _has_resource_at(call, mpxn):
        raise Forbidden("Only the application may add a resource at a new meter point.")
    resource_types = await call.rows.get_many(models.ResourceType, [input.resource_type_id])
    resource_type = resource_types.get(input.resource_type_id)
    if resource_type is None:
        problem = Problem(("resourceTypeId",), "resourceType does not exist")
        raise BadInput(f"Unknown resource type {input.resource_type_id!r}. See `problems`.", problems=[problem])
    values = to_column_values(input, models.Resource, exclude={"moved_in_at"})
    values["mpxn"] = mpxn
    values["cost_of"] = await _find_cost_source(call, input, resource_type.classifier, owner_id)
    values["data_source_resource_type_info"] = (
        input.data_source_resource_type_info or resource_type.data_source_resource_type_info
    )
    owned_from = await begin_tenancy(call, owner_id, mpxn, input.moved_in_at, "input", "movedInAt")
    await record_provisioned_consent(call, owner_id, mpxn)
    return await call.rows.add(
        models.Resource(
            owner_id=owner_id,
            classifier=resource_type.classifier,
            base_unit=resource_type.base_unit,
            storage=resource_type.storage,
            data_source_type=resource_type.data_source_type,
            owned_from=owned_from,
            consent_gaps=await lock_consent_gaps(call, owner_id, mpxn, values["cost_of"]),
            **values,
        )
    )


async def _list_active_resources(call: Call) -> list[models.Resource]:
    return await call.rows.all(
        models.Resource, col(models.Resource.active).is_(True), order_by=[models.Resource.number]
    )


async def _find_cost_source(call: Call, input: types.NewResource, classifier: str, owner_id: str) -> str | None:
    """Return the id of the resource whose costs a new one holds; None if it holds none.

    The input names that resource. If it does not, the classifier and the meter point identify it.
    """
    if input.cost_of is None:
        return None
    own = col(models.Resource.owner_id) == owner_id
    if input.cost_of is not strawberry.UNSET:
        source = await call.rows.first(models.Resource, col(models.Resource.resource_id) == input.cost_of, own)
        if source is None or source.cost_of:
            reason = "holds costs itself" if source else f"{input.cost_of} does not exist"
            raise BadInput("Invalid costOf. See `problems`.", problems=[Problem(("input", "costOf"), reason)])
        return source.resource_id
    if not input.mpxn or not classifier.endswith(COST_SUFFIX):
        return None
    resources = await resources_at(call, meter_points.canonical_meter_point(input.mpxn))
    sources = [
        resource
        for resource in resources
        if resource.owner_id == owner_id and resource.classifier == classifier.removesuffix(COST_SUFFIX)
    ]
    return sources[0].resource_id if len(sources) == 1 else None


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


async def _has_resource_at(call: Call, mpxn: str) -> bool:
    return await is_own_meter_point(call, meter_points.canonical_meter_point(mpxn))
