"""From the tree of a document to the source of a Python function, and to the function.

Nothing of a request stands in the source but names and types that the schema has, written by `repr`: every value is a
constant that the function finds under a name of ours.

What is selected of objects without edges is written out as statements into the loop of the level above. Where edges
have to be followed there is an `async` function for the level: it takes a list of objects, calls each edge once for
all of them, and gives a list of dicts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from graphql import (
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    specified_scalar_types,
)

from wattgate.db.wire_column import Column
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.field_source import Attribute, Payload, Refused, Typename
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.scalars import QUICK
from wattgate.graphql.execution.compiled.arguments import Binder
from wattgate.graphql.execution.compiled.selection_tree import Selected, Slot
from wattgate.graphql.execution.compiled.values import (
    Classes,
    Coerce,
    Fault,
    Members,
    aligned,
    as_list,
    mixed,
    names_of,
    plain,
    together,
)

FAST = {
    "String": "{0}.__class__ is not str",
    "ID": "{0}.__class__ is not str",
    "Boolean": "{0}.__class__ is not bool",
    "Float": "{0}.__class__ is not float or {0} - {0} != 0.0",  # NaN and the infinities are not told in JSON
    "Int": "{0}.__class__ is not int or not -2147483648 <= {0} <= 2147483647",
}
"""When a value of a built-in scalar is not told as it is, as a condition on the value."""

Root = Callable[..., Any]
"""Makes what stands under one key of the answer: (caller, variables) or, of a subscription, (caller, variables, event).
The function of a subscription that follows no edges is none of a coroutine."""


@dataclass(frozen=True, slots=True)
class Written:
    """A function for each root field, with their source."""

    roots: dict[str, Root]
    source: str


@dataclass(slots=True)
class Lines:
    """Statements of a function."""

    depth: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, text: str) -> "Lines":
        """The block that a statement opens."""
        self.add(text)
        return Lines(self.depth + 1, self.lines)


class Checks:
    """What is known of a schema's types whatever is asked: classes of rows, and how leaves are told."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self._classes: dict[str, Classes] = {}
        self._leaves: dict[str, Coerce] = {}

    def leaf(self, kind: GraphQLLeafType) -> Coerce:
        """The slow way of a leaf, which is right for every value."""
        return self._leaves.setdefault(kind.name, plain(kind.coerce_output_value))

    def classes(self, kind: GraphQLObjectType) -> Classes:
        """The classes of an object type, which all documents share."""
        return self._classes.setdefault(kind.name, Classes(self.schema, kind))


