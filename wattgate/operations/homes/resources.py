"""Resources (metered data series): read and add them."""

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.series.tariffs import COST_SUFFIX
from wattgate.energy.meters import meter_points
from wattgate.energy.storage_fields import StorageDefinition, is_learning, parse_fields, with_grid
from wattgate.errors import BadInput, ConsentRevoked, Forbidden, Problem
from wattgate.operations.consent.consent_records import lock_consent_gaps, record_provisioned_consent
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.devices.meter_points import is_own_meter_point, resources_at
from wattgate.operations.tenancies.tenancies import begin_tenancy
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission


@operation(
    OperationKind.QUERY,
    returns=list[types.Resource],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource", Tag.RESOURCES_AND_READINGS),
    sizes=[ListSize(20)],
    in_graphql=("viewer", "resources"),
)
async def resources(call: Call) -> list[models.Resource]:
    """List the active resources that the caller may see."""
    return await list_active_resources(call)


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
    raises=(ConsentRevoked,),
)
async def resource(call: Call, *, resource_id: ids.ResourceId) -> models.Resource:
    """Return the resource with this ID."""
    return await call.rows.get(models.Resource, resource_id)


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
            storage=await _initial_storage(call, resource_type, values["cost_of"]),
            data_source_type=resource_type.data_source_type,
            owned_from=owned_from,
            consent_gaps=await lock_consent_gaps(call, owner_id, mpxn, values["cost_of"]),
            **values,
        )
    )


async def _initial_storage(
    call: Call, resource_type: models.ResourceType, cost_of: str | None
) -> tuple[StorageDefinition, ...]:
    """Return the storage of a new resource. Costs have the interval of their energy, if that is known."""
    storage = resource_type.storage
    if cost_of is None or not is_learning(storage):
        return storage
    source = await call.rows.get(models.Resource, cost_of)
    energy = parse_fields(source.storage)[0]
    if energy.is_learning or energy.interval_ms is None:
        return storage
    name = parse_fields(storage)[0].name
    return with_grid(storage, name, energy.interval_ms, energy.start_ms % energy.interval_ms)


async def list_active_resources(call: Call) -> list[models.Resource]:
    """Return the active resources that the caller may see."""
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
    if input.cost_of is not UNSET:
        source = await call.rows.first(models.Resource, col(models.Resource.resource_id) == input.cost_of, own)
        if source is None:
            raise _invalid_cost_source(f"{input.cost_of} does not exist")
        _check_cost_source(source, input.mpxn)
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


def _check_cost_source(source: models.Resource, mpxn: str | None) -> None:
    """Raise BadInput if a resource cannot be the source of costs at a meter point, or at none.

    Costs move with their source. At another meter point, they would move to a household that does not live there.
    """
    if source.cost_of:
        raise _invalid_cost_source("holds costs itself")
    of_costs, of_source = [meter_points.canonical_meter_point(number or "") for number in (mpxn, source.mpxn)]
    if of_costs and of_costs != of_source:
        at = f"is at meter point {of_source}" if of_source else "has no meter point"
        raise _invalid_cost_source(f"{source.resource_id} {at}, and the new resource is at {of_costs}")


def _invalid_cost_source(reason: str) -> BadInput:
    return BadInput("Invalid costOf. See `problems`.", problems=[Problem(("input", "costOf"), reason)])


async def _has_resource_at(call: Call, mpxn: str) -> bool:
    return await is_own_meter_point(call, meter_points.canonical_meter_point(mpxn))
