"""The virtual entity system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult


def _virtual_entity_json(virtual_entity: dict[str, Any], resources: list[Any]) -> dict[str, Any]:
    """A virtual entity with the short form of its resources."""
    short = [
        {"resourceId": one.resource_id, "resourceTypeId": one.resource_type_id, "name": one.name} for one in resources
    ]
    return {**virtual_entity, "resources": short, "veChildren": []}


def _virtual_entities_body(answer: RestResult) -> list[dict[str, Any]]:
    return [_virtual_entity_json(*pair) for pair in zip(answer.rendered, answer.edges["resources"], strict=True)]


def _virtual_entity_body(answer: RestResult) -> dict[str, Any]:
    return _virtual_entity_json(answer.rendered, answer.edges["resources"][0])


def _attributes_body(answer: RestResult) -> dict[str, Any]:
    return {"veId": answer.result.ve_id, "attribute": answer.result.attributes}


def _parse_attributes_to_set(exchange: LegacyRequest) -> RawArguments:
    return RawArguments({**exchange.path, "attributes": exchange.body})


def _parse_attributes_to_remove(exchange: LegacyRequest) -> RawArguments:
    """The body's `removeAttributes` is an object whose keys are the names, or a list of them."""
    if "removeAttributes" not in exchange.body_members:
        return RawArguments(exchange.path)
    names = exchange.body_members["removeAttributes"]
    return RawArguments({**exchange.path, "names": list(names) if isinstance(names, dict) else names})


VIRTUAL_ENTITY_FORMATS: Mapping[str, LegacyFormat] = {
    "GET /virtualentity": LegacyFormat(render_body=_virtual_entities_body),
    "GET /virtualentity/{veId}": LegacyFormat(render_body=_virtual_entity_body),
    "DELETE /virtualentity/{veId}": LegacyFormat(render_body=_virtual_entity_body),
    "GET /virtualentity/{veId}/attribute": LegacyFormat(render_body=_attributes_body),
    "POST /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_set, request_paths={("attributes",): ()}, render_body=_attributes_body
    ),
    "DELETE /virtualentity/{veId}/attribute": LegacyFormat(
        parse_arguments=_parse_attributes_to_remove,
        request_paths={("names",): ("removeAttributes",)},
        render_body=lambda answer: {"status": "OK", **_attributes_body(answer)},
    ),
}
