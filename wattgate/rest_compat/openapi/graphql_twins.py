"""The GraphQL document of each REST operation, complete with sample variables."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLUnionType,
    Undefined,
    ast_from_value,
    get_named_type,
    is_leaf_type,
    is_required_argument,
    is_required_input_field,
    parse,
    print_ast,
)

from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.fields import edge_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.node import encode_global_id, is_global_id
from wattgate.rest_compat.openapi.components import Json
from wattgate.rest_compat.wire_shapes import EXAMPLE_MPXN, EXAMPLE_TIME, EXAMPLE_UUID
from wattgate.values.graphql_names import graphql_name, graphql_type_name

SAMPLES: Mapping[str, Any] = MappingProxyType(
    {
        "ID": EXAMPLE_UUID,
        "DateTime": EXAMPLE_TIME,
        "Decimal": "24.5",
        "Int": 1,
        "Float": 1.0,
        "Boolean": True,
        "TimeZone": "Europe/London",
        "MeterPointNumber": EXAMPLE_MPXN,
        "LocalTime": "23:30",
        "JSON": {},
        "String": "text",
        "channels": ["EMAIL"],
        "cultureCode": "en-GB",
        "email": "ada@example.org",
        "end": "2026-11-21T00:00:00Z",
        "eui": "70B3D50000000001",
        "hardwareId": "AABBCCDDEEFF",
        "password": "correct horse",
        "period": "PT30M",
        "postcode": "LS6 3QT",
        "start": "2026-11-20T00:00:00Z",
        "username": "ada@example.org",
    }
)
"""Sample values by the name of the argument or input field, or of its scalar."""


REFUSAL_FRAGMENT = "... on Refusal { refusal: code message problems { path message } }"
"""The fields that a document selects of a refusal."""

_CURSORS = ("after", "before")
"""Arguments of connections whose values are not those of REST."""


def graphql_twin(operation: Operation, edges: Collection[str], schema: Schema) -> Json:
    """Return the field of an operation, or the path to its records, with a document and sample variables."""
    name = operation.graphql_name
    kind = operation.kind.value.lower()
    arguments: dict[str, GraphQLArgument] = {}
    selected = _follow_path(operation, schema, edges, arguments)
    declared = ", ".join(_variable(key, argument) for key, argument in arguments.items())
    text = f"{kind} {name[0].upper()}{name[1:]}{f'({declared})' if declared else ''} {selected}"
    own = {graphql_name(name) for name in operation.arguments}
    variables = {
        key: _sample(key, argument.type, own) for key, argument in arguments.items() if is_required_argument(argument)
    }
    if path_of(operation)[0] == "node":
        variables["id"] = encode_global_id(path_of(operation)[1], EXAMPLE_UUID)
    return {"kind": kind, "field": operation.field_path, "document": print_ast(parse(text)), "variables": variables}


def path_of(operation: Operation) -> tuple[str, ...]:
    """Return the path of the fields of an operation, from its root field. After `node`, it has the name of the type."""
    if operation.is_read_by_node:
        return (*operation.in_graphql, graphql_type_name(operation.result_type.__name__))
    return operation.in_graphql or (operation.graphql_name,)


def _follow_path(
    operation: Operation, schema: Schema, edges: Collection[str], arguments: dict[str, GraphQLArgument]
) -> str:
    """Return the selection of the fields that lead to the records of an operation, and add the arguments of each field.

    A field of a path has the arguments that it requires, and those that the operation has too.
    """
    own = {graphql_name(name) for name in operation.arguments}
    text, end = "", ""
    parent: Any = schema.core.get_type(operation.kind.value)
    for name in path_of(operation):
        if name[0].isupper():
            parent = schema.core.get_type(name)
            text += f"{{ ... on {name} "
            end += " }"
            continue
        assert isinstance(parent, GraphQLObjectType)
        field = parent.fields[name]
        args = {
            key: argument
            for key, argument in field.args.items()
            if not operation.in_graphql or is_required_argument(argument) or (key in own and key not in _CURSORS)
        }
        arguments.update(args)
        passed = ", ".join(f"{key}: ${key}" for key in args)
        text += f"{{ {name}{f'({passed})' if passed else ''} "
        end += " }"
        parent = get_named_type(field.type)
        if operation.in_graphql and isinstance(parent, GraphQLObjectType) and "edges" in parent.fields:
            text += "{ edges { node "
            end += " } }"
            parent = get_named_type(get_named_type(parent.fields["edges"].type).fields["node"].type)
    return text + _selection(parent, edges) + end


def _variable(name: str, argument: GraphQLArgument) -> str:
    """Return the definition of the variable for an argument, with the default of the argument."""
    default = argument.default_value
    node = None if default in (Undefined, None) else ast_from_value(default, argument.type)
    return f"${name}: {argument.type}" + (f" = {print_ast(node)}" if node else "")


def _selection(type_: Any, edges: Collection[str]) -> str:
    """Return the selection set of all plain fields of a type at any depth, and of the named edges."""
    if is_leaf_type(type_):
        return ""
    if isinstance(type_, GraphQLUnionType):  # the result of a mutation: its record first, then its refusals
        return f"{{ ... on {type_.types[0]} {_selection(type_.types[0], edges)} {REFUSAL_FRAGMENT} }}"
    assert isinstance(type_, GraphQLObjectType)
    inner = [
        f"{name} {_selection(get_named_type(member.type), ())}"
        for name, member in type_.fields.items()
        if name in edges or _is_plain(member)
    ]
    return "{ " + " ".join(inner) + " }"


def _is_plain(field: GraphQLField) -> bool:
    declared = field.extensions.get(STRAWBERRY_DEFINITION)
    return not field.args and (declared is None or (edge_of(declared) is None and not is_global_id(declared)))


def _sample(name: str, type_: Any, own: Collection[str]) -> Any:
    """Return a sample value. Of an input with exactly one field, take the one that the operation has as an argument."""
    if isinstance(type_, GraphQLNonNull):
        return _sample(name, type_.of_type, own)
    if name in SAMPLES:
        return SAMPLES[name]
    if isinstance(type_, GraphQLList):
        return [_sample("", type_.of_type, own)]
    if isinstance(type_, GraphQLEnumType):
        return next(iter(type_.values))
    if isinstance(type_, GraphQLInputObjectType):
        return {
            key: _sample(key, field.type, own)
            for key, field in type_.fields.items()
            if is_required_input_field(field) or (key in own and type_.extensions[STRAWBERRY_DEFINITION].is_one_of)
        }
    return SAMPLES[type_.name]
