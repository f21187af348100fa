"""GraphQL types of virtual entities (homes) and their types, and the keys for look-ups."""

from datetime import datetime
from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries import displays as display_queries
from wattgate.db.queries import virtual_entities as queries
from wattgate.enums import HomeMemberEnd, HomeMemberState
from wattgate.operations.core.fields import edge
from wattgate.operations.types.homes.displays import Display
from wattgate.operations.types.homes.resources import Device, Resource
from wattgate.operations.types.identity.accounts import owner_edge
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import DISPLAY_WEIGHT, ListSize
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(description="Resource type that virtual entities of a type must or may have.")
class WantedResource:
    resource_type_id: ids.ResourceTypeId
    required: terms.IsRequired


@strawberry.type(description="Type of virtual entity: which resource types its homes must or may have.")
class VirtualEntityType(Node, model=models.VirtualEntityType):
    ve_type_id: ids.VeTypeId
    name: terms.Name
    description: terms.Description
    application_id: ids.ApplicationId
    active: terms.Active
    resources: list[WantedResource] = strawberry.field(
        description="Resource types that virtual entities must or may have."
    )


@strawberry.input(description="Resource type that virtual entities of a type must or may have.")
class NewWantedResource:
    resource_type_id: ids.ResourceTypeId
    required: terms.IsRequired = False


@strawberry.input(description="Virtual entity type to add.")
class NewVirtualEntityType:
    name: terms.Name
    description: terms.Description = ""
    resources: list[NewWantedResource] = strawberry.field(
        default_factory=list, description="Resource types that virtual entities must or may have."
    )


@strawberry.input(description="Fields of a virtual entity type to change. Omitted fields keep their values.")
class VirtualEntityTypeChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    resources: list[NewWantedResource] | None = strawberry.field(
        default=strawberry.UNSET,
        description="Resource types that virtual entities must or may have. They replace the present ones. Homes that "
        "exist do not change.",
    )


@strawberry.type(
    description="Another person whom the owner of a home has invited to read it, from the invitation to the end."
)
class HomeMember:
    member_id: ids.MemberId
    ve_id: ids.VeId
    name: str = strawberry.field(description="Name by which the owner knows the person.")
    state: HomeMemberState = strawberry.field(description="How far the access is. Only JOINED grants it.")
    member_user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user who has accepted the invitation, as in the access log. Null before."
    )
    email: str | None = strawberry.field(
        description="Only e-mail address that may accept the invitation. Null if any may, and after the acceptance."
    )
    created_at: datetime = strawberry.field(description="When the owner invited the person.")
    expires_at: datetime = strawberry.field(description="When the invitation expires or has expired.")
    joined_at: datetime | None = strawberry.field(description="When the person accepted. Null before.")
    ended_at: datetime | None = strawberry.field(description="When the access or the invitation ended. Null before.")
    end_reason: HomeMemberEnd | None = strawberry.field(description="Why it ended. Null before.")


@strawberry.type(description="Invitation to read a home, with its code.")
class HomeInvitation:
    code: str | None = strawberry.field(
        description="Code to give to the person, such as BCDF-2345-GHJK. It is shown only in this result, and null if "
        "it was sent by mail."
    )
    member: HomeMember = strawberry.field(description="Entry in the list of the home.")


@strawberry.type(description="Home of another user that the acting user may read, with the header `sharedHomeId`.")
class SharedHome:
    ve_id: ids.VeId
    name: terms.Name
    member_id: ids.MemberId
    joined_at: datetime = strawberry.field(description="When the acting user accepted the invitation.")


@strawberry.type(description="Home of an owner, with the resources that belong to it.")
class VirtualEntity(Node, model=models.VirtualEntity):
    ve_id: ids.VeId
    ve_type_id: ids.VeTypeId
    application_id: ids.ApplicationId
    owner_id: strawberry.ID = strawberry.field(description="ID of the user who owns the home.")
    name: terms.Name
    description: terms.Description | None
    location: terms.Location | None
    city: terms.City | None
    country: terms.Country | None
    postal_code: terms.PostalCode | None
    geo_coordinates: terms.GeoCoordinates | None
    open_street_maps_ref: terms.OpenStreetMapsRef | None
    time_zone: str | None = strawberry.field(description="IANA time zone of the home. Null means Europe/London.")
    attributes: Json = strawberry.field(description="Free-form metadata, as a JSON object.")
    clone: bool = strawberry.field(description="Whether the record is a copy of another one.")
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
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
    members: list[HomeMember] = edge(
        queries.members,
        needs=Permission.HOME_MEMBER_READ,
        sizes=[ListSize(2)],
        description="People whom the owner has invited to read the home, oldest first, with those whose access has "
        "ended. A member sees only its present members.",
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
    resource_id: ids.ResourceId


@strawberry.input(description="Virtual entity to add for the acting user.")
class NewVirtualEntity:
    ve_type_id: ids.VeTypeId
    name: terms.Name
    resources: list[OwnedResource] = strawberry.field(
        default_factory=list, description="Resources that belong to the record."
    )
    description: terms.Description | None = None
    location: terms.Location | None = None
    city: terms.City | None = None
    country: terms.Country | None = None
    postal_code: terms.PostalCode | None = None
    geo_coordinates: terms.GeoCoordinates | None = None
    open_street_maps_ref: terms.OpenStreetMapsRef | None = None
    time_zone: terms.Text100 | None = strawberry.field(
        default=None, description="IANA time zone of the home. Null means Europe/London."
    )


@strawberry.input(description="Fields of a virtual entity to change. Omitted fields keep their values.")
class VirtualEntityChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    location: terms.Location | None = strawberry.UNSET
    city: terms.City | None = strawberry.UNSET
    country: terms.Country | None = strawberry.UNSET
    postal_code: terms.PostalCode | None = strawberry.UNSET
    geo_coordinates: terms.GeoCoordinates | None = strawberry.UNSET
    open_street_maps_ref: terms.OpenStreetMapsRef | None = strawberry.UNSET
    time_zone: terms.Text100 | None = strawberry.field(
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
    resource_type_id: ids.ResourceTypeId
    required: terms.IsRequired
    options: list[Resource] = strawberry.field(description="Resources of the user with this resource type.")


@strawberry.type(description="Resources of a user that a virtual entity of a type could have.")
class Satisfaction:
    ve_type_id: ids.VeTypeId
    owner_id: strawberry.ID = strawberry.field(description="ID of the user who owns the record.")
    application_id: ids.ApplicationId
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
    application_id: ids.ApplicationId
    total_virtual_entities: int = strawberry.field(description="Number of active virtual entities.")
    new_virtual_entities: NewVirtualEntities = strawberry.field(
        description="Numbers of virtual entities that were added recently."
    )


# Keys for look-ups: @oneOf inputs, of which a client sets exactly one field.


@strawberry.input(one_of=True, description="Key of a user: exactly one field.")
class UserKey:
    user_id: ids.UserId | None = strawberry.UNSET
    username: terms.Address | None = strawberry.field(
        default=strawberry.UNSET, description="Login name in the application's own directory."
    )


@strawberry.input(one_of=True, description="Key of a device: exactly one field.")
class DeviceKey:
    device_id: ids.DeviceId | None = strawberry.UNSET
    hardware_id: terms.Text200 | None = strawberry.field(
        default=strawberry.UNSET,
        description="Identifier of the device, usually its MAC address, in any case and with or without separators.",
    )
    resource_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET, description="ID of a resource that the device supplies with readings."
    )
