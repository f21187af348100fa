"""Edges and operations of the schema are signatures alone: what they answer is made by the world that is asked."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def loads(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The loader of an edge that has this signature."""

    @functools.wraps(signature)
    async def load(world: Any, parents: list[Any], **arguments: Any) -> list[Any]:
        return list(await world.each(signature.__name__, parents, _all(signature, arguments)))

    return load


def answers(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The resolver of a query that has this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.answer(signature.__name__, _all(signature, arguments))

    return resolve


def changes(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The resolver of a mutation that has this signature."""

    @functools.wraps(signature)
    async def resolve(world: Any, **arguments: Any) -> Any:
        return await world.change(signature.__name__, _all(signature, arguments))

    return resolve


def _all(signature: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with those that were left out. TypeError where there is no such argument."""
    kind = inspect.signature(signature)
    named = kind.replace(parameters=[one for one in kind.parameters.values() if one.kind is one.KEYWORD_ONLY])
    bound = named.bind(**arguments)
    bound.apply_defaults()
    return dict(bound.arguments)
