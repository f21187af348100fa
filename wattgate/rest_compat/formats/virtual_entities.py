"""Legacy formats of virtual entities and their attributes."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire_shapes import EXAMPLE_TIME, EXAMPLE_UUID, ListOf, Ok, RecordShape, Uuid
from wattgate.values.annotations import Described

# Types of virtual entities and their attributes in legacy formats.


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
        list[str],
        Meta(description="Names of the attributes. An object whose members have these names is accepted as well."),
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


# Legacy formats of virtual entities and their attributes.


def _virtual_entity_json(virtual_entity: dict[str, Any], resources: list[Any]) -> dict[str, Any]:
    """Return a virtual entity with its resources in short form."""
    short = [
        {"resourceId": resource.resource_id, "resourceTypeId": resource.resource_type_id, "name": resource.name}
        for resource in resources
    ]
    return {**virtual_entity, "resources": short, "veChildren": []}


def _virtual_entities_body(result: RestResult) -> list[dict[str, Any]]:
    return [_virtual_entity_json(*pair) for pair in zip(result.rendered, result.edges["resources"], strict=True)]


def _virtual_entity_body(result: RestResult) -> dict[str, Any]:
    return _virtual_entity_json(result.rendered, result.edges["resources"][0])


def _attributes_body(result: RestResult) -> dict[str, Any]:
    return {"veId": result.result.ve_id, "attribute": result.result.attributes}


def _parse_attributes_to_set(request: LegacyRequest) -> RawArguments:
    return RawArguments({**request.path, "attributes": request.body})


def _parse_attributes_to_remove(request: LegacyRequest) -> RawArguments:
    """Convert `removeAttributes` of the body: an object whose keys are the names, or a list of names."""
    if "removeAttributes" not in request.body_members:
        return RawArguments(request.path)
    names = request.body_members["removeAttributes"]
    return RawArguments({**request.path, "names": list(names) if isinstance(names, dict) else names})


_RETURNS_VIRTUAL_ENTITY = LegacyFormat(
    render_body=_virtual_entity_body, response=VIRTUAL_ENTITY, response_example=VIRTUAL_ENTITY_EXAMPLE
)
"""The format of the routes that return one virtual entity."""

VIRTUAL_ENTITY_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /virtualentity": LegacyFormat(
        render_body=_virtual_entities_body,
        response=ListOf(VIRTUAL_ENTITY),
        response_example=[VIRTUAL_ENTITY_EXAMPLE],
    ),
    "GET /virtualentity/{veId}": _RETURNS_VIRTUAL_ENTITY,
    "DELETE /virtualentity/{veId}": _RETURNS_VIRTUAL_ENTITY,
    "POST /virtualentity/{veId}/resources": _RETURNS_VIRTUAL_ENTITY,
    "DELETE /virtualentity/{veId}/resources/{resourceId}": _RETURNS_VIRTUAL_ENTITY,
    "GET /virtualentity/{veId}/attribute": LegacyFormat(
        render_body=_attributes_body, response=VirtualEntityAttributes, response_example=ATTRIBUTES_EXAMPLE
    ),
    "POST /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_set,
        request_paths={("attributes",): ()},
        render_body=_attributes_body,
        body=ATTRIBUTES_TO_SET,
        response=VirtualEntityAttributes,
        body_example=ATTRIBUTES_TO_SET_EXAMPLE,
        response_example=ATTRIBUTES_EXAMPLE,
    ),
    "DELETE /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_remove,
        request_paths={("names",): ("removeAttributes",)},
        render_body=lambda result: {"status": "OK", **_attributes_body(result)},
        body=AttributesToRemove,
        response=ChangedAttributes,
        body_example=ATTRIBUTES_TO_REMOVE_EXAMPLE,
        response_example=CHANGED_ATTRIBUTES_EXAMPLE,
    ),
}
