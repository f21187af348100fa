"""Legacy formats of virtual entities and their attributes."""

from collections.abc import Mapping
from typing import Any

from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire import virtual_entities as wire
from wattgate.rest_compat.wire.shapes import ListOf


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


VIRTUAL_ENTITY_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /virtualentity": LegacyFormat(
        render_body=_virtual_entities_body,
        response=ListOf(wire.VIRTUAL_ENTITY),
        response_example=[wire.VIRTUAL_ENTITY_EXAMPLE],
    ),
    "GET /virtualentity/{veId}": LegacyFormat(
        render_body=_virtual_entity_body, response=wire.VIRTUAL_ENTITY, response_example=wire.VIRTUAL_ENTITY_EXAMPLE
    ),
    "DELETE /virtualentity/{veId}": LegacyFormat(
        render_body=_virtual_entity_body, response=wire.VIRTUAL_ENTITY, response_example=wire.VIRTUAL_ENTITY_EXAMPLE
    ),
    "POST /virtualentity/{veId}/resources": LegacyFormat(
        render_body=_virtual_entity_body, response=wire.VIRTUAL_ENTITY, response_example=wire.VIRTUAL_ENTITY_EXAMPLE
    ),
    "DELETE /virtualentity/{veId}/resources/{resourceId}": LegacyFormat(
        render_body=_virtual_entity_body, response=wire.VIRTUAL_ENTITY, response_example=wire.VIRTUAL_ENTITY_EXAMPLE
    ),
    "GET /virtualentity/{veId}/attribute": LegacyFormat(
        render_body=_attributes_body, response=wire.VirtualEntityAttributes, response_example=wire.ATTRIBUTES_EXAMPLE
    ),
    "POST /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_set,
        request_paths={("attributes",): ()},
        render_body=_attributes_body,
        body=wire.ATTRIBUTES_TO_SET,
        response=wire.VirtualEntityAttributes,
        body_example=wire.ATTRIBUTES_TO_SET_EXAMPLE,
        response_example=wire.ATTRIBUTES_EXAMPLE,
    ),
    "DELETE /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_remove,
        request_paths={("names",): ("removeAttributes",)},
        render_body=lambda result: {"status": "OK", **_attributes_body(result)},
        body=wire.AttributesToRemove,
        response=wire.ChangedAttributes,
        body_example=wire.ATTRIBUTES_TO_REMOVE_EXAMPLE,
        response_example=wire.CHANGED_ATTRIBUTES_EXAMPLE,
    ),
}
