"""The virtual entity system: homes, their metadata and their kinds."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.cost_weights import Size
from wattgate.graphql.core.inputs import change, values_of
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types import virtual_entities as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, HomeChanged


@dataclass(frozen=True, slots=True)
class ResourceOptions:
    resource_type_id: str
    required: bool
    options: list[models.Resource]


@dataclass(frozen=True, slots=True)
class Satisfaction:
    ve_type_id: str
    owner_id: str
    application_id: str
    resources: list[ResourceOptions]
    selection_needed: bool


@dataclass(frozen=True, slots=True)
class NewVirtualEntities:
    p1d: int
    p1w: int
    p1m: int


@dataclass(frozen=True, slots=True)
class Statistics:
    application_id: str
    total_virtual_entities: int
    new_virtual_entities: NewVirtualEntities


@operation(
    Kind.QUERY,
    returns=list[types.VirtualEntity],
    needs=Permission.VIRTUAL_ENTITY_READ,
    rest=Rest("GET", "/virtualentity", edges=("resources",)),
    sizes=[Size(5)],
)
async def virtual_entities(call: Call) -> list[models.VirtualEntity]:
    """The active virtual entities of the application, or the user's own."""
    return await call.rows.all(
        models.VirtualEntity,
        col(models.VirtualEntity.active).is_(True),
        order_by=[models.VirtualEntity.created_at],
    )


@operation(
    Kind.QUERY,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_READ,
    rest=(
        Rest("GET", "/virtualentity/{veId}", edges=("resources",)),
        Rest("GET", "/virtualentity/{veId}/resources", edges=("resources",)),
        Rest("GET", "/virtualentity/{veId}/attribute"),
    ),
)
async def virtual_entity(call: Call, *, ve_id: strawberry.ID) -> models.VirtualEntity:
    """The virtual entity with this id."""
    return await call.rows.get(models.VirtualEntity, ve_id)


@operation(
    Kind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    rest=Rest("POST", "/virtualentity", status=201, acknowledges=("veId",)),
)
async def add_virtual_entity(call: Call, *, input: types.NewVirtualEntity) -> models.VirtualEntity:
    """Add a virtual entity for the user, with the resources that belong to it."""
    owner_id = owner_of(call)
    wanted = [owned.resource_id for owned in input.resources]
    problems = [
        *await _unknown(call, models.VirtualEntityType, [input.ve_type_id], ("veTypeId",)),
        *await _unknown(call, models.Resource, wanted, ("resources",)),
        *_zone_problems(input.time_zone),
    ]
    if problems:
        raise BadInput("the virtual entity refers to what does not exist", problems=problems)
    values = values_of(input, models.VirtualEntity, leave_out={"resources"})
    added = await call.rows.add(models.VirtualEntity(owner_id=owner_id, **values))
    for resource_id in dict.fromkeys(wanted):
        await call.rows.add(models.VirtualEntityResource(ve_id=added.ve_id, resource_id=resource_id))
    return added


@operation(
    Kind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    rest=Rest("PUT", "/virtualentity/{veId}", status=201, acknowledges=("veId",)),
)
async def update_virtual_entity(
    call: Call, *, ve_id: strawberry.ID, input: types.VirtualEntityChange
) -> models.VirtualEntity:
    """Change a virtual entity; what is left out stays as it is."""
    if problems := _zone_problems(input.time_zone):
        raise BadInput("the virtual entity cannot be so", problems=problems)
    call.emit(_changed(ve_id))
    return change(await call.rows.edit(models.VirtualEntity, ve_id), input)


@operation(
    Kind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    rest=Rest("DELETE", "/virtualentity/{veId}", edges=("resources",)),
)
async def deactivate_virtual_entity(call: Call, *, ve_id: strawberry.ID) -> models.VirtualEntity:
    """Deactivate a virtual entity: it is no longer listed. The record and its readings stay."""
    closed = await call.rows.edit(models.VirtualEntity, ve_id)
    closed.active = False
    call.emit(_changed(ve_id))
    return closed


