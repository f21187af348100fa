"""Edges and operations from signatures. The world of the execution computes their results."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def edge_loader(signature: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loader of an edge with this signature."""

    @functools.wraps(signature)
    async def load(world: Any, parents: list[Any], **arguments: Any) -> list[Any]:
        return list(await world.load_each(signature.__name__, parents, _with_defaults(signature, arguments)))

    return load


def query_resolver(signature: Callable[..., Any]) -> Callable[..., Any]:
    """Return the resolver of a query with this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.answer(signature.__name__, _with_defaults(signature, arguments))

    return resolve


def mutation_resolver(signature: Callable[..., Any]) -> Callable[..., Any]:
    """Return the resolver of a mutation with this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.change(signature.__name__, _with_defaults(signature, arguments))

    return resolve


def _with_defaults(signature: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with defaults for omitted ones. Raise TypeError if an argument is unknown."""
    kind = inspect.signature(signature)
    named = kind.replace(
        parameters=[parameter for parameter in kind.parameters.values() if parameter.kind is parameter.KEYWORD_ONLY]
    )
    bound = named.bind(**arguments)
    bound.apply_defaults()
    return dict(bound.arguments)
