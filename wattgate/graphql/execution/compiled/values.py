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

from wattgate.graphql.core.field_source import STRAWBERRY_DEFINITION

CoerceLeaf = Callable[[Any], Any]

MAX_KNOWN_CLASSES = 8
"""How many classes of rows are remembered for a type; those of further ones are checked row by row."""


class FallbackRequired(Exception):
    """A value is not what its type says, so that there is an error to tell, which graphql-core does."""


class TypeResolveInfo(NamedTuple):
    """What deciding the type of an object may know of the execution."""

    schema: GraphQLSchema
    field_name: str
    is_awaitable: Callable[[Any], bool] = optimized_is_awaitable


def is_null_or_error(value: Any) -> bool:
    """Whether graphql-core takes a value for null or an error, or waits for it, whatever type it should have."""
    return value is None or value is Undefined or isinstance(value, Exception) or hasattr(value, "__await__")


def checked_coercion(coerce: CoerceLeaf) -> CoerceLeaf:
    """graphql-core's coercion of a leaf, for values that it would not refuse to look at."""

    def coerced(value: Any) -> Any:
        if is_null_or_error(value):
            raise FallbackRequired(f"{value!r} is no leaf")
        result = coerce(value)
        if result is None or result is Undefined:
            raise FallbackRequired(f"{value!r} cannot be told")
        return result

    return coerced


def enum_names(kind: GraphQLEnumType) -> tuple[type, dict[str, str]] | None:
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
    raise FallbackRequired("not a plain list")


def check_lengths(results: Any, parents: Sequence[Any]) -> list[Any]:
    """What an edge gave: one result for each parent. Errors among them are seen where they are to be told."""
    if results.__class__ is not list or len(results) != len(parents):
        raise FallbackRequired("an edge did not give one result for each parent")
    checked: list[Any] = results
    return checked


async def gather_or_cancel(*coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
    """The results of what runs at once. Where one fails the others have ended before the error goes on."""
    first, *others = coroutines
    tasks = [asyncio.ensure_future(coroutine) for coroutine in others]
    try:
        return [await first, *[await task for task in tasks]]
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


class KnownClasses:
    """The classes of rows that are known to be of an object type. `known` are looked up in the plan itself."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLObjectType) -> None:
        self.known: set[type] = set()
        self._kind = kind
        self._resolve_info = TypeResolveInfo(schema, "")
        declared: StrawberryObjectDefinition | None = kind.extensions.get(STRAWBERRY_DEFINITION)
        self._remembers_classes = kind.is_type_of is None or (declared is not None and declared.is_type_of is None)

    def check(self, value: Any) -> None:
        """Fault where a value is no object of the type."""
        if is_null_or_error(value):
            raise FallbackRequired(f"{value!r} is no object")
        if self._kind.is_type_of is not None and self._kind.is_type_of(value, self._resolve_info) is not True:  # type: ignore[arg-type]
            raise FallbackRequired(f"{value!r} is not of the type {self._kind.name}")
        if self._remembers_classes and len(self.known) < MAX_KNOWN_CLASSES:
            self.known.add(value.__class__)


class MemberTypeResolver:
    """Tells which of its object types a value of an abstract type has."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLAbstractType, field_name: str) -> None:
        self._kind = kind
        self._resolve_info = TypeResolveInfo(schema, field_name)
        self._names_by_class = {} if _has_own_resolve_type(kind) else _type_names_by_class(schema, kind)

    def type_name(self, value: Any) -> str:
        """The name of a value's type. Fault where that is not clear at once."""
        known_name = self._names_by_class.get(value.__class__)
        if known_name is not None:
            return known_name
        if is_null_or_error(value) or self._kind.resolve_type is None:
            raise FallbackRequired(f"{value!r} has no known type")
        resolved = self._kind.resolve_type(value, self._resolve_info, self._kind)  # type: ignore[arg-type]
        if resolved.__class__ is not str:
            raise FallbackRequired(f"{value!r} has no known type")
        return str(resolved)


def _has_own_resolve_type(kind: GraphQLAbstractType) -> bool:
    """Whether an interface was declared with a function of its own that tells the type of an object."""
    return getattr(kind.extensions.get(STRAWBERRY_DEFINITION), "resolve_type", None) is not None


def _type_names_by_class(schema: GraphQLSchema, kind: GraphQLAbstractType) -> dict[type, str]:
    """The names of object types by the classes that declare them."""
    return {
        declared.origin: member.name
        for member in schema.get_possible_types(kind)
        if (declared := member.extensions.get(STRAWBERRY_DEFINITION)) is not None and not declared.is_graphql_generic
    }


LevelFunction = Callable[[Any, Any, Sequence[Any]], Coroutine[Any, Any, list[Any]]]
"""A function of a plan that makes answers of the objects of one type: (caller, variables, objects)."""


async def resolve_abstract(
    levels: Mapping[str, LevelFunction], name: Callable[[Any], str], c: Any, v: Any, values: Sequence[Any]
) -> list[Any]:
    """What the levels of several types make of objects of these, in their order."""
    names = [name(value) for value in values]
    if not levels.keys() >= set(names):
        raise FallbackRequired("an object has a type that cannot stand here")
    groups: dict[str, list[Any]] = {}
    for type_name, value in zip(names, values, strict=True):
        groups.setdefault(type_name, []).append(value)
    results = await gather_or_cancel(*[levels[type_name](c, v, group) for type_name, group in groups.items()])
    remaining = {type_name: iter(results) for type_name, results in zip(groups, results, strict=True)}
    return [next(remaining[type_name]) for type_name in names]