def write(root: Selected, checks: Checks, binder: Binder) -> Written:
    """The functions of a document. Refused where it would be more than Python can compile."""
    writer = _Writer(checks, binder)
    names = {slot.key: writer.root(root.kind, slot) for slot in root.slots}
    source = "\n".join(writer.lines.lines)
    try:
        code = compile(source, "<document>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise Refused(f"Python cannot compile it: {error}") from None
    exec(code, writer.constants)  # the module's docstring says what stands in it
    return Written({key: writer.constants[name] for key, name in names.items()}, source)


class _Writer:
    def __init__(self, checks: Checks, binder: Binder) -> None:
        self.lines = Lines()
        self.constants: dict[str, Any] = {
            "__builtins__": {one.__name__: one for one in (iter, zip, str, int, float, bool)},
            "Column": Column,
            "Fault": Fault,
            "aligned": aligned,
            "as_list": as_list,
            "mixed": mixed,
            "together": together,
        }
        self._checks = checks
        self._binder = binder
        self._numbers = count(1)

    def _name(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"

    def _constant(self, kind: str, value: Any) -> str:
        name = self._name(kind)
        self.constants[name] = value
        return name

    def _function(self, head: str, body: Lines) -> None:
        """Add a function, after those that it has made necessary."""
        self.lines.add(head)
        self.lines.lines.extend(body.lines)

    # functions: of root fields, of edges with edges below, of levels

    def root(self, kind: GraphQLObjectType, slot: Slot) -> str:
        """The function of a root field."""
        name, body = self._name("root"), Lines(1)
        told = isinstance(slot.reach, Payload)
        match slot.reach:
            case Operation():
                operation = self._constant("operation", slot.reach)
                body.add(f"x = await c.answer({slot.key!r}, {operation}, {self._arguments(slot)})")
            case Typename():
                body.add(f"x = {kind.name!r}")
            case Payload():
                pass
            case _:
                raise Refused("a root field is no operation")
        if slot.forks:
            body.add("R = [x]")
            self._fork(body, slot)
            body.add("x = R[0]")
        elif slot.field is not None:
            self._value(body, "x", slot.field.type, slot)
        body.add("return x")
        word = "def" if told and not slot.forks else "async def"
        self._function(f"{word} {name}(c, v{', x' if told else ''}):", body)
        return name

    def _edge(self, slot: Slot) -> str:
        """The function of a field whose objects have edges: its answers for a list of parents."""
        name, body = self._name("edge"), Lines(1)
        if isinstance(slot.reach, Edge):
            load = f"c.load_all({self._constant('edge', slot.reach)}, {self._arguments(slot)}, P)"
            body.add(f"R = aligned(await {load}, P)")
        else:
            body.add(f"R = [p.{_attribute(slot)} for p in P]")
        self._fork(body, slot)
        body.add("return R")
        self._function(f"async def {name}(c, v, P):", body)
        return name

    def _fork(self, body: Lines, slot: Slot) -> None:
        """Replace the objects in the values R, which may be lists of lists, by what the level below makes of them."""
        kind = _type(slot)
        body.add("F = []")
        self._gather(body.block("for r in R:"), "r", kind)
        body.add(f"D = await {self._below(slot)} if F else []")
        body.add("following = iter(D).__next__")
        body.add(f"R = [{self._back('r', kind)} for r in R]")

    def _gather(self, lines: Lines, var: str, kind: GraphQLOutputType) -> None:
        if isinstance(kind, GraphQLNonNull):
            inner = kind.of_type
        else:
            lines, inner = lines.block(f"if {var} is not None:"), kind
        if isinstance(inner, GraphQLList):
            item = self._name("i")
            self._gather(lines.block(f"for {item} in as_list({var}):"), item, inner.of_type)
        else:
            lines.add(f"F.append({var})")

    def _back(self, var: str, kind: GraphQLOutputType) -> str:
        if not isinstance(kind, GraphQLNonNull):
            return f"None if {var} is None else {self._back(var, GraphQLNonNull(kind))}"
        if isinstance(kind.of_type, GraphQLList):
            item = self._name("i")
            return f"[{self._back(item, kind.of_type.of_type)} for {item} in {var}]"
        return "following()"

    def _below(self, slot: Slot) -> str:
        """The call that makes answers of the objects F."""
        named = get_named_type(_type(slot))
        levels = {name: self._level(one) for name, one in slot.below.items()}
        if not is_abstract_type(named):
            return f"{levels[named.name]}(c, v, F)"
        table = ", ".join(f"{name!r}: {level}" for name, level in levels.items())
        return f"mixed({{{table}}}, {self._members(named, slot)}, c, v, F)"

    def _level(self, selected: Selected) -> str:
        """The function of a level: dicts of objects of one type, whose edges are followed all at once."""
        name, body = self._name("level"), Lines(1)
        ready = {slot.key: self._name("x") for slot in selected.slots if slot.awaits}
        calls = []
        for slot in selected.slots:
            if slot.forks:
                calls.append(f"{self._edge(slot)}(c, v, L)")
            elif slot.awaits:  # binding arguments may fail, and no coroutine may be left that nobody awaits
                bound = self._name("b")
                body.add(f"{bound} = {self._arguments(slot)}")
                calls.append(f"c.load_all({self._constant('edge', slot.reach)}, {bound}, L)")
        if len(calls) == 1:
            body.add(f"found = [await {calls[0]}]")
        elif calls:
            body.add(f"found = await together({', '.join(calls)})")
        if calls:
            body.add("found = [aligned(one, L) for one in found]")
        body.add("D = []")
        loop = body.block(f"for o, {', '.join(ready.values())} in zip(L, *found):" if ready else "for o in L:")
        self._object(loop, "o", selected, ready)
        loop.add("D.append(o)")
        body.add("return D")
        self._function(f"async def {name}(c, v, L):", body)
        return name

    # statements that replace a value by its answer

    def _object(self, lines: Lines, var: str, selected: Selected, ready: Mapping[str, str]) -> None:
        classes = self._checks.classes(selected.kind)
        known, check = self._constant("known", classes.known), self._constant("check", classes.check)
        lines.add(f"if {var}.__class__ not in {known}: {check}({var})")
        parts = []
        for slot in selected.slots:
            told = ready.get(slot.key) or self._name("a")
            parts.append(f"{slot.key!r}: {told}")
            if slot.field is None:
                lines.add(f"{told} = {selected.kind.name!r}")
                continue
            if not slot.awaits:
                lines.add(f"{told} = {var}.{_attribute(slot)}")
            if not slot.forks:
                self._value(lines, told, slot.field.type, slot)
        lines.add(f"{var} = {{{', '.join(parts)}}}")

    def _value(self, lines: Lines, var: str, kind: GraphQLOutputType, slot: Slot) -> None:
        if isinstance(kind, GraphQLNonNull):
            inner = kind.of_type
        else:
            lines, inner = lines.block(f"if {var} is not None:"), kind
        if isinstance(inner, GraphQLList):
            self._list(lines, var, inner, slot)
        elif is_leaf_type(inner):
            self._leaf(lines, var, inner)
        elif is_abstract_type(inner):
            self._member(lines, var, inner, slot)
        else:
            self._object(lines, var, slot.below[inner.name], {})

    def _list(self, lines: Lines, var: str, kind: GraphQLList[Any], slot: Slot) -> None:
        if not slot.below:
            lines = lines.block(f"if {var}.__class__ is not Column:")  # whose items are answers already
        made, item = self._name("l"), self._name("i")
        lines.add(f"{made} = []")
        loop = lines.block(f"for {item} in as_list({var}):")
        self._value(loop, item, kind.of_type, slot)
        loop.add(f"{made}.append({item})")
        lines.add(f"{var} = {made}")

    def _member(self, lines: Lines, var: str, kind: GraphQLAbstractType, slot: Slot) -> None:
        name, word = self._name("t"), "if"
        lines.add(f"{name} = {self._members(kind, slot)}({var})")
        for one, selected in slot.below.items():
            self._object(lines.block(f"{word} {name} == {one!r}:"), var, selected, {})
            word = "elif"
        lines.block("else:").add(f"raise Fault({name})")

    def _leaf(self, lines: Lines, var: str, kind: GraphQLLeafType) -> None:
        slow = self._constant("leaf", self._checks.leaf(kind))
        names = names_of(kind) if isinstance(kind, GraphQLEnumType) else None
        if names is not None:
            members, table = self._constant("enum", names[0]), self._constant("names", names[1])
            lines.add(f"{var} = {table}[{var}._name_] if {var}.__class__ is {members} else {slow}({var})")
        elif specified_scalar_types.get(kind.name) is kind:
            lines.add(f"if {FAST[kind.name].format(var)}: {var} = {slow}({var})")
        elif kind.coerce_output_value in QUICK:
            quick = self._constant("quick", kind.coerce_output_value)
            classes = self._constant("classes", QUICK[kind.coerce_output_value])
            lines.add(f"{var} = {quick}({var}) if {var}.__class__ in {classes} else {slow}({var})")
        else:
            lines.add(f"{var} = {slow}({var})")

    # constants

    def _arguments(self, slot: Slot) -> str:
        assert slot.field is not None  # __typename has no arguments
        bound = self._binder.bind(slot.field, slot.nodes[0].node)
        return f"{self._constant('bind', bound)}(v)" if callable(bound) else self._constant("arguments", bound)

    def _members(self, kind: GraphQLAbstractType, slot: Slot) -> str:
        name = slot.nodes[0].node.name.value
        return self._constant("member", Members(self._checks.schema, kind, name).name)


def _type(slot: Slot) -> GraphQLOutputType:
    assert slot.field is not None  # __typename is a leaf
    return slot.field.type


def _attribute(slot: Slot) -> str:
    assert isinstance(slot.reach, Attribute)  # an operation stands at the root alone
    return slot.reach.name
