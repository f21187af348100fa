"""Functions that plans call. They agree with graphql-core, or raise FallbackRequired so that graphql-core decides."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from graphql import (
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)

from wattgate.db.column_types import SerializedColumn, SerializedRows
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryObjectDefinition, optimized_is_awaitable
from wattgate.pauses import PAUSE_ITEMS

CoerceLeaf = Callable[[Any], Any]

_FLOAT_CLASSES, _INT_CLASSES = frozenset({float, NoneType}), frozenset({int})

MIN_INT, MAX_INT = -(2**31), 2**31 - 1
"""The bounds of the type Int."""

EXPENSIVE_UNITS = 1_000
"""Estimated cost from which a plan pauses between edges: the edges together may take more than a stall of 100 ms."""

MAX_KNOWN_CLASSES = 8
"""Number of row classes that are remembered for a type. Rows of further classes are checked one by one."""


class FallbackRequired(Exception):
    """A value does not match its type. graphql-core has to execute the field and report the error."""


class TypeResolveInfo(NamedTuple):
    """The part of graphql-core's resolve info that functions which resolve types use."""

    schema: GraphQLSchema
    field_name: str
    is_awaitable: Callable[[Any], bool] = optimized_is_awaitable


def is_null_or_error(value: Any) -> bool:
    """Return whether graphql-core treats a value of any type as null or an error, or awaits it."""
    return value is None or value is Undefined or isinstance(value, Exception) or hasattr(value, "__await__")


def checked_coercion(coerce: CoerceLeaf) -> CoerceLeaf:
    """Wrap the coercion of a leaf: raise FallbackRequired for null, errors and values without a result."""

    def coerced(value: Any) -> Any:
        if is_null_or_error(value):
            raise FallbackRequired(f"{value!r} is not a leaf value")
        result = coerce(value)
        if result is None or result is Undefined:
            raise FallbackRequired(f"{value!r} cannot be serialized")
        return result

    return coerced


def enum_names(kind: GraphQLEnumType) -> tuple[type, dict[str, str]] | None:
    """Return the Python class of an enum, and its GraphQL names by Python name; None if it has no Python class."""
    members = getattr(kind, "wrapped_cls", None)
    if members is None:
        return None
    return members, {members(value.value).name: name for name, value in kind.values.items()}


def as_list(value: Any) -> Sequence[Any]:
    """Return a list or tuple unchanged. Raise FallbackRequired for other iterables, which may be readable only once."""
    if value.__class__ is list or value.__class__ is tuple:
        items: Sequence[Any] = value
        return items
    if value.__class__ is SerializedRows:
        rows: Sequence[Any] = value.rows
        return rows
    raise FallbackRequired("not a plain list")


