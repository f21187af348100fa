"""Send the same operation over GraphQL and REST, with documents and requests built from the catalogue."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
from graphql import (
    GraphQLField,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_interface_type,
    is_leaf_type,
    is_object_type,
    is_required_argument,
    is_union_type,
)
from strawberry.types.field import StrawberryField

from tests.support.gateway_schema import GATEWAY_SCHEMA, SCHEMA
from tests.support.house import House
from tests.support.refusals import refusals, with_refusals
from wattgate.app.workers.user_jobs import PART_BYTES
from wattgate.clock import format_iso
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import edge_of
from wattgate.operations.core.operation import JSON, Operation, RestRoute
from wattgate.operations.personal_data.data_exports import ZIP
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary.node import encode_global_id, is_global_id
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of
from wattgate.rest_compat.openapi.graphql_twins import path_of
from wattgate.values.graphql_names import graphql_path, graphql_type_name

GRAPHQL, REST = "graphql", "rest"
INTERFACES = (GRAPHQL, REST)
"""The interfaces of the gateway."""


MAX_INPUT_LEVELS = 40
"""The lists and objects within each other that the input of an operation has at most, with some to spare."""

DONE = {"valid": True}
"""The acknowledgement that REST returns in place of some records."""


@dataclass(frozen=True)
class InterfaceResult:
    """The response of an interface: the value, or the code of the error."""

    value: Any = None
    code: str | None = None
    status: int = 200
    body: Any = None


def field_of(operation: Operation) -> GraphQLField:
    """Return the root field of an operation in the schema. One that has no root field there is outside the schema."""
    root = SCHEMA.get_type(operation.kind.value) if operation.has_field else GATEWAY_SCHEMA.rest_root
    assert isinstance(root, GraphQLObjectType)
    field: GraphQLField = root.fields[operation.graphql_name]
    return field


def document(
    operation: Operation, argument_names: Iterable[str], edges: tuple[str, ...] = (), edge_depth: int = 0
) -> str:
    """Return a document that passes the named arguments and selects all plain fields and the named edges.

    With `edge_depth`, it selects all edges without required arguments down to this depth.
    """
    return _document(operation, tuple(to_graphql_names(dict.fromkeys(argument_names))), edges, edge_depth)


@cache
def _document(operation: Operation, argument_names: tuple[str, ...], edges: tuple[str, ...], edge_depth: int) -> str:
    """Return the document of `document`, for arguments with the names of GraphQL. Walks ask for each many times."""
    field = field_of(operation)
    if operation.in_graphql:
        selected = deep_selection(field, edge_depth) if edge_depth else selection(field, edges)
        return _document_of_path(operation, argument_names, selected)
    declared = ", ".join(f"${name}: {field.args[name].type}" for name in argument_names)
    passed = ", ".join(f"{name}: ${name}" for name in argument_names)
    variables, argument_list = (f"({declared})", f"({passed})") if declared else ("", "")
    kind = operation.kind.value.lower()
    selected = deep_selection(field, edge_depth) if edge_depth else selection(field, edges)
    return with_refusals(f"{kind} {variables} {{ answer: {operation.graphql_name}{argument_list} {selected} }}")


def selection(field: GraphQLField, edges: tuple[str, ...] = ()) -> str:
    """Return the selection set of all plain fields at any depth, and of the named edges, as in REST."""
    type_ = get_named_type(field.type)
    if is_leaf_type(type_):
        return ""
    if is_interface_type(type_):
        return "{ __typename id }"
    if is_union_type(type_):
        return _selection_of_result(type_, selection_of(type_.types[0], edges))
    assert is_object_type(type_)
    return selection_of(type_, edges)


def selection_of(type_: GraphQLObjectType, edges: tuple[str, ...] = ()) -> str:
    """Return the selection set of a type, as `selection` does."""
    inner = [
        f"{name} {selection(inner_field, edges if is_list_of(type_) else ())}"
        for name, inner_field in type_.fields.items()
        if name in edges or _is_in_rest(inner_field.extensions["strawberry-definition"])
    ]
    return "{ " + " ".join(inner) + " }"


def is_list_of(type_: GraphQLObjectType) -> bool:
    """Return whether a type holds the list that a mutation returns."""
    return type_.name in _LIST_TYPES


_LIST_TYPES = {graphql_type_name(operation.list_type.__name__) for operation in OPERATIONS if operation.list_type}


def _selection_of_result(union: GraphQLUnionType, record: str) -> str:
    """Return the selection set of the result of a mutation, whose record has this one."""
    refusal = " ...Refused" if len(union.types) > 1 else ""
    return f"{{ ... on {union.types[0]} {record}{refusal} }}"


def _is_in_rest(declared: StrawberryField) -> bool:
    return edge_of(declared) is None and not is_global_id(declared)


def deep_selection(field: GraphQLField, edge_depth: int) -> str:
    """Return the selection set of all fields without required arguments, with edges down to a depth."""
    type_ = get_named_type(field.type)
    if is_leaf_type(type_):
        return ""
    if is_interface_type(type_):
        return "{ __typename id }"
    if is_union_type(type_):
        return _selection_of_result(type_, _deep_selection_of(type_.types[0], edge_depth))
    assert is_object_type(type_)
    return _deep_selection_of(type_, edge_depth)


def _deep_selection_of(type_: GraphQLObjectType, edge_depth: int) -> str:
    inner = []
    for name, member in type_.fields.items():
        is_edge = edge_of(member.extensions["strawberry-definition"]) is not None
        if edge_depth >= is_edge and not any(map(is_required_argument, member.args.values())):
            inner.append(f"{name} {deep_selection(member, edge_depth - is_edge)}")
    return "{ " + " ".join(inner) + " }"


async def by_graphql(
    house: House,
    operation: Operation,
    variables: dict[str, Any],
    headers: dict[str, str],
    edges: tuple[str, ...] = (),
    edge_depth: int = 0,
) -> InterfaceResult:
    request = {
        "query": document(operation, variables, edges, edge_depth),
        "variables": to_graphql_variables(operation, variables),
    }
    answer = await house.http.post("/graphql", json=request, headers=headers)
    body = answer.json()
    if errors := body.get("errors"):
        return InterfaceResult(code=errors[0]["extensions"]["code"], status=answer.status_code, body=body)
    value = body["data"]["answer"]
    if refused := refusals(body):
        return InterfaceResult(code=refused[0]["code"], status=answer.status_code, body=body)
    if operation.rest_result is not None:  # REST has an acknowledgement in place of the record
        value = [DONE] if operation.rest_returns_list else DONE
    elif operation.list_type is not None:
        value = value["items"]
    for name in operation.in_graphql[1:]:
        value = value if name[0].isupper() else value[name]
    return InterfaceResult(value=value, status=answer.status_code, body=body)


def _document_of_path(operation: Operation, argument_names: tuple[str, ...], selected: str) -> str:
    """Return a document that follows the path of an operation without a root field, and passes the named arguments.

    `node` takes the global id for the key of a record.
    """
    declared, text = dict[str, Any](), ""
    path = path_of(operation)
    parent: Any = SCHEMA.get_type(operation.kind.value)
    for name in path:
        if name[0].isupper():
            parent = SCHEMA.get_type(name)
            text += f"{{ ... on {name} "
            continue
        field = parent.fields[name]
        passed = []
        for key, argument in field.args.items():
            members = getattr(get_named_type(argument.type), "fields", {})
            if name == "node" or key in argument_names:
                declared[key] = argument.type
                passed.append(f"{key}: ${key}")
            given = [member for member in members if member in argument_names]
            declared |= {member: f"{get_nullable_type(members[member].type)}!" for member in given}
            if given:
                passed.append(f"{key}: {{{', '.join(f'{member}: ${member}' for member in given)}}}")
        text += f"{{ {'answer: ' if parent.name == 'Query' else ''}{name}"
        text += f"({', '.join(passed)}) " if passed else " "
        parent = get_named_type(field.type)
    variables = ", ".join(f"${key}: {type_}" for key, type_ in declared.items())
    return f"query {f'({variables})' if variables else ''} {text} {selected} {'}' * len(path)}"


def to_graphql_variables(operation: Operation, variables: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the document of an operation, for those with the names of REST.

    `node` takes the global id for the key of a record.
    """
    path = path_of(operation)
    if not operation.in_graphql or path[0] != "node":
        return dict(to_graphql_names(variables))
    key, *others = variables.values()
    assert not others
    try:
        return {"id": encode_global_id(path[1], str(key))}
    except UnicodeEncodeError:  # half a character of a fuzzed key, which no global id can hold
        return {"id": key}


