"""Virtual entities and their types."""

from datetime import datetime

import strawberry

from wattgate.db.queries import displays as display_queries
from wattgate.db.queries import virtual_entities as queries
from wattgate.graphql.core.cost_weights import DISPLAY, Size
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types.displays import Display
from wattgate.graphql.types.resources import Resource
from wattgate.principal import Permission


@strawberry.type(description="A resource type that virtual entities of some type have or may have.")
class WantedResource:
    resource_type_id: strawberry.ID
    required: bool


@strawberry.type(description="A kind of virtual entity.")
class VirtualEntityType:
    ve_type_id: strawberry.ID
    name: str
    description: str
    application_id: strawberry.ID
    active: bool
    resources: list[WantedResource]


@strawberry.input(description="A resource type that virtual entities of some type have or may have.")
class NewWantedResource:
    resource_type_id: strawberry.ID
    required: bool = False


@strawberry.input(description="A kind of virtual entity to add.")
class NewVirtualEntityType:
    name: str
    description: str = ""
    resources: list[NewWantedResource] = strawberry.field(default_factory=list)


@strawberry.input(description="What may change on a kind of virtual entity.")
class VirtualEntityTypeChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET


@strawberry.type(description="A home: a place of its owner with the resources that belong to it.")
class VirtualEntity:
    ve_id: strawberry.ID
    ve_type_id: strawberry.ID
    application_id: strawberry.ID
    owner_id: strawberry.ID = strawberry.field(description="The user whose home this is.")
    name: str
    description: str | None
    location: str | None
    city: str | None
    country: str | None
    postal_code: str | None
    geo_coordinates: str | None
    open_street_maps_ref: str | None
    time_zone: str | None = strawberry.field(description="The home's IANA time zone.")
    attributes: Json = strawberry.field(description="Free metadata, as an object.")
    clone: bool
    active: bool
    created_at: datetime
    updated_at: datetime
    type: VirtualEntityType = edge(
        queries.types, needs=Permission.VIRTUAL_ENTITY_TYPE_READ, description="The kind of virtual entity."
    )
    resources: list[Resource] = edge(
        queries.resources,
        needs=Permission.RESOURCE_READ,
        sizes=[Size(5)],
        description="The resources that belong to it.",
    )
    display: Display = edge(
        display_queries.displays,
        needs=Permission.READINGS_READ,
        weight=DISPLAY,
        description="All that its in-home display draws now; the subscription of that name tells it live.",
    )


@strawberry.input(description="A resource that belongs to the virtual entity.")
class OwnedResource:
    resource_id: strawberry.ID


@strawberry.input(description="A virtual entity to add for the user for whom the call is made.")
class NewVirtualEntity:
    ve_type_id: strawberry.ID
    name: str
    resources: list[OwnedResource] = strawberry.field(default_factory=list)
    description: str | None = None
    location: str | None = None
    city: str | None = None
    country: str | None = None
    postal_code: str | None = None
    geo_coordinates: str | None = None
    open_street_maps_ref: str | None = None
    time_zone: str | None = None


@strawberry.input(description="What may change on a virtual entity; what is left out stays as it is.")
class VirtualEntityChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    location: str | None = strawberry.UNSET
    city: str | None = strawberry.UNSET
    country: str | None = strawberry.UNSET
    postal_code: str | None = strawberry.UNSET
    geo_coordinates: str | None = strawberry.UNSET
    open_street_maps_ref: str | None = strawberry.UNSET
    time_zone: str | None = strawberry.UNSET


@strawberry.type(description="A resource type of a kind of virtual entity, with the resources that satisfy it.")
class ResourceOptions:
    resource_type_id: strawberry.ID
    required: bool
    options: list[Resource]


@strawberry.type(description="Which of a user's resources satisfy a kind of virtual entity.")
class Satisfaction:
    ve_type_id: strawberry.ID
    owner_id: strawberry.ID
    application_id: strawberry.ID
    resources: list[ResourceOptions]
    selection_needed: bool = strawberry.field(
        description="Whether some resource type is satisfied by more than one resource."
    )


@strawberry.type(description="How many virtual entities came in the last day, week and month.")
class NewVirtualEntities:
    p1d: int = strawberry.field(name="P1D", description="In the last day.")
    p1w: int = strawberry.field(name="P1W", description="In the last week.")
    p1m: int = strawberry.field(name="P1M", description="In the last month.")


@strawberry.type(description="How many virtual entities an application has.")
class ApplicationStatistics:
    application_id: strawberry.ID
    total_virtual_entities: int
    new_virtual_entities: NewVirtualEntities