@operation(
    Kind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    rest=Rest("POST", "/virtualentity/{veId}/attribute", status=201),
)
async def set_virtual_entity_attributes(call: Call, *, ve_id: strawberry.ID, attributes: Json) -> models.VirtualEntity:
    """Merge an object into a virtual entity's metadata: its members are added or replace those of their name."""
    if not isinstance(attributes, dict):
        raise BadInput("metadata is an object", problems=[Problem(("attributes",), "is not an object")])
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    entity.attributes = entity.attributes | attributes
    call.emit(_changed(ve_id))
    return entity


@operation(
    Kind.MUTATION,
    returns=types.VirtualEntity,
    needs=Permission.VIRTUAL_ENTITY_WRITE,
    rest=Rest("DELETE", "/virtualentity/{veId}/attribute"),
)
async def remove_virtual_entity_attributes(
    call: Call, *, ve_id: strawberry.ID, names: list[str]
) -> models.VirtualEntity:
    """Remove members of a virtual entity's metadata by name; names it does not have are passed over."""
    entity = await call.rows.edit(models.VirtualEntity, ve_id)
    entity.attributes = {name: value for name, value in entity.attributes.items() if name not in names}
    call.emit(_changed(ve_id))
    return entity


@operation(
    Kind.QUERY,
    returns=types.Satisfaction,
    needs=Permission.RESOURCE_READ,
    rest=Rest("GET", "/vetype/{veTypeId}/resources"),
)
async def virtual_entity_type_resources(call: Call, *, ve_type_id: strawberry.ID) -> Satisfaction:
    """Which of the user's resources satisfy the resource types of a kind of virtual entity."""
    owner_id = owner_of(call)
    kind = await call.rows.get(models.VirtualEntityType, ve_type_id)
    found = await call.rows.all(
        models.Resource,
        col(models.Resource.owner_id) == owner_id,
        col(models.Resource.active).is_(True),
        col(models.Resource.resource_type_id).in_([wanted.resource_type_id for wanted in kind.resources]),
        order_by=[models.Resource.name],
    )
    options = [
        ResourceOptions(
            wanted.resource_type_id,
            wanted.required,
            [one for one in found if one.resource_type_id == wanted.resource_type_id],
        )
        for wanted in kind.resources
    ]
    ambiguous = any(len(option.options) > 1 for option in options)
    return Satisfaction(kind.ve_type_id, owner_id, kind.application_id, options, ambiguous)


@operation(
    Kind.QUERY,
    returns=types.ApplicationStatistics,
    needs=Permission.STATISTICS_READ,
    rest=Rest("GET", "/vesys/appstats"),
)
async def application_statistics(call: Call) -> Statistics:
    """How many active virtual entities the application has, and how many of them are new."""
    active = col(models.VirtualEntity.active).is_(True)

    async def since(days: int) -> int:
        start = call.rows.now - timedelta(days=days)
        return await call.rows.count(models.VirtualEntity, active, col(models.VirtualEntity.created_at) >= start)

    return Statistics(
        call.rows.application_id,
        await call.rows.count(models.VirtualEntity, active),
        NewVirtualEntities(p1d=await since(1), p1w=await since(7), p1m=await since(30)),
    )


def _changed(ve_id: str) -> Event:
    return Event(topics.homes(ve_id), ve_id, HomeChanged(ve_id))


async def _unknown(
    call: Call, model: type[models.Tenanted], ids: Iterable[str], path: tuple[str, ...]
) -> list[Problem]:
    """A problem for each id that names no record the caller may see."""
    wanted = list(ids)
    known = await call.rows.many(model, wanted) if wanted else {}
    return [Problem(path, f"{id_} does not exist") for id_ in wanted if id_ not in known]


def _zone_problems(name: str | None) -> list[Problem]:
    if not name:
        return []
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return [Problem(("timeZone",), f"{name} is not an IANA time zone")]
    return []
