"""Random values of input types, as text in a document and as JSON for a variable."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    is_required_input_field,
)

Pool = Callable[[str, str], list[Any]]
"""Returns JSON values for the name of a type and the name of an argument or input field, or an empty list."""

Variable = Callable[[Any, bool], str | None]
"""Returns a variable that is valid for a type, given whether the position has a default, or None."""

INVALID_VALUES: tuple[Any, ...] = (None, "nonsense", 1.5, 2**40, [[1]], {"no": "field"}, True, "", [None])
"""Values of variables that are invalid for most types."""

_SCALARS: Mapping[str, Callable[[Random], Any]] = {
    "Int": lambda rng: rng.choice((0, 1, 2, 3, -7, 2**31 - 1)),
    "Float": lambda rng: rng.choice((0, 2, 0.25, -1.5e-7, 1e30)),
    "Boolean": lambda rng: rng.random() < 0.5,
    "String": lambda rng: rng.choice(("", "a", "ü\n", '"quoted"', "\\", "two words", "\u0000", "🙂")),
    "ID": lambda rng: rng.choice(("1", "abc", 5, "")),
    "DateTime": lambda rng: rng.choice(("2026-01-05T00:00:00Z", "2026-03-01T12:30:00.125+01:00")),
    "Date": lambda rng: rng.choice(("2026-01-05", "2024-02-29")),
    "UUID": lambda rng: rng.choice(("9b2a5f0e-6f0c-4d0e-8f5a-0a1b2c3d4e5f", "00000000000000000000000000000000")),
    "Decimal": lambda rng: rng.choice((1, 2.5, "3.500", "-0")),
    "Celsius": lambda rng: rng.choice((-3, 21.5, 0)),
    "TimeZone": lambda rng: rng.choice(("Europe/London", "+05:30", "UTC")),
    "LocalTime": lambda rng: rng.choice(("22:00", "00:30")),
    "MeterPointNumber": lambda rng: rng.choice(("1234567890123", "20 0000-1", "")),
    "JSON": lambda rng: rng.choice((1, "a", [1, [None]], {"a": {"b": [True]}}, 0.5, {})),
}


class Inputs:
    """Creates values of input types."""

    def __init__(self, rng: Random, pool: Pool) -> None:
        self._rng = rng
        self._pool = pool

    def literal(self, type_: Any, name: str, variable: Variable, depth: int = 3, *, default: bool = False) -> str:
        """Return a value as text. Parts of it may be variables."""
        variable_text = variable(type_, default) if self._rng.random() < 0.3 else None
        if variable_text is not None:
            return variable_text
        if isinstance(type_, GraphQLNonNull):
            type_ = type_.of_type
        elif self._rng.random() < 0.12:
            return "null"
        if isinstance(type_, GraphQLList):
            return self._list(type_.of_type, name, variable, depth)
        if isinstance(type_, GraphQLInputObjectType):
            return self._object(type_, variable, depth)
        if isinstance(type_, GraphQLEnumType) and not self._pool(type_.name, name):
            return str(self._rng.choice(list(type_.values)))
        if type_.name == "JSON" and self._rng.random() < 0.4:
            inner = variable(type_, False) or "7"
            return self._rng.choice((f"{{a: {inner}, b: [{inner}, 1]}}", f"[{inner}]", f"[[{inner}, {{c: {inner}}}]]"))
        return text(self._leaf(type_, name), enum=isinstance(type_, GraphQLEnumType))

    def json(self, type_: Any, name: str, depth: int = 3) -> Any:
        """Return a value for a variable."""
        if isinstance(type_, GraphQLNonNull):
            type_ = type_.of_type
        elif self._rng.random() < 0.12:
            return None
        if isinstance(type_, GraphQLList):
            if self._rng.random() < 0.1:
                return self.json(_present(type_.of_type), name, depth)
            return [self.json(type_.of_type, name, depth - 1) for _ in range(self._list_length(depth))]
        if isinstance(type_, GraphQLInputObjectType):
            return {key: self.json(kind, key, depth - 1) for key, kind in self._fields(type_, depth)}
        return self._leaf(type_, name)

    def constant(self, type_: Any, name: str) -> str:
        """Return a value as text without variables, for a default."""
        return self.literal(type_, name, lambda _type, _default: None)

    def _leaf(self, type_: Any, name: str) -> Any:
        values = self._pool(type_.name, name)
        if values and self._rng.random() < 0.97:
            return self._rng.choice(values)
        if isinstance(type_, GraphQLEnumType):
            return self._rng.choice(list(type_.values))
        return _SCALARS[type_.name](self._rng)

    def _list(self, item: Any, name: str, variable: Variable, depth: int) -> str:
        if self._rng.random() < 0.1:
            return self.constant(_present(item), name)  # GraphQL coerces one item to a list
        items = (self.literal(item, name, variable, depth - 1) for _ in range(self._list_length(depth)))
        return f"[{', '.join(items)}]"

    def _object(self, type_: GraphQLInputObjectType, variable: Variable, depth: int) -> str:
        members = []
        for name, kind in self._fields(type_, depth):
            literal = self.literal(kind, name, variable, depth - 1, default=defaulted(type_, name))
            members.append(f"{name}: {literal}")
        return "{" + ", ".join(members) + "}"

    def _fields(self, type_: GraphQLInputObjectType, depth: int) -> list[tuple[str, Any]]:
        fields = type_.fields
        if one_of(type_):
            name = self._rng.choice(list(fields))
            return [(name, GraphQLNonNull(fields[name].type))]
        share = 0.5 if depth > 0 else 0.0
        return [
            (name, field.type)
            for name, field in self._rng.sample(list(fields.items()), len(fields))
            if is_required_input_field(field) or self._rng.random() < share
        ]

    def _list_length(self, depth: int) -> int:
        return self._rng.choice((0, 1, 1, 2, 3)) if depth > 0 else 0


def one_of(type_: GraphQLInputObjectType) -> bool:
    """Return whether exactly one field must be set. Strawberry records it in its own definition."""
    return bool(type_.extensions["strawberry-definition"].is_one_of)


def defaulted(type_: GraphQLInputObjectType, name: str) -> bool:
    """Return whether a field has a default, so that a nullable variable is valid there."""
    return type_.fields[name].default_value is not Undefined


def text(value: Any, *, enum: bool = False) -> str:
    """Return a JSON value in GraphQL syntax."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    return str(value) if enum else json.dumps(value, ensure_ascii=False)


def _present(type_: Any) -> Any:
    return type_ if isinstance(type_, GraphQLNonNull) else GraphQLNonNull(type_)
