"""Bounds of texts and lists in the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from graphql import GraphQLArgument, GraphQLID, GraphQLInputField, GraphQLString, get_named_type

from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS, list_limit
from wattgate.operations.vocabulary.directives import declared_facts

Json = dict[str, Any]


def bounded_schema(declared: GraphQLArgument | GraphQLInputField, schema: Json) -> Json:
    """Return the JSON Schema of an argument or input field with the bounds of its texts and lists."""
    facts = declared_facts(declared)
    bounds: dict[str, Json] = {"array": {"maxItems": list_limit(facts)}}
    if get_named_type(declared.type) is GraphQLString:
        bounds["string"] = {"maxLength": facts.max_characters}
    elif get_named_type(declared.type) is GraphQLID:
        bounds["string"] = {"maxLength": MAX_ID_CHARACTERS}
    return _add_bounds(schema, bounds)


def _add_bounds(schema: Json, bounds: Mapping[str, Json]) -> Json:
    kinds = schema.get("type", [])
    added = dict(schema)
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        added |= bounds.get(kind, {})
    if "anyOf" in added:
        added["anyOf"] = [_add_bounds(one, bounds) for one in added["anyOf"]]
    if "items" in added:
        added["items"] = _add_bounds(added["items"], bounds)
    return added
