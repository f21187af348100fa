"""Random valid documents that use all features of GraphQL."""

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

from tests.graphql.compiled.inputs import INVALID_VALUES, Inputs, Pool

TRIES = 20
"""Maximum number of consecutive invalid documents."""

MISSING = object()


@dataclass(frozen=True)
class Request:
    """A valid document, the name of its operation, and values for its variables, some of them invalid.

    `others` are further values for the variables.
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
    """The fields at one position of the response, by response key, from anywhere in the document."""

    keys: dict[str, tuple[Any, str, str, "_Scope"]] = field(default_factory=dict)


def no_known_values(_type: str, _name: str) -> list[Any]:
    """Return no values."""
    return []


def requests(
    schema: GraphQLSchema,
    rng: Random,
    *,
    pool: Pool = no_known_values,
    mutations: float = 0.1,
    subscriptions: bool = False,
    size: int = 30,
    roots: Callable[[str], bool] = lambda _name: True,
) -> Iterator[Request]:
    """Yield an endless sequence of valid requests. Skip documents that turn out to be invalid."""
    failed = 0
    while failed < TRIES:
        writer = _Writer(schema, rng, pool, size=rng.randint(1, size), roots=roots)
        keyword = "subscription" if subscriptions else "mutation" if rng.random() < mutations else "query"
        request = writer.request(OperationType(keyword))
        try:
            invalid = validate(schema, parse(request.text), specified_rules)
        except GraphQLError as error:
            raise AssertionError(request.text) from error
        failed = failed + 1 if invalid else 0
        if not invalid:
            yield request
    raise AssertionError(f"{TRIES} invalid documents in a row, the last for {invalid[0]}: {request.text}")


class _Writer:
    """Writes one document."""

    def __init__(
        self, schema: GraphQLSchema, rng: Random, pool: Pool, *, size: int, roots: Callable[[str], bool]
    ) -> None:
        self._schema = schema
        self._rng = rng
        self._inputs = Inputs(rng, pool)
        self._remaining_fields = size
        self._roots = roots
        self._variables: list[_Variable] = []
        self._fragments: dict[str, tuple[Any, str]] = {}
        self._names = 0

    def request(self, kind: OperationType) -> Request:
        chance, keyword = self._rng.random, kind.value
        root = self._schema.get_root_type(kind)
        body = (
            self._selection(root, _Scope(), 5) if kind is not OperationType.SUBSCRIPTION else self._subscription(root)
        )
        name = self._name("Op") if chance() < 0.5 else None
        others = [f"query {self._name('Other')} {{ __typename }}" for _ in range(2) if name and chance() < 0.2]
        declarations = ", ".join(
            f"${variable.name}: {variable.kind}" + (f" = {variable.default}" if variable.default is not None else "")
            for variable in self._variables
        )
        head = f"{keyword} {name or ''}{f'({declarations})' if declarations else ''}"
        if not name and keyword == "query" and not declarations and chance() < 0.5:
            head = ""
        fragments = [f"fragment {name} on {type_} {text}" for name, (type_, text) in self._fragments.items()]
        parts = [f"{head} {body}", *fragments, *others]
        self._rng.shuffle(parts)
        return Request("\n".join(parts), name, self._values(0), keyword == "mutation", self._values(1))

    def _values(self, index: int) -> dict[str, Any]:
        values = {variable.name: variable.values[index] for variable in self._variables}
        return {name: value for name, value in values.items() if value is not MISSING}

    def _subscription(self, root: Any) -> str:
        """Return the only field of a subscription, sometimes in a fragment."""
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
        if self._remaining_fields <= 0:
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
            other_type
            for other_type in self._schema.type_map.values()
            if isinstance(other_type, GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType)
            and self._overlap(type_, other_type)
        ]
        return self._rng.choice((type_, self._rng.choice(every)))

    def _overlap(self, left: Any, right: Any) -> bool:
        return not self._possible(left).isdisjoint(self._possible(right))

    def _possible(self, type_: Any) -> set[str]:
        if isinstance(type_, GraphQLObjectType):
            return {type_.name}
        return {member.name for member in self._schema.get_possible_types(type_)}

    def _field(self, type_: Any, scope: _Scope, depth: int) -> str | None:
        if isinstance(type_, GraphQLUnionType):
            return self._inline(type_, scope, depth) if depth > 0 else self._typename(type_, scope)
        existing = [
            (key, name, called, inner)
            for key, (on, name, called, inner) in scope.keys.items()
            if on is type_ and name != "__typename"
        ]
        if existing and self._rng.random() < 0.2:
            key, name, called, inner = self._rng.choice(existing)
            prefix = "" if key == name else f"{key}: "
            return self._field_text(prefix + called, type_.fields[name], inner, depth)
        names = [
            name
            for name, field_definition in type_.fields.items()
            if self._is_selectable(type_, name, field_definition, depth)
        ]
        if not names:
            return self._typename(type_, scope)
        name = self._rng.choice(names)
        called = name + self._arguments(type_.fields[name])
        key, inner = self._key(type_, name, called, scope)
        return self._field_text(called if key == name else f"{key}: {called}", type_.fields[name], inner, depth)

    def _is_selectable(self, type_: Any, name: str, field_definition: GraphQLField, depth: int) -> bool:
        if type_ in (self._schema.query_type, self._schema.mutation_type) and not self._roots(name):
            return False
        return depth > 0 or not is_composite_type(get_named_type(field_definition.type))

    def _key(self, type_: Any, name: str, called: str, scope: _Scope) -> tuple[str, _Scope]:
        """Return a key without conflicts at this position, and the scope below it."""
        key = self._name("a") if self._rng.random() < 0.2 else name
        if self._rng.random() < 0.1:  # fields that exclude each other may share a key
            field_type = type_.fields[name].type
            for other, (on, another, _, inner) in scope.keys.items():
                exclusive = isinstance(type_, GraphQLObjectType) and isinstance(on, GraphQLObjectType)
                if exclusive and on is not type_ and another != "__typename" and on.fields[another].type == field_type:
                    return other, inner
        taken = scope.keys.get(key)
        if taken and (taken[1:3] != (name, called) or taken[0] is not type_):
            same = taken[0] is not type_ and taken[1:3] == (name, called)
            if not same or taken[0].fields[name].type != type_.fields[name].type:
                key = self._name("a")
        if key not in scope.keys:
            scope.keys[key] = type_, name, called, _Scope()
        return key, scope.keys[key][3]

    def _field_text(self, head: str, field_definition: GraphQLField, scope: _Scope, depth: int) -> str:
        self._remaining_fields -= 1
        named = get_named_type(field_definition.type)
        head += self._directives()
        return f"{head} {self._selection(named, scope, depth - 1)}" if is_composite_type(named) else head

    def _arguments(self, field_definition: GraphQLField) -> str:
        written = []
        for name, argument in self._rng.sample(list(field_definition.args.items()), len(field_definition.args)):
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
        """Return a variable that is valid at a position of this type, given whether the position has a default."""
        chance = self._rng.random
        non_null = isinstance(type_, GraphQLNonNull)
        for declared in self._variables:
            strict = isinstance(declared.kind, GraphQLNonNull) or declared.default not in (None, "null")
            inner = declared.kind.of_type if isinstance(declared.kind, GraphQLNonNull) else declared.kind
            if str(inner) == str(type_.of_type if non_null else type_) and (strict or not non_null) and chance() < 0.3:
                return f"${declared.name}"
        nullable = type_.of_type if non_null else type_
        kind: Any = nullable if default or (non_null and chance() < 0.2) or not non_null else type_
        if not non_null and chance() < 0.3:
            kind = GraphQLNonNull(nullable)
        literal = None
        if chance() < 0.3 or (non_null and kind is nullable and not default):
            literal = self._inputs.constant(GraphQLNonNull(nullable) if non_null else kind, name)
        values = self._variable_value(kind, name, literal), self._variable_value(kind, name, literal)
        variable = _Variable(self._name("v"), kind, literal, values)
        self._variables.append(variable)
        return f"${variable.name}"

    def _variable_value(self, kind: Any, name: str, default: str | None) -> Any:
        chance = self._rng.random()
        if chance < 0.01:
            return self._rng.choice(INVALID_VALUES)
        if chance < 0.3 and (default is not None or not isinstance(kind, GraphQLNonNull)):
            return MISSING
        return self._inputs.json(kind, name)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"
