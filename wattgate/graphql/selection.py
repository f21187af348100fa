"""What a subscriber has selected of a payload, as a function from payloads to bytes.

A selection of plain fields is made into nested functions that do what graphql-core would do, without its care for
every case; a payload that is not such a case goes to graphql-core. A selection with edges goes there always.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import orjson
from graphql import (
    ExecutionResult,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    is_leaf_type,
)
from graphql.execution.collect_fields import FieldDetails, collect_fields, collect_subfields

from wattgate.graphql.executor import Executor
from wattgate.graphql.schema import tell
from wattgate.realtime.subscription import NotAtOnce, Selection

Complete = Callable[[Any], Any]
"""From a value to what stands for it in JSON. NotAtOnce where graphql-core has to look at it."""

PLAIN = {"String": str, "ID": str, "Boolean": bool}
"""Scalars whose values of exactly these types are told as they are."""

MAX_INT = 2**31


class NotPlain(Exception):
    """A selection needs more than the payload."""


class RootField(NamedTuple):
    """The one field of a subscription: its key in the answer, its definition and where it stands in the document."""

    key: str
    definition: GraphQLField
    nodes: list[FieldDetails]


def root_field(executor: Executor) -> RootField:
    """What a subscription asks for. GraphQLError where directives have left nothing of it."""
    root = executor.schema.subscription_type
    assert root is not None  # the catalogue has subscriptions
    collected = collect_fields(
        executor.schema, executor.fragments, executor.variable_values, root, executor.operation
    ).grouped_field_set
    for key, nodes in collected.items():
        return RootField(key, root.fields[nodes[0].node.name.value], nodes)
    raise GraphQLError("the subscription selects nothing")


def selection_of(key: str, at_once: Callable[[Any], bytes] | None, executor: Callable[[], Executor]) -> Selection:
    """The selection of a root field, by its key in the answer and its compiled form; `executor` runs all others."""
    ready: list[Executor] = []

    async def in_time(payload: Any) -> bytes:
        if not ready:
            ready.append(executor())
        result = ready[0].build_per_event_executor(payload).execute_operation(False)
        if inspect.isawaitable(result):
            result = await result
        assert isinstance(result, ExecutionResult)  # nothing is deferred in a subscription
        for error in result.errors or ():
            tell(error)
        return orjson.dumps(result.formatted)[:-1]

    return Selection(at_once, in_time, nothing=_data({key: None}))


def compiled(executor: Executor, root: RootField) -> Callable[[Any], bytes] | None:
    """The function that executes a selection of plain fields; None where it has others."""
    try:
        complete = _Compiler(executor).complete(root.definition.type, root.nodes)
    except NotPlain:
        return None
    key = root.key

    def at_once(payload: Any) -> bytes:
        try:
            return _data({key: complete(payload)})
        except (GraphQLError, TypeError, ValueError, AttributeError, KeyError) as error:
            raise NotAtOnce from error

    return at_once


def _data(data: dict[str, Any]) -> bytes:
    return b'{"data":' + orjson.dumps(data)


class _Compiler:
    """Makes functions of types, for one operation and the values of its variables."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def complete(self, kind: Any, nodes: Sequence[FieldDetails]) -> Complete:
        """How values of a type are told. NotPlain where that needs more than the value."""
        if isinstance(kind, GraphQLNonNull):
            return self._present(kind.of_type, nodes)
        inner = self._present(kind, nodes)
        return lambda value: None if value is None else inner(value)

    def _present(self, kind: Any, nodes: Sequence[FieldDetails]) -> Complete:
        """The same, for values that are there."""
        if isinstance(kind, GraphQLList):
            item = self.complete(kind.of_type, nodes)
            return lambda values: [item(value) for value in _list(values)]
        if isinstance(kind, GraphQLObjectType):
            return self._object(kind, nodes)
        if isinstance(kind, GraphQLEnumType):
            return _enum(kind)
        if is_leaf_type(kind):
            return _scalar(kind)
        raise NotPlain

    def _object(self, kind: GraphQLObjectType, nodes: Sequence[FieldDetails]) -> Complete:
        run = self._executor
        collected = collect_subfields(
            run.schema, run.fragments, run.variable_values, run.operation, kind, list(nodes)
        ).grouped_field_set
        fields = [(key, *self._field(kind, details)) for key, details in collected.items()]

        def complete(value: Any) -> dict[str, Any]:
            if value is None:
                raise NotAtOnce
            return {key: told(get(value)) for key, get, told in fields}

        return complete

    def _field(self, kind: GraphQLObjectType, nodes: Sequence[FieldDetails]) -> tuple[Complete, Complete]:
        name = nodes[0].node.name.value
        if name == "__typename":
            return (lambda value: kind.name), str
        field = kind.fields[name]
        declared = field.extensions["strawberry-definition"]
        if not declared.is_basic_field:
            raise NotPlain
        return attrgetter(declared.python_name), self.complete(field.type, nodes)


def _list(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise NotAtOnce
    return values


def _enum(kind: GraphQLEnumType) -> Complete:
    members = getattr(kind, "wrapped_cls", None)
    names = {} if members is None else {members(value.value): name for name, value in kind.values.items()}

    def complete(value: Any) -> Any:
        if value is None:
            raise NotAtOnce
        name = names.get(value)
        return kind.coerce_output_value(value) if name is None else name

    return complete


def _scalar(kind: GraphQLLeafType) -> Complete:
    coerce = kind.coerce_output_value
    exact = PLAIN.get(kind.name)
    if exact is not None:
        return lambda value: value if type(value) is exact else _coerced(coerce, value)
    if kind.name == "Float":
        return lambda value: value if type(value) is float and math.isfinite(value) else _coerced(coerce, value)
    if kind.name == "Int":
        return lambda value: value if type(value) is int and -MAX_INT <= value < MAX_INT else _coerced(coerce, value)
    return lambda value: _coerced(coerce, value)


def _coerced(coerce: Complete, value: Any) -> Any:
    if value is None:
        raise NotAtOnce
    return coerce(value)
