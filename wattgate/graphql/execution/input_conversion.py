"""Conversion of input objects to their classes, with the names and types of fields looked up once for each class.

Strawberry looks them up for each object, which takes ten times as long. A call may have 10,000 readings.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from datetime import tzinfo
from typing import Any, NamedTuple

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLNonNull,
    GraphQLSchema,
    Undefined,
)
from strawberry import UNSET, LazyType
from strawberry.schema.config import StrawberryConfig
from strawberry.types import get_object_definition

from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.scalars import UnknownTimeZone, time_zone_name
from wattgate.operations.vocabulary.strawberry_adapter import (
    StrawberryArgument,
    StrawberryList,
    StrawberryMaybe,
    StrawberryObjectDefinition,
    StrawberryOptional,
    convert_argument,
)
from wattgate.values.graphql_names import graphql_scalar


class _Field(NamedTuple):
    name: str
    has_default: bool
    convert: Callable[[Any, Any], Any] | None


def null_means_default(declared: GraphQLArgument | GraphQLInputField) -> bool:
    """Return whether null stands for the default of an argument or input field."""
    return declared.default_value is not Undefined and not isinstance(declared.type, GraphQLNonNull)


def rest_type(declared: GraphQLArgument | GraphQLInputField) -> GraphQLInputType:
    """Return the type of an argument or input field in REST, where null does not stand for the default."""
    nullable: Any = declared.type
    return GraphQLNonNull(nullable) if null_means_default(declared) else nullable


def names_with_default(declared: Sequence[StrawberryArgument], config: StrawberryConfig) -> frozenset[str]:
    """Return the GraphQL names of the arguments for which null stands for the default."""
    return frozenset(
        config.name_converter.from_argument(argument)
        for argument in declared
        if argument.default not in (None, UNSET) and not isinstance(argument.type, StrawberryOptional)
    )


def install_converters(schema: GraphQLSchema) -> None:
    """Give each input type of a schema its converter. Strawberry calls it for each object of the type.

    Coerced objects have the Python names of their members, so that the names of the schema do not matter.
    """
    for type_ in schema.type_map.values():
        if isinstance(type_, GraphQLInputObjectType):
            definition: StrawberryObjectDefinition = type_.extensions[STRAWBERRY_DEFINITION]
            for field in type_.fields.values():
                field.out_name = field.extensions[STRAWBERRY_DEFINITION].python_name
            if definition.from_input is None:
                definition.from_input = _build_converter(definition)


def _build_converter(definition: StrawberryObjectDefinition) -> Any:
    fields = [_field(definition, field) for field in definition.fields]
    nulls = {
        field.python_name: None
        for field in definition.fields
        if field.default_value is MISSING and field.default_factory is MISSING
    }

    def convert(type_: Any, value: Any, context: Any) -> Any:
        if isinstance(value, type_):  # of a variable that was decoded without graphql-core
            return value
        members = dict(nulls)
        for name, has_default, convert_member in fields:
            if name in value:
                member = value[name]
                if member is None and has_default:
                    continue
                if convert_member is not None and member is not None and member is not UNSET:
                    member = convert_member(member, context)
                members[name] = member
        return type_(**members)

    return convert


def _field(definition: StrawberryObjectDefinition, field: Any) -> _Field:
    type_ = field.resolve_type(type_definition=definition)
    has_default = field.default_factory is not MISSING or field.default_value not in (MISSING, None, UNSET)
    is_zone_name = graphql_scalar(definition.name, field.python_name) == "TimeZone"
    return _Field(field.python_name, has_default, _to_time_zone_name if is_zone_name else _converter_of(type_))


def _to_time_zone_name(value: Any, context: Any) -> Any:
    return time_zone_name(value) if isinstance(value, tzinfo | UnknownTimeZone) else value


def _converter_of(type_: Any) -> Callable[[Any, Any], Any] | None:
    """Return the function that converts a value of a type, or None for scalars and enums, which stay unchanged."""
    if isinstance(type_, StrawberryMaybe | LazyType):
        unresolved: Any = type_
        return lambda value, context: convert_argument(
            value, unresolved, context.scalar_registry, context.config, context.info, path=context.path
        )
    if isinstance(type_, StrawberryOptional):
        return _converter_of(type_.of_type)
    if isinstance(type_, StrawberryList):
        convert_item = _converter_of(type_.of_type)
        if convert_item is None:
            return lambda values, context: list(values)
        convert_present: Callable[[Any, Any], Any] = convert_item
        return lambda values, context: [None if item is None else convert_present(item, context) for item in values]
    definition: Any = get_object_definition(type_)
    if definition is None:
        return None

    def convert(value: Any, context: Any) -> Any:
        return definition.from_input(type_, value, context)

    return convert


# Errors about values of enums: list the values of the enum instead of those with a similar spelling.
#
# graphql-core suggests similar spellings only: P1Y for DAY. An error without a suggestion stays as it is.

_UNKNOWN_VALUE = re.compile(r"(?:does not exist in '|Enum ')(\w+)'")
_SUGGESTION = " Did you mean the enum value "


def list_enum_values(errors: Sequence[GraphQLError], schema: GraphQLSchema) -> list[GraphQLError]:
    """Return the errors. An error that suggests values of an enum lists all of them instead."""
    return [_with_values(error, schema) for error in errors]


def describe_values(kind: GraphQLEnumType) -> str:
    """Return the values of an enum as a sentence."""
    return f"The values are {', '.join(kind.values)}."


def _with_values(error: GraphQLError, schema: GraphQLSchema) -> GraphQLError:
    problem, suggestion, _ = error.message.partition(_SUGGESTION)
    match = _UNKNOWN_VALUE.search(problem) if suggestion else None
    kind = schema.get_type(match[1]) if match else None
    if not isinstance(kind, GraphQLEnumType):
        return error
    return GraphQLError(f"{problem} {describe_values(kind)}", error.nodes, extensions=error.extensions)
