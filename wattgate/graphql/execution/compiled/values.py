"""What plans do with values: exact where graphql-core is, a Fault wherever graphql-core has to look for itself."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from graphql import (
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)
from strawberry.execution.is_awaitable import optimized_is_awaitable
from strawberry.types.base import StrawberryObjectDefinition

from wattgate.graphql.core.field_source import DEFINITION

Coerce = Callable[[Any], Any]

MAX_CLASSES = 8
"""How many classes of rows are remembered for a type; those of further ones are checked row by row."""


class Fault(Exception):
    """A value is not what its type says, so that there is an error to tell, which graphql-core does."""


class Told(NamedTuple):
    """What deciding the type of an object may know of the execution."""

    schema: GraphQLSchema
    field_name: str
    is_awaitable: Callable[[Any], bool] = optimized_is_awaitable


def nothing(value: Any) -> bool:
    """Whether graphql-core takes a value for null or an error, or waits for it, whatever type it should have."""
    return value is None or value is Undefined or isinstance(value, Exception) or hasattr(value, "__await__")


def plain(coerce: Coerce) -> Coerce:
    """graphql-core's coercion of a leaf, for values that it would not refuse to look at."""

    def coerced(value: Any) -> Any:
        if nothing(value):
            raise Fault(f"{value!r} is no leaf")
        found = coerce(value)
        if found is None or found is Undefined:
            raise Fault(f"{value!r} cannot be told")
        return found

    return coerced


def names_of(kind: GraphQLEnumType) -> tuple[type, dict[str, str]] | None:
    """The class of an enum's members, and their GraphQL names by their Python ones; None where it has none."""
    members = getattr(kind, "wrapped_cls", None)
    if members is None:
        return None
    return members, {members(value.value).name: name for name, value in kind.values.items()}


def as_list(value: Any) -> Sequence[Any]:
    """A value that stands for a list. What can be read only once, and what merely can be read, is not."""
    if value.__class__ is list or value.__class__ is tuple:
        items: Sequence[Any] = value
        return items
    raise Fault("not a plain list")


def aligned(found: Any, parents: Sequence[Any]) -> list[Any]:
    """What an edge gave: one result for each parent. Errors among them are seen where they are to be told."""
    if found.__class__ is not list or len(found) != len(parents):
        raise Fault("an edge did not give one result for each parent")
    results: list[Any] = found
    return results


async def together(*work: Coroutine[Any, Any, Any]) -> list[Any]:
    """The results of what runs at once. Where one fails the others have ended before the error goes on."""
    first, *others = work
    tasks = [asyncio.ensure_future(one) for one in others]
    try:
        return [await first, *[await task for task in tasks]]
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class Classes:
    """The classes of rows that are known to be of an object type. `known` are looked up in the plan itself."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLObjectType) -> None:
        self.known: set[type] = set()
        self._kind = kind
        self._told = Told(schema, "")
        declared: StrawberryObjectDefinition | None = kind.extensions.get(DEFINITION)
        self._by_class = kind.is_type_of is None or (declared is not None and declared.is_type_of is None)

    def check(self, value: Any) -> None:
        """Fault where a value is no object of the type."""
        if nothing(value):
            raise Fault(f"{value!r} is no object")
        if self._kind.is_type_of is not None and self._kind.is_type_of(value, self._told) is not True:  # type: ignore[arg-type]
            raise Fault(f"{value!r} is not of the type {self._kind.name}")
        if self._by_class and len(self.known) < MAX_CLASSES:
            self.known.add(value.__class__)


class Members:
    """Tells which of its object types a value of an abstract type has."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLAbstractType, field_name: str) -> None:
        self._kind = kind
        self._told = Told(schema, field_name)
        self._names = {} if _decides_itself(kind) else _by_class(schema, kind)

    def name(self, value: Any) -> str:
        """The name of a value's type. Fault where that is not clear at once."""
        known = self._names.get(value.__class__)
        if known is not None:
            return known
        if nothing(value) or self._kind.resolve_type is None:
            raise Fault(f"{value!r} has no known type")
        found = self._kind.resolve_type(value, self._told, self._kind)  # type: ignore[arg-type]
        if found.__class__ is not str:
            raise Fault(f"{value!r} has no known type")
        return str(found)


def _decides_itself(kind: GraphQLAbstractType) -> bool:
    """Whether an interface was declared with a function of its own that tells the type of an object."""
    return getattr(kind.extensions.get(DEFINITION), "resolve_type", None) is not None


def _by_class(schema: GraphQLSchema, kind: GraphQLAbstractType) -> dict[type, str]:
    """The names of object types by the classes that declare them."""
    return {
        declared.origin: one.name
        for one in schema.get_possible_types(kind)
        if (declared := one.extensions.get(DEFINITION)) is not None and not declared.is_graphql_generic
    }


Level = Callable[[Any, Any, Sequence[Any]], Coroutine[Any, Any, list[Any]]]
"""A function of a plan that makes answers of the objects of one type: (caller, variables, objects)."""


async def mixed(
    levels: Mapping[str, Level], name: Callable[[Any], str], c: Any, v: Any, values: Sequence[Any]
) -> list[Any]:
    """What the levels of several types make of objects of these, in their order."""
    names = [name(value) for value in values]
    if not levels.keys() >= set(names):
        raise Fault("an object has a type that cannot stand here")
    groups: dict[str, list[Any]] = {}
    for one, value in zip(names, values, strict=True):
        groups.setdefault(one, []).append(value)
    made = await together(*[levels[one](c, v, some) for one, some in groups.items()])
    following = {one: iter(results) for one, results in zip(groups, made, strict=True)}
    return [next(following[one]) for one in names]
