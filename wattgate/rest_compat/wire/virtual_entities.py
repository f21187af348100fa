"""Types of virtual entities and their attributes in legacy formats."""

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.rest_compat.wire.shapes import EXAMPLE_TIME, EXAMPLE_UUID, Ok, RecordShape, Uuid
from wattgate.values.annotations import Described


class ShortResource(TypedDict):
    """Resource of a virtual entity, in short form."""

    resourceId: Annotated[Uuid, Described("ID of the resource.")]
    resourceTypeId: Annotated[Uuid, Described("ID of the resource type.")]
    name: Annotated[str, Described("Display name.")]


class VirtualEntityMembers(TypedDict):
    """Members that the legacy format adds to a virtual entity."""

    resources: Annotated[list[ShortResource], Meta(description="Resources that belong to the home.")]
    veChildren: Annotated[list[dict[str, Any]], Meta(description="Always empty. Legacy clients read it.")]


class VirtualEntityAttributes(TypedDict):
    """Attributes of a virtual entity."""

    veId: Annotated[Uuid, Described("ID of the virtual entity.")]
    attribute: Annotated[dict[str, Any] | None, Meta(description="Attributes, or null if none was ever set.")]


ATTRIBUTES_EXAMPLE: VirtualEntityAttributes = {"veId": EXAMPLE_UUID, "attribute": {"floor": "2"}}


class ChangedAttributes(VirtualEntityAttributes):
    """Attributes of a virtual entity after a removal."""

    status: Ok


CHANGED_ATTRIBUTES_EXAMPLE: ChangedAttributes = {"status": "OK", "veId": EXAMPLE_UUID, "attribute": {}}


class AttributesToRemove(TypedDict):
    """Attributes that a request removes."""

    removeAttributes: Annotated[
        list[str] | dict[str, Any],
        Meta(description="Names of the attributes: a list, or an object whose members have these names."),
    ]


ATTRIBUTES_TO_REMOVE_EXAMPLE: AttributesToRemove = {"removeAttributes": ["floor"]}


VIRTUAL_ENTITY = RecordShape("Home", VirtualEntity, VirtualEntityMembers)
VIRTUAL_ENTITY_EXAMPLE = {
    "veId": EXAMPLE_UUID,
    "veTypeId": EXAMPLE_UUID,
    "applicationId": EXAMPLE_UUID,
    "ownerId": EXAMPLE_UUID,
    "name": "12 Alder Road",
    "description": None,
    "location": None,
    "city": "Leeds",
    "country": "GB",
    "postalCode": "LS6 3QT",
    "geoCoordinates": None,
    "openStreetMapsRef": None,
    "timeZone": None,
    "attributes": None,
    "clone": False,
    "active": True,
    "createdAt": EXAMPLE_TIME,
    "updatedAt": EXAMPLE_TIME,
    "resources": [{"resourceId": EXAMPLE_UUID, "resourceTypeId": EXAMPLE_UUID, "name": "electricity consumption"}],
    "veChildren": [],
}
ATTRIBUTES_TO_SET = RecordShape(
    "AttributesToSet", is_open=True, description="Attributes to set, by name. Other attributes keep their values."
)
ATTRIBUTES_TO_SET_EXAMPLE = {"floor": "2"}
