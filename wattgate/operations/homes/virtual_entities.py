"""Virtual entities (homes) and their types."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from sqlmodel import col

from wattgate.db import models
from wattgate.errors import BadInput, Conflict, Problem, QuotaExceeded
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.home_events import emit_home_changed, emit_resources_changed
from wattgate.operations.core.input_limits import apply_input, to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_home
from wattgate.operations.homes import home_resources
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET, Id
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.time_zones import time_zone_problem


@dataclass(frozen=True, slots=True)
class ResourceOptionsResult:
    resource_type_id: str
    required: bool
    options: list[models.Resource]


@dataclass(frozen=True, slots=True)
class SatisfactionResult:
    ve_type_id: str
    owner_id: str
    application_id: str
    resources: list[ResourceOptionsResult]
    selection_needed: bool


@operation(
    OperationKind.QUERY,
    returns=list[types.VirtualEntity],
    needs=Permission.VIRTUAL_ENTITY_READ,
    rest=RestRoute("GET", "/virtualentity", Tag.HOMES, edges=("resources",)),
    sizes=[ListSize(5)],
    in_graphql=("viewer", "homes"),
)
async def virtual_entities(call: Call) -> list[models.VirtualEntity]:
    """List the active virtual entities that the caller may see, oldest first."""
    return await call.rows.all(
        models.VirtualEntity,
        col(models.VirtualEntity.active).is_(True),
        order_by=[models.VirtualEntity.created_at],
    )


@operation(
    OperationKind.QUERY,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_READ,
    rest=(
        RestRoute("GET", "/virtualentity/{veId}", Tag.HOMES, edges=("resources",)),
        RestRoute(
            "GET",
            "/virtualentity/{veId}/resources",
            Tag.HOMES,
            edges=("resources",),
            summary="Return a virtual entity with the records of its resources.",
        ),
        RestRoute(
            "GET", "/virtualentity/{veId}/attribute", Tag.HOMES, summary="Return the attributes of a virtual entity."
        ),
    ),
)
async def virtual_entity(call: Call, *, ve_id: ids.VeId) -> models.VirtualEntity:
    """Return the virtual entity with this ID."""
    return await call.rows.get(models.VirtualEntity, ve_id)


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/virtualentity", Tag.HOMES, status=201, acknowledged_fields=("veId",)),
)
async def add_virtual_entity(call: Call, *, input: types.NewVirtualEntity) -> models.VirtualEntity:
    """Add a virtual entity for the acting user and assign resources to it."""
    owner_id = require_user_id(call)
    resource_ids = [owned.resource_id for owned in input.resources]
    problems = [
        *await _unknown_reference_problems(call, models.VirtualEntityType, [input.ve_type_id], ("input", "veTypeId")),
        *await home_resources.find_problems(call.rows, owner_id, resource_ids, ("input", "resources")),
        *_time_zone_problems(input.time_zone),
    ]
    if problems:
        raise BadInput("Invalid home. See `problems`.", problems=problems)
    values = to_column_values(input, models.VirtualEntity, exclude={"resources"})
    added = await call.rows.add(models.VirtualEntity(owner_id=owner_id, **values))
    await home_resources.add_resources(call.rows, added.ve_id, dict.fromkeys(resource_ids))
    return added


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("PUT", "/virtualentity/{veId}", Tag.HOMES, status=201, acknowledged_fields=("veId",)),
    raises=(Conflict, QuotaExceeded),
)
async def update_virtual_entity(
    call: Call, *, ve_id: ids.VeId, input: types.VirtualEntityChange
) -> models.VirtualEntity:
    """Change a virtual entity, close it or open it again. Omitted fields keep their values.

    The resources of a closed one do not change until it is open again.
    """
    if problems := _time_zone_problems(input.time_zone):
        raise BadInput("Invalid home. See `problems`.", problems=problems)
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    was_active = entity.active
    apply_input(entity, input, exclude={"resources"})
    if input.resources is None:
        problem = Problem(("input", "resources"), "must not be null")
        raise BadInput("A required value is null. See `problems`.", problems=[problem])
    if input.resources is not UNSET:
        if not (was_active or entity.active):
            raise home_resources.closed_home_error(ve_id)
        await _replace_resources(call, entity, [owned.resource_id for owned in input.resources])
    if not entity.active:
        await end_home(call, call.rows, ve_id)
    emit_home_changed(call, ve_id)
    return entity


async def _replace_resources(call: Call, entity: models.VirtualEntity, resource_ids: list[Id]) -> None:
    joined = await home_resources.load_resource_ids(call.rows, entity.ve_id)
    path = ("input", "resources")
    if problems := await home_resources.find_problems(call.rows, entity.owner_id, resource_ids, path, joined):
        raise BadInput("Invalid home. See `problems`.", problems=problems)
    await home_resources.replace_resources(call.rows, entity.ve_id, resource_ids, joined)
    emit_resources_changed(call, set(joined) - set(resource_ids))


@operation(
    OperationKind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("DELETE", "/virtualentity/{veId}", Tag.HOMES, edges=("resources",)),
)
async def deactivate_virtual_entity(call: Call, *, ve_id: ids.VeId) -> models.VirtualEntity:
    """Close a virtual entity, so that lists omit it. The record and its readings are kept.

    `updateVirtualEntity` with `active: true` opens it again.
    """
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    entity.active = False
    await end_home(call, call.rows, ve_id)
    emit_home_changed(call, ve_id)
    return entity


@operation(
    OperationKind.QUERY,
    returns=types.Satisfaction,
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/vetype/{veTypeId}/resources", Tag.HOME_TYPES),
)
async def virtual_entity_type_resources(call: Call, *, ve_type_id: ids.VeTypeId) -> SatisfactionResult:
    """Return the acting user's active resources for each resource type of a virtual entity type."""
    owner_id = require_user_id(call)
    entity_type = await call.rows.get(models.VirtualEntityType, ve_type_id)
    resources = await call.rows.all(
        models.Resource,
        col(models.Resource.owner_id) == owner_id,
        col(models.Resource.active).is_(True),
        col(models.Resource.resource_type_id).in_([wanted.resource_type_id for wanted in entity_type.resources]),
        order_by=[models.Resource.name],
    )
    by_type: dict[str, list[models.Resource]] = {}
    for resource in resources:
        by_type.setdefault(resource.resource_type_id, []).append(resource)
    options = [
        ResourceOptionsResult(wanted.resource_type_id, wanted.required, by_type.get(wanted.resource_type_id, []))
        for wanted in entity_type.resources
    ]
    ambiguous = any(len(option.options) > 1 for option in options)
    return SatisfactionResult(entity_type.ve_type_id, owner_id, entity_type.application_id, options, ambiguous)


