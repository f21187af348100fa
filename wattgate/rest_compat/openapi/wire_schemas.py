"""JSON Schemas of the types in legacy formats, which `wire_shapes` describes."""

import types
from collections.abc import Collection
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from graphql import GraphQLEnumType, GraphQLInputObjectType
from msgspec import Meta
from strawberry.types import get_object_definition

from wattgate.rest_compat.openapi.components import (
    ANY_VALUE,
    JSON_TYPES,
    Components,
    Json,
    described,
    nullable,
)
from wattgate.rest_compat.openapi.input_schemas import enum_schema, input_object_schema
from wattgate.rest_compat.openapi.output_schemas import object_schema
from wattgate.rest_compat.wire_shapes import Alternatives, GraphQLName, ListOf, RecordShape
from wattgate.values.annotations import facts_of


def shape_schema(shape: Any, components: Components) -> Json:
    """Return the schema of a shape: a TypedDict, or an object of `wire.shapes`."""
    if isinstance(shape, RecordShape):
        return components.put(shape.name, _record_schema(shape, components))
    if isinstance(shape, Alternatives):
        options = [shape_schema(option, components) for option in shape.shapes]
        return components.put(shape.name, {"description": shape.description, "anyOf": options})
    if isinstance(shape, ListOf):
        return {"type": "array", "items": shape_schema(shape.items, components)}
    return _type_schema(shape, components)


def typed_dict_schema(typed_dict: Any, components: Components) -> Json:
    """Return the schema of a TypedDict, without a reference."""
    required_names = typed_dict.__required_keys__
    hints = get_type_hints(typed_dict, include_extras=True)
    required = [name for name in hints if name in required_names]
    text = cleandoc(typed_dict.__doc__ or "")
    return {
        "type": "object",
        **({"description": text} if text else {}),
        "properties": {name: _member_schema(typed_dict, name, hint, components) for name, hint in hints.items()},
        **({"required": required} if required else {}),
    }


def _member_schema(typed_dict: Any, name: str, hint: Any, components: Components) -> Json:
    schema = _type_schema(hint, components)
    return described(schema, schema.get("description") or facts_of(hint).description)


def _record_schema(shape: RecordShape, components: Components) -> Json:
    added = typed_dict_schema(shape.added, components) if shape.added else {"properties": {}}
    base = _base_schema(shape.base, components, shape.omitted | set(added["properties"]))
    required = [*base.get("required", []), *added.get("required", [])]
    text = shape.description or base.get("description")
    return {
        "type": "object",
        **({"description": text} if text else {}),
        "properties": {**base["properties"], **added["properties"]},
        **({"required": required} if required else {}),
        **({"additionalProperties": ANY_VALUE} if shape.is_open else {}),
    }


def _base_schema(base: Any, components: Components, omitted: Collection[str]) -> Json:
    if base is None:
        return {"properties": {}}
    return object_schema(get_object_definition(base, strict=True), components, omitted=omitted)


def _input_object(name: str, components: Components) -> GraphQLInputObjectType:
    type_ = components.input_type(name)
    if not isinstance(type_, GraphQLInputObjectType):
        raise LookupError(f"{name} is no input type of the GraphQL schema.")
    return type_


def _type_schema(hint: Any, components: Components) -> Json:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated_schema(arguments[0], hint.__metadata__, components)
    if origin is NotRequired:
        return _type_schema(arguments[0], components)
    if origin is Literal:
        return {"type": JSON_TYPES[type(arguments[0])], "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0], components)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1], components)}
    if origin in (types.UnionType, Union):
        return _union_schema(arguments, components)
    return _plain_schema(hint, components)


def _plain_schema(hint: Any, components: Components) -> Json:
    if is_typeddict(hint):
        return components.add(hint.__name__, lambda: typed_dict_schema(hint, components))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return components.add_enum(hint)
    return ANY_VALUE if hint is Any else {"type": JSON_TYPES[hint]}


def _union_schema(options: tuple[Any, ...], components: Components) -> Json:
    schemas = [_type_schema(option, components) for option in options if option is not type(None)]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return nullable(schema) if type(None) in options else schema


def _annotated_schema(hint: Any, annotations: tuple[Any, ...], components: Components) -> Json:
    schema = _type_schema(hint, components)
    for annotation in annotations:
        if isinstance(annotation, GraphQLName):
            schema = _graphql_schema(annotation.name, components)
        elif isinstance(annotation, Meta):
            schema = described({**schema, **_constraints(annotation, schema)}, annotation.description)
    return schema


def _graphql_schema(name: str, components: Components) -> Json:
    type_ = components.input_type(name)
    if isinstance(type_, GraphQLEnumType):
        return enum_schema(type_, components)
    return components.add(name, lambda: input_object_schema(_input_object(name, components), components))


def _constraints(meta: Meta, schema: Json) -> Json:
    unit = "Items" if schema.get("type") == "array" else "Length"
    names = {
        "pattern": meta.pattern,
        f"min{unit}": meta.min_length,
        f"max{unit}": meta.max_length,
        "exclusiveMinimum": meta.gt,
        "exclusiveMaximum": meta.lt,
        "examples": meta.examples,
    }
    return {name: value for name, value in names.items() if value is not None} | dict(meta.extra_json_schema or {})
