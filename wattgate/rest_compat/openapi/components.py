"""Named schemas of the OpenAPI document."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from graphql import GraphQLNamedType

from wattgate.graphql.execution.schema import Schema
from wattgate.rest_compat.wire_shapes import SCHEMA_REFERENCE

Json = dict[str, Any]

JSON_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}

ANY_VALUE: Json = {"description": "Any JSON value."}


class Components:
    """The named schemas of a document. A name has one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schemas: dict[str, Json] = {}
        self._inputs = schema.rest_inputs

    def add(self, name: str, make: Callable[[], Json]) -> Json:
        """Return a reference to a schema, which may contain itself. Make it if the document does not have it."""
        if name not in self.schemas:
            made = self.schemas[name] = {}
            made.update(make())
        return reference(name)

    def put(self, name: str, schema: Json) -> Json:
        """Return a reference to a schema. Raise ValueError if the name has another schema."""
        if self.schemas.setdefault(name, schema) != schema:
            raise ValueError(f"The OpenAPI document has two schemas with the name {name}.")
        return reference(name)

    def add_enum(self, enum: type[Enum]) -> Json:
        """Return a reference to the schema of an enum whose values responses have."""
        return self.put_enum(enum.__name__, [member.value for member in enum])

    def put_enum(self, name: str, values: list[Any], graphql_name: str | None = None) -> Json:
        """Return a reference to the schema of an enum with these values."""
        type_ = self.input_type(graphql_name or name)
        described = {"description": type_.description} if type_ and type_.description else {}
        return self.put(name, {"type": JSON_TYPES[type(values[0])], "enum": values, **described})

    def input_type(self, name: str) -> GraphQLNamedType | None:
        """Return the input object or enum of the schema that has a name in REST, or None."""
        return self._inputs.types.get(name)

    def resolve(self, schema: Json) -> Json:
        """Return the schema that a reference names, or the schema itself if it is no reference."""
        return self.schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def reference(name: str) -> Json:
    """Return a reference to a named schema."""
    return {"$ref": SCHEMA_REFERENCE.format(name=name)}


def nullable(schema: Json) -> Json:
    """Return a schema that also permits null. A schema that permits every value stays as it is."""
    kind = schema.get("type")
    if kind is None and not schema.keys() & {"$ref", "anyOf"}:
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if kind is None or "enum" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = kind if isinstance(kind, list) else [kind]
    return {**schema, "type": [*kinds, "null"]}


def described(schema: Json, description: str | None) -> Json:
    """Return a schema with a description, which replaces its own."""
    return {**schema, "description": description} if description else schema
