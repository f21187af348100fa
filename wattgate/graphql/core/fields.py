"""From declarations to Strawberry fields: one function for operations, one for edges."""

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast, get_type_hints

import strawberry
from strawberry.types.field import StrawberryField

from wattgate.enums import to_camel_case
from wattgate.errors import BadInput
from wattgate.graphql.core.context import GraphQLContext
from wattgate.graphql.core.cost_weights import Amount, ListSize
from wattgate.graphql.core.edge import EdgeField, EdgeLoader
from wattgate.graphql.core.operation import Argument, Operation, OperationKind
from wattgate.principal import Permission

Info = strawberry.Info[GraphQLContext, None]
_EDGE_METADATA = "wattgate.edge"
_OPERATION_METADATA = "wattgate.operation"
_SIZES_METADATA = "wattgate.sizes"
_RESUME_ARGUMENTS = {"since": Argument(str | None, None)}


def build_root_field(operation: Operation) -> StrawberryField:
    """The root field of an operation."""

    async def resolve(info: Info, **arguments: Any) -> Any:
        return await info.context.run_operation(str(info.path.key), operation, arguments)

    async def subscribe(info: Info, **arguments: Any) -> AsyncIterator[Any]:
        raise BadInput("subscriptions are served over WebSockets and as event streams")
        yield

    if operation.kind is OperationKind.SUBSCRIPTION:
        parameters = {**operation.arguments, **(_RESUME_ARGUMENTS if operation.resumes else {})}
        result_type = operation.returns | None if operation.resumes else operation.returns
        _set_signature(subscribe, parameters, returns=AsyncIterator[result_type])  # type: ignore[valid-type]
        field: Any = strawberry.subscription(
            resolver=subscribe,
            name=to_camel_case(operation.name),
            description=operation.description,
            metadata={_OPERATION_METADATA: operation},
        )
    else:
        _set_signature(resolve, operation.arguments, returns=operation.returns)
        field = strawberry.field(
            resolver=resolve,
            name=to_camel_case(operation.name),
            description=operation.description,
            metadata={_OPERATION_METADATA: operation},
        )
    field.python_name = operation.name
    return cast(StrawberryField, field)


def edge(
    load: EdgeLoader, *, needs: Permission, description: str, weight: Amount = 1, sizes: Sequence[ListSize] = ()
) -> Any:
    """The field of an edge. Its type is the class annotation, its arguments are the loader's keyword arguments."""
    declared = EdgeField(load, needs, weight, tuple(sizes))

    async def resolve(root: Any, info: Info, **arguments: Any) -> Any:
        return await info.context.load(declared, root, arguments)

    hints = get_type_hints(load, include_extras=True)
    parameters = {
        name: Argument(hints[name], parameter.default)
        for name, parameter in inspect.signature(load).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    _set_signature(resolve, parameters, root=True)
    return strawberry.field(resolver=resolve, description=description, metadata={_EDGE_METADATA: declared})


def list_field(size: int, *, description: str | None = None) -> Any:
    """A list among what is there already, of which it is known how long it mostly is."""
    return strawberry.field(description=description, metadata={_SIZES_METADATA: (ListSize(size),)})


def list_sizes_of(field: StrawberryField) -> tuple[ListSize, ...]:
    """How long the lists of a field are, as far as it says so."""
    declared = edge_of(field) or operation_of(field)
    sizes: tuple[ListSize, ...] = declared.sizes if declared else _metadata(field).get(_SIZES_METADATA, ())
    return sizes


def edge_of(field: StrawberryField) -> EdgeField | None:
    """The edge behind a field; None for a plain one."""
    return _metadata(field).get(_EDGE_METADATA)


def operation_of(field: StrawberryField) -> Operation | None:
    """The operation behind a root field; None for any other one."""
    return _metadata(field).get(_OPERATION_METADATA)


def _metadata(field: StrawberryField) -> Mapping[Any, Any]:
    return field.metadata or {}


def find_edge(graphql_type: Any, name: str) -> EdgeField:
    """The edge of a type by its Python name."""
    for field in graphql_type.__strawberry_definition__.fields:
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
    """Give a resolver the signature that Strawberry reads arguments and type from."""
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
