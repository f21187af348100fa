"""Bounds of texts and lists in the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from graphql import GraphQLID, GraphQLInputType, GraphQLString, get_named_type

from wattgate.graphql.core.input_limits import MAX_ID_CHARACTERS, list_limit, text_limit

Json = dict[str, Any]


def bounded_schema(owner: str, name: str, type_: GraphQLInputType, schema: Json) -> Json:
    """Return the JSON Schema of an argument or input field with the bounds of its texts and lists."""
    bounds: dict[str, Json] = {"array": {"maxItems": list_limit(owner, name)}}
    if get_named_type(type_) is GraphQLString:
        bounds["string"] = {"maxLength": text_limit(owner, name)}
    elif get_named_type(type_) is GraphQLID:
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
