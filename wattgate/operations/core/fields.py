"""Strawberry fields for operations (`build_root_field`) and for edges (`edge`)."""

import inspect
from collections.abc import AsyncIterator, Container, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, cast, get_args, get_type_hints

import strawberry
from graphql import GraphQLField, GraphQLObjectType
from strawberry import LazyType
from strawberry.types import get_object_definition

from wattgate.errors import BadInput
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.operation import Argument, Operation, OperationKind
from wattgate.operations.vocabulary.cost_weights import Amount, ListSize, ResultUnits
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR, STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.node import EdgeField, EdgeLoader, is_global_id
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryField, StrawberryOptional, first_node
from wattgate.principal import Permission
from wattgate.values import terms

Info = strawberry.Info[GraphQLContext, None]
_EDGE_METADATA = "wattgate.edge"
_OPERATION_METADATA = "wattgate.operation"
_SIZES_METADATA = "wattgate.sizes"
_REST_FORM_METADATA = "wattgate.rest_form"
_REST_ONLY_METADATA = "wattgate.rest_only"
_GRAPHQL_ONLY_METADATA = "wattgate.graphql_only"
_RESUME_ARGUMENTS = {"since": Argument(terms.Since | None, None)}


def build_root_field(operation: Operation) -> StrawberryField:
    """Return the root field of an operation. It is nullable, so that an error leaves the other fields as they are."""
    with_default = _names_with_default(operation.arguments)

    async def resolve(info: Info, **arguments: Any) -> Any:
        given = without_nulls_for_defaults(arguments, with_default)
        return await info.context.run_operation(str(info.path.key), operation, given, _node_id(info))

    async def subscribe(info: Info, **arguments: Any) -> AsyncIterator[Any]:
        raise BadInput("subscriptions are served over WebSockets and as event streams")
        yield

    if operation.kind is OperationKind.SUBSCRIPTION:
        parameters = {**operation.arguments, **(_RESUME_ARGUMENTS if operation.resumes else {})}
        result_type = operation.returns | None
        _set_signature(subscribe, parameters, returns=AsyncIterator[result_type])  # type: ignore[valid-type]
        field: Any = strawberry.subscription(
            resolver=subscribe,
            name=operation.graphql_name,
            description=operation.description,
            metadata={_OPERATION_METADATA: operation},
            directives=[] if operation.resumes else [ONLY_ON_ERROR],  # null also means: only the position is new
        )
    else:
        _set_signature(resolve, operation.arguments, returns=operation.returns | None)
        field = strawberry.field(
            resolver=resolve,
            name=operation.graphql_name,
            description=operation.description,
            metadata={_OPERATION_METADATA: operation},
            directives=[] if type(None) in get_args(operation.returns) else [ONLY_ON_ERROR],
        )
    field.python_name = operation.name
    return cast(StrawberryField, field)