@operation(
    OperationKind.QUERY,
    returns=types.ApplicationStatistics,
    needs=Permission.STATISTICS_READ,
    rest=RestRoute("GET", "/vesys/appstats", Tag.HOME_STATISTICS),
    weight=100,
)
async def application_statistics(call: Call) -> types.ApplicationStatistics:
    """Return the numbers of active virtual entities of the application."""
    active = col(models.VirtualEntity.active).is_(True)

    async def since(days: int) -> int:
        start = call.rows.now - timedelta(days=days)
        return await call.rows.count(models.VirtualEntity, active, col(models.VirtualEntity.created_at) >= start)

    return types.ApplicationStatistics(
        application_id=Id(call.rows.application_id),
        total_virtual_entities=await call.rows.count(models.VirtualEntity, active),
        new_virtual_entities=types.NewVirtualEntities(p1d=await since(1), p1w=await since(7), p1m=await since(30)),
    )


async def _unknown_reference_problems(
    call: Call, model: type[models.Tenanted], ids: Iterable[str], path: tuple[str, ...]
) -> list[Problem]:
    """Return a problem for each id without a record that the caller may see."""
    requested = list(ids)
    known = await call.rows.get_many(model, requested) if requested else {}
    return [Problem(path, f"{id_} does not exist") for id_ in requested if id_ not in known]


def _time_zone_problems(name: str | None) -> list[Problem]:
    problem = None if name is None or name is UNSET else time_zone_problem(name)
    return [Problem(("input", "timeZone"), problem)] if problem else []
