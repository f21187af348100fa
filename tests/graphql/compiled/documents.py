"""Documents made by chance, all of them valid: everything that GraphQL lets a client write."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    OperationType,
    get_named_type,
    is_composite_type,
    is_required_argument,
    parse,
    specified_rules,
    validate,
)

from tests.graphql.compiled.inputs import WRONG, Inputs, Pool

TRIES = 20
"""How many documents are written until one is valid."""

MISSING = object()


@dataclass(frozen=True)
class Request:
    """A valid document, which of its operations is meant, and values for its variables, not all of them right.

    `others` are further values for them.
    """

    text: str
    operation: str | None
    variables: dict[str, Any]
    mutation: bool = False
    others: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Variable:
    name: str
    kind: Any
    default: str | None
    values: tuple[Any, Any]


@dataclass
class _Scope:
    """The fields of one place in the answer, by their keys there, wherever in the document they stand."""

    keys: dict[str, tuple[Any, str, str, "_Scope"]] = field(default_factory=dict)


def no_pool(_type: str, _name: str) -> list[Any]:
    """Nothing is known about arguments."""
    return []


def requests(
    schema: GraphQLSchema,
    rng: Random,
    *,
    pool: Pool = no_pool,
    mutations: float = 0.1,
    subscriptions: bool = False,
    size: int = 30,
    roots: Callable[[str], bool] = lambda _name: True,
) -> Iterator[Request]:
    """Valid requests without end; those whose document turns out invalid are left out."""
    failed = 0
    while failed < TRIES:
        writer = _Writer(schema, rng, pool, size=rng.randint(1, size), roots=roots)
        word = "subscription" if subscriptions else "mutation" if rng.random() < mutations else "query"
        made = writer.request(OperationType(word))
        try:
            invalid = validate(schema, parse(made.text), specified_rules)
        except GraphQLError as error:
            raise AssertionError(made.text) from error
        failed = failed + 1 if invalid else 0
        if not invalid:
            yield made
    raise AssertionError(f"{TRIES} invalid documents in a row, the last for {invalid[0]}: {made.text}")


class _Writer:
    """Writes one document."""

    def __init__(
        self, schema: GraphQLSchema, rng: Random, pool: Pool, *, size: int, roots: Callable[[str], bool]
    ) -> None:
        self._schema = schema
        self._rng = rng
        self._inputs = Inputs(rng, pool)
        self._left = size
        self._roots = roots
        self._variables: list[_Variable] = []
        self._fragments: dict[str, tuple[Any, str]] = {}
        self._names = 0

    def request(self, kind: OperationType) -> Request:
        chance, keyword = self._rng.random, kind.value
        root = self._schema.get_root_type(kind)
        body = self._selection(root, _Scope(), 5) if kind is not OperationType.SUBSCRIPTION else self._only(root)
        name = self._name("Op") if chance() < 0.5 else None
        others = [f"query {self._name('Other')} {{ __typename }}" for _ in range(2) if name and chance() < 0.2]
        given = ", ".join(
            f"${one.name}: {one.kind}" + (f" = {one.default}" if one.default is not None else "")
            for one in self._variables
        )
        head = f"{keyword} {name or ''}{f'({given})' if given else ''}"
        if not name and keyword == "query" and not given and chance() < 0.5:
            head = ""
        fragments = [f"fragment {name} on {type_} {text}" for name, (type_, text) in self._fragments.items()]
        parts = [f"{head} {body}", *fragments, *others]
        self._rng.shuffle(parts)
        return Request("\n".join(parts), name, self._values(0), keyword == "mutation", self._values(1))

    def _values(self, which: int) -> dict[str, Any]:
        values = {one.name: one.values[which] for one in self._variables}
        return {name: value for name, value in values.items() if value is not MISSING}

    def _only(self, root: Any) -> str:
        """The one field of a subscription, in a fragment now and then."""
        name = self._rng.choice(list(root.fields))
        head = self._rng.choice(("", self._name("a") + ": ")) + name + self._arguments(root.fields[name])
        named = get_named_type(root.fields[name].type)
        written = f"{{ {head} {self._selection(named, _Scope(), 4)} }}"
        return self._rng.choice((written, f"{{ ... on {root.name} {written} }}"))

    def _selection(self, type_: Any, scope: _Scope, depth: int) -> str:
        parts = [self._part(type_, scope, depth) for _ in range(self._rng.randint(1, 5))]
        return "{ " + " ".join(filter(None, parts) if any(parts) else ("__typename",)) + " }"

    def _part(self, type_: Any, scope: _Scope, depth: int) -> str | None:
        chance = self._rng.random()
        if self._left <= 0:
            return None
        if chance < 0.01 and type_ is self._schema.query_type:
            return self._rng.choice(("__schema { queryType { name } }", f'__type(name: "{type_}") {{ name kind }}'))
        if chance < 0.1:
            return self._typename(type_, scope)
        if chance < 0.22 and depth > 0:
            return self._inline(type_, scope, depth)
        if chance < 0.32 and depth > 0:
            return self._spread(type_, scope, depth)
        return self._field(type_, scope, depth)

    def _typename(self, type_: Any, scope: _Scope) -> str:
        if self._rng.random() < 0.3:
            key = self._name("t")
            return f"{key}: __typename{self._directives()}"
        scope.keys.setdefault("__typename", (type_, "__typename", "String!", _Scope()))
        return f"__typename{self._directives()}"

    def _inline(self, type_: Any, scope: _Scope, depth: int) -> str:
        condition = self._condition(type_)
        on = f" on {condition.name}" if condition is not type_ or self._rng.random() < 0.5 else ""
        return f"...{on}{self._directives()} {self._selection(condition, scope, depth - 1)}"

    def _spread(self, type_: Any, scope: _Scope, depth: int) -> str:
        fitting = [name for name, (on, _) in self._fragments.items() if self._overlap(type_, on)]
        if fitting and self._rng.random() < 0.25:
            name = self._rng.choice(fitting)
        else:
            condition, name = self._condition(type_), self._name("F")
            written = self._selection(condition, scope, depth - 1)
            self._fragments[name] = condition, written
        return f"...{name}{self._directives()}"

    def _condition(self, type_: Any) -> Any:
        every = [
            one
            for one in self._schema.type_map.values()
            if isinstance(one, GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType)
            and self._overlap(type_, one)
        ]
        return self._rng.choice((type_, self._rng.choice(every)))

    def _overlap(self, one: Any, other: Any) -> bool:
        return not self._possible(one).isdisjoint(self._possible(other))

    def _possible(self, type_: Any) -> set[str]:
        if isinstance(type_, GraphQLObjectType):
            return {type_.name}
        return {one.name for one in self._schema.get_possible_types(type_)}

    def _field(self, type_: Any, scope: _Scope, depth: int) -> str | None:
        if isinstance(type_, GraphQLUnionType):
            return self._inline(type_, scope, depth) if depth > 0 else self._typename(type_, scope)
        known = [
            (key, name, called, inner)
            for key, (on, name, called, inner) in scope.keys.items()
            if on is type_ and name != "__typename"
        ]
        if known and self._rng.random() < 0.2:
            key, name, called, inner = self._rng.choice(known)
            prefix = "" if key == name else f"{key}: "
            return self._written(prefix + called, type_.fields[name], inner, depth)
        names = [name for name, one in type_.fields.items() if self._may(type_, name, one, depth)]
        if not names:
            return self._typename(type_, scope)
        name = self._rng.choice(names)
        called = name + self._arguments(type_.fields[name])
        key, inner = self._key(type_, name, called, scope)
        return self._written(called if key == name else f"{key}: {called}", type_.fields[name], inner, depth)

    def _may(self, type_: Any, name: str, one: GraphQLField, depth: int) -> bool:
        if type_ in (self._schema.query_type, self._schema.mutation_type) and not self._roots(name):
            return False
        return depth > 0 or not is_composite_type(get_named_type(one.type))

    def _key(self, type_: Any, name: str, called: str, scope: _Scope) -> tuple[str, _Scope]:
        """A key that clashes with no other one at this place, and what stands below it."""
        key = self._name("a") if self._rng.random() < 0.2 else name
        if self._rng.random() < 0.1:  # fields that exclude each other may share a key
            shaped = type_.fields[name].type
            for other, (on, another, _, inner) in scope.keys.items():
                exclusive = isinstance(type_, GraphQLObjectType) and isinstance(on, GraphQLObjectType)
                if exclusive and on is not type_ and another != "__typename" and on.fields[another].type == shaped:
                    return other, inner
        taken = scope.keys.get(key)
        if taken and (taken[1:3] != (name, called) or taken[0] is not type_):
            same = taken[0] is not type_ and taken[1:3] == (name, called)
            if not same or taken[0].fields[name].type != type_.fields[name].type:
                key = self._name("a")
        if key not in scope.keys:
            scope.keys[key] = type_, name, called, _Scope()
        return key, scope.keys[key][3]

    def _written(self, head: str, one: GraphQLField, scope: _Scope, depth: int) -> str:
        self._left -= 1
        named = get_named_type(one.type)
        head += self._directives()
        return f"{head} {self._selection(named, scope, depth - 1)}" if is_composite_type(named) else head

    def _arguments(self, one: GraphQLField) -> str:
        written = []
        for name, argument in self._rng.sample(list(one.args.items()), len(one.args)):
            required = is_required_argument(argument)
            if required or self._rng.random() < 0.5:
                literal = self._inputs.literal(argument.type, name, self._variable_at(name), default=not required)
                written.append(f"{name}: {literal}")
        return f"({', '.join(written)})" if written else ""

    def _directives(self) -> str:
        if self._rng.random() > 0.1:
            return ""
        names = self._rng.choice((["skip"], ["include"], ["include", "skip"]))
        return "".join(f" @{name}(if: {self._condition_value(name == 'include')})" for name in names)

    def _condition_value(self, mostly: bool) -> str:
        if self._rng.random() < 0.6:
            kind = GraphQLNonNull(self._schema.type_map["Boolean"])  # type: ignore[type-var]
            return self._variable(kind, "if", default=False) or "true"
        return "true" if (self._rng.random() < 0.7) == mostly else "false"

    def _variable_at(self, name: str) -> Callable[[Any, bool], str | None]:
        return lambda type_, default: self._variable(type_, name, default=default)

    def _variable(self, type_: Any, name: str, *, default: bool) -> str:
        """A variable that may stand where the type is asked for; `default` tells whether that place has one."""
        chance = self._rng.random
        asked = isinstance(type_, GraphQLNonNull)
        for one in self._variables:
            strict = isinstance(one.kind, GraphQLNonNull) or one.default not in (None, "null")
            inner = one.kind.of_type if isinstance(one.kind, GraphQLNonNull) else one.kind
            if str(inner) == str(type_.of_type if asked else type_) and (strict or not asked) and chance() < 0.3:
                return f"${one.name}"
        nullable = type_.of_type if asked else type_
        kind: Any = nullable if default or (asked and chance() < 0.2) or not asked else type_
        if not asked and chance() < 0.3:
            kind = GraphQLNonNull(nullable)
        literal = None
        if chance() < 0.3 or (asked and kind is nullable and not default):
            literal = self._inputs.constant(GraphQLNonNull(nullable) if asked else kind, name)
        values = self._given(kind, name, literal), self._given(kind, name, literal)
        made = _Variable(self._name("v"), kind, literal, values)
        self._variables.append(made)
        return f"${made.name}"

    def _given(self, kind: Any, name: str, default: str | None) -> Any:
        chance = self._rng.random()
        if chance < 0.01:
            return self._rng.choice(WRONG)
        if chance < 0.3 and (default is not None or not isinstance(kind, GraphQLNonNull)):
            return MISSING
        return self._inputs.json(kind, name)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"