def in_parts(items: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Return the items in parts, between which a plan lets other requests run."""
    if len(items) <= PAUSE_ITEMS:
        return (items,)
    return [items[start : start + PAUSE_ITEMS] for start in range(0, len(items), PAUSE_ITEMS)]


def is_expensive(context: GraphQLContext) -> bool:
    """Return whether an operation costs so much that its plan lets other requests run after each edge."""
    return context.charge is not None and context.charge.estimated >= EXPENSIVE_UNITS


def serialized_columns(
    rows: SerializedRows[Any], attributes: Sequence[str], floats: Sequence[int], integers: Sequence[int]
) -> list[SerializedColumn[Any]] | None:
    """Return the columns of attributes; None if a value needs a coercion, so that the rows have to be used.

    `floats` and `integers` are the positions of the columns of these types.
    """
    columns = [getattr(rows.columns, name) for name in attributes]
    for position in floats:
        column = columns[position]
        if not _FLOAT_CLASSES.issuperset(map(type, column)):
            return None
        total = sum(filter(None, column))  # NaN and infinities remain in a sum
        if total - total != 0.0:
            return None
    for position in integers:
        column = columns[position]
        if not _INT_CLASSES.issuperset(map(type, column)):
            return None
        if column and not MIN_INT <= min(column) <= max(column) <= MAX_INT:
            return None
    return columns


def check_lengths(results: Any, parents: Sequence[Any]) -> list[Any]:
    """Return the results of an edge.

    Raise FallbackRequired unless there is one for each parent. Errors in it are found later.
    """
    if results.__class__ is not list or len(results) != len(parents):
        raise FallbackRequired("an edge did not return one result for each parent")
    checked: list[Any] = results
    return checked


async def gather_or_cancel(*coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
    """Await coroutines concurrently and return their results.

    If one raises, cancel the others, await them, and raise its error. This frame then refers to no task: a task refers
    to its error, and the traceback of the error to this frame. The cycle would keep all loaded rows until a collection.
    """
    first, *others = coroutines
    tasks = deque(map(asyncio.get_running_loop().create_task, others))
    try:
        results = [await first]
        while tasks:
            results.append(await tasks.popleft())
        return results
    except BaseException:
        await _cancel_all(tasks)
        raise


async def _cancel_all(tasks: deque[asyncio.Task[Any]]) -> None:
    """Cancel tasks, await them, and forget them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()


class KnownClasses:
    """The classes of rows that are known to be of an object type. The source of plans looks them up in `known`."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLObjectType) -> None:
        self.known: set[type] = set()
        self._kind = kind
        self._resolve_info = TypeResolveInfo(schema, "")
        declared: StrawberryObjectDefinition | None = kind.extensions.get(STRAWBERRY_DEFINITION)
        self._remembers_classes = kind.is_type_of is None or (declared is not None and declared.is_type_of is None)

    def check(self, value: Any) -> None:
        """Raise FallbackRequired if a value is not an object of the type. Remember its class."""
        if is_null_or_error(value):
            raise FallbackRequired(f"{value!r} is not an object")
        if self._kind.is_type_of is not None and self._kind.is_type_of(value, self._resolve_info) is not True:  # type: ignore[arg-type]
            raise FallbackRequired(f"{value!r} is not of the type {self._kind.name}")
        if self._remembers_classes and len(self.known) < MAX_KNOWN_CLASSES:
            self.known.add(value.__class__)


class MemberTypeResolver:
    """Resolves the object type of a value of an interface or union."""

    def __init__(self, schema: GraphQLSchema, kind: GraphQLAbstractType, field_name: str) -> None:
        self._kind = kind
        self._resolve_info = TypeResolveInfo(schema, field_name)
        self._names_by_class = {} if _has_own_resolve_type(kind) else _type_names_by_class(schema, kind)

    def type_name(self, value: Any) -> str:
        """Return the name of a value's type. Raise FallbackRequired if it cannot be resolved at once."""
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
    """Return whether an interface declares a `resolve_type` function."""
    return getattr(kind.extensions.get(STRAWBERRY_DEFINITION), "resolve_type", None) is not None


def _type_names_by_class(schema: GraphQLSchema, kind: GraphQLAbstractType) -> dict[type, str]:
    """Return the names of object types by the classes that declare them."""
    return {
        declared.origin: member.name
        for member in schema.get_possible_types(kind)
        if (declared := member.extensions.get(STRAWBERRY_DEFINITION)) is not None and not declared.is_graphql_generic
    }


LevelFunction = Callable[[Any, Any, Sequence[Any]], Coroutine[Any, Any, list[Any]]]
"""A level function of a plan: (context, variables, objects of one type) -> one dict for each object."""


async def resolve_abstract(
    levels: Mapping[str, LevelFunction], name: Callable[[Any], str], c: Any, v: Any, values: Sequence[Any]
) -> list[Any]:
    """Return one dict for each value, in order, from the level function of its type."""
    names = [name(value) for value in values]
    if not levels.keys() >= set(names):
        raise FallbackRequired("an object has a type that is not possible here")
    groups: dict[str, list[Any]] = {}
    for type_name, value in zip(names, values, strict=True):
        groups.setdefault(type_name, []).append(value)
    results = await gather_or_cancel(*[levels[type_name](c, v, group) for type_name, group in groups.items()])
    remaining = {type_name: iter(results) for type_name, results in zip(groups, results, strict=True)}
    return [next(remaining[type_name]) for type_name in names]
