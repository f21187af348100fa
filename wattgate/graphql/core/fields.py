"""From declarations to Strawberry fields: one function for operations, one for edges."""

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast, get_type_hints

import strawberry
from strawberry.types.field import StrawberryField

from wattgate.enums import camel
from wattgate.errors import BadInput
from wattgate.graphql.core.context import Context
from wattgate.graphql.core.cost_weights import Amount, Size
from wattgate.graphql.core.edge import Edge, Load
from wattgate.graphql.core.operation import Argument, Kind, Operation
from wattgate.principal import Permission

Info = strawberry.Info[Context, None]
_EDGE = "wattgate.edge"
_OPERATION = "wattgate.operation"
_SIZES = "wattgate.sizes"
_RESUMING = {"since": Argument(str | None, None)}


def field_of(operation: Operation) -> StrawberryField:
    """The root field of an operation."""

    async def resolve(info: Info, **arguments: Any) -> Any:
        return await info.context.answer(str(info.path.key), operation, arguments)

    async def subscribe(info: Info, **arguments: Any) -> AsyncIterator[Any]:
        raise BadInput("subscriptions are served over WebSockets and as event streams")
        yield

    if operation.kind is Kind.SUBSCRIPTION:
        takes = {**operation.takes, **(_RESUMING if operation.resumes else {})}
        told = operation.returns | None if operation.resumes else operation.returns
        _sign(subscribe, takes, returns=AsyncIterator[told])  # type: ignore[valid-type]
        made: Any = strawberry.subscription(
            resolver=subscribe,
            name=camel(operation.name),
            description=operation.description,
            metadata={_OPERATION: operation},
        )
    else:
        _sign(resolve, operation.takes, returns=operation.returns)
        made = strawberry.field(
            resolver=resolve,
            name=camel(operation.name),
            description=operation.description,
            metadata={_OPERATION: operation},
        )
    made.python_name = operation.name
    return cast(StrawberryField, made)


def edge(load: Load, *, needs: Permission, description: str, weight: Amount = 1, sizes: Sequence[Size] = ()) -> Any:
    """The field of an edge. Its type is the class annotation, its arguments are the loader's keyword arguments."""
    declared = Edge(load, needs, weight, tuple(sizes))

    async def resolve(root: Any, info: Info, **arguments: Any) -> Any:
        return await info.context.load(declared, root, arguments)

    hints = get_type_hints(load, include_extras=True)
    takes = {
        name: Argument(hints[name], parameter.default)
        for name, parameter in inspect.signature(load).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    _sign(resolve, takes, root=True)
    return strawberry.field(resolver=resolve, description=description, metadata={_EDGE: declared})


def listed(size: int, *, description: str | None = None) -> Any:
    """A list among what is there already, of which it is known how long it mostly is."""
    return strawberry.field(description=description, metadata={_SIZES: (Size(size),)})


def sizes_of(field: StrawberryField) -> tuple[Size, ...]:
    """How long the lists of a field are, as far as it says so."""
    declared = edge_of(field) or operation_of(field)
    sizes: tuple[Size, ...] = declared.sizes if declared else _metadata(field).get(_SIZES, ())
    return sizes


def edge_of(field: StrawberryField) -> Edge | None:
    """The edge behind a field; None for a plain one."""
    return _metadata(field).get(_EDGE)


def operation_of(field: StrawberryField) -> Operation | None:
    """The operation behind a root field; None for any other one."""
    return _metadata(field).get(_OPERATION)


def _metadata(field: StrawberryField) -> Mapping[Any, Any]:
    return field.metadata or {}


def edge_named(shape: Any, name: str) -> Edge:
    """The edge of a type by its Python name."""
    for field in shape.__strawberry_definition__.fields:
        if field.python_name == name and (found := edge_of(field)):
            return found
    raise LookupError(f"{shape.__name__} has no edge {name}")


def _sign(
    function: Any,
    takes: Mapping[str, Argument],
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
                for name, argument in takes.items()
            ),
        ],
        return_annotation=returns,
    )
