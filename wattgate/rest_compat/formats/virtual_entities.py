"""The virtual entity system, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange


def _home(told: dict[str, Any], resources: list[Any]) -> dict[str, Any]:
    """A virtual entity with the short form of its resources."""
    short = [
        {"resourceId": one.resource_id, "resourceTypeId": one.resource_type_id, "name": one.name} for one in resources
    ]
    return {**told, "resources": short, "veChildren": []}


def _homes(answer: Answer) -> list[dict[str, Any]]:
    return [_home(*pair) for pair in zip(answer.told, answer.edges["resources"], strict=True)]


def _one_home(answer: Answer) -> dict[str, Any]:
    return _home(answer.told, answer.edges["resources"][0])


def _attribute(answer: Answer) -> dict[str, Any]:
    return {"veId": answer.result.ve_id, "attribute": answer.result.attributes}


def _attributes_set(exchange: Exchange) -> RawArguments:
    return RawArguments({**exchange.path, "attributes": exchange.body})


def _attributes_removed(exchange: Exchange) -> RawArguments:
    """The body's `removeAttributes` is an object whose keys are the names, or a list of them."""
    if "removeAttributes" not in exchange.members:
        return RawArguments(exchange.path)
    names = exchange.members["removeAttributes"]
    return RawArguments({**exchange.path, "names": list(names) if isinstance(names, dict) else names})


HOMES: Mapping[str, Shape] = {
    "GET /virtualentity": Shape(body=_homes),
    "GET /virtualentity/{veId}": Shape(body=_one_home),
    "DELETE /virtualentity/{veId}": Shape(body=_one_home),
    "GET /virtualentity/{veId}/attribute": Shape(body=_attribute),
    "POST /virtualentity/{veId}/attribute": Shape(given=_attributes_set, places={("attributes",): ()}, body=_attribute),
    "DELETE /virtualentity/{veId}/attribute": Shape(
        given=_attributes_removed,
        places={("names",): ("removeAttributes",)},
        body=lambda answer: {"status": "OK", **_attribute(answer)},
    ),
}
