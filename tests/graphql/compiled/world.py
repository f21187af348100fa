"""A replacement for the gateway's runner: results of operations and edges depend only on the seed and the call."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from random import Random
from types import MappingProxyType
from typing import Any

from graphql import GraphQLObjectType

from tests.graphql.compiled.types import Counter, Raised
from tests.graphql.compiled.values import Fault, Values
from wattgate.access_log import RequestReads
from wattgate.errors import Conflict
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.fields import edge_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import Principal
from wattgate.values.graphql_names import graphql_operation_name

NO_FAULTS: Mapping[str, Fault] = MappingProxyType({})


class World:
    """The runner of one execution. Two worlds with the same seed return equal rows for equal calls."""

    def __init__(self, schema: Schema, seed: int, rate: float = 0.0, broken: Mapping[str, Fault] = NO_FAULTS) -> None:
        self.values = Values(schema.core, rate, broken)
        self._broken = broken
        self.calls: list[str] = []
        """The operations that ran, with their arguments, in order."""
        self._seed, self._rate = seed, rate
        self._schema = schema.core
        self._counter = Counter(path="counter", value=0, text=None, steps=[], limits=None)

    async def run(
        self,
        operation: Operation,
        _principal: Principal,
        arguments: Mapping[str, Any],
        _reads: RequestReads,
        _selected: frozenset[str] | None,
    ) -> Any:
        """Call the resolver of an operation, as the runner of the gateway does."""
        self.calls.append(f"{operation.name}({dict(arguments)!r})")
        return await operation.resolver(self, **arguments)

    async def load(
        self,
        edge: EdgeField,
        _principal: Principal,
        parents: Sequence[Any],
        arguments: Mapping[str, Any],
        _reads: RequestReads,
    ) -> list[Any]:
        """Call the loader of an edge, as the runner of the gateway does, for at least one parent."""
        assert parents, f"{edge.load.__name__} was called without parents"
        results: list[Any] = await edge.load(self, parents, **arguments)
        return results

    async def answer(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a query."""
        path = f"{name}{arguments!r}"
        _modify_arguments(arguments)
        rng = await self._wait_or_fail(path)
        if name == "counter":
            return self._counter
        root = self._schema.query_type
        assert root is not None
        type_ = root.fields[graphql_operation_name(name)].type
        return _return_or_raise(self.values.of(type_, rng, path, f"Query.{name}"))

    async def load_each(self, name: str, parents: list[Any], arguments: dict[str, Any]) -> list[Any]:
        """Return one result of an edge for each parent. A fault affects one parent or the whole call."""
        await self._wait_or_fail(f"{name}{arguments!r}")
        type_ = edges(self._schema)[name]
        results = []
        for parent in parents:
            path = f"{getattr(parent, 'path', parent)}/{name}{arguments!r}"
            value = self.values.of(type_, Random(f"{self._seed}{path}"), path, name)
            results.append(value.error if isinstance(value, Raised) else value)
        return results

    async def change(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a mutation, which is mostly the counter in its new state."""
        called = f"{name}{arguments!r}"
        rng = await self._wait_or_fail(f"{len(self.calls)} {called}")
        counter = self._counter
        counter.value += arguments.get("by", 10)
        counter.path = f"counter at {counter.value}"
        counter.steps.append(called)
        _modify_arguments(arguments)
        counter.limits = self.values.row(self._row("Limits"), rng, counter.path)
        if rng.random() < 2 * self._rate:
            setattr(counter, rng.choice(("value", "text", "limits")), rng.choice((None, "12", 2**40, [])))
        if rng.random() < 2 * self._rate:
            raise Conflict(f"{name} conflicts with {counter.value}")
        if (position := f"Mutation.{name}") in self._broken:
            return _return_or_raise(self._broken[position]())
        match name:
            case "bump":
                return counter
            case "write":
                counter.text = arguments["text"]
                return counter if arguments["text"] else None
            case "both":
                return [counter, counter]
            case "clear":
                counter.value, counter.steps = 0, []
                return True
        return counter.limits

    async def _wait_or_fail(self, call: str) -> Random:
        """Yield to other tasks a few times, as real work does, and sometimes fail."""
        rng = Random(f"{self._seed}{call}")
        for _ in range(rng.randint(0, 3)):
            await asyncio.sleep(0)
        if rng.random() < self._rate:
            raise rng.choice((RuntimeError("broken down"), Conflict("not now")))
        return rng

    def _row(self, name: str) -> GraphQLObjectType:
        object_type = self._schema.type_map[name]
        assert isinstance(object_type, GraphQLObjectType)
        return object_type


def edges(schema: Any) -> dict[str, Any]:
    """Return the result type of each edge by the name of its loader."""
    types_by_loader: dict[str, Any] = schema.extensions.setdefault("tests.edges", {})
    if not types_by_loader:
        for type_ in schema.type_map.values():
            if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
                for field in type_.fields.values():
                    if declared := edge_of(field.extensions["strawberry-definition"]):
                        types_by_loader[declared.load.__name__] = field.type
    return types_by_loader


def _return_or_raise(value: Any) -> Any:
    if isinstance(value, Raised):
        raise value.error
    return value


def _modify_arguments(value: Any) -> None:
    """Modify mutable arguments: resolvers may do so, and the next execution must not see it."""
    if isinstance(value, dict):
        for item in value.values():
            _modify_arguments(item)
    elif isinstance(value, list):
        for item in value:
            _modify_arguments(item)
        value.append("spoiled")
    elif is_dataclass(value):
        _modify_arguments(vars(value))
        for name in vars(value):
            setattr(value, name, "spoiled")
