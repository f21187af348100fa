"""JSON Schemas of GraphQL input types, with their bounds, which validate the arguments of both interfaces."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLString,
    get_named_type,
    is_required_input_field,
)

from wattgate.graphql.execution.input_conversion import rest_type
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS, list_limit
from wattgate.operations.vocabulary.directives import declared_facts
from wattgate.operations.vocabulary.scalars import MAX_SCALAR_CHARACTERS
from wattgate.rest_compat.openapi.components import ANY_VALUE, Components, Json, described, nullable

SCALAR_SCHEMAS: Mapping[str, Json] = {
    "String": {"type": "string"},
    "ID": {"type": "string"},
    "Int": {"type": "integer", "format": "int32"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string", "format": "date-time", "maxLength": MAX_SCALAR_CHARACTERS},
    "Decimal": {"type": ["number", "string"]},
    "TimeZone": {"type": "string", "maxLength": MAX_SCALAR_CHARACTERS},
    "JSON": ANY_VALUE,
}


def argument_schema(argument: GraphQLArgument | GraphQLInputField, components: Components) -> Json:
    """Return the schema of an argument or input field, with its bounds and its description."""
    schema = input_schema(rest_type(argument), components)
    return described(bounded_schema(argument, schema), argument.description)


def input_schema(type_: Any, components: Components) -> Json:
    """Return the schema of a GraphQL input type."""
    if isinstance(type_, GraphQLNonNull):
        return _non_null_schema(type_.of_type, components)
    return nullable(_non_null_schema(type_, components))


def _non_null_schema(type_: Any, components: Components) -> Json:
    if isinstance(type_, GraphQLList):
        return {"type": "array", "items": input_schema(type_.of_type, components)}
    if isinstance(type_, GraphQLEnumType):
        return enum_schema(type_, components)
    if isinstance(type_, GraphQLInputObjectType):
        return components.add(type_.name, lambda: input_object_schema(type_, components))
    return dict(SCALAR_SCHEMAS[type_.name])


def enum_schema(type_: GraphQLEnumType, components: Components) -> Json:
    """Return a reference to the schema of an enum in requests: its values as responses have them.

    GraphQL's names are accepted, too. Numbers are not, so that an enum of numbers has a schema of its names.
    """
    values = [getattr(value.value, "value", value.value) for value in type_.values.values()]
    if all(isinstance(value, str) for value in values):
        return components.put_enum(type_.name, values)
    return components.put_enum(f"{type_.name}Name", list(type_.values), type_.name)


def input_object_schema(type_: GraphQLInputObjectType, components: Components) -> Json:
    """Return the schema of an input object."""
    required = [name for name, field in type_.fields.items() if is_required_input_field(field)]
    return {
        "type": "object",
        **({"description": type_.description} if type_.description else {}),
        "properties": {name: argument_schema(field, components) for name, field in type_.fields.items()},
        **({"required": required} if required else {}),
    }


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
