"""GraphQL types of virtual entities (homes) and their types."""

from datetime import datetime
from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries import displays as display_queries
from wattgate.db.queries import virtual_entities as queries
from wattgate.graphql.core.cost_weights import DISPLAY_WEIGHT, ListSize
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.node import Node
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types.displays import Display
from wattgate.graphql.types.owners import owner_edge
from wattgate.graphql.types.resources import Device, Resource
from wattgate.principal import Permission


@strawberry.type(description="Resource type that virtual entities of a type must or may have.")
class WantedResource:
    resource_type_id: strawberry.ID
    required: bool


@strawberry.type(description="Type of virtual entity: which resource types its homes must or may have.")
class VirtualEntityType(Node, model=models.VirtualEntityType):
    ve_type_id: strawberry.ID
    name: str
    description: str
    application_id: strawberry.ID
    active: bool
    resources: list[WantedResource] = strawberry.field(
        description="Resource types that virtual entities must or may have."
    )


@strawberry.input(description="Resource type that virtual entities of a type must or may have.")
class NewWantedResource:
    resource_type_id: strawberry.ID
    required: bool = False


@strawberry.input(description="Virtual entity type to add.")
class NewVirtualEntityType:
    name: str
    description: str = ""
    resources: list[NewWantedResource] = strawberry.field(
        default_factory=list, description="Resource types that virtual entities must or may have."
    )


@strawberry.input(description="Fields of a virtual entity type to change. Omitted fields keep their values.")
class VirtualEntityTypeChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET


@strawberry.type(description="Home of an owner, with the resources that belong to it.")
class VirtualEntity(Node, model=models.VirtualEntity):
    ve_id: strawberry.ID
    ve_type_id: strawberry.ID
    application_id: strawberry.ID
    owner_id: strawberry.ID = strawberry.field(description="ID of the user who owns the home.")
    name: str
    description: str | None
    location: str | None
    city: str | None
    country: str | None
    postal_code: str | None
    geo_coordinates: str | None
    open_street_maps_ref: str | None
    time_zone: str | None = strawberry.field(description="IANA time zone of the home. Null means Europe/London.")
    attributes: Json
    clone: bool
    active: bool
    created_at: datetime
    updated_at: datetime
    type: VirtualEntityType = edge(
        queries.types, needs=Permission.VIRTUAL_ENTITY_TYPE_READ, description="The virtual entity type."
    )
    resources: list[Resource] = edge(
        queries.resources,
        needs=Permission.RESOURCE_READ,
        sizes=[ListSize(5)],
        description="Resources that belong to the home.",
    )
    devices: list[Device] = edge(
        queries.devices,
        needs=Permission.DEVICE_READ,
        weight=2,
        sizes=[ListSize(2)],
        description="Active devices that supply the resources of the home with readings, oldest first.",
    )
    owner: Any = owner_edge("home")
    display: Display = edge(
        display_queries.displays,
        needs=Permission.READINGS_READ,
        weight=DISPLAY_WEIGHT,
        description="Present content of an in-home display. The subscription `display` publishes changes live. Null "
        "only with an error, such as CONSENT_REVOKED for all meter points of the home.",
    )


@strawberry.input(description="Resource to assign to a virtual entity.")
class OwnedResource:
    resource_id: strawberry.ID


@strawberry.input(description="Virtual entity to add for the acting user.")
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
    time_zone: str | None = strawberry.field(
        default=None, description="IANA time zone of the home. Null means Europe/London."
    )


@strawberry.input(description="Fields of a virtual entity to change. Omitted fields keep their values.")
class VirtualEntityChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    location: str | None = strawberry.UNSET
    city: str | None = strawberry.UNSET
    country: str | None = strawberry.UNSET
    postal_code: str | None = strawberry.UNSET
    geo_coordinates: str | None = strawberry.UNSET
    open_street_maps_ref: str | None = strawberry.UNSET
    time_zone: str | None = strawberry.field(
        default=strawberry.UNSET, description="IANA time zone of the home. Null means Europe/London."
    )
    resources: list[OwnedResource] | None = strawberry.field(
        default=strawberry.UNSET,
        description="Resources of the home's owner. They replace the present ones. Closed resources stay in the home.",
    )
    active: bool | None = strawberry.field(
        default=strawberry.UNSET, description="False closes the home, so that lists omit it. True opens it again."
    )


@strawberry.type(description="Resource type of a virtual entity type, with the user's resources of this type.")
class ResourceOptions:
    resource_type_id: strawberry.ID
    required: bool
    options: list[Resource]


@strawberry.type(description="Resources of a user that a virtual entity of a type could have.")
class Satisfaction:
    ve_type_id: strawberry.ID
    owner_id: strawberry.ID
    application_id: strawberry.ID
    resources: list[ResourceOptions] = strawberry.field(description="Resources of the user, by resource type.")
    selection_needed: bool = strawberry.field(
        description="Whether the user must select a resource: some resource type has more than one."
    )


@strawberry.type(description="Numbers of active virtual entities that were added recently.")
class NewVirtualEntities:
    p1d: int = strawberry.field(name="P1D", description="Number added in the last day.")
    p1w: int = strawberry.field(name="P1W", description="Number added in the last 7 days.")
    p1m: int = strawberry.field(name="P1M", description="Number added in the last 30 days.")


@strawberry.type(description="Numbers of active virtual entities of an application.")
class ApplicationStatistics:
    application_id: strawberry.ID
    total_virtual_entities: int
    new_virtual_entities: NewVirtualEntities
