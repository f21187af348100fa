"""Edges and operations of the schema are signatures alone: what they answer is made by the world that is asked."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def edge_loader(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The loader of an edge that has this signature."""

    @functools.wraps(signature)
    async def load(world: Any, parents: list[Any], **arguments: Any) -> list[Any]:
        return list(await world.load_each(signature.__name__, parents, _with_defaults(signature, arguments)))

    return load


def query_resolver(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The resolver of a query that has this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.answer(signature.__name__, _with_defaults(signature, arguments))

    return resolve


def mutation_resolver(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The resolver of a mutation that has this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.change(signature.__name__, _with_defaults(signature, arguments))

    return resolve


def _with_defaults(signature: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with those that were left out. TypeError where there is no such argument."""
    kind = inspect.signature(signature)
    named = kind.replace(
        parameters=[parameter for parameter in kind.parameters.values() if parameter.kind is parameter.KEYWORD_ONLY]
    )
    bound = named.bind(**arguments)
    bound.apply_defaults()
    return dict(bound.arguments)