def edge(
    load: EdgeLoader,
    *,
    needs: Permission,
    description: str,
    weight: Amount = 1,
    sizes: Sequence[ListSize] = (),
    result_units: ResultUnits | None = None,
    graphql_type: Any = None,
    value_fields: frozenset[str] = frozenset(),
    load_values: EdgeLoader | None = None,
) -> Any:
    """Return the field of an edge. Its last arguments are those of `EdgeField`.

    Its type is the class annotation, or `graphql_type`; its arguments are the keyword arguments of the loader.

    Every edge is nullable in the schema, because its loader runs a query of its own: that can fail, be forbidden or
    withheld, or be refused because the budget is empty. The annotation says what else null means. Write `X | None` only
    if a record without a value is null without an error. For any other annotation, `@semanticNonNull` is printed.
    """
    declared = EdgeField(load, needs, weight, tuple(sizes), result_units, value_fields, load_values)

    async def resolve(root: Any, info: Info, **arguments: Any) -> Any:
        given = without_nulls_for_defaults(arguments, with_default)
        return await info.context.load(declared, root, given, _node_id(info))

    hints = get_type_hints(load, include_extras=True)
    parameters = {
        name: Argument(hints[name], parameter.default)
        for name, parameter in inspect.signature(load).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    with_default = _names_with_default(parameters)
    _set_signature(resolve, parameters, root=True)
    return strawberry.field(
        resolver=resolve,
        description=description,
        graphql_type=graphql_type,
        metadata={_EDGE_METADATA: declared},
    )


def _names_with_default(declared: Mapping[str, Argument]) -> frozenset[str]:
    """Return the names of the arguments of a resolver for which null stands for the default."""
    return frozenset(
        name
        for name, argument in declared.items()
        if not argument.required and type(None) not in get_args(argument.annotation)
    )


def without_nulls_for_defaults(values: dict[str, Any], with_default: Container[str]) -> dict[str, Any]:
    """Return arguments without the nulls that stand for defaults. `with_default` are the names that have one."""
    if None not in values.values():
        return values
    return {name: value for name, value in values.items() if value is not None or name not in with_default}


def optional_type(name: str, module: str) -> Any:
    """Return a nullable type of another module by its name, for edges back to types that refer to this one."""
    lazy: Any = LazyType(name, f"wattgate.operations.types.{module}")
    return StrawberryOptional(lazy)


def list_result(name: str, item: Any, *, description: str, items: str) -> Any:
    """Return a type for the list that a mutation returns, because a union has no lists.

    `items` describes its one field.
    """
    field = strawberry.field(description=items)
    declared = type(name, (), {"__annotations__": {"items": list[item]}, "items": field})
    return strawberry.type(declared, description=description)


def list_field(size: int, *, description: str | None = None) -> Any:
    """Return a field for a list that its parent already contains, with its typical length."""
    return strawberry.field(description=description, metadata={_SIZES_METADATA: (ListSize(size),)})


@dataclass(frozen=True, slots=True)
class RestForm:
    """The form of a field in the REST interface: the attribute of the row, its type, and the description.

    `name` is the name of the field there, if it is not that of GraphQL.
    """

    attribute: str
    type: Any
    description: str
    name: str | None = None


def field_with_rest_form(name: str, rest_form: RestForm, *, description: str) -> Any:
    """Return a plain field whose value has another form in the REST interface, which keeps that of earlier gateways.

    The row has an attribute for each form. `name` is the name of the field in GraphQL.
    """
    return strawberry.field(name=name, description=description, metadata={_REST_FORM_METADATA: rest_form})


def rest_only_field(*, description: str) -> Any:
    """Return a plain field that only REST has, because legacy clients read it."""
    return strawberry.field(description=description, metadata={_REST_ONLY_METADATA: True})


def graphql_only_field(*, description: str) -> Any:
    """Return a plain field that REST does not have, because its records keep their shape."""
    return strawberry.field(description=description, metadata={_GRAPHQL_ONLY_METADATA: True})


def is_in_rest(field: StrawberryField) -> bool:
    """Return whether the records of REST have a field: no edge, no global ID, and no field of GraphQL alone."""
    return edge_of(field) is None and not is_global_id(field) and not _metadata(field).get(_GRAPHQL_ONLY_METADATA)


def is_rest_only(field: StrawberryField) -> bool:
    """Return whether the GraphQL schema does not have a field."""
    return bool(_metadata(field).get(_REST_ONLY_METADATA))


def rest_form_of(field: StrawberryField) -> RestForm | None:
    """Return the form of a field in the REST interface, or None if it is the one of GraphQL."""
    return _metadata(field).get(_REST_FORM_METADATA)


def list_sizes_of(field: StrawberryField) -> tuple[ListSize, ...]:
    """Return the declared list sizes of a field, or an empty tuple."""
    declared = edge_of(field) or operation_of(field)
    sizes: tuple[ListSize, ...] = declared.sizes if declared else _metadata(field).get(_SIZES_METADATA, ())
    return sizes


def edge_of(field: StrawberryField) -> EdgeField | None:
    """Return the edge of a field, or None for a plain field."""
    return _metadata(field).get(_EDGE_METADATA)


def operation_of(field: StrawberryField) -> Operation | None:
    """Return the operation of a root field, or None for any other field."""
    return _metadata(field).get(_OPERATION_METADATA)


def _node_id(info: Info) -> int:
    """Return the identity of the field's first node in the document, under which its cost is known."""
    return id(first_node(info))


def _metadata(field: StrawberryField) -> Mapping[Any, Any]:
    return field.metadata or {}


def find_edge(graphql_type: Any, name: str) -> EdgeField:
    """Return the edge of a type by its Python name. Raise LookupError if there is none."""
    for field in get_object_definition(graphql_type, strict=True).fields:
        if field.python_name == name and (edge_field := edge_of(field)):
            return edge_field
    raise LookupError(f"{graphql_type.__name__} has no edge {name}")


def _set_signature(
    function: Any,
    arguments: Mapping[str, Argument],
    *,
    returns: Any = inspect.Signature.empty,
    root: bool = False,
) -> None:
    """Set the signature of a resolver, from which Strawberry reads the arguments and the type."""
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(
        [
            *([inspect.Parameter("root", positional)] if root else []),
            inspect.Parameter("info", positional, annotation=strawberry.Info),
            *(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=argument.annotation,
                    default=argument.default,
                )
                for name, argument in arguments.items()
            ),
        ],
        return_annotation=returns,
    )


# The source of a field in a compiled plan: an attribute, an edge, an operation, or the subscription payload.


class NotCompilable(Exception):
    """A document cannot be compiled, and graphql-core executes it; the message says why."""


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """An attribute of the parent. With `node_type`, the source is the global id that the attribute has in this type."""

    name: str
    node_type: str | None = None


@dataclass(frozen=True, slots=True)
class TypenameSource:
    """The name of the parent's type."""


@dataclass(frozen=True, slots=True)
class PayloadSource:
    """The payload of a subscription event."""


TYPENAME, PAYLOAD = TypenameSource(), PayloadSource()

FieldSource = AttributeSource | TypenameSource | PayloadSource | EdgeField | Operation


def field_source_of(kind: GraphQLObjectType, field: GraphQLField) -> FieldSource:
    """Return the source of a field. Raise NotCompilable if only its resolver can compute it."""
    declared: StrawberryField | None = field.extensions.get(STRAWBERRY_DEFINITION)
    if declared is None or declared.extensions or declared.permission_classes:
        raise NotCompilable(f"a field of {kind.name} is not declared with operation(), edge() or a plain attribute")
    operation = operation_of(declared)
    if operation is not None:
        return PAYLOAD if operation.kind is OperationKind.SUBSCRIPTION else operation
    edge = edge_of(declared)
    if edge is not None:
        return edge
    if is_global_id(declared):
        return AttributeSource(kind.extensions[STRAWBERRY_DEFINITION].origin.node_key, kind.name)
    name = declared.python_name
    if not declared.is_basic_field or not name.isidentifier() or iskeyword(name):
        raise NotCompilable(f"{kind.name}.{name} has a resolver of its own")
    return AttributeSource(name)
