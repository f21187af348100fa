"""What stands in the place of the gateway's runner: operations and edges whose answers depend on the seed and on the
call alone."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from random import Random
from types import MappingProxyType
from typing import Any

import strawberry
from graphql import GraphQLObjectType

from tests.graphql.compiled.types import Counter, Raised
from tests.graphql.compiled.values import Fault, Values
from wattgate.enums import camel
from wattgate.errors import Conflict
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import Operation
from wattgate.principal import Principal

NO_FAULTS: Mapping[str, Fault] = MappingProxyType({})


class World:
    """The runner of one execution. Two worlds of the same seed answer the same calls with equal rows."""

    def __init__(
        self, schema: strawberry.Schema, seed: int, rate: float = 0.0, broken: Mapping[str, Fault] = NO_FAULTS
    ) -> None:
        self.values = Values(schema._schema, rate, broken)
        self._broken = broken
        self.calls: list[str] = []
        """The operations that ran, with their arguments, in order."""
        self._seed, self._rate = seed, rate
        self._schema = schema._schema
        self._counter = Counter(path="counter", value=0, text=None, steps=[], limits=None)

    async def run(self, operation: Operation, _principal: Principal, arguments: Mapping[str, Any]) -> Any:
        """What the gateway's runner does of an operation: call its resolver."""
        self.calls.append(f"{operation.name}({dict(arguments)!r})")
        return await operation.resolver(self, **arguments)

    async def load(
        self, edge: Edge, _principal: Principal, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> list[Any]:
        """What the gateway's runner does of an edge: call its loader, for somebody."""
        assert parents, f"{edge.load.__name__} was asked about nobody"
        found: list[Any] = await edge.load(self, parents, **arguments)
        return found

    async def answer(self, name: str, arguments: dict[str, Any]) -> Any:
        """What a query gives."""
        path = f"{name}{arguments!r}"
        _spoil(arguments)
        rng = await self._begin(path)
        if name == "counter":
            return self._counter
        root = self._schema.query_type
        assert root is not None
        return _out(self.values.of(root.fields[camel(name)].type, rng, path, f"Query.{name}"))

    async def each(self, name: str, parents: list[Any], arguments: dict[str, Any]) -> list[Any]:
        """What an edge leads to from each parent. A wrong one is wrong for one parent, or fails as a whole."""
        await self._begin(f"{name}{arguments!r}")
        type_ = edges(self._schema)[name]
        found = []
        for parent in parents:
            path = f"{getattr(parent, 'path', parent)}/{name}{arguments!r}"
            value = self.values.of(type_, Random(f"{self._seed}{path}"), path, name)
            found.append(value.error if isinstance(value, Raised) else value)
        return found

    async def change(self, name: str, arguments: dict[str, Any]) -> Any:
        """What a mutation gives: mostly the one counter, as it then is."""
        called = f"{name}{arguments!r}"
        rng = await self._begin(f"{len(self.calls)} {called}")
        counter = self._counter
        counter.value += arguments.get("by", 10)
        counter.path = f"counter at {counter.value}"
        counter.steps.append(called)
        _spoil(arguments)
        counter.limits = self.values.row(self._row("Limits"), rng, counter.path)
        if rng.random() < 2 * self._rate:
            setattr(counter, rng.choice(("value", "text", "limits")), rng.choice((None, "12", 2**40, [])))
        if rng.random() < 2 * self._rate:
            raise Conflict(f"{name} stands against {counter.value}")
        if (place := f"Mutation.{name}") in self._broken:
            return _out(self._broken[place]())
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

    async def _begin(self, what: str) -> Random:
        """Wait some turns, as real work does; fail now and then, whoever asks."""
        rng = Random(f"{self._seed}{what}")
        for _ in range(rng.randint(0, 3)):
            await asyncio.sleep(0)
        if rng.random() < self._rate:
            raise rng.choice((RuntimeError("broken down"), Conflict("not now")))
        return rng

    def _row(self, name: str) -> GraphQLObjectType:
        found = self._schema.type_map[name]
        assert isinstance(found, GraphQLObjectType)
        return found


def edges(schema: Any) -> dict[str, Any]:
    """The type of what each edge leads to, by the name of its loader."""
    found: dict[str, Any] = schema.extensions.setdefault("tests.edges", {})
    if not found:
        for type_ in schema.type_map.values():
            if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
                for field in type_.fields.values():
                    if declared := edge_of(field.extensions["strawberry-definition"]):
                        found[declared.load.__name__] = field.type
    return found


def _out(value: Any) -> Any:
    if isinstance(value, Raised):
        raise value.error
    return value


def _spoil(value: Any) -> None:
    """Change what may be changed of arguments: a resolver may, and the next execution must not see it."""
    if isinstance(value, dict):
        for one in value.values():
            _spoil(one)
    elif isinstance(value, list):
        for one in value:
            _spoil(one)
        value.append("spoiled")
    elif is_dataclass(value):
        _spoil(vars(value))
        for name in vars(value):
            setattr(value, name, "spoiled")