def to_graphql_names(value: Any, levels: int = MAX_INPUT_LEVELS) -> Any:
    """Return a value with the names of GraphQL in place of those of REST, down to the levels that inputs have.

    Fuzzed values are nested deeper. They are passed on as they are.
    """
    if not levels:
        return value
    if isinstance(value, list):
        return [to_graphql_names(item, levels - 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {graphql_path((name,))[0]: to_graphql_names(item, levels - 1) for name, item in value.items()}


def is_in_graphql(operation: Operation) -> bool:
    """Return whether `document` asks for an operation in GraphQL: by its root field, or by the path to its records.

    A path through a connection does not lead to the same list.
    """
    if not operation.in_graphql:
        return operation.has_field
    parent: Any = SCHEMA.get_type(operation.kind.value)
    for name in path_of(operation):
        parent = SCHEMA.get_type(name) if name[0].isupper() else get_named_type(parent.fields[name].type)
        if "edges" in getattr(parent, "fields", {}):
            return False
    return True


async def by_rest(
    house: House, operation: Operation, rest: RestRoute, variables: dict[str, Any], headers: dict[str, str]
) -> InterfaceResult:
    remaining = {operation.rest_names.get(name, name): value for name, value in variables.items()}
    path = re.sub(r"\{(\w+)\}", lambda match: str(remaining.pop(match[1])), rest.path)
    options: dict[str, Any] = {}
    if rest.method == "GET":
        options["params"] = {name: value for name, value in remaining.items() if value is not None}
    elif remaining:
        options["json"] = remaining.pop("input", remaining)
    accept = {"Accept": rest.media_type} if rest.media_type != JSON else {}
    answer = await house.call(rest.method, path, headers | accept, **options)
    reader = READERS.get(answer.headers["content-type"])
    body = answer.json() if reader is None else reader(answer.content)
    if answer.status_code >= 400:
        return InterfaceResult(code=body["code"], status=answer.status_code, body=body)
    return InterfaceResult(value=body, status=answer.status_code, body=body)


def read_archive(content: bytes) -> dict[str, Any]:
    """Return the first part of an archive as GraphQL shows it. An archive of many records has several parts."""
    return {"content": b64encode(content[:PART_BYTES]).decode()}


def read_columns(stream: bytes) -> dict[str, Any]:
    """Return the columns of an Arrow stream, with instants as text."""
    columns: dict[str, Any] = pa.ipc.open_stream(stream).read_all().to_pydict()
    return {**columns, "timestamp": [format_iso(at) for at in columns["timestamp"]]}


READERS: Mapping[str, Callable[[bytes], dict[str, Any]]] = {ARROW: read_columns, ZIP: read_archive}
"""The readers of responses that are not JSON, by media type."""


def to_rest_values(operation: Operation, value: Any) -> Any:
    """Convert a GraphQL result to REST: to its names, the values of enums, and numbers in place of decimal text."""
    type_ = field_of(operation).type
    if operation.list_type is not None:  # `value` has the items
        holder = SCHEMA.type_map[graphql_type_name(operation.list_type.__name__)]
        assert is_object_type(holder)
        type_ = holder.fields["items"].type
    return _to_rest_value(type_, value)


def _to_rest_value(type_: Any, value: Any) -> Any:
    named = get_named_type(type_)
    if isinstance(value, list):
        return [_to_rest_value(named, item) for item in value]
    if named.name == "Decimal" and value is not None:
        return float(value)
    if is_enum_type(named) and value is not None:
        return getattr(named.values[value].value, "value", named.values[value].value)
    if value is None or is_leaf_type(named):
        return value
    if is_union_type(named):  # the result of a mutation, which may be an acknowledgement in REST
        named = named.types[0]
        if value == DONE:
            return value
    return {
        _rest_name(named.fields[name]): _to_rest_value(named.fields[name].type, item) for name, item in value.items()
    }


def _rest_name(field: GraphQLField) -> str:
    return rest_name_of(field.extensions["strawberry-definition"])


def rest_endpoints() -> list[tuple[Operation, RestRoute]]:
    """Return every REST endpoint of the catalogue with its operation."""
    return [(operation, rest) for operation in OPERATIONS for rest in operation.rest]


async def by_interface(
    house: House, interface: str, name: str, variables: dict[str, Any], headers: dict[str, str]
) -> InterfaceResult:
    """Send the operation with this name over GraphQL or REST (one of INTERFACES)."""
    found = next(candidate for candidate in OPERATIONS if candidate.name == name)
    if interface == GRAPHQL:
        return await by_graphql(house, found, variables, headers)
    return await by_rest(house, found, found.rest[0], variables, headers)
